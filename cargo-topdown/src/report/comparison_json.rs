//! A comparison for programs: [`Comparison`] as it is.

use std::io::{self, Write};

use topdown_gate::verdict::Comparison;

/// Writes `comparison` as one JSON object and a line end.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(comparison: &Comparison, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, comparison)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use topdown_gate::scenario;

    use super::*;
    use crate::report::examples::{compared, one_of_each};
    use crate::report::shown::written;

    #[test]
    fn json_holds_all_of_it() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let comparison = compared(&baseline, &candidate);
        let text = written(|out| write(&comparison, out));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(json["outcome"], "failed");
        assert_eq!(json["exit_code"], 100);
        let first = &json["benchmarks"][1];
        assert_eq!(first["verdict"], "inconclusive");
        assert_eq!(first["effects"][0]["metric"], "slots");
    }
}

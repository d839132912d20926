//! Which counters the hardware source uses on CPUs that offer two kinds.

use std::str::FromStr;

use crate::error::OpenError;

/// The environment variable that [`Counters::from_environment`] reads.
pub const COUNTERS_VARIABLE: &str = "CARGO_TOPDOWN_COUNTERS";

/// The formula of PERF_METRICS on CPUs with both levels: slots x fraction / 255, without the
/// per-CPU corrections that Intel's own metrics apply.
pub const FORMULA_LEVEL2: &str = "intel-perf-metrics-level2/1";
/// The same formula on CPUs with level 1 only.
pub const FORMULA_LEVEL1: &str = "intel-perf-metrics-level1/1";

/// The requested kind of counters.
///
/// Intel's performance cores since Ice Lake can count TopDown in several ways, whose numbers are
/// not comparable with each other. PERF_METRICS needs no general counters but is coarse: no
/// category is more exact than 1/255 of a window, however long. Plain counters are exact to the
/// event, and the better choice for windows of less than 100 000 slots or effects of less than half
/// a percent. All other CPUs have only plain counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counters {
    /// PERF_METRICS if the CPU has it, otherwise plain counters.
    #[default]
    Auto,
    /// Only PERF_METRICS: the uncorrected register.
    Metrics,
    /// PERF_METRICS with the corrections of Intel's own metrics, the `tma_…` of `perf stat`: one or
    /// two additional plain counters.
    Tma,
    /// Plain counters, even if the CPU has PERF_METRICS.
    Exact,
}

impl Counters {
    /// Returns whether only the PERF_METRICS register will do.
    #[cfg_attr(
        not(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        )),
        expect(dead_code, reason = "there is no register elsewhere")
    )]
    pub(super) fn are_metrics(self) -> bool {
        matches!(self, Counters::Metrics | Counters::Tma)
    }

    /// Reads [`COUNTERS_VARIABLE`]; [`Counters::Auto`] if it is not set.
    ///
    /// # Errors
    /// Returns [`OpenError::UnknownCounters`] if it has any other value.
    pub fn from_environment() -> Result<Counters, OpenError> {
        match std::env::var(COUNTERS_VARIABLE) {
            Ok(name) => name.parse(),
            Err(_) => Ok(Counters::Auto),
        }
    }
}

impl FromStr for Counters {
    type Err = OpenError;

    fn from_str(name: &str) -> Result<Counters, OpenError> {
        match name {
            "auto" | "" => Ok(Counters::Auto),
            "metrics" => Ok(Counters::Metrics),
            "tma" => Ok(Counters::Tma),
            "exact" => Ok(Counters::Exact),
            _ => Err(OpenError::UnknownCounters {
                name: name.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_counters_are_read_and_others_refused() {
        assert_eq!("".parse::<Counters>().unwrap(), Counters::Auto);
        assert_eq!("metrics".parse::<Counters>().unwrap(), Counters::Metrics);
        assert_eq!("tma".parse::<Counters>().unwrap(), Counters::Tma);
        assert_eq!("exact".parse::<Counters>().unwrap(), Counters::Exact);
        let error = "exakt".parse::<Counters>().unwrap_err();
        assert!(error.to_string().contains("`exakt`"), "{error}");
    }
}

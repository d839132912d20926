//! The effect of planted changes, native and modelled: a kernel's version 0 against its others.

use topdown_core_model::CoreParameters;

use crate::report::Row;

/// What a change does to cycles, as logarithms of ratios.
struct Change<'a> {
    name: &'a str,
    native: f64,
    modelled: f64,
}

impl Change<'_> {
    fn sign_is_right(&self) -> bool {
        self.native * self.modelled > 0.0
    }

    fn size_is_right(&self) -> bool {
        (self.modelled / self.native - 1.0).abs() <= 1.0 / 3.0
    }
}

fn changes<'a>(rows: &'a [Row]) -> impl Iterator<Item = Change<'a>> {
    let base = |name: &str| rows.iter().find(|row| row.name == name);
    rows.iter().filter_map(move |row| {
        let (kernel, version) = row.name.split_once('/')?;
        if version == "0" || !row.counts() {
            return None;
        }
        let base = base(&format!("{kernel}/0")).filter(|base| base.counts())?;
        Some(Change {
            name: row.name,
            native: (row.native_cycles() / base.native_cycles()).ln(),
            modelled: (row.modelled.cycles() / base.modelled.cycles()).ln(),
        })
    })
}

/// Numbers of changes whose sign and size are right.
pub struct Tally {
    pub changes: usize,
    pub right_signs: usize,
    pub right_sizes: usize,
}

/// Counts the changes, or returns nothing if there are none.
pub fn tally(rows: &[Row]) -> Option<Tally> {
    let all: Vec<Change> = changes(rows).collect();
    (!all.is_empty()).then(|| Tally {
        changes: all.len(),
        right_signs: all.iter().filter(|change| change.sign_is_right()).count(),
        right_sizes: all.iter().filter(|change| change.size_is_right()).count(),
    })
}

/// Returns a line of a Markdown table, or nothing without changes.
pub fn summary(core: &CoreParameters, rows: &[Row]) -> Option<String> {
    let tally = tally(rows)?;
    Some(format!(
        "| {} {} | planted changes | {} | sign right in {} | size within a third in {} |",
        core.name, core.version, tally.changes, tally.right_signs, tally.right_sizes
    ))
}

/// Number of sizes that may be right in only one of two programs: the linker puts the kernels
/// elsewhere.
const SIZE_TOLERANCE: u32 = 2;

/// Compares two such lines. Returns `None` if one of them is something else.
pub fn are_near(line: &str, known: &str) -> Option<bool> {
    let [line, known] = [line, known].map(|line| line.split('|').collect::<Vec<_>>());
    let count = |cells: &[&str], cell: usize| -> Option<u32> {
        cells.get(cell)?.trim().rsplit(' ').next()?.parse().ok()
    };
    let sizes = count(&line, 5)?.abs_diff(count(&known, 5)?);
    Some(line.get(..5)? == known.get(..5)? && sizes <= SIZE_TOLERANCE)
}

/// Prints the changes whose sign or size is wrong.
pub fn print(rows: &[Row]) {
    for change in changes(rows).filter(|change| !change.size_is_right()) {
        println!(
            "{:<20} {:>+7.1} % natively, {:>+7.1} % modelled{}",
            change.name,
            100.0 * change.native.exp_m1(),
            100.0 * change.modelled.exp_m1(),
            if change.sign_is_right() {
                ""
            } else {
                ", wrong sign"
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_changes_are_near_with_equal_signs() {
        let line = |signs: u32, sizes: u32| {
            format!(
                "| zen-5 9 | planted changes | 58 | sign right in {signs} | size within a third in \
                 {sizes} |"
            )
        };
        let near = |other: &str| are_near(&line(58, 50), other);
        assert_eq!(near(&line(58, 48)), Some(true));
        assert_eq!(near(&line(58, 47)), Some(false));
        assert_eq!(near(&line(57, 50)), Some(false));
        assert_eq!(near("| zen-5 9 | planted changes | 58 |"), None);
    }
}

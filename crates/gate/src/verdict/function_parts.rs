//! The parts of a benchmark's change by function, without code that only moved.
//!
//! Code that is inlined elsewhere takes its slots along: one function grows, another shrinks, and
//! neither explains the benchmark. What one gains and the other loses is therefore added up, so
//! that no part exceeds the change by more than a little.

use serde::Serialize;
use topdown_run::run_file::SourceLine;

use super::code_change::FunctionName;
use super::functions::FunctionChange;

/// A part that explains the change has at least this fraction of it.
const MIN_PART: f64 = 0.2;
/// Parts are together at most this multiple of the change.
const MAX_SUM: f64 = 1.2;
/// Code moved if the instructions that one function gained and the other lost differ by at most
/// this fraction. Judgement: what is inlined loses its call, and is optimised with its caller.
const MAX_LOST_INSTRUCTIONS: f64 = 0.25;
/// At most this many parts explain a change.
const MAX_PARTS: usize = 2;

/// A part of a benchmark's change: one function, or several between which slots moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionPart {
    /// The functions that changed in the direction of the benchmark, largest change first.
    pub functions: Vec<FunctionName>,
    /// The functions that changed in the other direction, and whose change is included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offset_by: Vec<FunctionName>,
    /// Whether code moved from `offset_by` to `functions`, or back: together they execute about as
    /// many instructions as before.
    pub moved: bool,
    /// The sum of their differences, as a fraction of all slots of the baseline's benchmark.
    pub difference: f64,
    /// Whether it explains the change. Otherwise code only moved.
    pub explains: bool,
    /// The line of the workspace from which the candidate reaches the first function, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_from: Option<SourceLine>,
}

/// Functions whose changes are added up.
struct Group<'a> {
    changes: Vec<&'a FunctionChange>,
    /// The sum of their differences, in the direction of the whole.
    net: f64,
}

/// Returns the parts of a benchmark's difference `whole`: those that explain it, largest first,
/// then code that moved.
pub fn parts(changes: &[FunctionChange], whole: f64) -> Vec<FunctionPart> {
    let direction = whole.signum();
    let size = whole.abs();
    let (min, max) = (MIN_PART * size, MAX_SUM * size);
    let single = |change| Group {
        changes: vec![change],
        net: change.difference * direction,
    };
    let certain = changes.iter().filter(|change| change.is_certain());
    let (with_it, against): (Vec<Group<'_>>, Vec<Group<'_>>) =
        certain.map(single).partition(|group| group.net > 0.0);
    let mut against = against;
    let mut groups: Vec<Group<'_>> = Vec::new();
    for mut group in with_it.into_iter().filter(|group| group.net >= min) {
        while group.net > max {
            let distance = |other: &Group<'_>| (group.net + other.net).abs();
            let others = against
                .iter()
                .enumerate()
                .filter(|(_, other)| other.net < 0.0);
            let nearest = others.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
            let Some((nearest, _)) = nearest else {
                break;
            };
            let other = against.swap_remove(nearest);
            group.net += other.net;
            group.changes.extend(other.changes);
        }
        let side = if group.net < 0.0 {
            &mut against
        } else {
            &mut groups
        };
        side.push(group);
    }
    groups.sort_by(|a, b| b.net.total_cmp(&a.net));
    let mut sum = 0.0;
    let (explaining, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| {
        let explains = group.net >= min && sum + group.net <= max;
        sum += if explains { group.net } else { 0.0 };
        explains
    });
    let explaining = explaining.into_iter().take(MAX_PARTS);
    let explaining = explaining.map(|group| group.part(direction, true));
    let others = others.into_iter().chain(against);
    let moved = others.map(|group| group.part(direction, false));
    explaining.chain(moved.filter(|part| part.moved)).collect()
}

impl Group<'_> {
    fn part(mut self, direction: f64, explains: bool) -> FunctionPart {
        let size = |change: &FunctionChange| change.difference.abs();
        self.changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let moved = self.has_moved();
        let called_from = self.changes.iter();
        let called_from = called_from.filter(|change| change.difference * direction > 0.0);
        let called_from = called_from.map(|change| change.called_from.clone()).next();
        let names = |is_of: &dyn Fn(f64) -> bool| -> Vec<FunctionName> {
            let changes = self.changes.iter();
            let changes = changes.filter(|change| is_of(change.difference * direction));
            changes.map(|change| FunctionName::of(change)).collect()
        };
        FunctionPart {
            functions: names(&|difference| difference > 0.0),
            offset_by: names(&|difference| difference <= 0.0),
            moved,
            difference: self.net * direction,
            explains,
            called_from: called_from.flatten(),
        }
    }

    /// Returns whether what some functions lost in instructions, others gained.
    fn has_moved(&self) -> bool {
        let instructions = || self.changes.iter().map(|change| change.instructions);
        let gained: f64 = instructions().filter(|count| *count > 0.0).sum();
        let lost: f64 = -instructions().filter(|count| *count < 0.0).sum::<f64>();
        let most = gained.max(lost);
        gained > 0.0 && lost > 0.0 && (gained - lost).abs() <= MAX_LOST_INSTRUCTIONS * most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, points: f64, instructions: f64) -> FunctionChange {
        FunctionChange {
            name: Some(name.to_owned()),
            module: None,
            baseline_slots: None,
            candidate_slots: None,
            difference: points / 100.0,
            instructions,
            margin: None,
            called_from: None,
        }
    }

    /// Returns the parts of a change, in points: the functions, what they are offset by, and
    /// whether code moved.
    fn reported(changes: &[(&str, f64, f64)], points: f64) -> Vec<(String, String, bool, f64)> {
        let changes: Vec<_> = changes.iter().map(|(n, p, i)| change(n, *p, *i)).collect();
        let names = |names: &[FunctionName]| -> String {
            let names = names.iter().map(|name| name.name.clone().unwrap());
            names.collect::<Vec<_>>().join(" ")
        };
        let found = parts(&changes, points / 100.0).into_iter();
        found
            .map(|part| {
                let points = (part.difference * 1000.0).round() / 10.0;
                let explains = if part.explains { "" } else { "(" };
                let functions = format!("{explains}{}", names(&part.functions));
                (functions, names(&part.offset_by), part.moved, points)
            })
            .collect()
    }

    fn part(
        functions: &str,
        offset_by: &str,
        moved: bool,
        points: f64,
    ) -> (String, String, bool, f64) {
        (functions.to_owned(), offset_by.to_owned(), moved, points)
    }

    #[test]
    fn moved_code_is_netted_out() {
        // As arc-swap had it: `get_debt` was inlined into `load` before.
        let changes = [
            ("load", -47.1, -40.0),
            ("get_debt", 42.2, 35.0),
            ("wait", 7.6, 5.0),
        ];
        let expected = part("get_debt wait", "load", true, 2.7);
        assert_eq!(reported(&changes, 2.7), [expected]);
        // The other way round, and faster.
        let faster = changes.map(|(name, points, count)| (name, -points, -count));
        let expected = part("get_debt wait", "load", true, -2.7);
        assert_eq!(reported(&faster, -2.7), [expected]);
    }

    #[test]
    fn code_moved_beside_a_cause_is_reported_as_moved() {
        let changes = [
            ("inlined", 40.0, 30.0),
            ("caller", -40.2, -31.0),
            ("slower", 5.0, 5.0),
        ];
        let reported = reported(&changes, 5.0);
        assert_eq!(reported[0], part("slower", "", false, 5.0));
        assert_eq!(reported[1], part("(inlined", "caller", true, -0.2));
        assert_eq!(reported.len(), 2);
    }

    #[test]
    fn other_code_in_place_of_some_is_not_moved() {
        let changes = [("sort", -50.0, -300.0), ("new_sort", 60.0, 90.0)];
        let expected = part("new_sort", "sort", false, 10.0);
        assert_eq!(reported(&changes, 10.0), [expected]);
    }

    #[test]
    fn parts_hardly_exceed_the_change() {
        let changes = [("a", 9.0, 1.0), ("b", 8.0, 1.0), ("c", -7.0, 2.0)];
        assert_eq!(reported(&changes, 10.0), [part("a", "", false, 9.0)]);
        // Nothing that is listed offsets it.
        assert_eq!(reported(&[("a", 42.0, 1.0)], 10.0), []);
        let two = [("a", 6.0, 1.0), ("b", 5.0, 1.0), ("c", -1.0, 0.0)];
        let expected = [part("a", "", false, 6.0), part("b", "", false, 5.0)];
        assert_eq!(reported(&two, 10.0), expected);
    }
}

//! The lines that tell most of a change.

use super::comparison::{ComparedFunction, ComparedLine, ListingComparison};

/// A change of a line or instruction below this fraction of the benchmark's slots tells nothing.
const MIN_CHANGE: f64 = 0.005;

/// Judgement: so many edits that are not slower themselves come before the lines that are.
const MAX_SUSPECTS: usize = 3;

/// A line with its function; an edited line that executes nothing has none.
pub type TellingLine<'a> = (Option<&'a ComparedFunction>, &'a ComparedLine);

impl ListingComparison {
    /// Returns whether a change of so many slots is worth showing: also a small one, if it is a
    /// tenth of that of the benchmark.
    pub fn matters(&self, change: f64) -> bool {
        let [before, after] = self.sides.each_ref().map(|side| side.slots);
        let least = MIN_CHANGE * before.max(after);
        let whole = self.change().abs();
        let least = if whole < least {
            least
        } else {
            least.min(whole / 10.0)
        };
        change.abs() >= least && change != 0.0
    }

    /// Returns the lines that tell most of the change, with their functions.
    ///
    /// Lines have the slots of code outside of the workspace that they call, so where callers are
    /// known, that code has no lines of its own here. Lines that changed most in the direction of
    /// the benchmark come first, and of them those that were edited. If none of those was edited,
    /// edits elsewhere must be the cause: the nearest of them come first.
    pub fn most_telling(&self) -> Vec<TellingLine<'_>> {
        let all = || {
            let functions = self.functions.iter();
            functions.flat_map(|function| {
                let lines = function.lines.iter();
                lines.map(move |line| (Some(function), line))
            })
        };
        let has_callers = self.sides.iter().all(|side| side.has_calls)
            && all().any(|(_, line)| line.is_in_workspace());
        let key = |line: &ComparedLine| self.change().signum() * line.change_with_calls();
        let mut telling: Vec<TellingLine<'_>> = all()
            .filter(|(_, line)| self.matters(line.change_with_calls()))
            .filter(|(_, line)| !has_callers || line.is_in_workspace())
            .collect();
        telling.sort_by(|(_, a), (_, b)| key(b).total_cmp(&key(a)));
        let is_cause = |line: &ComparedLine| line.is_edited && key(line) > 0.0;
        if telling.is_empty() || telling.iter().any(|(_, line)| is_cause(line)) {
            telling.sort_by_key(|(_, line)| !is_cause(line));
            return telling;
        }
        // By the first of these lines in its file, and how far away that is.
        let distance = |line: &ComparedLine| {
            let edit = line.location();
            let mut slower = telling.iter().map(|(_, line)| line.location()).enumerate();
            let nearest = slower.find_map(|(rank, at)| {
                let (at, edit) = at.zip(edit)?;
                (at.file == edit.file).then(|| (rank, at.line.abs_diff(edit.line)))
            });
            nearest.unwrap_or((usize::MAX, u32::MAX))
        };
        let edited = all().filter(|(_, line)| line.is_edited);
        let mut suspects: Vec<TellingLine<'_>> = edited.collect();
        suspects.extend(self.unexecuted_edits.iter().map(|line| (None, line)));
        suspects.sort_by_key(|(_, line)| distance(line));
        suspects.truncate(MAX_SUSPECTS);
        telling.retain(|(_, line)| !suspects.iter().any(|(_, one)| std::ptr::eq(*one, *line)));
        suspects.into_iter().chain(telling).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::Listing;
    use crate::listing::examples::{Code, compared, function, listing};

    #[test]
    fn small_change_has_lines_too() {
        let before: Code<'_> = &[(1, "a", 990.0), (2, "b", 5.0), (3, "c", 5.0)];
        let after: Code<'_> = &[(1, "a", 990.0), (2, "b", 9.0), (3, "c", 9.1)];
        let comparison = compared(before, after);
        let lines = telling(&comparison).into_iter().map(|(line, _)| line);
        assert_eq!(lines.collect::<Vec<_>>(), [3, 2]);
        // They cancel out.
        let after: Code<'_> = &[(1, "a", 990.0), (2, "b", 9.0), (3, "c", 1.0)];
        assert_eq!(telling(&compared(before, after)), []);
    }

    /// The lines of the file of the examples, before and after; both listings have their code.
    fn with_sources([before, after]: [Code<'_>; 2], texts: [&[&str]; 2]) -> ListingComparison {
        let sides = [(before, texts[0]), (after, texts[1])].map(|(code, text)| {
            let mut listing = listing(vec![function("decode", code)]);
            let lines = text.iter().map(|line| (*line).to_owned());
            listing
                .sources
                .insert("src/lib.rs".to_owned(), lines.collect());
            listing
        });
        let [before, after] = sides;
        ListingComparison::new(before, after)
    }

    fn telling(comparison: &ListingComparison) -> Vec<(u32, f64)> {
        let lines = comparison.most_telling().into_iter();
        lines
            .map(|(_, line)| (line.location().unwrap().line, line.change_with_calls()))
            .collect()
    }

    const BEFORE: &[&str] = &["type Map = Fast;", "", "fn decode() {", "    load();", "}"];

    #[test]
    fn slower_edit_comes_before_unedited_lines() {
        let before: Code<'_> = &[(3, "enter", 10.0), (4, "load", 10.0), (5, "return", 9.0)];
        let after: Code<'_> = &[(3, "enter", 10.0), (4, "load", 15.0), (5, "return", 90.0)];
        let text = [
            "type Map = Fast;",
            "",
            "fn decode() {",
            "  load_slowly();",
            "}",
        ];
        let comparison = with_sources([before, after], [BEFORE, &text]);
        assert_eq!(telling(&comparison), [(4, 5.0), (5, 81.0)]);
        // Indentation is no edit.
        let text = ["type Map = Fast;", "", "fn decode() {", "load();", "}"];
        let comparison = with_sources([before, after], [BEFORE, &text]);
        assert_eq!(telling(&comparison), [(5, 81.0), (4, 5.0)]);
    }

    #[test]
    fn unexecuted_edit_comes_first_without_slower_edits() {
        let before: Code<'_> = &[(3, "enter", 10.0), (4, "load", 10.0)];
        let after: Code<'_> = &[(3, "enter", 10.0), (4, "load", 50.0)];
        let text = [
            "type Map = Slow;",
            "// Slow.",
            "fn decode() {",
            "    load();",
            "}",
        ];
        let comparison = with_sources([before, after], [BEFORE, &text]);
        assert_eq!(telling(&comparison), [(1, 0.0), (4, 40.0)]);
        let same = with_sources([before, before], [BEFORE, &text]);
        assert_eq!(telling(&same), []);
    }

    #[test]
    fn line_has_slots_of_called_libraries() {
        let sides = [10.0, 200.0].map(|slots| {
            let mut copy = function("memcpy", &[(0, "rep movsb", slots)]);
            copy.lines[0].at = None;
            let mut decode = function("decode", &[(3, "enter", 10.0), (4, "call", 5.0)]);
            let caller = decode
                .lines
                .iter_mut()
                .find(|line| line.slots.total() == 5.0);
            caller.unwrap().called = copy.slots;
            listing(vec![decode, copy])
        });
        let [before, after] = sides;
        let comparison = ListingComparison::new(before.clone(), after.clone());
        assert_eq!(telling(&comparison), [(4, 190.0)]);
        let (_, line) = comparison.most_telling()[0];
        assert!(line.is_changed_in_calls());
        assert_eq!((line.change(), line.slots_with_calls(1)), (0.0, 205.0));
        // Without callers, libraries have lines of their own.
        let unknown = Listing {
            has_calls: false,
            ..before
        };
        let comparison = ListingComparison::new(unknown, after);
        let [(function, line)] = comparison.most_telling()[..] else {
            panic!("{comparison:?}");
        };
        let name = function.and_then(|function| function.name.as_deref());
        assert_eq!((name, line.change_with_calls()), (Some("memcpy"), 190.0));
    }
}

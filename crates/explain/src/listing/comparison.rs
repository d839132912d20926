//! Two listings of a benchmark, aligned by a diff of their instructions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use similar::{Algorithm, DiffOp, capture_diff_slices};
use topdown_run::run_file::{BenchmarkId, SourceLine};

use super::edits::Edits;
use super::{Cause, ListedFunction, ListedInstruction, ListedSlots, Listing};

/// A change of a line or instruction below this fraction of the benchmark's slots tells nothing.
const MIN_CHANGE: f64 = 0.005;

/// Judgement: so many edits that are not slower themselves come before the lines that are.
const MAX_SUSPECTS: usize = 3;

/// What changed between two listings of a benchmark.
#[derive(Clone, Debug)]
pub struct ListingComparison {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Both sides: before and after.
    pub sides: [Listing; 2],
    /// The functions of either side, the greatest change first.
    pub functions: Vec<ComparedFunction>,
    /// The lines that were edited, but execute nothing.
    unexecuted_edits: Vec<ComparedLine>,
}

/// A function before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedFunction {
    /// Its name, and its module unless that is the bench executable.
    pub name: Option<String>,
    /// See `name`.
    pub module: Option<String>,
    /// Its slots on each side; `None` where it is not executed.
    pub slots: [Option<ListedSlots>; 2],
    /// The greatest change first.
    pub lines: Vec<ComparedLine>,
}

/// A source line before and after.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedLine {
    /// Where it is on each side; `None` where it is not, or has no line.
    pub at: [Option<SourceLine>; 2],
    /// Its text on each side, where it is known.
    pub text: [Option<String>; 2],
    /// Slots of code outside of the workspace that it calls, on each side.
    pub called: [ListedSlots; 2],
    /// Whether its text was edited or is new.
    pub is_edited: bool,
    /// In the order of the addresses.
    pub instructions: Vec<AlignedInstruction>,
}

/// An instruction of either side or both.
#[derive(Clone, Debug, PartialEq)]
pub struct AlignedInstruction {
    /// How the sides correspond.
    pub alignment: Alignment,
    /// It on each side.
    pub sides: [Option<ListedInstruction>; 2],
}

/// How an instruction of one side corresponds to one of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// The same, at the same place of the function.
    Same,
    /// The same, at another place of the function.
    Moved,
    /// Not executed before.
    New,
    /// No longer executed.
    Gone,
}

impl AlignedInstruction {
    /// Returns by how many slots per iteration it became slower.
    pub fn change(&self) -> f64 {
        let [before, after] = self.sides.each_ref().map(|side| {
            let slots = side.as_ref().map(|one| one.slots.total());
            slots.unwrap_or_default()
        });
        after - before
    }

    /// Returns why it takes more slots although it is the same instruction, if it does.
    pub fn cause(&self) -> Option<Cause> {
        match &self.sides {
            [Some(before), Some(after)] => Cause::of_change(before, after),
            _ => None,
        }
    }
}

impl ComparedLine {
    /// Returns its slots on one side: 0 is before.
    pub fn slots(&self, side: usize) -> ListedSlots {
        let instructions = self.instructions.iter();
        ListedSlots::sum(instructions.filter_map(|one| Some(&one.sides[side].as_ref()?.slots)))
    }

    /// Returns by how many slots per iteration it became slower.
    pub fn change(&self) -> f64 {
        self.slots(1).total() - self.slots(0).total()
    }

    /// Returns its slots on one side with those of the code that it calls.
    pub fn slots_with_calls(&self, side: usize) -> f64 {
        self.slots(side).total() + self.called[side].total()
    }

    /// Returns by how many slots per iteration it became slower, with the code that it calls.
    pub fn change_with_calls(&self) -> f64 {
        self.slots_with_calls(1) - self.slots_with_calls(0)
    }

    /// Returns whether neither it nor what it calls has slots on a side.
    pub fn executes_nothing(&self) -> bool {
        self.slots_with_calls(0) == 0.0 && self.slots_with_calls(1) == 0.0
    }

    /// Returns whether most of its change is in code that it calls.
    pub fn is_changed_in_calls(&self) -> bool {
        let whole = self.change_with_calls();
        (whole - self.change()) * whole.signum() > self.change() * whole.signum()
    }

    /// Returns where it is, after the change if it is still there.
    pub fn location(&self) -> Option<&SourceLine> {
        self.at[1].as_ref().or(self.at[0].as_ref())
    }

    /// Returns whether it is in the workspace on a side.
    fn is_in_workspace(&self) -> bool {
        self.at.iter().flatten().any(|at| at.in_workspace)
    }

    /// Returns how most of its change came about: the kind of instructions with the greatest sum,
    /// and for the same instructions the cause of the one that changed most.
    pub fn reason(&self) -> (Alignment, Option<Cause>) {
        let all = [
            Alignment::Same,
            Alignment::Moved,
            Alignment::New,
            Alignment::Gone,
        ];
        let of = |kind| {
            self.instructions
                .iter()
                .filter(move |i| i.alignment == kind)
        };
        let sum = |kind| of(kind).map(AlignedInstruction::change).sum::<f64>() * self.change();
        let main = all.into_iter().max_by(|a, b| sum(*a).total_cmp(&sum(*b)));
        let main = main.unwrap_or(Alignment::Same);
        let most = of(main).max_by(|a, b| a.change().total_cmp(&b.change()));
        (main, most.and_then(AlignedInstruction::cause))
    }
}

impl ComparedFunction {
    /// Returns by how many slots per iteration it became slower.
    pub fn change(&self) -> f64 {
        let [before, after] = self.slots.map(|slots| slots.unwrap_or_default().total());
        after - before
    }
}

impl ListingComparison {
    /// Compares two listings of one benchmark.
    pub fn new(before: Listing, after: Listing) -> ListingComparison {
        // By module and name.
        type Pairs<'a> = BTreeMap<[&'a Option<String>; 2], [Option<&'a ListedFunction>; 2]>;
        let mut pairs = Pairs::new();
        for (side, listing) in [&before, &after].into_iter().enumerate() {
            for function in &listing.functions {
                pairs.entry([&function.module, &function.name]).or_default()[side] = Some(function);
            }
        }
        let pairs = pairs.into_iter();
        let mut functions: Vec<ComparedFunction> = pairs
            .map(|([module, name], sides)| ComparedFunction {
                name: name.clone(),
                module: module.clone(),
                slots: sides.map(|side| Some(side?.slots)),
                lines: lines_of(sides),
            })
            .collect();
        functions.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
        let edits = Edits::between([&before, &after]);
        let knows_calls = before.has_calls && after.has_calls;
        let mut executed = BTreeSet::new();
        for line in functions.iter_mut().flat_map(|f| &mut f.lines) {
            if !knows_calls {
                line.called = Default::default();
            }
            let side = usize::from(line.at[1].is_some());
            line.is_edited = line.at[side].as_ref().is_some_and(|at| edits.has(side, at));
            executed.extend(line.at[1].clone());
        }
        let unexecuted = edits.after(&after).filter(|(at, _)| !executed.contains(at));
        let unexecuted = unexecuted.map(|(at, text)| ComparedLine {
            at: [None, Some(at)],
            text: [None, Some(text.to_owned())],
            is_edited: true,
            ..ComparedLine::default()
        });
        ListingComparison {
            id: after.id.clone(),
            unexecuted_edits: unexecuted.collect(),
            functions,
            sides: [before, after],
        }
    }

    /// Returns by how many slots per iteration the benchmark became slower.
    pub fn change(&self) -> f64 {
        self.sides[1].slots - self.sides[0].slots
    }

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

/// A line with its function; an edited line that executes nothing has none.
pub type TellingLine<'a> = (Option<&'a ComparedFunction>, &'a ComparedLine);

/// A line on one side, as an index into the lines of its function.
type LineIndex = usize;

/// Returns the instructions of a function with their lines, in the order of their addresses.
fn by_address(function: Option<&ListedFunction>) -> Vec<(LineIndex, &ListedInstruction)> {
    let lines = function.map_or(&[][..], |function| &function.lines);
    let mut all: Vec<_> = lines
        .iter()
        .enumerate()
        .flat_map(|(index, line)| line.instructions.iter().map(move |one| (index, one)))
        .collect();
    all.sort_by_key(|(_, one)| one.address);
    all
}

/// Aligns the instructions of a function, and groups them by line.
fn lines_of(functions: [Option<&ListedFunction>; 2]) -> Vec<ComparedLine> {
    let [before, after] = functions.map(by_address);
    let shapes = |side: &[(LineIndex, &ListedInstruction)]| -> Vec<String> {
        side.iter().map(|(_, one)| one.shape.clone()).collect()
    };
    let operations = capture_diff_slices(Algorithm::Myers, &shapes(&before), &shapes(&after));
    let mut pairs: Vec<(Alignment, Option<usize>, Option<usize>)> = Vec::new();
    for operation in operations {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = operation
        {
            let same = |n| (Alignment::Same, Some(old_index + n), Some(new_index + n));
            pairs.extend((0..len).map(same));
            continue;
        }
        let gone = operation
            .old_range()
            .map(|n| (Alignment::Gone, Some(n), None));
        pairs.extend(gone);
        pairs.extend(
            operation
                .new_range()
                .map(|n| (Alignment::New, None, Some(n))),
        );
    }
    pair_moved(&mut pairs, &before, &after);
    group(&pairs, functions, [&before, &after])
}

/// Pairs instructions that are gone with equal ones that are new elsewhere.
fn pair_moved(
    pairs: &mut Vec<(Alignment, Option<usize>, Option<usize>)>,
    before: &[(LineIndex, &ListedInstruction)],
    after: &[(LineIndex, &ListedInstruction)],
) {
    let mut gone: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, pair) in pairs.iter().enumerate().rev() {
        if let (Alignment::Gone, Some(old), None) = pair {
            gone.entry(&before[*old].1.text).or_default().push(at);
        }
    }
    let mut is_paired = vec![false; pairs.len()];
    for at in 0..pairs.len() {
        if let (Alignment::New, None, Some(new)) = pairs[at] {
            let same = gone.get_mut(after[new].1.text.as_str()).and_then(Vec::pop);
            if let Some(from) = same.filter(|_| !after[new].1.text.is_empty()) {
                pairs[at] = (Alignment::Moved, pairs[from].1, Some(new));
                is_paired[from] = true;
            }
        }
    }
    let mut is_paired = is_paired.into_iter();
    pairs.retain(|_| is_paired.next() != Some(true));
}

/// Groups aligned instructions by the line after, and those that are gone by the line that has most
/// of the others of their line.
fn group(
    pairs: &[(Alignment, Option<usize>, Option<usize>)],
    functions: [Option<&ListedFunction>; 2],
    sides: [&[(LineIndex, &ListedInstruction)]; 2],
) -> Vec<ComparedLine> {
    let mut votes: HashMap<LineIndex, BTreeMap<LineIndex, usize>> = HashMap::new();
    for (_, old, new) in pairs {
        if let (Some(old), Some(new)) = (old, new) {
            let lines = votes.entry(sides[0][*old].0).or_default();
            *lines.entry(sides[1][*new].0).or_default() += 1;
        }
    }
    let line_after = |before: LineIndex| {
        // A line with the same text is the same line.
        let text_of = |side: usize, line: LineIndex| functions[side]?.lines[line].text.as_ref();
        let is_same = |line| text_of(1, line).is_some() && text_of(1, line) == text_of(0, before);
        let voted = votes.get(&before).into_iter().flatten();
        let voted = voted.max_by_key(|(line, votes)| (is_same(**line), **votes));
        let count = functions[1].map_or(0, |function| function.lines.len());
        let same = || (0..count).find(|line| is_same(*line));
        voted.map(|(line, _)| *line).or_else(same)
    };
    let mut lines = GroupedLines::default();
    for (alignment, old, new) in pairs {
        let before = old.map(|old| sides[0][old].0);
        let after = new.map(|new| sides[1][new].0);
        let after = after.or_else(|| line_after(before?));
        let line = lines.line_of([before, after], functions);
        line.instructions.push(AlignedInstruction {
            alignment: *alignment,
            sides: [
                old.map(|old| sides[0][old].1.clone()),
                new.map(|new| sides[1][new].1.clone()),
            ],
        });
    }
    for (side, function) in functions.into_iter().enumerate() {
        let listed = function.map_or(&[][..], |function| &function.lines);
        for (index, called) in listed.iter().map(|line| line.called).enumerate() {
            if called != ListedSlots::default() {
                let at = match side {
                    0 => [Some(index), line_after(index)],
                    _ => [None, Some(index)],
                };
                lines.line_of(at, functions).called[side].add(&called);
            }
        }
    }
    let lines = lines.0;
    let mut lines: Vec<ComparedLine> = lines.into_values().collect();
    lines.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    lines
}

/// Lines by their index after; one without counterpart there is known by its index before.
#[derive(Default)]
struct GroupedLines(BTreeMap<(Option<LineIndex>, Option<LineIndex>), ComparedLine>);

impl GroupedLines {
    /// Returns the line with these indices before and after.
    fn line_of(
        &mut self,
        [before, after]: [Option<LineIndex>; 2],
        functions: [Option<&ListedFunction>; 2],
    ) -> &mut ComparedLine {
        let line = self.0.entry((after, before.filter(|_| after.is_none())));
        let line = line.or_default();
        for (side, index) in [before, after].into_iter().enumerate() {
            let listed = index.zip(functions[side]);
            if let Some((index, function)) = listed.filter(|_| line.at[side].is_none()) {
                line.at[side].clone_from(&function.lines[index].at);
                line.text[side].clone_from(&function.lines[index].text);
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::examples::{function, listing};

    /// Instructions by line and text, with their slots.
    type Code<'a> = &'a [(u32, &'a str, f64)];

    fn compared(before: Code<'_>, after: Code<'_>) -> ListingComparison {
        let [before, after] = [before, after].map(|code| listing(vec![function("decode", code)]));
        ListingComparison::new(before, after)
    }

    fn alignments(comparison: &ListingComparison) -> Vec<(Alignment, String, f64)> {
        let lines = comparison.functions[0].lines.iter();
        let mut all: Vec<(u64, Alignment, String, f64)> = Vec::new();
        for one in lines.flat_map(|line| &line.instructions) {
            let shown = one.sides[1].as_ref().or(one.sides[0].as_ref()).unwrap();
            all.push((
                shown.address,
                one.alignment,
                shown.text.clone(),
                one.change(),
            ));
        }
        all.sort_by_key(|(address, ..)| *address);
        all.into_iter()
            .map(|(_, a, text, by)| (a, text, by))
            .collect()
    }

    #[test]
    fn inserted_instruction_is_new_and_its_line_comes_first() {
        let before: Code<'_> = &[(1, "load", 10.0), (2, "add", 5.0), (3, "store", 5.0)];
        let after: Code<'_> = &[
            (1, "load", 10.0),
            (2, "divide", 40.0),
            (2, "add", 6.0),
            (4, "store", 5.0),
        ];
        let comparison = compared(before, after);
        assert_eq!(comparison.change(), 41.0);
        let (_, first) = comparison.most_telling()[0];
        assert_eq!(first.at[1].as_ref().unwrap().line, 2);
        assert_eq!(first.change(), 41.0);
        assert_eq!(first.reason().0, Alignment::New);
        let expected = [
            (Alignment::Same, "load", 0.0),
            (Alignment::New, "divide", 40.0),
            (Alignment::Same, "add", 1.0),
            (Alignment::Same, "store", 0.0),
        ];
        let expected = expected.map(|(a, text, by)| (a, text.to_owned(), by));
        assert_eq!(alignments(&comparison), expected);
        let lines = &comparison.functions[0].lines;
        let store = lines
            .iter()
            .find(|line| line.at[1].as_ref().unwrap().line == 4);
        assert_eq!(store.unwrap().at[0].as_ref().unwrap().line, 3);
    }

    #[test]
    fn reordered_instruction_has_moved() {
        let before: Code<'_> = &[(1, "a", 1.0), (2, "b", 1.0), (3, "c", 1.0)];
        let after: Code<'_> = &[(2, "b", 1.0), (3, "c", 1.0), (1, "a", 4.0)];
        let alignments = alignments(&compared(before, after));
        assert_eq!(alignments.len(), 3);
        assert!(alignments.contains(&(Alignment::Moved, "a".to_owned(), 3.0)));
    }

    #[test]
    fn changes_of_all_instructions_add_up() {
        let before: Code<'_> = &[(1, "a", 1.0), (2, "b", 2.0), (9, "x", 30.0)];
        let after: Code<'_> = &[(1, "a", 8.0), (2, "q", 7.0), (3, "b", 2.5)];
        let comparison = compared(before, after);
        let sum: f64 = alignments(&comparison).iter().map(|(_, _, by)| by).sum();
        assert_eq!(sum, comparison.change());
        let (_, first) = comparison.most_telling()[0];
        assert_eq!(first.at[0].as_ref().unwrap().line, 9);
        assert_eq!(first.reason(), (Alignment::Gone, None));
    }

    #[test]
    fn function_of_one_side_is_new_or_gone() {
        let before = listing(vec![function("old", &[(1, "a", 5.0)])]);
        let after = listing(vec![function("new", &[(1, "a", 9.0)])]);
        let comparison = ListingComparison::new(before, after);
        let functions: Vec<_> = comparison
            .functions
            .iter()
            .map(|f| (f.name.as_deref().unwrap(), f.slots.map(|s| s.is_some())))
            .collect();
        assert_eq!(functions, [("new", [false, true]), ("old", [true, false])]);
    }

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

//! Instructions of a function before and after, aligned by a diff and grouped by line.

use std::collections::{BTreeMap, HashMap};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::comparison::{AlignedInstruction, Alignment, ComparedLine};
use super::{ListedFunction, ListedInstruction, ListedSlots};

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
pub(super) fn lines_of(functions: [Option<&ListedFunction>; 2]) -> Vec<ComparedLine> {
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

//! Two listings of a benchmark compared, by function, line and instruction.

use std::collections::{BTreeMap, BTreeSet};

use topdown_run::run_file::{BenchmarkId, SourceLine};

use super::alignment::lines_of;
use super::edits::Edits;
use super::{Cause, ListedFunction, ListedInstruction, ListedSlots, Listing};

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
    pub(super) unexecuted_edits: Vec<ComparedLine>,
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
    pub(super) fn is_in_workspace(&self) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::examples::{Code, compared, function, listing};

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
}

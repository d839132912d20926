//! Windows of benchmarks that time themselves.
//!
//! A closure of `iter_custom` looks at the clock before and after its work, and returns the
//! difference, or the sum of several. criterion knows no windows then. But the model replaces the
//! clock and sees each look, so a window can begin with one look and end with another.
//!
//! Which ones is not known in advance: criterion looks too, and so may what is not measured. The
//! first sample, of one iteration, shows it without any window: two of its looks must differ by the
//! duration that it returned. Later looks are told apart by how deep in the stack they happen. The
//! duration of each later sample must be the sum of its windows, to the nanosecond.

use std::cell::RefCell;

/// The first sample may look this often.
const MAX_LOOKS: usize = 16;

/// A look at the clock.
#[derive(Clone, Copy, Default)]
struct Look {
    at_ns: u64,
    /// Bytes between its place in the stack and that of the sample's first one.
    depth: usize,
}

/// What is known of the benchmark.
#[derive(Clone, Copy)]
enum Rule {
    /// Its first sample is awaited.
    Awaited,
    /// Windows begin and end at looks of these depths. A sample has only one if criterion's last
    /// look has the depth of a beginning.
    Depths {
        begin: usize,
        end: usize,
        is_only: bool,
    },
    /// It has no windows of its own, or others than these.
    None,
}

/// What to do at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// A window begins.
    Begin,
    /// The window that lasted so long ends.
    End {
        ns: u64,
    },
}

/// What the end of a sample shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing about its windows.
    Nothing,
    /// Where the windows of the next sample begin and end.
    Windows,
    /// It took a duration that its windows do not explain.
    OtherDuration,
}

struct State {
    rule: Rule,
    looks: usize,
    first_frame: usize,
    /// Those of the first sample.
    known: [Look; MAX_LOOKS],
    /// When the open window began.
    began_ns: Option<u64>,
    /// Windows of the sample.
    windows: usize,
}

thread_local! {
    static STATE: RefCell<State> = const {
        RefCell::new(State {
            rule: Rule::None,
            looks: 0,
            first_frame: 0,
            known: [Look { at_ns: 0, depth: 0 }; MAX_LOOKS],
            began_ns: None,
            windows: 0,
        })
    };
}

/// Begins a benchmark.
pub(crate) fn begin_benchmark() {
    STATE.with_borrow_mut(|state| {
        state.rule = Rule::Awaited;
        state.begin_sample();
    });
}

/// Begins a sample.
pub(crate) fn begin_sample() {
    STATE.with_borrow_mut(State::begin_sample);
}

/// Leaves the benchmark alone: its windows begin otherwise. Returns whether that is news.
pub(crate) fn give_up() -> bool {
    STATE.with_borrow_mut(|state| {
        !matches!(std::mem::replace(&mut state.rule, Rule::None), Rule::None)
    })
}

/// The clock showed `at_ns` to code whose frame is at this address.
pub(crate) fn look(at_ns: u64, frame: usize) -> Step {
    STATE.with_borrow_mut(|state| state.look(at_ns, frame))
}

/// Ends a sample that took `ns`, which are its windows or not.
pub(crate) fn end_sample(ns: u64, are_windows: bool) -> Shown {
    STATE.with_borrow_mut(|state| {
        let shown = state.end_sample(ns, are_windows);
        state.begin_sample();
        shown
    })
}

impl State {
    fn begin_sample(&mut self) {
        self.looks = 0;
        self.began_ns = None;
        self.windows = 0;
    }

    fn look(&mut self, at_ns: u64, frame: usize) -> Step {
        if self.looks == 0 {
            self.first_frame = frame;
        }
        let look = Look {
            at_ns,
            depth: self.first_frame.wrapping_sub(frame),
        };
        let index = self.looks;
        self.looks += 1;
        let Rule::Depths {
            begin,
            end,
            is_only,
        } = self.rule
        else {
            if let Some(known) = self.known.get_mut(index) {
                *known = look;
            }
            return Step::Nothing;
        };
        match self.began_ns {
            Some(began_ns) if look.depth == end => {
                self.began_ns = None;
                Step::End {
                    ns: at_ns.saturating_sub(began_ns),
                }
            }
            // criterion's own look comes first.
            None if index > 0 && look.depth == begin && !(is_only && self.windows > 0) => {
                self.began_ns = Some(at_ns);
                self.windows += 1;
                Step::Begin
            }
            _ => Step::Nothing,
        }
    }

    fn end_sample(&mut self, ns: u64, are_windows: bool) -> Shown {
        let (rule, shown) = match self.rule {
            Rule::None => return Shown::Nothing,
            Rule::Depths { .. } if are_windows => return Shown::Nothing,
            Rule::Depths { .. } => (Rule::None, Shown::OtherDuration),
            Rule::Awaited => match self.rule_of_first(ns) {
                Some(rule) => (rule, Shown::Windows),
                None => (Rule::None, Shown::Nothing),
            },
        };
        self.rule = rule;
        shown
    }

    /// Returns where the window of the first sample, which took `ns`, began and ended, if only one
    /// place is possible.
    fn rule_of_first(&self, ns: u64) -> Option<Rule> {
        // Its last look is criterion's, too.
        let looks = self.known.get(1..self.looks.checked_sub(1)?)?;
        let mut rules = looks.iter().enumerate().flat_map(|(at, begin)| {
            let later = looks.get(at + 1..).unwrap_or_default();
            let ends = later.iter().enumerate();
            ends.filter(|(_, end)| end.at_ns.saturating_sub(begin.at_ns) == ns)
                .map(move |(between, end)| (begin, end, &later[..between]))
        });
        let (begin, end, between) = rules.next()?;
        let is_ambiguous = rules.next().is_some();
        let ends_before = between.iter().any(|look| look.depth == end.depth);
        let beginnings = looks.iter().filter(|look| look.depth == begin.depth);
        if is_ambiguous || ends_before || beginnings.count() > 1 {
            return None;
        }
        Some(Rule::Depths {
            begin: begin.depth,
            end: end.depth,
            is_only: self.known[self.looks - 1].depth == begin.depth,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// criterion's looks, and those of a closure: (time, depth).
    type Looks<'a> = &'a [(u64, usize)];

    const OUTER: usize = 1000;
    const BEFORE: (u64, usize) = (0, 0);
    const AFTER: (u64, usize) = (900, 8);

    /// Takes a sample with these looks of its closure, and returns the lengths of its windows.
    fn windows(looks: Looks<'_>, (after_ns, after_depth): (u64, usize)) -> Vec<u64> {
        begin_sample();
        let last = [(after_ns, after_depth)];
        let all = [&[BEFORE], looks, &last].concat();
        let steps = all.iter().map(|(at_ns, depth)| look(*at_ns, OUTER - depth));
        let ends = steps.filter_map(|step| match step {
            Step::End { ns } => Some(ns),
            _ => None,
        });
        ends.collect()
    }

    /// Takes a first sample with these looks, which took `ns`, and a second one.
    fn second(first: Looks<'_>, ns: u64, second: Looks<'_>, after: (u64, usize)) -> Vec<u64> {
        begin_benchmark();
        assert_eq!(windows(first, after), [0; 0]);
        end_sample(ns, false);
        windows(second, after)
    }

    #[test]
    fn window_lies_between_looks_with_that_difference() {
        let once = second(&[(10, 40), (25, 48)], 15, &[(10, 40), (40, 48)], AFTER);
        assert_eq!(once, [30]);
        assert_eq!(end_sample(30, true), Shown::Nothing);
        let each = [(10, 40), (25, 48), (100, 40), (120, 48)];
        assert_eq!(second(&each[..2], 15, &each, AFTER), [15, 20]);
    }

    #[test]
    fn other_looks_are_in_no_window_or_inside_of_one() {
        let set_up = [(2, 80), (3, 88)];
        let inside = [(10, 40), (12, 96), (14, 96), (25, 48)];
        let looks = [&set_up[..], &inside].concat();
        assert_eq!(second(&looks, 15, &looks, AFTER), [15]);
    }

    #[test]
    fn criterions_last_look_begins_no_window() {
        let inlined = (900, 40);
        let looks = [(10, 40), (25, 48)];
        assert_eq!(second(&looks, 15, &looks, inlined), [15]);
        begin_sample();
        let steps =
            [(0, 0), (10, 40), (25, 48), (900, 40)].map(|(at, depth)| look(at, OUTER - depth));
        assert_eq!(steps[3], Step::Nothing);
    }

    #[test]
    fn unexplained_durations_have_no_windows() {
        let looks = [(10, 40), (25, 48)];
        // Measured by another clock, and by no look at all.
        assert_eq!(second(&looks, 16, &looks, AFTER), [0; 0]);
        assert_eq!(second(&[], 15, &[], AFTER), [0; 0]);
        // Either of two, and more looks than are kept.
        let two = [(10, 40), (25, 48), (50, 56), (65, 64)];
        assert_eq!(second(&two, 15, &two, AFTER), [0; 0]);
        let many: Vec<_> = (0..20).map(|n| (10 * n * n, 40 + n as usize)).collect();
        assert_eq!(second(&many, 10, &many, AFTER), [0; 0]);
    }

    #[test]
    fn sample_of_another_duration_ends_the_windows() {
        let looks = [(10, 40), (25, 48)];
        assert_eq!(second(&looks, 15, &looks, AFTER), [15]);
        assert_eq!(end_sample(17, false), Shown::OtherDuration);
        assert_eq!(windows(&looks, AFTER), [0; 0]);
        assert_eq!(end_sample(15, false), Shown::Nothing);
    }

    #[test]
    fn benchmark_with_other_windows_is_left_alone() {
        let looks = [(10, 40), (25, 48)];
        begin_benchmark();
        windows(&looks, AFTER);
        assert!(give_up());
        assert!(!give_up());
        assert_eq!(end_sample(15, false), Shown::Nothing);
    }
}

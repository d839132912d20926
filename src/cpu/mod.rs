//! CPUs as data: which events make up the categories on which core, and by which formula.
//!
//! Every family has a [`CpuTable`] in one of the modules `intel_core`, `intel_cove`, `intel_atom`,
//! `amd_zen` and `arm_neoverse`; [`table_for`] picks the one of a CPU. A table knows events,
//! formulas and a worked example of each formula, which a test recomputes. It knows nothing of the
//! kernel: how a group is opened and read is the business of `counter`. So a new CPU is a new table
//! and nothing else.
//!
//! # Sources
//!
//! Event codes and Intel's formulas: the files of <https://github.com/intel/perfmon> at 6dadedf
//! (`mapfile.csv`, `<FAMILY>/events/*_core.json`, `TMA_Metrics-full.csv` 5.2,
//! `E-core_TMA_Metrics.csv` 4). Each table adds what is its own.

mod amd_zen;
mod arm_neoverse;
mod expression;
mod intel_atom;
mod intel_core;
mod intel_cove;
mod intel_metrics;
mod metric_group;
mod modelled;
mod select;
mod specification;

use std::fmt;
use std::ops::Index;

pub use intel_metrics::{MAX_CORRECTION_EVENTS, MetricsCorrection};
pub use metric_group::{Category, Metric, MetricExample, MetricGroup, Node, Subject};
pub use modelled::{MODELLED, modelled_counts};
pub use select::{CoreType, Identity, Maker, Models, Numbers, TABLES, table_for};
pub use specification::table_of_specification;

use crate::sample::{Level1, Level2};

/// The most events that a group of any table has.
pub const MAX_EVENTS: usize = 12;

const _: () = assert!(MAX_EVENTS == crate::sample::MAX_GROUP_EVENTS);

/// How one family of cores tells where its issue slots went.
#[derive(Debug)]
pub struct CpuTable {
    /// The family, as its maker calls it.
    pub name: &'static str,
    /// The CPUs that this table is for. No CPU has two tables.
    pub models: &'static [Models],
    /// The width of the pipeline; `None` where only the kernel knows it.
    pub slots_per_cycle: Option<u32>,
    /// General-purpose counters per hardware thread, with SMT on where that makes a difference.
    pub general_counters: u32,
    /// How Intel's own metrics correct the PERF_METRICS register, where the cores have one.
    pub metrics: Option<&'static MetricsCorrection>,
    /// Where the numbers are from, beside the sources of the whole module.
    pub sources: &'static str,
    /// How level 1 is counted, or why it cannot be.
    pub level1: Level1Counting,
    /// Groups that are measured in launches of their own to explain a category, in the order in
    /// which the decision tree names them.
    pub groups: &'static [MetricGroup],
}

/// How level 1 is counted on a family of cores, or why it cannot be.
#[derive(Debug)]
pub enum Level1Counting {
    /// The groups that do it, best first. A machine uses the first that its counters can hold: some
    /// counters are taken by the NMI watchdog, or hidden from a virtual machine.
    Forms(&'static [Form]),
    /// These cores cannot split their slots in one group of counters. A sentence for people, which
    /// says what can be measured instead.
    Unsupported(&'static str),
}

impl CpuTable {
    /// The ways in which level 1 can be counted, best first; none where it cannot be.
    pub fn forms(&self) -> &'static [Form] {
        match self.level1 {
            Level1Counting::Forms(forms) => forms,
            Level1Counting::Unsupported(_) => &[],
        }
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&'static MetricGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// How many general-purpose counters a group of `events` needs, and how many it can have.
    ///
    /// The NMI watchdog counts cycles: on the fixed counter for them, so that a group with cycles
    /// needs a general one, or on a general counter where there is no fixed one.
    pub fn general_counters_for(&self, events: &[Event], nmi_watchdog: bool) -> CounterBudget {
        let on = |events: &[Event], counter| {
            events.iter().filter(|e| e.counter == counter).count() as u32
        };
        let watchdog = u32::from(nmi_watchdog);
        let has_fixed_cycles = self
            .forms()
            .iter()
            .any(|form| on(form.events, Counter::FixedCycles) > 0);
        CounterBudget {
            needed: on(events, Counter::General) + on(events, Counter::FixedCycles) * watchdog,
            available: match has_fixed_cycles {
                true => self.general_counters,
                false => self.general_counters - watchdog,
            },
        }
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Form")
            .field("formula", &self.formula)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// General-purpose counters that a group needs and can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterBudget {
    /// How many the group needs.
    pub needed: u32,
    /// How many there are for it.
    pub available: u32,
}

impl CounterBudget {
    /// Whether the group can run.
    pub fn is_enough(self) -> bool {
        self.needed <= self.available
    }
}

/// Makes categories of counts.
pub type Formula = dyn Fn(&Counts) -> Split + Sync;

/// One group of events and the formula that makes categories of its counts.
pub struct Form {
    /// Which formula, as `name/version`. Runs of different formulas are never compared, so a change
    /// of the formula is a new version. Forms that compute the same numbers from other counters
    /// share it.
    pub formula: &'static str,
    /// The group. The first event leads it.
    pub events: &'static [Event],
    /// The event that counts unhalted core cycles, if the group has one.
    pub cycles: Option<Event>,
    /// The event that counts retired instructions, if the group has one.
    pub instructions: Option<Event>,
    /// The formula. Counts in, slots out; no category is clamped, since a mean of clamped values is
    /// biased.
    pub split: &'static Formula,
    /// A worked example, which a test recomputes.
    pub example: Example,
}

/// Something that a core can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name, in its maker's spelling.
    pub name: &'static str,
    /// `config` of `perf_event_attr`, for the raw type of the core's PMU.
    pub config: u64,
    /// Which counters can count it.
    pub counter: Counter,
}

/// Which counters can count an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// A general-purpose counter.
    General,
    /// A counter of its own that nothing else wants.
    Fixed,
    /// The fixed counter of the cycles: the NMI watchdog wants it too.
    FixedCycles,
}

impl Event {
    pub(crate) const fn general(name: &'static str, config: u64) -> Event {
        Event {
            name,
            config,
            counter: Counter::General,
        }
    }

    const fn fixed(name: &'static str, config: u64) -> Event {
        Event {
            name,
            config,
            counter: Counter::Fixed,
        }
    }
}

impl fmt::Display for Event {
    /// `IDQ_UOPS_NOT_DELIVERED.CORE (0x19c)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#x})", self.name, self.config)
    }
}

/// What a group counted in a window, by event.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    events: &'static [Event],
    values: [f64; MAX_EVENTS],
    slots_per_cycle: f64,
}

impl Counts {
    /// `deltas` are in the order of `events`; those that are missing are 0.
    ///
    /// A double holds a count exactly below 2^53: half a month of eight slots per cycle at 5 GHz.
    pub fn new(
        events: &'static [Event],
        deltas: impl IntoIterator<Item = u64>,
        slots_per_cycle: u32,
    ) -> Counts {
        let mut values = [0.0; MAX_EVENTS];
        for (value, delta) in values.iter_mut().zip(deltas) {
            *value = delta as f64;
        }
        Counts {
            events,
            values,
            slots_per_cycle: f64::from(slots_per_cycle),
        }
    }

    /// The count of the event at this place of the group.
    fn at(&self, place: usize) -> f64 {
        self.values[place]
    }

    /// The width of the pipeline: the kernel's word where it knows better than the table.
    pub fn slots_per_cycle(&self) -> f64 {
        self.slots_per_cycle
    }
}

impl Index<Event> for Counts {
    type Output = f64;

    /// The count of an event of the group.
    ///
    /// # Panics
    /// When a formula asks for an event that its own group lacks, which the worked example of every
    /// formula rules out.
    fn index(&self, event: Event) -> &f64 {
        let position = self
            .events
            .iter()
            // Within a group no two events have the same code.
            .position(|member| member.config == event.config)
            .unwrap_or_else(|| panic!("{event} is not in the group of this formula"));
        &self.values[position]
    }
}

/// Where the slots of a window went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// All slots of the window.
    pub slots: f64,
    /// By category.
    pub level1: Level1,
    /// In more detail, where the group tells.
    pub level2: Option<Level2>,
}

/// Counts and the percentages that the formula makes of them, as text: a test recomputes them to
/// the digits given.
#[derive(Debug)]
pub struct Example {
    /// One count for each event of the group.
    pub counts: &'static [u64],
    /// Retiring, bad speculation, frontend bound, backend bound.
    pub level1_percent: [&'static str; 4],
    /// The fifth category, where there is one.
    pub smt_contention_percent: Option<&'static str>,
    /// Heavy operations, branch mispredict, fetch latency, memory bound.
    pub level2_percent: Option<[&'static str; 4]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `value` with as many digits after the point as `like` has.
    fn rounded(value: f64, like: &str) -> String {
        let decimals = like.split_once('.').map_or(0, |(_, digits)| digits.len());
        format!("{value:.decimals$}")
    }

    fn percent(fraction: f64, like: &str) -> String {
        rounded(fraction * 100.0, like)
    }

    fn all_forms() -> impl Iterator<Item = (&'static CpuTable, &'static Form)> {
        TABLES
            .iter()
            .flat_map(|table| table.forms().iter().map(move |form| (*table, form)))
    }

    #[test]
    fn every_formula_reproduces_its_example_to_the_digits_given() {
        for (table, form) in all_forms() {
            let example = &form.example;
            assert_eq!(example.counts.len(), form.events.len(), "{}", table.name);
            // The generic table has no width of its own; its example is for 8.
            let width = table.slots_per_cycle.unwrap_or(8);
            let split = (form.split)(&Counts::new(
                form.events,
                example.counts.iter().copied(),
                width,
            ));
            let check = |slots: f64, expected: &str| {
                let shown = percent(slots / split.slots, expected);
                assert_eq!(shown, expected, "{}: {split:?}", table.name);
            };
            let level1 = split.level1;
            let [retiring, bad_speculation, frontend, backend] = example.level1_percent;
            check(level1.retiring_slots, retiring);
            check(level1.bad_speculation_slots, bad_speculation);
            check(level1.frontend_bound_slots, frontend);
            check(level1.backend_bound_slots, backend);
            match (level1.smt_contention_slots, example.smt_contention_percent) {
                (Some(slots), Some(expected)) => check(slots, expected),
                (None, None) => {}
                other => panic!("{}: SMT contention {other:?}", table.name),
            }
            match (split.level2, example.level2_percent) {
                (Some(level2), Some([heavy, mispredict, latency, memory])) => {
                    check(level2.heavy_operations_slots, heavy);
                    check(level2.branch_mispredict_slots, mispredict);
                    check(level2.fetch_latency_slots, latency);
                    check(level2.memory_bound_slots, memory);
                }
                (None, None) => {}
                other => panic!("{}: level 2 {other:?}", table.name),
            }
        }
    }

    fn all_groups() -> impl Iterator<Item = (&'static CpuTable, &'static MetricGroup)> {
        TABLES
            .iter()
            .copied()
            .chain([&MODELLED])
            .flat_map(|table| table.groups.iter().map(move |group| (table, group)))
    }

    #[test]
    fn every_correction_reproduces_its_example_to_the_digits_given() {
        let corrections = TABLES
            .iter()
            .filter_map(|table| Some((table, table.metrics?, table.slots_per_cycle?)));
        let mut seen = 0;
        for (table, correction, width) in corrections {
            let example = &correction.example;
            assert!(correction.events.len() <= MAX_CORRECTION_EVENTS);
            assert_eq!(example.counts.len(), correction.events.len());
            let slots = |byte: usize| example.slots * f64::from(example.fractions[byte]) / 255.0;
            let raw = Split {
                slots: example.slots,
                level1: Level1 {
                    retiring_slots: slots(0),
                    bad_speculation_slots: slots(1),
                    frontend_bound_slots: slots(2),
                    backend_bound_slots: slots(3),
                    smt_contention_slots: None,
                },
                level2: example.level2_percent.map(|_| Level2 {
                    heavy_operations_slots: slots(4),
                    branch_mispredict_slots: slots(5),
                    fetch_latency_slots: slots(6),
                    memory_bound_slots: slots(7),
                }),
            };
            let counts = Counts::new(correction.events, example.counts.iter().copied(), width);
            let split = (correction.correct)(raw, &counts);
            let (level1, level2) = (split.level1, split.level2.unwrap_or_default());
            let shown = |slots: f64| percent(slots / example.slots, "0.00");
            assert_eq!(
                [
                    shown(level1.retiring_slots),
                    shown(level1.bad_speculation_slots),
                    shown(level1.frontend_bound_slots),
                    shown(level1.backend_bound_slots),
                ],
                example.level1_percent,
                "{}",
                table.name
            );
            assert_eq!(shown(level1.total_slots()), "100.00", "{}", table.name);
            if let Some(expected) = example.level2_percent {
                let shown = [
                    shown(level2.heavy_operations_slots),
                    shown(level2.branch_mispredict_slots),
                    shown(level2.fetch_latency_slots),
                    shown(level2.memory_bound_slots),
                ];
                assert_eq!(shown, expected, "{}", table.name);
            }
            seen += 1;
        }
        assert_eq!(seen, 3);
    }

    #[test]
    fn every_metric_reproduces_its_example_to_the_digits_given() {
        for (table, group) in all_groups() {
            let example = &group.example;
            let name = (table.name, group.name);
            assert_eq!(example.counts.len(), group.events.len(), "{name:?}");
            assert_eq!(example.values.len(), group.metrics.len(), "{name:?}");
            let width = example.slots_per_cycle.or(table.slots_per_cycle);
            let counts = Counts::new(
                group.events,
                example.counts.iter().copied(),
                width.unwrap_or(8),
            );
            for (metric, expected) in group.metrics.iter().zip(example.values) {
                let value = metric.value(&counts).expect("nothing is divided by 0");
                assert_eq!(rounded(value, expected), *expected, "{name:?}: {metric:?}");
            }
        }
    }

    /// The self-check of `counter` looks for an event that its loop is bound to move.
    #[test]
    fn every_group_has_an_event_that_any_code_moves() {
        const MOVED: [&str; 9] = [
            "CPU_CYCLES",
            "INST_RETIRED",
            "INST_SPEC",
            "INST_RETIRED.ANY",
            "CPU_CLK_UNHALTED",
            "TOPDOWN.SLOTS_P",
            "ls_not_halted_cyc",
            "ex_ret_instr",
            "instructions",
        ];
        for (table, group) in all_groups() {
            let is_moved = |event: &Event| MOVED.iter().any(|name| event.name.starts_with(name));
            assert!(
                group.events.iter().any(is_moved),
                "{}: {group:?}",
                table.name
            );
        }
    }

    #[test]
    fn a_metric_of_nothing_counted_has_no_value() {
        for (_, group) in all_groups() {
            let nothing = Counts::new(group.events, [], 4);
            let values = group.metrics.iter().map(|metric| metric.value(&nothing));
            assert!(values.flatten().all(|value| value == 0.0), "{}", group.name);
        }
    }

    #[test]
    fn every_category_of_a_core_that_counts_them_has_metric_groups() {
        for table in TABLES.iter().filter(|table| !table.forms().is_empty()) {
            for category in Category::ALL {
                let has = table.groups.iter().any(|group| group.is_for(category));
                assert!(has, "{}: {category:?}", table.name);
            }
            let names: std::collections::BTreeSet<&str> =
                table.groups.iter().map(|group| group.name).collect();
            assert_eq!(names.len(), table.groups.len(), "{}", table.name);
        }
    }

    /// Counters 0 to 3 are the only ones that take certain codes on Ice Lake and Golden Cove: Linux,
    /// arch/x86/events/intel/core.c, `intel_icl_event_constraints` and `intel_glc_event_constraints`.
    #[test]
    fn codes_of_four_counters_are_not_asked_for_more_often() {
        let is_confined = |event: &&Event| {
            let code = event.config & 0xff;
            event.counter == Counter::General
                && (code < 0x90 && code != 0x2e || (0xd0..=0xdf).contains(&code))
        };
        for (table, group) in all_groups() {
            if ["Ice Lake … Rocket Lake", "Golden Cove"].contains(&table.name) {
                let confined = group.events.iter().filter(is_confined).count();
                assert!(confined <= 4, "{}: {}", table.name, group.name);
            }
        }
    }

    #[test]
    fn every_group_fits_its_machine_without_a_watchdog() {
        for (table, group) in all_groups() {
            let budget = table.general_counters_for(group.events, false);
            assert!(budget.is_enough(), "{}: {}", table.name, group.name);
            assert!(group.events.len() <= MAX_EVENTS, "{}", table.name);
        }
        for (table, form) in all_forms() {
            let budget = table.general_counters_for(form.events, false);
            assert!(budget.is_enough(), "{}: {budget:?}", table.name);
            assert!(form.events.len() <= MAX_EVENTS, "{}", table.name);
            let in_group = |event: Option<Event>| event.is_none_or(|e| form.events.contains(&e));
            assert!(in_group(form.cycles) && in_group(form.instructions));
        }
    }

    #[test]
    fn no_group_counts_an_event_twice() {
        let groups = all_forms()
            .map(|(_, form)| form.events)
            .chain(all_groups().map(|(_, group)| group.events));
        for group in groups {
            let configs: std::collections::BTreeSet<u64> = group.iter().map(|e| e.config).collect();
            assert_eq!(configs.len(), group.len(), "{group:?}");
        }
    }

    #[test]
    fn the_watchdog_takes_a_counter_that_some_groups_need() {
        let fits_beside_watchdog = |name: &str| -> Vec<bool> {
            let table = TABLES.iter().find(|table| table.name == name).unwrap();
            table
                .forms()
                .iter()
                .map(|form| table.general_counters_for(form.events, true).is_enough())
                .collect()
        };
        assert_eq!(fits_beside_watchdog("Skylake … Cascade Lake"), [false]);
        assert_eq!(fits_beside_watchdog("Ice Lake … Rocket Lake"), [true, true]);
        assert_eq!(fits_beside_watchdog("Golden Cove"), [false, true, true]);
        assert_eq!(fits_beside_watchdog("Tremont"), [false]);
        assert_eq!(fits_beside_watchdog("Gracemont"), [true]);
        assert_eq!(fits_beside_watchdog("Zen 4"), [false, true]);
    }

    #[test]
    fn a_formula_is_versioned_and_belongs_to_one_table() {
        for (table, form) in all_forms() {
            let (name, version) = form.formula.split_once('/').expect("name/version");
            assert!(!name.is_empty() && version.parse::<u32>().is_ok());
            for (other, other_form) in all_forms() {
                assert!(
                    form.formula != other_form.formula || std::ptr::eq(table, other),
                    "{} of {} and {}",
                    form.formula,
                    table.name,
                    other.name
                );
            }
        }
    }

    #[test]
    fn every_table_has_a_row_in_the_documentation() {
        let rows = include_str!("../../docs/cpus.md");
        for table in TABLES.iter().filter(|table| table.name != "Arm") {
            let is_row = |row: &str| row.starts_with('|') && row.contains(table.name);
            assert!(rows.lines().any(is_row), "{}", table.name);
        }
    }

    #[test]
    fn a_table_that_counts_nothing_says_what_can_be_measured() {
        for table in TABLES {
            if let Level1Counting::Unsupported(why) = table.level1 {
                assert!(why.contains("measured"), "{}: {why}", table.name);
            }
        }
    }
}

//! A core described by its user, as text.
//!
//! `cargo topdown` generates the description from Arm's telemetry specification and passes it to
//! the benches, so that they need not compile a reader for such files.

use std::fmt;

use super::models::{Maker, Models, Numbers};
use super::{
    Counter, Counts, CpuTable, Event, Example, Form, Level1Counting, MAX_EVENTS, MetricExample,
    MetricGroup, Postfix, Split, Subject,
};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

/// The number of counters besides the cycle counter on all of Arm's known server cores.
const GENERAL_COUNTERS: u32 = 6;

/// A core that no table covers.
///
/// The text form has one line per event and formula, with fields separated by tabs. A metric
/// group's text lists only its events: a bench does not need to know what they mean.
#[derive(Debug)]
pub struct DescribedCore {
    /// Its maker's name for it.
    pub name: String,
    /// The implementer's number.
    pub implementer: u32,
    /// The part number.
    pub part: u32,
    /// The width of its pipeline.
    pub slots_per_cycle: u32,
    /// The name of the formulas in provenances.
    pub formula: String,
    /// The level-1 group. The first event counts cycles.
    pub events: Vec<Event>,
    /// As percentages of the slots.
    pub categories_percent: PerCategory<Postfix>,
    /// The other groups.
    pub groups: Vec<MetricGroup>,
}

impl DescribedCore {
    /// Number of general-purpose counters of such a core.
    pub const GENERAL_COUNTERS: u32 = GENERAL_COUNTERS;

    /// Reads a description. Its strings are leaked, since tables are static.
    ///
    /// # Errors
    /// Returns a message that quotes the offending line.
    #[inline]
    pub fn from_text(text: &str) -> Result<DescribedCore, String> {
        let mut core = None;
        let mut groups: Vec<(String, Vec<Event>)> = Vec::new();
        let mut categories = Vec::new();
        for line in text.lines() {
            let wrong = || format!("unexpected `{line}` in the description of a core");
            let fields: Vec<&str> = line.split('\t').collect();
            match fields[..] {
                ["core", name, implementer, part, slots_per_cycle, formula] => {
                    let numbers = [implementer, part, slots_per_cycle].map(str::parse);
                    let [Ok(implementer), Ok(part), Ok(slots_per_cycle)] = numbers else {
                        return Err(wrong());
                    };
                    let name = name.to_owned();
                    core = Some((name, implementer, part, slots_per_cycle, formula.to_owned()));
                    groups.push((String::new(), Vec::new()));
                }
                ["percent", formula] => categories.push(formula.parse().map_err(|_| wrong())?),
                ["group", name] => groups.push((name.to_owned(), Vec::new())),
                [counter @ ("fixed" | "general"), name, config] => {
                    let (Some((_, events)), Ok(config)) = (groups.last_mut(), config.parse())
                    else {
                        return Err(wrong());
                    };
                    if events.len() == MAX_EVENTS {
                        return Err(wrong());
                    }
                    let counter = match counter {
                        "fixed" => Counter::Fixed,
                        _ => Counter::General,
                    };
                    events.push(Event::new(name.to_owned().leak(), config, counter));
                }
                _ => return Err(wrong()),
            }
        }
        let incomplete = || "the description of a core is incomplete".to_owned();
        let (name, implementer, part, slots_per_cycle, formula) = core.ok_or_else(incomplete)?;
        let mut groups = groups.into_iter();
        let (_, events) = groups.next().ok_or_else(incomplete)?;
        Ok(DescribedCore {
            name,
            implementer,
            part,
            slots_per_cycle,
            formula,
            events,
            categories_percent: <[Postfix; 4]>::try_from(categories)
                .map_err(|_| incomplete())?
                .into(),
            groups: groups
                .map(|(name, events)| events_alone(name, events))
                .collect(),
        })
    }

    /// Returns the core's table, leaked, since tables are static.
    #[inline]
    pub fn into_table(self) -> &'static CpuTable {
        let find = |name: &str| self.events.iter().copied().find(|event| event.name == name);
        let categories = self.categories_percent;
        let form = Form {
            cycles: find("CPU_CYCLES"),
            instructions: find("INST_RETIRED"),
            formula: self.formula.leak(),
            events: self.events.leak(),
            split: Box::leak(Box::new(move |counts: &Counts| split(&categories, counts))),
            // Not needed, because the formula is not ours.
            example: Example {
                counts: &[],
                level1_percent: PerCategory::in_order([""; 4]),
                smt_contention_percent: None,
                level2_percent: None,
            },
        };
        Box::leak(Box::new(CpuTable {
            name: self.name.leak(),
            models: vec![Models {
                maker: match self.implementer {
                    0x41 => Maker::Arm,
                    _ => Maker::AnyArm,
                },
                families: 8..=8,
                models: Numbers::Of(vec![self.part].leak()),
                steppings: 0..=u32::MAX,
                core: None,
            }]
            .leak(),
            slots_per_cycle: Some(self.slots_per_cycle),
            general_counters: GENERAL_COUNTERS,
            metrics: None,
            sources: "a telemetry specification given by the user",
            level1: Level1Counting::Forms(vec![form].leak()),
            groups: self.groups.leak(),
        }))
    }
}

#[inline]
fn split(categories_percent: &PerCategory<Postfix>, counts: &Counts) -> Split {
    // Cycles come first.
    let slots = counts.slots_per_cycle() * counts.at(0);
    let categories = categories_percent.each_ref().map(|formula| {
        let percent = formula.value(counts);
        // 0 divided by 0: nothing was counted.
        let percent = if percent.is_finite() { percent } else { 0.0 };
        percent / 100.0 * slots
    });
    Split {
        slots,
        level1: Level1 {
            slots: categories,
            smt_contention_slots: None,
        },
        level2: None,
    }
}

#[inline]
fn events_alone(name: String, events: Vec<Event>) -> MetricGroup {
    MetricGroup {
        name: name.leak(),
        subject: Subject::Other,
        explains: &[],
        events: events.leak(),
        metrics: &[],
        example: MetricExample::NONE,
    }
}

impl fmt::Display for DescribedCore {
    /// Writes the format that [`from_text`](DescribedCore::from_text) reads.
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "core\t{}\t{}\t{}\t{}\t{}",
            self.name, self.implementer, self.part, self.slots_per_cycle, self.formula
        )?;
        write_events(f, &self.events)?;
        for (_, formula) in self.categories_percent.iter() {
            writeln!(f, "percent\t{formula}")?;
        }
        for group in &self.groups {
            writeln!(f, "group\t{}", group.name)?;
            write_events(f, group.events)?;
        }
        Ok(())
    }
}

#[inline]
fn write_events(f: &mut fmt::Formatter<'_>, events: &[Event]) -> fmt::Result {
    for event in events {
        let counter = match event.counter {
            Counter::General => "general",
            Counter::Fixed | Counter::FixedCycles => "fixed",
        };
        writeln!(f, "{counter}\t{}\t{}", event.name, event.config)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{CoreType, Identity};

    /// A fictional core with four slots.
    const TEXT: &str = "core\tExample E1\t65\t3585\t4\texample-e1-00000000/1\n\
        fixed\tCPU_CYCLES\t17\n\
        general\tSTALL_SLOT_FRONTEND\t62\n\
        general\tSTALL_SLOT_BACKEND\t61\n\
        percent\t25\n\
        percent\t25\n\
        percent\t#1 4 #0 * / 100 *\n\
        percent\t#2 4 #0 * / 100 *\n\
        group\tL1D\n\
        general\tL1D_CACHE\t4\n";

    #[test]
    fn description_is_read_as_written() {
        let core = DescribedCore::from_text(TEXT).unwrap();
        assert_eq!(core.to_string(), TEXT);
    }

    #[test]
    fn description_becomes_table_of_its_core() {
        let table = DescribedCore::from_text(TEXT).unwrap().into_table();
        assert_eq!(table.group("L1D").unwrap().events[0].config, 4);
        let form = &table.forms()[0];
        assert_eq!(form.cycles, Some(form.events[0]));
        let split = |counts: [u64; 3]| (form.split)(&Counts::new(form.events, counts, 4));
        let level1 = split([1000, 400, 1600]).level1;
        assert_eq!(level1.slots.retiring, 1000.0);
        assert_eq!(level1.slots.frontend_bound, 400.0);
        assert_eq!(level1.slots.backend_bound, 1600.0);
        assert_eq!(split([0; 3]).level1, Level1::default());
        let is_for = |vendor, model| {
            table.is_for(&Identity {
                vendor,
                family: 8,
                model,
                stepping: 0x10,
                core: CoreType::Performance,
            })
        };
        assert!(is_for("0x41", 0xe01));
        assert!(!is_for("0x41", 0xe02));
        assert!(!is_for("0xc0", 0xe01));
    }

    #[test]
    fn invalid_description_is_refused_by_line() {
        for (from, to) in [
            ("core\t", "cores\t"),
            ("\t3585\t", "\t0xe01\t"),
            ("percent\t25\n", ""),
            ("percent\t25", "percent\t25 +"),
            ("general\tL1D_CACHE\t4", "general\tL1D_CACHE\tfour"),
            ("fixed\tCPU_CYCLES\t17", "cycles\tCPU_CYCLES\t17"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert_ne!(text, TEXT);
            assert!(DescribedCore::from_text(&text).is_err(), "{text}");
        }
        let many = TEXT.to_owned() + &"general\tL1D_CACHE\t4\n".repeat(MAX_EVENTS);
        assert!(DescribedCore::from_text(&many).is_err());
    }
}

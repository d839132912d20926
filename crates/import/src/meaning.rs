//! Finds slots and categories among the names and numbers of a tool.
//!
//! There are three methods, tried in this order:
//!
//! 1. The tool's own shares (`tma_retiring` …, `Frontend_Bound` …) of slots that it counted or
//!    computed.
//! 2. The slots of each category, if the tool counted them: the events of Intel's PERF_METRICS.
//! 3. The formula of `topdown_counters::cpu` for the machine, if all its events were counted.
//!
//! The method is part of the formula's name, so numbers obtained differently are never compared.
//! Comparisons use slots, not shares: a program that takes twice as long may have the same shares.

use topdown_counters::cpu::{CoreType, Counts, CpuTable, Form, Identity, table_for};
use topdown_counters::machine::this_machine;
use topdown_run::category::{Category, PerCategory};
use topdown_run::machine::Machine;
use topdown_run::sample::{Level1, Sample};

use super::execution::{Count, Execution, Located, Metric};
use super::problem::{Lost, Problem};

/// Information besides the file.
pub struct Known<'a> {
    /// The machine that was measured.
    pub machine: &'a Machine,
    /// The width of the pipeline, if the user gave it.
    pub slots_per_cycle: Option<u32>,
    /// The wall-clock time, if the user gave it.
    pub seconds: Option<f64>,
    /// The tool's version, if the user gave it.
    pub tool_version: Option<&'a str>,
}

/// The source of the numbers.
#[derive(Debug)]
pub struct Meaning {
    /// Tool, method and kind of time, as `name/version`.
    pub formula: String,
    /// The PMU, if it belongs to one core type.
    pub core_type: Option<String>,
    /// The width of the pipeline, if it was needed.
    pub slots_per_cycle: Option<u32>,
    /// A description of the formula for people.
    pub words: String,
}

/// Converts an execution to a sample.
///
/// # Errors
/// Returns what it lacks.
pub fn interpret(execution: &Execution, known: &Known<'_>) -> Result<(Sample, Meaning), Located> {
    let pmus = execution.pmus();
    if pmus.len() > 1 {
        return Err((None, Problem::SeveralCores { pmus }));
    }
    let core_type = pmus.into_iter().find(|pmu| pmu != "cpu");
    let found = Found::new(execution, known, core_type.as_deref())?;
    let total = found.sample.level1.unwrap_or_default().total_slots();
    let slots = found.sample.slots.unwrap_or(0) as f64;
    let percent = 100.0 * total / slots;
    // NaN if there are no slots.
    if !(98.0..=102.0).contains(&percent) {
        return Err((
            Some(found.line).filter(|line| *line > 0),
            Problem::DoNotAddUp { percent },
        ));
    }
    let (wall_ns, kind_of_time) = time(execution, &found, known)?;
    let version = known.tool_version.or(execution.tool_version.as_deref());
    let tool = match version {
        Some(version) => format!("{}-{version}", execution.tool),
        None => execution.tool.to_owned(),
    };
    let meaning = Meaning {
        formula: format!("{tool}{}:{}", kind_of_time.mark(), found.way),
        core_type,
        slots_per_cycle: found.slots_per_cycle,
        words: format!("{}; {}", found.words, kind_of_time.words()),
    };
    Ok((
        Sample {
            windows: 1,
            wall_ns,
            instructions: execution.plain(&INSTRUCTIONS),
            cycles: execution.plain(&CYCLES),
            ..found.sample
        },
        meaning,
    ))
}

/// Slots and categories, and how they were found.
struct Found {
    sample: Sample,
    /// The method and its version, for the formula's name.
    way: String,
    /// A description of the method for people.
    words: String,
    slots_per_cycle: Option<u32>,
    /// The line of the first category.
    line: usize,
    running_ns: Option<u64>,
}

const SMT: &str = "smt_contention";
/// Metrics from which tools report slots.
const SLOTS_METRICS: [&str; 3] = ["slots", "info_thread_slots", "info_slots"];

/// The events of PERF_METRICS: Linux, arch/x86/events/intel/core.c.
const METRIC_EVENTS: [&str; 8] = [
    "topdown-retiring",
    "topdown-bad-spec",
    "topdown-fe-bound",
    "topdown-be-bound",
    "topdown-heavy-ops",
    "topdown-br-mispredict",
    "topdown-fetch-lat",
    "topdown-mem-bound",
];
/// The slots counter, as the kernel and Intel spell it.
const SLOTS_EVENTS: [&str; 4] = ["slots", "topdown.slots", "topdown.slots_p", "topdown_slots"];

/// Converts the counts of a part of an execution, which has a meaning as a whole. They may be too
/// few to add up.
///
/// # Errors
/// Returns what they lack.
pub fn sample_of_part(
    part: &Execution,
    known: &Known<'_>,
    core_type: Option<&str>,
) -> Result<Sample, Located> {
    Ok(Sample {
        instructions: part.plain(&INSTRUCTIONS),
        cycles: part.plain(&CYCLES),
        ..Found::new(part, known, core_type)?.sample
    })
}

impl Found {
    fn new(
        execution: &Execution,
        known: &Known<'_>,
        core_type: Option<&str>,
    ) -> Result<Found, Located> {
        if let Some(found) = Found::shares(execution, known, core_type)? {
            return Ok(found);
        }
        Found::by_counts(execution, known, core_type)
    }

    fn by_counts(
        execution: &Execution,
        known: &Known<'_>,
        core_type: Option<&str>,
    ) -> Result<Found, Located> {
        match Found::events_of_metrics(execution)? {
            Some(found) => Ok(found),
            None => Found::by_table(execution, known, core_type),
        }
    }

    /// Uses the tool's shares of slots.
    fn shares(
        execution: &Execution,
        known: &Known<'_>,
        pmu: Option<&str>,
    ) -> Result<Option<Found>, Located> {
        // perf also prints shares named `Retiring` along with the events of PERF_METRICS.
        let prefix = match execution.metric("tma_retiring") {
            Some(_) => "tma_",
            None if execution.count(METRIC_EVENTS[0])?.is_some() => return Ok(None),
            None => "",
        };
        let metric = |name: &str| execution.metric(&format!("{prefix}{name}"));
        // The tools write `bad_speculation`.
        let named = |words: &str| metric(&words.replace(' ', "_"));
        let Some(retiring) = named(Category::Retiring.name()) else {
            return if execution.has_nameless_metrics && execution.counts.is_empty() {
                Err((None, Problem::SharesOnly))
            } else {
                Ok(None)
            };
        };
        let Some(level1) = PerCategory::from_known(|category| named(category.name())) else {
            return Ok(None);
        };
        // Tools divide by counts of zero. The counts may be complete all the same.
        let has_value = |metric: &&Metric| !matches!(metric.value, Err(Lost::Missing(_)));
        let without_value = level1
            .into_array()
            .into_iter()
            .find(|metric| !has_value(metric));
        if let Some(metric) = without_value {
            let by_counts = Found::by_counts(execution, known, pmu);
            return by_counts
                .map(Some)
                .or_else(|_| metric.known().map(|_| None));
        }
        let share = |metric: &Metric| Ok(metric.known()? / 100.0);
        let slots_metric = SLOTS_METRICS.iter().find_map(|name| metric(name));
        let (mut slots_per_cycle, mut running_ns) = (None, None);
        let (slots, of) = if let Some(count) = execution.first_count(&SLOTS_EVENTS)? {
            running_ns = count.running_ns;
            (count.known()? as f64, count.name.clone())
        } else if let Some(slots) = slots_metric {
            (slots.known()?, slots.name.clone())
        } else if let Some(cycles) = execution.first_count(&CYCLES)? {
            let width = width(known, pmu)?;
            (slots_per_cycle, running_ns) = (Some(width), cycles.running_ns);
            (
                cycles.known()? as f64 * f64::from(width),
                cycles.name.clone(),
            )
        } else {
            return Err((None, Problem::SharesOnly));
        };
        // Their formulas may use any of the events.
        for count in &execution.counts {
            count.known()?;
        }
        let part = |metric: &Metric| Ok(share(metric)? * slots);
        let parts = |metrics: PerCategory<&Metric>| {
            Ok::<_, Located>(PerCategory {
                retiring: part(metrics.retiring)?,
                bad_speculation: part(metrics.bad_speculation)?,
                frontend_bound: part(metrics.frontend_bound)?,
                backend_bound: part(metrics.backend_bound)?,
            })
        };
        let level2 = PerCategory::from_known(|category| {
            named(category.measured_part().name()).filter(has_value)
        });
        let level2 = level2.map(parts).transpose()?;
        let smt = match metric(SMT) {
            Some(smt) if has_value(&smt) => Some(part(smt)?),
            _ => None,
        };
        let rounding = level1.map(|metric| metric.rounding).into_array();
        let rounding = rounding.into_iter().fold(0.0, f64::max);
        Ok(Some(Found {
            sample: Sample {
                slots: Some(slots as u64),
                level1: Some(Level1 {
                    slots: parts(level1)?,
                    smt_contention_slots: smt,
                }),
                level2,
                resolution_slots: rounding / 100.0 * slots,
                ..Sample::EMPTY
            },
            way: format!("{}*{of}/1", retiring.name),
            words: format!(
                "shares as {} prints them, of slots by `{of}`",
                execution.tool
            ),
            slots_per_cycle,
            line: retiring.line,
            running_ns,
        }))
    }

    /// Uses the counted slots of each category.
    fn events_of_metrics(execution: &Execution) -> Result<Option<Found>, Located> {
        let Some(slots) = execution.first_count(&SLOTS_EVENTS)? else {
            return Ok(None);
        };
        let mut counts = Vec::new();
        for event in METRIC_EVENTS {
            match execution.count(event)? {
                Some(count) => counts.push(count),
                None => break,
            }
        }
        let categories = Category::ALL.len();
        if counts.len() < categories {
            return Ok(None);
        }
        let slots_counted = slots.known()?;
        let known: Result<Vec<f64>, Located> = counts
            .iter()
            .map(|count| Ok(count.known()? as f64))
            .collect();
        let known = known?;
        let level =
            |first: usize| PerCategory::from_fn(|category| known[first + category as usize]);
        Ok(Some(Found {
            sample: Sample {
                slots: Some(slots_counted),
                level1: Some(Level1 {
                    slots: level(0),
                    smt_contention_slots: None,
                }),
                level2: (counts.len() == METRIC_EVENTS.len()).then(|| level(categories)),
                // The register has 8 bits.
                resolution_slots: slots_counted as f64 / 255.0,
                ..Sample::EMPTY
            },
            way: format!("{}/1", counts[0].name),
            words: format!("PERF_METRICS as {} counted it", execution.tool),
            slots_per_cycle: None,
            line: counts[0].line,
            running_ns: slots.running_ns,
        }))
    }

    /// Applies our own formula to the tool's counts.
    fn by_table(
        execution: &Execution,
        known: &Known<'_>,
        pmu: Option<&str>,
    ) -> Result<Found, Located> {
        let table = table(known.machine, pmu);
        for form in table.map_or(&[][..], CpuTable::forms) {
            let Some((counts, first)) = counts_of_form(execution, form)? else {
                continue;
            };
            let width = width(known, pmu)?;
            let split = (form.split)(&Counts::new(form.events, counts, width));
            return Ok(Found {
                sample: Sample {
                    slots: Some(split.slots as u64),
                    level1: Some(split.level1),
                    level2: split.level2,
                    ..Sample::EMPTY
                },
                way: form.formula.to_owned(),
                words: format!("events as {} counted them", execution.tool),
                slots_per_cycle: Some(width),
                line: first.line,
                running_ns: first.running_ns,
            });
        }
        if execution.counts.is_empty() && execution.metric(Category::Retiring.name()).is_some() {
            return Err((None, Problem::SharesOnly));
        }
        let table = match table {
            Some(table) => format!("the table of {}", table.name),
            None => format!("a table of this project ({} has none)", known.machine),
        };
        let is_here = *known.machine == this_machine();
        Err((None, Problem::NoTopdown { table, is_here }))
    }
}

/// Instructions, as tools spell them.
const INSTRUCTIONS: [&str; 3] = ["instructions", "inst_retired.any", "inst_retired"];

/// Cycles, as tools spell them.
const CYCLES: [&str; 7] = [
    "cycle",
    "cycles",
    "cpu-cycles",
    "cpu_cycles",
    "cpu_clk_unhalted.thread",
    "cpu_clk_unhalted.core",
    "ls_not_halted_cyc",
];

/// Returns the counts of a form's events, in its order, and the first of them; `None` if any was
/// not counted. Instructions default to 0: they are shown, but no formula uses them.
fn counts_of_form<'a>(
    execution: &'a Execution,
    form: &Form,
) -> Result<Option<(Vec<u64>, &'a Count)>, Located> {
    let mut first = None;
    let mut counts = Vec::with_capacity(form.events.len());
    for event in form.events {
        let found = match execution.count_of(&event.name.to_ascii_lowercase(), event.config)? {
            None if Some(*event) == form.cycles => execution.first_count(&CYCLES)?,
            found => found,
        };
        counts.push(match found {
            Some(count) => {
                first.get_or_insert(count);
                count.known()?
            }
            None if Some(*event) == form.instructions => 0,
            None => return Ok(None),
        });
    }
    Ok(first.map(|first| (counts, first)))
}

fn table(machine: &Machine, pmu: Option<&str>) -> Option<&'static CpuTable> {
    table_for(&Identity {
        vendor: &machine.vendor,
        family: machine.family,
        model: machine.model,
        stepping: machine.stepping,
        core: CoreType::from_pmu(pmu.unwrap_or("cpu")),
    })
}

fn width(known: &Known<'_>, pmu: Option<&str>) -> Result<u32, Located> {
    known
        .slots_per_cycle
        .or_else(|| table(known.machine, pmu)?.slots_per_cycle)
        .ok_or_else(|| {
            let machine = known.machine.to_string();
            (None, Problem::NoWidth { machine })
        })
}

/// The kind of time that a run has.
#[derive(Clone, Copy)]
enum TimeKind {
    Wall,
    Given,
    Processor,
}

impl TimeKind {
    fn mark(self) -> &'static str {
        match self {
            TimeKind::Wall | TimeKind::Given => "",
            TimeKind::Processor => "(cpu-time)",
        }
    }

    fn words(self) -> &'static str {
        match self {
            TimeKind::Wall => "wall-clock time as printed",
            TimeKind::Given => "wall-clock time as given",
            TimeKind::Processor => "time is that of all threads on the CPU, not of the clock",
        }
    }
}

fn time(
    execution: &Execution,
    found: &Found,
    known: &Known<'_>,
) -> Result<(u64, TimeKind), Located> {
    let printed = execution.metric("time").map(|seconds| &seconds.value);
    let seconds = || Some((printed?.as_ref().ok()? * 1e9) as u64);
    if let Some(seconds) = known.seconds {
        Ok(((seconds * 1e9) as u64, TimeKind::Given))
    } else if let Some(wall_ns) = execution.wall_ns.or_else(seconds) {
        Ok((wall_ns, TimeKind::Wall))
    } else if let Some(running_ns) = found.running_ns {
        Ok((running_ns, TimeKind::Processor))
    } else {
        let printed = printed.and_then(|seconds| seconds.clone().err());
        Err((None, Problem::NoTime { printed }))
    }
}

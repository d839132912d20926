//! The functions of a command, from further launches that sample it.

use std::path::Path;

use topdown_counters::CommandSamples;
use topdown_counters::hardware::commands::TreeCounters;
use topdown_run::code_samples::{DEFAULT_PERIOD_CYCLES, Sampled};
use topdown_run::run_file::{Functions, IterationSample};

use super::launch::launch_once;
use crate::cli::ExecArgs;
use crate::counted_command::{CountedCommand, Recorded};
use crate::error::ExecError;
use topdown_report::number::percent;
use topdown_run::code_samples::MIN_PMU_SAMPLES;
use topdown_runner::functions::{
    SampledFunctions, Symbols, attribute_samples, functions_of_samples,
};
use topdown_terminal::count_of;
use topdown_terminal::terminal::message;

/// The number of PMU samples to aim for: a share of 50 % is then known to 0.7 points.
const TARGET_SAMPLES: f64 = 20_000.0;

/// A safe limit: by default it allows 100 000 per second, and fewer when they
/// take long.
const MAX_SAMPLES_PER_SECOND: f64 = 10_000.0;

/// Fewer launches say nothing about how launches differ.
const MIN_LAUNCHES: u32 = 3;

/// With a smaller part of the slots, the functions are incomplete.
const MIN_COVERED_FRACTION: f64 = 0.98;

/// Samples the command in further launches, and returns its functions. Says so if there are none,
/// which is not a failure.
///
/// # Errors
/// Returns an error if the user interrupts.
pub fn sampled(
    args: &ExecArgs,
    name: &str,
    counters: &TreeCounters,
    counted: &[IterationSample],
) -> Result<Option<Functions>, ExecError> {
    let plan = Plan::new(counted, args.launches);
    match launch_all(args, name, counters, counted, &plan) {
        Ok(functions) => Ok(Some(functions)),
        Err(Unknown::Interrupted) => Err(ExecError::Interrupted),
        Err(Unknown::Reason(why)) => {
            message!("note: the functions of `{name}` are unknown: {why}");
            Ok(None)
        }
    }
}

/// Why there are no functions.
enum Unknown {
    Interrupted,
    Reason(String),
}

impl From<ExecError> for Unknown {
    fn from(error: ExecError) -> Unknown {
        match error {
            ExecError::Interrupted => Unknown::Interrupted,
            // The message of the whole says that nothing was stored.
            ExecError::Launch { error, .. } => Unknown::Reason(error.to_string()),
            error => Unknown::Reason(error.to_string()),
        }
    }
}

/// How to sample a command.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    launches: u32,
    period_cycles: u64,
}

impl Plan {
    /// Takes the launches that were counted: at most as many again are made.
    fn new(counted: &[IterationSample], max_launches: u32) -> Plan {
        let total = |number: fn(&IterationSample) -> Option<u64>| {
            let sum: u64 = counted.iter().filter_map(number).sum();
            sum as f64 / counted.len().max(1) as f64
        };
        let cycles = total(|cycle| cycle.sample.cycles.or(cycle.sample.slots));
        let seconds = total(|second| Some(second.sample.wall_ns)) / 1e9;
        let least = MIN_LAUNCHES.min(max_launches);
        // Few enough for the kernel, and not more than are wanted.
        let hits = (MAX_SAMPLES_PER_SECOND * seconds).min(TARGET_SAMPLES / f64::from(least));
        let period = (cycles / hits.max(1.0)) as u64;
        let period_cycles = prime_from(period.max(DEFAULT_PERIOD_CYCLES));
        let hits = cycles / period_cycles as f64;
        let launches = (TARGET_SAMPLES / hits.max(1.0)).round() as u32;
        Plan {
            launches: launches.clamp(least, max_launches),
            period_cycles,
        }
    }
}

impl Plan {
    /// Returns the period of a launch, from 1. Every launch has another one: if PMU samples keep
    /// step with a loop in one of them, they do not in the others.
    fn period_of(&self, launch: u32) -> u64 {
        let longer = self.period_cycles / 71 * u64::from(launch - 1);
        prime_from(self.period_cycles + longer)
    }
}

/// Returns the first prime number that is not smaller, so that PMU samples do not keep step with a
/// loop.
fn prime_from(number: u64) -> u64 {
    let divisors = |number: u64| (3..).step_by(2).take_while(move |by| by * by <= number);
    (number | 1..)
        .step_by(2)
        .find(|number| divisors(*number).all(|by| number % by != 0))
        .unwrap_or(number)
}

fn launch_all(
    args: &ExecArgs,
    name: &str,
    counters: &TreeCounters,
    counted: &[IterationSample],
    plan: &Plan,
) -> Result<Functions, Unknown> {
    let mut symbols: Option<Symbols> = None;
    let mut found: Vec<(Vec<IterationSample>, SampledFunctions)> = Vec::new();
    let mut unsampled = (0, 0, None);
    for launch in 1..=plan.launches {
        if !args.quiet {
            message!("    Sampling {launch} of {}", plan.launches);
        }
        let command = CountedCommand {
            command: &args.command,
            quiet: args.quiet,
            recorded: Recorded::Hits(counters, plan.period_of(launch)),
        };
        let launched = launch_once(&command, (launch, plan.launches))?;
        let Some(sampled) = launched.hits else {
            continue;
        };
        let CommandSamples {
            hits, executable, ..
        } = &sampled;
        let symbols = symbols
            .get_or_insert_with(|| Symbols::new(executable.as_deref().unwrap_or(Path::new(""))));
        let functions = attribute_samples(hits, symbols, counters.provenance());
        let sample = IterationSample {
            iterations: 1,
            sample: launched.sample,
        };
        found.push((vec![sample], functions));
        unsampled.1 += sampled.threads;
        if let Some((threads, why)) = sampled.unsampled {
            unsampled.0 += threads;
            unsampled.2.get_or_insert(why);
        }
    }
    if let (missing, all, Some(why)) = &unsampled {
        message!(
            "note: {missing} of {} could not be sampled: {why}",
            count_of(*all, "thread")
        );
    }
    let launches: Vec<_> = found
        .iter()
        .map(|(benchmark, functions)| (&benchmark[..], functions))
        .collect();
    let functions = functions_of_samples(&launches)
        .ok_or_else(|| Unknown::Reason("its launches recorded no PMU samples".to_owned()))?;
    let sampled = functions.sampled.unwrap_or_default();
    check_sample_count(sampled).map_err(Unknown::Reason)?;
    let part = part_of(&functions, counted);
    if part < MIN_COVERED_FRACTION {
        message!(
            "note: the functions of `{name}` cover {} % of its slots; the rest belongs to threads \
             that were not sampled, follows the last PMU sample of a thread, or is next to lost \
             ones",
            percent(part)
        );
    }
    Ok(functions)
}

fn check_sample_count(sampled: Sampled) -> Result<(), String> {
    match sampled.hits {
        MIN_PMU_SAMPLES.. => Ok(()),
        hits => Err(format!(
            "only {hits} PMU samples; at least {MIN_PMU_SAMPLES} are needed; raise `--launches`, or give \
             the command more work"
        )),
    }
}

/// Returns the part of a launch's slots that the functions have.
fn part_of(functions: &Functions, counted: &[IterationSample]) -> f64 {
    let slots: u64 = counted.iter().filter_map(|slot| slot.sample.slots).sum();
    let slots = slots as f64 / counted.len().max(1) as f64;
    functions.total().slots() as f64 / functions.iterations as f64 / slots.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::run_file::OtherFunctions;
    use topdown_run::sample::Sample;

    fn launches(cycles: u64, wall_ns: u64) -> Vec<IterationSample> {
        let sample = Sample {
            cycles: Some(cycles),
            slots: Some(6 * cycles),
            wall_ns,
            ..Sample::EMPTY
        };
        let execution = IterationSample {
            iterations: 1,
            sample,
        };
        vec![execution; 2]
    }

    #[test]
    fn sampling_plan_respects_kernel_rate_limit() {
        // A minute at 4 GHz.
        let long = Plan::new(&launches(240_000_000_000, 60_000_000_000), 10);
        assert_eq!(long.launches, 3);
        assert!(
            (36_000_000..36_001_000).contains(&long.period_cycles),
            "{long:?}"
        );
        // A tenth of a second: a thousand PMU samples in each launch.
        let short = Plan::new(&launches(400_000_000, 100_000_000), 10);
        assert_eq!((short.launches, short.period_cycles), (10, 400_009));
        // Almost nothing, on a slow machine.
        let nothing = Plan::new(&launches(100_000, 100_000_000), 2);
        assert_eq!((nothing.launches, nothing.period_cycles), (2, 20_011));
        assert_eq!(Plan::new(&[], 1).period_cycles, 20_011);
        let periods = [1, 2, 3].map(|launch| nothing.period_of(launch));
        assert_eq!(periods, [20_011, 20_297, 20_593]);
    }

    #[test]
    fn fewer_than_100_pmu_samples_are_too_few() {
        let checked = |hits| {
            check_sample_count(Sampled {
                hits,
                ..Sampled::default()
            })
        };
        assert_eq!(checked(100), Ok(()));
        assert!(
            checked(99)
                .unwrap_err()
                .starts_with("only 99 PMU samples; at least 100 are needed; raise")
        );
    }

    #[test]
    fn sampled_part_is_relative_to_a_launch() {
        let functions = Functions {
            iterations: 3,
            largest: Vec::new(),
            others: Some(OtherFunctions {
                functions: 1,
                counts: [1, 900, 0, 0, 0, 0, 0, 0, 0].into(),
            }),
            sampled: None,
            lock: None,
        };
        assert_eq!(part_of(&functions, &launches(100, 1)), 0.5);
    }
}

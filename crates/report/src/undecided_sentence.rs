//! The reason that a benchmark is undecided, as a sentence without its subject.

use super::number::{percent_change, points};
use super::schedule_sentence::by_schedule;
use super::verdict_sentence::{change_in_words, slots_of};
use topdown_gate::metric::Metric;
use topdown_gate::statistics::outlook::MAX_LAUNCHES;
use topdown_gate::verdict::{BenchmarkVerdict, Effect, Undecided, UndecidedReason};

/// `is 60.2 % slower in 2 of 10 launches, in none of the baseline's 10`
pub fn slow_launches(benchmark: &BenchmarkVerdict) -> String {
    let (Some(slow), Some(effect)) = (benchmark.slow_launches, benchmark.main_effect()) else {
        return String::new();
    };
    let of_baseline = match slow.baseline {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    format!(
        "{} in {} of {} launches, in {of_baseline} of the baseline's {}",
        change_in_words(effect.metric, slow.difference),
        slow.candidate,
        slow.candidate_launches,
        slow.baseline_launches
    )
}

/// Returns why nothing is decided, and what would decide it.
pub fn undecided_because(undecided: &Undecided, benchmark: &BenchmarkVerdict) -> String {
    let with_interval = |effect: &Effect| {
        let interval = effect.interval.map_or(String::new(), |interval| {
            format!(" [{}, {}]", points(interval.low), points(interval.high))
        });
        format!("{}{interval}", percent_change(effect.difference))
    };
    let change = benchmark.main_effect().map_or(String::new(), with_interval);
    // With the first number about half of the runs are decided, with the second about three
    // quarters.
    let advice = match (undecided.launches_needed, undecided.launches_enough) {
        (Some(half), Some(most)) if half < most => {
            format!("needs {half} to {most} launches per side")
        }
        (Some(_), Some(most)) => format!("needs {most} launches per side"),
        (Some(half), None) => format!("{half} launches per side may decide it"),
        (None, _) if undecided.decided_by_most_fraction.is_some() => {
            format!("even {MAX_LAUNCHES} launches per side may not decide it")
        }
        (None, _) => "too noisy to gate".to_owned(),
    };
    match undecided.reason {
        UndecidedReason::SlowLaunches => format!(
            "may be slower in some launches: it {}, which the suite's noise may explain; \
             more launches show it",
            slow_launches(benchmark)
        ),
        UndecidedReason::MachineOrGlobalChange => {
            format!("is undecided at {change}: most benchmarks took longer, as on a slower machine")
        }
        UndecidedReason::OthersFaster => format!(
            "is undecided at {change}: only the others got faster; `bench --against` decides"
        ),
        UndecidedReason::TimeLooksLonger => {
            let time = benchmark.effect(Metric::Wall);
            let time = time.map_or(String::new(), with_interval);
            format!(
                "may take longer, {time} at {}: {advice}",
                slots_of(benchmark)
            )
        }
        UndecidedReason::DriftAssumed => format!(
            "is undecided at {change}: that may be drift, which is assumed for so few benchmarks; \
             `bench --against` or six saved runs rule it out"
        ),
        UndecidedReason::DriftUnknown => format!(
            "is undecided at {change}: the machine may have drifted; `bench --against` rules that \
             out"
        ),
        UndecidedReason::NotGated => {
            let metric = benchmark.main_effect().map_or("it", |e| e.metric.name());
            format!("grew, {change}, but the policy does not gate {metric}")
        }
        UndecidedReason::CostlyWindows => format!(
            "is undecided at {change}: its windows cost too much; give `iter_batched` larger \
             batches"
        ),
        UndecidedReason::DependsOnOrder => {
            let changes = benchmark.schedules.as_ref();
            let changes = changes.map_or(String::new(), by_schedule);
            format!("is undecided: the order of its threads decides, {changes}")
        }
        UndecidedReason::FewUnits => format!(
            "is undecided at {change}: the model sampled too few units; raise `--model-budget`"
        ),
        UndecidedReason::Margin => {
            format!("is at the margin, {change}: more launches are unlikely to decide it")
        }
        UndecidedReason::Drift => format!(
            "is undecided at {change}: the runs drift too far apart; `bench --against` has no drift"
        ),
        UndecidedReason::OneLaunch if undecided.launches_needed.is_some() => {
            format!("is undecided at {change}: one launch decides nothing; {advice}")
        }
        UndecidedReason::OneLaunch | UndecidedReason::Noise => {
            format!("is undecided at {change}: {advice}")
        }
    }
}

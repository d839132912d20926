//! Sentences about the orders of its threads in which a benchmark was modelled.

use super::number::{percent, percent_change};
use topdown_gate::schedules::{OrderCause, OrderDependence, ScheduleChanges};
use topdown_run::visible::visible;

/// `slower in 3 of 8 schedules, faster in 1 (-3.0 % to +12.0 %), by contention on one lock`
pub fn by_schedule(changes: &ScheduleChanges) -> String {
    let faster = format!("faster in {}", changes.faster);
    let of_all = format!(" of {} schedules", changes.schedules);
    let counts = match (changes.slower, changes.faster) {
        (0, _) => faster + &of_all,
        (slower, 0) => format!("slower in {slower}{of_all}"),
        (slower, _) => format!("slower in {slower}{of_all}, {faster}"),
    };
    let range = [changes.min_difference, changes.max_difference].map(percent_change);
    let by = match changes.cause {
        Some(OrderCause::Lock) => format!(", by contention on {}", lock(changes.lock.as_deref())),
        Some(OrderCause::Spinning) => ", by spinning for other threads".to_owned(),
        Some(OrderCause::Waiting) => ", by waiting for other threads".to_owned(),
        None => String::new(),
    };
    format!("{counts} ({} to {}){by}", range[0], range[1])
}

/// `the lock of `queue::push``
fn lock(function: Option<&str>) -> String {
    function.map_or("one lock".to_owned(), |name| {
        format!("the lock of `{}`", visible(name))
    })
}

/// `3 of 8 schedules contend more on one lock, with up to 12.0 % more slots`
pub fn order_dependence(dependence: OrderDependence<'_>) -> String {
    let OrderDependence {
        schedules, more, ..
    } = dependence;
    let difference = percent(dependence.difference);
    let what = match dependence.cause {
        Some(OrderCause::Lock) => format!("contend more on {}", lock(dependence.lock)),
        Some(OrderCause::Spinning) => "spin more for other threads".to_owned(),
        Some(OrderCause::Waiting) => "wait more often for other threads".to_owned(),
        None => {
            return format!(
                "{more} of {schedules} schedules take up to {difference} % more slots: the order \
                 of its threads decides"
            );
        }
    };
    format!("{more} of {schedules} schedules {what}, with up to {difference} % more slots")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::compared;
    use crate::verdict_sentence::sentence;
    use topdown_gate::scenario::{self, Planted, modelled};

    #[test]
    fn sentences_name_the_cause() {
        let note = |cause, lock| {
            order_dependence(OrderDependence {
                schedules: 8,
                more: 3,
                difference: 0.12,
                cause,
                lock,
            })
        };
        let change = |cause, lock: Option<&str>| {
            by_schedule(&ScheduleChanges {
                schedules: 8,
                slower: 3,
                faster: 0,
                min_difference: 0.0,
                max_difference: 0.12,
                cause,
                lock: lock.map(str::to_owned),
            })
        };
        let all = [
            (None, None),
            (Some(OrderCause::Lock), None),
            (Some(OrderCause::Lock), Some("queue::push")),
            (Some(OrderCause::Spinning), None),
            (Some(OrderCause::Waiting), None),
        ];
        let all = all.map(|(cause, lock)| [note(cause, lock), change(cause, lock)]);
        let all = all.concat();
        insta::assert_snapshot!(all.join("\n"), @r"
        3 of 8 schedules take up to 12.0 % more slots: the order of its threads decides
        slower in 3 of 8 schedules (0.0 % to +12.0 %)
        3 of 8 schedules contend more on one lock, with up to 12.0 % more slots
        slower in 3 of 8 schedules (0.0 % to +12.0 %), by contention on one lock
        3 of 8 schedules contend more on the lock of `queue::push`, with up to 12.0 % more slots
        slower in 3 of 8 schedules (0.0 % to +12.0 %), by contention on the lock of `queue::push`
        3 of 8 schedules spin more for other threads, with up to 12.0 % more slots
        slower in 3 of 8 schedules (0.0 % to +12.0 %), by spinning for other threads
        3 of 8 schedules wait more often for other threads, with up to 12.0 % more slots
        slower in 3 of 8 schedules (0.0 % to +12.0 %), by waiting for other threads
        ");
    }

    #[test]
    fn sentence_counts_schedules() {
        let sentence_of = |backend_bound: f64, schedules: [f64; 4]| {
            let side = |backend_bound, schedules: [f64; 4]| {
                let planted = Planted {
                    categories: [0.0, 0.0, 0.0, backend_bound].into(),
                    ..Planted::default()
                };
                let benchmark = scenario::in_schedules(modelled("m", planted), &schedules);
                scenario::run(vec![benchmark])
            };
            let comparison = compared(&side(0.0, [1.0; 4]), &side(backend_bound, schedules));
            sentence(&comparison.benchmarks[0], "m")
        };
        assert_eq!(
            sentence_of(0.0, [1.0, 1.05, 1.0, 0.9]),
            "`m` is undecided: the order of its threads decides, slower in 1 of 4 schedules, \
             faster in 1 (-10.0 % to +5.0 %)"
        );
        let faster = sentence_of(0.0, [1.0, 0.9, 1.0, 1.0]);
        assert!(
            faster.contains("faster in 1 of 4 schedules (-10.0 % to"),
            "{faster}"
        );
        let slower = sentence_of(0.1, [1.0; 4]);
        assert!(slower.ends_with("; in all 4 schedules"), "{slower}");
    }
}

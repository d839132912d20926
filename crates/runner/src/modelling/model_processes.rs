//! The processes in which benchmarks are modelled.
//!
//! Each benchmark is modelled in a process of its own. In one process, earlier benchmarks decide by
//! the state of the allocator where the data of later ones lies, so a change of one would change
//! the slots of others.
//!
//! If a bench can fork these processes, it is launched once for each share of its benchmarks that
//! are modelled at the same time. What it executes before a fork does not depend on the share.

use std::sync::Arc;
use std::time::Duration;

use crate::launching::forks::Forks;
use crate::targets::bench_targets::BenchTarget;

/// A target that takes longer to reach its first benchmark is modelled in one process if it cannot
/// fork. A clock must decide, since a set-up is not traced. So the limit is far above usual
/// set-ups, also on a busy machine: two runs on different sides of it would differ.
const MAX_SET_UP: Duration = Duration::from_secs(5);

/// Splits `target` into the processes that model it: one per benchmark, or a single one if its
/// set-up takes too long.
pub fn processes_of(target: &BenchTarget, set_up: Duration) -> Vec<BenchTarget> {
    if set_up > MAX_SET_UP {
        return vec![target.clone()];
    }
    let names = target.benchmarks.iter().flatten();
    names
        .map(|name| BenchTarget {
            benchmarks: Some(vec![name.clone()]),
            ..target.clone()
        })
        .collect()
}

/// Splits `target`, which reaches its benchmarks in this `order`, into at most so many launches
/// that fork a process for each benchmark.
pub fn forking(target: &BenchTarget, order: &Arc<[String]>, at_once: usize) -> Vec<BenchTarget> {
    let names: Vec<&String> = target.benchmarks.iter().flatten().collect();
    let shares = at_once.clamp(1, names.len().max(1));
    let share = |first: usize| BenchTarget {
        benchmarks: Some(
            names
                .iter()
                .skip(first)
                .step_by(shares)
                .copied()
                .cloned()
                .collect(),
        ),
        forks: Some(Forks::Plan {
            order: Arc::clone(order),
            repeats: Default::default(),
        }),
        ..target.clone()
    };
    (0..shares).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(names: &[&str]) -> BenchTarget {
        BenchTarget {
            benchmarks: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            ..BenchTarget::named("suite", "bench")
        }
    }

    fn names(targets: Vec<BenchTarget>) -> Vec<String> {
        let names = targets.into_iter().map(|t| t.benchmarks.unwrap().join(" "));
        names.collect()
    }

    #[test]
    fn benchmarks_share_a_process_if_setup_is_slow() {
        let target = target(&["a", "b"]);
        let after = |set_up| names(processes_of(&target, set_up));
        assert_eq!(after(MAX_SET_UP), ["a", "b"]);
        let longer = MAX_SET_UP + Duration::from_nanos(1);
        assert_eq!(after(longer), ["a b"]);
    }

    #[test]
    fn forking_launches_share_the_benchmarks() {
        let target = target(&["a", "b", "c"]);
        let order: Arc<[String]> = Arc::new([]);
        let shares = |at_once| names(forking(&target, &order, at_once));
        assert_eq!(shares(1), ["a b c"]);
        assert_eq!(shares(2), ["a c", "b"]);
        assert_eq!(shares(8), ["a", "b", "c"]);
    }
}

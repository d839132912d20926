//! The processes in which benchmarks are modelled.
//!
//! Each benchmark is modelled in a process of its own. In one process, earlier benchmarks decide by
//! the state of the allocator where the data of later ones lies, so a change of one would change
//! the slots of others.

use std::time::Duration;

use crate::targets::bench_targets::BenchTarget;

/// A target that takes longer to reach its first benchmark is modelled in one process. A clock must
/// decide, since a set-up is not traced. So the limit is far above usual set-ups, also on a busy
/// machine: two runs on different sides of it would differ.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_share_a_process_if_setup_is_slow() {
        let target = BenchTarget {
            benchmarks: Some(vec!["a".to_owned(), "b".to_owned()]),
            ..BenchTarget::named("suite", "bench")
        };
        let after = |set_up| -> Vec<String> {
            let processes = processes_of(&target, set_up).into_iter();
            processes.map(|t| t.benchmarks.unwrap().join(" ")).collect()
        };
        assert_eq!(after(MAX_SET_UP), ["a", "b"]);
        let longer = MAX_SET_UP + Duration::from_nanos(1);
        assert_eq!(after(longer), ["a b"]);
    }
}

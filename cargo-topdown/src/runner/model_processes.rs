//! The processes in which benchmarks are modelled.
//!
//! Each benchmark is modelled in a process of its own. In one process, what earlier benchmarks
//! leave in the allocator decides where the data of later ones lies: if one is added, removed or
//! changed, the slots of others would change although their code did not.

use std::time::Duration;

use super::second_core;
use crate::bench_targets::BenchTarget;

/// A target that takes longer to reach its first benchmark is modelled in one process. This is the
/// one thing that a clock decides, since a set-up is not traced. So the limit is far from what
/// set-ups usually take, on a busy machine too: two runs on different sides of it would differ.
const LONGEST_SET_UP: Duration = Duration::from_secs(5);

/// What to launch on the model.
#[derive(Default)]
pub struct Processes {
    /// A benchmark, on all of its cores; or all benchmarks of a target on its first core.
    pub first: Vec<BenchTarget>,
    /// All benchmarks of a target on its second core. In the same process as the first they could
    /// have more iterations than alone, and leave another heap to those that follow.
    pub second: Vec<BenchTarget>,
}

impl Processes {
    /// Adds `target`, which takes `set_up` to reach its first benchmark. Returns whether each
    /// benchmark has a process of its own.
    pub fn add(&mut self, target: &BenchTarget, set_up: Duration) -> bool {
        if set_up > LONGEST_SET_UP {
            let target = std::slice::from_ref(target);
            self.first.extend(second_core::on_first(target));
            self.second.extend(second_core::on_second(target));
            return false;
        }
        let names = target.benchmarks.iter().flatten();
        self.first.extend(names.map(|name| BenchTarget {
            benchmarks: Some(vec![name.clone()]),
            ..target.clone()
        }));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::measuring::Settings;
    use topdown_run::setting::ModelCore;

    #[test]
    fn benchmarks_share_a_process_if_setup_is_slow() {
        let target = BenchTarget {
            benchmarks: Some(vec!["a".to_owned(), "b".to_owned()]),
            settings: Settings {
                model_core: ModelCore::GoldenCove,
                second_core: Some(ModelCore::Zen5),
                ..Settings::default()
            },
            ..BenchTarget::named("suite", "bench")
        };
        let after = |set_up| {
            let mut processes = Processes::default();
            let are_alone = processes.add(&target, set_up);
            let of = |targets: Vec<BenchTarget>| -> Vec<(String, ModelCore, bool)> {
                let targets = targets.into_iter();
                targets
                    .map(|t| {
                        let names = t.benchmarks.unwrap().join(" ");
                        let has_second = t.settings.second_core.is_some();
                        (names, t.settings.model_core, has_second)
                    })
                    .collect()
            };
            (are_alone, of(processes.first), of(processes.second))
        };
        let one = |names: &str, core, has_second| (names.to_owned(), core, has_second);
        let (first, second) = (ModelCore::GoldenCove, ModelCore::Zen5);
        assert_eq!(
            after(LONGEST_SET_UP),
            (
                true,
                vec![one("a", first, true), one("b", first, true)],
                vec![]
            )
        );
        assert_eq!(
            after(LONGEST_SET_UP + Duration::from_nanos(1)),
            (
                false,
                vec![one("a b", first, false)],
                vec![one("a b", second, false)]
            )
        );
    }
}

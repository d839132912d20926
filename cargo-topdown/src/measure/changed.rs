//! `cargo topdown bench --changed`: launches only benchmarks whose code differs from an earlier
//! run's.
//!
//! When in doubt, a benchmark is launched: without a fingerprint on either side, for example if
//! other threads work or code is generated at run time. With another toolchain, all are launched.

use topdown_run::run_file::{BenchmarkId, Build, Fingerprint, Run, Unchanged};

use topdown_runner::modelling::fingerprints::Fingerprints;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_terminal::terminal::message;

/// At most this many benchmarks are listed by name.
const MAX_NAMES: usize = 10;

/// A suite without the benchmarks that execute the same code as in an earlier run.
#[derive(Debug)]
pub struct Changed {
    /// Benchmarks to launch.
    pub targets: Vec<BenchTarget>,
    /// Benchmarks to skip.
    pub unchanged: Unchanged,
    differing: usize,
    new: usize,
    uncertain: usize,
    untraced_targets: usize,
    has_other_toolchain: bool,
}

impl Changed {
    /// Compares the `fingerprints` of `targets`, built by `build`, with those of `base`.
    pub fn since(
        base: &Run,
        build: &Build,
        targets: Vec<BenchTarget>,
        fingerprints: &Fingerprints,
    ) -> Changed {
        let mut changed = Changed {
            targets: Vec::new(),
            unchanged: Unchanged {
                since: base.id.clone(),
                benchmarks: Vec::new(),
            },
            differing: 0,
            new: 0,
            uncertain: 0,
            untraced_targets: 0,
            has_other_toolchain: !is_same_toolchain(&base.build, build),
        };
        for target in targets {
            changed.add(base, target, fingerprints);
        }
        changed
    }

    fn add(&mut self, base: &Run, target: BenchTarget, fingerprints: &Fingerprints) {
        let mut kept = Vec::new();
        let mut leaves_out = false;
        let executed = fingerprints.of_target(&target);
        self.untraced_targets += usize::from(target.has_criterion && executed.is_empty());
        for (id, now) in executed {
            match is_same(base, id, now).filter(|_| !self.has_other_toolchain) {
                Some(true) => {
                    leaves_out = true;
                    self.unchanged.benchmarks.push(id.clone());
                    continue;
                }
                Some(false) => self.differing += 1,
                None if !base.benchmarks.iter().any(|b| b.id == *id) => self.new += 1,
                None => self.uncertain += 1,
            }
            kept.push(id.name.clone());
        }
        match (leaves_out, kept.is_empty()) {
            // The filter still decides.
            (false, _) => self.targets.push(target),
            (true, true) => {}
            (true, false) => self.targets.push(BenchTarget {
                benchmarks: Some(kept),
                ..target
            }),
        }
    }

    /// Reports what is launched and what is skipped, and why.
    pub fn report(&self, base: &str) {
        for note in self.notes(base) {
            message!("note: {note}");
        }
    }

    fn notes(&self, base: &str) -> Vec<String> {
        if self.has_other_toolchain {
            return vec![format!(
                "`{base}` was built with another toolchain, so all benchmarks are launched"
            )];
        }
        let left_out = &self.unchanged.benchmarks;
        let launched = self.differing + self.new + self.uncertain;
        let mut notes = vec![format!(
            "{} of {} benchmarks execute the same code as in `{base}` and are left out; \
             differing: {}, new: {}, uncertain: {}",
            left_out.len(),
            left_out.len() + launched,
            self.differing,
            self.new,
            self.uncertain
        )];
        if let count @ 1.. = self.untraced_targets {
            notes.push(match count {
                1 => "1 bench target was not traced and is launched whole".to_owned(),
                _ => format!("{count} bench targets were not traced and are launched whole"),
            });
        }
        let names = left_out.iter().take(MAX_NAMES);
        notes.extend(names.map(|id| format!("left out: `{id}`")));
        if let more @ 1.. = left_out.len().saturating_sub(MAX_NAMES) {
            notes.push(format!("left out: {more} more"));
        }
        notes
    }
}

/// Returns whether the benchmark executes the same code as in `base`, or `None` if either run lacks
/// a fingerprint.
fn is_same(base: &Run, id: &BenchmarkId, now: Option<&Fingerprint>) -> Option<bool> {
    let before = base.benchmarks.iter().find(|b| b.id == *id)?;
    Some(before.fingerprint.as_ref()?.is_same(now?))
}

/// Returns whether two builds used the same compiler and settings.
fn is_same_toolchain(a: &Build, b: &Build) -> bool {
    (&a.rustc, &a.profile, &a.target, &a.rustflags)
        == (&b.rustc, &b.profile, &b.target, &b.rustflags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{self, Planted, benchmark, id, with_fingerprint};

    fn fingerprint(code: u64) -> Fingerprint {
        let benchmark = benchmark("b", Planted::default());
        let benchmark = with_fingerprint(benchmark, 1, &[("f", code)]);
        benchmark.fingerprint.unwrap()
    }

    #[test]
    fn only_benchmarks_of_both_sides_are_certain() {
        let known = with_fingerprint(benchmark("b", Planted::default()), 1, &[("f", 7)]);
        let unknown = benchmark("c", Planted::default());
        let base = scenario::run(vec![known, unknown]);
        let is_same =
            |name, now: Option<u64>| is_same(&base, &id(name), now.map(fingerprint).as_ref());
        assert_eq!(is_same("b", Some(7)), Some(true));
        assert_eq!(is_same("b", Some(8)), Some(false));
        assert_eq!(is_same("b", None), None);
        assert_eq!(is_same("c", Some(7)), None);
        assert_eq!(is_same("new", Some(7)), None);
    }

    fn since(base: &Run, build: &Build, fingerprints: &Fingerprints, targets: &[&str]) -> Changed {
        let target = |name: &&str| BenchTarget::named("suite", name);
        let targets = targets.iter().map(target).collect();
        Changed::since(base, build, targets, fingerprints)
    }

    #[test]
    fn another_toolchain_excludes_nothing() {
        let base = scenario::run(vec![with_fingerprint(
            benchmark("b", Planted::default()),
            1,
            &[("f", 7)],
        )]);
        let fingerprints = Fingerprints::new([(id("b"), Some(fingerprint(7)))]);
        let since = |build: &Build| since(&base, build, &fingerprints, &["bench"]);
        let same = since(&base.build);
        assert_eq!(same.unchanged.benchmarks, [id("b")]);
        assert!(same.targets.is_empty());
        let other = since(&Build {
            rustc: "rustc 2.0.0".to_owned(),
            ..base.build.clone()
        });
        assert!(other.unchanged.benchmarks.is_empty());
        assert_eq!(other.targets.len(), 1);
        assert_eq!(other.targets[0].benchmarks, None);
        insta::assert_snapshot!(
            other.notes("main").join("\n"),
            @"`main` was built with another toolchain, so all benchmarks are launched"
        );
    }

    /// Fourteen are the same, one differs, one is new and one has no fingerprint; a target was not
    /// traced at all.
    #[test]
    fn excluded_and_launched_benchmarks_are_reported() {
        let name = |index: u64| format!("b{index:02}");
        let known = |index| {
            let plain = benchmark(&name(index), Planted::default());
            with_fingerprint(plain, 1, &[("f", 7)])
        };
        let base = scenario::run((0..16).map(known).collect());
        let now = |index| {
            let code = match index {
                14 => Some(8),
                15 => None,
                _ => Some(7),
            };
            (id(&name(index)), code.map(fingerprint))
        };
        let fingerprints = Fingerprints::new((0..17).map(now));
        let changed = since(&base, &base.build, &fingerprints, &["bench", "untraced"]);
        insta::assert_snapshot!(changed.notes("main").join("\n"));
    }
}

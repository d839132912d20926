//! Launches that are not modelled, because they only have to show that they repeat the first one.
//!
//! They are traced, and return a digest of what they execute. With the digest of the first launch
//! they have its slots; otherwise launches differ, and all are modelled again.

use std::collections::HashMap;
use std::time::Duration;

use topdown_run::code::Digest;
use topdown_run::environment::{MIN_STRETCHES_LENGTH, ONE_CPU, REPEATS, REPEATS_DIGITS, STRETCHES};
use topdown_run::run_file::IterationSample;
use topdown_run::sample::Sample;
use topdown_run::setting::Sampling;

use crate::launching::conversation::is_modelled;
use crate::launching::forks::Forks;
use crate::launching::launch::Launched;
use crate::launching::launcher::Launcher;
use crate::launching::measured::{Measured, SlotsOrigin};
use crate::targets::bench_targets::BenchTarget;

/// Launches of a benchmark that are known to differ may take so long together. Judgement: they are
/// judged by their scatter, as times are, and a change that needs more launches is small.
const MAX_DIFFERING: Duration = Duration::from_secs(60);

/// So many are made however long they take. Judgement: with fewer, only the largest changes show.
const MIN_DIFFERING_LAUNCHES: u32 = 5;

/// Returns how many launches of `target` at most are made, of which the first one took this long.
pub(crate) fn max_launches(target: &BenchTarget, took: Duration) -> u32 {
    if !is_known_to_differ(target) {
        return u32::MAX;
    }
    let benchmarks = target.benchmarks.as_ref().map_or(1, Vec::len).max(1);
    let limit = MAX_DIFFERING.as_secs_f64() * benchmarks as f64;
    // Saturates.
    let launches = (limit / took.as_secs_f64()) as u32;
    launches.max(MIN_DIFFERING_LAUNCHES)
}

/// Returns whether launches of `target` are compared step by step, because earlier ones differed.
fn is_known_to_differ(target: &BenchTarget) -> bool {
    target.environment.contains_key(STRETCHES)
}

/// Digests of benchmarks, by name.
pub(crate) type Digests = HashMap<String, Digest>;

/// Returns the digests of the first launch, made of `target`, that later ones may repeat without a
/// model.
pub(crate) fn digests_to_repeat(
    launcher: &Launcher,
    target: &BenchTarget,
    first: &Launched,
) -> Digests {
    let has_fixed_addresses = launcher.through.is_some();
    if !doubles_on_the_model(target) || is_known_to_differ(target) {
        return Digests::new();
    }
    let mut digests = digests_of(target, first);
    digests.retain(|_, digest| has_fixed_addresses || digest.moves.is_none());
    digests
}

fn doubles_on_the_model(target: &BenchTarget) -> bool {
    is_modelled(&target.settings) && target.settings.sampling == Sampling::Doubling
}

/// Returns the digests of the benchmarks that had a process of their own.
fn digests_of(target: &BenchTarget, launched: &Launched) -> Digests {
    let measured = match launched {
        Launched::Benchmarks(benchmarks) => &benchmarks.measured[..],
        Launched::NotCriterion => &[],
    };
    if target.forks.is_none() && measured.len() != 1 {
        return Digests::new();
    }
    let digest = |measured: &Measured| {
        let digest = measured.trail.as_ref()?.trail.digest?;
        Some((measured.name.clone(), digest))
    };
    measured.iter().filter_map(digest).collect()
}

/// Returns `target` with the settings to repeat these digests, and to model the others.
pub(crate) fn repeating(target: &BenchTarget, repeated: &Digests) -> BenchTarget {
    let mut target = target.clone();
    if doubles_on_the_model(&target) {
        let samples = if let Some(Forks::Plan { repeats, .. }) = &mut target.forks {
            let samples = repeated.iter().map(|(name, it)| (name.clone(), it.samples));
            *repeats = samples.collect();
            0
        } else {
            repeated.values().next().map_or(0, |digest| digest.samples)
        };
        let digits = format!("{samples:0REPEATS_DIGITS$}");
        target.environment.insert(REPEATS.to_owned(), digits.into());
        let one_cpu = target.environment.entry(ONE_CPU.to_owned());
        one_cpu.or_insert("0".into());
        let stretches = target.environment.entry(STRETCHES.to_owned()).or_default();
        let missing = MIN_STRETCHES_LENGTH.saturating_sub(stretches.len());
        stretches.push(",".repeat(missing));
    }
    target
}

/// Notes which benchmarks of a launch of `target` repeated the `first` one.
pub(crate) fn compare_digests(target: &BenchTarget, launched: &mut Launched, first: &Digests) {
    let now = digests_of(target, launched);
    let Launched::Benchmarks(benchmarks) = launched else {
        return;
    };
    for measured in &mut benchmarks.measured {
        let Some(first) = first.get(&measured.name) else {
            continue;
        };
        let now = now.get(&measured.name);
        measured.slots_of = match now.is_some_and(|now| first.is_repeated_by(now)) {
            true => SlotsOrigin::First,
            false => SlotsOrigin::Unknown,
        };
    }
}

/// Gives launches that repeat the first one its slots. Returns whether there are any.
pub(crate) fn complete_repeated(launches: &mut [(u32, Measured)]) -> bool {
    let first = launches
        .iter()
        .find(|(_, measured)| measured.slots_of == SlotsOrigin::Own);
    let Some((_, first)) = first.cloned() else {
        return false;
    };
    let mut has_any = false;
    let repeated = launches.iter_mut().map(|(_, measured)| measured);
    for measured in repeated.filter(|launch| launch.slots_of == SlotsOrigin::First) {
        has_any = true;
        let times = measured.samples.iter().map(|sample| sample.sample.wall_ns);
        let samples = first.samples.iter().zip(times);
        let samples = samples.map(|(sample, wall_ns)| IterationSample {
            iterations: sample.iterations,
            sample: Sample {
                wall_ns,
                ..sample.sample
            },
        });
        *measured = Measured {
            samples: samples.collect(),
            slots_of: SlotsOrigin::First,
            ..first.clone()
        };
    }
    has_any
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::sync::Arc;

    use crate::launching::measured::Benchmarks;
    use crate::launching::trail::LaunchTrail;
    use topdown_run::code::Trail;
    use topdown_run::provenance::{Provenance, SourceKind};
    use topdown_run::setting::SourceChoice;
    use topdown_system::scratch::Scratch;

    const DIGEST: Digest = Digest {
        executed: 7,
        moves: None,
        samples: 9,
    };

    fn digests(named: &[(&str, Digest)]) -> Digests {
        let named = named.iter().map(|(name, it)| ((*name).to_owned(), *it));
        named.collect()
    }

    fn named(name: &str, digest: Digest) -> Measured {
        Measured {
            name: name.to_owned(),
            ..measured(Some(digest), 1, Some(1))
        }
    }

    fn forking() -> BenchTarget {
        BenchTarget {
            forks: Some(Forks::Plan {
                order: Arc::new([]),
                repeats: HashMap::new(),
            }),
            ..target()
        }
    }

    fn measured(digest: Option<Digest>, wall_ns: u64, slots: Option<u64>) -> Measured {
        let sample = |iterations| IterationSample {
            iterations,
            sample: Sample {
                wall_ns,
                slots,
                ..Sample::EMPTY
            },
        };
        let provenance = Provenance::new(SourceKind::Model, "model-x/1", "modelled");
        Measured {
            trail: Some(LaunchTrail {
                trail: Trail {
                    digest,
                    ..Trail::default()
                },
                ..LaunchTrail::default()
            }),
            ..Measured::from_samples(provenance, [1, 2].map(sample).to_vec())
        }
    }

    fn launched(measured: Vec<Measured>) -> Launched {
        Launched::Benchmarks(Benchmarks {
            measured,
            ..Benchmarks::default()
        })
    }

    fn target() -> BenchTarget {
        let mut target = BenchTarget::named("suite", "bench");
        target.settings.source = SourceChoice::Model;
        target.settings.sampling = Sampling::Doubling;
        target
    }

    #[test]
    fn only_benchmark_of_a_process_is_repeated() {
        let with = || measured(Some(DIGEST), 1, Some(1));
        let scratch = Scratch::new().unwrap();
        let launcher = Launcher::new(&scratch, Vec::new(), None);
        let digest = |target: &BenchTarget, all| {
            let digests = digests_to_repeat(&launcher, target, &launched(all));
            digests.into_values().next()
        };
        let first = |all| digest(&target(), all);
        assert_eq!(first(vec![with()]), Some(DIGEST));
        assert_eq!(first(vec![with(), with()]), None);
        assert_eq!(first(vec![measured(None, 1, Some(1))]), None);
        assert_eq!(first(Vec::new()), None);
        let mut differs = target();
        differs
            .environment
            .insert(STRETCHES.to_owned(), "0:1:2".into());
        assert_eq!(digest(&differs, vec![with()]), None);
        let mut timed = target();
        timed.settings.source = SourceChoice::Time;
        assert_eq!(digest(&timed, vec![with()]), None);
        let moving = Digest {
            moves: Some(1),
            ..DIGEST
        };
        assert_eq!(first(vec![measured(Some(moving), 1, Some(1))]), None);
    }

    #[test]
    fn long_launches_that_differ_are_few() {
        let mut target = target();
        let most =
            |target: &BenchTarget, seconds| max_launches(target, Duration::from_secs(seconds));
        assert_eq!(most(&target, 600), u32::MAX);
        (target.environment).insert(STRETCHES.to_owned(), "0:1:2".into());
        assert_eq!(
            [0, 6, 10, 12, 600].map(|it| most(&target, it)),
            [u32::MAX, 10, 6, 5, 5]
        );
        let three = ["a", "b", "c"].map(str::to_owned);
        target.benchmarks = Some(three.to_vec());
        assert_eq!(most(&target, 18), 10);
    }

    #[test]
    fn forked_benchmarks_repeat_their_own_digests() {
        let other = Digest {
            executed: 8,
            samples: 4,
            ..DIGEST
        };
        let scratch = Scratch::new().unwrap();
        let launcher = Launcher::new(&scratch, Vec::new(), None);
        let first = launched(vec![named("a", DIGEST), named("b", other)]);
        let first = digests_to_repeat(&launcher, &forking(), &first);
        assert_eq!(first, digests(&[("a", DIGEST), ("b", other)]));
        let again = repeating(&forking(), &first);
        assert_eq!(again.environment[REPEATS], "00000000");
        let Some(Forks::Plan { repeats, .. }) = again.forks else {
            panic!("it forks");
        };
        assert_eq!((repeats["a"], repeats["b"]), (9, 4));
        let mut again = launched(vec![
            named("a", DIGEST),
            named("b", DIGEST),
            named("c", DIGEST),
        ]);
        compare_digests(&forking(), &mut again, &first);
        let Launched::Benchmarks(again) = again else {
            panic!("it has benchmarks");
        };
        let origins: Vec<SlotsOrigin> = again.measured.iter().map(|it| it.slots_of).collect();
        let expected = [SlotsOrigin::First, SlotsOrigin::Unknown, SlotsOrigin::Own];
        assert_eq!(origins, expected);
    }

    #[test]
    fn request_has_the_same_length_in_all_launches() {
        let requested = |target: &BenchTarget, digest: Option<&Digest>| {
            let digests = digest.map(|digest| digests(&[("b", *digest)]));
            let target = repeating(target, &digests.unwrap_or_default());
            let text = |name| target.environment[name].to_str().unwrap().to_owned();
            (text(REPEATS), text(STRETCHES))
        };
        let none = ",".repeat(64);
        let models = ("00000000".to_owned(), none.clone());
        assert_eq!(requested(&target(), None), models);
        let repeats = ("00000009".to_owned(), none);
        assert_eq!(requested(&target(), Some(&DIGEST)), repeats);
        let mut differs = target();
        let stretch = OsString::from("0:1:2");
        differs.environment.insert(STRETCHES.to_owned(), stretch);
        let stretch = format!("0:1:2{}", ",".repeat(59));
        assert_eq!(requested(&differs, None).1, stretch);
        let mut timed = target();
        timed.settings.source = SourceChoice::Time;
        assert!(
            !repeating(&timed, &Digests::new())
                .environment
                .contains_key(REPEATS)
        );
    }

    #[test]
    fn repeated_launch_has_the_slots_of_the_first_and_its_own_time() {
        let mut again = launched(vec![measured(Some(DIGEST), 20, None)]);
        compare_digests(&target(), &mut again, &digests(&[("b", DIGEST)]));
        let Launched::Benchmarks(again) = again else {
            panic!("it has benchmarks");
        };
        let mut launches: Vec<(u32, Measured)> = vec![(0, measured(Some(DIGEST), 10, Some(100)))];
        launches.extend(again.measured.into_iter().map(|launch| (1, launch)));
        assert!(complete_repeated(&mut launches));
        let samples = launches.iter().map(|(launch, measured)| {
            let of_samples = measured.samples.iter();
            let of_samples = of_samples.map(|of_sample| {
                (
                    of_sample.iterations,
                    of_sample.sample.wall_ns,
                    of_sample.sample.slots,
                )
            });
            (*launch, of_samples.collect::<Vec<_>>())
        });
        assert_eq!(
            samples.collect::<Vec<_>>(),
            [
                (0, vec![(1, 10, Some(100)), (2, 10, Some(100))]),
                (1, vec![(1, 20, Some(100)), (2, 20, Some(100))]),
            ]
        );
    }

    #[test]
    fn launch_with_another_digest_repeats_nothing() {
        let other = Digest {
            executed: 8,
            ..DIGEST
        };
        for digest in [Some(other), None] {
            let mut again = launched(vec![measured(digest, 20, None)]);
            compare_digests(&target(), &mut again, &digests(&[("b", DIGEST)]));
            let Launched::Benchmarks(again) = again else {
                panic!("it has benchmarks");
            };
            assert_eq!(again.measured[0].slots_of, SlotsOrigin::Unknown);
        }
        let modelled = measured(Some(DIGEST), 10, Some(100));
        assert!(!complete_repeated(&mut [(0, modelled)]));
        assert!(!complete_repeated(&mut []));
    }
}

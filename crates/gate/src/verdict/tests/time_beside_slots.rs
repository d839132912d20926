//! Tests of benchmarks that have only time, in suites where others have modelled slots.

use fastrand::Rng;

use super::*;
use crate::scenario::normal;

/// How the times of one kind of benchmarks changed between the sessions, as logarithms.
#[derive(Clone, Copy)]
struct Session {
    typical: f64,
    deviation: f64,
}

impl Session {
    fn factor(self, rng: &mut Rng) -> f64 {
        (self.typical + self.deviation * normal(rng)).exp()
    }
}

const STEADY: Session = Session {
    typical: 0.0,
    deviation: 0.02,
};

/// Returns both runs of a suite in which 65 benchmarks have modelled slots that did not change,
/// and 39 have only time, the first of them `slower` times as much.
fn runs(with_slots: Session, of_time: Session, slower: f64, seed: u64) -> [Run; 2] {
    let mut rng = Rng::with_seed(seed);
    let factors: Vec<f64> = (0..104)
        .map(|n| match n {
            0 => slower * of_time.factor(&mut rng),
            1..39 => of_time.factor(&mut rng),
            _ => with_slots.factor(&mut rng),
        })
        .collect();
    [1, 2].map(|side| {
        let benchmarks = factors.iter().enumerate().map(|(n, factor)| {
            let planted = Planted {
                seed: 2 * seed + side,
                time_per_slot: if side == 2 { *factor } else { 1.0 },
                deviation: 0.05,
                ..Planted::default()
            };
            let name = format!("b{n:03}");
            match n {
                0..39 => timed(&name, planted),
                _ => modelled(&name, planted),
            }
        });
        scenario::run(benchmarks.collect())
    })
}

/// base64: decoding 30 MiB shares the memory's bandwidth with whatever else runs, and 500 bytes do
/// not. What the machine did to short benchmarks says little about long ones.
#[test]
fn slots_benchmarks_do_not_correct_time_only_ones() {
    let (cache, memory) = (
        Session {
            typical: -0.4,
            deviation: 0.13,
        },
        Session {
            typical: -0.12,
            deviation: 0.09,
        },
    );
    for seed in 0..20 {
        for [with_slots, of_time] in [[cache, memory], [memory, cache]] {
            let [baseline, candidate] = runs(with_slots, of_time, 1.0, seed);
            let comparison = judged(&baseline, &candidate);
            assert_eq!(comparison.counts.regressed, 0, "seed {seed}");
            assert_eq!(comparison.counts.improved, 0, "seed {seed}");
        }
    }
}

/// The first run went beside other builds, and slowed everything but a few benchmarks.
#[test]
fn unimproved_among_faster_ones_is_undecided() {
    let faster = Session {
        typical: -0.3,
        ..STEADY
    };
    let [baseline, candidate] = runs(faster, faster, 0.3_f64.exp(), 1);
    let comparison = judged(&baseline, &candidate);
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.verdict, Verdict::Inconclusive);
    let undecided = verdict.undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::OthersFaster);
    let wall = verdict.effect(Metric::Wall).unwrap();
    assert_eq!(wall.outcome, TestOutcome::OthersFaster);
    assert!(wall.difference > 0.25);
}

#[test]
fn one_changed_time_only_benchmark_is_found() {
    for seed in 0..20 {
        let [baseline, candidate] = runs(STEADY, STEADY, 1.3, seed);
        let comparison = judged(&baseline, &candidate);
        assert_eq!(comparison.counts.regressed, 1, "seed {seed}");
        assert_eq!(comparison.benchmarks[0].verdict, Verdict::Regressed);
    }
}

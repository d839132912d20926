//! Real code: traced in this process and modelled as it runs.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::hint::black_box;
use topdown_skipped::{Need, skip};

use topdown_core_model::cores::ALL;
use topdown_core_model::{Capacity, CoreParameters, Counts, Model};
use topdown_tracer::{Config, Tracer};

/// What the third execution of `work` costs, or `None` on a machine that cannot be traced.
fn third_run(core: &CoreParameters, mut work: impl FnMut()) -> Option<Counts> {
    let model = Model::new(core, Capacity::default());
    let mut tracer = match Tracer::new(Config::default(), model) {
        Ok(tracer) => tracer,
        Err(error) => {
            skip(Need::Model, error);
            return None;
        }
    };
    let mut counts = None;
    for _ in 0..3 {
        let before = tracer.consumer_mut().counts();
        let ((), end) = tracer.trace(&mut work);
        end.expect("the trace is complete");
        tracer.consumer_mut().drain();
        counts = Some(tracer.consumer_mut().counts() - before);
    }
    assert!(!tracer.consumer_mut().is_full());
    counts
}

#[test]
fn dependent_float_sum_is_core_bound_and_complete() {
    let data: Vec<f64> = (0..20_000).map(f64::from).collect();
    for core in ALL {
        let work = || {
            black_box(black_box(&data).iter().sum::<f64>());
        };
        let Some(counts) = third_run(core, work) else {
            return;
        };
        let slots = counts.slots;
        assert_eq!(slots.total(), counts.cycles * u64::from(core.width));
        assert_eq!(counts.events.coverage_fraction(), 1.0);
        assert!(
            slots.core_bound * 2 > slots.total() - slots.retiring(),
            "{counts:#?}"
        );
        let cycles_per_addition = if core.name == "zen-4" { 3 } else { 2 };
        let least = 20_000 * cycles_per_addition;
        assert!(
            (least..least + 4_000).contains(&counts.cycles),
            "{counts:#?}"
        );
    }
}

#[test]
fn table_covers_sorting_and_hashing() {
    let data: Vec<u64> = (0..2000_u64)
        .map(|value| value.wrapping_mul(0x9e37_79b9))
        .collect();
    let work = || {
        let mut copy = data.clone();
        copy.sort_unstable();
        let set: std::collections::HashSet<u64> = copy.iter().copied().collect();
        black_box(format!("{:?} {:.3}", set.len(), 1.5 * copy[3] as f64));
    };
    for core in ALL {
        let Some(counts) = third_run(core, work) else {
            return;
        };
        assert_eq!(counts.slots.total(), counts.cycles * u64::from(core.width));
        assert!(counts.events.coverage_fraction() > 0.999, "{counts:#?}");
    }
}

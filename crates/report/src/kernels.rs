//! Golden text of `explain` about kernels with one known bottleneck each, to be read kernel by
//! kernel.
//!
//! The runs in `tests/data/kernels` are `cargo topdown bench -p criterion-topdown
//! -p topdown-core-model --bench bottlenecks --bench microscopic --source model --launches 1`, for
//! each modelled core.

use std::path::Path;

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{read_run, read_samples};

use super::metric_groups;
use super::style::Look;
use super::text::width_of;
use topdown_explain::Explained;

/// Returns what `explain` prints about every kernel on `core`.
fn explanations(core: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kernels");
    let run = read_run(&data.join(core)).unwrap();
    let samples = read_samples(&data.join(core)).unwrap();
    let mut out = Vec::new();
    let look = Look {
        width: 100,
        unicode: true,
    };
    for benchmark in &run.benchmarks {
        let of_model = samples
            .iter()
            .find(|launch| launch.benchmark == benchmark.id && launch.source == SourceKind::Model);
        let of_model = &of_model.unwrap().samples;
        let machine = run.machine.clone();
        let explained = Explained::modelled(benchmark, of_model, None, machine).unwrap();
        metric_groups::write(&mut out, &explained, look).unwrap();
        out.extend(b"\n");
    }
    let text = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
    assert!(text.lines().all(|line| width_of(line) <= look.width));
    text
}

#[test]
fn kernels_on_zen_5() {
    insta::assert_snapshot!(explanations("zen-5"));
}

#[test]
fn kernels_on_golden_cove() {
    insta::assert_snapshot!(explanations("golden-cove"));
}

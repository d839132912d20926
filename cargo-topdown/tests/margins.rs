//! The margins that the documents state are those of the code.

use std::path::Path;

use topdown_gate::metric::Metric;
use topdown_gate::policy::{Margins, Policy, Rules};
use topdown_run::run_file::BenchmarkId;

fn rules() -> Rules {
    Policy::default().rules_of(&BenchmarkId {
        package: "p".to_owned(),
        target: "t".to_owned(),
        name: "n".to_owned(),
    })
}

/// `3 %`, or `0.7 %`.
fn percent(fraction: f64) -> String {
    let text = format!("{:.1}", fraction * 100.0);
    format!("{} %", text.trim_end_matches(".0"))
}

fn document(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = std::fs::read_to_string(root.join(path)).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn readme_and_guide_state_the_margins_of_the_code() {
    let rules = rules();
    let model = percent(rules.model_margins().point);
    let slots = percent(rules.margins(Metric::Slots).point);
    let time = percent(rules.margins(Metric::Wall).point);
    for path in ["README.md", "docs/gate.md"] {
        let text = document(path);
        for stated in [
            format!("its slots grew by at least {model} on the "),
            format!(
                ", or {slots} otherwise. It also fails when a single category grew by that much"
            ),
            format!("Without slots, time must grow by {time}."),
        ] {
            assert!(text.contains(&stated), "{path} lacks: {stated}");
        }
    }
}

#[test]
fn the_table_has_the_margins_of_the_code() {
    let rules = rules();
    let text = document("docs/margins.md");
    let row = |name: &str, margins: Margins| {
        let row = format!(
            "| {name} | {} | {} |",
            percent(margins.point),
            percent(margins.sure)
        );
        assert!(text.contains(&row), "lacks: {row}");
    };
    row("slots and categories on the model", rules.model_margins());
    let counted = "slots and categories of counters, and of a model whose launches differ";
    row(counted, rules.margins(Metric::Slots));
    row(counted, rules.margins(Metric::BackendBound));
    row("wall-clock time", rules.margins(Metric::Wall));
}

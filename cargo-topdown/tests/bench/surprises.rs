//! Hints of `cargo topdown explain` about two-line programs on the model: on this machine's core.

use crate::fixture::Fixture;

/// Returns the explanation of a program, in one line.
fn explained(fixture: &Fixture, program: &str) -> String {
    let words = [
        "topdown",
        "explain",
        program,
        "--bench",
        "surprises",
        "--features",
        "surprises",
        "--source",
        "model",
    ];
    let text = fixture.run(&words, &[]).succeeds().stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn two_line_programs_get_their_hint() {
    let fixture = Fixture::new();
    for (program, hint) in [
        (
            "failed forwarding",
            "Loads wait for a store of only some of their bytes (blocked_loads",
        ),
        (
            "stores across pages",
            "Each costs 25 cycles on Redwood Cove, which the model leaves out.",
        ),
    ] {
        let text = explained(&fixture, program);
        assert!(text.contains(hint), "{program}: {text}");
    }
    let aligned = explained(&fixture, "aligned");
    let has_hint = aligned.contains("Load_Blocks") || aligned.contains("Not_Modelled");
    assert!(!has_hint, "{aligned}");
}

/// Each core has some that others do not.
#[test]
fn hints_depend_on_the_core() {
    let fixture = Fixture::new();
    if std::is_x86_feature_detected!("avx") {
        let text = explained(&fixture, "SSE after AVX");
        let has_hint = text.contains("Legacy SSE code runs while the upper halves");
        assert_eq!(has_hint, text.contains("model-golden-cove"), "{text}");
    }
    let text = explained(&fixture, "4K aliasing");
    let has_hint = text.contains("has the same address modulo 4096 (aliased_loads");
    assert_eq!(has_hint, text.contains("model-zen-4"), "{text}");
    let text = explained(&fixture, "split accesses");
    let has_hint = text.contains("Many accesses touch two cache lines (split_accesses");
    assert!(has_hint || !text.contains("memory bound"), "{text}");
}

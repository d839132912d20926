//! `versus` on a run of a real criterion group with throughputs.

use crate::fixture::Fixture;

#[test]
fn group_is_ranked_at_each_size() {
    let fixture = Fixture::new();
    fixture
        .bench(&["--bench", "sizes", "--features", "sizes"])
        .succeeds();
    let ranking = |columns: &str| {
        let versus = fixture.plain(&["topdown", "versus", "lookup"], &[("COLUMNS", columns)]);
        versus.succeeds().stdout
    };
    insta::assert_snapshot!(ranking("80"));
    insta::assert_snapshot!(ranking("200"));

    let page = fixture.target().join("lookup.html");
    let words = [
        "topdown",
        "versus",
        "lookup",
        "--html",
        page.to_str().unwrap(),
    ];
    fixture.plain(&words, &[]).succeeds();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Slots per element"), "{page}");
}

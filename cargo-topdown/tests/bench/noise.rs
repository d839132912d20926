//! `doctor --noise`: the suite compared with itself.

use crate::fixture::Fixture;

#[test]
fn self_comparison_stores_nothing() {
    let fixture = Fixture::new();
    let noise = ["doctor", "--noise", "--bench", "kernels", "chase"];
    let text = fixture.run(&noise, &[]).succeeds().stdout;
    // The fixture's workspace sets two launches.
    assert!(text.starts_with("A/A no alarm: 2/2 launches"), "{text}");
    assert!(text.contains("by 2 launches per side"), "{text}");
    assert!(!fixture.newest().exists());

    let json = fixture.run(&[&noise[..], &["--json"]].concat(), &[]);
    let json: serde_json::Value = serde_json::from_str(&json.succeeds().stdout).unwrap();
    assert_eq!(json["launches"], 2);
    // Two launches per side cannot show that nothing changed.
    assert_eq!(json["control"]["outcome"], "nothing_decided");
    let slots = &json["benchmarks"][0]["metrics"][0];
    assert_eq!(
        (&slots["metric"], &slots["deviation"]),
        (&"slots".into(), &0.0.into())
    );
    // Two launches are always assumed to differ by at least 2.5 %.
    assert!(slots["smallest_change"].as_f64().unwrap() > 0.05, "{json}");
}

#[test]
fn baseline_keeps_its_noise() {
    let fixture = Fixture::new();
    let save = ["--bench", "kernels", "--launches", "4", "--save", "main"];
    fixture.bench(&[&save[..], &["chase"]].concat()).succeeds();
    let show = fixture.plain(&["baseline", "show", "main"], &[]).succeeds();
    assert!(
        show.stdout.contains("by 4 launches per side"),
        "{}",
        show.stdout
    );
    let again = fixture.plain(&["doctor", "--noise", "--run", "main"], &[]);
    let text = again.succeeds().stdout;
    assert!(text.starts_with("A/A no alarm: 2/2 launches"), "{text}");
    let table = text.split_once("\n\n").unwrap().1;
    assert!(show.stdout.ends_with(table), "{}", show.stdout);
}

#[test]
fn unsupported_self_comparison_is_an_error() {
    let fixture = Fixture::new();
    let doctor = |words: &[&str]| fixture.run(&[&["doctor", "--noise"], words].concat(), &[]);
    doctor(&["--bench", "kernels", "no such thing"]).fails_with(101, "no benchmark matches");
    doctor(&["--bench", "libtest"]).fails_with(101, "none of the bench targets has a criterion");
    doctor(&["--strict"]).fails_with(2, "--strict");
    doctor(&["--run", "main"]).fails_with(102, "no baseline or run file `main`");
}

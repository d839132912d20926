//! `cargo topdown doctor` from outside, on any machine.

use std::process::{Command, Output};

use topdown_published_schema::check;

fn doctor(arguments: &[&str], source: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
        .arg("doctor")
        .args(arguments)
        .env("CARGO_TOPDOWN_SOURCE", source)
        .output()
        .unwrap()
}

#[test]
fn strict_fails_only_without_counters() {
    let output = doctor(&["--json", "--strict"], "auto");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    check("doctor", &json);
    let is_usable = |source: &str| json[source]["usable"].as_bool().unwrap();
    let expected = match (is_usable("hardware"), is_usable("model")) {
        (true, _) => (0, "hardware"),
        (false, true) => (102, "model"),
        (false, false) => (102, "time"),
    };
    assert_eq!(output.status.code(), Some(expected.0));
    assert_eq!(json["source"], expected.1);
    assert_eq!(doctor(&[], "auto").status.code(), Some(0));
}

#[test]
fn text_names_the_chosen_source() {
    let text = String::from_utf8(doctor(&[], "time").stdout).unwrap();
    assert!(
        text.contains("use   time: the clock was requested"),
        "{text}"
    );
}

#[test]
fn unknown_source_is_a_usage_error() {
    let output = doctor(&[], "magic");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("magic"));
}

#[test]
fn report_works_everywhere_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
        .args(["doctor", "--report"])
        .current_dir(directory.path())
        .env("TOPDOWN_TEST_SECRET", "hunter2-of-the-test")
        .env("LOGNAME", "user-of-the-test")
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    assert!(stdout.contains("wrote topdown-report.json"), "{stdout}");
    let text = std::fs::read_to_string(directory.path().join("topdown-report.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    check("machine-report", &json);
    let categories = json["categories"].as_array().unwrap();
    assert!(!categories.is_empty());
    // Its lines are folded.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for attempt in categories {
        match attempt["refusal"].as_str() {
            Some(refusal) => assert!(words(&stdout).contains(&words(refusal)), "{stdout}"),
            None => assert_eq!(attempt["loops"].as_array().unwrap().len(), 7),
        }
    }
    let is_virtual = json["is_virtual"].as_bool().unwrap();
    assert_eq!(stdout.contains("measured in:"), is_virtual, "{stdout}");
    assert!(json["machine"].get("host").is_none());
    for secret in [
        "hunter2-of-the-test".to_owned(),
        "user-of-the-test".to_owned(),
        directory.path().display().to_string(),
        env!("CARGO_MANIFEST_DIR").to_owned(),
    ] {
        assert!(!text.contains(&secret), "{secret} in {text}");
    }
}

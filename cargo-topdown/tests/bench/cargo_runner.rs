//! cargo's `target.….runner`: benches are started through it, as `cargo bench` does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::fixture::Fixture;

/// Counts its calls in the file that its first argument names.
const SCRIPT: &str = "#!/bin/sh\nlog=$1; shift\necho \"$1\" >> \"$log\"\nexec \"$@\"\n";

fn script(directory: &Path) -> String {
    let path = directory.join("runner.sh");
    fs::write(&path, SCRIPT).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn benches_are_started_through_the_runner() {
    let fixture = Fixture::new();
    let script = script(&fixture.target());
    let log = fixture.target().join("log");
    let runner = format!("{script} {}", log.display());
    let bench = ["--package", "suite", "--bench", "mixed"];
    for words in [
        vec![
            "--config".to_owned(),
            format!("target.'cfg(all())'.runner={runner:?}"),
        ],
        vec![
            "--config".to_owned(),
            format!(
                "target.'cfg(unix)'.runner=[{script:?}, {:?}]",
                log.display().to_string()
            ),
        ],
    ] {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let outcome = fixture.bench(&[&bench[..], &words].concat()).succeeds();
        let note = format!("note: benches are started through `{runner}`");
        assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
        let launches = fs::read_to_string(&log).unwrap();
        assert_eq!(launches.lines().count(), 2, "{launches}");
        assert_eq!(fixture.newest_run().benchmarks.len(), 3);
        fs::remove_file(&log).unwrap();
    }
    // As `sudo` without `-E`. Without its variable, criterion would write into the source tree.
    let home = fixture.target().join("criterion");
    let clearing = format!("env -i CRITERION_HOME={}", home.display());
    let config = format!("target.'cfg(all())'.runner={clearing:?}");
    (fixture.bench(&[&bench[..], &["--config", &config]].concat())).fails_with(
        101,
        &format!("through `{clearing}`, which must pass on all environment variables"),
    );
    let missing = [
        "--config",
        "target.'cfg(all())'.runner=\"/nowhere/runner -x\"",
    ];
    (fixture.bench(&[&bench[..], &missing].concat()))
        .fails_with(101, "could not start /nowhere/runner: ");
}

//! A program is traced however it was built: linked statically against musl, and optimised with
//! link-time optimisation and `panic = "abort"`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use topdown_skipped::{Need, skip};

const MUSL: &str = "x86_64-unknown-linux-musl";

/// Builds the program with `flags` from the releases in the repository's lock file, and finds it in
/// `place`. What the tests' own build has for it, such as procedural macros, is not built again.
fn built(flags: &[&str], place: &str) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = repository.join("crates/tracer/tests/build_of_its_own");
    // The lock file is written beside the manifest: of a copy, so that two tests do not meet.
    let directory = tempfile::tempdir().unwrap();
    let manifest = std::fs::read_to_string(sources.join("Cargo.toml")).unwrap();
    let tracer = repository.join("crates/tracer").canonicalize().unwrap();
    let manifest = manifest.replace("../..", tracer.to_str().unwrap());
    std::fs::write(directory.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::create_dir(directory.path().join("src")).unwrap();
    for (from, to) in [
        (sources.join("src/main.rs"), "src/main.rs"),
        (repository.join("Cargo.lock"), "Cargo.lock"),
    ] {
        std::fs::copy(from, directory.path().join(to)).unwrap();
    }
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).expect("a target directory");
    let output = Command::new(env!("CARGO"))
        .current_dir(directory.path())
        .args(["build", "--offline", "--target-dir"])
        .arg(target)
        .args(flags)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    target.join(place).join("build-of-its-own")
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn static_musl_program_is_traced_with_panics() {
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", MUSL])
        .output()
        .unwrap();
    if !Path::new(text(&library.stdout).trim()).is_dir() {
        skip(
            Need::Musl,
            format!("the standard library for {MUSL} is not installed"),
        );
        return;
    }
    let program = built(&["--target", MUSL], &format!("{MUSL}/debug"));
    let bytes = std::fs::read(&program).unwrap();
    let interpreter = b"/lib/ld-musl";
    assert!(
        !bytes
            .windows(interpreter.len())
            .any(|part| part == interpreter)
    );
    let output = run(&program, &["panic"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("caught\n"));
    assert!(text(&output.stdout).ends_with(" instructions\n"));
}

#[test]
fn panic_abort_program_is_traced_and_aborts() {
    let program = built(&["--release"], "release");
    let output = run(&program, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with(" instructions\n"));
    let output = run(&program, &["panic"]);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    assert!(text(&output.stderr).contains("the work panics"));
    assert_eq!(text(&output.stdout), "");
}

//! `init --apply` interrupted by Ctrl-C or a kill.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::Workspace;

const APPLY: [&str; 3] = ["--library=../library", "--apply", "--ci=gitlab"];

impl Workspace {
    /// Starts `init --apply` with a cargo that hangs when it is to resolve what was written.
    /// Returns when it hangs.
    fn hang_while_resolving(&self) -> Child {
        self.write(
            "../cargo",
            "#!/bin/sh\ncase \"$*\" in\n'metadata --format-version=1')\n\
             touch ../hangs\nsleep 600\n;;\nesac\nexec cargo \"$@\"\n",
        );
        let cargo = self.path("../cargo");
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        let mut init = Command::new(assert_cmd::cargo::cargo_bin("cargo-topdown"))
            .args(["topdown", "init"])
            .args(APPLY)
            .current_dir(self.path(""))
            .env("CARGO", cargo)
            .env("CARGO_HOME", self.path("../home"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        while !self.path("../hangs").exists() {
            assert_eq!(init.try_wait().unwrap(), None, "it ended too early");
            thread::sleep(Duration::from_millis(10));
        }
        init
    }
}

/// Sends a signal to `init`, or to its processes, too, as a terminal does.
fn signal(init: &Child, signal: &str, with_children: bool) {
    let sign = if with_children { "-" } else { "" };
    let id = format!("{sign}{}", init.id());
    let status = Command::new("kill").args([signal, "--", &id]).status();
    assert!(status.unwrap().success());
}

#[test]
fn ctrl_c_restores_every_file() {
    for (name, with_children) in [("-INT", true), ("-INT", false), ("-TERM", false)] {
        let workspace = Workspace::new();
        let before = workspace.files();
        let init = workspace.hang_while_resolving();
        assert_ne!(workspace.files(), before);
        signal(&init, name, with_children);
        let output = init.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert_eq!(said, "error: interrupted\nall files were restored\n");
        assert_eq!(workspace.files(), before);
    }
}

#[test]
fn next_run_finishes_after_a_kill() {
    let undisturbed = Workspace::new();
    undisturbed.init(&APPLY[1..]);
    let workspace = Workspace::new();
    let before = workspace.read("Cargo.toml");
    let mut init = workspace.hang_while_resolving();
    signal(&init, "-KILL", true);
    init.wait().unwrap();
    // As if it had been killed before the last manifest.
    workspace.write("Cargo.toml", &before);
    workspace.init(&APPLY[1..]);
    let texts = |workspace: &Workspace| {
        let here = workspace.directory.path().canonicalize().unwrap();
        let here = here.display().to_string();
        let files = workspace.files().into_values();
        files
            .map(|text| text.replace(&here, "HERE"))
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&workspace), texts(&undisturbed));
}

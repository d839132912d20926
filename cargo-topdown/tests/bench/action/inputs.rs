//! Inputs of the action.

use super::Run;
use crate::fixture::{Fixture, workspace};

#[test]
fn invalid_input_ends_the_job_before_measuring() {
    let mut run = Run::pull_request();
    assert_eq!(run.execute(&[("save", "maybe")]), 2, "{}", run.job.log);
    let says = "::error title=cargo topdown::the input `save` must be auto, always or never\n";
    assert!(run.job.log.contains(says), "{}", run.job.log);
    assert_eq!(run.job.ran, ["Install cargo topdown", "Plan"]);
}

/// Each input as somebody would write it who can choose it: it is text, and no shell reads it.
#[test]
fn inputs_with_shell_metacharacters_execute_nothing() {
    for name in [
        "baseline",
        "against",
        "save",
        "baselines",
        "bench-args",
        "packages",
        "source",
        "model-core",
        "launches",
        "store",
        "compare-args",
        "accept-from",
        "artifact",
        "version",
        "tool-sha256",
        "cache",
        "compare",
        "comment",
        "fail",
        "working-directory",
        "token",
    ] {
        let mut run = match name {
            "token" => Run::pull_request(),
            _ => Run::push_to_main(),
        };
        let mark = run.job.path("executed");
        let touch = format!("touch '{}'", mark.display());
        let hostile = format!("x\"$({touch})`{touch}`;{touch};'\"|{touch}&&{touch}\n{touch} #");
        let hostile = match name {
            // Paths and addresses have one line, which is refused earlier otherwise.
            "artifact" => hostile.replace('\n', " "),
            // Made in the job's own directory.
            "baselines" | "store" => {
                let root = run.job.path("").display().to_string();
                format!("{root}/{}", hostile.replace('\n', " "))
            }
            // A name has no slash.
            "working-directory" => {
                let link = run.job.path(&hostile.replace('/', "\\"));
                std::os::unix::fs::symlink(workspace(), &link).unwrap();
                link.display().to_string()
            }
            _ => hostile,
        };
        let few = ["--launches=1", "--sample-size=10", "--warm-up-time=0.01"].join("\n");
        let code = if name == "bench-args" {
            run.job.execute(".", &workspace(), &[(name, &hostile)])
        } else {
            let build = Fixture::build_arguments().join("\n");
            let arguments = format!("{build}\n--bench\nkernels\n{few}\n");
            let mut inputs = vec![("bench-args", &*arguments), (name, &*hostile)];
            inputs.extend((name == "token").then_some(("comment", "true")));
            run.job.execute(".", &workspace(), &inputs)
        };
        let log = &run.job.log;
        assert!(!mark.exists(), "{name} ended with {code}:\n{log}");
        match name {
            // Neither true nor false, which is said before anything is measured.
            "cache" | "compare" | "comment" | "fail" | "save" => assert_eq!(code, 2, "{log}"),
            "working-directory" => assert_eq!(run.job.outputs["outcome"], "not-comparable"),
            "token" => {
                assert!(run.job.ran.iter().any(|step| step == "Comment"), "{log}");
                // `gh` gets it as the variable that it is.
                assert_eq!(run.job.text("gh-token"), hostile, "{log}");
            }
            _ => {}
        }
    }
}

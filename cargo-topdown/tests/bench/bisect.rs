//! `cargo topdown bisect`: real commits of a small repository are built, modelled and compared.

use std::fs;

use crate::against::Project;
use crate::fixture::Outcome;
use topdown_published_schema::check;

/// A history in which `sum` takes a quarter more from the sixth commit on.
fn project() -> Project {
    let project = Project::new();
    let commit = |subject: &str| {
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "--message", subject]);
    };
    commit("Measure slots");
    fs::write(project.path("README.md"), "Sums.\n").unwrap();
    commit("A readme");
    fs::write(project.path("src/lib.rs"), "does not build\n").unwrap();
    commit("Forget a semicolon");
    fs::write(project.path("src/lib.rs"), "//! Sums.\n").unwrap();
    commit("Remember the semicolon");
    project.sum_up_to(125);
    commit("Sum up more numbers");
    fs::write(project.path("README.md"), "Sums, and more.\n").unwrap();
    commit("A longer readme");
    project
}

fn bisect(project: &Project, words: &[&str]) -> Outcome {
    let mut command = project.command_of("bisect", words);
    command.env("COLUMNS", "120");
    Outcome::new(command)
}

#[test]
fn planted_change_is_found_and_kept() {
    let project = project();
    let found = bisect(&project, &["HEAD~5", "--source", "model", "--json"]);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    let json: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    check("bisection", &json);
    let result = &json["results"][0];
    let point = usize::try_from(result["outcome"]["point"].as_u64().unwrap()).unwrap();
    assert_eq!(json["points"][point]["title"], "Sum up more numbers");
    assert_eq!(result["error_bound"], 0.0);
    // The user's tree is as it was, and what was found is not measured again.
    assert!(!project.path("src/lib.rs").exists() || project.path("README.md").exists());
    let again = bisect(&project, &["HEAD~5", "--source", "model"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(!again.stderr.contains("Modelling"), "{}", again.stderr);
    println!("{}\n{}", again.stdout, found.stderr);
}

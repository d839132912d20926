//! `cargo topdown init`: lists what a workspace would have to change, and applies it on request.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use cargo_metadata::MetadataCommand;

use crate::adoption::{
    self, Finder, Framework, Library, Obstacle, OlderCriterion, PACKAGE, Plan, Workflow,
};
use crate::bench_targets::cargo_program;
use crate::cli::InitArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::report::style;

pub fn run(args: &InitArgs) -> Result<Exit, Error> {
    let cargo = cargo_program();
    let mut command = MetadataCommand::new();
    command.cargo_path(&cargo).no_deps();
    if let Some(path) = &args.manifest_path {
        command.manifest_path(path);
    }
    let metadata = command.exec().map_err(Error::Metadata)?;
    let root = metadata.workspace_root.as_std_path();
    let library = Finder::new(args.library.as_deref(), &cargo, root);
    let plan = adoption::plan(&metadata, &library)?;
    let workflow = match args.ci {
        Some(service) => {
            let used = Library::of_workspace(&metadata);
            let used = match &used {
                Some(used) => used,
                None => library.library()?,
            };
            Some(Workflow::new(service.into(), root, used))
        }
        None => None,
    };
    // The dependency to write by hand.
    let dependency = if plan.has_criterion_benches || !plan.adopted.is_empty() {
        None
    } else {
        Some(library.library()?.dependency().to_string())
    };
    if args.apply {
        plan.apply()?;
    }
    if let Some(workflow) = &workflow {
        workflow.write()?;
    }
    let text = Text {
        root,
        is_applied: args.apply,
        library: library.found(),
        dependency,
        workflow: workflow.as_ref(),
    };
    let text = text.describe(&plan);
    style::stdout(anstream::ColorChoice::Auto).write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

/// What the text says besides the plan.
struct Text<'a> {
    root: &'a Path,
    is_applied: bool,
    /// The library, if it was looked for.
    library: Option<&'a Library>,
    /// The dependency, for a workspace that has no criterion bench yet.
    dependency: Option<String>,
    workflow: Option<&'a Workflow>,
}

impl Text<'_> {
    fn describe(&self, plan: &Plan) -> String {
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all text");
        for package in &plan.adopted {
            line(format!("{package}: uses {PACKAGE} already"));
        }
        for change in &plan.manifests {
            line(format!("{}:", self.shown(&change.path)));
            line(format!("  - {}", change.before));
            line(format!("  + {}", change.after));
            if !change.dropped_features.is_empty() {
                let features = change.dropped_features.join("`, `");
                line(format!("  criterion 0.8 has no feature `{features}`"));
            }
        }
        if !plan.older.is_empty() {
            self.describe_older(&plan.older, &mut line);
        }
        for obstacle in &plan.without_benchmarks {
            self.describe_obstacle(obstacle, &mut line);
        }
        if !plan.self_timed.is_empty() {
            line("in these, only time is measured if the closure returns a `Duration`:".to_owned());
            for place in &plan.self_timed {
                let path = self.shown(&place.path);
                line(format!("  {path}:{}: {}", place.line, place.text));
            }
            line(
                "  to count slots too, let it return what `TopDown::measure(|| …)` returns"
                    .to_owned(),
            );
        }
        if let Some(dependency) = &self.dependency {
            line(format!(
                "no package has a criterion bench; {}",
                first_bench(dependency)
            ));
        }
        if !plan.is_empty() && matches!(self.library, Some(Library::Path(_))) {
            line(
                "the path is valid only on this machine; for other machines and CI, name a \
                 repository: `--library URL`"
                    .to_owned(),
            );
        }
        if let Some(workflow) = self.workflow {
            line(format!("wrote {}", self.shown(&workflow.path)));
            if let Some(to_do) = &workflow.to_do {
                line(format!("  {to_do}"));
            }
        }
        match (plan.is_empty(), self.is_applied) {
            (true, _) if self.dependency.is_some() => {}
            (true, _) => line("no manifest needs to change".to_owned()),
            (false, false) => line(
                "no manifest was changed; `cargo topdown init --apply` changes them".to_owned(),
            ),
            (false, true) => line("changed; try `cargo topdown bench`".to_owned()),
        }
        text
    }

    fn describe_older(&self, older: &[OlderCriterion], line: &mut impl FnMut(String)) {
        for package in older {
            line(format!(
                "{}: criterion {} is replaced by 0.8",
                package.package, package.requirement
            ));
            if let Some(rust) = &package.too_old_rust {
                line(format!(
                    "  its rust-version is {rust}; benches then need Rust 1.86, the program 1.89"
                ));
            }
        }
        line(
            "  0.8 needs Rust 1.86, and its API differs: no async-std, and `std::hint::black_box` \
             instead of `criterion::black_box`"
                .to_owned(),
        );
        line(
            "  if code no longer compiles, CHANGELOG.md of criterion says what to use instead"
                .to_owned(),
        );
    }

    fn describe_obstacle(&self, obstacle: &Obstacle, line: &mut impl FnMut(String)) {
        let Obstacle {
            package, target, ..
        } = obstacle;
        let path = self.shown(&obstacle.path);
        let name = format!("{package}::{target}");
        match obstacle.framework {
            Framework::Criterion => {
                line(format!(
                    "{name}: runs no benchmark, because its harness is libtest; in {path}:"
                ));
                line("  [[bench]]".to_owned());
                line(format!("  name = \"{target}\""));
                line("  harness = false".to_owned());
            }
            Framework::Divan => {
                line(format!(
                    "{name}: is written for divan, which is not measured; {path}:"
                ));
                line(
                    "  to measure it, make each `#[divan::bench]` function a `c.bench_function(\
                     \"name\", |b| b.iter(|| …))`"
                        .to_owned(),
                );
            }
            Framework::Libtest => {
                line(format!(
                    "{name}: is written for libtest's `#[bench]`, which is not measured; {path}:"
                ));
                line(
                    "  to measure it, let each function take `&mut Criterion`, call \
                     `c.bench_function(\"name\", |b| b.iter(|| …))`, and set `harness = false`"
                        .to_owned(),
                );
            }
            Framework::Unknown => line(format!(
                "{name}: does not use criterion, so it is not measured; {path}"
            )),
        }
    }

    /// Returns `path` relative to the workspace.
    fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.root).unwrap_or(path);
        inside.display().to_string()
    }
}

/// Says how to write a workspace's first bench.
fn first_bench(dependency: &str) -> String {
    format!(
        "for a first one, in a package's Cargo.toml:
  [dev-dependencies]
  criterion = {dependency}

  [[bench]]
  name = \"first\"
  harness = false
and in its benches/first.rs:
  use criterion::{{Criterion, criterion_group, criterion_main}};
  use std::hint::black_box;

  fn first(c: &mut Criterion) {{
      c.bench_function(\"sum\", |b| b.iter(|| (0..black_box(1000_u64)).sum::<u64>()));
  }}

  criterion_group!(benches, first);
  criterion_main!(benches);"
    )
}

//! `cargo topdown init`: lists what a workspace would have to change, and applies it on request.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::path::Path;

use cargo_metadata::MetadataCommand;

use crate::cli::InitArgs;
use crate::error::Error;
use crate::exit::Exit;
use topdown_adoption::{
    self, Finder, Framework, Library, Obstacle, OlderCriterion, PACKAGE, Plan, Workflow,
};
use topdown_report::style::{self, Look};
use topdown_runner::targets::bench_targets::cargo_program;
use topdown_runner::targets::launch_features::features_of_library;
use topdown_runner::targets::required_features::NeedsFeatures;
use topdown_system::waits;
use topdown_terminal::columns::folded;

pub fn run(args: &InitArgs) -> Result<Exit, Error> {
    let cargo = cargo_program();
    let mut command = MetadataCommand::new();
    command.cargo_path(&cargo).no_deps();
    if let Some(path) = &args.manifest_path {
        command.manifest_path(path);
    }
    let metadata = waits::metadata(&command).map_err(Error::Metadata)?;
    let root = metadata.workspace_root.as_std_path();
    let library = Finder::new(args.library.as_deref(), &cargo, root);
    let plan = topdown_adoption::plan(&metadata, &library)?;
    let adopted = Library::from_workspace(&metadata);
    let features = NeedsFeatures::in_workspace(&plan.needing_features, &metadata);
    let workflow = match args.ci {
        Some(service) => {
            let used = match &adopted {
                Some(adopted) => adopted,
                None => library.library()?,
            };
            Some(Workflow::new(service.into(), root, used, &features))
        }
        None => None,
    };
    // The dependency to write by hand.
    let has_no_bench = !plan.has_criterion_benches && plan.adopted.is_empty();
    let has_fork = plan.forks.iter().any(|fork| !fork.is_beside_criterion);
    let is_by_hand = has_no_bench && plan.packages_outside.is_empty() || has_fork;
    let dependency = if is_by_hand {
        Some(library.library()?.dependency().to_string())
    } else {
        None
    };
    let mut unpinned = Vec::new();
    if args.apply {
        let features = || Ok(features_of_library(&command.exec()?));
        unpinned = plan.apply(&cargo, root, workflow.as_ref(), features)?;
    } else if let Some(workflow) = &workflow {
        workflow.write()?;
    }
    let text = Text {
        root,
        is_applied: args.apply,
        library: adopted.as_ref().or(library.found()),
        dependency,
        unpinned,
        workflow: workflow.as_ref(),
        features: &features,
    };
    let text = text.describe(&plan, Look::from_environment().width);
    style::stdout(anstream::ColorChoice::Auto).write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

/// Facts for the text besides the plan.
struct Text<'a> {
    root: &'a Path,
    is_applied: bool,
    /// The library that the workspace uses or will use, if it was looked for.
    library: Option<&'a Library>,
    /// The dependency, where it is to be written by hand.
    dependency: Option<String>,
    /// The packages that Cargo.lock pinned at versions too old for the library.
    unpinned: Vec<String>,
    workflow: Option<&'a Workflow>,
    /// What benches need that is off by default, as cargo takes it.
    features: &'a str,
}

impl Text<'_> {
    fn describe(&self, plan: &Plan, width: usize) -> String {
        let mut text = Lines {
            text: String::new(),
            width,
        };
        for package in &plan.adopted {
            text.write_sentence(format_args!("{package}: uses {PACKAGE} already"));
        }
        for change in &plan.manifests {
            text.write_sentence(format_args!("{}:", self.shown(&change.path)));
            for replaced in &change.replaced {
                text.quote(format_args!("  - {}", replaced.before));
                text.quote(format_args!("  + {}", replaced.after));
                if !replaced.dropped_features.is_empty() {
                    let features = replaced.dropped_features.join("`, `");
                    text.write_sentence(format_args!(
                        "  criterion 0.8 has no feature `{features}`"
                    ));
                }
            }
        }
        self.describe_older(&plan.older, &mut text);
        self.describe_obstacles(&plan.without_benchmarks, &mut text);
        self.describe_features(&plan.needing_features, &mut text);
        for old in &plan.old_implementations {
            text.write_sentence(format_args!(
                "{}: {} implements criterion {}; benches that pass its types to criterion will not \
                 compile; update it, or leave these benches on their own criterion",
                old.package, old.dependency, old.criterion
            ));
        }
        if !plan.removed.is_empty() {
            text.write_sentence("criterion 0.8 no longer has these; they will not compile:");
            for store_location in &plan.removed {
                let path = self.shown(&store_location.path);
                text.quote(format_args!(
                    "  {path}:{}: {}",
                    store_location.line, store_location.text
                ));
            }
        }
        if !plan.self_timed.is_empty() {
            text.write_sentence("counters give only time where the closure times itself:");
            for store_location in &plan.self_timed {
                let path = self.shown(&store_location.path);
                text.quote(format_args!(
                    "  {path}:{}: {}",
                    store_location.line, store_location.text
                ));
            }
            text.write_sentence(
                "  to count slots too, let it begin with `let start = WallTime.start();` and return \
                 `WallTime.end(start)`",
            );
        }
        self.describe_out_of_reach(plan, &mut text);
        if let Some(dependency) = &self.dependency
            && plan.forks.is_empty()
        {
            text.write_sentence(
                "no package has a criterion bench; for a first one, in a package's Cargo.toml:",
            );
            text.quote(first_bench(dependency));
        }
        let matters_elsewhere = !plan.is_empty() || self.workflow.is_some();
        if matters_elsewhere && matches!(self.library, Some(Library::Path(_))) {
            text.write_sentence(
                "the library's path is valid only on this machine; for other machines and CI, name \
                 a repository: `--library URL`",
            );
        }
        if let Some(workflow) = self.workflow {
            text.write_sentence(format_args!("wrote {}", self.shown(&workflow.path)));
            if let Some(to_do) = &workflow.to_do {
                text.write_sentence(format_args!("  {to_do}"));
            }
        }
        if !self.unpinned.is_empty() {
            text.write_sentence(format_args!(
                "Cargo.lock: updated packages that were too old for criterion 0.8 and {PACKAGE}: {}",
                self.unpinned.join(", ")
            ));
        }
        match (plan.is_empty(), self.is_applied) {
            (true, _) if self.dependency.is_some() || !plan.packages_outside.is_empty() => {}
            (true, _) => text.write_sentence("no manifest needs to change"),
            (false, false) => {
                text.write_sentence(
                    "no manifest was changed; `cargo topdown init --apply` changes them",
                );
            }
            (false, true) => text.write_sentence(format_args!(
                "changed; try `cargo topdown bench{}`",
                if plan.is_beyond_default {
                    " --workspace"
                } else {
                    ""
                }
            )),
        }
        text.text
    }

    fn describe_out_of_reach(&self, plan: &Plan, text: &mut Lines) {
        let (page_history, in_place): (Vec<_>, Vec<_>) =
            (plan.forks.iter()).partition(|fork| fork.is_beside_criterion);
        for fork in page_history {
            text.write_sentence(format_args!(
                "{}: its benches use {} although it has criterion, so only time is measured; for \
                 slots, write `criterion` in place of `{}` in their sources",
                fork.package,
                fork.dependency,
                fork.key.replace('-', "_")
            ));
        }
        for fork in in_place {
            text.write_sentence(format_args!(
                "{}: its benches use {} in place of criterion, so only time is measured; for \
                 slots, replace it in {}:",
                fork.package,
                fork.dependency,
                self.shown(&fork.path)
            ));
            let dependency = self.dependency.as_deref().unwrap_or_default();
            text.quote(format_args!("  {} = {dependency}", fork.key));
        }
        for directory in &plan.packages_outside {
            let directory = self.shown(directory);
            text.write_sentence(format_args!(
                "{directory}/Cargo.toml names criterion, but is not a member of this workspace; \
                 run `cargo topdown init` in {directory}"
            ));
        }
    }

    fn describe_older(&self, older: &[OlderCriterion], text: &mut Lines) {
        for (requirement, packages) in grouped(older.iter().map(|p| (&p.requirement, p))) {
            text.write_sentence(format_args!(
                "{}: criterion {requirement} is replaced by 0.8",
                listed(&packages)
            ));
        }
        let too_old = older
            .iter()
            .filter_map(|p| Some((p.too_old_rust.as_ref()?, p)));
        let too_old: Vec<String> = grouped(too_old)
            .into_iter()
            .map(|(rust, packages)| match packages.len() == older.len() {
                true => rust.to_string(),
                false => format!("{rust} ({})", listed(&packages)),
            })
            .collect();
        if !too_old.is_empty() {
            text.write_sentence(format_args!(
                "  tests and benches then need a newer Rust than the rust-version, which is {}",
                too_old.join(" and ")
            ));
        }
        if !older.is_empty() {
            text.write_sentence(
                "  benches need Rust 1.86 for criterion 0.8, the program needs 1.89",
            );
            text.write_sentence(
                "  0.8 has no async-std; use `std::hint::black_box` instead of \
                 `criterion::black_box`",
            );
            text.write_sentence(
                "  if code no longer compiles, CHANGELOG.md of criterion says what to use instead",
            );
        }
    }

    fn describe_features(&self, targets: &[NeedsFeatures], text: &mut Lines) {
        let (buildable, never_built): (Vec<&NeedsFeatures>, Vec<_>) =
            targets.iter().partition(|target| target.is_buildable());
        for target in never_built {
            text.write_sentence(format_args!(
                "cargo never builds this bench target, whatever the flags: {target}; change \
                 `required-features` in its Cargo.toml"
            ));
        }
        let names: Vec<String> = buildable.into_iter().map(NeedsFeatures::name).collect();
        if names.is_empty() {
            return;
        }
        text.write_sentence(format_args!(
            "cargo skips these bench targets, which need features that are off by default: {}",
            names.join(", ")
        ));
        text.write_sentence("  to measure them, too:");
        text.quote(format_args!(
            "  cargo topdown bench --workspace --features {}",
            self.features
        ));
        if self.workflow.is_some() {
            text.write_sentence("  the workflow passes them");
        }
    }

    fn describe_obstacles(&self, obstacles: &[Obstacle], text: &mut Lines) {
        let of_framework = |framework| obstacles.iter().filter(move |o| o.framework == framework);
        for obstacle in of_framework(Framework::Criterion) {
            let (package, target) = (&obstacle.package, &obstacle.target);
            let path = self.shown(&obstacle.path);
            text.write_sentence(format_args!(
                "{package}::{target}: runs no benchmark, because its harness is libtest; in {path}:"
            ));
            text.quote(format_args!(
                "  [[bench]]\n  name = \"{target}\"\n  harness = false"
            ));
        }
        for (framework, what, steps) in NOT_CRITERION {
            let paths: Vec<String> = of_framework(*framework)
                .map(|o| self.shown(&o.path))
                .collect();
            if !paths.is_empty() {
                text.write_sentence(format_args!("{what}: {}", paths.join(", ")));
                steps.iter().for_each(|step| text.write_sentence(step));
            }
        }
    }

    /// Returns `path` relative to the workspace.
    fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.root).unwrap_or(path);
        inside.display().to_string()
    }
}

/// Returns the packages that have a key in common, by the first of each.
fn grouped<'a, K: PartialEq>(
    packages: impl Iterator<Item = (K, &'a OlderCriterion)>,
) -> Vec<(K, Vec<&'a OlderCriterion>)> {
    let mut groups: Vec<(K, Vec<&OlderCriterion>)> = Vec::new();
    for (key, package) in packages {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(package),
            None => groups.push((key, vec![package])),
        }
    }
    groups
}

/// Lists the first packages, and how many more there are.
fn listed(packages: &[&OlderCriterion]) -> String {
    const MAX_NAMED: usize = 3;
    let named = packages.iter().take(MAX_NAMED);
    let named: Vec<&str> = named.map(|package| package.package.as_str()).collect();
    match packages.len().saturating_sub(MAX_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Text about bench targets for other frameworks, and how to measure them.
const NOT_CRITERION: &[(Framework, &str, &[&str])] = &[
    (
        Framework::Divan,
        "written for divan, which is not measured",
        &[
            "  to measure it, make each `#[divan::bench]` function a `c.bench_function(\"name\", |b| \
           b.iter(|| …))`",
        ],
    ),
    (
        Framework::Libtest,
        "written for libtest's `#[bench]`, which is not measured",
        &[
            "  to measure it, let each function take `&mut Criterion` and call \
             `c.bench_function(\"name\", |b| b.iter(|| …))`",
            "  and set `harness = false` for the target in Cargo.toml",
        ],
    ),
    (
        Framework::Unknown,
        "without criterion, so not measured",
        &[],
    ),
];

/// The text, whose sentences fit the terminal.
struct Lines {
    text: String,
    width: usize,
}

impl Lines {
    fn write_sentence(&mut self, sentence: impl Display) {
        self.quote(folded(&sentence.to_string(), self.width));
    }

    /// Adds what is to be copied, or names a place: as it is.
    fn quote(&mut self, text: impl Display) {
        writeln!(self.text, "{text}").expect("a String takes all text");
    }
}

/// Returns a workspace's first bench.
fn first_bench(dependency: &str) -> String {
    format!(
        "  [dev-dependencies]
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

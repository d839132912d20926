//! `cargo topdown init`: lists what a workspace would have to change, and applies it on request.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use cargo_metadata::MetadataCommand;

use crate::adoption::{self, Library, Plan};
use crate::cli::InitArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::terminal::Lines;

pub fn run(args: &InitArgs) -> Result<Exit, Error> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    if let Some(path) = &args.manifest_path {
        command.manifest_path(path);
    }
    let metadata = command.exec().map_err(Error::Metadata)?;
    let library = match &args.library {
        Some(path) => Library::Path(path.clone()),
        None => Library::Registry(env!("CARGO_PKG_VERSION").to_owned()),
    };
    let plan = adoption::plan(&metadata, &library)?;
    if args.apply {
        plan.apply()?;
    }
    let text = describe(&plan, metadata.workspace_root.as_std_path(), args.apply);
    Lines::new(anstream::stdout()).write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

fn describe(plan: &Plan, root: &Path, applied: bool) -> String {
    let shown = |path: &Path| {
        path.strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all text");
    for package in &plan.adopted {
        line(format!("{package}: uses criterion-topdown already"));
    }
    for package in &plan.without_criterion {
        line(format!(
            "{package}: its benches do not use criterion; nothing to do"
        ));
    }
    for change in &plan.manifests {
        line(format!("{}:", shown(&change.path)));
        line(format!("  - {}", change.before));
        line(format!("  + {}", change.after));
    }
    if !plan.self_timed.is_empty() {
        line("these measure time alone if their closure returns a `Duration`:".to_owned());
        for place in &plan.self_timed {
            line(format!(
                "  {}:{}: {}",
                shown(&place.path),
                place.line,
                place.text
            ));
        }
        line("  for slots too, let it return what `TopDown::measure(|| …)` returns".to_owned());
    }
    match (plan.is_empty(), applied) {
        (true, _) => line("nothing to change".to_owned()),
        (false, false) => {
            line("nothing was changed; `cargo topdown init --apply` does it".to_owned())
        }
        (false, true) => line("changed; try `cargo topdown bench`".to_owned()),
    }
    text
}

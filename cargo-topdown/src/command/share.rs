//! `cargo topdown baseline push`, `pull` and `gc`: use the store that machines share.

use std::io::Write;

use topdown_counters::machine::this_machine;

use crate::cli::{BaselineGcArgs, BaselinePullArgs, BaselinePushArgs, SharedStoreArgs};
use crate::error::Error;
use crate::exit::Exit;
use topdown_report::style;
use topdown_store::baselines::BaselineStore;
use topdown_store::shared::transfer::{Collection, Machines, Pulled, Pushed, SharedStore};
use topdown_store::shared::{Address, SharedStoreError};
use topdown_terminal::terminal::message;

/// Pushes the runs that the store lacks.
pub fn push(args: &BaselinePushArgs) -> Result<Exit, Error> {
    let (local, shared) = stores(&args.shared)?;
    let Pushed {
        added,
        present,
        skipped,
    } = shared.push(&local, &args.names)?;
    for error in skipped {
        message!("warning: skipped a run: {error}");
    }
    let mut out = style::stdout(args.output.color);
    for store_location in &added {
        writeln!(out, "pushed {store_location}")?;
    }
    writeln!(
        out,
        "{} of {present} runs were new to {}",
        added.len(),
        shared.address()
    )?;
    Ok(Exit::Success)
}

/// Pulls the baselines for this machine's class, unless the arguments name others.
pub fn pull(args: &BaselinePullArgs) -> Result<Exit, Error> {
    let (local, shared) = stores(&args.shared)?;
    let this_machine = this_machine();
    let machines = match &args.machine {
        _ if args.all_machines => Machines::Every,
        Some(key) => Machines::Key(key),
        None => Machines::Like(&this_machine),
    };
    let pulled = shared.pull(&local, &args.names, machines)?;
    let mut out = style::stdout(args.output.color);
    if pulled.is_empty() {
        writeln!(out, "{} has no baselines of {}", shared.address(), machines)?;
    }
    for Pulled {
        name,
        machine_key,
        renewed,
        added,
        refused,
        skipped,
    } in pulled
    {
        for error in skipped {
            message!("warning: skipped a run: {error}");
        }
        for store_location in refused {
            message!(
                "warning: {store_location} was not fetched: its start time is later than its upload, or in \
                 the future\n\
                 if this machine's clock is right, `cargo topdown baseline gc --from-the-future` \
                 removes it"
            );
        }
        let what = if renewed {
            "has a new run"
        } else {
            "is up to date"
        };
        writeln!(
            out,
            "`{name}` of {machine_key} {what}; {added} runs were new here"
        )?;
    }
    Ok(Exit::Success)
}

pub fn gc(args: &BaselineGcArgs) -> Result<Exit, Error> {
    let (_, shared) = stores(&args.shared)?;
    let collection = Collection {
        keep: args.keep as usize,
        from_the_future: args.from_the_future,
        dry_run: args.dry_run,
    };
    let garbage = shared.collect_garbage(&args.names, collection)?;
    let verb = if args.dry_run {
        "would remove"
    } else {
        "removed"
    };
    let mut out = style::stdout(args.output.color);
    for store_location in &garbage.runs {
        writeln!(out, "{verb} {store_location}")?;
    }
    for path in &garbage.abandoned {
        writeln!(out, "{verb} {path}, which is incomplete")?;
    }
    for store_location in &garbage.refused {
        message!(
            "warning: {store_location} is never fetched: its start time is later than its upload, or in the \
             future; if this machine's clock is right, `--from-the-future` removes it"
        );
    }
    let count = garbage.runs.len() + garbage.abandoned.len();
    writeln!(out, "{verb} {count} of {}", shared.address())?;
    Ok(Exit::Success)
}

/// Returns the local store, and the shared store given by the flags or the workspace.
fn stores(args: &SharedStoreArgs) -> Result<(BaselineStore, SharedStore), Error> {
    let workspace = args.local.store_location().workspace()?;
    let local = args.local.store_location().store_of(&workspace);
    let root = workspace.metadata.workspace_root.as_std_path();
    let address = args.address.as_deref().or(workspace.config.store());
    let address = address.ok_or(SharedStoreError::NotSet)?;
    let shared = SharedStore::open(&Address::parse(address, root)?, root)?;
    Ok((local, shared))
}

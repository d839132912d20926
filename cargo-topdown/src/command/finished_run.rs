//! Stores and prints a run made of whole launches, and saves it as a baseline.

use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use topdown_run::machine::Machine;
use topdown_run::provenance::Provenance;
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, Functions, IterationSample, LaunchSamples, LaunchSettings,
    LaunchValue, Run, Selection, write_run,
};

use crate::cli::{OutputArgs, StoredRunArgs};
use crate::config::WorkspaceError;
use crate::error::Error;
use crate::measure::run_id;
use crate::saved;
use topdown_gate::statistics::launch::value_of_whole_launch;
use topdown_report::function_table::write_function_table;
use topdown_report::run_table::write_run_table;
use topdown_report::style::{self, Look};
use topdown_store::baselines::BaselineStore;
use topdown_terminal::terminal::message;

/// A benchmark whose launches are one sample of one iteration each.
pub struct WholeLaunches {
    pub id: BenchmarkId,
    /// The source of the numbers.
    pub provenance: Provenance,
    /// One sample for each launch.
    pub samples: Vec<IterationSample>,
    /// Where the slots went, if known.
    pub functions: Option<Functions>,
}

impl WholeLaunches {
    /// Returns the run of this single benchmark; `None` if one of the samples is unusable.
    pub fn into_run(
        self,
        started_at: Timestamp,
        machine: Machine,
        build: Build,
    ) -> Option<(Run, Vec<LaunchSamples>)> {
        let launches = self
            .samples
            .iter()
            .zip(0..)
            .map(|(sample, launch)| value_of_whole_launch(launch, sample))
            .collect::<Option<Vec<LaunchValue>>>()?;
        let samples = self
            .samples
            .into_iter()
            .zip(0..)
            .map(|(sample, launch)| LaunchSamples {
                benchmark: self.id.clone(),
                source: self.provenance.source,
                launch,
                samples: vec![sample],
                groups: Vec::new(),
            })
            .collect();
        let run = Run {
            id: run_id(started_at),
            started_at: started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            machine,
            build,
            launch_settings: LaunchSettings {
                launches: u32::try_from(launches.len()).unwrap_or(u32::MAX),
                sample_size: 1,
                warm_up_ms: 0,
                measurement_ms: 0,
            },
            competing_threads: None,
            shard: None,
            failed: Vec::new(),
            selection: Selection::default(),
            benchmarks: vec![Benchmark {
                functions: self.functions.map(Box::new),
                ..Benchmark::of_launches(self.id, self.provenance, launches)
            }],
        };
        Some((run, samples))
    }
}

/// Where to store a run. Determined before the run is made, which can take long.
pub enum Destination {
    /// A directory given by the user.
    Directory(std::path::PathBuf),
    /// The workspace's newest run.
    Workspace {
        /// Its store.
        store: Box<BaselineStore>,
        /// Its root.
        root: std::path::PathBuf,
    },
    /// Nowhere: there is no workspace, and no directory was given.
    Nowhere,
}

impl Destination {
    /// Returns the destination given by the command line.
    ///
    /// # Errors
    /// Returns an error if there is no workspace and no directory was given.
    pub fn new(args: &StoredRunArgs) -> Result<Destination, Error> {
        if let Some(directory) = &args.out {
            return Ok(Destination::Directory(directory.clone()));
        }
        let workspace = args.store.store_location().workspace()?;
        Ok(Destination::Workspace {
            store: Box::new(args.store.store_location().store_of(&workspace)),
            root: workspace.metadata.workspace_root.into_std_path_buf(),
        })
    }

    /// Returns the same, or nowhere outside of any workspace: a command can be measured without
    /// one, unless its run is to be kept.
    ///
    /// # Errors
    /// Returns an error if there is no workspace to keep the run in, or a setting cannot be used.
    pub fn optional(args: &StoredRunArgs) -> Result<Destination, Error> {
        let is_to_be_kept = args.save.is_some() || args.store.manifest_path.is_some();
        match Destination::new(args) {
            Err(Error::Workspace(WorkspaceError::NotFound(_))) if !is_to_be_kept => {
                message!(
                    "note: the run is not stored, because this is not a workspace; keep it with \
                     `--out DIR`"
                );
                Ok(Destination::Nowhere)
            }
            destination => destination,
        }
    }

    /// Returns the directory whose git commit the run records.
    pub fn root(&self) -> &Path {
        match self {
            Destination::Directory(_) | Destination::Nowhere => Path::new("."),
            Destination::Workspace { root, .. } => root,
        }
    }

    /// Stores the run, prints its table and its functions, and saves it as a baseline if requested.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn keep(
        &self,
        (run, samples): &(Run, Vec<LaunchSamples>),
        args: &StoredRunArgs,
        output: &OutputArgs,
    ) -> Result<(), Error> {
        let write = |to: &Path| write_run(to, run, samples);
        let saved = match self {
            Destination::Directory(directory) => {
                write(directory).map_err(Error::NotStored)?;
                None
            }
            Destination::Nowhere => None,
            Destination::Workspace { store, .. } => {
                let own = store.make_newest(write).map_err(Error::NotStored)?;
                let name = args.save.as_ref();
                name.map(|name| store.save_own(name, &own)).transpose()?
            }
        };
        let mut out = style::stdout(output.color);
        write_run_table(&mut out, run, Look::from_environment())?;
        if run.benchmarks.iter().any(|b| b.functions.is_some()) {
            writeln!(out)?;
            write_function_table(&mut out, run, Look::from_environment())?;
        }
        if let Some(stored) = saved {
            saved::report(&mut out, &stored)?;
        }
        Ok(())
    }
}

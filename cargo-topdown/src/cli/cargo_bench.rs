//! The flags of `cargo bench`.

use std::path::PathBuf;

use clap::Args;

use super::{ColorChoice, OutputArgs};
use crate::config::Layer;
use crate::measure::Request;
use topdown_runner::targets::bench_targets::CargoFlags;

/// The heading of flags that mean what they mean to cargo.
pub const CARGO_HEADING: &str = "Flags of cargo bench";

/// Flags of `cargo bench` that are handed to it unchanged.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = CARGO_HEADING)]
pub struct CargoBenchArgs {
    /// Package to run benches for
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,

    /// Run benches for all packages in the workspace
    #[arg(long, visible_alias = "all")]
    pub workspace: bool,

    /// Package to exclude
    #[arg(long, value_name = "SPEC")]
    pub exclude: Vec<String>,

    /// Run only this bench target
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,

    /// Build only bench targets
    #[arg(long)]
    pub benches: bool,

    /// Features to activate, separated by commas or spaces
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,

    /// Activate all features
    #[arg(long)]
    pub all_features: bool,

    /// Do not activate the `default` feature
    #[arg(long)]
    pub no_default_features: bool,

    /// Build with this profile [default: bench]
    #[arg(long, value_name = "PROFILE-NAME")]
    pub profile: Option<String>,

    /// Build for this target triple
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,

    /// Directory for all build output
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,

    /// Assert that Cargo.lock will remain unchanged
    #[arg(long)]
    pub locked: bool,

    /// Run without accessing the network
    #[arg(long)]
    pub offline: bool,

    /// Same as --locked and --offline
    #[arg(long)]
    pub frozen: bool,

    /// Number of parallel jobs: of the build, and of modelled launches
    #[arg(short, long, value_name = "N", help_heading = "Measuring")]
    pub jobs: Option<String>,

    /// Override a cargo configuration value
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,

    /// Build, but do not run
    #[arg(long)]
    pub no_run: bool,

    /// Show what cargo does and what the benches print
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,

    /// Print only results and errors
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
}

impl CargoBenchArgs {
    /// A request for the benches that these flags name, all of their benchmarks.
    pub fn request(
        &self,
        settings: Layer,
        manifest_path: Option<PathBuf>,
        output: &OutputArgs,
    ) -> Request {
        Request {
            names_targets: !(self.package.is_empty() && self.bench.is_empty()),
            settings,
            jobs: self.jobs.clone(),
            cargo: self.flags(output.color),
            manifest_path,
            quiet: self.quiet,
            shows_output: self.verbose > 0,
            ..Request::default()
        }
    }

    /// The same as words for cargo.
    fn flags(&self, color: ColorChoice) -> CargoFlags {
        let mut common = Vec::new();
        switches(
            &mut common,
            &[
                (self.locked, "--locked"),
                (self.offline, "--offline"),
                (self.frozen, "--frozen"),
            ],
        );
        values(&mut common, "--config", &self.config);
        let mut selection = Vec::new();
        switches(
            &mut selection,
            &[
                (self.workspace, "--workspace"),
                (self.all_features, "--all-features"),
                (self.no_default_features, "--no-default-features"),
            ],
        );
        values(&mut selection, "--package", &self.package);
        values(&mut selection, "--exclude", &self.exclude);
        values(&mut selection, "--features", &self.features);
        values(&mut selection, "--target", self.target.as_slice());
        let mut build = selection.clone();
        switches(
            &mut build,
            &[(self.benches, "--benches"), (self.quiet, "--quiet")],
        );
        values(&mut build, "--bench", &self.bench);
        values(&mut build, "--profile", self.profile.as_slice());
        values(&mut build, "--jobs", self.jobs.as_slice());
        build.extend((0..self.verbose).map(|_| "--verbose".to_owned()));
        build.extend(["--color".to_owned(), color.name().to_owned()]);
        CargoFlags {
            common,
            build,
            selection,
            target_dir: self.target_dir.clone(),
            profile: self.profile.clone(),
            target: self.target.clone(),
        }
    }
}

fn switches(words: &mut Vec<String>, switches: &[(bool, &str)]) {
    let set = switches.iter().filter(|(is_set, _)| *is_set);
    words.extend(set.map(|(_, switch)| (*switch).to_owned()));
}

fn values(words: &mut Vec<String>, flag: &str, values: &[String]) {
    for value in values {
        words.extend([flag.to_owned(), value.clone()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_bench_flags_are_passed_on() {
        let flags = CargoBenchArgs {
            package: vec!["a".to_owned(), "b".to_owned()],
            features: vec!["x,y".to_owned()],
            profile: Some("dev".to_owned()),
            target_dir: Some("t".into()),
            locked: true,
            no_default_features: true,
            verbose: 2,
            ..CargoBenchArgs::default()
        };
        let words = flags.flags(ColorChoice::Always);
        assert_eq!(words.common, ["--locked"]);
        assert_eq!(
            words.build.join(" "),
            "--no-default-features --package a --package b --features x,y --profile dev \
             --verbose --verbose --color always"
        );
        assert_eq!(words.target_dir, Some("t".into()));
    }
}

//! Finds out what a workspace must change so that its criterion benches measure TopDown.
//!
//! [`plan`] decides without writing anything; [`Plan::apply`] writes. Sources are never edited:
//! places that need a look are listed.

mod apply;
mod error;
mod incompatible;
mod library;
mod line_ends;
pub mod lock_file;
mod manifest;
mod modules;
mod out_of_reach;
mod source;
#[cfg(test)]
mod tests;
mod workflow;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use cargo_metadata::semver::Version;
use cargo_metadata::{Dependency, DependencyKind, Metadata, Package, Target, TargetKind};

pub use error::AdoptionError;
pub use incompatible::OldImplementation;
pub use library::{Finder, Library, PACKAGE};
pub use out_of_reach::Fork;
pub use source::Framework;
pub use workflow::{Service, Workflow};

use topdown_runner::targets::required_features::NeedsFeatures;

/// The criterion that the library stands in for, and the oldest Rust that compiles it.
const CRITERION: Version = Version::new(0, 8, 2);
const CRITERION_RUST: Version = Version::new(1, 86, 0);

/// Everything a workspace needs to adopt the library.
#[derive(Debug, Default)]
pub struct Plan {
    /// Manifests whose criterion dependency changes.
    pub manifests: Vec<ManifestChange>,
    /// Packages whose criterion is older than the one that the library stands in for.
    pub older: Vec<OlderCriterion>,
    /// Dependencies that implement traits of an older criterion.
    pub old_implementations: Vec<OldImplementation>,
    /// Places in bench sources that use what criterion 0.8 no longer has.
    pub removed: Vec<SourceLocation>,
    /// Places in bench sources that time themselves: counters have no slots there.
    pub self_timed: Vec<SourceLocation>,
    /// Packages whose benches already use criterion through this library.
    pub adopted: Vec<String>,
    /// Bench targets that run no criterion benchmark.
    pub without_benchmarks: Vec<Obstacle>,
    /// Bench targets with criterion benchmarks that cargo skips by default.
    pub needing_features: Vec<NeedsFeatures>,
    /// Packages whose benches use a fork of criterion, which stays.
    pub forks: Vec<Fork>,
    /// Directories of packages outside the workspace that name criterion, if it has no criterion
    /// bench itself.
    pub packages_outside: Vec<PathBuf>,
    /// Whether a package with criterion benches is not among those that cargo selects by default.
    pub is_beyond_default: bool,
    /// Whether any bench target is written for criterion.
    pub has_criterion_benches: bool,
    /// The workspace's manifest, if the dependency in it, which packages inherit, changes.
    workspace: Option<PathBuf>,
}

/// A package whose criterion is replaced by a newer one.
#[derive(Debug)]
pub struct OlderCriterion {
    /// The package that depends on it.
    pub package: String,
    /// The requirement in its manifest.
    pub requirement: String,
    /// Its `rust-version`, if that is too old for the new one.
    pub too_old_rust: Option<Version>,
}

/// A bench target that runs no criterion benchmark, and why.
#[derive(Debug)]
pub struct Obstacle {
    /// Its package.
    pub package: String,
    /// The bench target.
    pub target: String,
    /// The manifest, if `harness = false` is missing there; else the source.
    pub path: PathBuf,
    /// What it is written for; with criterion, `harness = false` is missing.
    pub framework: Framework,
}

/// One changed manifest.
#[derive(Debug)]
pub struct ManifestChange {
    /// The manifest.
    pub path: PathBuf,
    /// One for each table that names criterion.
    pub replaced: Vec<ReplacedDependency>,
    /// The manifest's full new text.
    text: String,
}

/// A dependency on criterion that becomes one on the library.
#[derive(Debug)]
pub struct ReplacedDependency {
    /// Its line or table before the change.
    pub before: String,
    /// And after it.
    pub after: String,
    /// Features that the library doesn't have.
    pub dropped_features: Vec<String>,
}

/// A place in a bench source that times itself.
#[derive(Debug, PartialEq)]
pub struct SourceLocation {
    /// The source.
    pub path: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// The trimmed source line.
    pub text: String,
}

/// Plans the adoption for the workspace that `metadata` describes. Asks for the library only if a
/// manifest changes.
///
/// # Errors
/// Returns an error if a file cannot be read, or cargo cannot find the library.
pub fn plan(metadata: &Metadata, library: &Finder<'_>) -> Result<Plan, AdoptionError> {
    let mut plan = Plan::default();
    for package in metadata.workspace_packages() {
        plan.add(package, metadata, library)?;
    }
    if !plan.has_criterion_benches {
        plan.packages_outside = out_of_reach::packages_outside(metadata);
    }
    Ok(plan)
}

/// Plans how to measure a base that lacks the library, such as the base of the change that adopts
/// it: with the library of `candidate`. Returns `None` if there is nothing to change.
///
/// # Errors
/// As [`plan`].
pub fn plan_of_base(
    base: &Metadata,
    candidate: &Metadata,
    cargo: &Path,
) -> Result<Option<Plan>, AdoptionError> {
    let (None, Some(library)) = (
        Library::from_workspace(base),
        Library::from_workspace(candidate),
    ) else {
        return Ok(None);
    };
    let finder = Finder::for_library(library, cargo, base.workspace_root.as_std_path());
    plan(base, &finder).map(Some)
}

impl Plan {
    /// Returns the manifest with the changes so far.
    fn text_of(&self, path: &Path) -> Result<String, AdoptionError> {
        let planned = self.manifests.iter().find(|change| change.path == path);
        planned.map_or_else(|| read(path), |change| Ok(change.text.clone()))
    }

    /// Adds a change, of whose manifest there may be one already.
    fn put(&mut self, change: ManifestChange) {
        let same = |other: &&mut ManifestChange| other.path == change.path;
        match self.manifests.iter_mut().find(same) {
            Some(planned) => {
                planned.text = change.text;
                planned.replaced.extend(change.replaced);
            }
            None => self.manifests.push(change),
        }
    }

    fn add(
        &mut self,
        package: &Package,
        metadata: &Metadata,
        library: &Finder<'_>,
    ) -> Result<(), AdoptionError> {
        let is_bench = |target: &&Target| target.kind.contains(&TargetKind::Bench);
        let benches: Vec<&Target> = package.targets.iter().filter(is_bench).collect();
        if benches.is_empty() {
            return Ok(());
        }
        let path = package.manifest_path.clone().into_std_path_buf();
        let manifest = self.text_of(&path)?;
        let adopted = dependency(package, PACKAGE);
        let criterion = dependency(package, manifest::CRITERION);
        let mut is_for_criterion = false;
        let mut sources = Vec::new();
        for bench in &benches {
            let path_of_source = bench.src_path.clone().into_std_path_buf();
            let source = read(&path_of_source)?;
            let framework = Framework::new(&source);
            let has_criterion = framework == Framework::Criterion;
            is_for_criterion |= has_criterion;
            let has_harness = manifest::has_own_harness(&manifest, &path, &bench.name)?;
            let runs_criterion = match framework {
                Framework::Criterion => has_harness,
                // Its benchmarks may be in other files.
                Framework::Unknown => has_harness && (adopted.is_some() || criterion.is_some()),
                Framework::Divan | Framework::Libtest => false,
            };
            if runs_criterion {
                self.needing_features
                    .extend(NeedsFeatures::off_by_default(package, bench));
            } else {
                self.without_benchmarks.push(Obstacle {
                    package: package.name.to_string(),
                    target: bench.name.clone(),
                    path: if has_criterion {
                        path.clone()
                    } else {
                        path_of_source.clone()
                    },
                    framework,
                });
            }
            let modules = modules::of_target(&path_of_source, &source);
            sources.push((path_of_source, source));
            sources.extend(modules);
        }
        // Modules may be of several targets, and cargo takes them for targets of their own.
        let mut known = HashSet::new();
        sources.retain(|(path, _)| known.insert(path.clone()));
        if adopted.is_none() && criterion.is_some() {
            for (path, text) in &sources {
                self.self_timed.extend(source::self_timed(text, path));
            }
        }
        self.has_criterion_benches |= is_for_criterion;
        if is_for_criterion {
            let has_criterion = adopted.or(criterion).is_some();
            let texts: Vec<&str> = sources.iter().map(|(_, text)| text.as_str()).collect();
            (self.forks).extend(Fork::in_package(package, &texts, has_criterion));
        }
        if adopted.is_some_and(|adopted| !library.replaces(adopted)) {
            self.adopted.push(package.name.to_string());
            return Ok(());
        }
        let Some(criterion) = adopted.or(criterion) else {
            return Ok(());
        };
        let by_default = &metadata.workspace_default_members;
        self.is_beyond_default |= by_default.is_available() && !by_default.contains(&package.id);
        // The benches are not searched: some have all of their code in other files.
        self.has_criterion_benches = true;
        if adopted.is_none() && !criterion.req.matches(&CRITERION) {
            for (path, text) in &sources {
                self.removed.extend(incompatible::removed(text, path));
            }
            let is_too_old = |rust: &&Version| **rust < CRITERION_RUST;
            self.older.push(OlderCriterion {
                package: package.name.to_string(),
                requirement: criterion.req.to_string(),
                too_old_rust: package.rust_version.as_ref().filter(is_too_old).cloned(),
            });
        }
        let root = metadata.workspace_root.as_std_path();
        (self.old_implementations).extend(OldImplementation::in_package(package, root));
        let keys: Vec<&str> = (package.dependencies.iter())
            .filter(|dependency| [manifest::CRITERION, PACKAGE].contains(&&*dependency.name))
            .map(|dependency| {
                dependency
                    .rename
                    .as_ref()
                    .unwrap_or(&dependency.name)
                    .as_str()
            })
            .collect();
        let found = manifest::change(&manifest, &path, library.library()?, &keys)?;
        if found.here.is_none() && !found.in_workspace {
            return Err(not_found(&package.name, path));
        }
        found.here.into_iter().for_each(|change| self.put(change));
        if found.in_workspace && self.workspace.is_none() {
            let root = metadata.workspace_root.join("Cargo.toml");
            let root = root.into_std_path_buf();
            let text = self.text_of(&root)?;
            let change = manifest::change_workspace(&text, &root, library.library()?)?;
            self.put(change.ok_or_else(|| not_found(&package.name, path))?);
            self.workspace = Some(root);
        }
        Ok(())
    }
}

/// Returns the dependency that the benches of `package` have on `name`.
fn dependency<'a>(package: &'a Package, name: &str) -> Option<&'a Dependency> {
    let of_benches = [DependencyKind::Development, DependencyKind::Normal];
    let mut dependencies = package.dependencies.iter();
    dependencies.find(|d| d.name == name && of_benches.contains(&d.kind))
}

/// Returns whether the manifest in `package_root` has `harness = false` for the bench target
/// `name`.
///
/// # Errors
/// Returns an error if it cannot be read.
pub fn has_own_harness(package_root: &Path, name: &str) -> Result<bool, AdoptionError> {
    let path = package_root.join("Cargo.toml");
    manifest::has_own_harness(&read(&path)?, &path, name)
}

/// Returns whether any package of the workspace depends on the package `name`.
pub fn uses(metadata: &Metadata, name: &str) -> bool {
    let mut packages = metadata.workspace_packages().into_iter();
    packages.any(|package| dependency(package, name).is_some())
}

fn not_found(package: &str, path: PathBuf) -> AdoptionError {
    AdoptionError::NotFound {
        package: package.to_owned(),
        path,
    }
}

impl Plan {
    /// Returns whether no manifest needs a change.
    pub fn is_empty(&self) -> bool {
        self.manifests.is_empty()
    }
}

fn read(path: &Path) -> Result<String, AdoptionError> {
    std::fs::read_to_string(path).map_err(|source| AdoptionError::Io {
        path: path.to_owned(),
        source,
    })
}

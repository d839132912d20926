//! Two stored runs, found and judged as the command line and the settings say.

use std::path::{Path, PathBuf};

use topdown_run::run_file;

use super::sampled_functions::{self, Sampled};
use super::second_look::{self, ComparedRun, Relaunch};
use super::{history, selection};
use crate::accepted_file::{self, Found};
use crate::config::{Config, WorkspaceError};
use crate::error::Error;
use crate::merge::check_whole;
use crate::store_location::StoreLocation;
use topdown_gate::policy::Overrides;
use topdown_gate::verdict::{self, Comparison, Warning};
use topdown_store::baselines::BaselineStore;

/// Which stored runs to judge, and how.
pub struct ComparisonRequest<'a> {
    /// The baseline's name or path; without one, the only or the default baseline.
    pub base: Option<&'a str>,
    /// The run to judge; without one, the newest of the kind of the baseline.
    pub candidate: Option<&'a str>,
    /// A filter expression.
    pub selection: Option<String>,
    /// What the command line says about the policy.
    pub overrides: Overrides,
    /// Whether suspects get a second look; without an answer, as the settings say.
    pub relaunch: Option<bool>,
    /// Whether that look may launch them, or only count launches that exist.
    pub launches: Relaunch,
    /// Benchmarks whose functions are sampled, where the hardware counted and the runs do not know
    /// them.
    pub sampled: Sampled,
    /// Where baselines are kept.
    pub store: StoreLocation,
}

/// Two runs and the judgement on the second.
pub struct Judged {
    /// What was compared with.
    pub baseline: ComparedRun,
    /// What was judged.
    pub candidate: ComparedRun,
    /// The judgement.
    pub comparison: Comparison,
    /// Where the baseline was read from.
    pub base_path: PathBuf,
    /// Whether suspects got a second look.
    pub relaunched: bool,
    /// The settings.
    pub config: Config,
}

/// Reads and judges the runs.
///
/// # Errors
/// Returns an error if a run cannot be read or compared.
pub fn judged(request: &ComparisonRequest<'_>) -> Result<Judged, Error> {
    let (runs, config) = Runs::new(request)?;
    let mut policy = config.policy(&request.overrides)?;
    let expression = match &request.selection {
        Some(text) => Some(selection::expression(text, &config)?),
        None => None,
    };
    let base = runs.base_name(request)?;
    let candidate_path = runs.candidate_path(request, &base)?;
    let path = runs.base_path(&base, &candidate_path)?;
    // One after the other: in parallel both files would be in memory at once.
    let mut buffer = Vec::new();
    let mut baseline = run_file::read_run_into(&path, &mut buffer)?;
    let mut candidate = run_file::read_run_into(&candidate_path, &mut buffer)?;
    drop(buffer);
    let label = request.candidate.unwrap_or("the newest run");
    check_whole(&base, &baseline)?;
    let renames = config.renames();
    let has_new_names = renames.apply(&mut baseline);
    renames.apply(&mut candidate);
    // Otherwise, saving a run as the baseline and forgetting to measure again would always pass.
    if baseline.id == candidate.id {
        return Err(Error::SameRun {
            baseline: base,
            candidate: label.to_owned(),
            id: candidate.id,
        });
    }
    if let Some(expression) = &expression {
        selection::restrict(&mut baseline, &base, expression)?;
        selection::restrict(&mut candidate, label, expression)?;
    }
    let expired = match accepted_file::read(&path, &baseline)? {
        Found::Holding(accepted) => {
            policy.accepted.add_changes(accepted);
            None
        }
        Found::Expired(changes) => Some(Warning::AcceptedExpired { changes }),
    };
    let mut runs = history::behind(&path, &candidate, renames);
    policy = policy.spent_over(history::merges_per_year(&runs));
    let mut baseline = ComparedRun::new(&base, &path, baseline);
    let mut candidate = ComparedRun::new(label, &candidate_path, candidate);
    baseline.has_new_names = has_new_names;
    let relaunched = request.relaunch.unwrap_or(policy.relaunch);
    let mut comparison = if relaunched {
        second_look::judge(
            &mut baseline,
            &mut candidate,
            &policy,
            &runs,
            request.launches,
        )?
    } else {
        verdict::compare_after(&runs, baseline.labelled(), candidate.labelled(), &policy)
    };
    comparison.warnings.extend(expired);
    if !runs.is_empty() {
        runs.push(candidate.run.clone());
        comparison = verdict::with_history(comparison, &runs, &policy);
    }
    let comparison = sampled_functions::add(
        &mut baseline,
        &mut candidate,
        comparison,
        (request.sampled, request.launches),
    )?;
    Ok(Judged {
        baseline,
        candidate,
        comparison,
        base_path: path,
        relaunched,
        config,
    })
}

/// Where to look for runs. Run files can be compared outside of any workspace.
struct Runs {
    store: Option<BaselineStore>,
}

impl Runs {
    /// Returns where to look for runs, and the settings of the workspace.
    fn new(request: &ComparisonRequest<'_>) -> Result<(Runs, Config), Error> {
        match request.store.workspace() {
            Ok(workspace) => {
                let store = Some(request.store.store_of(&workspace));
                Ok((Runs { store }, workspace.config))
            }
            Err(error @ WorkspaceError::NotFound(_)) => {
                let is_path = |name: &str| Path::new(name).exists();
                if request.base.is_some_and(is_path) && request.candidate.is_some_and(is_path) {
                    Ok((Runs { store: None }, Config::default()))
                } else {
                    Err(error.into())
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the baseline's name or path: without one, that of the only or the default baseline.
    fn base_name(&self, request: &ComparisonRequest<'_>) -> Result<String, Error> {
        match (request.base, &self.store) {
            (Some(base), _) => Ok(base.to_owned()),
            (None, Some(store)) => Ok(store.default_one()?.name.to_string()),
            // Says that there is no workspace.
            (None, None) => Ok(request.store.store()?.default_one()?.name.to_string()),
        }
    }

    /// Returns the path of the run to judge: without one, the newest of the kind of `base`.
    fn candidate_path(
        &self,
        request: &ComparisonRequest<'_>,
        base: &str,
    ) -> Result<PathBuf, Error> {
        match (request.candidate, &self.store) {
            (Some(candidate), _) => self.path(candidate),
            (None, Some(store)) => Ok(store.newest_for(base)?),
            // Says that there is no workspace.
            (None, None) => Ok(request.store.store()?.newest_path()?),
        }
    }

    /// Returns the path of the baseline for the run at `candidate`.
    fn base_path(&self, base: &str, candidate: &Path) -> Result<PathBuf, Error> {
        let key = || run_file::read_run(candidate).ok().map(|run| run.key());
        match &self.store {
            Some(store) => Ok(store.resolve_for(base, key)?),
            None => Ok(PathBuf::from(base)),
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf, Error> {
        match &self.store {
            Some(store) => Ok(store.resolve(name)?),
            None => Ok(PathBuf::from(name)),
        }
    }
}

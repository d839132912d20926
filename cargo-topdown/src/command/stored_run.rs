//! The stored run that a command line names.

use std::path::{Path, PathBuf};

use crate::config::WorkspaceError;
use crate::error::Error;
use crate::store_location::StoreLocation;
use topdown_store::baselines::is_run;

/// Returns the path of the run that `argument` names; a run file is found outside of a workspace,
/// too.
///
/// # Errors
/// As [`StoreLocation::store`] and [`BaselineStore::resolve`].
///
/// [`BaselineStore::resolve`]: topdown_store::baselines::BaselineStore::resolve
pub fn resolve_run(store_location: &StoreLocation, argument: &str) -> Result<PathBuf, Error> {
    match store_location.store() {
        Ok(store) => Ok(store.resolve(argument)?),
        Err(WorkspaceError::NotFound(_)) if is_run(Path::new(argument)) => Ok(argument.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store_location::tests::RUN;

    #[test]
    fn only_baselines_need_a_workspace() {
        let nowhere = StoreLocation {
            baselines: None,
            manifest_path: Some("/nowhere/Cargo.toml".into()),
        };
        assert_eq!(resolve_run(&nowhere, RUN).unwrap(), Path::new(RUN));
        assert!(resolve_run(&nowhere, "main").is_err());
    }
}

//! Addresses of shared stores.

use std::fmt;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::git_branch::GitBranch;
use super::{Backend, SharedStoreError};

/// Where a shared store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A directory, possibly on a network file system.
    Directory(PathBuf),
    /// A branch of the remote `origin` of the workspace's repository, or of any repository.
    GitBranch {
        /// The repository, as `git push` takes it.
        remote: String,
        /// The branch.
        branch: String,
    },
    /// A bucket.
    Object(String),
}

/// The URL schemes handled by the crate `object_store`.
const OBJECT_SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"];

impl Address {
    /// Parses an address. A relative directory is relative to `workspace_root`.
    ///
    /// # Errors
    /// Returns an error if the kind of address is unknown.
    pub fn parse(text: &str, workspace_root: &Path) -> Result<Address, SharedStoreError> {
        let error = |reason: &str| SharedStoreError::Address {
            address: text.to_owned(),
            reason: reason.to_owned(),
        };
        let branch_name = |branch: &str| {
            // Refuse what git would take for a flag or a refspec; git checks the rest itself.
            let is_sound = !branch.is_empty() && !branch.starts_with('-') && !branch.contains(':');
            if is_sound {
                Ok(branch.to_owned())
            } else {
                Err(error("it names no branch"))
            }
        };
        if let Some(branch) = text.strip_prefix("git+branch:") {
            return Ok(Address::GitBranch {
                remote: "origin".to_owned(),
                branch: branch_name(branch)?,
            });
        }
        if let Some(repository) = text.strip_prefix("git+") {
            let (remote, branch) = repository
                .rsplit_once('#')
                .ok_or_else(|| error("it has no `#BRANCH`"))?;
            if remote.is_empty() || remote.starts_with('-') {
                return Err(error("it names no repository"));
            }
            return Ok(Address::GitBranch {
                remote: remote.to_owned(),
                branch: branch_name(branch)?,
            });
        }
        match text.split_once("://") {
            Some(("file", path)) if path.starts_with('/') => Ok(Address::Directory(path.into())),
            Some(("file", _)) => Err(error("the path of `file://` has to begin with `/`")),
            Some((scheme, _)) if OBJECT_SCHEMES.contains(&scheme) => {
                Ok(Address::Object(text.to_owned()))
            }
            Some((scheme, _)) => Err(error(&format!("unknown scheme `{scheme}`"))),
            None if text.is_empty() => Err(error("it is empty")),
            None => Ok(Address::Directory(workspace_root.join(text))),
        }
    }

    /// Opens the store. git runs in `workspace_root`.
    ///
    /// # Errors
    /// Returns an error if this program was built without support for it, or its address or
    /// credentials are invalid.
    pub fn open(&self, workspace_root: &Path) -> Result<Box<dyn Backend>, SharedStoreError> {
        match self {
            Address::Directory(directory) => Ok(Box::new(Directory::new(directory.clone()))),
            Address::GitBranch { remote, branch } => Ok(Box::new(GitBranch::new(
                workspace_root.to_owned(),
                remote.clone(),
                branch.clone(),
            ))),
            #[cfg(feature = "object-store")]
            Address::Object(url) => Ok(Box::new(super::object::Objects::open(url)?)),
            #[cfg(not(feature = "object-store"))]
            Address::Object(url) => Err(SharedStoreError::NotBuilt {
                address: url.clone(),
            }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Directory(directory) => write!(f, "{}", directory.display()),
            Address::GitBranch { remote, branch } => {
                write!(f, "branch `{branch}` of {}", without_password(remote))
            }
            Address::Object(url) => f.write_str(&without_password(url)),
        }
    }
}

/// Removes credentials: addresses are printed to logs, and people put tokens into them.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        // In Azure's addresses, the part before a lone `@` is a container.
        Some((user, host)) if user.contains(':') || scheme.starts_with("http") => {
            format!("{scheme}://{host}{}", &rest[authority.len()..])
        }
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, SharedStoreError> {
        Address::parse(text, Path::new("/work/project"))
    }

    #[test]
    fn every_kind_of_store_has_its_address() {
        let directory = |path: &str| Address::Directory(path.into());
        let git = |remote: &str, branch: &str| Address::GitBranch {
            remote: remote.to_owned(),
            branch: branch.to_owned(),
        };
        for (text, address) in [
            ("/srv/topdown", directory("/srv/topdown")),
            ("file:///srv/topdown", directory("/srv/topdown")),
            ("../shared", directory("/work/project/../shared")),
            (
                "git+branch:topdown-baselines",
                git("origin", "topdown-baselines"),
            ),
            (
                "git+https://host/o/r.git#perf/runs",
                git("https://host/o/r.git", "perf/runs"),
            ),
            ("git+git@host:o/r#runs", git("git@host:o/r", "runs")),
            (
                "s3://bucket/a/b",
                Address::Object("s3://bucket/a/b".to_owned()),
            ),
        ] {
            assert_eq!(parse(text).unwrap(), address);
        }
    }

    #[test]
    fn invalid_address_is_refused_with_reason() {
        for (text, reason) in [
            ("", "it is empty"),
            ("git+branch:", "it names no branch"),
            ("git+branch:--mirror", "it names no branch"),
            ("git+https://host/o/r", "it has no `#BRANCH`"),
            ("git+--upload-pack=x#b", "it names no repository"),
            ("file://srv", "has to begin with `/`"),
            ("ftp://host/x", "unknown scheme `ftp`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }

    #[cfg(not(feature = "object-store"))]
    #[test]
    fn build_without_object_stores_names_the_feature() {
        let address = parse("s3://bucket/a").unwrap();
        let error = address.open(Path::new("/")).err().unwrap();
        assert!(error.to_string().contains("--features object-store"));
    }

    #[test]
    fn passwords_are_never_printed() {
        for (text, shown) in [
            (
                "git+https://x-access-token:secret@github.com/o/r#b",
                "branch `b` of https://github.com/o/r",
            ),
            ("s3://bucket/a", "s3://bucket/a"),
            ("abfs://container@account/a", "abfs://container@account/a"),
            ("git+branch:b", "branch `b` of origin"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), shown);
        }
    }
}

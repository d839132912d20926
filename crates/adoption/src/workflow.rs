//! The CI workflow that `init --ci` writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{AdoptionError, Library};
use topdown_system::whole_file;

/// Stands for this repository in workflows until it has a home. No account can have this name, so a
/// user who forgets to replace it gets an error, never an action from someone who took the name.
const PLACEHOLDER: &str = "<owner>/cargo-topdown@<commit>";

/// The placeholder for the program's installation in GitLab's workflow.
const INSTALL: &str = "cargo install --locked cargo-topdown";

/// The argument of `cargo topdown bench` in both workflows after which features belong.
const WORKSPACE: &str = "--workspace";

const GITHUB: &str = include_str!("github.yml");
const GITLAB: &str = include_str!("gitlab.yml");

/// Where workflows run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

/// A workflow that compares each pull or merge request with its base, on any hosted machine.
#[derive(Debug)]
pub struct Workflow {
    /// The file.
    pub path: PathBuf,
    text: String,
    /// What the user still has to do.
    pub to_do: Option<String>,
}

impl Workflow {
    /// Makes the workflow for the repository at `root`, whose program comes from where `library`
    /// does. It turns on `features`, as cargo takes them, if there are any.
    pub fn new(service: Service, root: &Path, library: &Library, features: &str) -> Workflow {
        let with_features = |text: &str, separator: &str| match features {
            "" => text.to_owned(),
            some => text.replacen(
                WORKSPACE,
                &format!("{WORKSPACE}{separator}--features={some}"),
                1,
            ),
        };
        match service {
            Service::Github => {
                let action = action_of(library);
                let to_do = action.is_none().then(|| {
                    format!(
                        "replace `{PLACEHOLDER}` in it with the action's repository and a commit"
                    )
                });
                Workflow {
                    path: root.join(".github/workflows/topdown.yml"),
                    text: with_features(GITHUB, "\n            ")
                        .replace(PLACEHOLDER, action.as_deref().unwrap_or(PLACEHOLDER)),
                    to_do,
                }
            }
            Service::Gitlab => {
                let (command, to_do) = installation_of(library);
                Workflow {
                    path: root.join(".gitlab-ci.yml"),
                    text: with_features(GITLAB, " ").replace(INSTALL, &command),
                    to_do,
                }
            }
        }
    }

    /// Writes the file, unless another one is in its place.
    ///
    /// # Errors
    /// Returns an error if the file exists with another content, or cannot be written.
    pub fn write(&self) -> Result<(), AdoptionError> {
        let error = |source| AdoptionError::Io {
            path: self.path.clone(),
            source,
        };
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).map_err(error)?;
        }
        match whole_file::create(&self.path, self.text.as_bytes()) {
            Ok(()) => Ok(()),
            Err(exists) if exists.kind() == io::ErrorKind::AlreadyExists => {
                match fs::read_to_string(&self.path) {
                    Ok(text) if text == self.text => Ok(()),
                    _ => Err(AdoptionError::WorkflowExists {
                        path: self.path.clone(),
                    }),
                }
            }
            Err(other) => Err(error(other)),
        }
    }
}

/// Returns the action in the repository that `library` comes from, if GitHub has it.
fn action_of(library: &Library) -> Option<String> {
    let (url, version) = match library {
        Library::Git { url, rev } => (url.as_str(), rev.clone()?),
        Library::Registry(_) => (
            env!("CARGO_PKG_REPOSITORY"),
            format!("v{}", env!("CARGO_PKG_VERSION")),
        ),
        Library::Path(_) => return None,
    };
    let name = url.strip_prefix("https://github.com/")?;
    let name = name.strip_suffix(".git").unwrap_or(name);
    (!name.contains('<')).then(|| format!("{name}@{version}"))
}

/// Returns how CI installs the program, and what the user still has to do.
fn installation_of(library: &Library) -> (String, Option<String>) {
    match library {
        Library::Registry(version) => (format!("{INSTALL}@{version}"), None),
        Library::Git { url, rev } => {
            let rev = rev
                .as_ref()
                .map_or(String::new(), |rev| format!(" --rev {rev}"));
            (format!("{INSTALL} --git {url}{rev}"), None)
        }
        Library::Path(_) => (
            format!("{INSTALL} --git URL"),
            Some(format!(
                "replace URL in `{INSTALL} --git URL` with the program's repository"
            )),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(url: &str) -> Library {
        Library::Git {
            url: url.to_owned(),
            rev: Some("1f2e".to_owned()),
        }
    }

    #[test]
    fn workflow_uses_action_of_the_library() {
        let github = |library: &Library| Workflow::new(Service::Github, Path::new(""), library, "");
        let known = github(&git("https://github.com/me/x.git"));
        assert!(known.text.contains("uses: me/x@1f2e\n"), "{}", known.text);
        assert_eq!(known.to_do, None);
        let unknown = github(&Library::Path("/clone".into()));
        assert!(unknown.text.contains(PLACEHOLDER), "{}", unknown.text);
        assert!(unknown.to_do.is_some());
    }

    #[test]
    fn gitlab_installs_program_from_library_source() {
        let gitlab = |library: &Library| Workflow::new(Service::Gitlab, Path::new(""), library, "");
        let known = gitlab(&git("https://host/x"));
        let command = "cargo install --locked cargo-topdown --git https://host/x --rev 1f2e\n";
        assert!(known.text.contains(command), "{}", known.text);
        let of_registry = gitlab(&Library::Registry("0.1.0".to_owned()));
        assert!(of_registry.text.contains("cargo-topdown@0.1.0\n"));
        assert!(gitlab(&Library::Path("/clone".into())).to_do.is_some());
    }

    #[test]
    fn existing_workflow_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        let library = Library::Registry("0.1.0".to_owned());
        let workflow = Workflow::new(Service::Github, root.path(), &library, "");
        workflow.write().unwrap();
        workflow.write().unwrap();
        fs::write(&workflow.path, "mine").unwrap();
        let error = workflow.write().unwrap_err();
        assert!(error.to_string().contains("was not changed"), "{error}");
        assert_eq!(fs::read_to_string(&workflow.path).unwrap(), "mine");
    }

    /// A limit on the length of files kills the process in the middle of its first write.
    #[cfg(target_os = "linux")]
    #[test]
    fn killed_write_leaves_no_partial_file() {
        use std::os::unix::process::ExitStatusExt;
        const DIRECTORY: &str = "WRITE_THE_WORKFLOW_IN";
        if let Some(root) = std::env::var_os(DIRECTORY) {
            let library = Library::Registry("0.1.0".to_owned());
            let root = Path::new(&root);
            let workflow = Workflow::new(Service::Github, root, &library, "");
            workflow.write().unwrap();
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let ended = std::process::Command::new("sh")
            .args(["-c", "ulimit -c 0; ulimit -f 1; exec \"$@\"", "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["killed_write_leaves_no_partial_file", "--test-threads=1"])
            .env(DIRECTORY, root.path())
            .output()
            .unwrap();
        assert_eq!(ended.status.signal(), Some(25), "not by SIGXFSZ: {ended:?}");
        assert!(!root.path().join(".github/workflows/topdown.yml").exists());
    }

    /// The guide shows the same file.
    #[test]
    fn guide_contains_generated_workflow() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci/");
        let read = |name: &str| fs::read_to_string(format!("{guide}{name}")).unwrap();
        assert_eq!(read("hosted.yml"), GITHUB);
        assert_eq!(read("gitlab-hosted.yml"), GITLAB);
    }
}

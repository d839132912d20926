//! Origin of the library: the manifest entry by which cargo finds it.

use std::cell::OnceCell;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Dependency, Metadata};
use toml_edit::{DocumentMut, InlineTable};

use super::AdoptionError;
use topdown_system::scratch::Scratch;
use topdown_system::waits;

pub use topdown_runner::targets::launch_features::PACKAGE;
/// The program's package, as cargo's record of installations names it.
const PROGRAM: &str = "cargo-topdown";

/// The word for the registry on the command line.
const REGISTRY: &str = "registry";

/// Where the library comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Library {
    /// The registry, with this version requirement.
    Registry(String),
    /// A git repository, at this commit or at its default branch.
    Git {
        /// Its address.
        url: String,
        /// The commit.
        rev: Option<String>,
    },
    /// A local directory.
    Path(PathBuf),
}

impl Library {
    /// Reads a word of the command line: `registry`, `URL[#COMMIT]` or a directory.
    pub fn from_argument(text: &str) -> Library {
        match text {
            REGISTRY => Library::from_registry(),
            url if url.contains("://") || url.starts_with("git@") => {
                let url = url.strip_prefix("git+").unwrap_or(url);
                let (url, rev) = match url.split_once('#') {
                    Some((url, rev)) => (url, Some(rev.to_owned())),
                    None => (url, None),
                };
                let url = url.to_owned();
                Library::Git { url, rev }
            }
            directory => {
                let directory = Path::new(directory);
                // A path in a manifest is relative to the manifest.
                let absolute = directory
                    .canonicalize()
                    .or_else(|_| std::path::absolute(directory));
                Library::Path(absolute.unwrap_or_else(|_| directory.to_owned()))
            }
        }
    }

    /// Returns what the packages of a workspace depend on, if any has the library.
    pub fn from_workspace(metadata: &Metadata) -> Option<Library> {
        let packages = metadata.workspace_packages().into_iter();
        let mut dependencies = packages.flat_map(|package| &package.dependencies);
        let dependency = dependencies.find(|dependency| dependency.name == PACKAGE)?;
        Some(Library::from_dependency(dependency))
    }

    fn from_dependency(dependency: &Dependency) -> Library {
        match (&dependency.path, &dependency.source) {
            (Some(path), _) => Library::Path(path.clone().into_std_path_buf()),
            (None, Some(source)) if source.repr.starts_with("git+") => git(&source.repr),
            _ => Library::Registry(dependency.req.to_string()),
        }
    }

    fn from_registry() -> Library {
        Library::Registry(env!("CARGO_PKG_VERSION").to_owned())
    }

    /// Returns the value of the dependency in a manifest, without features.
    pub fn dependency(&self) -> InlineTable {
        let mut table = InlineTable::new();
        table.insert("package", PACKAGE.into());
        match self {
            Library::Registry(version) => table.insert("version", version.as_str().into()),
            Library::Git { url, rev } => {
                table.insert("git", url.as_str().into());
                rev.as_ref()
                    .and_then(|rev| table.insert("rev", rev.as_str().into()))
            }
            Library::Path(path) => table.insert("path", path.display().to_string().into()),
        };
        table
    }

    /// Checks that cargo, started in `root` with the configuration that applies there, finds the
    /// library.
    ///
    /// # Errors
    /// Returns what cargo says.
    fn check(&self, cargo: &Path, root: &Path) -> Result<(), String> {
        if let Library::Path(path) = self {
            return check_directory(path);
        }
        let probe = Scratch::new().map_err(|error| error.to_string())?;
        let manifest = probe.path().join("Cargo.toml");
        let text = format!(
            "[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
             [dependencies]\ncriterion = {}\n[workspace]\n",
            self.dependency()
        );
        let source = probe.path().join("src");
        fs::write(&manifest, text)
            .and_then(|()| fs::create_dir(&source))
            .and_then(|()| fs::write(source.join("lib.rs"), ""))
            .map_err(|error| error.to_string())?;
        let mut command = Command::new(cargo);
        command
            .args(["generate-lockfile", "--quiet", "--color=never"])
            .arg("--manifest-path")
            .arg(&manifest)
            .current_dir(root)
            .env("CARGO_NET_RETRY", "0");
        let output = (waits::RESOLVE.output(&mut command))
            .map_err(|error| format!("could not run {}: {error}", cargo.display()))?;
        if output.status.success() {
            Ok(())
        } else {
            Err(reason(&String::from_utf8_lossy(&output.stderr)))
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Library::Registry(version) => write!(f, "the registry, version {version}"),
            Library::Git { url, .. } => write!(f, "{url}"),
            Library::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

fn check_directory(path: &Path) -> Result<(), String> {
    let manifest = path.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .map_err(|error| format!("{}: {error}", manifest.display()))?;
    let name = text.parse::<DocumentMut>().ok().and_then(|document| {
        let name = document.get("package")?.get("name")?.as_str()?;
        Some(name.to_owned())
    });
    match name.as_deref() {
        Some(PACKAGE) => Ok(()),
        _ => Err(format!(
            "{} is not the manifest of `{PACKAGE}`",
            manifest.display()
        )),
    }
}

/// Returns the first reason in what cargo printed, and the last cause below it.
fn reason(stderr: &str) -> String {
    let mut lines = stderr.lines().filter(|line| !line.trim().is_empty());
    let first = lines.find_map(|line| line.strip_prefix("error: "));
    let mut rest = stderr.lines().skip_while(|line| *line != "Caused by:");
    let cause = rest.nth(1).map(str::trim);
    match (first, cause) {
        (Some(first), Some(cause)) => format!("{first}: {cause}"),
        (Some(first), None) => first.to_owned(),
        (None, _) => stderr.trim().to_owned(),
    }
}

/// Finds the library for one workspace: the one that was named, else the first that cargo can
/// resolve. Looks only once, and only if it is needed: asking a registry takes seconds.
pub struct Finder<'a> {
    /// What the user named.
    named: Option<&'a str>,
    /// `$CARGO`.
    cargo: &'a Path,
    /// The workspace, whose cargo configuration applies.
    root: &'a Path,
    found: OnceCell<Library>,
}

impl<'a> Finder<'a> {
    /// Makes a finder for the workspace in `root`. `named` is the user's choice.
    pub fn new(named: Option<&'a str>, cargo: &'a Path, root: &'a Path) -> Finder<'a> {
        let found = OnceCell::new();
        Finder {
            named,
            cargo,
            root,
            found,
        }
    }

    /// Finds `library`, which is known to exist.
    pub fn for_library(library: Library, cargo: &'a Path, root: &'a Path) -> Finder<'a> {
        Finder {
            named: None,
            cargo,
            root,
            found: OnceCell::from(library),
        }
    }

    /// Returns the library.
    ///
    /// # Errors
    /// Returns an error that lists what was tried if cargo can resolve none of it.
    pub fn library(&self) -> Result<&Library, AdoptionError> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let candidates = match self.named {
            Some(named) => vec![Library::from_argument(named)],
            None => candidates(),
        };
        let mut tried = Vec::new();
        for candidate in candidates {
            match candidate.check(self.cargo, self.root) {
                Ok(()) => return Ok(self.found.get_or_init(|| candidate)),
                Err(why) => tried.push(format!("{candidate}: {why}")),
            }
        }
        Err(AdoptionError::NoLibrary { tried })
    }

    /// Returns whether the user named another library than that of `adopted`, which stands in for
    /// criterion.
    pub fn replaces(&self, adopted: &Dependency) -> bool {
        let is_stand_in = adopted.rename.is_some();
        is_stand_in
            && self.named.is_some_and(|named| {
                match (
                    Library::from_argument(named),
                    Library::from_dependency(adopted),
                ) {
                    (Library::Registry(_), Library::Registry(_)) => false,
                    (Library::Path(named), Library::Path(used)) => {
                        used.canonicalize().unwrap_or(used) != named
                    }
                    (named, used) => named != used,
                }
            })
    }

    /// Returns the library that [`library`](Finder::library) found, if anything asked for it.
    pub fn found(&self) -> Option<&Library> {
        self.found.get()
    }
}

/// Returns the places that may have the library: first where the program itself comes from, since
/// that one has the program's version, then the registry.
fn candidates() -> Vec<Library> {
    let installed = std::env::current_exe().ok().and_then(|program| {
        let root = program.parent()?.parent()?;
        installation(&fs::read_to_string(root.join(".crates2.json")).ok()?)
    });
    // Not installed, but built in a clone.
    let clone = || {
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
        check_directory(clone).ok()?;
        Some(Library::Path(clone.to_owned()))
    };
    let registry = Library::from_registry();
    let origin = installed.or_else(clone);
    let origin = origin.filter(|origin| *origin != registry);
    origin.into_iter().chain([registry]).collect()
}

/// Reads where the program was installed from in cargo's record of installations.
fn installation(record: &str) -> Option<Library> {
    let record: serde_json::Value = serde_json::from_str(record).ok()?;
    let start = format!("{PROGRAM} {} (", env!("CARGO_PKG_VERSION"));
    let mut keys = record.get("installs")?.as_object()?.keys();
    let source = keys.find_map(|key| key.strip_prefix(&start)?.strip_suffix(')'))?;
    match source.split_once('+')? {
        ("path", directory) => {
            let program = Path::new(directory.strip_prefix("file://")?);
            Some(Library::Path(program.parent()?.to_owned()))
        }
        ("git", _) => Some(git(source)),
        _ => Some(Library::from_registry()),
    }
}

/// Parses cargo's `git+URL?rev=…#COMMIT`. A dependency in a manifest has the revision instead of
/// the commit.
fn git(source: &str) -> Library {
    let source = source.strip_prefix("git+").unwrap_or(source);
    let (source, commit) = match source.split_once('#') {
        Some((source, commit)) => (source, Some(commit)),
        None => (source, None),
    };
    let (url, query) = source.split_once('?').unwrap_or((source, ""));
    let rev = query
        .split('&')
        .find_map(|part| part.strip_prefix("rev=").or(part.strip_prefix("tag=")));
    Library::Git {
        url: url.to_owned(),
        rev: commit.or(rev).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_is_registry_repository_or_directory() {
        let git = |url: &str, rev: Option<&str>| Library::Git {
            url: url.to_owned(),
            rev: rev.map(str::to_owned),
        };
        for (word, library) in [
            ("registry", Library::from_registry()),
            ("https://host/x", git("https://host/x", None)),
            ("git+ssh://host/x#1f", git("ssh://host/x", Some("1f"))),
            ("git@host:x", git("git@host:x", None)),
            ("/clone", Library::Path("/clone".into())),
        ] {
            assert_eq!(Library::from_argument(word), library, "{word}");
        }
        let Library::Path(path) = Library::from_argument("clone") else {
            panic!("a directory")
        };
        assert!(path.is_absolute(), "{}", path.display());
    }

    #[test]
    fn install_record_names_source_of_program() {
        let record = |source: &str| {
            let version = env!("CARGO_PKG_VERSION");
            format!(r#"{{"installs": {{"cargo-topdown {version} ({source})": {{}}}}}}"#)
        };
        for (source, library) in [
            (
                "registry+https://github.com/rust-lang/crates.io-index",
                Some(Library::from_registry()),
            ),
            (
                "path+file:///home/me/clone/cargo-topdown",
                Some(Library::Path("/home/me/clone".into())),
            ),
            (
                "git+https://host/x?branch=main#1f2e",
                Some(Library::Git {
                    url: "https://host/x".to_owned(),
                    rev: Some("1f2e".to_owned()),
                }),
            ),
            ("nowhere", None),
        ] {
            assert_eq!(installation(&record(source)), library, "{source}");
        }
        assert_eq!(installation("{}"), None);
        assert_eq!(installation("no JSON"), None);
    }

    #[test]
    fn reason_is_first_cargo_error_with_cause() {
        let said =
            "error: no matching package named `x` found\nlocation searched: crates.io index\n";
        assert_eq!(reason(said), "no matching package named `x` found");
        let said = "error: failed to get `x`\n\nCaused by:\n  no route to host\n";
        assert_eq!(reason(said), "failed to get `x`: no route to host");
        assert_eq!(reason("killed\n"), "killed");
    }
}

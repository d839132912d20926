//! The points of a search: commits between two, or installed toolchains.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use topdown_bisect::{Kind, Point};
use topdown_run::run_file::read_run;

use crate::base_tree::{BaseTreeError, commit_of, shown};
use crate::cli::BisectArgs;
use crate::error::{BisectError, Error};
use crate::git::{GitError, git};
use crate::measure::{MeasureError, Session};
use topdown_system::waits;

/// What is searched.
pub struct Points {
    pub kind: Kind,
    pub points: Vec<Point>,
    /// The commit that all toolchains build.
    pub commit: Option<String>,
    pub overlay: Overlay,
}

/// Files of the user's work tree that each point gets in place of its own.
#[derive(Default)]
pub struct Overlay {
    /// Their paths within the repository.
    pub files: Vec<String>,
    /// Of their names and contents.
    pub digest: Vec<u8>,
}

/// Returns the points that the command line names.
pub fn of(args: &BisectArgs, session: &Session) -> Result<Points, Error> {
    let root = session.workspace.metadata.workspace_root.as_std_path();
    let bad = commit_of(&args.bad, root).map_err(MeasureError::BaseTree)?;
    if let Some(range) = &args.toolchain {
        return Ok(Points {
            kind: Kind::Toolchains,
            points: toolchains(range)?,
            commit: Some(bad),
            overlay: overlay(args, session)?,
        });
    }
    let name = match &args.good {
        Some(name) => name.clone(),
        None => commit_of_baseline(args, session)?,
    };
    let good = commit_of(&name, root).map_err(MeasureError::BaseTree)?;
    if good == bad {
        return Err(BisectError::Same {
            good: name,
            bad: args.bad.clone(),
            id: shown(&good).to_owned(),
        }
        .into());
    }
    match git(root, &["merge-base", "--is-ancestor", &good, &bad]) {
        Err(error) if error.is_silent() => {
            return Err(BisectError::NotAncestor {
                good: name,
                bad: args.bad.clone(),
            }
            .into());
        }
        checked => checked.map_err(of_git)?,
    };
    Ok(Points {
        kind: Kind::Commits,
        points: commits(root, &good, &bad, args.all_parents).map_err(of_git)?,
        commit: None,
        overlay: overlay(args, session)?,
    })
}

fn overlay(args: &BisectArgs, session: &Session) -> Result<Overlay, Error> {
    let metadata = &session.workspace.metadata;
    let root = metadata.workspace_root.as_std_path();
    let at = BaseTreeError::at;
    let mut overlay = Overlay::default();
    let mut digest = Sha256::new();
    for path in &args.overlay {
        let absolute = std::path::absolute(path).map_err(at(path));
        let absolute = absolute.map_err(MeasureError::BaseTree)?;
        let words = ["ls-files", "--cached", "--others", "--exclude-standard"];
        let more = ["--full-name", "-z", "--", &absolute.to_string_lossy()];
        let listed = git(root, &[&words[..], &more].concat()).map_err(of_git)?;
        let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"]).map_err(of_git)?);
        let is_built = |file: &str| top.join(file).starts_with(&metadata.target_directory);
        // A repository within this one ends with a slash.
        let files = listed.split_terminator('\0');
        let files: Vec<&str> = files
            .filter(|file| !file.ends_with('/') && !is_built(file))
            .collect();
        if files.is_empty() {
            return Err(BisectError::EmptyOverlay(path.clone()).into());
        }
        for file in files {
            let path = top.join(file);
            let content = fs::read(&path).map_err(at(&path));
            digest.update(file);
            digest.update(Sha256::digest(content.map_err(MeasureError::BaseTree)?));
            overlay.files.push(file.to_owned());
        }
    }
    overlay.digest = digest.finalize().to_vec();
    Ok(overlay)
}

fn of_git(error: GitError) -> MeasureError {
    MeasureError::BaseTree(error.into())
}

/// Returns the commit of the baseline that the newest run would be compared with.
fn commit_of_baseline(args: &BisectArgs, session: &Session) -> Result<String, Error> {
    let store = args.store.store_location().store_of(&session.workspace);
    let stored = store.default_one().map_err(BisectError::NoBaseline)?;
    let build = read_run(&stored.directory)?.build;
    let why = match (build.git_commit, build.git_dirty) {
        (Some(commit), None | Some(false)) => return Ok(commit),
        (Some(_), Some(true)) => "includes uncommitted changes",
        (None, _) => "has no commit",
    };
    Err(BisectError::NoGoodCommit {
        baseline: stored.name.to_string(),
        why,
    }
    .into())
}

/// Lists the commits from `good` to `bad`, oldest first.
fn commits(root: &Path, good: &str, bad: &str, all_parents: bool) -> Result<Vec<Point>, GitError> {
    let mut points = vec![Point {
        id: good.to_owned(),
        title: git(root, &["log", "--max-count=1", "--format=%s", good, "--"])?,
        parents: Vec::new(),
    }];
    let range = format!("{good}..{bad}");
    let format = "--format=%H%x00%P%x00%s";
    let mut words = vec!["log", "--reverse", "--topo-order", format];
    if !all_parents {
        words.push("--first-parent");
    }
    let listed = git(root, &[&words[..], &[&range, "--"]].concat())?;
    let mut indices: HashMap<String, usize> = HashMap::from([(good.to_owned(), 0)]);
    for line in listed.lines() {
        let mut fields = line.splitn(3, '\0');
        let (Some(id), Some(parents)) = (fields.next(), fields.next()) else {
            continue;
        };
        let parents = if all_parents {
            let parents = parents.split(' ');
            parents.filter_map(|id| indices.get(id).copied()).collect()
        } else {
            vec![points.len() - 1]
        };
        indices.insert(id.to_owned(), points.len());
        points.push(Point {
            id: id.to_owned(),
            title: fields.next().unwrap_or_default().to_owned(),
            parents,
        });
    }
    Ok(points)
}

/// Lists the installed toolchains of `range`, oldest first.
fn toolchains(range: &str) -> Result<Vec<Point>, BisectError> {
    let ends = range.split_once("..");
    let Some((good, bad)) = ends.filter(|(a, b)| !a.is_empty() && !b.is_empty()) else {
        return Err(BisectError::NoRange(range.to_owned()));
    };
    let listed = rustup(&["toolchain", "list"])?;
    // `stable-x86_64-unknown-linux-gnu (default)`
    let names = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let mut installed = names.map(Toolchain::find).collect::<Result<Vec<_>, _>>()?;
    installed.sort_by(|a, b| a.age.cmp(&b.age));
    let find = |name: &str| {
        let is_it = |one: &Toolchain| {
            let host = one
                .name
                .strip_prefix(name)
                .map(|rest| rest.trim_start_matches('-'));
            host.is_some_and(|host| host.is_empty() || host == one.host)
        };
        let position = installed.iter().position(is_it);
        position.ok_or_else(|| BisectError::NoToolchain {
            name: name.to_owned(),
            installed: installed.iter().map(|one| one.name.clone()).collect(),
        })
    };
    let (first, last) = (find(good)?, find(bad)?);
    if installed[first].version == installed[last].version {
        return Err(BisectError::Same {
            good: good.to_owned(),
            bad: bad.to_owned(),
            id: installed[first].version.clone(),
        });
    }
    if first > last {
        return Err(BisectError::ToolchainOrder {
            good: good.to_owned(),
            bad: bad.to_owned(),
        });
    }
    let mut between: Vec<Toolchain> = installed.drain(first..=last).collect();
    // `stable` and `1.95.0` may be one compiler. The names of the command line stay.
    let ends =
        [&between[0], &between[last - first]].map(|end| (end.name.clone(), end.version.clone()));
    between.retain(|one| {
        ends.iter()
            .all(|(name, version)| one.version != *version || one.name == *name)
    });
    between.dedup_by(|a, b| a.version == b.version);
    let points = between.into_iter().enumerate();
    let points = points.map(|(index, toolchain)| Point {
        id: toolchain.name,
        title: toolchain.version,
        parents: index.checked_sub(1).into_iter().collect(),
    });
    Ok(points.collect())
}

/// An installed toolchain.
struct Toolchain {
    name: String,
    host: String,
    /// What its compiler says of itself.
    version: String,
    /// The date of its compiler's commit, which orders nightlies and releases alike, and its
    /// release.
    age: (String, String),
}

impl Toolchain {
    fn find(name: &str) -> Result<Toolchain, BisectError> {
        let said = rustup(&["run", name, "rustc", "-vV"])?;
        let field = |wanted: &str| {
            let value = said.lines().find_map(|line| line.strip_prefix(wanted));
            value.unwrap_or_default().to_owned()
        };
        Ok(Toolchain {
            name: name.to_owned(),
            host: field("host: "),
            version: said.lines().next().unwrap_or_default().to_owned(),
            age: (field("commit-date: "), field("release: ")),
        })
    }
}

/// Returns the path of a program of a toolchain.
pub fn program(toolchain: &str, program: &str) -> Result<PathBuf, BisectError> {
    Ok(rustup(&["which", "--toolchain", toolchain, program])?.into())
}

fn rustup(words: &[&str]) -> Result<String, BisectError> {
    let failed = |message: String| BisectError::Rustup {
        command: words.join(" "),
        message,
    };
    let mut command = Command::new("rustup");
    command.args(words);
    let output = waits::TOOL.output(&mut command);
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(failed(message.trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

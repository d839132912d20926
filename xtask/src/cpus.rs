//! `cargo xtask cpus`: the tables of events and metric groups, from vendors' files.
//!
//! For each family, `crates/counters/cpus/FAMILY.toml` names the events and has the groups. Their
//! codes come from the vendors' files, and are kept in `FAMILY.tsv`. Both together make
//! `crates/counters/src/cpu/generated/FAMILY.rs`.

mod changes;
mod expression;
mod family;
mod formulas;
mod metric_file;
mod published;
mod rust;
mod vendor;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use family::Family;
use published::Published;

type Result<T> = std::result::Result<T, String>;

/// Adds the file to an error.
fn at<E: Display>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", path.display())
}

const FAMILIES: [&str; 4] = ["intel_performance", "intel_atom", "amd_zen", "arm_neoverse"];

/// What to do with the vendors' files.
pub enum Task<'a> {
    /// Without them: make the tables from the codes that are kept.
    Make,
    /// Take the codes in this folder.
    Take(&'a Path),
    /// Say what this folder would change.
    Compare(&'a Path),
}

/// Makes the tables of every family.
pub fn run(task: &Task) -> Result<()> {
    let mut known = Vec::new();
    let mut misfits = 0;
    for name in FAMILIES {
        let files = Files::of(name);
        let family = Family::read(&files.family)?;
        known.extend(family.without_table.clone());
        known.extend(family.tables.values().flat_map(|table| table.files.clone()));
        if let Task::Take(folder) | Task::Compare(folder) = task {
            let collected = Published::collect(&family, folder).map_err(at(&files.family))?;
            let (now, found) = collected;
            let before = match files.published.exists() {
                true => Published::read(&files.published)?,
                false => Published::default(),
            };
            for line in changes::changes(&before, &now).iter().chain(&found) {
                println!("{name}: {line}");
            }
            misfits += found.len();
            if matches!(task, Task::Compare(_)) || !found.is_empty() {
                continue;
            }
            write(&files.published, &now.to_text())?;
        }
        let published = Published::read(&files.published)?;
        let rust = rust::rust(&family, &published, name).map_err(at(&files.family))?;
        write(&files.rust, &rust)?;
    }
    if let Task::Take(folder) | Task::Compare(folder) = task {
        for core in vendor::cores(folder)? {
            if !known.iter().any(|known| core.starts_with(known)) {
                println!("no table uses {core}");
            }
        }
        for line in formulas::differences(folder)? {
            println!("{line}");
        }
    }
    match misfits {
        0 => Ok(()),
        _ => Err(format!(
            "files and events that do not fit: {misfits}; change their tables in crates/counters/cpus"
        )),
    }
}

struct Files {
    family: PathBuf,
    published: PathBuf,
    rust: PathBuf,
}

impl Files {
    fn of(family: &str) -> Files {
        let counters = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/counters");
        Files {
            family: counters.join(format!("cpus/{family}.toml")),
            published: counters.join(format!("cpus/{family}.tsv")),
            rust: counters.join(format!("src/cpu/generated/{family}.rs")),
        }
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_tables_are_current() {
        for name in FAMILIES {
            let files = Files::of(name);
            let family = Family::read(&files.family).unwrap();
            let published = Published::read(&files.published).unwrap();
            let current = rust::rust(&family, &published, name).unwrap();
            let text = std::fs::read_to_string(&files.rust).unwrap();
            assert!(
                text == current,
                "run `cargo xtask cpus`: {name} is not current"
            );
        }
    }
}

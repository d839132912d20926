//! Changes of the tables by a new edition of the vendors' files.

use std::collections::{BTreeMap, BTreeSet};

use super::published::Published;
use super::vendor::{EventCode, VendorMetric};

/// Returns a line for every difference to what was published before, but for events that are gone:
/// [`Published::collect`] reports them.
pub fn changes(before: &Published, now: &Published) -> Vec<String> {
    let mut changes = Vec::new();
    differences(&versions(before), &versions(now), &mut changes);
    let now_codes = codes(now);
    let mut before_codes = codes(before);
    before_codes.retain(|name, _| now_codes.contains_key(name));
    differences(&before_codes, &now_codes, &mut changes);
    differences(&formulas(before), &formulas(now), &mut changes);
    changes
}

/// Adds a line for every name whose value differs.
fn differences(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    lines: &mut Vec<String>,
) {
    let names: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    for name in names {
        let (before, now) = (before.get(name), now.get(name));
        if now != before {
            let shown = |value: Option<&String>| value.map_or("none", |v| v).to_owned();
            lines.push(format!("{name}: {} -> {}", shown(before), shown(now)));
        }
    }
}

/// Returns the version and date of each file.
fn versions(published: &Published) -> BTreeMap<String, String> {
    let files = published.files.iter();
    files
        .map(|file| {
            let version = format!("{} ({})", file.version, file.date);
            (file.path.clone(), version)
        })
        .collect()
}

/// Returns the code of each event of each table.
fn codes(published: &Published) -> BTreeMap<String, String> {
    let mut codes = BTreeMap::new();
    for event in &published.events {
        for table in &event.tables {
            let EventCode { config, counter } = event.code;
            let value = format!("{} {config:#x} {counter}", event.name);
            codes.insert(format!("{table} {}", event.event), value);
        }
    }
    codes
}

/// Returns the formula of each metric of each table.
fn formulas(published: &Published) -> BTreeMap<String, String> {
    let mut formulas = BTreeMap::new();
    for metric in &published.metrics {
        for table in &metric.tables {
            let VendorMetric { formula, units, .. } = &metric.published;
            let value = format!("{formula} in {units}");
            formulas.insert(format!("{table} {}", metric.name), value);
        }
    }
    formulas
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cpus::family::Family;

    /// Collects from a folder with these files, each with its version and the code of an event.
    fn collected(files: &[(&str, &str, &str)]) -> (Published, Vec<String>) {
        let family: Family = toml::from_str(
            "without_table = []\n\
             events.BRANCHES = [\"BRANCHES.ANY\", \"BR_INST_RETIRED.ALL\"]\n\
             groups = {}\n\
             [tables.cove]\nfiles = [\"perfmon/A/a_core.json\"]\nnamed = [\"BRANCHES\"]\n\
             [tables.mont]\nfiles = [\"perfmon/B/b_core.json\"]\nnamed = [\"BRANCHES\"]\n",
        )
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (path, version, code) in files {
            let file = folder.path().join("perfmon").join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let text = serde_json::json!({
                "Header": { "Version": version, "DatePublished": "05/27/2026" },
                "Events": [
                    { "EventName": "BR_INST_RETIRED.ALL", "EventCode": code, "UMask": "0x00" },
                ],
            });
            fs::write(file, text.to_string()).unwrap();
        }
        Published::collect(&family, folder.path()).unwrap()
    }

    const OF_MONT: (&str, &str, &str) = ("B/b_core.json", "1", "0xC4");

    #[test]
    fn new_edition_is_found_by_version_and_code() {
        let (before, misfits) = collected(&[("A/a_core.json", "1", "0xC4"), OF_MONT]);
        assert!(misfits.is_empty(), "{misfits:?}");
        assert_eq!(changes(&before, &before), Vec::<String>::new());
        let (now, _) = collected(&[("A/a_core.json", "2", "0xC5"), OF_MONT]);
        assert_eq!(
            changes(&before, &now),
            [
                "perfmon/A/a_core.json: 1 (05/27/2026) -> 2 (05/27/2026)",
                "cove BRANCHES: BR_INST_RETIRED.ALL 0xc4 general -> BR_INST_RETIRED.ALL 0xc5 general",
            ]
        );
    }

    #[test]
    fn missing_file_leaves_the_other_tables() {
        let (before, _) = collected(&[("A/a_core.json", "1", "0xC4"), OF_MONT]);
        let (now, misfits) = collected(&[("B/b_core.json", "2", "0xC4")]);
        assert_eq!(misfits.len(), 1, "{misfits:?}");
        assert!(misfits[0].starts_with("cove: ") && misfits[0].contains("a_core.json"));
        assert_eq!(
            changes(&before, &now),
            [
                "perfmon/A/a_core.json: 1 (05/27/2026) -> none",
                "perfmon/B/b_core.json: 1 (05/27/2026) -> 2 (05/27/2026)",
            ]
        );
    }
}

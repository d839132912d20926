//! Reads what vendors publish: Intel's perfmon, Linux's pmu-events and Arm's telemetry files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{Result, at};

/// One file, with the events and metrics in it by name.
pub struct VendorFile {
    /// Below the caller's folder, without the versions of folders.
    pub path: String,
    pub version: String,
    pub date: String,
    pub events: BTreeMap<String, EventCode>,
    pub metrics: BTreeMap<String, VendorMetric>,
}

/// How the kernel is asked for an event, and the counter that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCode {
    /// `config` of `perf_event_attr`.
    pub config: u64,
    pub counter: &'static str,
}

pub const GENERAL: &str = "general";
pub const FIXED: &str = "fixed";
pub const FIXED_CYCLES: &str = "fixed_cycles";

/// A metric whose formula Arm publishes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct VendorMetric {
    pub formula: String,
    pub units: String,
    #[serde(default)]
    pub sample_events: Vec<String>,
}

/// Reads a file, or all JSON files of a folder.
///
/// `path` begins with `perfmon/`, `linux/` or `telemetry/`; the folder of Linux may have the
/// version at its end: `linux-7.2`.
pub fn read(folder: &Path, path: &str) -> Result<Vec<VendorFile>> {
    let (vendor, below) = path.split_once('/').ok_or("a path has no vendor")?;
    let (root, version) = files_of(folder, vendor)?;
    let full = root.join(below);
    let mut files = Vec::new();
    let json = |path: &Path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    };
    if full.is_dir() {
        let entries = std::fs::read_dir(&full).map_err(at(&full))?;
        files.extend(entries.flatten().map(|entry| entry.path()));
        files.retain(|path| json(path));
        files.sort();
    } else {
        files.push(full);
    }
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).map_err(at(file))?;
        let below = file.strip_prefix(&root).map_err(at(file))?;
        let mut read = match vendor {
            "perfmon" => perfmon(&text),
            "linux" => linux(&text, &root, below),
            _ => telemetry(&text),
        }
        .map_err(at(file))?;
        read.path = format!("{vendor}/{}", below.display());
        if vendor == "linux" {
            read.version.clone_from(&version);
        }
        Ok(read)
    };
    files.iter().map(read).collect()
}

/// Returns where a file of [`read`] is.
pub fn path_of(folder: &Path, path: &str) -> Result<PathBuf> {
    let (vendor, below) = path.split_once('/').ok_or("a path has no vendor")?;
    Ok(files_of(folder, vendor)?.0.join(below))
}

/// Returns where the files of a vendor are, and their version.
fn files_of(folder: &Path, vendor: &str) -> Result<(PathBuf, String)> {
    let (root, version) = root_of(folder, vendor)?;
    let root = match vendor {
        "linux" => root.join("tools/perf/pmu-events/arch"),
        _ => root,
    };
    Ok((root, version))
}

/// Returns the files and folders in `folder` that describe a kind of core, as tables name them.
pub fn cores(folder: &Path) -> Result<Vec<String>> {
    let mut cores = Vec::new();
    for (vendor, depth, begin, end) in [
        ("perfmon", 3, "", "_core.json"),
        ("telemetry/data/pmu/cpu", 2, "", ".json"),
        ("linux/x86", 1, "amdzen", ""),
    ] {
        let (name, below) = vendor.split_once('/').unwrap_or((vendor, ""));
        let root = files_of(folder, name)?.0;
        let mut found = vec![PathBuf::from(below)];
        for _ in 0..depth {
            let parents = std::mem::take(&mut found);
            for parent in parents {
                let entries = std::fs::read_dir(root.join(&parent)).into_iter().flatten();
                found.extend(
                    entries
                        .flatten()
                        .map(|entry| parent.join(entry.file_name())),
                );
            }
        }
        let paths = found.into_iter().filter(|path| {
            if path.iter().any(|folder| folder == "metrics") {
                return false;
            }
            let file = path.file_name().and_then(|file| file.to_str());
            file.is_some_and(|file| file.starts_with(begin) && file.ends_with(end))
        });
        cores.extend(paths.map(|path| format!("{name}/{}", path.display())));
    }
    cores.sort();
    Ok(cores)
}

/// Returns the folder of a vendor and the version in its name.
fn root_of(folder: &Path, vendor: &str) -> Result<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder).map_err(at(folder))?;
    let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
    let mut roots: Vec<(PathBuf, String)> = entries
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let name = name(&path)?;
            let rest = name.strip_prefix(vendor)?;
            Some((path, rest.rsplit('-').next()?.to_owned()))
        })
        .collect();
    match roots.len() {
        1 => Ok(roots.remove(0)),
        count => Err(format!(
            "{count} folders in {} begin with `{vendor}`; one is needed",
            folder.display()
        )),
    }
}

fn number(text: &str) -> Result<u64> {
    let text = text.trim();
    match text.to_lowercase().strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    }
    .map_err(|_| format!("`{text}` is not a number"))
}

/// Returns a field of an event as a number; a missing one is 0.
fn field(event: &Value, name: &str) -> Result<u64> {
    number(event[name].as_str().unwrap_or("0"))
}

fn perfmon(text: &str) -> Result<VendorFile> {
    let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let of_header = |name: &str| json["Header"][name].as_str().unwrap_or("-").to_owned();
    let mut events = BTreeMap::new();
    for event in json["Events"].as_array().ok_or("it has no events")? {
        let name = event["EventName"].as_str().ok_or("an event has no name")?;
        // Events with several codes need a register besides.
        let has_one = |field: &str| !event[field].as_str().is_some_and(|text| text.contains(','));
        if !has_one("EventCode") || !has_one("UMask") {
            continue;
        }
        let config = field(event, "EventCode")?
            | field(event, "UMask")? << 8
            | field(event, "EdgeDetect")? << 18
            | field(event, "AnyThread")? << 21
            | field(event, "Invert")? << 23
            | field(event, "CounterMask")? << 24
            | field(event, "UMaskExt")? << 40;
        let counter = event["Counter"].as_str().unwrap_or_default();
        let counter = match counter.to_lowercase().strip_prefix("fixed counter ") {
            // Linux puts an event on its fixed counter by itself, and takes its general code.
            Some("1") => Some((FIXED_CYCLES, 0x3c)),
            Some("0") => Some((FIXED, 0xc0)),
            Some(_) => Some((FIXED, config)),
            None => None,
        };
        let (counter, config) = counter.unwrap_or((GENERAL, config));
        events.insert(name.to_owned(), EventCode { config, counter });
    }
    Ok(VendorFile {
        path: String::new(),
        version: of_header("Version"),
        date: of_header("DatePublished"),
        events,
        metrics: BTreeMap::new(),
    })
}

fn linux(text: &str, root: &Path, below: &Path) -> Result<VendorFile> {
    let json: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let is_amd = below.starts_with("x86");
    let mut events = BTreeMap::new();
    let mut architectural = None;
    for event in json {
        // Units outside the core count for all cores.
        if !event["Unit"].is_null() {
            continue;
        }
        if let Some(name) = event["ArchStdEvent"].as_str() {
            if architectural.is_none() {
                let mut events = BTreeMap::new();
                for file in ["common-and-microarch.json", "recommended.json"] {
                    let file = root.join("arm64").join(file);
                    let text = std::fs::read_to_string(&file).map_err(at(&file))?;
                    events.extend(linux(&text, root, Path::new("arm64"))?.events);
                }
                architectural = Some(events);
            }
            let code = architectural.as_ref().and_then(|events| events.get(name));
            events.extend(code.map(|code| (name.to_owned(), *code)));
        } else if let Some(name) = event["EventName"].as_str() {
            let (code, umask) = (field(&event, "EventCode")?, field(&event, "UMask")?);
            let config = match is_amd {
                // The upper four of AMD's twelve bits are bits 32 to 35.
                true => code & 0xff | umask << 8 | code >> 8 << 32,
                false => code,
            };
            let counter = counter_on_arm(name);
            events.insert(name.to_owned(), EventCode { config, counter });
        }
    }
    Ok(VendorFile {
        path: String::new(),
        version: String::new(),
        date: "-".to_owned(),
        events,
        metrics: BTreeMap::new(),
    })
}

/// Arm's cores have a counter for cycles, which the NMI watchdog leaves alone.
fn counter_on_arm(name: &str) -> &'static str {
    match name {
        "CPU_CYCLES" => FIXED,
        _ => GENERAL,
    }
}

fn telemetry(text: &str) -> Result<VendorFile> {
    #[derive(Deserialize)]
    struct File {
        document: Document,
        product_configuration: Product,
        events: BTreeMap<String, Code>,
        metrics: BTreeMap<String, VendorMetric>,
    }
    #[derive(Deserialize)]
    struct Document {
        timestamp: String,
    }
    #[derive(Deserialize)]
    struct Product {
        major_revision: String,
        minor_revision: String,
    }
    #[derive(Deserialize)]
    struct Code {
        code: String,
    }
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let product = file.product_configuration;
    let code = |(name, event): (String, Code)| {
        let config = number(&event.code)?;
        let counter = counter_on_arm(&name);
        Ok((name, EventCode { config, counter }))
    };
    Ok(VendorFile {
        path: String::new(),
        version: format!("r{}p{}", product.major_revision, product.minor_revision),
        date: file.document.timestamp,
        events: file.events.into_iter().map(code).collect::<Result<_>>()?,
        metrics: file.metrics,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(file: &VendorFile, name: &str) -> (u64, &'static str) {
        let code = file.events[name];
        (code.config, code.counter)
    }

    #[test]
    fn perfmon_fields_become_bits_of_the_configuration() {
        let event = |name: &str, fields: &str| {
            format!(r#"{{"EventName": "{name}", "Counter": "0,1", {fields}}}"#)
        };
        let text = format!(
            r#"{{"Header": {{"Version": "1.26", "DatePublished": "05/27/2026"}}, "Events": [{}]}}"#,
            [
                event(
                    "COND",
                    r#""EventCode": "0xc5", "UMask": "0x11", "UMaskExt": "0x01""#
                ),
                event(
                    "CLEARS",
                    r#""EventCode": "0xC3", "UMask": "0x01", "CounterMask": "1", "EdgeDetect": "1""#
                ),
                event("OFFCORE", r#""EventCode": "0x2A,0x2B", "UMask": "0x01""#),
                r#"{"EventName": "INST", "Counter": "Fixed counter 0", "EventCode": "0x00"}"#
                    .into(),
                r#"{"EventName": "CYCLES", "Counter": "Fixed counter 1", "EventCode": "0x00"}"#
                    .into(),
                r#"{"EventName": "SLOTS", "Counter": "Fixed counter 3", "EventCode": "0x00",
                    "UMask": "0x04"}"#
                    .into(),
            ]
            .join(",")
        );
        let file = perfmon(&text).unwrap();
        assert_eq!((&*file.version, &*file.date), ("1.26", "05/27/2026"));
        assert_eq!(code(&file, "COND"), (0x0100_0000_11c5, GENERAL));
        assert_eq!(code(&file, "CLEARS"), (0x0104_01c3, GENERAL));
        assert_eq!(code(&file, "INST"), (0xc0, FIXED));
        assert_eq!(code(&file, "CYCLES"), (0x3c, FIXED_CYCLES));
        assert_eq!(code(&file, "SLOTS"), (0x0400, FIXED));
        assert!(!file.events.contains_key("OFFCORE"));
    }

    #[test]
    fn twelve_bit_codes_of_amd_are_split() {
        let text = r#"[
            {"EventName": "no_ops", "EventCode": "0x1a0", "UMask": "0x01"},
            {"EventName": "fabric", "EventCode": "0x1f", "Unit": "DFPMC"}
        ]"#;
        let file = linux(text, Path::new(""), Path::new("x86/amdzen5/pipeline.json")).unwrap();
        assert_eq!(code(&file, "no_ops"), (0x1_0000_01a0, GENERAL));
        assert!(!file.events.contains_key("fabric"));
    }
}

//! `cargo xtask accept-report FILE`: a report of `cargo topdown doctor --report` proves the row of
//! its CPU.
//!
//! What needs no table is checked here. The report is then kept with the tests of
//! `crates/counters`, which recompute it by the formulas and judge its loops
//! (`tests/reports/main.rs`). If they pass, the row of `docs/cpus.md` says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

type Result<T> = std::result::Result<T, String>;

const SCHEMA_VERSION: u64 = 1;
/// The columns of the table of CPUs in `docs/cpus.md`, which has other tables too.
const COLUMNS: usize = 5;
/// How `docs/cpus.md` says that no table is proved yet.
const NOTHING_YET: &str = "**Nothing here has run on a physical PMU yet.** ";

/// Checks the report in `file`, keeps it, and changes the row of its CPU.
pub fn run(file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let report: Value =
        serde_json::from_str(&text).map_err(|error| format!("not a report: {error}"))?;
    let row = Row::proved_by(&report)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = root.parent().unwrap_or(root);
    let docs = root.join("docs/cpus.md");
    let page = fs::read_to_string(&docs).map_err(|error| error.to_string())?;
    let page = row.marked_in(&page)?;
    let kept = root
        .join("crates/counters/tests/reports")
        .join(row.file_name());
    if kept.exists() {
        let kept = kept.display();
        return Err(format!(
            "this model is proved by {kept}; remove that to replace it"
        ));
    }
    write(&kept, &format!("{report}\n"))?;
    if let Err(error) = judged() {
        fs::remove_file(&kept).map_err(|error| error.to_string())?;
        return Err(error);
    }
    write(&docs, &page)?;
    println!("kept {}", kept.display());
    println!(
        "docs/cpus.md: {} is proved as \"{}\"",
        row.table,
        row.proof()
    );
    println!("next: read `git diff`, and see that CONTRIBUTING.md still says what is true");
    Ok(())
}

/// What the tests write before each fault of a report.
const FAULT: &str = "fault: ";

/// Has the tests of the counters judge the kept reports.
fn judged() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["test", "--quiet", "--package", "topdown-counters"];
    let output = Command::new(cargo)
        .args(arguments)
        .args(["--test", "reports", "kept_reports_prove_their_tables"])
        .output()
        .map_err(|error| format!("could not run cargo: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let faults = printed.lines().filter_map(|line| line.strip_prefix(FAULT));
    let faults: String = faults.map(|fault| format!("\n  {fault}")).collect();
    Err(match &*faults {
        "" => format!(
            "the report could not be judged:\n{printed}{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        faults => format!(
            "the report does not prove its table, and was not kept:{faults}\nask for another one, \
             of an idle machine; if it has the same faults, the table is wrong"
        ),
    })
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A row of `docs/cpus.md`, and what proves it.
struct Row {
    table: String,
    cpu: String,
    /// As CPUID has it, or the implementer's number on Arm.
    vendor: String,
    model: u64,
    /// The kinds of counters that counted.
    kinds: Vec<String>,
}

impl Row {
    /// Reads a report.
    fn proved_by(report: &Value) -> Result<Row> {
        let version = report["schema_version"].as_u64();
        if version != Some(SCHEMA_VERSION) {
            return Err(format!("not a report of schema version {SCHEMA_VERSION}"));
        }
        let machine = &report["machine"];
        match report["is_virtual"].as_bool() {
            Some(false) => {}
            Some(true) => {
                let place = report["place"].as_str().unwrap_or("the machine");
                let is = match place.contains("virtual") {
                    true => "",
                    false => " is virtual",
                };
                return Err(format!(
                    "{place}{is}: its hypervisor decides what counts; ask for a report of a \
                     physical machine"
                ));
            }
            None => {
                let why = "an old report, which does not say whether the machine is virtual";
                return Err(format!("{why}; ask for one by the current `cargo topdown`"));
            }
        }
        let list = |name: &str| report[name].as_array().map_or(&[][..], Vec::as_slice);
        let categories = list("categories");
        let refusals = categories
            .iter()
            .filter_map(|kind| kind["refusal"].as_str());
        let refusals: Vec<&str> = refusals.collect();
        if list("pmus").is_empty() {
            return Err(format!("nothing counted: {}", refusals.join("; ")));
        }
        let table = report["table"].as_str();
        let table = table.ok_or("no table has this CPU: add one first")?;
        let counted = categories.iter().filter(|kind| kind["refusal"].is_null());
        let kinds = counted.filter_map(|kind| kind["counters"].as_str());
        let kinds: Vec<String> = kinds.map(str::to_owned).collect();
        if kinds.is_empty() {
            let refusals = refusals.join("; ");
            let mut groups = list("groups").iter();
            let groups = match groups.any(|group| group["loops"][0].is_object()) {
                true => "; metric groups counted, but prove no row",
                false => "",
            };
            return Err(format!(
                "every kind of counters was refused: {refusals}{groups}"
            ));
        }
        // A stranger wrote it: it may not add cells to the table.
        let name = machine["name"].as_str().unwrap_or_default();
        let words = name.split(|c: char| c == '|' || c.is_whitespace());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        Ok(Row {
            table: table.to_owned(),
            cpu: words.join(" "),
            vendor: machine["vendor"].as_str().unwrap_or_default().to_owned(),
            model: machine["model"].as_u64().unwrap_or_default(),
            kinds,
        })
    }

    fn proof(&self) -> String {
        match (self.cpu.as_str(), self.implementer()) {
            ("", Some(implementer)) => {
                format!(
                    "physical (implementer 0x{implementer}, part {:#x})",
                    self.model
                )
            }
            ("", None) => format!("physical (model {:#x})", self.model),
            (cpu, _) => format!("physical ({cpu})"),
        }
    }

    /// Returns the number of the company that made an Arm core, in hexadecimal digits.
    fn implementer(&self) -> Option<&str> {
        self.vendor.strip_prefix("0x")
    }

    fn file_name(&self) -> String {
        let implementer = self.implementer().unwrap_or_default();
        let text = format!("{} {implementer} {:x}", self.table, self.model).to_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        format!("{}.json", words.join("-"))
    }

    /// Returns the page with the proof in the rows of this table: those of plain counters, and of
    /// PERF_METRICS, if the report has them.
    fn marked_in(&self, page: &str) -> Result<String> {
        let mut is_marked = false;
        let lines = page.lines().map(|line| {
            let (cpus, proof) = (line.split(" | ").next()?, line.strip_suffix(" |")?);
            let has_kind = self.kinds.iter().any(|kind| match &**kind {
                "exact" => !cpus.ends_with("PERF_METRICS"),
                _ => cpus.contains("PERF_METRICS"),
            });
            let is_row = line.matches(" | ").count() + 1 == COLUMNS && cpus.contains(&self.table);
            let is_row = is_row && has_kind;
            is_row.then(|| {
                is_marked = true;
                format!("{proof}, {} |", self.proof())
            })
        });
        let lines: Vec<Option<String>> = lines.collect();
        if !is_marked {
            return Err(format!("docs/cpus.md has no row for {}", self.table));
        }
        let lines = page.lines().zip(lines);
        let lines = lines.map(|(line, marked)| marked.unwrap_or_else(|| line.to_owned()) + "\n");
        Ok(lines.collect::<String>().replace(NOTHING_YET, ""))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The names of the tables, as the program has them.
    const TABLES: [&str; 25] = [
        "Goldmont",
        "Tremont",
        "Gracemont",
        "Crestmont",
        "Skymont",
        "Darkmont (Panther Lake)",
        "Darkmont (Clearwater Forest)",
        "Arctic Wolf",
        "Intel, architectural events",
        "Sandy Bridge … Broadwell",
        "Skylake … Cascade Lake",
        "Zen 4",
        "Zen 5",
        "Zen 6",
        "Neoverse N2 r0p0 … r0p2",
        "Neoverse N2",
        "Neoverse V1",
        "Neoverse V2",
        "Neoverse N3",
        "Neoverse V3",
        "C1-Nano",
        "C1-Pro",
        "C1-Ultra, C1-Premium",
        "AmpereOne",
        "HiSilicon hip08",
    ];
    const WITH_METRICS: [&str; 5] = [
        "Ice Lake … Rocket Lake",
        "Golden Cove",
        "Lion Cove",
        "Cougar Cove",
        "Coyote Cove",
    ];

    fn report() -> Value {
        json!({
            "schema_version": 1,
            "machine": { "name": "Xeon 8480+", "model": 143 },
            "is_virtual": false,
            "pmus": [{ "name": "cpu" }],
            "table": "Golden Cove",
            "categories": [{ "counters": "metrics" }, { "counters": "exact", "refusal": "none" }],
        })
    }

    #[test]
    fn rows_of_the_counted_kinds_are_marked() {
        let page = format!(
            "{NOTHING_YET}Words.\n\
             | Golden Cove, Lion Cove, PERF_METRICS | 6 | 1 | slots | vectors |\n\
             | Golden Cove: Alder | 6 | 1 | slots | example |\n\
             | Zen 4 | 6 | 1 | six | example |\n"
        );
        let row = Row::proved_by(&report()).unwrap();
        assert_eq!(row.file_name(), "golden-cove-8f.json");
        assert_eq!(
            row.marked_in(&page).unwrap(),
            "Words.\n\
             | Golden Cove, Lion Cove, PERF_METRICS | 6 | 1 | slots | vectors, physical (Xeon 8480+) |\n\
             | Golden Cove: Alder | 6 | 1 | slots | example |\n\
             | Zen 4 | 6 | 1 | six | example |\n"
        );
        assert!(
            row.marked_in("| Zen 4 | 6 | 1 | six | example |\n")
                .is_err()
        );
    }

    #[test]
    fn unknown_arm_cores_have_their_implementer() {
        let mut report = report();
        report["machine"] = json!({ "architecture": "aarch64", "vendor": "0x61", "model": 0x23 });
        report["table"] = json!("Arm");
        let row = Row::proved_by(&report).unwrap();
        assert_eq!(row.proof(), "physical (implementer 0x61, part 0x23)");
        assert_eq!(row.file_name(), "arm-61-23.json");
    }

    #[test]
    fn names_of_strangers_add_no_columns() {
        let mut report = report();
        report["machine"]["name"] = json!("Xeon | 9 |\n| Zen 4");
        let row = Row::proved_by(&report).unwrap();
        assert_eq!(row.proof(), "physical (Xeon 9 Zen 4)");
    }

    #[test]
    fn every_table_with_level_1_has_a_row() {
        let page = include_str!("../../docs/cpus.md");
        let rows_of = |table: &str, kind: &str| {
            let row = Row {
                table: table.to_owned(),
                kinds: vec![kind.to_owned()],
                ..Row::proved_by(&report()).unwrap()
            };
            let marked = row.marked_in(page).unwrap_or_default();
            marked.matches("physical (Xeon").count()
        };
        for table in TABLES {
            assert_eq!(rows_of(table, "exact"), 1, "{table}");
        }
        assert_eq!(rows_of("Intel, architectural events", "metrics"), 1);
        for table in WITH_METRICS {
            assert_eq!(rows_of(table, "exact"), 1, "{table}");
            assert_eq!(rows_of(table, "metrics"), 1, "{table}");
        }
    }

    #[test]
    fn virtual_machines_and_refusals_prove_nothing() {
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut report = report();
            change(&mut report);
            Row::proved_by(&report).err().unwrap()
        };
        let ec2 = refused(&|r| {
            r["is_virtual"] = json!(true);
            r["place"] = json!("Amazon EC2 c8g.4xlarge");
        });
        assert!(
            ec2.starts_with("Amazon EC2 c8g.4xlarge is virtual:"),
            "{ec2}"
        );
        assert!(ec2.contains("ask for a report of"), "{ec2}");
        let guest = refused(&|r| {
            r["is_virtual"] = json!(true);
            r["place"] = json!("virtual machine (QEMU)");
        });
        assert_eq!(guest.matches("virtual").count(), 1, "{guest}");
        let old = refused(&|r| r["is_virtual"] = Value::Null);
        assert!(
            old.contains("an old report") && old.contains("ask for one"),
            "{old}"
        );
        assert!(refused(&|r| r["table"] = Value::Null).contains("no table"));
        let refusal = refused(&|r| r["categories"][0]["refusal"] = json!("no"));
        assert_eq!(refusal, "every kind of counters was refused: no; none");
        let neoverse_n1 = refused(&|r| {
            r["categories"] = json!([{ "counters": "exact", "refusal": "no slots" }]);
            r["groups"] = json!([{ "counters": "Cycle_Accounting", "loops": [{}] }]);
        });
        assert_eq!(
            neoverse_n1,
            "every kind of counters was refused: no slots; metric groups counted, but prove no row"
        );
        let without_pmu = refused(&|r| {
            r["pmus"] = json!([]);
            r["table"] = Value::Null;
            r["categories"] = json!([{ "counters": "exact", "refusal": "no PMU" }]);
        });
        assert_eq!(without_pmu, "nothing counted: no PMU");
        assert!(refused(&|r| r["schema_version"] = json!(2)).contains("version 1"));
    }
}

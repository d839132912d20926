//! Writes the tables as Rust.

use std::collections::HashMap;

use super::Result;
use super::family::{Family, Group, Metric};
use super::published::Published;
use super::vendor::{FIXED, FIXED_CYCLES, VendorMetric};

pub fn rust(family: &Family, published: &Published, file: &str) -> Result<String> {
    let mut text = format!(
        "//! Made by `cargo xtask cpus` from `{file}.toml` and `{file}.tsv` in `crates/counters/cpus`.\n\
         \n\
         use super::prelude::*;\n\n"
    );
    let consts = numbered(published.events.iter().map(|event| event.event.clone()));
    for (event, constant) in published.events.iter().zip(&consts) {
        let counter = match event.code.counter {
            FIXED => "Fixed",
            FIXED_CYCLES => "FixedCycles",
            _ => "General",
        };
        text += &format!(
            "pub const {constant}: Event = Event::new(\"{}\", {:#x}, Counter::{counter});\n",
            event.name, event.code.config
        );
    }
    text.push('\n');

    // The same group with other codes or formulas is another constant.
    let mut groups: Vec<(&str, String)> = Vec::new();
    let mut of_tables = Vec::new();
    for (table_key, table) in &family.tables {
        let mut of_table = Vec::new();
        for (key, group) in family.groups(table)? {
            let rust = group_to_rust(group, table_key, &consts, published);
            let rust = rust.map_err(|why| format!("group {key} of {table_key}: {why}"))?;
            let group = (key, rust);
            let known = groups.iter().position(|known| *known == group);
            of_table.push(known.unwrap_or(groups.len()));
            if known.is_none() {
                groups.push(group);
            }
        }
        of_tables.push(of_table);
    }
    let names = groups.iter().map(|(key, _)| key.to_uppercase() + "_GROUP");
    let group_consts = numbered(names);
    for ((_, rust), constant) in groups.iter().zip(&group_consts) {
        text += &format!("const {constant}: MetricGroup = {rust};\n");
    }

    for ((key, table), groups) in family.tables.iter().zip(of_tables) {
        text += &format!("\npub mod {key} {{\n");
        for event in table.named() {
            let constant = &consts[published.position(key, event)?];
            text += &match constant == event {
                true => format!("    pub use super::{constant};\n"),
                false => format!("    pub use super::{constant} as {event};\n"),
            };
        }
        if !table.level1.is_empty() {
            let forms = table
                .level1
                .iter()
                .map(|form| format!("&[{}]", form.replace(' ', ", ")));
            text += &format!(
                "    pub const FORMS: [&[super::Event]; {}] = [{}];\n",
                table.level1.len(),
                forms.collect::<Vec<_>>().join(", "),
            );
        }
        if !groups.is_empty() {
            let groups = groups
                .iter()
                .map(|at| format!("super::{}", group_consts[*at]));
            let groups = groups.collect::<Vec<_>>().join(", ");
            text += &format!("    pub const GROUPS: &[super::MetricGroup] = &[{groups}];\n");
        }
        text += "}\n";
    }
    Ok(text)
}

/// Makes names unique: the second `A` is `A_2`.
fn numbered(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    names
        .map(|name| {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            match *count {
                1 => name,
                count => format!("{name}_{count}"),
            }
        })
        .collect()
}

fn group_to_rust(
    group: &Group,
    table: &str,
    consts: &[String],
    published: &Published,
) -> Result<String> {
    let explains = group.explains.iter().map(|node| match node.as_str() {
        "Retiring" | "BadSpeculation" | "FrontendBound" | "BackendBound" => {
            format!("Node::Category(Category::{node})")
        }
        part => format!("Node::Part(Part::{part})"),
    });
    let (mut events, mut numbers) = (Vec::new(), Vec::new());
    // Formulas use our names, and those of the vendor.
    let mut constants: HashMap<&str, &str> = HashMap::new();
    for (event, count) in group.counts()? {
        let position = published.position(table, event)?;
        let constant = consts[position].as_str();
        events.push(constant);
        numbers.push(count);
        constants.insert(event, constant);
        constants.insert(&published.events[position].name, constant);
    }
    let (mut metrics, mut values) = (String::new(), Vec::new());
    for metric in &group.metrics {
        let metric = Metric::parse(metric)?;
        let vendors = published.metrics_for(table, metric.name);
        let rust = metric_to_rust(&metric, &vendors, &constants);
        let rust = rust.map_err(|why| format!("{}: {why}", metric.name))?;
        metrics += &format!("    {rust},\n");
        values.push(format!("\"{}\"", metric.value));
    }
    let width = group.width.map(|width| format!(".at_width({width})"));
    Ok(format!(
        "MetricGroup {{ name: \"{}\", subject: Subject::{}, explains: &[{}], events: &[{}], metrics: &[\n\
         {metrics}], example: MetricExample::new(&[{}], &[{}]){} }}",
        group.name,
        group.subject,
        explains.collect::<Vec<_>>().join(", "),
        events.join(", "),
        numbers.join(", "),
        values.join(", "),
        width.unwrap_or_default(),
    ))
}

/// Takes the first of the vendor's formulas whose events the group counts, where none is by hand.
fn metric_to_rust(
    metric: &Metric,
    vendors: &[&VendorMetric],
    constants: &HashMap<&str, &str>,
) -> Result<String> {
    let mut rust = Err("it has no formula, and the vendor has none".to_owned());
    if let Some(formula) = metric.formula {
        let unit = metric.unit.ok_or("it has no unit")?;
        rust = formula_to_rust(metric.name, formula, unit, constants);
    } else {
        for vendor in vendors {
            let (formula, unit) = in_our_unit(vendor)?;
            let unit = metric.unit.unwrap_or(&unit);
            rust = formula_to_rust(metric.name, &formula, unit, constants);
            if rust.is_ok() {
                break;
            }
        }
    }
    let mut rust = rust?;
    // An event that the group does not count cannot be sampled with it.
    let samples = vendors.iter().map(|vendor| {
        let samples = vendor.sample_events.iter();
        let samples = samples.filter_map(|event| constants.get(event.as_str()));
        samples
            .map(|event| format!("Some({event})"))
            .collect::<Vec<_>>()
    });
    let samples = samples.into_iter().find(|samples| !samples.is_empty());
    if let Some(mut samples) = samples {
        samples.resize(3, "None".to_owned());
        rust += &format!(".sampled_by([{}])", samples.join(", "));
    }
    Ok(rust)
}

/// Arm's ratios become percentages, and its units sentences.
fn in_our_unit(metric: &VendorMetric) -> Result<(String, String)> {
    let formula = metric.formula.as_str();
    let (formula, scale) = match formula.rsplit_once(" * ") {
        Some((formula, scale @ ("100" | "1000"))) => (formula, scale),
        _ => (formula, "100"),
    };
    let unit = match (metric.units.as_str(), scale) {
        ("MPKI", "1000") => "per 1000 instructions".to_owned(),
        ("per cache access" | "per TLB access", "100") => "% of accesses".to_owned(),
        ("per branch", "100") => "% of branches".to_owned(),
        (unit, "100") if unit.starts_with("percent of ") => unit.replace("percent", "%"),
        (unit, _) => return Err(format!("its unit `{unit}` is not known")),
    };
    Ok((format!("{scale} * {formula}"), unit))
}

/// Ratios have constructors of their own, which keeps the code of closures small.
fn formula_to_rust(
    name: &str,
    formula: &str,
    unit: &str,
    constants: &HashMap<&str, &str>,
) -> Result<String> {
    let constant = |event: &str| {
        let constant = constants.get(event).copied();
        constant.ok_or_else(|| format!("its group does not count `{event}`"))
    };
    let words: Vec<&str> = formula.split(' ').collect();
    Ok(match words[..] {
        ["1000", "*", event, "/", per] if unit == "per 1000 instructions" => {
            let (event, per) = (constant(event)?, constant(per)?);
            format!("Metric::per_kilo(\"{name}\", {event}, {per})")
        }
        ["100", "*", event, "/", "(width", "*", cycles] if cycles.ends_with(')') => {
            let (event, cycles) = (constant(event)?, constant(cycles.trim_end_matches(')'))?);
            format!("Metric::slots(\"{name}\", {event}, {cycles})")
        }
        ["100", "*", event, "/", of] if unit.starts_with('%') => {
            let (event, of) = (constant(event)?, constant(of)?);
            format!("Metric::percent(\"{name}\", {event}, {of}, \"{unit}\")")
        }
        ["100", "*", event, "*", "latency", "/", cycles] => {
            let (event, cycles) = (constant(event)?, constant(cycles)?);
            format!("Metric::waits(\"{name}\", {event}, {cycles}, None)")
        }
        [
            "100",
            "*",
            event,
            "*",
            "latency",
            "*",
            "(1",
            "+",
            waiting,
            "/",
            missing,
            "/",
            "2)",
            "/",
            cycles,
        ] => {
            let [event, waiting, missing, cycles] = [
                constant(event)?,
                constant(waiting)?,
                constant(missing)?,
                constant(cycles)?,
            ];
            format!(
                "Metric::waits(\"{name}\", {event}, {cycles}, Some(SameLine {{ waiting: {waiting}, missing: {missing} }}))"
            )
        }
        _ => {
            let closure = closure(formula, constants)?;
            format!("Metric::new(\"{name}\", \"{unit}\", &|c| {closure})")
        }
    })
}

/// Replaces events by their counts.
fn closure(formula: &str, constants: &HashMap<&str, &str>) -> Result<String> {
    let mut rust = String::new();
    let mut rest = formula;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        rust += &match (word, constants.get(word)) {
            (_, Some(constant)) => format!("c[{constant}]"),
            ("width", None) => "c.slots_per_cycle()".to_owned(),
            (number, None) if number.parse::<u32>().is_ok() => format!("{number}.0"),
            ("d_ratio" | " " | "," | "(" | ")" | "+" | "-" | "*" | "/", None) => word.to_owned(),
            _ => return Err(format!("`{word}` of its formula is not known")),
        };
    }
    Ok(rust)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(formula: &str, unit: &str) -> Result<String> {
        let constants =
            HashMap::from([("HITS", "HITS_2"), ("MISSES", "MISSES"), ("C.P", "CYCLES")]);
        formula_to_rust("m", formula, unit, &constants)
    }

    #[test]
    fn ratios_use_constructors_and_other_formulas_closures() {
        assert_eq!(
            rust("1000 * HITS / MISSES", "per 1000 instructions").unwrap(),
            "Metric::per_kilo(\"m\", HITS_2, MISSES)"
        );
        assert_eq!(
            rust("100 * HITS / (width * C.P)", "% of slots").unwrap(),
            "Metric::slots(\"m\", HITS_2, CYCLES)"
        );
        assert_eq!(
            rust("100 * HITS * latency / C.P", "% of cycles").unwrap(),
            "Metric::waits(\"m\", HITS_2, CYCLES, None)"
        );
        assert_eq!(
            rust("100 * (HITS - MISSES) / width", "% of hits").unwrap(),
            "Metric::new(\"m\", \"% of hits\", &|c| 100.0 * (c[HITS_2] - c[MISSES]) / c.slots_per_cycle())"
        );
    }

    #[test]
    fn event_outside_the_group_is_refused() {
        assert!(rust("100 * HITS / LOADS", "% of loads").is_err());
        assert!(rust("HITS + LOADS", "hits").is_err());
    }

    #[test]
    fn units_of_arm_become_percentages() {
        let ours = |formula: &str, units: &str| {
            in_our_unit(&VendorMetric {
                formula: formula.to_owned(),
                units: units.to_owned(),
                sample_events: Vec::new(),
            })
        };
        let expected = |formula: &str, unit: &str| Ok((formula.to_owned(), unit.to_owned()));
        assert_eq!(
            ours("A / B", "per cache access"),
            expected("100 * A / B", "% of accesses")
        );
        assert_eq!(
            ours("A / B * 1000", "MPKI"),
            expected("1000 * A / B", "per 1000 instructions")
        );
        assert!(ours("A / B", "bytes").is_err());
    }
}

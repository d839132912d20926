//! An explanation by metric groups, for people: the categories, and below the explained one its
//! groups, by node.

use std::io::{self, Write};

use topdown_counters::cpu::Node;
use topdown_run::provenance::SourceKind;

use super::function_table::write_largest;
use super::measured_group::{paragraph, write_advice};
use super::number::percent;
use super::style::{HEADING, Look};
use super::text::wrapped;
use super::{category_table, measured_group};
use topdown_explain::Explained;
use topdown_explain::advice::Findings;
use topdown_explain::latencies::Latencies;
use topdown_terminal::count_of;

/// Writes `explained` with ANSI colours; strip them if unwanted.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, explained: &Explained, look: Look) -> io::Result<()> {
    let node = Node::Category(explained.category);
    let title = match &explained.shares {
        Some(shares) => format!(
            "{}: {} takes {} % of its slots",
            explained.id,
            node.name(),
            percent(shares.level1[explained.category])
        ),
        None => format!(
            "{}: {}, by stalled cycles; slots cannot be counted here",
            explained.id,
            node.name()
        ),
    };
    for line in wrapped(&title, look.width) {
        writeln!(out, "{HEADING}{line}{HEADING:#}")?;
    }
    let provenance = &explained.provenance;
    let launches = launches(explained);
    let source = format!(
        "{}: source {} ({}), {launches}",
        explained.machine, provenance.source, provenance.formula
    );
    paragraph(out, &source, 0, look)?;
    if let Some(how) = &explained.launches_differ {
        paragraph(out, &format!("Its launches differ: {how}"), 0, look)?;
    }
    if let Some(shares) = &explained.shares {
        writeln!(out)?;
        category_table::write(out, shares, look)?;
    }
    writeln!(out, "\n{HEADING}{}{HEADING:#}", node.name())?;
    if explained.groups.is_empty() {
        let text = "No metric group of this source explains this category.";
        paragraph(out, text, 2, look)?;
        return write_functions(out, explained, look);
    }
    let findings = Findings::new(explained);
    for node in nodes_of(explained, &findings) {
        let is_category = matches!(node, Node::Category(_));
        if !is_category {
            writeln!(out, "  {HEADING}{}{HEADING:#}", node.name())?;
        }
        let indent = if is_category { 2 } else { 4 };
        for (measured, advice) in explained.groups.iter().zip(&findings.groups) {
            if measured.group.node_in(explained.category) == Some(node) {
                // Without slots, the first group's cycles are what tells functions.
                let shows_pace = explained.shares.is_none()
                    && std::ptr::eq(measured, &raw const explained.groups[0]);
                measured_group::write(out, measured, advice.as_ref(), (indent, shows_pace), look)?;
            }
        }
        for (_, advice) in findings
            .nodes
            .iter()
            .filter(|(explained, _)| *explained == node)
        {
            write_advice(out, advice, indent, look)?;
        }
    }
    if !findings.ruled_out.is_empty() {
        let text = format!("Ruled out: {}.", findings.ruled_out.join(", "));
        paragraph(out, &text, 2, look)?;
    }
    write_functions(out, explained, look)
}

/// Returns which launches the explanation comes from.
fn launches(explained: &Explained) -> String {
    let mut launches = match explained.provenance.source {
        SourceKind::Model => {
            let is_one = explained.summary.modelled_launches == Some(1);
            let launches = if is_one { "one launch" } else { "two launches" };
            return format!("{launches} for all");
        }
        SourceKind::Time => vec!["one launch for each group"],
        SourceKind::Hardware => vec!["one launch for the categories", "one for each group"],
    };
    let of_groups = explained
        .groups
        .iter()
        .filter_map(|values| values.latencies.as_ref());
    let was_launched = |latencies: &Latencies| {
        latencies.not_sampled.is_some() || latencies.used.iter().any(|used| used.hits.is_some())
    };
    if of_groups.into_iter().any(was_launched) {
        launches.push("one for the retire latencies of each group that uses them");
    }
    if explained
        .groups
        .iter()
        .any(|group| group.functions.is_some())
    {
        launches.push("one to sample each group whose events happen");
    }
    if explained.functions.is_some() {
        launches.push("further ones for the functions");
    }
    match &launches[..] {
        [all] => (*all).to_owned(),
        [first, second] => format!("{first} and {second}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
        [] => String::new(),
    }
}

fn write_functions(out: &mut impl Write, explained: &Explained, look: Look) -> io::Result<()> {
    let Some(functions) = &explained.functions else {
        return Ok(());
    };
    let how = match functions.sampled {
        Some(sampled) => format!(", sampled by {}", count_of(sampled.hits, "PMU sample")),
        None => String::new(),
    };
    writeln!(out, "\n{HEADING}functions{HEADING:#}{how}")?;
    write_largest(out, functions, look)
}

/// Returns the nodes of the groups: first the category itself, then the others in the order of the
/// groups, then those that only their slots say something about.
fn nodes_of(explained: &Explained, findings: &Findings) -> Vec<Node> {
    let mut nodes = vec![Node::Category(explained.category)];
    let of_groups = explained.groups.iter();
    let of_groups = of_groups.filter_map(|measured| measured.group.node_in(explained.category));
    for node in of_groups.chain(findings.nodes.iter().map(|(node, _)| *node)) {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric_groups_json;
    use crate::shown::{shown, written};
    use crate::text::width_of;
    use serde_json::json;
    use topdown_counters::cpu::{Counts, Latency, LatencyOrigin, MetricGroup, TABLES};
    use topdown_explain::latencies::UsedLatency;
    use topdown_explain::{EventFunctions, GroupFunctions, SampledFunction};
    use topdown_explain::{GroupError, MeasuredGroup};
    use topdown_gate::scenario::with_some_functions;
    use topdown_gate::summary::{Shares, Spread, Summary};
    use topdown_run::category::{Category, PerCategory};
    use topdown_run::code_samples::Sampled;
    use topdown_run::event::Events;
    use topdown_run::machine::Machine;
    use topdown_run::provenance::Provenance;
    use topdown_run::run_file::BenchmarkId;

    /// Zen 4 and its groups with the counts of their examples; the second group could not be
    /// counted.
    fn explained(category: Category) -> Explained {
        explained_on("Zen 4", category)
    }

    fn explained_on(cpu: &str, category: Category) -> Explained {
        let table = TABLES.iter().find(|table| table.name == cpu).unwrap();
        let groups = topdown_explain::groups_for(table, category, false);
        let values = |group: &'static MetricGroup| {
            let counts = group.example.counts.iter().copied();
            let counts = Counts::new(group.events, counts, 6);
            let metrics = group.metrics.iter();
            metrics.map(|m| m.value(&counts, Some(10.0))).collect()
        };
        let mut groups: Vec<MeasuredGroup> = groups
            .map(|group| MeasuredGroup {
                group,
                values: Ok(values(group)),
                uncounted: Vec::new(),
                latencies: None,
                functions: None,
            })
            .collect();
        let refused = groups.len().min(2) - 1;
        groups[refused].values = Err(GroupError::Refused(
            "the counters of event `ex_ret_instr` of PMU `cpu` were opened but never ran: with the \
             NMI watchdog on, the group needs 6 general counters, but only 5; run `sudo sysctl \
             kernel.nmi_watchdog=0`"
                .to_owned(),
        ));
        let spread = Spread {
            mean: 40.0,
            relative_sd: None,
        };
        let shares = Shares {
            level1: PerCategory::in_order([0.152, 0.007, 0.034, 0.806]),
            level2: None,
            smt_contention: Some(0.001),
        };
        Explained {
            id: BenchmarkId {
                package: "json".to_owned(),
                target: "parse".to_owned(),
                name: "twitter/borrowed".to_owned(),
            },
            machine: Machine {
                architecture: "x86_64".to_owned(),
                name: "AMD EPYC 9654".to_owned(),
                ..Machine::default()
            },
            provenance: Provenance {
                slots_per_cycle: Some(6),
                ..Provenance::new(SourceKind::Hardware, "zen-4/1", "")
            },
            summary: Summary {
                launches: 1,
                modelled_launches: None,
                wall_ns: spread,
                slots: Some(spread),
                shares: Some(shares),
                instructions_per_cycle: None,
                cycles_per_ns: None,
                instructions: None,
                events: Events::NONE,
                samples_dropped: 0,
                samples_used: 20,
                resolution_fraction: 0.0,
                window_fraction: 0.0,
            },
            shares: Some(shares),
            category,
            groups,
            functions: None,
            launches_differ: None,
        }
    }

    fn text(explained: &Explained, width: usize, unicode: bool) -> String {
        shown(|out| write(out, explained, Look { width, unicode }))
    }

    /// As a program reads it, which conforms to the schema.
    fn json(explained: &Explained) -> String {
        let text = written(|out| metric_groups_json::write(out, explained));
        topdown_published_schema::check("explain", &serde_json::from_str(&text).unwrap());
        text
    }

    #[test]
    fn functions_follow_groups_or_absence_of_groups() {
        let functions = with_some_functions("parse").functions;
        for groups in [true, false] {
            let mut explained = explained(Category::BackendBound);
            explained.functions = functions.clone();
            if !groups {
                explained.groups.clear();
            }
            let text = text(&explained, 100, true);
            let (_, functions) = text.split_once("\nfunctions\n").unwrap();
            assert!(functions.contains("suite::parse::number"), "{text}");
            explained.functions.as_mut().unwrap().sampled = Some(Sampled {
                hits: 12_345,
                ..Sampled::default()
            });
            let text = self::text(&explained, 100, true);
            assert!(
                text.contains("functions, sampled by 12345 PMU samples\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn differing_launches_are_reported() {
        let mut explained = explained(Category::BackendBound);
        assert!(!text(&explained, 100, true).contains("differ"));
        let how = "they execute the same instructions, on data at different addresses";
        explained.launches_differ = Some(how.to_owned());
        let reported = text(&explained, 100, true);
        let line = format!("\nIts launches differ: {how}\n");
        assert!(reported.contains(&line), "{reported}");
        let json: serde_json::Value = serde_json::from_str(&json(&explained)).unwrap();
        assert_eq!(json["launches_differ"], how);
    }

    #[test]
    fn explanation_at_80_columns() {
        let text = text(&explained(Category::BackendBound), 80, true);
        assert!(text.lines().all(|line| width_of(line) <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn explanation_at_200_columns() {
        insta::assert_snapshot!(text(&explained(Category::FrontendBound), 200, true));
    }

    #[test]
    fn latency_names_its_origin() {
        let mut explained = explained_on("Golden Cove", Category::BackendBound);
        let groups = explained.groups.iter_mut();
        let wanted = ["Load_Latency", "Load_Latency (memory)", "Lock_Latency"];
        let mut groups: Vec<_> = groups.filter(|g| wanted.contains(&g.group.name)).collect();
        let used = |event, cycles, counted_cycles, origin, hits| UsedLatency {
            event,
            latency: Latency {
                cycles,
                counted_cycles,
                origin,
            },
            hits,
        };
        let latencies = |used, not_sampled: Option<&str>| {
            Some(Latencies {
                family: "Granite Rapids",
                used,
                not_sampled: not_sampled.map(str::to_owned),
            })
        };
        use LatencyOrigin::{Assumed, Published, Sampled};
        let l2 = used("MEM_LOAD_RETIRED.L2_HIT", 14.25, 11.0, Sampled, Some(4321));
        let l3 = used("MEM_LOAD_RETIRED.L3_HIT", 57.64, 57.64, Published, None);
        let lock = used("MEM_INST_RETIRED.LOCK_LOADS", 20.0, 20.0, Assumed, None);
        groups[0].latencies = latencies(vec![l2, l3], None);
        groups[1].latencies = latencies(Vec::new(), Some("the kernel refused it"));
        groups[2].latencies = latencies(vec![lock], None);
        insta::assert_snapshot!(text(&explained, 80, true));
        let json: serde_json::Value = serde_json::from_str(&json(&explained)).unwrap();
        let groups = json["groups"].as_array().unwrap();
        let group = |name| groups.iter().find(|group| group["name"] == name).unwrap();
        let latency = &group("Load_Latency")["latencies"][0];
        assert_eq!(latency["origin"], "sampled");
        assert_eq!(latency["counted_cycles"], 11.0);
        let memory = group("Load_Latency (memory)");
        assert_eq!(memory["latencies_not_sampled"], "the kernel refused it");
    }

    #[test]
    fn explanation_in_ascii_with_level_2() {
        let mut explained = explained(Category::BackendBound);
        if let Some(shares) = &mut explained.shares {
            shares.level2 = Some(PerCategory::in_order([0.01, 0.006, 0.02, 0.6]));
        }
        explained.groups.clear();
        let wide = text(&explained, 80, false);
        assert!(wide.is_ascii(), "{wide}");
        insta::assert_snapshot!(wide);
        let narrow = text(&explained, 60, false);
        let fits = narrow.lines().all(|line| line.len() <= 60);
        assert!(fits, "{narrow}");
        assert!(narrow.contains("heavy operations 1.0,\n"), "{narrow}");
    }

    #[test]
    fn core_without_slots() {
        let mut explained = explained_on("Neoverse N1", Category::BackendBound);
        explained.machine = Machine {
            architecture: "aarch64".to_owned(),
            name: "Neoverse N1".to_owned(),
            ..Machine::default()
        };
        explained.provenance.source = SourceKind::Time;
        explained.provenance.formula = "time/1".to_owned();
        explained.shares = None;
        insta::assert_snapshot!(text(&explained, 80, true));
    }

    /// On such a core the cycles of the first group tell functions, too.
    #[test]
    fn group_lists_functions_with_its_events() {
        let mut explained = explained_on("Neoverse N1", Category::BackendBound);
        explained.shares = None;
        let hit = |hits, functions: &[(&str, f64)]| EventFunctions {
            hits,
            functions: functions
                .iter()
                .map(|(name, share)| SampledFunction {
                    name: Some((*name).to_owned()),
                    module: None,
                    share: *share,
                })
                .collect(),
        };
        let three = [
            ("suite::chase", 0.8),
            ("suite::fetch", 0.15),
            ("suite::decode", 0.05),
        ];
        let event = |name: &str, hit| (name.to_owned(), hit);
        explained.groups.truncate(3);
        explained.groups[0].functions = Some(Ok(GroupFunctions {
            paced: hit(20_000, &[("suite::fetch", 0.6), ("suite::chase", 0.4)]),
            events: vec![
                event("STALL_FRONTEND", hit(99, &three[1..])),
                event("STALL_BACKEND", hit(9_870, &three)),
            ],
        }));
        explained.groups[2].functions = Some(Err(GroupError::NoHits));
        insta::assert_snapshot!(text(&explained, 80, true));
        let json: serde_json::Value = serde_json::from_str(&json(&explained)).unwrap();
        let groups = &json["groups"];
        let sampled = &groups[0]["sampled"];
        let events = [0, 1, 2].map(|at| sampled[at]["event"].as_str().unwrap());
        assert_eq!(events, ["CPU_CYCLES", "STALL_FRONTEND", "STALL_BACKEND"]);
        let chase = &sampled[2]["functions"][0];
        assert_eq!(
            (&chase["name"], &chase["share"]),
            (&json!("suite::chase"), &json!(0.8))
        );
        assert_eq!(
            groups[2]["not_sampled"],
            "the bench recorded no PMU samples of its events"
        );
    }

    #[test]
    fn the_json_has_the_same_facts() {
        insta::assert_snapshot!(json(&explained(Category::BadSpeculation)));
    }
}

//! A specification's metric groups, and which of them its decision tree names for each category.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use topdown_counters::cpu::{
    Counts, DescribedCore, MAX_SAMPLE_EVENTS, Metric, MetricExample, MetricGroup, Node, Subject,
};
use topdown_run::category::Category;

use super::{CYCLES, File, Group, in_one_line, leak};

/// Groups of metrics, by purpose.
#[derive(Default, Deserialize)]
pub(super) struct Groups {
    #[serde(default)]
    metrics: BTreeMap<String, Members>,
}

#[derive(Deserialize)]
struct Members {
    metrics: Vec<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Methodologies {
    topdown_methodology: Option<Methodology>,
}

#[derive(Deserialize)]
struct Methodology {
    decision_tree: DecisionTree,
}

#[derive(Deserialize)]
struct DecisionTree {
    metrics: Vec<TreeNode>,
}

/// A tree node: a metric that points to other metrics or to whole groups.
#[derive(Deserialize)]
struct TreeNode {
    name: String,
    group: String,
    #[serde(default)]
    next_items: Vec<String>,
}

/// The roots of the tree, those with the most groups first. A group named by several roots is
/// listed under the first.
const ROOTS: [(&str, Category); 4] = [
    ("frontend_bound", Category::FrontendBound),
    ("backend_bound", Category::BackendBound),
    ("bad_speculation", Category::BadSpeculation),
    ("retiring", Category::Retiring),
];

/// Returns the groups that the decision tree names, or none if the file has no tree. A group that
/// needs more counters than the core has is split, since one formula never combines counts of
/// different launches.
///
/// # Errors
/// Returns a one-sentence description of what is missing from the file or not understood.
pub(super) fn groups_of(file: &File) -> Result<Vec<MetricGroup>, String> {
    let Some(methodology) = &file.methodologies.topdown_methodology else {
        return Ok(Vec::new());
    };
    let tree = &methodology.decision_tree;
    let mut named: Vec<(&str, Vec<Node>)> = Vec::new();
    for (root, category) in ROOTS {
        for group in tree.groups_below(root) {
            let node = Node::Category(category);
            match named.iter_mut().find(|(name, _)| *name == group) {
                Some((_, nodes)) => nodes.push(node),
                None => named.push((group, vec![node])),
            }
        }
    }
    let mut groups = Vec::new();
    for (name, nodes) in named {
        let members = file.groups.metrics.get(name).ok_or_else(|| {
            format!("the decision tree names the group `{name}`, which is missing")
        })?;
        add_parts(&mut groups, file, name, nodes.leak(), members)?;
    }
    Ok(groups)
}

impl DecisionTree {
    /// Returns a category's groups: those of the metrics below `root`, and those the leaf metrics
    /// point to.
    fn groups_below<'a>(&'a self, root: &'a str) -> Vec<&'a str> {
        let node = |name: &str| self.metrics.iter().find(|node| node.name == name);
        let level1 = node(root).map(|node| node.group.as_str());
        let mut groups: Vec<&str> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = vec![root];
        while let Some(item) = next.pop() {
            if !seen.insert(item) {
                continue;
            }
            let group = match node(item) {
                Some(node) => {
                    next.extend(node.next_items.iter().rev().map(String::as_str));
                    node.group.as_str()
                }
                None => item,
            };
            if Some(group) != level1 && !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }
}

/// Adds a group, split into as many parts as the counters require.
fn add_parts(
    groups: &mut Vec<MetricGroup>,
    file: &File,
    name: &str,
    explains: &'static [Node],
    members: &Members,
) -> Result<(), String> {
    let mut part = 1;
    let mut rest = &members.metrics[..];
    while !rest.is_empty() {
        let mut events = Group::new(file);
        let mut metrics = Vec::new();
        for metric in rest {
            let mut with_it = events.clone();
            let metric = metric_of(file, metric, &mut with_it)?;
            if with_it.general_events() > DescribedCore::GENERAL_COUNTERS && !metrics.is_empty() {
                break;
            }
            events = with_it;
            metrics.push(metric);
        }
        rest = &rest[metrics.len()..];
        // Cycles have a dedicated counter, and prove that the group counts.
        events.locate(CYCLES)?;
        groups.push(MetricGroup {
            name: leak(match part {
                1 => in_one_line(name)?,
                part => format!("{name} ({part})"),
            }),
            subject: subject_of(name),
            explains,
            events: events.events.leak(),
            metrics: metrics.leak(),
            example: MetricExample::NONE,
        });
        part += 1;
    }
    Ok(())
}

fn metric_of(file: &File, name: &str, events: &mut Group<'_>) -> Result<Metric, String> {
    let metric = file
        .metrics
        .get(name)
        .ok_or_else(|| format!("metric `{name}` of a group is missing"))?;
    let formula = events.formula(name, &metric.formula)?;
    // Those that its formula does not need are not counted.
    let named = events.events.iter().copied();
    let mut named = named.filter(|event| {
        metric
            .sample_events
            .iter()
            .any(|sample_event| sample_event == event.name)
    });
    let sample_events = [(); MAX_SAMPLE_EVENTS].map(|()| named.next());
    let metric = Metric::new(
        leak(name.to_owned()),
        leak(unit_in_words(&metric.units)),
        Box::leak(Box::new(move |counts: &Counts| formula.value(counts))),
    );
    Ok(metric.sampled_by(sample_events))
}

/// Rewrites a specification's unit in the form that the library's own groups use.
fn unit_in_words(units: &str) -> String {
    match units.strip_prefix("percent of ") {
        Some(whole) => format!("% of {whole}"),
        None if units == "MPKI" => "per 1000 instructions".to_owned(),
        None => units.to_owned(),
    }
}

/// Maps a group to its subject, by the names that Arm's specifications share.
fn subject_of(group: &str) -> Subject {
    match group {
        "Branch_Effectiveness" => Subject::Branches,
        "ITLB_Effectiveness" => Subject::InstructionTlb,
        "DTLB_Effectiveness" => Subject::DataTlb,
        "L1I_Cache_Effectiveness" => Subject::InstructionCache,
        "L1D_Cache_Effectiveness" => Subject::DataCache,
        "L2_Cache_Effectiveness" => Subject::L2Cache,
        "LL_Cache_Effectiveness" => Subject::LastLevelCache,
        "Topdown_Frontend" | "Topdown_Backend" | "Cycle_Accounting" => Subject::Stalls,
        "Operation_Mix" => Subject::OperationMix,
        _ => Subject::Other,
    }
}

#[cfg(test)]
mod tests {
    use topdown_counters::cpu::CpuTable;

    use super::*;
    use crate::described_core;

    const FILE: &str = include_str!("../tests/data/arm-specification.json");

    fn table_of_specification(json: &str) -> Result<&'static CpuTable, String> {
        described_core(json).map(DescribedCore::into_table)
    }

    fn names(category: Category) -> Vec<&'static str> {
        let groups = table_of_specification(FILE).unwrap().groups;
        let of_category = groups.iter().filter(|group| group.is_for(category));
        of_category.map(|group| group.name).collect()
    }

    #[test]
    fn decision_tree_names_groups_of_a_category() {
        assert_eq!(
            names(Category::BackendBound),
            [
                "Topdown_Backend",
                "L1D_Cache_Effectiveness",
                "Operation_Mix",
                "Operation_Mix (2)"
            ]
        );
        assert_eq!(
            names(Category::Retiring),
            ["Operation_Mix", "Operation_Mix (2)"]
        );
        assert_eq!(names(Category::BadSpeculation), [""; 0]);
    }

    #[test]
    fn group_formulas_are_evaluated() {
        let table = table_of_specification(FILE).unwrap();
        let group = table.group("L1D_Cache_Effectiveness").unwrap();
        assert_eq!(group.subject, Subject::DataCache);
        let configs: Vec<u64> = group.events.iter().map(|event| event.config).collect();
        assert_eq!(configs, [0x03, 0x08, 0x04, 0x11]);
        let counts = Counts::new(group.events, [30, 1000, 400], 4);
        let values = group
            .metrics
            .iter()
            .map(|metric| metric.value(&counts, None));
        assert_eq!(values.collect::<Vec<_>>(), [Some(30.0), Some(0.075)]);
        assert_eq!(group.metrics[0].unit, "per 1000 instructions");
        let nothing = Counts::new(group.events, [], 4);
        assert_eq!(group.metrics[1].value(&nothing, None), None);
    }

    #[test]
    fn oversized_group_is_split() {
        let table = table_of_specification(FILE).unwrap();
        for (name, metrics) in [("Operation_Mix", 5), ("Operation_Mix (2)", 1)] {
            let group = table.group(name).unwrap();
            assert_eq!(group.metrics.len(), metrics);
            let counters = table.general_counters_for(group.events, false);
            assert!(counters.is_enough(), "{name}");
        }
    }

    #[test]
    fn decision_tree_errors_are_named() {
        for (from, to, expected) in [
            (
                "\"L1D_Cache_Effectiveness\": {",
                "\"L1D\": {",
                "the group `L1D_Cache_Effectiveness`, which is missing",
            ),
            (
                "\"l1d_cache_mpki\": {",
                "\"l1d_mpki\": {",
                "metric `l1d_cache_mpki` of a group is missing",
            ),
            (
                "\"L1D_CACHE_REFILL\": {",
                "\"L1D_REFILL\": {",
                "event `L1D_CACHE_REFILL` has no code",
            ),
        ] {
            let json = FILE.replace(from, to);
            assert_ne!(json, FILE);
            let problem = table_of_specification(&json).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}

//! Advice from the numbers of an explanation: each sentence has its threshold, and the metric that
//! reached it. Only the parts that lose many slots are advised on; what the numbers exclude is
//! ruled out.

mod group_sentences;
mod node_sentences;
mod sentence;
mod served;
mod surprises;

pub use group_sentences::costly_rate;
pub use sentence::{Advice, Limit};

use topdown_counters::cpu::Node;
use topdown_run::category::{Category, Part};

use self::group_sentences::{Row, SubjectMetric, rows, shown};
use self::node_sentences::{NODES, Rank};
use self::served::{Served, served};
use crate::{Explained, MeasuredGroup};
use topdown_gate::summary::Shares;

/// All that is to be said about an explanation.
#[derive(Debug)]
pub struct Findings {
    /// One entry for each group.
    pub groups: Vec<Option<Advice>>,
    /// Advice from the shares of the explained nodes.
    pub nodes: Vec<(Node, Advice)>,
    /// What is not the cause.
    pub ruled_out: Vec<&'static str>,
}

impl Findings {
    /// Returns what the numbers of `explained` say.
    pub fn new(explained: &Explained) -> Findings {
        let lesser = explained.shares.as_ref();
        let lesser = lesser.and_then(|shares| lesser_part(shares, explained.category));
        let mut findings = Findings {
            groups: Vec::new(),
            nodes: Vec::new(),
            ruled_out: lesser.iter().map(|part| part.name()).collect(),
        };
        for measured in &explained.groups {
            let finding = match measured.group.node_in(explained.category) {
                Some(Node::Part(part)) if lesser == Some(part) => GroupFinding::Nothing,
                node => of_group(measured, node, &explained.groups),
            };
            findings.groups.push(match finding {
                GroupFinding::Try(advice) => Some(advice),
                GroupFinding::RuledOut(_) | GroupFinding::Nothing => None,
            });
            if let GroupFinding::RuledOut(cause) = finding
                && !findings.ruled_out.contains(&cause)
            {
                findings.ruled_out.push(cause);
            }
        }
        if let Some(shares) = &explained.shares {
            findings.add_nodes(explained, shares, lesser);
        }
        findings
    }

    /// Adds what the shares themselves say, in place of what groups say that mean less, and where
    /// no group found a cause.
    fn add_nodes(&mut self, explained: &Explained, shares: &Shares, lesser: Option<Part>) {
        let category = explained.category;
        for row in NODES.iter().filter(|row| row.node.category() == category) {
            let is_lesser = matches!(row.node, Node::Part(part) if lesser == Some(part));
            let Some(share) = share_of(shares, row.shown_by).filter(|_| !is_lesser) else {
                continue;
            };
            let is_said = self.nodes.iter().any(|(node, _)| *node == row.node);
            let is_here = |measured: &MeasuredGroup| {
                let node = measured.group.node_in(category);
                node == Some(row.node) || node == Some(Node::Category(category))
            };
            let here = explained.groups.iter().map(is_here);
            let mut of_groups = self.groups.iter_mut().zip(here).filter(|(_, here)| *here);
            let limit = Limit::AtLeast(row.min_percent);
            if is_said || !limit.holds(share * 100.0) {
                continue;
            }
            match row.rank {
                Rank::First => of_groups.for_each(|(finding, _)| *finding = None),
                Rank::WithoutCause if of_groups.any(|(finding, _)| finding.is_some()) => continue,
                Rank::WithoutCause => {}
            }
            let advice = Advice {
                cause: row.cause,
                remedy: row.remedy,
                cost: "",
                metric: row.shown_by.name(),
                value: share * 100.0,
                unit: "% of slots",
                limit,
            };
            self.nodes.push((row.node, advice));
        }
    }
}

/// The conclusion from a group's numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GroupFinding {
    /// They bear out this sentence.
    Try(Advice),
    /// They exclude this cause.
    RuledOut(&'static str),
    /// There is nothing to say, or nothing was measured.
    Nothing,
}

/// Returns the share of a node as a fraction, if it is known.
fn share_of(shares: &Shares, node: Node) -> Option<f64> {
    let part = match node {
        Node::Category(category) => return Some(shares.level1[category]),
        Node::Part(part) => part,
    };
    let category = part.category();
    let measured = shares.level2?[category];
    Some(if category.measured_part() == part {
        measured
    } else {
        shares.level1[category] - measured
    })
}

/// A part with less than this fraction of its whole is not what to look at.
pub const SMALL: f64 = 1.0 / 3.0;

/// Returns the part of `category` that loses clearly fewer slots, if level 2 is known.
fn lesser_part(shares: &Shares, category: Category) -> Option<Part> {
    let least = SMALL * shares.level1[category];
    [category.measured_part(), category.rest()]
        .into_iter()
        .find(|part| share_of(shares, Node::Part(*part)).is_some_and(|share| share < least))
}

fn of_group(measured: &MeasuredGroup, node: Option<Node>, all: &[MeasuredGroup]) -> GroupFinding {
    let subject = measured.group.subject;
    let is_first = |row: &&Row| row.subject == subject && row.node.is_none_or(|n| Some(n) == node);
    let mut rules_out = "";
    for row in rows().filter(is_first) {
        let Some((metric, value)) = shown(measured, row.shown_by) else {
            continue;
        };
        if rules_out.is_empty() {
            rules_out = row.rules_out;
        }
        if !row.limit.holds(value) {
            continue;
        }
        if matches!(row.shown_by, SubjectMetric::Misses) {
            match served(measured, value, all) {
                Served::Here => {}
                Served::Further => return GroupFinding::Nothing,
                Served::Before => return GroupFinding::RuledOut(row.rules_out),
            }
        }
        return GroupFinding::Try(Advice {
            cause: row.cause,
            remedy: row.remedy,
            cost: row.cost,
            metric: metric.name,
            value,
            unit: metric.unit,
            limit: row.limit,
        });
    }
    match rules_out {
        "" => GroupFinding::Nothing,
        cause => GroupFinding::RuledOut(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::group_sentences::{HITS, WHOLES};
    use super::*;
    use topdown_counters::cpu::{Counts, MODELLED, TABLES};

    const MEMORY_BOUND: Node = Node::Part(Part::MemoryBound);

    /// Groups of the model with these values, as of an explanation.
    fn groups(values: &[(&str, &[f64])]) -> Vec<MeasuredGroup> {
        let measured = values.iter().map(|(name, values)| MeasuredGroup {
            group: MODELLED.group(name).unwrap(),
            values: Ok(values.iter().copied().map(Some).collect()),
            uncounted: Vec::new(),
            latencies: None,
            functions: None,
        });
        measured.collect()
    }

    fn finding(group: &str, values: &[(&str, &[f64])]) -> GroupFinding {
        let all = groups(values);
        let measured = all.iter().find(|measured| measured.group.name == group);
        of_group(measured.unwrap(), Some(MEMORY_BOUND), &all)
    }

    fn cause(finding: GroupFinding) -> &'static str {
        match finding {
            GroupFinding::Try(advice) => advice.cause,
            GroupFinding::RuledOut(_) | GroupFinding::Nothing => panic!("{finding:?}"),
        }
    }

    #[test]
    fn every_subject_has_a_readable_sentence() {
        let groups = TABLES.iter().flat_map(|table| table.groups);
        for group in groups.chain(MODELLED.groups) {
            let subject = group.subject;
            assert!(rows().any(|row| row.subject == subject), "{subject:?}");
        }
        let of_groups = rows().map(|row| (row.cause, row.remedy));
        for (cause, remedy) in of_groups.chain(NODES.iter().map(|row| (row.cause, row.remedy))) {
            let text = format!("{cause}: {remedy}.");
            assert!(!text.contains("  ") && !text.contains(". "), "{text}");
        }
        for row in rows() {
            let cost = row.cost;
            assert!(!cost.contains("  ") && !cost.ends_with('.'), "{cost}");
        }
    }

    #[test]
    fn every_named_metric_belongs_to_a_cpu() {
        let groups = TABLES.iter().flat_map(|table| table.groups);
        let metrics = groups.chain(MODELLED.groups).flat_map(|g| g.metrics);
        let known: Vec<&str> = metrics.map(|metric| metric.name).collect();
        let named = rows().filter_map(|row| match row.shown_by {
            SubjectMetric::Named(names) => Some(names),
            SubjectMetric::Misses | SubjectMetric::LargestPart => None,
        });
        let named = named.flatten().chain(&HITS).chain(&WHOLES);
        for name in named {
            assert!(known.contains(name), "{name}");
        }
    }

    /// Returns the finding from counts of a group of a CPU.
    fn finding_of_counts(table: &str, group: &str, counts: &[u64]) -> GroupFinding {
        let mut tables = TABLES.iter().filter(|known| known.name == table);
        let group = tables.next().unwrap().group(group).unwrap();
        let counts = Counts::new(group.events, counts.iter().copied(), 6);
        let values = group
            .metrics
            .iter()
            .map(|metric| metric.value(&counts, None));
        let measured = MeasuredGroup {
            group,
            values: Ok(values.collect()),
            uncounted: Vec::new(),
            latencies: None,
            functions: None,
        };
        of_group(&measured, None, std::slice::from_ref(&measured))
    }

    /// The counts are of a million cycles or instructions.
    #[test]
    fn surprising_costs_have_a_hint_from_their_limit_on() {
        const MILLION: u64 = 1_000_000;
        let golden_cove = |group, counts: &[u64]| finding_of_counts("Golden Cove", group, counts);
        let blocks = |forward, aliased, loads, stores| {
            golden_cove("Load_Blocks", &[MILLION, forward, aliased, loads, stores])
        };
        for (found, hint) in [
            (
                blocks(7_700, 0, 0, 0),
                "Loads wait for a store of only some",
            ),
            (blocks(0, 200_000, 0, 0), "the same address modulo 4096"),
            (blocks(0, 0, 200_000, 0), "touch two cache lines"),
            (blocks(0, 0, 0, 200_000), "touch two cache lines"),
            (
                golden_cove("Locks", &[MILLION, MILLION, 100, 0]),
                "data in two cache lines",
            ),
            (
                golden_cove("Locks", &[MILLION, MILLION, 0, 200_000]),
                "wait for atomic operations",
            ),
            (
                golden_cove("Assists", &[MILLION, 200, 0]),
                "Legacy SSE code",
            ),
            (
                golden_cove("Assists", &[MILLION, 0, 500]),
                "denormal numbers",
            ),
            (
                golden_cove("Machine_Clears", &[MILLION, 0, 500, 500]),
                "Code is written",
            ),
            (
                golden_cove("Machine_Clears", &[MILLION, 0, 500, 0]),
                "pipeline is cleared",
            ),
            (
                finding_of_counts("Skylake … Cascade Lake", "Assists", &[MILLION, 500]),
                "denormal numbers",
            ),
        ] {
            assert!(cause(found).contains(hint), "{hint}: {found:?}");
        }
        assert_eq!(
            blocks(7_600, 190_000, 190_000, 190_000),
            GroupFinding::RuledOut("blocked loads")
        );
        let few_locks = golden_cove("Locks", &[MILLION, MILLION, 90, 190_000]);
        assert_eq!(few_locks, GroupFinding::RuledOut("split locks"));
    }

    #[test]
    fn rare_events_are_ruled_out() {
        let none: &[(&str, &[f64])] = &[
            ("DTLB_Effectiveness", &[0.0]),
            ("L1D_Cache_Effectiveness", &[0.0]),
        ];
        assert_eq!(
            finding("DTLB_Effectiveness", none),
            GroupFinding::RuledOut("data TLB")
        );
        let cache = finding("L1D_Cache_Effectiveness", none);
        assert_eq!(cache, GroupFinding::RuledOut("first-level cache"));
        let unknown = MeasuredGroup {
            group: MODELLED.group("DTLB_Effectiveness").unwrap(),
            values: Ok(vec![None]),
            uncounted: Vec::new(),
            latencies: None,
            functions: None,
        };
        assert_eq!(
            of_group(&unknown, Some(MEMORY_BOUND), &[]),
            GroupFinding::Nothing
        );
    }

    #[test]
    fn advice_names_furthest_relevant_cache() {
        let far: &[(&str, &[f64])] = &[
            ("L1D_Cache_Effectiveness", &[166.0]),
            ("L2_Cache_Effectiveness", &[160.0]),
            ("LL_Cache_Effectiveness", &[150.0, 10.0, 0.0]),
        ];
        assert_eq!(
            finding("L1D_Cache_Effectiveness", far),
            GroupFinding::Nothing
        );
        assert_eq!(
            finding("L2_Cache_Effectiveness", far),
            GroupFinding::Nothing
        );
        let memory = finding("LL_Cache_Effectiveness", far);
        assert_eq!(cause(memory), "Much of the data comes from memory");
        let near: &[(&str, &[f64])] = &[
            ("L1D_Cache_Effectiveness", &[166.0]),
            ("L2_Cache_Effectiveness", &[160.0]),
            ("LL_Cache_Effectiveness", &[2.6, 0.2, 0.0]),
        ];
        let memory = finding("LL_Cache_Effectiveness", near);
        assert_eq!(memory, GroupFinding::RuledOut("memory"));
        assert!(cause(finding("L2_Cache_Effectiveness", near)).contains("second-level"));
    }

    #[test]
    fn streaming_is_not_pointer_chasing_or_page_misses() {
        let stream: &[(&str, &[f64])] = &[
            ("DTLB_Effectiveness", &[1.2]),
            ("L1D_Cache_Effectiveness", &[11.0]),
            ("LL_Cache_Effectiveness", &[0.0, 4.6, 0.0]),
        ];
        let pages = finding("DTLB_Effectiveness", stream);
        assert_eq!(pages, GroupFinding::RuledOut("data TLB"));
        assert_eq!(
            finding("L1D_Cache_Effectiveness", stream),
            GroupFinding::Nothing
        );
        let memory = cause(finding("LL_Cache_Effectiveness", stream));
        assert_eq!(memory, "Much data streams through memory");
    }
}

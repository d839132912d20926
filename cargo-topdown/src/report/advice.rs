//! What the numbers of an explanation say: each sentence has the threshold from which it is true,
//! and the metric that reached it. Only the parts that lose many slots are advised on; what the
//! numbers exclude is ruled out.

use criterion_topdown::category::{Category, Part};
use criterion_topdown::cpu::{Metric, Node, Subject};

use super::number::percent;
use crate::explained::{Explained, MUCH_RETIRING, MeasuredGroup};
use topdown_gate::summary::Shares;

/// A sentence that the numbers bear out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// What is wrong.
    pub cause: &'static str,
    /// What to try.
    pub remedy: &'static str,
    /// The metric that shows it.
    pub metric: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The values for which the sentence is true.
    pub limit: Limit,
}

/// Which values of a metric bear out a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// These and larger ones.
    AtLeast(f64),
    /// These and smaller ones.
    AtMost(f64),
}

impl Limit {
    fn number(self) -> f64 {
        match self {
            Limit::AtLeast(number) | Limit::AtMost(number) => number,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Limit::AtLeast(least) => value >= least,
            Limit::AtMost(most) => value <= most,
        }
    }
}

impl Advice {
    /// Returns the sentence, with the metric and its limit beside the cause.
    pub fn sentence(&self) -> String {
        let (side, number) = match self.limit {
            Limit::AtLeast(least) => ("at least", least),
            Limit::AtMost(most) => ("at most", most),
        };
        let percent = if self.unit.starts_with('%') { " %" } else { "" };
        format!(
            "{} ({} {}{percent}, {side} {number}{percent}): {}.",
            self.cause,
            self.metric,
            in_words(self.unit, Some(self.value)),
            self.remedy
        )
    }
}

/// Formats a metric's value; `-` if its divisor is zero.
pub fn in_words(unit: &str, value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if unit.starts_with('%') => percent(value / 100.0),
        Some(value) if value.abs() >= 99.95 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

/// All that is to be said about an explanation.
#[derive(Debug)]
pub struct Findings {
    /// One entry for each group.
    pub groups: Vec<Option<Advice>>,
    /// What the shares of the explained nodes say.
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
            let said = match measured.group.node_in(explained.category) {
                Some(Node::Part(part)) if lesser == Some(part) => Said::Nothing,
                node => of_group(measured, node, &explained.groups),
            };
            findings.groups.push(match said {
                Said::Try(advice) => Some(advice),
                Said::RuledOut(_) | Said::Nothing => None,
            });
            if let Said::RuledOut(cause) = said
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
            let limit = Limit::AtLeast(row.least_percent);
            if is_said || !limit.holds(share * 100.0) {
                continue;
            }
            match row.rank {
                Rank::First => of_groups.for_each(|(said, _)| *said = None),
                Rank::WithoutCause if of_groups.any(|(said, _)| said.is_some()) => continue,
                Rank::WithoutCause => {}
            }
            let advice = Advice {
                cause: row.cause,
                remedy: row.remedy,
                metric: row.shown_by.name(),
                value: share * 100.0,
                unit: "% of slots",
                limit,
            };
            self.nodes.push((row.node, advice));
        }
    }
}

/// What a group's numbers say.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    /// They bear out this sentence.
    Try(Advice),
    /// They exclude this cause.
    RuledOut(&'static str),
    /// There is nothing to say, or nothing was measured.
    Nothing,
}

/// A sentence about the groups of a subject. The first one that holds is said; if none does, the
/// first one's cause is ruled out.
struct Row {
    subject: Subject,
    /// Only where the group explains this node.
    node: Option<Node>,
    shown_by: ShownBy,
    limit: Limit,
    /// What is ruled out if nothing holds; empty if this metric rules out nothing.
    rules_out: &'static str,
    cause: &'static str,
    remedy: &'static str,
}

/// The metric of a group that a sentence is about.
#[derive(Clone, Copy)]
enum ShownBy {
    /// The first rate per 1000 instructions that counts misses, mispredicts or clears.
    Misses,
    /// The largest of the parts.
    LargestPart,
    /// The one of these names that the CPU has.
    Named(&'static [&'static str]),
}

const PER_1000: &str = "per 1000 instructions";
/// Rates of what a cache supplied, which are misses of the one before it.
const HITS: [&str; 2] = ["l2_load_hits", "fills_from_l3"];
/// Percentages of a group that are no parts, but the whole.
const WHOLES: [&str; 3] = ["backend_bound", "retiring", "nothing_executed"];

/// Metrics of bytes read from memory per instruction.
const READ_BYTES: &[&str] = &["memory_read"];
const LINE_BYTES: f64 = 64.0;

const CORE_BOUND: Node = Node::Part(Part::CoreBound);
const FRONTEND_BOUND: Node = Node::Category(Category::FrontendBound);

/// The rates are those that cost about a tenth of the cycles at one instruction per cycle: some 20
/// cycles for a mispredict, 10 to 15 for what the second level supplies, 30 to 50 for the third
/// level or a page walk that caches serve, and 100 and more for memory, a clear or a far walk. The
/// percentages are the thresholds of Intel's metrics (TMA_Metrics-full.csv 5.2): 10 % of slots for
/// a part, 10 % of cycles for a level of memory, 20 % for the divider and for cycles with one
/// operation.
const ROWS: [Row; 18] = [
    row(
        Subject::Level2,
        ShownBy::LargestPart,
        Limit::AtLeast(10.0),
        "",
        "This is the larger part",
        "look at it first",
    ),
    Row {
        node: Some(FRONTEND_BOUND),
        ..row(
            Subject::Branches,
            ShownBy::Misses,
            Limit::AtLeast(5.0),
            "mispredicts",
            "After each mispredict the frontend starts again",
            "make branches and indirect calls fewer or easier to predict; code that is larger than \
             the predictor's tables is mispredicted too",
        )
    },
    row(
        Subject::Branches,
        ShownBy::Misses,
        Limit::AtLeast(5.0),
        "mispredicts",
        "Branches are mispredicted",
        "sort or group the data, replace branches that depend on data with a table or arithmetic, \
         and give indirect calls fewer targets",
    ),
    row(
        Subject::Clears,
        ShownBy::Misses,
        Limit::AtLeast(0.5),
        "machine clears",
        "The pipeline is cleared",
        "separate what is written from what is read soon after, and avoid cache lines that threads \
         share, and denormal numbers",
    ),
    row(
        Subject::InstructionTlb,
        ShownBy::Misses,
        Limit::AtLeast(0.5),
        "instruction TLB",
        "The code is spread over too many pages",
        "keep hot functions together (profile-guided optimisation, fewer instantiations), or put \
         the code on huge pages",
    ),
    row(
        Subject::InstructionCache,
        ShownBy::Misses,
        Limit::AtLeast(5.0),
        "instruction cache",
        "The hot code is larger than the cache",
        "mark rare paths `#[cold]`, inline less, and instantiate generic code less often",
    ),
    row(
        Subject::DecodedCache,
        ShownBy::Named(&["op_cache_mpki"]),
        Limit::AtLeast(10.0),
        "cache of decoded instructions",
        "Many instructions are decoded again and again",
        "make hot loops smaller and unroll less",
    ),
    row(
        Subject::DecodedCache,
        ShownBy::Named(&["dsb_coverage"]),
        Limit::AtMost(70.0),
        "",
        "Many instructions are decoded again and again",
        "make hot loops smaller and unroll less",
    ),
    row(
        Subject::DataTlb,
        ShownBy::Misses,
        Limit::AtLeast(1.0),
        "data TLB",
        "The data is spread over too many pages",
        "touch fewer of them per iteration, order accesses by address, or use huge pages",
    ),
    row(
        Subject::DataCache,
        ShownBy::Misses,
        Limit::AtLeast(10.0),
        "first-level cache",
        "The data of an iteration does not fit into the first-level cache",
        "make it denser (smaller types, arrays of fields), and work on blocks that fit",
    ),
    row(
        Subject::L2Cache,
        ShownBy::Misses,
        Limit::AtLeast(5.0),
        "second-level cache",
        "Many accesses go beyond the second-level cache",
        "block the work to fit it, and access memory in an order that the prefetchers follow",
    ),
    row(
        Subject::LastLevelCache,
        ShownBy::Misses,
        Limit::AtLeast(1.0),
        "memory",
        "Much of the data comes from memory",
        "read less of it, make dependent loads independent (batches in place of chains), and \
         prefetch what is known early",
    ),
    row(
        Subject::LastLevelCache,
        ShownBy::Named(READ_BYTES),
        Limit::AtLeast(1.0),
        "",
        "Much is streamed through memory",
        "read and write less of it (smaller types, several steps in one pass), since the \
         prefetchers follow already",
    ),
    row(
        Subject::Stalls,
        ShownBy::LargestPart,
        Limit::AtLeast(10.0),
        "",
        "This is the largest part",
        "look at it first",
    ),
    row(
        Subject::OperationMix,
        ShownBy::Named(&["divider_busy", "divider"]),
        Limit::AtLeast(20.0),
        "divider",
        "The divider is busy",
        "divide less: multiply by a reciprocal, shift, or divide by constants",
    ),
    Row {
        node: Some(CORE_BOUND),
        ..row(
            Subject::OperationMix,
            ShownBy::Named(&["one_port"]),
            Limit::AtLeast(20.0),
            "",
            WAITING,
            INDEPENDENT,
        )
    },
    Row {
        node: Some(CORE_BOUND),
        ..row(
            Subject::OperationMix,
            ShownBy::Named(&["ipc"]),
            Limit::AtMost(2.0),
            "",
            WAITING,
            INDEPENDENT,
        )
    },
    Row {
        node: Some(CORE_BOUND),
        ..row(
            Subject::OperationMix,
            ShownBy::Named(&["ipc"]),
            Limit::AtLeast(2.0),
            "",
            "Many operations per cycle want the same units",
            "use fewer or wider ones (vectors), and check that no chain of additions or loads runs \
             through the loop",
        )
    },
];

const WAITING: &str = "Operations wait for the results of others";
const INDEPENDENT: &str = "break chains of dependent operations (independent accumulators), and replace divisions and \
     square roots";

const fn row(
    subject: Subject,
    shown_by: ShownBy,
    limit: Limit,
    rules_out: &'static str,
    cause: &'static str,
    remedy: &'static str,
) -> Row {
    Row {
        subject,
        node: None,
        shown_by,
        limit,
        rules_out,
        cause,
        remedy,
    }
}

/// A sentence about the slots of a node.
struct NodeRow {
    node: Node,
    /// The node whose share shows it.
    shown_by: Node,
    /// The least share that does, in percent.
    least_percent: f64,
    rank: Rank,
    cause: &'static str,
    remedy: &'static str,
}

/// When a sentence about slots is said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// In place of what the groups say: it is what their numbers mean.
    First,
    /// If no group found a cause.
    WithoutCause,
}

const HEAVY_CAUSE: &str = "Some instructions take many operations each";
const HEAVY_REMEDY: &str = "look for division, copies and fills (`rep movs`, `rep stos`) and \
     denormal numbers; many small copies cost more than a few large ones";

/// The shares are the thresholds of Intel's metrics (TMA_Metrics-full.csv 5.2), where
/// `tma_memory_bound` and `tma_fetch_bandwidth` have 20 %, and the other parts of losses and heavy
/// operations 10 %.
const NODES: [NodeRow; 7] = [
    NodeRow {
        node: Node::Category(Category::Retiring),
        shown_by: Node::Part(Part::HeavyOperations),
        least_percent: 10.0,
        rank: Rank::First,
        cause: HEAVY_CAUSE,
        remedy: HEAVY_REMEDY,
    },
    NodeRow {
        node: Node::Category(Category::Retiring),
        shown_by: Node::Category(Category::Retiring),
        least_percent: 100.0 * MUCH_RETIRING,
        rank: Rank::WithoutCause,
        cause: "The core is busy with the work itself",
        remedy: "do less of it: a better algorithm, vectors, no copies, no checks in the loop",
    },
    NodeRow {
        node: CORE_BOUND,
        shown_by: Node::Part(Part::HeavyOperations),
        least_percent: 10.0,
        rank: Rank::First,
        cause: HEAVY_CAUSE,
        remedy: HEAVY_REMEDY,
    },
    NodeRow {
        node: CORE_BOUND,
        shown_by: CORE_BOUND,
        least_percent: 10.0,
        rank: Rank::WithoutCause,
        cause: "Operations wait for the results of others or for a busy unit",
        remedy: INDEPENDENT,
    },
    NodeRow {
        node: Node::Part(Part::MemoryBound),
        shown_by: Node::Part(Part::MemoryBound),
        least_percent: 20.0,
        rank: Rank::WithoutCause,
        cause: "Memory is waited for although few accesses miss",
        remedy: "write less or reuse what was written (stores drain slowly), and break chains in \
                 which each load needs the one before",
    },
    NodeRow {
        node: Node::Part(Part::FetchLatency),
        shown_by: Node::Part(Part::FetchLatency),
        least_percent: 10.0,
        rank: Rank::WithoutCause,
        cause: "The frontend pauses although few fetches miss",
        remedy: "take fewer branches: inline small functions, avoid deep recursion, and let the \
                 usual path fall through",
    },
    NodeRow {
        node: Node::Part(Part::FetchBandwidth),
        shown_by: Node::Part(Part::FetchBandwidth),
        least_percent: 20.0,
        rank: Rank::WithoutCause,
        cause: "The frontend delivers too little at a time",
        remedy: "make hot loops smaller, and take fewer branches",
    },
];

/// Returns how many misses of a subject per 1000 cycles cost about a tenth of the cycles, and what
/// is ruled out if there are far fewer.
pub fn costly_rate(subject: Subject) -> Option<(f64, &'static str)> {
    let is_about = |row: &&Row| row.subject == subject && matches!(row.shown_by, ShownBy::Misses);
    let row = ROWS.iter().find(is_about)?;
    Some((row.limit.number(), row.rules_out))
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

fn of_group(measured: &MeasuredGroup, node: Option<Node>, all: &[MeasuredGroup]) -> Said {
    let subject = measured.group.subject;
    let is_first = |row: &&Row| row.subject == subject && row.node.is_none_or(|n| Some(n) == node);
    let mut rules_out = "";
    for row in ROWS.iter().filter(is_first) {
        let Some((metric, value)) = shown(measured, row.shown_by) else {
            continue;
        };
        if rules_out.is_empty() {
            rules_out = row.rules_out;
        }
        if !row.limit.holds(value) {
            continue;
        }
        if matches!(row.shown_by, ShownBy::Misses) {
            match served(measured, value, all) {
                Served::Here => {}
                Served::Further => return Said::Nothing,
                Served::Before => return Said::RuledOut(row.rules_out),
            }
        }
        return Said::Try(Advice {
            cause: row.cause,
            remedy: row.remedy,
            metric: metric.name,
            value,
            unit: metric.unit,
            limit: row.limit,
        });
    }
    match rules_out {
        "" => Said::Nothing,
        cause => Said::RuledOut(cause),
    }
}

/// Returns the metric that a sentence is about, and its value.
fn shown(measured: &MeasuredGroup, by: ShownBy) -> Option<(&'static Metric, f64)> {
    let known = measured.metrics();
    let mut known = known.filter_map(|(metric, value)| Some((metric, value?)));
    match by {
        ShownBy::Misses => {
            known.find(|(metric, _)| metric.unit == PER_1000 && !HITS.contains(&metric.name))
        }
        ShownBy::Named(names) => known.find(|(metric, _)| names.contains(&metric.name)),
        ShownBy::LargestPart => known
            .filter(|(metric, _)| metric.unit.starts_with('%') && !WHOLES.contains(&metric.name))
            .max_by(|(_, a), (_, b)| a.total_cmp(b)),
    }
}

/// Where the misses of a cache are served, compared with those of the other levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// Mostly by the next level: this is the level to look at.
    Here,
    /// So many go on that a level further away costs more.
    Further,
    /// Nearly all that miss before this level are served by it.
    Before,
}

/// A level is the one to look at from this fraction of the misses of the level before it: an access
/// to it takes about ten times as long. Walks for fewer misses than that are those of accesses in
/// sequence, of which one in 64 begins a page.
const GOES_ON: f64 = 0.1;

fn served(measured: &MeasuredGroup, rate: f64, all: &[MeasuredGroup]) -> Served {
    let subject = measured.group.subject;
    let is_before = |other: &&MeasuredGroup| comes_before(other.group.subject, subject);
    let mut before = all.iter().filter(is_before);
    if before.any(|other| rate < GOES_ON * rate_of(other)) {
        return Served::Before;
    }
    let is_cause = |other: &MeasuredGroup| {
        let mut rows = ROWS.iter().filter(|row| row.subject == other.group.subject);
        rows.any(|row| {
            let value = shown(other, row.shown_by).filter(|(_, value)| row.limit.holds(*value));
            let least = match row.shown_by {
                ShownBy::Misses => GOES_ON * rate,
                ShownBy::Named(_) | ShownBy::LargestPart => 0.0,
            };
            value.is_some_and(|(_, value)| value >= least)
        })
    };
    let beyond = |other: &&MeasuredGroup| {
        level_of(subject).is_some() && level_of(other.group.subject) > level_of(subject)
    };
    if all.iter().filter(beyond).any(is_cause) {
        Served::Further
    } else {
        Served::Here
    }
}

/// Returns how many lines per 1000 instructions the cache did not have. What a prefetcher fetched in
/// time did not miss; memory was read for it all the same.
fn rate_of(measured: &MeasuredGroup) -> f64 {
    let value = |by| shown(measured, by).map_or(0.0, |(_, value)| value);
    let fetched = 1000.0 * value(ShownBy::Named(READ_BYTES)) / LINE_BYTES;
    value(ShownBy::Misses).max(fetched)
}

/// Returns whether what misses in `first` may also miss in `second`.
fn comes_before(first: Subject, second: Subject) -> bool {
    match (first, second) {
        (Subject::DataCache | Subject::LastLevelCache, Subject::DataTlb) => true,
        (Subject::InstructionCache, Subject::InstructionTlb) => true,
        _ => level_of(first).is_some() && level_of(first) < level_of(second),
    }
}

/// Returns how far a cache is from the core.
fn level_of(subject: Subject) -> Option<u32> {
    match subject {
        Subject::DataCache | Subject::InstructionCache => Some(1),
        Subject::L2Cache => Some(2),
        Subject::LastLevelCache => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::cpu::{MODELLED, TABLES};

    const MEMORY_BOUND: Node = Node::Part(Part::MemoryBound);

    /// Groups of the model with these values, as of an explanation.
    fn groups(values: &[(&str, &[f64])]) -> Vec<MeasuredGroup> {
        let measured = values.iter().map(|(name, values)| MeasuredGroup {
            group: MODELLED.group(name).unwrap(),
            values: Ok(values.iter().copied().map(Some).collect()),
            uncounted: Vec::new(),
        });
        measured.collect()
    }

    fn said(of: &str, values: &[(&str, &[f64])]) -> Said {
        let all = groups(values);
        let measured = all.iter().find(|measured| measured.group.name == of);
        of_group(measured.unwrap(), Some(MEMORY_BOUND), &all)
    }

    fn cause(said: Said) -> &'static str {
        match said {
            Said::Try(advice) => advice.cause,
            Said::RuledOut(_) | Said::Nothing => panic!("{said:?}"),
        }
    }

    #[test]
    fn every_subject_has_a_sentence_and_every_sentence_reads_as_one() {
        for group in TABLES.iter().flat_map(|table| table.groups) {
            let subject = group.subject;
            assert!(ROWS.iter().any(|row| row.subject == subject), "{subject:?}");
        }
        let rows = ROWS.iter().map(|row| (row.cause, row.remedy));
        for (cause, remedy) in rows.chain(NODES.iter().map(|row| (row.cause, row.remedy))) {
            let text = format!("{cause}: {remedy}.");
            assert!(!text.contains("  ") && !text.contains(". "), "{text}");
        }
    }

    #[test]
    fn every_named_metric_is_one_of_a_cpu() {
        let groups = TABLES.iter().flat_map(|table| table.groups);
        let metrics = groups.chain(MODELLED.groups).flat_map(|g| g.metrics);
        let known: Vec<&str> = metrics.map(|metric| metric.name).collect();
        let named = ROWS.iter().filter_map(|row| match row.shown_by {
            ShownBy::Named(names) => Some(names),
            ShownBy::Misses | ShownBy::LargestPart => None,
        });
        let named = named.flatten().chain(&HITS).chain(&WHOLES);
        for name in named {
            assert!(known.contains(name), "{name}");
        }
    }

    #[test]
    fn what_nearly_never_happens_is_ruled_out() {
        let none: &[(&str, &[f64])] = &[
            ("DTLB_Effectiveness", &[0.0]),
            ("L1D_Cache_Effectiveness", &[0.0]),
        ];
        assert_eq!(said("DTLB_Effectiveness", none), Said::RuledOut("data TLB"));
        let cache = said("L1D_Cache_Effectiveness", none);
        assert_eq!(cache, Said::RuledOut("first-level cache"));
        let unknown = MeasuredGroup {
            group: MODELLED.group("DTLB_Effectiveness").unwrap(),
            values: Ok(vec![None]),
            uncounted: Vec::new(),
        };
        assert_eq!(of_group(&unknown, Some(MEMORY_BOUND), &[]), Said::Nothing);
    }

    #[test]
    fn of_the_caches_the_furthest_that_matters_is_advised_on() {
        let far: &[(&str, &[f64])] = &[
            ("L1D_Cache_Effectiveness", &[166.0]),
            ("L2_Cache_Effectiveness", &[160.0]),
            ("LL_Cache_Effectiveness", &[150.0, 10.0, 0.0]),
        ];
        assert_eq!(said("L1D_Cache_Effectiveness", far), Said::Nothing);
        assert_eq!(said("L2_Cache_Effectiveness", far), Said::Nothing);
        let memory = said("LL_Cache_Effectiveness", far);
        assert_eq!(cause(memory), "Much of the data comes from memory");
        let near: &[(&str, &[f64])] = &[
            ("L1D_Cache_Effectiveness", &[166.0]),
            ("L2_Cache_Effectiveness", &[160.0]),
            ("LL_Cache_Effectiveness", &[2.6, 0.2, 0.0]),
        ];
        let memory = said("LL_Cache_Effectiveness", near);
        assert_eq!(memory, Said::RuledOut("memory"));
        assert!(cause(said("L2_Cache_Effectiveness", near)).contains("second-level"));
    }

    #[test]
    fn what_streams_through_memory_neither_chases_it_nor_visits_too_many_pages() {
        let stream: &[(&str, &[f64])] = &[
            ("DTLB_Effectiveness", &[1.2]),
            ("L1D_Cache_Effectiveness", &[11.0]),
            ("LL_Cache_Effectiveness", &[0.0, 4.6, 0.0]),
        ];
        let pages = said("DTLB_Effectiveness", stream);
        assert_eq!(pages, Said::RuledOut("data TLB"));
        assert_eq!(said("L1D_Cache_Effectiveness", stream), Said::Nothing);
        let memory = cause(said("LL_Cache_Effectiveness", stream));
        assert_eq!(memory, "Much is streamed through memory");
    }
}

//! Attributes a benchmark's slots to call paths.
//!
//! The bench process reports the calls that led to each block. They become a tree of functions,
//! inlined ones included where there is debug information.

use std::collections::{BTreeMap, HashMap};

use topdown_gate::statistics::launch::{Taken, kept_for_slots};
use topdown_run::code::{CodeCounts, CodeSlots};
use topdown_run::run_file::{CallPath, CallPaths, CalledFunction, IterationSample, SourceLine};

use super::slots::limited;
use super::symbols::{CodeFrame, Symbols};

/// Maximum number of paths of a benchmark.
const MAX_PATHS: usize = 1000;

/// Minimum fraction of the slots of a path with all that it calls.
const MIN_FRACTION: f64 = 0.0005;

/// A function that was reached through its callers.
#[derive(Clone, Debug)]
struct Node {
    caller: Option<usize>,
    function: CalledFunction,
    called_at: Option<SourceLine>,
}

/// The cost of each call path in each sample of one launch.
#[derive(Clone, Debug, Default)]
pub struct SamplePaths {
    /// Callers first.
    nodes: Vec<Node>,
    /// For each sample, pairs of an index into `nodes` and its counts.
    samples: Vec<Vec<(usize, CodeCounts)>>,
    /// The lines of the workspace that call code outside of it.
    callers: Vec<CallingLine>,
    /// For each sample, pairs of an index into `callers` and the counts of what it calls.
    called: Vec<Vec<(usize, CodeCounts)>>,
}

/// A line of the workspace that calls code outside of it, and the function that contains it.
pub type CallingLine = (CalledFunction, SourceLine);

/// Cost of code outside of the workspace, by the line that called it.
#[derive(Clone, Debug, Default)]
pub struct CalledByLine {
    /// The iterations that took it.
    pub iterations: u64,
    /// The cost of each line's calls, also through other code outside of the workspace.
    pub lines: BTreeMap<CallingLine, CodeCounts>,
}

/// Calls that were followed, by caller, function and line of the call.
#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    index_of: HashMap<(Option<usize>, CalledFunction, Option<SourceLine>), usize>,
}

/// Where a call is: the function that contains it, and its line.
#[derive(Clone, Default)]
struct Site {
    node: Option<usize>,
    line: Option<SourceLine>,
}

impl Tree {
    /// Goes on from a call through the frames of the code that was called.
    fn descend(&mut self, from: &Site, frames: &[CodeFrame], module: &Option<String>) -> Site {
        let mut site = from.clone();
        for frame in frames {
            let function = CalledFunction {
                name: frame.name.as_deref().map(limited),
                module: module.clone(),
            };
            let key = (site.node, function.clone(), site.line.clone());
            let node = *self.index_of.entry(key).or_insert_with(|| {
                self.nodes.push(Node {
                    caller: site.node,
                    function,
                    called_at: site.line.clone(),
                });
                self.nodes.len() - 1
            });
            site = Site {
                node: Some(node),
                line: frame.line.clone(),
            };
        }
        site
    }

    /// Returns the innermost line of the workspace on the path to a call.
    fn calling_line(&self, site: &Site) -> Option<CallingLine> {
        let (mut node, mut line) = (site.node, &site.line);
        loop {
            let at = &self.nodes[node?];
            match line {
                Some(line) if line.in_workspace => {
                    return Some((at.function.clone(), line.clone()));
                }
                _ => (node, line) = (at.caller, &at.called_at),
            }
        }
    }
}

/// Attributes the samples of `code` to call paths; `None` if the bench did not follow calls.
pub fn attribute_paths(code: &CodeSlots, symbols: &mut Symbols) -> Option<SamplePaths> {
    if code.calls.is_empty() {
        return None;
    }
    let mut tree = Tree::default();
    let mut known: HashMap<(u32, u64, Option<u32>), Vec<CodeFrame>> = HashMap::new();
    let mut frames = |symbols: &mut Symbols, module: u32, offset: u64, bytes: Option<u32>| {
        let frames = known.entry((module, offset, bytes)).or_insert_with(|| {
            let module = &code.modules[module as usize];
            symbols.frames_of(module, offset, bytes)
        });
        frames.clone()
    };
    let mut sites = vec![Site::default()];
    for call in &code.calls {
        let module = symbols.label_of(&code.modules[call.module as usize]);
        let frames = frames(symbols, call.module, call.offset, None);
        let from = sites[call.caller as usize].clone();
        sites.push(tree.descend(&from, &frames, &module));
    }
    let mut callers = Vec::new();
    let mut caller_of_block = vec![None; code.blocks.len()];
    let node_of_block: Vec<usize> = code
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| {
            let module = symbols.label_of(&code.modules[block.module as usize]);
            let frames = frames(symbols, block.module, block.offset, Some(block.bytes));
            let mut lines = frames.iter().filter_map(|frame| frame.line.as_ref());
            if !lines.any(|line| line.in_workspace) {
                let line = tree.calling_line(&sites[block.call as usize]);
                caller_of_block[index] = line.map(|line| index_in(&mut callers, line));
            }
            let site = tree.descend(&sites[block.call as usize], &frames, &module);
            site.node.expect("code has at least one frame")
        })
        .collect();
    let node_of_block = |block: usize| Some(node_of_block[block]);
    Some(SamplePaths {
        samples: sums_of(code, tree.nodes.len(), node_of_block),
        called: sums_of(code, callers.len(), |block| caller_of_block[block]),
        nodes: tree.nodes,
        callers,
    })
}

/// Returns the index of `line`, which is added if it is missing.
fn index_in(lines: &mut Vec<CallingLine>, line: CallingLine) -> usize {
    let known = lines.iter().position(|known| *known == line);
    known.unwrap_or_else(|| {
        lines.push(line);
        lines.len() - 1
    })
}

/// Sums up the counts of each sample's blocks into `count` parts, and leaves out empty ones.
fn sums_of(
    code: &CodeSlots,
    count: usize,
    part_of_block: impl Fn(usize) -> Option<usize>,
) -> Vec<Vec<(usize, CodeCounts)>> {
    let samples = code.samples.iter().map(|costs| {
        let mut sums = vec![CodeCounts::default(); count];
        for (block, counts) in costs {
            if let Some(part) = part_of_block(*block as usize) {
                sums[part] += *counts;
            }
        }
        let sums = sums.into_iter().enumerate();
        sums.filter(|(_, counts)| *counts != CodeCounts::default())
            .collect()
    });
    samples.collect()
}

/// Sums up the cost of code outside of the workspace, given each launch's samples and their cost by
/// path. Only the samples that make up the launch values count.
///
/// Returns `None` if a launch does not know its paths.
pub fn called_by_line(
    launches: &[(&[IterationSample], Option<&SamplePaths>)],
    taken: Taken,
) -> Option<CalledByLine> {
    let mut all = CalledByLine::default();
    for (samples, paths) in launches {
        let paths = (*paths)?;
        for index in kept_for_slots(samples, taken).unwrap_or_default() {
            all.iterations = all.iterations.saturating_add(samples[index].iterations);
            for (caller, counts) in paths.called.get(index)? {
                let line = paths.callers[*caller].clone();
                *all.lines.entry(line).or_default() += *counts;
            }
        }
    }
    (all.iterations > 0).then_some(all)
}

/// A path of all launches.
#[derive(Default)]
struct MergedPath {
    caller: Option<usize>,
    function: CalledFunction,
    counts: CodeCounts,
    /// The slots by line of the call, with those of the functions called.
    lines: Vec<(Option<SourceLine>, u64)>,
}

/// Sums up the call paths of a benchmark, given each launch's samples and their cost by path. Only
/// the samples that make up the launch values count.
///
/// Returns `None` if a launch does not know its paths, or if their slots differ from the samples'.
pub fn call_paths_of(
    launches: &[(&[IterationSample], Option<&SamplePaths>)],
    taken: Taken,
) -> Option<CallPaths> {
    let mut iterations = 0_u64;
    let mut all: Vec<MergedPath> = Vec::new();
    let mut index_of: HashMap<(Option<usize>, &CalledFunction), usize> = HashMap::new();
    for (samples, paths) in launches {
        let paths = (*paths)?;
        let mut own = vec![CodeCounts::default(); paths.nodes.len()];
        for index in kept_for_slots(samples, taken).unwrap_or_default() {
            let (sample, costs) = (&samples[index], paths.samples.get(index)?);
            let slots = costs.iter().map(|(_, counts)| counts.slots());
            if sample.sample.slots != Some(slots.fold(0, u64::saturating_add)) {
                return None;
            }
            iterations = iterations.saturating_add(sample.iterations);
            for (node, counts) in costs {
                own[*node] += *counts;
            }
        }
        let mut totals: Vec<u64> = own.iter().map(CodeCounts::slots).collect();
        for (index, node) in paths.nodes.iter().enumerate().rev() {
            if let Some(caller) = node.caller {
                totals[caller] = totals[caller].saturating_add(totals[index]);
            }
        }
        let mut merged: Vec<usize> = Vec::with_capacity(paths.nodes.len());
        for (index, node) in paths.nodes.iter().enumerate() {
            let caller = node.caller.map(|caller| merged[caller]);
            let key = *index_of.entry((caller, &node.function)).or_insert_with(|| {
                all.push(MergedPath {
                    caller,
                    function: node.function.clone(),
                    ..MergedPath::default()
                });
                all.len() - 1
            });
            all[key].counts += own[index];
            all[key].lines.push((node.called_at.clone(), totals[index]));
            merged.push(key);
        }
    }
    (iterations > 0).then(|| pruned(iterations, all))
}

/// Keeps the largest paths, and counts the others with their callers.
fn pruned(iterations: u64, mut all: Vec<MergedPath>) -> CallPaths {
    let mut totals: Vec<u64> = all.iter().map(|path| path.counts.slots()).collect();
    for index in (0..all.len()).rev() {
        if let Some(caller) = all[index].caller {
            totals[caller] = totals[caller].saturating_add(totals[index]);
        }
    }
    let whole: u64 = all
        .iter()
        .map(|path| path.counts.slots())
        .fold(0, u64::saturating_add);
    // A caller has no fewer slots than what it calls and a smaller index, so it comes first.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| totals[*b].cmp(&totals[*a]).then(a.cmp(b)));
    let mut is_kept = vec![false; all.len()];
    for &index in order.iter().take(MAX_PATHS) {
        let is_outermost = all[index].caller.is_none();
        is_kept[index] = is_outermost || totals[index] as f64 >= whole as f64 * MIN_FRACTION;
    }
    for index in (0..all.len()).rev() {
        match all[index].caller {
            Some(caller) if !is_kept[index] => {
                let counts = std::mem::take(&mut all[index].counts);
                all[caller].counts += counts;
            }
            // It has no caller to count it with.
            None => is_kept[index] = true,
            Some(_) => {}
        }
    }
    let mut paths = CallPaths {
        iterations,
        functions: Vec::new(),
        paths: Vec::new(),
    };
    let mut function_of: HashMap<CalledFunction, u32> = HashMap::new();
    let mut locate: Vec<Option<u32>> = vec![None; all.len()];
    for (index, path) in all.into_iter().enumerate() {
        if !is_kept[index] {
            continue;
        }
        let function = *function_of
            .entry(path.function)
            .or_insert_with_key(|function| {
                paths.functions.push(function.clone());
                paths.functions.len() as u32 - 1
            });
        locate[index] = Some(paths.paths.len() as u32);
        paths.paths.push(CallPath {
            caller: path.caller.and_then(|caller| locate[caller]),
            function,
            called_at: most(path.lines),
            counts: path.counts,
        });
    }
    paths
}

/// Returns the line with the most slots, the first on a tie.
fn most(lines: Vec<(Option<SourceLine>, u64)>) -> Option<SourceLine> {
    let mut sums: Vec<(Option<SourceLine>, u64)> = Vec::new();
    for (line, slots) in lines {
        match sums.iter_mut().find(|(known, _)| *known == line) {
            Some((_, sum)) => *sum = sum.saturating_add(slots),
            None => sums.push((line, slots)),
        }
    }
    let most = sums.into_iter().rev().max_by_key(|(_, slots)| *slots);
    most.and_then(|(line, _)| line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::sample::Sample;

    fn counts(slots: u64) -> CodeCounts {
        CodeCounts::from([slots, slots, 0, 0, 0, 0, 0, 0, 0])
    }

    fn line(line: u32) -> Option<SourceLine> {
        Some(SourceLine {
            file: "src/lib.rs".to_owned(),
            line,
            in_workspace: true,
        })
    }

    fn frame(name: &str, at: u32) -> CodeFrame {
        CodeFrame {
            name: Some(name.to_owned()),
            line: line(at),
        }
    }

    /// A loop that calls `scan` at two lines, and there `copy` once.
    fn tree(small: u64) -> SamplePaths {
        let mut tree = Tree::default();
        let root = tree.descend(&Site::default(), &[frame("loop", 10)], &None);
        let scan = tree.descend(&root, &[frame("scan", 20)], &None);
        let other = Site {
            line: line(11),
            ..root.clone()
        };
        let scan_again = tree.descend(&other, &[frame("scan", 21)], &None);
        let copy = tree.descend(&scan_again, &[frame("copy", 30)], &None);
        let costs = [(root, 100), (scan, 200), (scan_again, 300), (copy, small)];
        let costs = costs.map(|(site, slots)| (site.node.unwrap(), counts(slots)));
        SamplePaths {
            nodes: tree.nodes,
            samples: vec![costs.to_vec(); 8],
            ..SamplePaths::default()
        }
    }

    #[test]
    fn calling_line_is_innermost_of_workspace() {
        let mut tree = Tree::default();
        let outside = |name: &str| CodeFrame {
            line: line(7).map(|line| SourceLine {
                in_workspace: false,
                ..line
            }),
            ..frame(name, 7)
        };
        let run = tree.descend(&Site::default(), &[outside("run")], &None);
        assert_eq!(tree.calling_line(&run), None);
        let scan = tree.descend(&run, &[frame("scan", 20), outside("push")], &None);
        let grow = tree.descend(&scan, &[outside("grow")], &None);
        for site in [&scan, &grow] {
            let (function, line) = tree.calling_line(site).unwrap();
            assert_eq!((function.name.as_deref(), line.line), (Some("scan"), 20));
        }
    }

    #[test]
    fn called_slots_are_those_of_kept_samples() {
        let caller = (CalledFunction::default(), line(20).unwrap());
        let paths = SamplePaths {
            callers: vec![caller.clone()],
            called: vec![vec![(0, counts(70))]; 8],
            ..tree(400)
        };
        let samples = samples(1000);
        let launches = [(&*samples, Some(&paths)), (&*samples, Some(&paths))];
        let called = called_by_line(&launches, Taken::OnTheMachine).unwrap();
        assert_eq!(called.lines[&caller].slots(), 70 * called.iterations);
        let unknown = [(&*samples, Some(&paths)), (&*samples, None)];
        assert!(called_by_line(&unknown, Taken::OnTheMachine).is_none());
    }

    fn samples(slots: u64) -> Vec<IterationSample> {
        let sample = IterationSample {
            iterations: 1,
            sample: Sample {
                slots: Some(slots),
                ..Sample::EMPTY
            },
        };
        vec![sample; 8]
    }

    #[test]
    fn paths_have_all_slots_and_hottest_line() {
        let (tree, samples) = (tree(400), samples(1000));
        let launches = [(&*samples, Some(&tree)), (&*samples, Some(&tree))];
        let paths = call_paths_of(&launches, Taken::OnTheMachine).unwrap();
        let of_sample = paths.iterations;
        assert_eq!(paths.total().slots(), 1000 * of_sample);
        let reported: Vec<_> = paths
            .paths
            .iter()
            .map(|path| {
                let name = paths.function_of(path).name.clone().unwrap();
                let line = path.called_at.as_ref().map(|at| at.line);
                (path.caller, name, line, path.counts.slots() / of_sample)
            })
            .collect();
        let expected = [
            (None, "loop", None, 100),
            (Some(0), "scan", Some(11), 500),
            (Some(1), "copy", Some(21), 400),
        ];
        assert_eq!(
            reported,
            expected.map(|(c, n, l, s)| (c, n.to_owned(), l, s))
        );
        let totals = paths.totals();
        assert_eq!(totals[0].slots(), paths.total().slots());
        assert_eq!(totals[1].slots(), 900 * of_sample);
    }

    #[test]
    fn small_paths_merge_into_callers() {
        let (tree, samples) = (tree(0), samples(600));
        let paths = call_paths_of(&[(&samples, Some(&tree))], Taken::OnTheMachine).unwrap();
        assert_eq!(paths.paths.len(), 2);
        assert_eq!(paths.total().slots(), 600 * paths.iterations);
    }

    #[test]
    fn paths_with_other_slot_total_are_dropped() {
        let (tree, samples) = (tree(400), samples(999));
        let taken = Taken::OnTheMachine;
        assert_eq!(call_paths_of(&[(&samples, Some(&tree))], taken), None);
        assert_eq!(call_paths_of(&[(&samples, None)], taken), None);
    }
}

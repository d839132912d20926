//! Finds where two launches of a benchmark on the model begin to execute different instructions.
//!
//! Each launch leaves hashes of its [`Trail`]. If those of two launches differ, further launches
//! record the blocks of the interval in which they do, and two of these are compared.

use std::fmt;
use std::ops::Range;

use topdown_run::code::{CodeBlock, Trail};
use topdown_run::environment::STRETCHES;
use topdown_run::run_file::BenchmarkId;

use crate::functions::{CodeLocation, Symbols};
use crate::gathering::collect::Collected;
use crate::launching::trail::LaunchTrail;
use crate::targets::bench_targets::BenchTarget;
use topdown_terminal::count_of;

/// The first difference between two launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// They execute the same instructions.
    OnlyData,
    /// They diverge at a known location.
    At {
        /// Number of common blocks.
        after_blocks: u64,
        /// The last common location.
        behind: CodeLocation,
        /// They continue here; `None` where one ends.
        at: Box<[Option<CodeLocation>; 2]>,
    },
    /// They diverge, but further launches did not show where.
    Somewhere,
}

impl Divergence {
    /// Completes "launches of … differ: " in a few words.
    fn in_short(&self) -> String {
        match self {
            Divergence::OnlyData => "the same instructions, on data elsewhere".to_owned(),
            Divergence::At { behind, .. } => format!("behind {}", behind.in_short()),
            Divergence::Somewhere => "other instructions".to_owned(),
        }
    }
}

impl fmt::Display for Divergence {
    /// Completes "launches of … differ: ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Divergence::OnlyData => {
                f.write_str("they execute the same instructions, on data at different addresses")
            }
            Divergence::At {
                after_blocks,
                behind,
                at,
            } => {
                let [one, other] = at.each_ref().map(|at| match at {
                    Some(place) => place.to_string(),
                    None => "the end".to_owned(),
                });
                write!(
                    f,
                    "they diverge after {after_blocks} blocks of instructions, behind {behind}: \
                     one continues at {one}, another at {other}"
                )
            }
            Divergence::Somewhere => f.write_str("they execute different instructions"),
        }
    }
}

/// Returns a line or two on each benchmark whose launches differ; `None` if none do.
pub fn note(divergences: &[(&BenchmarkId, Divergence)]) -> Option<String> {
    const MAX_REPORTED: usize = 10;
    let lines = divergences.iter().take(MAX_REPORTED);
    let mut lines: Vec<String> = lines
        .map(|(id, divergence)| format!("  `{}`: {}", id.name, divergence.in_short()))
        .collect();
    if let more @ 1.. = divergences.len().saturating_sub(MAX_REPORTED) {
        lines.push(format!("  and {more} more"));
    }
    (!divergences.is_empty()).then(|| {
        format!(
            "note: modelled launches of {} differ (`cargo topdown explain` has it in full):\n{}",
            count_of(divergences.len(), "benchmark"),
            lines.join("\n")
        )
    })
}

/// Returns the first interval of blocks in which two trails differ; `None` if they are equal.
fn first_difference(a: &Trail, b: &Trail) -> Option<Range<u64>> {
    if (a.hash, a.blocks) == (b.hash, b.blocks) {
        return None;
    }
    let every = a.every_blocks.max(b.every_blocks);
    let hash = |trail: &Trail, number: u64| {
        let index = (number + 1) * (every / trail.every_blocks) - 1;
        trail.hashes.get(usize::try_from(index).ok()?).copied()
    };
    let number = (0..)
        .find(|&number| hash(a, number).is_none() || hash(a, number) != hash(b, number))
        .unwrap_or_default();
    Some(number.saturating_mul(every)..(number + 1).saturating_mul(every))
}

/// Returns the targets with a request to record the intervals in which these benchmarks' launches
/// first differ.
pub fn with_stretches(
    targets: &[BenchTarget],
    differing: &[BenchmarkId],
    seen: &Collected,
) -> Vec<BenchTarget> {
    let with_stretches = |target: &BenchTarget| {
        let of_target = differing.iter().filter(|id| target.has(id));
        let stretches: Vec<String> = of_target
            .filter_map(|id| {
                let [one, other] = two(seen, id)?;
                let stretch = first_difference(&one.trail, &other.trail)?;
                let Trail { number, .. } = one.trail;
                Some(format!("{number}:{}:{}", stretch.start, stretch.end))
            })
            .collect();
        let mut target = target.clone();
        target
            .environment
            .insert(STRETCHES.to_owned(), stretches.join(",").into());
        target
    };
    targets.iter().map(with_stretches).collect()
}

/// Returns how the launches of these benchmarks differ, from the first launches and the recording
/// ones.
pub fn divergences<'a>(
    targets: &[BenchTarget],
    differing: &'a [BenchmarkId],
    seen: &Collected,
    with_stretches: &Collected,
) -> Vec<(&'a BenchmarkId, Divergence)> {
    let divergence = |id: &'a BenchmarkId| {
        let target = targets.iter().find(|target| target.has(id))?;
        let [one, other] = two(seen, id)?;
        if first_difference(&one.trail, &other.trail).is_none() {
            return Some((id, Divergence::OnlyData));
        }
        let mut symbols = Symbols::for_package(&target.executable, &target.package_root);
        let trails: Vec<&LaunchTrail> = trails_of(with_stretches, id).collect();
        let pairs = trails.iter().enumerate();
        let parted = pairs
            .flat_map(|(index, one)| trails[index + 1..].iter().map(move |other| (one, other)))
            .find_map(|(one, other)| parted_at(one, other, &mut symbols));
        Some((id, parted.unwrap_or(Divergence::Somewhere)))
    };
    differing.iter().filter_map(divergence).collect()
}

fn trails_of<'a>(seen: &'a Collected, id: &BenchmarkId) -> impl Iterator<Item = &'a LaunchTrail> {
    let of_benchmark = seen
        .trails
        .iter()
        .filter(move |(benchmark, _)| benchmark == id);
    of_benchmark.map(|(_, trail)| trail)
}

/// Returns two trails of a benchmark that differ, or any two if all are equal.
fn two<'a>(seen: &'a Collected, id: &BenchmarkId) -> Option<[&'a LaunchTrail; 2]> {
    let first = trails_of(seen, id).next()?;
    let mut others = trails_of(seen, id).skip(1);
    let second = others.next()?;
    let differs = |other: &&LaunchTrail| first_difference(&first.trail, &other.trail).is_some();
    let other = std::iter::once(second).chain(others).find(differs);
    Some([first, other.unwrap_or(second)])
}

fn parted_at(one: &LaunchTrail, other: &LaunchTrail, symbols: &mut Symbols) -> Option<Divergence> {
    let place = |trail: &LaunchTrail, index: usize| {
        let block = trail.stretch.get(index)?;
        Some((trail.module_of(block).to_owned(), *block))
    };
    let same = |index: usize| match (place(one, index), place(other, index)) {
        (Some((a, at)), Some((b, bt))) => (a, at.offset, at.bytes) == (b, bt.offset, bt.bytes),
        _ => false,
    };
    let most = one.stretch.len().max(other.stretch.len());
    let parted = (0..most).find(|&index| !same(index))?;
    // The last common block is in the interval, unless they diverged earlier.
    let (module, last) = place(one, parted.checked_sub(1)?)?;
    let mut name = |(module, block): (String, CodeBlock)| symbols.locate(&module, block.offset);
    let at = [place(one, parted), place(other, parted)].map(|at| at.map(&mut name));
    let end = CodeBlock {
        offset: last
            .offset
            .saturating_add(u64::from(last.bytes).saturating_sub(1)),
        ..last
    };
    Some(Divergence::At {
        after_blocks: one.trail.stretch_from + parted as u64,
        behind: name((module, end)),
        at: Box::new(at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use topdown_run::run_file::SourceLine;
    use topdown_terminal::columns::folded;

    /// Makes a trail of these blocks, with one hash for every `every_blocks` of them.
    fn trail(blocks: &[u64], every_blocks: u64) -> Trail {
        let hashes: Vec<u64> = blocks
            .iter()
            .scan(0_u64, |hash, block| {
                *hash = hash.wrapping_mul(31).wrapping_add(*block);
                Some(*hash)
            })
            .collect();
        let kept = (1..).zip(&hashes);
        let kept = kept.filter(|(count, _)| count % every_blocks == 0);
        Trail {
            blocks: blocks.len() as u64,
            hash: hashes.last().copied().unwrap_or_default(),
            every_blocks,
            hashes: kept.map(|(_, hash)| *hash).collect(),
            ..Trail::default()
        }
    }

    #[test]
    fn first_differing_interval_ignores_hash_distance() {
        let blocks: Vec<u64> = (1..=40).collect();
        let mut other = blocks.clone();
        other[17] = 99;
        for (a, b, expected) in [
            (1, 1, 17..18),
            (4, 4, 16..20),
            (8, 2, 16..24),
            (1, 8, 16..24),
        ] {
            let found = first_difference(&trail(&blocks, a), &trail(&other, b));
            assert_eq!(found, Some(expected), "{a} {b}");
            assert_eq!(
                first_difference(&trail(&blocks, a), &trail(&blocks, b)),
                None
            );
        }
        // After the last hash, and where one trail ends first.
        other = blocks.clone();
        other[38] = 99;
        let last = first_difference(&trail(&blocks, 16), &trail(&other, 16));
        assert_eq!(last, Some(32..48));
        let short = first_difference(&trail(&blocks, 4), &trail(&blocks[..30], 4));
        assert_eq!(short, Some(28..32));
    }

    #[test]
    fn divergence_follows_last_common_block() {
        let launch = |offsets: &[u64]| LaunchTrail {
            trail: Trail {
                stretch_from: 4096,
                ..Trail::default()
            },
            modules: vec!["/nowhere/lib.so".to_owned()],
            stretch: offsets
                .iter()
                .map(|&offset| CodeBlock {
                    module: 0,
                    offset,
                    bytes: 8,
                    content: offset,
                    call: 0,
                })
                .collect(),
        };
        let mut symbols = Symbols::new(Path::new("/nowhere/bench"));
        let mut part = |a: &[u64], b: &[u64]| parted_at(&launch(a), &launch(b), &mut symbols);
        let divergence = part(&[0x10, 0x20, 0x30], &[0x10, 0x20, 0x50]).unwrap();
        assert_eq!(
            divergence.to_string(),
            "they diverge after 4098 blocks of instructions, behind lib.so+0x27: one continues at \
             lib.so+0x30, another at lib.so+0x50"
        );
        assert_eq!(part(&[0x10, 0x20], &[0x10, 0x20]), None);
        assert_eq!(part(&[0x10], &[0x20]), None);
        let ended = part(&[0x10, 0x20], &[0x10]).unwrap().to_string();
        assert!(
            ended.ends_with("at lib.so+0x20, another at the end"),
            "{ended}"
        );
    }

    /// As in arc-swap 1.9.5, where the paths took up to nine lines for each benchmark.
    #[test]
    fn each_benchmark_takes_two_narrow_lines() {
        let id = |name: &str| BenchmarkId {
            package: "arc-swap".to_owned(),
            target: "background".to_owned(),
            name: name.to_owned(),
        };
        let at = |function: Option<&str>, file: Option<&str>| {
            let place = CodeLocation {
                function: function.map(str::to_owned),
                line: file.map(|file| SourceLine {
                    file: file.to_owned(),
                    line: 1167,
                    in_workspace: false,
                }),
                position: "background-f3350cd30981ba00+0x17f7d5".to_owned(),
            };
            Divergence::At {
                after_blocks: 5,
                behind: place.clone(),
                at: Box::new([Some(place), None]),
            }
        };
        let init = Some("once_cell::sync::OnceCell<T>::get_or_try_init");
        let file = Some("once_cell-1.21.4/src/lib.rs");
        let ids = ["arc_swap_option_write/uncontended", "a", "b"].map(id);
        let divergences = [at(init, file), at(None, None), Divergence::OnlyData];
        let divergences: Vec<_> = ids.iter().zip(divergences).collect();
        insta::assert_snapshot!(folded(&note(&divergences).unwrap(), 60));
        let many = vec![divergences[1].clone(); 12];
        let reported = note(&many).unwrap();
        assert!(reported.ends_with("\n  and 2 more"), "{reported}");
        assert_eq!(note(&[]), None);
    }
}

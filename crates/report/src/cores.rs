//! Summary of one change on two modelled cores: benchmarks slower on one or both.

use std::io::{self, Write};

use topdown_gate::verdict::{Comparison, Outcome, Verdict};
use topdown_run::run_file::{BenchmarkId, Run};

use super::names::Names;
use super::style::{Look, of_class};
use super::text::Hanging;

/// The judgement on one core.
#[derive(Debug)]
pub struct OnCore {
    /// The core's name, such as `Zen 5`.
    title: String,
    outcome: Outcome,
    slower: Vec<BenchmarkId>,
}

impl OnCore {
    /// Summarises `comparison`, which judges `candidate`.
    pub fn new(candidate: &Run, comparison: &Comparison) -> OnCore {
        let benchmarks = comparison.benchmarks.iter();
        let slower = benchmarks.filter(|benchmark| benchmark.verdict == Verdict::Regressed);
        OnCore {
            title: title(modelled_core(candidate)),
            outcome: comparison.outcome,
            slower: slower.map(|benchmark| benchmark.id.clone()).collect(),
        }
    }
}

/// Returns the word for the core that `run` was modelled on, or an empty one.
pub fn modelled_core(run: &Run) -> &str {
    let mut cores = run.benchmarks.iter();
    cores
        .find_map(|benchmark| benchmark.provenance().modelled_core())
        .map_or("", |(core, _)| core)
}

/// `Zen 5` for `zen-5`.
fn title(core: &str) -> String {
    let words = core.split('-').map(|word| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        first.to_uppercase() + rest
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Writes which core the comparison below is on.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_heading(candidate: &Run, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "On {}", title(modelled_core(candidate)))
}

/// Writes which benchmarks are slower on both cores, and which on one only.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_summary(cores: &[OnCore; 2], look: Look, out: &mut impl Write) -> io::Result<()> {
    let [first, second] = cores;
    let both = format!("{} and {}", first.title, second.title);
    let mut ids: Vec<&BenchmarkId> = first.slower.iter().chain(&second.slower).collect();
    ids.sort();
    ids.dedup();
    let shown = Names::of(ids);
    let slower_on = |id: &BenchmarkId| cores.each_ref().map(|core| core.slower.contains(id));
    let only = |title: &str| format!("{title} only");
    let lines = Hanging { width: look.width };
    let mut is_any_slower = false;
    for (on, title) in [
        ([true, true], both),
        ([true, false], only(&first.title)),
        ([false, true], only(&second.title)),
    ] {
        let all = first.slower.iter();
        let all = all.chain(second.slower.iter().filter(|id| !first.slower.contains(id)));
        let names: Vec<String> = all
            .filter(|id| slower_on(id) == on)
            .map(|id| format!("`{}`", shown.name(id)))
            .collect();
        if !names.is_empty() {
            is_any_slower = true;
            let style = of_class(Verdict::Regressed);
            let lead = format!("{style}Slower{style:#}");
            let text = format!("on {title}: {}", names.join(", "));
            lines.write_after(out, &lead, 4, &text)?;
        }
    }
    for core in cores {
        if core.outcome == Outcome::NotComparable {
            lines.write(out, "", 0, &format!("Not compared on {}", core.title))?;
            is_any_slower = true;
        }
    }
    if !is_any_slower {
        let text = format!(
            "No benchmark is slower on {} or {}",
            first.title, second.title
        );
        lines.write(out, "", 0, &text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{compared, comparison_text};
    use crate::shown::{shown, terminal, written};
    use topdown_gate::scenario::{self, Planted, modelled};

    /// Modelled benchmarks, each of which is slower by this fraction, on a core.
    fn suite(core: &str, seed: u64, slower: &[(&str, f64)]) -> Run {
        let of = |(name, backend): &(&str, f64)| {
            let planted = Planted {
                seed,
                launches: 2,
                categories: [0.0, 0.0, 0.0, *backend].into(),
                ..Planted::default()
            };
            let mut benchmark = modelled(name, planted);
            let slots = benchmark.slots.as_mut().unwrap();
            slots.provenance.formula = format!("model-{core}/6");
            benchmark
        };
        scenario::run(slower.iter().map(of).collect())
    }

    /// Returns what a terminal of `width` columns shows, if benchmarks are slower by these
    /// fractions on Golden Cove and on Zen 5.
    fn text(width: usize, on: [&[(&str, f64)]; 2]) -> String {
        shown(|out| {
            let mut cores = Vec::new();
            for (core, slower) in ["golden-cove", "zen-5"].into_iter().zip(on) {
                let before: Vec<(&str, f64)> =
                    slower.iter().map(|(name, _)| (*name, 0.0)).collect();
                let (before, after) = (suite(core, 1, &before), suite(core, 2, slower));
                write_heading(&after, out)?;
                writeln!(out, "{}", comparison_text(&before, &after, width))?;
                cores.push(OnCore::new(&after, &compared(&before, &after)));
            }
            write_summary(&cores.try_into().unwrap(), terminal(width), out)
        })
    }

    const ON_GOLDEN_COVE: [(&str, f64); 3] = [("parse", 0.031), ("hash", 0.0), ("sort", 0.0)];
    const ON_ZEN_5: [(&str, f64); 3] = [("parse", 0.044), ("hash", 0.027), ("sort", 0.0)];

    #[test]
    fn one_slower_on_both_cores_one_on_zen_5() {
        let text = |width| text(width, [&ON_GOLDEN_COVE, &ON_ZEN_5]);
        insta::assert_snapshot!("two_cores_60", text(60));
        insta::assert_snapshot!("two_cores_120", text(120));
    }

    #[test]
    fn core_order_does_not_change_the_report() {
        let summary = |on| {
            let text = text(100, on);
            let (_, last) = text.trim_end().rsplit_once("\n\n").unwrap();
            last.to_owned()
        };
        let same: &[(&str, f64)] = &[("parse", 0.0)];
        let slower: &[(&str, f64)] = &[("parse", 0.031)];
        assert_eq!(
            summary([slower, same]),
            "Slower on Golden Cove only: `parse`"
        );
        assert_eq!(summary([same, slower]), "Slower on Zen 5 only: `parse`");
        assert_eq!(
            summary([same, same]),
            "No benchmark is slower on Golden Cove or Zen 5"
        );
    }

    #[test]
    fn uncompared_core_has_not_passed() {
        let run = |core| suite(core, 1, &[("parse", 0.0)]);
        let (first, second) = (run("golden-cove"), run("zen-5"));
        let cores = [
            OnCore::new(&first, &compared(&first, &first)),
            OnCore::new(&second, &compared(&first, &second)),
        ];
        let text = written(|out| write_summary(&cores, terminal(80), out));
        assert_eq!(text, "Not compared on Zen 5\n");
    }
}

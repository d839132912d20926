//! The split of the CPU's own counters beside that of the model: only a machine with a PMU can
//! check into which category a slot belongs.

use std::time::{Duration, Instant};

use topdown_core_model::{CoreParameters, Counts};
use topdown_counters::error::OpenError;
use topdown_counters::hardware::Hardware;
use topdown_counters::{Source, clock};
use topdown_run::category::{Category, PerCategory};
use topdown_run::sample::{Flags, Sample};

/// Counted time of each kernel.
const BUDGET: Duration = Duration::from_millis(300);
/// The least time of a window. PERF_METRICS has eight bits and needs some millions of slots.
const MIN_WINDOW: Duration = Duration::from_millis(2);

/// The counters of this thread.
pub struct Counters(Hardware);

/// How a kernel's slots are split, as fractions.
pub struct Split {
    pub name: &'static str,
    /// `None` if every window was disturbed.
    pub counted: Option<PerCategory<f64>>,
    pub modelled: PerCategory<f64>,
}

impl Counters {
    /// Opens the counters.
    pub fn open() -> Result<Counters, OpenError> {
        Hardware::open().map(Counters)
    }

    /// Counts the slots of `run`, repeated.
    pub fn split(&self, run: &mut dyn FnMut()) -> Option<PerCategory<f64>> {
        let mut runs = 1_u32;
        let mut slots = PerCategory::<f64>::default();
        let start = Instant::now();
        while start.elapsed() < BUDGET {
            self.0.sample_boundary();
            let begun = self.0.start();
            (0..runs).for_each(|_| run());
            let sample = self.0.end(&begun);
            if Duration::from_nanos(clock::elapsed_ns(begun.at_ns)) < MIN_WINDOW {
                runs = runs.saturating_mul(2);
            } else if let Some(counted) = usable_slots(&sample) {
                slots = slots.zip(counted).map(|(sum, more)| sum + more);
            }
        }
        fractions(slots)
    }
}

fn usable_slots(sample: &Sample) -> Option<PerCategory<f64>> {
    let is_usable = !sample.flags.intersects(Flags::UNUSABLE);
    sample
        .level1
        .filter(|_| is_usable)
        .map(|level1| level1.slots)
}

/// Returns the split of modelled slots.
pub fn modelled(counts: &Counts) -> PerCategory<f64> {
    let slots = &counts.slots;
    let parts = [
        slots.retiring(),
        slots.bad_speculation(),
        slots.frontend_bound(),
        slots.memory_bound + slots.core_bound,
    ];
    let parts = PerCategory::from(parts).map(|slots| slots as f64);
    fractions(parts).unwrap_or(parts)
}

fn fractions(slots: PerCategory<f64>) -> Option<PerCategory<f64>> {
    let total = slots.sum();
    (total > 0.0).then(|| slots.map(|part| part / total))
}

/// Prints both splits of each kernel, and how far apart they are on average, as Markdown.
pub fn print(counters: &Counters, core: &CoreParameters, splits: &[Split]) {
    let provenance = counters.0.provenance();
    println!(
        "\nPercent of slots: counted by `{}` / modelled as {} version {}\n",
        provenance.formula, core.name, core.version
    );
    let titles = Category::ALL.map(Category::name).join(" | ");
    println!("| kernel | {titles} |\n|---|---|---|---|---|");
    for split in splits {
        println!("{}", row(split));
    }
    println!("{}", mean_row(splits));
}

fn row(split: &Split) -> String {
    let cells = Category::ALL.map(|category| {
        let modelled = 100.0 * split.modelled[category];
        match &split.counted {
            Some(counted) => format!("{:.1} / {modelled:.1}", 100.0 * counted[category]),
            None => format!("disturbed / {modelled:.1}"),
        }
    });
    format!("| {} | {} |", split.name, cells.join(" | "))
}

/// Returns the mean distance of the two splits in each category, in points.
fn mean_row(splits: &[Split]) -> String {
    let distances: Vec<PerCategory<f64>> = splits
        .iter()
        .filter_map(|split| Some(split.counted?.zip(split.modelled)))
        .map(|both| both.map(|(counted, modelled)| 100.0 * (counted - modelled).abs()))
        .collect();
    let cells = Category::ALL.map(|category| {
        let sum: f64 = distances.iter().map(|points| points[category]).sum();
        format!("**{:.1}**", sum / distances.len() as f64)
    });
    let kernels = distances.len();
    format!(
        "| mean distance in points; kernels: {kernels} | {} |",
        cells.join(" | ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_kernel_is_shown_not_averaged() {
        let split = |name, counted: Option<[f64; 4]>| Split {
            name,
            counted: counted.map(PerCategory::from),
            modelled: [0.5, 0.1, 0.2, 0.2].into(),
        };
        let splits = [
            split("near", Some([0.5, 0.1, 0.2, 0.2])),
            split("far", Some([0.3, 0.1, 0.2, 0.4])),
            split("noisy", None),
        ];
        assert_eq!(
            splits.each_ref().map(row),
            [
                "| near | 50.0 / 50.0 | 10.0 / 10.0 | 20.0 / 20.0 | 20.0 / 20.0 |",
                "| far | 30.0 / 50.0 | 10.0 / 10.0 | 20.0 / 20.0 | 40.0 / 20.0 |",
                "| noisy | disturbed / 50.0 | disturbed / 10.0 | disturbed / 20.0 | disturbed / 20.0 |",
            ]
        );
        assert_eq!(
            mean_row(&splits),
            "| mean distance in points; kernels: 2 | **10.0** | **0.0** | **0.0** | **10.0** |"
        );
    }
}

//! Shows progress on standard error: what runs, which launch it is, and how long the rest will
//! take.
//!
//! A terminal gets one line that changes; other outputs get one line per launch. Programs can have
//! events instead.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use topdown_run::setting::Sampling;

use crate::event::Event;
use crate::targets::bench_targets::BenchTarget;
use topdown_terminal::terminal::{message, print_text};

/// Redraws per second. Each takes a little of the machine from the bench.
const REDRAWS_PER_SECOND: u8 = 4;

/// How to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Not at all.
    Quiet,
    /// One line per launch.
    Lines,
    /// One JSON object per event, on standard output.
    Events,
    /// One line that changes.
    Bar,
}

impl Style {
    /// Chooses the style for this process: `events`, `--quiet`, `CARGO_TERM_PROGRESS_WHEN` (`never`
    /// disables the bar), and whether standard error is a terminal, in this order.
    pub fn for_process(quiet: bool, events: bool) -> Style {
        let when = std::env::var("CARGO_TERM_PROGRESS_WHEN");
        if events {
            Style::Events
        } else if quiet {
            Style::Quiet
        } else if stderr().is_terminal() && when.as_deref() != Ok("never") {
            Style::Bar
        } else {
            Style::Lines
        }
    }
}

/// The progress of a run.
pub struct Progress {
    style: Style,
    bar: ProgressBar,
    estimate: Estimate,
    rounds: u32,
    /// `package::name`, or only the name if there is one package.
    name: String,
    /// The package and the name of the last target that began, and its launch, from 1.
    last: (String, String, u32),
    with_packages: bool,
    begun_at: Instant,
}

impl Progress {
    /// The progress through all launches of `targets`, so many `at_once`.
    pub fn new(style: Style, targets: &[BenchTarget], at_once: usize) -> Progress {
        let launches: Vec<u32> = targets.iter().map(|t| t.settings.launches).collect();
        let draw_target = match style {
            Style::Bar => ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND),
            Style::Quiet | Style::Lines | Style::Events => ProgressDrawTarget::hidden(),
        };
        let total = launches.iter().map(|n| u64::from(*n)).sum();
        let bar = ProgressBar::with_draw_target(Some(total), draw_target);
        let template = "{prefix:>12} [{bar:20}] {wide_msg}";
        bar.set_style(
            ProgressStyle::with_template(template)
                .expect("the template is a constant")
                .progress_chars("=> "),
        );
        Progress {
            style,
            bar,
            rounds: launches.iter().copied().max().unwrap_or(0),
            estimate: Estimate::new(&launches, at_once),
            name: String::new(),
            last: Default::default(),
            with_packages: targets
                .windows(2)
                .any(|pair| pair[0].package != pair[1].package),
            begun_at: Instant::now(),
        }
    }

    /// Sets how many launches target number `index` still has, if not as many as its settings say.
    pub fn expect(&mut self, index: usize, launches: u32) {
        self.estimate.targets[index].launches_left = launches;
        let rounds = self
            .estimate
            .targets
            .iter()
            .map(|t| t.launches + t.launches_left);
        self.rounds = rounds.max().unwrap_or(0);
    }

    /// Begins a launch (counted from 0) of as many as are `planned`; `None` if it has yet to show
    /// how many are needed.
    pub fn begin(&mut self, target: &BenchTarget, launch: u32, planned: Option<u32>) {
        self.begun_at = Instant::now();
        self.name = if self.with_packages {
            target.to_string()
        } else {
            target.name.clone()
        };
        let number = launch + 1;
        self.bar.set_prefix(match planned {
            Some(_) => format!("Launch {number}/{}", self.rounds),
            None => format!("Launch {number}"),
        });
        self.benchmark(target, "");
        let this = (target.package.clone(), target.name.clone(), number);
        let is_next_process = self.last == this;
        match self.style {
            // Where each benchmark has a process of its own, one line is enough for all.
            Style::Lines if is_next_process => {}
            Style::Lines => {
                let left = match self.estimate.left() {
                    Some(left) => format!(", {} left", minutes(left)),
                    None => String::new(),
                };
                let on = match target.settings.sampling {
                    Sampling::Doubling => " on the model",
                    _ => "",
                };
                let of_planned = planned.map_or(String::new(), |planned| format!(" of {planned}"));
                message!("      Launch {number}{of_planned}{on}: {}{left}", self.name);
            }
            Style::Events => Event::LaunchStarted {
                package: &target.package,
                target: &target.name,
                launch: number,
                of: target.settings.launches,
            }
            .print(),
            Style::Quiet | Style::Bar => {}
        }
        self.last = this;
    }

    /// Begins a benchmark in a launch of `target`.
    pub fn benchmark(&mut self, target: &BenchTarget, name: &str) {
        if self.style == Style::Events && !name.is_empty() {
            Event::BenchmarkStarted {
                package: &target.package,
                target: &target.name,
                benchmark: name,
            }
            .print();
        }
        let left = match self.estimate.left() {
            Some(left) => minutes(left.saturating_sub(self.begun_at.elapsed())) + " left, ",
            None => String::new(),
        };
        let separator = if name.is_empty() { "" } else { ": " };
        let target = &self.name;
        self.bar
            .set_message(format!("{left}{target}{separator}{name}"));
    }

    /// Ends a launch of `target`, number `index`; `done` means it was the target's last.
    pub fn end(&mut self, index: usize, target: &BenchTarget, took: Duration, done: bool) {
        self.estimate.end(index, took, done);
        if self.style == Style::Events {
            Event::LaunchFinished {
                package: &target.package,
                target: &target.name,
                seconds: took.as_secs_f64(),
            }
            .print();
        }
        self.bar
            .set_length(self.bar.position() + 1 + self.estimate.launches_left());
        self.bar.inc(1);
    }

    /// Prints a line, unless quiet.
    pub fn note(&self, line: &str) {
        if self.style != Style::Quiet {
            self.print(&format!("{line}\n"));
        }
    }

    /// Prints `text` without disturbing the line.
    pub fn print(&self, text: &str) {
        self.bar.suspend(|| print_text(text));
    }

    /// Removes the line from the terminal.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Estimates the remaining time, assuming that targets take as long as before.
#[derive(Debug)]
struct Estimate {
    targets: Vec<TargetTime>,
    at_once: u32,
}

#[derive(Debug)]
struct TargetTime {
    launches_left: u32,
    launches: u32,
    total: Duration,
}

impl Estimate {
    fn new(launches: &[u32], at_once: usize) -> Estimate {
        let target = |launches: &u32| TargetTime {
            launches_left: *launches,
            launches: 0,
            total: Duration::ZERO,
        };
        Estimate {
            targets: launches.iter().map(target).collect(),
            at_once: u32::try_from(at_once).unwrap_or(u32::MAX),
        }
    }

    fn end(&mut self, index: usize, took: Duration, done: bool) {
        let target = &mut self.targets[index];
        target.launches += 1;
        target.total += took;
        target.launches_left = if done {
            0
        } else {
            target.launches_left.saturating_sub(1)
        };
    }

    fn launches_left(&self) -> u64 {
        self.targets
            .iter()
            .map(|t| u64::from(t.launches_left))
            .sum()
    }

    /// Returns `None` until every target has had one launch, since targets have nothing in common.
    fn left(&self) -> Option<Duration> {
        let left = |target: &TargetTime| {
            Some(target.total.checked_div(target.launches)? * target.launches_left)
        };
        let unfinished = self
            .targets
            .iter()
            .filter(|target| target.launches_left > 0);
        let one_by_one: Option<Duration> = unfinished.map(left).sum();
        Some(one_by_one? / self.at_once)
    }
}

/// `50 s`, `2 min 10 s`, `1 h 5 min`.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_millis() >= 500);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_uses_earlier_launches_of_targets() {
        let mut estimate = Estimate::new(&[3, 2], 1);
        estimate.end(0, Duration::from_secs(10), false);
        assert_eq!(estimate.left(), None);
        estimate.end(1, Duration::from_secs(2), false);
        assert_eq!(estimate.left(), Some(Duration::from_secs(22)));
        estimate.end(0, Duration::from_secs(20), false);
        assert_eq!(estimate.left(), Some(Duration::from_secs(17)));
        estimate.end(1, Duration::from_secs(2), true);
        assert_eq!(estimate.left(), Some(Duration::from_secs(15)));
        assert_eq!(estimate.launches_left(), 1);
        let mut two_at_once = Estimate::new(&[3], 2);
        two_at_once.end(0, Duration::from_secs(10), false);
        assert_eq!(two_at_once.left(), Some(Duration::from_secs(10)));
    }

    #[test]
    fn durations_are_readable() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (130, "2 min 10 s"),
            (3900, "1 h 5 min"),
        ] {
            assert_eq!(minutes(Duration::from_secs(seconds)), text);
        }
    }
}

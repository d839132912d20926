//! The search: which points may be the first bad one, and which to try next.

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::history::History;

/// A search for the first bad point of each benchmark.
#[derive(Clone, Debug)]
pub struct Search {
    history: History,
    lines: Vec<Line>,
}

/// What a search knows of one benchmark.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    /// Which points may be the first bad one.
    suspects: Vec<bool>,
    /// Which points were tried without a decision.
    undecided: Vec<bool>,
    /// The earliest point known to be bad; `None` before the last one was tried.
    bad: Option<usize>,
    /// The answer of the last point, if it is not bad: there is nothing to find.
    last: Option<Answer>,
}

/// The end of a search for one benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// Further points have to be tried.
    Open,
    /// The bad point is not slower than the good one.
    NotSlower,
    /// It is not known whether the bad point is slower than the good one.
    Unknown,
    /// The first point at which it is slower.
    Found {
        /// Which one.
        point: usize,
    },
    /// One of several points, since those in between could not be decided.
    Range {
        /// Which ones, oldest first.
        points: Vec<usize>,
    },
}

impl Search {
    /// Begins a search for this number of benchmarks. All are good at the first point of `history`.
    pub fn new(history: History, benchmarks: usize) -> Search {
        let points = history.len();
        let line = Line {
            suspects: (0..points).map(|point| point > 0).collect(),
            undecided: vec![false; points],
            bad: None,
            last: None,
        };
        Search {
            history,
            lines: vec![line; benchmarks],
        }
    }

    /// Returns the point to try next: the one that excludes the largest part of the suspects, over
    /// all benchmarks. `None` if nothing is open.
    pub fn next(&self) -> Option<usize> {
        let last = self.history.len().checked_sub(1).filter(|last| *last > 0)?;
        if self
            .lines
            .iter()
            .any(|line| line.bad.is_none() && line.last.is_none())
        {
            return Some(last);
        }
        let mut values = vec![0.0; self.history.len()];
        // Benchmarks that nothing has told apart yet share the work.
        let mut groups: Vec<(&Line, f64)> = Vec::new();
        for line in self.lines.iter().filter(|line| line.is_open()) {
            match groups.iter_mut().find(|(other, _)| *other == line) {
                Some((_, count)) => *count += 1.0,
                None => groups.push((line, 1.0)),
            }
        }
        for (line, count) in groups {
            for (point, value) in line.values(&self.history) {
                values[point] += count * value;
            }
        }
        let best = (0..values.len()).max_by(|a, b| {
            // The earlier one of equals.
            values[*a].total_cmp(&values[*b]).then(b.cmp(a))
        });
        best.filter(|best| values[*best] > 0.0)
    }

    /// Returns the benchmarks that `point` may tell something about.
    pub fn asking(&self, point: usize) -> Vec<usize> {
        let lines = self.lines.iter().enumerate();
        lines
            .filter(|(_, line)| line.asks(point))
            .map(|(index, _)| index)
            .collect()
    }

    /// Takes what was found for a benchmark at `point`. An answer that the benchmark does not ask
    /// for is ignored.
    pub fn answer(&mut self, point: usize, benchmark: usize, answer: Answer) {
        let is_last = point + 1 == self.history.len();
        let Some(line) = self
            .lines
            .get_mut(benchmark)
            .filter(|line| line.asks(point))
        else {
            return;
        };
        match answer {
            Answer::Bad => {
                let ancestors = self.history.ancestors(point);
                line.retain(|suspect| ancestors[suspect]);
                line.bad = Some(point);
            }
            _ if is_last => line.last = Some(answer),
            Answer::Good => {
                let ancestors = self.history.ancestors(point);
                line.retain(|suspect| !ancestors[suspect]);
            }
            Answer::Undecided | Answer::Skipped => line.undecided[point] = true,
        }
    }

    /// Returns how many points may be the first bad one of a benchmark that is still open.
    pub fn suspects(&self) -> usize {
        let open = self.lines.iter().filter(|line| line.is_open());
        open.map(|line| line.points().count()).max().unwrap_or(0)
    }

    /// Returns what is known of a benchmark.
    pub fn outcome(&self, benchmark: usize) -> Outcome {
        let line = &self.lines[benchmark];
        match (line.bad, line.last) {
            _ if line.is_open() => Outcome::Open,
            (None, Some(Answer::Good)) => Outcome::NotSlower,
            (None, _) => Outcome::Unknown,
            (Some(bad), _) => match line.points().collect::<Vec<usize>>() {
                points if points.len() > 1 => Outcome::Range { points },
                _ => Outcome::Found { point: bad },
            },
        }
    }
}

impl Line {
    fn points(&self) -> impl Iterator<Item = usize> {
        (0..self.suspects.len()).filter(|point| self.suspects[*point])
    }

    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        for point in 0..self.suspects.len() {
            self.suspects[point] &= keep(point);
        }
    }

    fn asks(&self, point: usize) -> bool {
        let is_last = point + 1 == self.suspects.len();
        match self.bad {
            None => is_last && self.last.is_none(),
            Some(bad) => point != bad && self.is_untried(point),
        }
    }

    fn is_untried(&self, point: usize) -> bool {
        self.suspects.get(point) == Some(&true) && !self.undecided[point]
    }

    fn is_open(&self) -> bool {
        (0..self.suspects.len()).any(|point| self.asks(point))
    }

    /// Returns the untried points, and for each which part of the suspects it is expected to
    /// exclude. A point that does not build is rarely alone, so the neighbours of such points count
    /// less, the more of them are known.
    fn values<'a>(&'a self, history: &'a History) -> impl Iterator<Item = (usize, f64)> + 'a {
        let all = self.points().count() as f64;
        let undecided: Vec<usize> = self
            .points()
            .filter(|point| self.undecided[*point])
            .collect();
        self.points()
            .filter(|point| self.asks(*point))
            .map(move |point| {
                let ancestors = history.ancestors(point);
                let below = self.points().filter(|suspect| ancestors[*suspect]).count() as f64;
                let distance = undecided.iter().map(|other| other.abs_diff(point)).min();
                let builds = distance.map_or(1.0, |distance| {
                    distance as f64 / (distance + undecided.len()) as f64
                });
                (point, below.min(all - below) / all * builds)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search of one benchmark. Returns the outcome and the points that were tried.
    fn run(history: History, answer: impl Fn(usize) -> Answer) -> (Outcome, Vec<usize>) {
        let mut search = Search::new(history, 1);
        let mut tried = Vec::new();
        while let Some(point) = search.next() {
            assert!(!tried.contains(&point), "{point} was tried before");
            tried.push(point);
            search.answer(point, 0, answer(point));
        }
        (search.outcome(0), tried)
    }

    fn bad_from(first: usize) -> impl Fn(usize) -> Answer {
        move |point| {
            if point < first {
                Answer::Good
            } else {
                Answer::Bad
            }
        }
    }

    #[test]
    fn every_first_bad_point_is_found_by_halving() {
        for points in [2, 3, 10, 65] {
            for first in 1..points {
                let (outcome, tried) = run(History::linear(points), bad_from(first));
                assert_eq!(outcome, Outcome::Found { point: first });
                assert!(tried.len() <= 1 + (points - 1).next_power_of_two().ilog2() as usize);
            }
        }
    }

    #[test]
    fn a_good_end_needs_one_try() {
        assert_eq!(
            run(History::linear(9), |_| Answer::Good),
            (Outcome::NotSlower, vec![8])
        );
        for answer in [Answer::Undecided, Answer::Skipped] {
            assert_eq!(
                run(History::linear(9), |_| answer),
                (Outcome::Unknown, vec![8])
            );
        }
    }

    #[test]
    fn history_without_points_is_not_searched() {
        for points in [0, 1] {
            assert_eq!(Search::new(History::linear(points), 1).next(), None);
        }
    }

    #[test]
    fn undecided_points_before_the_change_leave_a_range() {
        let answer = |point| match point {
            4..=6 => Answer::Skipped,
            _ => bad_from(5)(point),
        };
        let (outcome, _) = run(History::linear(12), answer);
        assert_eq!(
            outcome,
            Outcome::Range {
                points: vec![4, 5, 6, 7]
            }
        );
    }

    #[test]
    fn undecided_points_elsewhere_cost_no_range() {
        let answer = |point| match point {
            28..=40 => Answer::Undecided,
            _ => bad_from(50)(point),
        };
        let (outcome, tried) = run(History::linear(65), answer);
        assert_eq!(outcome, Outcome::Found { point: 50 });
        let failed = tried
            .iter()
            .filter(|point| (28..=40).contains(*point))
            .count();
        assert!(failed <= 4, "{tried:?}");
    }

    #[test]
    fn merged_branch_is_searched_with_all_parents() {
        // 0 ─ 1 ─ 2 ──── 6 ─ 7
        //      └ 3 ─ 4 ─ 5 ┘
        let parents = vec![
            vec![],
            vec![0],
            vec![1],
            vec![1],
            vec![3],
            vec![4],
            vec![2, 5],
            vec![6],
        ];
        let contains_four = |point| matches!(point, 4..=7);
        let answer = |point| {
            if contains_four(point) {
                Answer::Bad
            } else {
                Answer::Good
            }
        };
        let (outcome, _) = run(History::new(parents), answer);
        assert_eq!(outcome, Outcome::Found { point: 4 });
    }

    #[test]
    fn benchmarks_share_tries() {
        let firsts = [10, 10, 10, 10, 50];
        let mut search = Search::new(History::linear(65), firsts.len());
        let mut tries = 0;
        while let Some(point) = search.next() {
            tries += 1;
            for benchmark in search.asking(point) {
                search.answer(point, benchmark, bad_from(firsts[benchmark])(point));
            }
        }
        for (benchmark, first) in firsts.into_iter().enumerate() {
            assert_eq!(search.outcome(benchmark), Outcome::Found { point: first });
        }
        // Both alone take seven.
        assert!(tries <= 12, "{tries}");
    }

    #[test]
    fn next_point_serves_most_benchmarks() {
        let mut search = Search::new(History::linear(65), 4);
        let answer = |search: &mut Search, point, answers: [Answer; 4]| {
            for (benchmark, answer) in answers.into_iter().enumerate() {
                search.answer(point, benchmark, answer);
            }
        };
        answer(&mut search, 64, [Answer::Bad; 4]);
        assert_eq!(search.next(), Some(32));
        answer(
            &mut search,
            32,
            [Answer::Bad, Answer::Good, Answer::Good, Answer::Good],
        );
        assert_eq!(search.next(), Some(48));
    }
}

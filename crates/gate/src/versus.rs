//! Benchmarks of one run against each other: two of them, or all of a group.
//!
//! Two benchmarks are judged as if one were the new version of the other, with the margins and
//! error rates of [`verdict`](crate::verdict). Both were launched in the same session, so the
//! machine cannot have drifted between them by more than within a session.

use serde::Serialize;
use topdown_run::category::{Category, PerCategory};
use topdown_run::run_file::{Benchmark, BenchmarkId, Run};

use crate::metric::Metric;
use crate::policy::{Accepted, Policy};
use crate::summary::Summary;
use crate::verdict::{
    BenchmarkVerdict, LabelledRun, RunSummary, Verdict, compare_in_turn, summary,
};

/// The version of the JSON format.
pub const VERSUS_SCHEMA_VERSION: u32 = 1;

/// From this factor on, slots per element grow. Judgement: the margin of a change of the slots is
/// 3 %, and a size at which a loop ends differently moves a little more.
const MIN_GROWTH: f64 = 1.05;

/// Benchmarks of one run, compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Versus {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSUS_SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// The run.
    pub run: RunSummary,
    /// The two benchmarks, if two were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// The benchmarks of a group, if a group was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

impl Versus {
    /// Compares `benchmark` with `reference`, both of `run`.
    pub fn pair(
        run: LabelledRun<'_>,
        [benchmark, reference]: [&Benchmark; 2],
        policy: &Policy,
    ) -> Versus {
        let pair = Judge::new(run.run, policy).pair(benchmark, reference);
        Versus {
            pair: Some(pair),
            ..Versus::empty(run)
        }
    }

    /// Ranks the benchmarks whose names begin with `group` and a slash; `None` if there are none.
    pub fn ranking(run: LabelledRun<'_>, group: &str, policy: &Policy) -> Option<Versus> {
        let ranking = Ranking::new(run.run, group, &Judge::new(run.run, policy))?;
        Some(Versus {
            ranking: Some(ranking),
            ..Versus::empty(run)
        })
    }

    fn empty(run: LabelledRun<'_>) -> Versus {
        Versus {
            schema_version: VERSUS_SCHEMA_VERSION,
            run: summary(run),
            pair: None,
            ranking: None,
        }
    }
}

/// One benchmark against another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// The benchmark that is judged.
    pub benchmark: BenchmarkId,
    /// The one that it is compared with.
    pub reference: BenchmarkId,
    /// Its slots over those of the reference; its time if either has no slots. Absent if they
    /// cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its instructions over those of the reference, if both are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions_ratio: Option<f64>,
    /// The judgement as if it were the new version of the reference, whose id it has.
    pub judgement: BenchmarkVerdict,
}

impl Pair {
    /// Returns whether one is surely slower than the other.
    pub fn differs(&self) -> bool {
        matches!(
            self.judgement.verdict,
            Verdict::Regressed | Verdict::Improved | Verdict::TimeDisagrees
        )
    }
}

/// The benchmarks of a group, ranked for each value of the parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranking {
    /// The group: what all names begin with.
    pub group: String,
    /// What is ranked: slots, or time if a benchmark of the group has no slots.
    pub metric: Metric,
    /// One for each value of the parameter, numbers in ascending order; a single one without
    /// parameter.
    pub inputs: Vec<Input>,
    /// How the functions with several numeric values grow, in the order of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub growths: Vec<Growth>,
}

impl Ranking {
    /// Returns whether there is nothing to rank: one function, with several inputs.
    pub fn is_of_one_function(&self) -> bool {
        let is_alone = |input: &Input| input.entries.len() == 1 && input.parameter.is_some();
        self.inputs.iter().all(is_alone)
    }
}

/// The benchmarks with one value of the parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// The value; absent without parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// The benchmarks, the one with the fewest slots first.
    pub entries: Vec<Entry>,
}

/// A benchmark of a ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Its name without group and parameter.
    pub function: String,
    /// Slots, or nanoseconds, per iteration.
    pub per_iteration: f64,
    /// Its slots by category, per iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<PerCategory<f64>>,
    /// [`per_iteration`](Entry::per_iteration) over that of the first.
    pub ratio: f64,
    /// Whether it surely differs from the first; absent for the first, and where the two cannot be
    /// compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<bool>,
}

/// How a function grows with the size of its input.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Growth {
    /// The function.
    pub function: String,
    /// The unit of the sizes: that of criterion's throughput, or `parameter` if none is set.
    pub unit: String,
    /// The sizes, in ascending order; at least two.
    pub sizes: Vec<Size>,
    /// Slots, or nanoseconds, per element of the greatest size over those of the smallest.
    pub factor: f64,
    /// The category that grew most, if slots per element grew by more than 5 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// A function at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Size {
    /// The value of the parameter.
    pub parameter: String,
    /// Number of elements of an iteration.
    pub elements: f64,
    /// Slots, or nanoseconds, per element.
    pub per_element: f64,
    /// Slots by category, per element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<PerCategory<f64>>,
}

/// Judges two benchmarks of the same run.
struct Judge {
    without_benchmarks: Run,
    policy: Policy,
}

impl Judge {
    fn new(run: &Run, policy: &Policy) -> Judge {
        // A change that is expected of one benchmark says nothing about another.
        let mut policy = policy.clone();
        policy.accepted = Accepted::default();
        Judge {
            without_benchmarks: Run {
                benchmarks: Vec::new(),
                ..run.clone()
            },
            policy,
        }
    }

    fn pair(&self, benchmark: &Benchmark, reference: &Benchmark) -> Pair {
        let side = |side: &Benchmark| Run {
            benchmarks: vec![Benchmark {
                id: reference.id.clone(),
                ..side.clone()
            }],
            ..self.without_benchmarks.clone()
        };
        let (baseline, candidate) = (side(reference), side(benchmark));
        let mut comparison = compare_in_turn(
            LabelledRun {
                label: &reference.id.name,
                run: &baseline,
            },
            LabelledRun {
                label: &benchmark.id.name,
                run: &candidate,
            },
            &self.policy,
        );
        let judgement = comparison.benchmarks.swap_remove(0);
        let instructions = |side| Summary::new(side)?.instructions;
        let main = judgement.main_effect();
        Pair {
            benchmark: benchmark.id.clone(),
            reference: reference.id.clone(),
            ratio: main.and_then(|effect| ratio(effect.candidate, effect.baseline)),
            instructions_ratio: instructions(benchmark)
                .zip(instructions(reference))
                .and_then(|(a, b)| ratio(a, b)),
            judgement,
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// A benchmark of a group, with the parts of its name.
struct Member<'a> {
    benchmark: &'a Benchmark,
    function: String,
    parameter: Option<String>,
    per_iteration: f64,
    categories: Option<PerCategory<f64>>,
}

impl Ranking {
    fn new(run: &Run, group: &str, judge: &Judge) -> Option<Ranking> {
        let group = group.trim_end_matches('/');
        let name_of_group = group.rsplit('/').next().unwrap_or(group);
        let of_group: Vec<(&str, &Benchmark)> = (run.benchmarks.iter())
            .filter_map(|b| Some((b.id.name.strip_prefix(group)?.strip_prefix('/')?, b)))
            .collect();
        let have_slots = of_group.iter().all(|(_, b)| Metric::Slots.is_known(b));
        let metric = if have_slots {
            Metric::Slots
        } else {
            Metric::Wall
        };
        let has_parameters = has_parameters(&of_group);
        let members: Vec<Member<'_>> = (of_group.iter())
            .filter_map(|(rest, benchmark)| {
                let (function, parameter) = match rest.rsplit_once('/') {
                    Some((function, value)) if has_parameters => (function, Some(value)),
                    None if size_of(rest).is_some() => (name_of_group, Some(*rest)),
                    _ => (*rest, None),
                };
                let summary = Summary::new(benchmark)?;
                let per_iteration = match metric {
                    Metric::Slots => summary.slots?.mean,
                    _ => summary.wall_ns.mean,
                };
                let shares = summary.shares.filter(|_| metric == Metric::Slots);
                Some(Member {
                    benchmark,
                    function: function.to_owned(),
                    parameter: parameter.map(str::to_owned),
                    per_iteration,
                    categories: shares.map(|s| s.level1.map(|share| share * per_iteration)),
                })
            })
            .collect();
        let mut parameters = unique(members.iter().map(|member| &member.parameter));
        // Words keep the order of the run, after the numbers.
        let number = |text: &Option<String>| text.as_deref().and_then(size_of).unwrap_or(f64::MAX);
        parameters.sort_by(|a, b| number(a).total_cmp(&number(b)));
        let inputs = parameters.into_iter().map(|parameter| Input {
            parameter: parameter.clone(),
            entries: entries(members.iter().filter(|m| m.parameter == *parameter), judge),
        });
        (!members.is_empty()).then(|| Ranking {
            group: group.to_owned(),
            metric,
            inputs: inputs.collect(),
            growths: growths(&members),
        })
    }
}

/// Returns whether the last part of each name is the value of a parameter: a number, or a word that
/// several functions share.
fn has_parameters(of_group: &[(&str, &Benchmark)]) -> bool {
    let parts = || {
        of_group
            .iter()
            .filter_map(|(rest, _)| rest.rsplit_once('/'))
    };
    let is_shared = |function: &str, value: &str| parts().any(|(f, v)| v == value && f != function);
    parts().all(|(function, value)| size_of(value).is_some() || is_shared(function, value))
}

/// Returns the number that a parameter is, if it is one that can be a size.
fn size_of(parameter: &str) -> Option<f64> {
    let number: f64 = parameter.replace('_', "").parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

fn entries<'a>(members: impl Iterator<Item = &'a Member<'a>>, judge: &Judge) -> Vec<Entry> {
    let mut members: Vec<&Member<'_>> = members.collect();
    members.sort_by(|a, b| a.per_iteration.total_cmp(&b.per_iteration));
    let Some(&first) = members.first() else {
        return Vec::new();
    };
    let entry = |(index, member): (usize, &&Member<'_>)| {
        let pair = (index > 0).then(|| judge.pair(member.benchmark, first.benchmark));
        Entry {
            id: member.benchmark.id.clone(),
            function: member.function.clone(),
            per_iteration: member.per_iteration,
            categories: member.categories,
            ratio: ratio(member.per_iteration, first.per_iteration).unwrap_or(1.0),
            differs: pair
                .filter(|pair| pair.judgement.is_compared())
                .map(|pair| pair.differs()),
        }
    };
    members.iter().enumerate().map(entry).collect()
}

/// Returns how each function with several sizes grows.
fn growths(members: &[Member<'_>]) -> Vec<Growth> {
    unique(members.iter().map(|member| member.function.as_str()))
        .into_iter()
        .filter_map(|function| {
            let members = members.iter().filter(|member| member.function == function);
            Growth::new(function, &members.collect::<Vec<_>>())
        })
        .collect()
}

impl Growth {
    fn new(function: &str, members: &[&Member<'_>]) -> Option<Growth> {
        let unit = common_unit(members);
        let mut sizes: Vec<Size> = (members.iter())
            .filter_map(|member| member.size(unit.is_some()))
            .collect();
        sizes.sort_by(|a, b| a.elements.total_cmp(&b.elements));
        let (first, last) = (sizes.first()?, sizes.last()?);
        if first.elements == last.elements || first.per_element <= 0.0 {
            return None;
        }
        let factor = last.per_element / first.per_element;
        let grown = (first.categories.zip(last.categories))
            .map(|(before, after)| before.zip(after).map(|(before, after)| after - before))
            .filter(|_| factor >= MIN_GROWTH);
        let category = grown.and_then(|grown| {
            let most = grown.iter().max_by(|a, b| a.1.total_cmp(b.1));
            most.map(|(category, _)| category)
        });
        Some(Growth {
            function: function.to_owned(),
            unit: unit.unwrap_or("parameter").to_owned(),
            factor,
            category,
            sizes,
        })
    }
}

impl Member<'_> {
    /// Returns its size by criterion's throughput, or else by its parameter.
    fn size(&self, by_throughput: bool) -> Option<Size> {
        let parameter = self.parameter.clone()?;
        let elements = match &self.benchmark.throughput {
            Some(throughput) if by_throughput => throughput.per_iteration as f64,
            _ => size_of(&parameter)?,
        };
        (elements > 0.0).then(|| Size {
            parameter,
            elements,
            per_element: self.per_iteration / elements,
            categories: self.categories.map(|c| c.map(|slots| slots / elements)),
        })
    }
}

/// Returns the unit of criterion's throughput, if all have the same.
fn common_unit<'a>(members: &[&Member<'a>]) -> Option<&'a str> {
    let mut units = members.iter().map(|member| {
        let throughput = member.benchmark.throughput.as_ref();
        throughput.map(|throughput| throughput.unit.as_str())
    });
    let first = units.next()??;
    units.all(|unit| unit == Some(first)).then_some(first)
}

/// Returns each value once, in the order of their first appearance.
fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::AcceptedChange;
    use crate::scenario::{self, Planted, benchmark, modelled, timed};
    use topdown_run::run_file::Throughput;

    /// 1,000 slots and these additions, each a fraction of them.
    fn planted(retiring: f64, backend_bound: f64) -> Planted {
        Planted {
            categories: [retiring, 0.0, 0.0, backend_bound].into(),
            ..Planted::default()
        }
    }

    fn pair_of(a: Benchmark, b: Benchmark) -> Pair {
        let run = scenario::run(vec![a, b]);
        let [a, b] = [&run.benchmarks[0], &run.benchmarks[1]];
        let run = LabelledRun {
            label: "newest",
            run: &run,
        };
        Versus::pair(run, [a, b], &Policy::default()).pair.unwrap()
    }

    fn ranking_of(benchmarks: Vec<Benchmark>, group: &str) -> Option<Ranking> {
        let run = scenario::run(benchmarks);
        let run = LabelledRun {
            label: "newest",
            run: &run,
        };
        Versus::ranking(run, group, &Policy::default())?.ranking
    }

    fn functions(input: &Input) -> Vec<&str> {
        input.entries.iter().map(|entry| &*entry.function).collect()
    }

    #[test]
    fn cheaper_benchmark_has_a_ratio_below_one_and_a_cause() {
        let pair = pair_of(
            modelled("ours", planted(0.0, 0.0)),
            modelled("theirs", planted(0.1, 0.15)),
        );
        assert!((pair.ratio.unwrap() - 0.8).abs() < 1e-9, "{pair:?}");
        assert!((pair.instructions_ratio.unwrap() - 0.8).abs() < 1e-9);
        assert!(pair.differs());
        let parts = pair.judgement.cause.unwrap().parts;
        assert_eq!(parts[0].category, Metric::BackendBound);
        assert!((parts[0].difference + 0.12).abs() < 1e-9);
    }

    #[test]
    fn equal_benchmarks_do_not_differ() {
        for seed in 0..200 {
            let noisy = |seed| Planted {
                seed,
                ..planted(0.0, 0.0)
            };
            let pair = pair_of(
                benchmark("a", noisy(seed)),
                benchmark("b", noisy(seed + 1000)),
            );
            assert!(!pair.differs(), "seed {seed}");
        }
    }

    #[test]
    fn noisy_difference_of_ten_percent_is_found() {
        for seed in 0..200 {
            let a = Planted {
                seed,
                ..planted(0.0, 0.1)
            };
            let pair = pair_of(benchmark("a", a), benchmark("b", planted(0.0, 0.0)));
            assert!(pair.differs(), "seed {seed}");
        }
    }

    #[test]
    fn slots_and_time_are_not_compared() {
        let pair = pair_of(
            modelled("a", planted(0.0, 0.0)),
            timed("b", planted(0.0, 0.0)),
        );
        assert!(!pair.differs() && pair.judgement.verdict == Verdict::NotComparable);
        assert_eq!(pair.ratio, None);
    }

    #[test]
    fn accepted_change_of_the_reference_hides_nothing() {
        let run = scenario::run(vec![
            modelled("a", planted(0.0, 0.5)),
            modelled("b", planted(0.0, 0.0)),
        ]);
        let change = AcceptedChange {
            reason: "more work".to_owned(),
            differences: [(Metric::Slots, 0.5), (Metric::BackendBound, 0.5)].into(),
            allocations: None,
        };
        let mut policy = Policy::default();
        let id = run.benchmarks[1].id.to_string();
        policy.accepted.insert(id, change);
        let labelled = LabelledRun {
            label: "newest",
            run: &run,
        };
        let sides = [&run.benchmarks[0], &run.benchmarks[1]];
        let pair = Versus::pair(labelled, sides, &policy).pair.unwrap();
        assert_eq!(pair.judgement.verdict, Verdict::Regressed);
    }

    #[test]
    fn group_is_ranked_with_the_cheapest_first() {
        let ranking = ranking_of(
            vec![
                modelled("parse/serde", planted(0.0, 0.4)),
                modelled("parse/ours", planted(0.0, 0.0)),
                modelled("parse/other", planted(0.0, 0.001)),
                modelled("parser/not", planted(0.0, 0.0)),
            ],
            "parse",
        );
        let ranking = ranking.unwrap();
        assert_eq!(ranking.inputs.len(), 1);
        let input = &ranking.inputs[0];
        assert_eq!(input.parameter, None);
        assert_eq!(functions(input), ["ours", "other", "serde"]);
        let differs: Vec<Option<bool>> = input.entries.iter().map(|e| e.differs).collect();
        assert_eq!(differs, [None, Some(false), Some(true)]);
        assert!((input.entries[2].ratio - 1.4).abs() < 1e-9);
        assert!(ranking.growths.is_empty());
    }

    #[test]
    fn missing_group_has_no_ranking() {
        let a = modelled("parse/serde", planted(0.0, 0.4));
        assert_eq!(ranking_of(vec![a], "pars"), None);
    }

    #[test]
    fn numeric_parameters_are_sizes_in_ascending_order() {
        let sized = |name: &str, retiring, backend| modelled(name, planted(retiring, backend));
        let ranking = ranking_of(
            vec![
                // 190 slots for an element instead of 100, and all of the others wait.
                sized("sort/std/1_000", 39.0, 150.0),
                sized("sort/std/10", 0.0, 0.0),
                sized("sort/ours/10", 0.5, 0.0),
                sized("sort/ours/1_000", 149.0, 0.0),
            ],
            "sort",
        );
        let ranking = ranking.unwrap();
        let parameters: Vec<_> = ranking
            .inputs
            .iter()
            .map(|i| i.parameter.as_deref())
            .collect();
        assert_eq!(parameters, [Some("10"), Some("1_000")]);
        assert_eq!(functions(&ranking.inputs[0]), ["std", "ours"]);
        assert_eq!(functions(&ranking.inputs[1]), ["ours", "std"]);
        let [std, ours] = &ranking.growths[..] else {
            panic!("{ranking:?}");
        };
        assert_eq!(
            (std.unit.as_str(), std.category),
            ("parameter", Some(Category::BackendBound))
        );
        assert!((std.factor - 1.9).abs() < 1e-9, "{std:?}");
        assert_eq!(ours.category, None, "{ours:?}");
    }

    #[test]
    fn throughput_is_the_size_where_all_have_it() {
        let with = |name, elements| Benchmark {
            throughput: Some(Throughput {
                per_iteration: elements,
                unit: "bytes".to_owned(),
            }),
            ..modelled(name, planted(0.0, 0.0))
        };
        let ranking = ranking_of(vec![with("copy/a/1", 4), with("copy/a/2", 8)], "copy").unwrap();
        let growth = &ranking.growths[0];
        assert_eq!(growth.unit, "bytes");
        assert!((growth.factor - 0.5).abs() < 1e-9);
        assert_eq!(growth.category, None);
    }

    #[test]
    fn parameter_alone_names_the_group_as_function() {
        let benchmarks = vec![
            modelled("memory/fill/8", planted(0.0, 0.0)),
            modelled("memory/fill/16", planted(1.0, 0.0)),
        ];
        let ranking = ranking_of(benchmarks, "memory/fill").unwrap();
        assert_eq!(ranking.inputs.len(), 2);
        assert_eq!(functions(&ranking.inputs[0]), ["fill"]);
        assert!((ranking.growths[0].factor - 1.0).abs() < 1e-9);
    }

    #[test]
    fn words_are_parameters_only_if_functions_share_them() {
        let parsed = |names: [&str; 3]| {
            let benchmarks = names.map(|name| modelled(name, planted(0.0, 0.0)));
            ranking_of(benchmarks.into(), "json").unwrap().inputs.len()
        };
        assert_eq!(parsed(["json/a/small", "json/b/small", "json/a/small"]), 1);
        assert_eq!(parsed(["json/parse/serde", "json/print/ours", "json/x"]), 1);
    }

    #[test]
    fn group_with_a_timed_benchmark_is_ranked_by_time() {
        let benchmarks = vec![
            modelled("g/a", planted(0.0, 0.0)),
            timed("g/b", planted(0.0, 0.0)),
        ];
        let ranking = ranking_of(benchmarks, "g").unwrap();
        assert_eq!(ranking.metric, Metric::Wall);
        assert_eq!(ranking.inputs[0].entries[1].differs, None);
        assert_eq!(ranking.inputs[0].entries[0].categories, None);
    }
}

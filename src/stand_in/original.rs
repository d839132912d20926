//! criterion's own types behind trait objects, with one type of closure for all benchmarks.
//!
//! criterion is generic over the measurement and over each benchmark's closure: every bench target
//! would compile sampling, analysis and the command line anew, mostly once per benchmark. Behind
//! these traits they are compiled once per measurement, and for [`WallTime`](super::WallTime) as
//! part of this library. The measured code is unaffected: benchmarks get criterion's own `Bencher`.

use criterion::measurement::Measurement;

use super::author::Plan;

/// A benchmark as criterion calls it. An input is captured by the closure.
pub(super) type Routine<'f, M> = &'f mut dyn FnMut(&mut criterion::Bencher<'_, M>);

/// What criterion compiles for a measurement, compiled where this is created.
///
/// A boxed trait object was rejected: it would keep measurements from borrowing, because
/// [`Criterion`](super::Criterion) has no lifetime to name.
pub(super) struct Compiled<M: Measurement> {
    pub(super) as_original:
        for<'c> fn(&'c mut criterion::Criterion<M>) -> &'c mut (dyn OriginalCriterion<M> + 'c),
    pub(super) configure: fn(criterion::Criterion<M>, Plan) -> criterion::Criterion<M>,
}

impl<M: Measurement> Compiled<M> {
    pub(super) fn here() -> Compiled<M> {
        Compiled {
            as_original: |original| original,
            configure: |original, plan| plan.restore(original.configure_from_args()),
        }
    }
}

/// criterion's `Criterion`.
pub(super) trait OriginalCriterion<M: Measurement> {
    fn group(&mut self, name: String) -> Box<dyn OriginalGroup<'_, M> + '_>;

    fn bench_function(&mut self, id: &str, routine: Routine<'_, M>)
    where
        M: 'static;

    fn bench_with_input(&mut self, id: criterion::BenchmarkId, routine: Routine<'_, M>)
    where
        M: 'static;
}

impl<M: Measurement> OriginalCriterion<M> for criterion::Criterion<M> {
    fn group(&mut self, name: String) -> Box<dyn OriginalGroup<'_, M> + '_> {
        Box::new(self.benchmark_group(name))
    }

    fn bench_function(&mut self, id: &str, routine: Routine<'_, M>)
    where
        M: 'static,
    {
        self.bench_function(id, routine);
    }

    fn bench_with_input(&mut self, id: criterion::BenchmarkId, routine: Routine<'_, M>)
    where
        M: 'static,
    {
        self.bench_with_input(id, &(), without_input(routine));
    }
}

/// criterion's `BenchmarkGroup`.
pub(super) trait OriginalGroup<'a, M: Measurement> {
    fn borrowed_mut(&mut self) -> &mut criterion::BenchmarkGroup<'a, M>;

    fn bench(&mut self, id: Id, routine: Routine<'_, M>);
}

impl<'a, M: Measurement> OriginalGroup<'a, M> for criterion::BenchmarkGroup<'a, M> {
    fn borrowed_mut(&mut self) -> &mut criterion::BenchmarkGroup<'a, M> {
        self
    }

    fn bench(&mut self, id: Id, routine: Routine<'_, M>) {
        let routine = without_input(routine);
        match id {
            Id::Name(name) => self.bench_with_input(name, &(), routine),
            Id::Original(id) => self.bench_with_input(id, &(), routine),
        };
    }
}

/// What criterion accepts as the name of a benchmark.
pub enum Id {
    /// A plain name.
    Name(String),
    /// A function, a parameter, or both.
    Original(criterion::BenchmarkId),
}

/// Returns one closure type for all benchmarks, since criterion's functions with an input are
/// generic over it.
fn without_input<M: Measurement>(
    routine: Routine<'_, M>,
) -> impl FnMut(&mut criterion::Bencher<'_, M>, &()) {
    move |bencher, ()| routine(bencher)
}

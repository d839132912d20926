//! criterion's own types behind trait objects, with one type of closure for all benchmarks.
//!
//! criterion is generic over the measurement and over each benchmark's closure: every bench target
//! would compile sampling, analysis and the command line anew, mostly once per benchmark. Behind
//! these traits they are compiled once per measurement, and for [`TopDown`](crate::TopDown) as part
//! of this library. The measured code is unaffected, since [`Bencher`](super::Bencher) passes
//! routines by value.

use criterion::measurement::Measurement;

use super::author::Plan;

/// A benchmark as criterion calls it. An input is captured by the closure.
pub(super) type Routine<'f, M> = &'f mut dyn FnMut(&mut criterion::Bencher<'_, M>);

/// A function of criterion that takes and returns a whole `Criterion`. It is called once.
pub(super) type Change<'f, M> =
    &'f mut dyn FnMut(criterion::Criterion<M>) -> criterion::Criterion<M>;

/// criterion's `Criterion`.
pub(super) trait OriginalCriterion<M: Measurement> {
    fn borrowed(&self) -> &criterion::Criterion<M>;

    fn borrowed_mut(&mut self) -> &mut criterion::Criterion<M>;

    fn unboxed(self: Box<Self>) -> criterion::Criterion<M>;

    fn changed(self: Box<Self>, change: Change<'_, M>) -> Box<dyn OriginalCriterion<M>>;

    fn configured_from_args(self: Box<Self>, plan: Plan) -> Box<dyn OriginalCriterion<M>>;

    fn group(&mut self, name: String) -> Box<dyn OriginalGroup<'_, M> + '_>;

    fn bench_function(&mut self, id: &str, routine: Routine<'_, M>);

    fn bench_with_input(&mut self, id: criterion::BenchmarkId, routine: Routine<'_, M>);
}

impl<M: Measurement + 'static> OriginalCriterion<M> for criterion::Criterion<M> {
    fn borrowed(&self) -> &criterion::Criterion<M> {
        self
    }

    fn borrowed_mut(&mut self) -> &mut criterion::Criterion<M> {
        self
    }

    fn unboxed(self: Box<Self>) -> criterion::Criterion<M> {
        *self
    }

    fn changed(self: Box<Self>, change: Change<'_, M>) -> Box<dyn OriginalCriterion<M>> {
        Box::new(change(*self))
    }

    fn configured_from_args(self: Box<Self>, plan: Plan) -> Box<dyn OriginalCriterion<M>> {
        Box::new(plan.restore(self.configure_from_args()))
    }

    fn group(&mut self, name: String) -> Box<dyn OriginalGroup<'_, M> + '_> {
        Box::new(self.benchmark_group(name))
    }

    fn bench_function(&mut self, id: &str, routine: Routine<'_, M>) {
        self.bench_function(id, routine);
    }

    fn bench_with_input(&mut self, id: criterion::BenchmarkId, routine: Routine<'_, M>) {
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

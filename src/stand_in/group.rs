//! `BenchmarkGroup`, behind which criterion is compiled once, and its `BenchmarkId`.

use std::fmt::Display;
use std::time::Duration;

use criterion::measurement::Measurement;
use criterion::{PlotConfiguration, SamplingMode, Throughput};

use super::original::{Id, OriginalGroup};
use super::{Bencher, author};
use crate::forks;

/// Like criterion's `BenchmarkId`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BenchmarkId(pub(super) criterion::BenchmarkId);

impl BenchmarkId {
    /// Like criterion's `new`.
    pub fn new<S: Into<String>, P: Display>(function_name: S, parameter: P) -> BenchmarkId {
        BenchmarkId(criterion::BenchmarkId::new(function_name, parameter))
    }

    /// Like criterion's `from_parameter`.
    pub fn from_parameter<P: Display>(parameter: P) -> BenchmarkId {
        BenchmarkId(criterion::BenchmarkId::from_parameter(parameter))
    }
}

/// The types that name a benchmark in a group: a [`BenchmarkId`] or a string.
///
/// criterion has such a trait too, but keeps it private.
pub trait IntoBenchmarkId {
    /// Converts to what criterion accepts.
    #[doc(hidden)]
    fn into_id(self) -> Id;
}

impl IntoBenchmarkId for BenchmarkId {
    fn into_id(self) -> Id {
        Id::Original(self.0)
    }
}

impl<S: Into<String>> IntoBenchmarkId for S {
    fn into_id(self) -> Id {
        Id::Name(self.into())
    }
}

/// Like criterion's `BenchmarkGroup`.
pub struct BenchmarkGroup<'a, M: Measurement + 'a>(pub(super) Box<dyn OriginalGroup<'a, M> + 'a>);

/// Forwards the methods of the original that return it.
macro_rules! forward {
    ($($name:ident($argument:ident: $type:ty);)*) => { $(
        #[doc = concat!("As criterion's `", stringify!($name), "`.")]
        pub fn $name(&mut self, $argument: $type) -> &mut Self {
            self.0.borrowed_mut().$name($argument);
            self
        }
    )* };
}

/// Forwards likewise, except in launches where [`cargo topdown` decides](super::author).
macro_rules! forward_in_plain_criterion {
    ($($name:ident($argument:ident: $type:ty);)*) => { $(
        #[doc = concat!("As criterion's `", stringify!($name), "`. `cargo topdown` decides in its \
            place.")]
        pub fn $name(&mut self, $argument: $type) -> &mut Self {
            if author::decides() {
                self.0.borrowed_mut().$name($argument);
            }
            self
        }
    )* };
}

impl<M: Measurement> BenchmarkGroup<'_, M> {
    forward_in_plain_criterion! {
        sample_size(samples: usize);
        warm_up_time(duration: Duration);
        measurement_time(duration: Duration);
        sampling_mode(mode: SamplingMode);
    }

    forward! {
        nresamples(resamples: usize);
        noise_threshold(fraction: f64);
        confidence_level(level: f64);
        significance_level(level: f64);
        plot_config(config: PlotConfiguration);
        throughput(throughput: Throughput);
    }

    /// Like criterion's `bench_function`.
    pub fn bench_function<ID: IntoBenchmarkId, F>(&mut self, id: ID, mut f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        forks::benchmark(|| self.0.bench(id.into_id(), &mut f));
        self
    }

    /// Like criterion's `bench_with_input`.
    pub fn bench_with_input<ID: IntoBenchmarkId, F, I>(
        &mut self,
        id: ID,
        input: &I,
        mut f: F,
    ) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
        I: ?Sized,
    {
        forks::benchmark(|| self.0.bench(id.into_id(), &mut |b| f(b, input)));
        self
    }

    /// Like criterion's `finish`.
    pub fn finish(self) {}
}

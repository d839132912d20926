//! criterion's own names with [`TopDown`](crate::TopDown) as the default measurement, so that this
//! package can stand in for criterion in a project's manifest:
//!
//! ```toml
//! [dev-dependencies]
//! criterion = { package = "criterion-topdown", version = "0.1" }
//! ```
//!
//! Existing benches then measure TopDown with their source unchanged. Where a closure of
//! `iter_custom` measures time by itself, only the model knows more, and only if the closure
//! returns what passed between looks at the clock. For slots everywhere, let it measure with
//! [`WallTime`], or with [`TopDown::measure`](crate::TopDown::measure).

mod author;
mod group;
mod original;
mod wall_time;

use std::path::Path;
use std::time::Duration;

use criterion::measurement::Measurement;
use criterion::profiler::Profiler;
pub use criterion::{
    AxisScale, Baseline, BatchSize, BenchmarkFilter, PlotConfiguration, PlottingBackend,
    SamplingMode, Throughput, async_executor, profiler,
};
pub use std::hint::black_box;

pub use group::{BenchmarkGroup, BenchmarkId, IntoBenchmarkId};

#[doc(hidden)]
pub use crate::completion_marker::CompletionMarker;
use crate::forks;
use crate::recorder::Recorder;
use measurement::WallTime;
use original::{Compiled, OriginalCriterion};
use wall_time::Opened;

/// criterion's `measurement` module with the [`WallTime`] of this library.
pub mod measurement {
    pub use criterion::measurement::{Measurement, ValueFormatter};

    pub use super::wall_time::WallTime;
}

/// criterion's `Bencher`, measuring TopDown by default.
pub type Bencher<'a, M = WallTime> = criterion::Bencher<'a, M>;

/// criterion's `AsyncBencher`, measuring TopDown by default.
#[cfg(feature = "async")]
pub type AsyncBencher<'a, 'b, A, M = WallTime> = criterion::AsyncBencher<'a, 'b, A, M>;

/// criterion's `Criterion`, measuring TopDown by default.
///
/// A separate type rather than an alias, because the original's `Default` always means criterion's
/// own wall-clock time.
pub struct Criterion<M: Measurement = WallTime> {
    original: criterion::Criterion<M>,
    compiled: Compiled<M>,
    plan: author::Plan,
    /// What counts slots, unless another measurement is used.
    opened: Option<Opened>,
}

impl Default for Criterion {
    fn default() -> Criterion {
        let criterion = Criterion {
            opened: Some(Opened::new()),
            original: original_criterion(),
            compiled: Compiled::here(),
            plan: author::Plan::default(),
        };
        // Some benches never do it themselves. They would ignore what a launch asks for.
        if Recorder::is_wanted() {
            criterion.configure_from_args()
        } else {
            criterion
        }
    }
}

/// Forwards the methods of criterion that take and return a whole `Criterion`.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => { $(
        #[doc = concat!("As criterion's `", stringify!($name), "`.")]
        #[must_use]
        pub fn $name(self $(, $argument: $type)*) -> Self {
            self.with(|original| original.$name($($argument),*))
        }
    )* };
}

/// Forwards likewise, except in launches where [`cargo topdown` decides](author).
macro_rules! forward_in_plain_criterion {
    ($($name:ident($argument:ident: $type:ty);)*) => { $(
        #[doc = concat!("As criterion's `", stringify!($name), "`. `cargo topdown` decides in its \
            place.")]
        #[must_use]
        pub fn $name(mut self, $argument: $type) -> Self {
            if !author::decides() {
                return self;
            }
            self.plan.$name = Some($argument);
            self.with(|original| original.$name($argument))
        }
    )* };
}

impl<M: Measurement> Criterion<M> {
    forward_in_plain_criterion! {
        sample_size(samples: usize);
        warm_up_time(duration: Duration);
        measurement_time(duration: Duration);
    }

    /// Like criterion's `with_measurement`. Only [`WallTime`] itself counts slots: what a
    /// measurement that wraps it makes of its values is unknown here.
    pub fn with_measurement<M2: Measurement>(self, measurement: M2) -> Criterion<M2> {
        Criterion {
            original: self.original.with_measurement(measurement),
            compiled: Compiled::here(),
            plan: self.plan,
            opened: is_wall_time::<M2>().then(|| self.opened.unwrap_or_else(Opened::new)),
        }
    }

    /// Like criterion's `with_profiler`.
    #[must_use]
    pub fn with_profiler<P: Profiler + 'static>(self, profiler: P) -> Self {
        self.with(|original| original.with_profiler(profiler))
    }

    /// Like criterion's `with_filter`.
    #[must_use]
    pub fn with_filter<S: Into<String>>(self, filter: S) -> Self {
        self.with(|original| original.with_filter(filter))
    }

    forward! {
        plotting_backend(backend: PlottingBackend);
        nresamples(resamples: usize);
        noise_threshold(fraction: f64);
        confidence_level(level: f64);
        significance_level(level: f64);
        with_plots();
        without_plots();
        save_baseline(name: String);
        retain_baseline(name: String, strict: bool);
        with_benchmark_filter(filter: BenchmarkFilter);
        with_output_color(enabled: bool);
        output_directory(path: &Path);
        profile_time(duration: Option<Duration>);
    }

    /// Like criterion's `configure_from_args`. With `cargo topdown bench --author-settings`,
    /// earlier settings stay in force.
    #[must_use]
    pub fn configure_from_args(self) -> Self {
        let (configure, plan) = (self.compiled.configure, self.plan);
        self.with(|original| configure(original, plan))
    }

    /// Like criterion's `final_summary`.
    #[doc(hidden)]
    pub fn final_summary(&self) {
        self.original.final_summary();
    }

    /// Like criterion's `benchmark_group`.
    pub fn benchmark_group<S: Into<String>>(&mut self, group_name: S) -> BenchmarkGroup<'_, M> {
        BenchmarkGroup(self.original_mut().group(group_name.into()))
    }

    fn with(
        self,
        change: impl FnOnce(criterion::Criterion<M>) -> criterion::Criterion<M>,
    ) -> Criterion<M> {
        Criterion {
            original: change(self.original),
            ..self
        }
    }

    fn original_mut(&mut self) -> &mut (dyn OriginalCriterion<M> + '_) {
        (self.compiled.as_original)(&mut self.original)
    }
}

impl<M: Measurement + 'static> Criterion<M> {
    /// Like criterion's `bench_function`.
    pub fn bench_function<F>(&mut self, id: &str, mut f: F) -> &mut Criterion<M>
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        forks::benchmark(|| self.original_mut().bench_function(id, &mut f));
        self
    }

    /// Like criterion's `bench_with_input`.
    pub fn bench_with_input<F, I>(
        &mut self,
        id: BenchmarkId,
        input: &I,
        mut f: F,
    ) -> &mut Criterion<M>
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        forks::benchmark(|| {
            let original = self.original_mut();
            original.bench_with_input(id.0, &mut |b| f(b, input));
        });
        self
    }
}

/// Returns whether `M` is [`WallTime`]. By name, because the types of measurements that borrow have
/// no `TypeId`.
fn is_wall_time<M>() -> bool {
    std::any::type_name::<M>() == std::any::type_name::<WallTime>()
}

/// Like criterion's `criterion_group!`.
#[macro_export]
macro_rules! criterion_group {
    (name = $name:ident; config = $config:expr; targets = $($target:path),+ $(,)*) => {
        /// Runs the benchmarks of this group.
        pub fn $name() {
            let mut criterion: $crate::Criterion<_> = $config.configure_from_args();
            $($target(&mut criterion);)+
        }
    };
    ($name:ident, $($target:path),+ $(,)*) => {
        $crate::criterion_group! {
            name = $name;
            config = $crate::Criterion::default();
            targets = $($target),+
        }
    };
}

/// Like criterion's `criterion_main!`.
#[macro_export]
macro_rules! criterion_main {
    ($($group:path),+ $(,)*) => {
        fn main() {
            let marker = $crate::CompletionMarker::announce();
            $($group();)+
            $crate::final_summary();
            drop(marker);
        }
    };
}

/// The last step of `criterion_main!`. It measures nothing, so it opens no counters.
#[doc(hidden)]
pub fn final_summary() {
    original_criterion().configure_from_args().final_summary();
}

/// Like criterion's `runner`.
#[doc(hidden)]
pub fn runner(benches: &[&dyn Fn()]) {
    for bench in benches {
        bench();
    }
    final_summary();
}

fn original_criterion() -> criterion::Criterion<WallTime> {
    criterion::Criterion::default().with_measurement(WallTime)
}

//! criterion's own names with [`TopDown`] as the default measurement, so that this package can
//! stand in for criterion in a project's manifest:
//!
//! ```toml
//! [dev-dependencies]
//! criterion = { package = "criterion-topdown", version = "0.1" }
//! ```
//!
//! Existing benches then measure TopDown with their source unchanged. A benchmark whose
//! `iter_custom` returns a `Duration` yields only time; to get slots, return a
//! [`Sample`](crate::sample::Sample) from [`TopDown::measure`].

mod author;
mod bencher;
mod group;
mod original;

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use criterion::measurement::Measurement;
use criterion::profiler::Profiler;
pub use criterion::{
    AxisScale, Baseline, BatchSize, BenchmarkFilter, PlotConfiguration, PlottingBackend,
    SamplingMode, Throughput, async_executor, profiler,
};
pub use std::hint::black_box;

#[cfg(feature = "async")]
pub use bencher::AsyncBencher;
pub use bencher::Bencher;
pub use group::{BenchmarkGroup, BenchmarkId, IntoBenchmarkId};

use crate::TopDown;
use crate::counter::time::Time;
#[doc(hidden)]
pub use crate::last_word::LastWord;
use crate::recorder::Recorder;
use original::OriginalCriterion;

/// criterion's `measurement` module, in which `WallTime`, the default measurement's name in
/// signatures, is [`TopDown`].
pub mod measurement {
    pub use criterion::measurement::{Measurement, ValueFormatter};

    pub use crate::TopDown as WallTime;
}

/// criterion's `Criterion`, measuring TopDown by default.
///
/// A separate type rather than an alias, because the original's `Default` always means wall-clock
/// time. Everything not defined here is the original's, via `Deref`.
pub struct Criterion<M: Measurement = TopDown> {
    original: Box<dyn OriginalCriterion<M>>,
    plan: author::Plan,
}

impl Default for Criterion {
    fn default() -> Criterion {
        let criterion = Criterion {
            original: Box::new(measuring(TopDown::new())),
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

impl<M: Measurement> Deref for Criterion<M> {
    type Target = criterion::Criterion<M>;

    fn deref(&self) -> &Self::Target {
        self.original.borrowed()
    }
}

impl<M: Measurement> DerefMut for Criterion<M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.original.borrowed_mut()
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

    /// Like criterion's `with_measurement`.
    #[must_use]
    pub fn with_measurement<M2: Measurement + 'static>(self, measurement: M2) -> Criterion<M2> {
        Criterion {
            original: Box::new(self.original.unboxed().with_measurement(measurement)),
            plan: self.plan,
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
        Criterion {
            original: self.original.configured_from_args(self.plan),
            ..self
        }
    }

    fn with(
        self,
        change: impl FnOnce(criterion::Criterion<M>) -> criterion::Criterion<M>,
    ) -> Criterion<M> {
        let mut change = Some(change);
        let original = self.original.changed(&mut |original| match change.take() {
            Some(change) => change(original),
            None => original,
        });
        Criterion { original, ..self }
    }
}

impl<M: Measurement + 'static> Criterion<M> {
    /// Like criterion's `benchmark_group`.
    pub fn benchmark_group<S: Into<String>>(&mut self, group_name: S) -> BenchmarkGroup<'_, M> {
        BenchmarkGroup(self.original.group(group_name.into()))
    }

    /// Like criterion's `bench_function`.
    pub fn bench_function<F>(&mut self, id: &str, mut f: F) -> &mut Criterion<M>
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        self.original
            .bench_function(id, &mut |b| f(&mut Bencher::new(b)));
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
        self.original
            .bench_with_input(id.0, &mut |b| f(&mut Bencher::new(b), input));
        self
    }
}

/// Like criterion's `criterion_group!`.
#[macro_export]
macro_rules! criterion_group {
    (name = $name:ident; config = $config:expr; targets = $($target:path),+ $(,)?) => {
        /// Runs the benchmarks of this group.
        pub fn $name() {
            let mut criterion: $crate::Criterion<_> = $config.configure_from_args();
            $($target(&mut criterion);)+
        }
    };
    ($name:ident, $($target:path),+ $(,)?) => {
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
    ($($group:path),+ $(,)?) => {
        fn main() {
            let last_word = $crate::LastWord::owed();
            $($group();)+
            $crate::final_summary();
            drop(last_word);
        }
    };
}

/// The last step of `criterion_main!`. It measures nothing, so it opens no counters. It uses a
/// clock because another type of measurement would compile criterion once more.
#[doc(hidden)]
pub fn final_summary() {
    let clock = TopDown::with_source(Box::new(Time::new("nothing is measured")));
    measuring(clock).configure_from_args().final_summary();
}

fn measuring(measurement: TopDown) -> criterion::Criterion<TopDown> {
    criterion::Criterion::default().with_measurement(measurement)
}

// Sources as users write them for criterion 0.8: every public item and signature of it. `criterion`
// is the package itself in one module, and this library in another.

use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use self::criterion::async_executor::AsyncExecutor;
use self::criterion::measurement::{Measurement, ValueFormatter, WallTime};
use self::criterion::profiler::{ExternalProfiler, Profiler};
use self::criterion::{
    AxisScale, Baseline, BatchSize, Bencher, BenchmarkFilter, BenchmarkGroup, BenchmarkId,
    Criterion, PlotConfiguration, PlottingBackend, SamplingMode, Throughput, criterion_group,
    criterion_main,
};

// Values of `WallTime`.

static SHARED: WallTime = WallTime;
const CLOCK: WallTime = WallTime;

fn is_send_and_sync<T: Send + Sync + Unpin + 'static>(_: &T) {}

pub fn wall_time_is_a_value() -> Duration {
    is_send_and_sync(&SHARED);
    let WallTime = CLOCK;
    let begun: Instant = WallTime.start();
    let window: Duration = WallTime.end(begun);
    let sum: Duration = WallTime.add(&WallTime.zero(), &window);
    let _: f64 = WallTime.to_f64(&sum);
    let _: String = WallTime.formatter().format_value(1.0);
    let constructor = [WallTime, CLOCK].len();
    sum * constructor as u32
}

pub fn default_measurement() -> Criterion {
    Criterion::default().with_measurement(WallTime)
}

// Measurements that wrap it.

pub struct Wrapped(WallTime);

impl Measurement for Wrapped {
    type Intermediate = Instant;
    type Value = Duration;

    fn start(&self) -> Instant {
        self.0.start()
    }

    fn end(&self, begun: Instant) -> Duration {
        self.0.end(begun)
    }

    fn add(&self, left: &Duration, right: &Duration) -> Duration {
        self.0.add(left, right)
    }

    fn zero(&self) -> Duration {
        WallTime.zero()
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        self.0.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self.0.formatter()
    }
}

pub struct Halved<'a> {
    inner: WallTime,
    calls: &'a std::cell::Cell<u32>,
}

impl Measurement for Halved<'_> {
    type Intermediate = <WallTime as Measurement>::Intermediate;
    type Value = <WallTime as Measurement>::Value;

    fn start(&self) -> Self::Intermediate {
        self.calls.set(self.calls.get() + 1);
        self.inner.start()
    }

    fn end(&self, begun: Self::Intermediate) -> Self::Value {
        self.inner.end(begun) / 2
    }

    fn add(&self, left: &Self::Value, right: &Self::Value) -> Self::Value {
        *left + *right
    }

    fn zero(&self) -> Self::Value {
        Duration::from_secs(0)
    }

    fn to_f64(&self, value: &Self::Value) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self
    }
}

impl ValueFormatter for Halved<'_> {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "half ns"
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        throughput: &Throughput,
        _values: &mut [f64],
    ) -> &'static str {
        match throughput {
            Throughput::Bits(_) | Throughput::Bytes(_) | Throughput::BytesDecimal(_) => "B",
            Throughput::Elements(_) => "elem",
            Throughput::ElementsAndBytes {
                elements: _,
                bytes: _,
            } => "both",
        }
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "half ns"
    }
}

pub fn wrapped() -> Criterion<Wrapped> {
    Criterion::default().with_measurement(Wrapped(WallTime))
}

/// A measurement that borrows.
pub fn borrowing(calls: &std::cell::Cell<u32>) {
    let inner = WallTime;
    let mut criterion = Criterion::default().with_measurement(Halved { inner, calls });
    with_group(&mut criterion);
}

// Functions that are generic over the measurement.

pub fn measuring<M: Measurement>(measurement: M) -> Criterion<M> {
    Criterion::default()
        .sample_size(20)
        .with_measurement(measurement)
}

pub fn with_group<M: Measurement>(c: &mut Criterion<M>) {
    let mut group = c.benchmark_group(String::from("generic"));
    group.bench_function("iter", |b| b.iter(|| 1));
    in_group(&mut group);
    by_value(group);
}

fn in_group<M: Measurement>(group: &mut BenchmarkGroup<'_, M>) {
    group.bench_with_input("input", "text", |b, text| b.iter(|| text.len()));
}

fn by_value<M>(group: BenchmarkGroup<'_, M>)
where
    M: Measurement,
{
    group.finish();
}

pub struct Suite<'a, M: Measurement> {
    group: BenchmarkGroup<'a, M>,
}

impl<'a, M: Measurement> Suite<'a, M> {
    pub fn new(criterion: &'a mut Criterion<M>) -> Suite<'a, M> {
        let group = criterion.benchmark_group("suite");
        Suite { group }
    }

    pub fn add(&mut self, name: &str, routine: impl Fn() -> u64) -> &mut Self {
        self.group.bench_function(name, |b| b.iter(&routine));
        self
    }
}

pub fn statics<M: Measurement + 'static>(c: &mut Criterion<M>) {
    c.bench_function("function", |b: &mut Bencher<'_, M>| b.iter(|| 1))
        .bench_with_input(BenchmarkId::new("input", 3), &3, |b, n| b.iter(|| n + 1));
}

fn durations<M: Measurement<Value = Duration>>(group: &mut BenchmarkGroup<'_, M>) {
    group.bench_function("custom", |b| {
        b.iter_custom(|n| {
            let begun = Instant::now();
            (0..n).for_each(drop);
            begun.elapsed()
        })
    });
}

pub fn with_the_default(c: &mut Criterion) {
    let mut group = c.benchmark_group("durations");
    durations(&mut group);
    group.finish();
    statics(c);
    with_group(c);
    Suite::new(c).add("one", || 1).add("two", || 2);
}

// Closures whose value is inferred.

fn one() -> Duration {
    Duration::from_nanos(1)
}

struct Ticks(u64);

impl From<Ticks> for Duration {
    fn from(ticks: Ticks) -> Duration {
        Duration::from_nanos(ticks.0)
    }
}

struct Text(&'static str);

impl Text {
    fn parsed<T: From<Duration>>(&self) -> T {
        one().into()
    }
}

pub fn inferred(c: &mut Criterion) {
    c.bench_function("sum", |b| b.iter_custom(|n| (0..n).map(|_| one()).sum()))
        .bench_function("into", |b| b.iter_custom(|n| Ticks(n).into()))
        .bench_function("try_into", |b| {
            b.iter_custom(|n| Ticks(n).try_into().unwrap())
        })
        .bench_function("default", |b| b.iter_custom(|_| Default::default()))
        .bench_function("turbofish", |b| b.iter_custom(|_| Text("1 ns").parsed()))
        .bench_function("fold", |b| {
            b.iter_custom(|n| {
                let mut total = Default::default();
                for _ in 0..n {
                    total += one();
                }
                total
            })
        })
        .bench_function("generic", |b| b.iter_custom::<fn(u64) -> Duration>(|_| one()))
        .bench_function("window", |b| {
            b.iter_custom(|_| {
                let begun = WallTime.start();
                WallTime.end(begun)
            })
        });
    let _ = Text("").0;
}

// Benchers.

fn named(b: &mut Bencher) {
    b.iter(|| 1);
}

fn with_lifetimes<'a, 'b>(b: &'a mut Bencher<'b, WallTime>, n: &u64) {
    b.iter_batched(|| *n, |n| n + 1, BatchSize::SmallInput);
}

struct Holder<'a, 'b> {
    bencher: &'a mut Bencher<'b>,
}

pub fn benchers(c: &mut Criterion) {
    c.bench_function("named", named)
        .bench_with_input(BenchmarkId::new("named", 1), &1, with_lifetimes)
        .bench_function("path", |b| Bencher::iter(b, || 1))
        .bench_function("held", |b| Holder { bencher: b }.bencher.iter(|| 1));
    c.bench_function("methods", |b| {
        b.iter_with_setup(|| 1, |n| n + 1);
        b.iter_with_large_drop(|| vec![1]);
        b.iter_batched_ref(|| vec![1], |v| v.pop(), BatchSize::LargeInput);
        b.iter_batched(|| 1, |n| n, BatchSize::PerIteration);
        b.iter_batched(|| 1, |n| n, BatchSize::NumBatches(2));
        b.iter_batched(|| 1, |n| n, BatchSize::NumIterations(2));
    });
    // As in a thread pool's `install`.
    c.bench_function("other_thread", |b| {
        std::thread::scope(|scope| scope.spawn(|| b.iter(|| 1)).join().unwrap());
    });
    let functions: [(&str, fn(&mut Bencher)); 1] = [("pointer", named)];
    for (name, function) in functions {
        c.bench_function(name, function);
    }
    let mut boxed: Vec<Box<dyn FnMut(&mut Bencher<'_, WallTime>)>> = vec![Box::new(named)];
    c.bench_function("boxed", &mut boxed[0]);
}

// Everything of `Criterion`.

struct Nothing;

impl Profiler for Nothing {
    fn start_profiling(&mut self, _id: &str, _directory: &Path) {}
    fn stop_profiling(&mut self, _id: &str, _directory: &Path) {}
}

pub fn configured() -> Criterion {
    let _: fn(Criterion, &Path) -> Criterion = Criterion::output_directory;
    let _: fn(Criterion, Option<Duration>) -> Criterion = Criterion::profile_time;
    let _: fn(Criterion) -> Criterion = Criterion::configure_from_args;
    Criterion::default()
        .with_profiler(ExternalProfiler)
        .with_profiler(Nothing)
        .plotting_backend(PlottingBackend::None)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1))
        .nresamples(2000)
        .noise_threshold(0.01)
        .confidence_level(0.95)
        .significance_level(0.05)
        .with_plots()
        .without_plots()
        .save_baseline("b".to_owned())
        .retain_baseline("b".to_owned(), true)
        .with_filter("f")
        .with_filter(String::new())
        .with_benchmark_filter(BenchmarkFilter::AcceptAll)
        .with_output_color(false)
}

pub fn filters(exact: String) -> [BenchmarkFilter; 3] {
    [
        BenchmarkFilter::RejectAll,
        BenchmarkFilter::Exact(exact),
        BenchmarkFilter::AcceptAll.clone(),
    ]
}

pub fn own_main() {
    let mut criterion = Criterion::default().configure_from_args();
    grouped(&mut criterion);
    criterion.final_summary();
    criterion::runner(&[&|| {}]);
}

pub fn enums() -> impl std::fmt::Debug {
    let baselines = [
        Baseline::CompareLenient,
        Baseline::CompareStrict,
        Baseline::Save,
        Baseline::Discard,
    ];
    let backends = [PlottingBackend::Gnuplot, PlottingBackend::Plotters];
    let modes = [
        SamplingMode::Auto,
        SamplingMode::Linear,
        SamplingMode::Flat,
    ];
    (baselines, backends, modes)
}

// Everything of groups.

fn grouped(c: &mut Criterion) {
    let mut group: BenchmarkGroup<'_, WallTime> = c.benchmark_group("group");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1))
        .nresamples(2000)
        .noise_threshold(0.01)
        .confidence_level(0.95)
        .significance_level(0.05)
        .plot_config(PlotConfiguration::default().summary_scale(AxisScale::Logarithmic))
        .throughput(Throughput::Elements(1))
        .sampling_mode(SamplingMode::Flat)
        .bench_function("text", named)
        .bench_function(String::from("owned"), named)
        .bench_function(BenchmarkId::from_parameter("parameter"), named)
        .bench_function(BenchmarkId::new("id", 1).clone(), named)
        .bench_with_input("input", &[1, 2][..], |b, slice| b.iter(|| slice.len()))
        .bench_with_input(BenchmarkId::new(String::from("owned"), 'c'), &7, with_lifetimes);
    group.finish();
    let ids = std::collections::HashSet::from([BenchmarkId::new("a", 1)]);
    assert!(ids.contains(&BenchmarkId::new("a", 1)));
}

pub fn in_executor<E: AsyncExecutor>(executor: E) {
    struct Borrowing<E>(E);
    impl<E: AsyncExecutor> AsyncExecutor for Borrowing<E> {
        fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
            self.0.block_on(future)
        }
    }
    Borrowing(executor).block_on(async {});
}

#[allow(deprecated)]
fn deprecated(c: &mut Criterion) {
    c.bench_function("black_box", |b| b.iter(|| criterion::black_box(1)));
}

criterion_group!(short, benchers, grouped,);
criterion_group! {
    name = long;
    config = configured();
    targets = inferred, with_the_default, deprecated,,
}
criterion_group! {
    name = default_named;
    config = default_measurement();
    targets = statics
}
criterion_group! {
    name = own_measurement;
    config = wrapped();
    targets = statics::<Wrapped>, with_group,
}
criterion_group! {
    name = generic_config;
    config = measuring(Wrapped(WallTime));
    targets = statics
}
criterion_main!(short, long, default_named, own_measurement, generic_config,);

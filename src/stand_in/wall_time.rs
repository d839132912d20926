//! The default measurement.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::time::{Duration, Instant};

use criterion::measurement::{Measurement, ValueFormatter};

use crate::TopDown;
use crate::formatter::SlotsFormatter;
use topdown_counters::Reading;
use topdown_run::provenance::SourceKind;

/// What measures in place of criterion's `WallTime`: [`TopDown`] in benchmarks of a
/// [`Criterion`](super::Criterion) with this measurement, only the clock everywhere else, such as
/// in a measurement that wraps this one.
///
/// Its types are those of criterion's `WallTime`. A closure of `iter_custom` gets slots if it
/// returns what [`end`](Measurement::end) returned, or a sum of such durations; this compiles with
/// criterion, too:
///
/// ```no_run
/// # extern crate criterion_topdown as criterion;
/// use criterion::measurement::{Measurement, WallTime};
/// # fn bench(c: &mut criterion::Criterion, work: fn()) {
/// c.bench_function("work", |b| {
///     b.iter_custom(|iterations| {
///         let start = WallTime.start();
///         for _ in 0..iterations {
///             work();
///         }
///         WallTime.end(start)
///     })
/// });
/// # }
/// ```
pub struct WallTime;

thread_local! {
    /// What measures on this thread. Never dropped with the thread: `process::exit` would then look
    /// like the end of the benchmarks to
    /// [`CompletionMarker`](crate::completion_marker::CompletionMarker).
    static OPEN: RefCell<Option<ManuallyDrop<Rc<TopDown>>>> = const { RefCell::new(None) };
    /// The window that has begun: criterion carries only its `Instant`.
    static BEGUN: Cell<Option<(Instant, Reading)>> = const { Cell::new(None) };
}

/// Keeps the [`TopDown`] of this thread open, which is shared.
pub(super) struct Opened(Rc<TopDown>);

impl Opened {
    pub(super) fn new() -> Opened {
        let open = OPEN.with_borrow(|open| open.as_deref().cloned());
        open.map_or_else(|| Opened::first(TopDown::new()), Opened)
    }

    fn first(topdown: TopDown) -> Opened {
        let topdown = Rc::new(topdown);
        OPEN.set(Some(ManuallyDrop::new(Rc::clone(&topdown))));
        topdown.calibrate(|| WallTime.end(WallTime.start()));
        topdown.watch_clock(look_at_clock);
        topdown.between_windows();
        Opened(topdown)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        const MINE_AND_THE_THREADS: usize = 2;
        if Rc::strong_count(&self.0) == MINE_AND_THE_THREADS {
            OPEN.take().map(ManuallyDrop::into_inner);
        }
    }
}

/// Calls `measure` with what measures on this thread, if it is open.
fn with_open<T>(measure: impl FnOnce(Option<&TopDown>) -> T) -> T {
    OPEN.with_borrow(|open| measure(open.as_deref().map(Rc::as_ref)))
}

fn look_at_clock(shown_ns: u64, frame: usize) {
    with_open(|open| {
        if let Some(topdown) = open {
            topdown.look_at_clock(shown_ns, frame);
        }
    });
}

impl Measurement for WallTime {
    type Intermediate = Instant;
    type Value = Duration;

    fn start(&self) -> Instant {
        with_open(|open| {
            // Not in the window.
            let at = Instant::now();
            if let Some(topdown) = open {
                BEGUN.set(Some((at, topdown.start())));
            }
            at
        })
    }

    fn end(&self, start: Instant) -> Duration {
        with_open(|open| match (open, BEGUN.get()) {
            (Some(topdown), Some((at, begun))) if at == start => topdown.end(begun),
            _ => start.elapsed(),
        })
    }

    fn add(&self, left: &Duration, right: &Duration) -> Duration {
        *left + *right
    }

    fn zero(&self) -> Duration {
        with_open(|open| open.map_or(Duration::ZERO, TopDown::zero))
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        with_open(|open| match open {
            Some(topdown) => topdown.to_f64(value),
            None => value.as_nanos() as f64,
        })
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        with_open(|open| match open {
            Some(topdown) => {
                let formatter = topdown.complete();
                topdown.watch_clock(look_at_clock);
                formatter
            }
            None => SlotsFormatter::new(SourceKind::Time),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::is_wall_time;
    use topdown_counters::scripted::{Scripted, Work, spend};
    use topdown_run::category::PerCategory;
    use topdown_run::sample::Level1;

    fn scripted() -> TopDown {
        TopDown::with_source(Box::new(Scripted::new()))
    }

    fn spend_30_slots() {
        spend(&Work {
            level1: Level1 {
                slots: PerCategory {
                    retiring: 30.0,
                    ..PerCategory::default()
                },
                ..Level1::default()
            },
            ..Work::default()
        });
    }

    /// Returns the scalar of a sample of two windows, and the unit of scalars.
    fn two_windows() -> (f64, &'static str) {
        let window = || {
            let start = WallTime.start();
            spend_30_slots();
            WallTime.end(start)
        };
        let sum = WallTime.add(&WallTime.add(&WallTime.zero(), &window()), &window());
        let scalar = WallTime.to_f64(&sum);
        let unit = WallTime.formatter().scale_for_machines(&mut []);
        (scalar, unit)
    }

    #[test]
    fn wall_time_counts_slots_while_a_source_is_open() {
        assert_eq!(two_windows().1, "ns");
        let first = Opened::first(scripted());
        let second = Opened::new();
        assert!(Rc::ptr_eq(&first.0, &second.0));
        drop(first);
        assert_eq!(two_windows(), (60.0, "slots"));
        drop(second);
        assert_eq!(two_windows().1, "ns");
    }

    #[test]
    fn an_outer_window_has_only_its_time() {
        let opened = Opened::first(scripted());
        let outer = WallTime.start();
        std::thread::sleep(Duration::from_micros(1));
        let inner = WallTime.start();
        spend_30_slots();
        let inner = WallTime.end(inner);
        let outer = WallTime.end(outer);
        assert!(outer > inner);
        assert_eq!(WallTime.to_f64(&outer), outer.as_nanos() as f64);
        drop(opened);
    }

    #[test]
    fn another_thread_measures_time() {
        let opened = Opened::first(scripted());
        let elsewhere = std::thread::spawn(|| two_windows().1);
        assert_eq!(elsewhere.join().unwrap(), "ns");
        drop(opened);
    }

    /// The model counts all threads, also those of other tests: so this one has its own process.
    #[test]
    #[cfg(all(feature = "launches", target_os = "linux", target_arch = "x86_64"))]
    fn modelled_window_cost_includes_wall_time() {
        use topdown_model::Model;
        const IS_ALONE: &str = "CRITERION_TOPDOWN_TEST_IS_ALONE";
        if std::env::var_os(IS_ALONE).is_none() {
            let this = std::thread::current();
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            alone.args(["--exact", this.name().unwrap()]);
            let output = alone.env(IS_ALONE, "1").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("1 passed"), "{text}");
            return;
        }
        let slots = |topdown: &TopDown| topdown.cost_slots().expect("windows have slots");
        let topdown = TopDown::with_source(Box::new(Model::open().unwrap()));
        let of_source = slots(&topdown);
        let opened = Opened::first(topdown);
        let cost = slots(&opened.0);
        assert!(cost > of_source, "{cost} {of_source}");
        // The first windows are cold.
        let window = || {
            WallTime.zero();
            crate::windows::take(WallTime.end(WallTime.start()))
        };
        for _ in 0..32 {
            window();
        }
        let window = window();
        let difference = window.slots.unwrap().abs_diff(cost);
        assert!(difference * 5 < cost, "{window:?} {cost}");
    }

    struct Wrapped(#[allow(dead_code)] WallTime);

    #[test]
    fn a_wrapper_is_another_measurement() {
        assert!(is_wall_time::<WallTime>());
        assert!(!is_wall_time::<Wrapped>());
        assert!(!is_wall_time::<&WallTime>());
        assert!(!is_wall_time::<criterion::measurement::WallTime>());
    }
}

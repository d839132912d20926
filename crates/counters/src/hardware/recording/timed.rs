//! Retire latencies of events ("timed PEBS"): a source for launches of their own.
//!
//! The group consists of the events whose retire latencies the metrics of a metric group need. Each
//! interrupts after a number of occurrences, and the hardware writes its retire latency into a
//! buffer. A sample has two counts for each event: its PMU samples, and the sum of their latencies.
//!
//! Lost PMU samples do not change a mean. If there are too many, the period of the event is
//! doubled.

mod weights;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::sampling::ring::Ring;
use crate::cpu;
use crate::error::OpenError;
use crate::hardware::opener::Opener;
use crate::hardware::readout::Tickets;
use crate::hardware::syscalls::{Counted, Event, Recorded};
use crate::hardware::tables::{table_of, wanted_group};
use crate::hardware::{SystemPaths, cores, self_check};
use crate::{MAX_COUNTERS, Reading, Source, clock, empty_window_of};
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::sample::{Flags, GroupCounts, Sample};
use topdown_run::setting::Counters;
use weights::Weights;

/// The first period: occurrences from one PMU sample to the next, a prime.
const PERIOD: u64 = 1009;

/// The buffers of all events together have to fit into what `perf_event_mlock_kb` allows.
const PAGES: [usize; 2] = [8, 2];

/// Words of a group read before the counts.
const HEADER_WORDS: usize = 3;

/// The counters of the thread that opened them, recording retire latencies.
#[derive(Debug)]
pub struct TimedHardware {
    /// The leader first.
    events: Vec<TimedEvent>,
    state: RefCell<State>,
    tickets: Tickets,
    provenance: Provenance,
}

#[derive(Debug)]
struct TimedEvent {
    event: Event,
    period: Cell<u64>,
}

#[derive(Debug)]
struct State {
    /// One per event.
    rings: Vec<Ring>,
    /// The times of the group at the end of the previous window.
    last: Times,
}

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    enabled_ns: u64,
    running_ns: u64,
}

impl TimedHardware {
    /// Opens the events of the calling thread that the metric group of this name needs.
    ///
    /// # Errors
    /// Returns why their latencies cannot be recorded.
    pub fn open(paths: &SystemPaths, group: &str) -> Result<TimedHardware, OpenError> {
        let cores::CountedCores { cpu, pmu, .. } = cores::keep_on_counted(paths, Counters::Exact)?;
        let of_group = wanted_group(table_of(&cpu, &pmu.name)?, group)?;
        let table = cpu::latencies_for(&cpu.identity(&pmu.name));
        let wanted = table.map_or(Vec::new(), |table| table.recorded_for(of_group));
        let Some(first) = wanted.first() else {
            return Err(OpenError::UnsupportedCpu {
                pmu: pmu.name.clone(),
                cpu: cpu.in_words(),
                reason: "its cores record no retire latency that the group needs",
            });
        };
        let opener = Opener::of(paths, &pmu, Counted::ThisThread);
        let mut events: Vec<TimedEvent> = Vec::new();
        for event in &wanted {
            let leader = events.first().map(|leader| &leader.event);
            let (name, config) = (event.name, event.config);
            events.push(TimedEvent {
                event: opener.hitting(name, config, PERIOD, Recorded::Weights, leader)?,
                period: Cell::new(PERIOD),
            });
        }
        let mut rings = Vec::new();
        for (timed, event) in events.iter().zip(&wanted) {
            let mapped = Ring::map(timed.event.descriptor(), &PAGES);
            rings.push(mapped.map_err(|error| opener.unmappable(event.name, error))?);
        }
        let leader = &events[0].event;
        let control = opener.control(first.name, "enable");
        leader.enable().map_err(control)?;
        self_check::spin();
        let times = self_check::group_times(&opener, first.name, leader);
        let control = opener.control(first.name, "disable");
        leader.disable().map_err(control)?;
        times?;
        let last = times_of(leader).ok_or_else(|| opener.never_scheduled(first.name))?;
        let mut hardware = TimedHardware {
            events,
            state: RefCell::new(State { rings, last }),
            tickets: Tickets::default(),
            provenance: Provenance {
                core_type: pmu.is_one_of_several.then(|| pmu.name.clone()),
                slots_per_cycle: pmu.slots_per_cycle,
                ..Provenance::new(
                    SourceKind::Hardware,
                    of_group.latencies_formula(),
                    format!(
                        "retire latencies of metric group {group} of PMU `{}` ({}), recorded after \
                     {PERIOD} occurrences",
                        pmu.name,
                        table.map_or("", |table| table.name),
                    ),
                )
            },
        };
        hardware.provenance.empty_window = Some(empty_window_of(&hardware));
        Ok(hardware)
    }
}

/// Returns `None` if the group is not on the PMU.
fn times_of(leader: &Event) -> Option<Times> {
    let mut words = [0; HEADER_WORDS + MAX_COUNTERS];
    let filled = leader.read_group(&mut words).ok()?;
    let [_, enabled_ns, running_ns, ..] = words;
    (filled > HEADER_WORDS).then_some(Times {
        enabled_ns,
        running_ns,
    })
}

impl TimedEvent {
    /// Doubles the period, about.
    fn interrupt_less(&self) {
        let period = self.period.get().saturating_mul(2).saturating_add(1);
        if self.event.set_period(period).is_ok() {
            self.period.set(period);
        }
    }
}

thread_local! {
    static OPENED: RefCell<Weak<TimedHardware>> = const { RefCell::new(Weak::new()) };
}

/// Opens the source for this metric group, or shares the one that the thread has open.
///
/// # Errors
/// Same as [`TimedHardware::open`].
pub(super) fn shared(group: &str) -> Result<Rc<TimedHardware>, OpenError> {
    if let Some(opened) = OPENED.with_borrow(Weak::upgrade) {
        return Ok(opened);
    }
    let opened = Rc::new(TimedHardware::open(&SystemPaths::default(), group)?);
    OPENED.set(Rc::downgrade(&opened));
    Ok(opened)
}

impl Source for Rc<TimedHardware> {
    fn provenance(&self) -> &Provenance {
        (**self).provenance()
    }

    fn start(&self) -> Reading {
        (**self).start()
    }

    fn end(&self, start: &Reading) -> Sample {
        (**self).end(start)
    }
}

impl Source for TimedHardware {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    #[inline(never)]
    fn start(&self) -> Reading {
        let reading = Reading::from_window(self.tickets.next(), clock::now_ns());
        // If that fails, `end` notices that nothing was recorded.
        let _ = self.events[0].event.enable();
        reading
    }

    #[inline(never)]
    fn end(&self, start: &Reading) -> Sample {
        let _ = self.events[0].event.disable();
        let wall_ns = clock::elapsed_ns(start.at_ns);
        let mut state = self.state.borrow_mut();
        let State { rings, last } = &mut *state;
        let before = *last;
        let now = times_of(&self.events[0].event);
        *last = now.unwrap_or(before);
        // A window inside this one has taken the records before it.
        let was_running = self.tickets.is_latest(start)
            && now.is_some()
            && last.enabled_ns - before.enabled_ns == last.running_ns - before.running_ns;
        let mut counts = [0; 2 * MAX_COUNTERS];
        let mut has_gap = !was_running;
        for ((timed, ring), pair) in self.events.iter().zip(rings).zip(counts.chunks_mut(2)) {
            let data_bytes = ring.data_bytes();
            let records = ring.take();
            let weights = Weights::of(records.unwrap_or_default());
            // criterion's windows grow: the next one may be twice as long.
            let is_half_full = records.is_none_or(|records| 2 * records.len() > data_bytes);
            if weights.too_many || is_half_full {
                timed.interrupt_less();
            }
            has_gap |= weights.has_gap || records.is_none();
            pair.copy_from_slice(&[weights.hits, weights.cycles]);
        }
        Sample {
            windows: 1,
            wall_ns,
            group_counts: GroupCounts::new(&counts[..2 * self.events.len()]),
            flags: if has_gap {
                Flags::NOT_COUNTING
            } else {
                Flags::NONE
            },
            ..Sample::EMPTY
        }
    }
}

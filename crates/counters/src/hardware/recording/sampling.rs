//! Slots by code address, from PMU samples: a source for launches of their own.
//!
//! The group counts the categories, and its event for cycles interrupts. Each interrupt records the
//! address and all counts of the group; the counts since the previous one are charged to the code
//! at that address. A thread has one slots counter, so such a launch gives no slots to the
//! statistics. The group runs in windows only.
//!
//! Where every event can interrupt, each that decides categories also has a period of its own, and
//! all write into one buffer: `periods`, `own`. They give the categories of functions that run for
//! less than a period at a time.
//!
//! The kernel limits the number of interrupts per second, and the buffer holds some thousands. If
//! there are too many, mostly in criterion's warm-up, the period is doubled, and the sample is left
//! out.
//!
//! `ring` is the kernel's buffer, `records` reads it, and `account` adds up. `command` samples
//! whole commands.

mod account;
#[cfg(feature = "commands")]
pub(in crate::hardware) mod command;
mod own;
mod periods;
pub(super) mod records;
pub(super) mod ring;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use crate::error::OpenError;
use crate::hardware::exact_group::Plan;
use crate::hardware::inherited_group::{MAX_EVENTS, Shape};
use crate::hardware::metrics_shape::MetricsShape;
use crate::hardware::opener::Opener;
use crate::hardware::readout::Tickets;
use crate::hardware::syscalls::{Counted, Event, Recorded};
use crate::hardware::system::{CorePmu, CpuIdentity};
use crate::hardware::tables::{slots_per_cycle, supported_table, table_of, wanted_group};
use crate::hardware::{SystemPaths, cores, exact_group, self_check};
use crate::{Reading, Source, Wanted, clock, empty_window_of};
use account::Account;
use periods::Periods;
use records::GroupCounts;
use ring::Ring;
use topdown_run::code_samples::{CodeSamples, DEFAULT_PERIOD_CYCLES, SamplingEngine};
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::Counters;

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;

/// The counters of the thread that opened them, with interrupts.
#[derive(Debug)]
pub struct SamplingHardware {
    group: SamplingGroup,
    shape: Shape,
    state: RefCell<State>,
    tickets: Tickets,
    periods: Cell<Periods>,
    provenance: Provenance,
}

#[derive(Debug)]
struct State {
    ring: Ring,
    account: Account,
    /// The group at the end of the previous window.
    last: Totals,
}

/// An open group.
#[derive(Debug)]
struct SamplingGroup {
    /// The leader's first.
    events: Vec<Event>,
    /// Their ids in records.
    ids: Vec<u64>,
    /// The index of the event whose PMU samples carry all counts, and which has the buffer.
    reading: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    enabled_ns: u64,
    running_ns: u64,
    counts: GroupCounts,
}

/// Returns the groups that count the categories, best first, with their formulas.
fn shapes(
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    counters: Counters,
) -> Result<Vec<(Shape, &'static str)>, OpenError> {
    if pmu.topdown.is_metrics() && counters != Counters::Exact {
        let shape = MetricsShape {
            clears: false,
            ..MetricsShape::of(cpu, pmu, counters)?
        };
        return Ok(vec![(Shape::Metrics(shape), shape.formula())]);
    }
    let table = supported_table(cpu, pmu)?;
    let slots_per_cycle = slots_per_cycle(cpu, pmu, table)?;
    let shape_of = |form| Shape::Exact {
        plan: Plan::for_form(form),
        slots_per_cycle,
    };
    let forms = table.forms().iter();
    Ok(forms.map(|form| (shape_of(form), form.formula)).collect())
}

impl SamplingHardware {
    /// Opens the counters of the calling thread, with an interrupt every `period_cycles`.
    ///
    /// # Errors
    /// Returns why the counters cannot be used.
    pub fn open(
        paths: &SystemPaths,
        counters: Counters,
        period_cycles: u64,
    ) -> Result<SamplingHardware, OpenError> {
        let cores::CountedCores { cpu, pmu, .. } = cores::keep_on_counted(paths, counters)?;
        let opener = Opener::of(paths, &pmu, Counted::ThisThread);
        let of_cycles = shapes(&cpu, &pmu, counters)?;
        // Whoever asks for PERF_METRICS gets them.
        let own = match counters {
            Counters::Auto | Counters::Exact => shapes(&cpu, &pmu, Counters::Exact)?,
            Counters::Metrics | Counters::Tma => Vec::new(),
        };
        let own = own.into_iter().filter_map(|(shape, formula)| {
            let periods = Periods::own(shape, period_cycles)?;
            Some((shape, formula, periods))
        });
        let of_cycles = of_cycles.into_iter().map(|(shape, formula)| {
            let periods = Periods::for_cycles(shape, period_cycles);
            (shape, formula, periods)
        });
        let mut refusal = None;
        for (shape, formula, periods) in own.chain(of_cycles) {
            match SamplingHardware::open_shape(&opener, &pmu, shape, formula, periods) {
                Ok(opened) => return Ok(opened),
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.expect("a table that counts has a form"))
    }

    /// Opens a metric group of the calling thread in place of the categories. Each of its events
    /// interrupts after about as many counts as `periods` has at its position, but for 0.
    ///
    /// # Errors
    /// Returns why the counters cannot be used.
    pub fn open_group(
        paths: &SystemPaths,
        name: &str,
        periods: &[u64],
    ) -> Result<SamplingHardware, OpenError> {
        let cores::CountedCores { cpu, pmu, .. } = cores::keep_on_counted(paths, Counters::Exact)?;
        let opener = Opener::of(paths, &pmu, Counted::ThisThread);
        let group = wanted_group(table_of(&cpu, &pmu.name)?, name)?;
        let shape = Shape::Exact {
            plan: Plan::for_group(group),
            slots_per_cycle: 0,
        };
        let periods = Periods::for_group(group.paced_at(), periods);
        SamplingHardware::open_shape(&opener, &pmu, shape, &group.formula(), periods)
    }

    fn open_shape(
        opener: &Opener<'_>,
        pmu: &CorePmu,
        shape: Shape,
        formula: &str,
        periods: Periods,
    ) -> Result<SamplingHardware, OpenError> {
        let group = SamplingGroup::open(opener, shape, &periods)?;
        let ring = group.map(opener, shape, &periods, &ring::PAGES)?;
        let control = opener.control(shape.leader(), "enable");
        group.leader().enable().map_err(control)?;
        self_check::spin();
        let times = self_check::group_times(opener, shape.leader(), group.leader());
        let control = opener.control(shape.leader(), "disable");
        group.leader().disable().map_err(control)?;
        times?;
        let last = group
            .totals()
            .ok_or_else(|| opener.never_scheduled(shape.leader()))?;
        let mut state = State {
            ring,
            account: Account::new(shape, group.ids.clone(), last.counts),
            last,
        };
        let sample = shape.sample(&last.counts, 0);
        match shape {
            Shape::Exact { .. } => exact_group::check_sample(opener, shape.leader(), &sample)?,
            // Earlier launches have proven that it counts the categories.
            Shape::Metrics(_) => {
                let slots = sample.slots.unwrap_or(0);
                self_check::counted(opener, shape.leader(), 0, slots)?;
            }
        }
        // The PMU samples of the check.
        state.ring.take();
        let mut hardware = SamplingHardware {
            provenance: Provenance {
                core_type: pmu.is_one_of_several.then(|| pmu.name.clone()),
                slots_per_cycle: shape.slots_per_cycle(),
                ..Provenance::new(
                    SourceKind::Hardware,
                    formula,
                    format!(
                        "{} of PMU `{}`, recorded with the address about every {} counts of {}{}",
                        shape.name(),
                        pmu.name,
                        periods.cycles(),
                        shape.events()[periods.reading()].0,
                        match periods.engine() {
                            SamplingEngine::OwnPeriods =>
                                "; its events interrupt by periods of their own",
                            SamplingEngine::Counters | SamplingEngine::Metrics => "",
                        }
                    ),
                )
            },
            group,
            shape,
            state: RefCell::new(state),
            tickets: Tickets::default(),
            periods: Cell::new(periods),
        };
        hardware.provenance.empty_window = Some(empty_window_of(&hardware));
        hardware.take_code_samples();
        Ok(hardware)
    }

    /// Doubles the periods, about.
    fn interrupt_less(&self) {
        let periods = self.periods.get().doubled();
        if self.group.set_periods(&periods).is_ok() {
            self.periods.set(periods);
        }
    }
}

impl SamplingGroup {
    fn open(
        opener: &Opener<'_>,
        shape: Shape,
        periods: &Periods,
    ) -> Result<SamplingGroup, OpenError> {
        let reading = periods.reading();
        let mut events: Vec<Event> = Vec::new();
        let mut ids = Vec::new();
        for (index, (name, config)) in shape.events().into_iter().enumerate() {
            let recorded = match index == reading {
                true => Recorded::Counts,
                false => Recorded::Period,
            };
            let leader = events.first();
            let event = opener.hitting(name, config, periods.each()[index], recorded, leader)?;
            ids.push(event.id().map_err(opener.control(name, "identify"))?);
            events.push(event);
        }
        Ok(SamplingGroup {
            events,
            ids,
            reading,
        })
    }

    /// Maps the buffer of the reading event, into which all others write.
    fn map(
        &self,
        opener: &Opener<'_>,
        shape: Shape,
        periods: &Periods,
        sizes: &[usize],
    ) -> Result<Ring, OpenError> {
        let names = shape.events();
        let (name, _) = names[self.reading];
        let ring = Ring::map(self.reading().descriptor(), sizes)
            .map_err(|error| opener.unmappable(name, error))?;
        for (index, event) in self.events.iter().enumerate() {
            if periods.own_of(index).is_some() {
                let control = opener.control(names[index].0, "redirect");
                event.write_into(self.reading()).map_err(control)?;
            }
        }
        Ok(ring)
    }

    fn set_periods(&self, periods: &Periods) -> std::io::Result<()> {
        for (event, period) in self.events.iter().zip(periods.each()) {
            if *period > 0 {
                event.set_period(*period)?;
            }
        }
        Ok(())
    }

    fn leader(&self) -> &Event {
        &self.events[0]
    }

    fn reading(&self) -> &Event {
        &self.events[self.reading]
    }

    /// Returns `None` if the group is not on the PMU.
    fn totals(&self) -> Option<Totals> {
        let mut words = [0; HEADER_WORDS + MAX_EVENTS];
        let filled = self.leader().read_group(&mut words).ok()?;
        let [_, enabled_ns, running_ns, ref counts @ ..] = words;
        (filled == HEADER_WORDS + self.events.len()).then_some(Totals {
            enabled_ns,
            running_ns,
            counts: *counts,
        })
    }
}

impl State {
    /// Adds a window that has ended. Returns its counts, its doubts, and whether there are too many
    /// PMU samples.
    fn end_window(
        &mut self,
        group: &SamplingGroup,
        periods: &Periods,
        is_latest: bool,
    ) -> (GroupCounts, Flags, bool) {
        let before = self.last;
        let totals = group.totals();
        let now = totals.unwrap_or(before);
        self.last = now;
        let data_bytes = self.ring.data_bytes();
        let records = self.ring.take();
        let used_bytes = records.map_or(data_bytes, <[u8]>::len);
        // The kernel refuses a record that would fill the last byte, and notes a loss before it.
        let is_full = used_bytes + 2 * records::max_record_bytes(group.events.len()) > data_bytes;
        // A window inside this one has taken the counts before it.
        let was_running = is_latest
            && totals.is_some()
            && now.enabled_ns - before.enabled_ns == now.running_ns - before.running_ns;
        let records = records.unwrap_or_default();
        let disturbed =
            self.account
                .add_window(periods, records, is_full || !was_running, &now.counts);
        let flags = match disturbed.has_gap {
            true => Flags::NOT_COUNTING,
            false => Flags::NONE,
        };
        let counts = std::array::from_fn(|at| now.counts[at].saturating_sub(before.counts[at]));
        // criterion's windows grow: the next one may be twice as long.
        (
            counts,
            flags,
            disturbed.too_many || used_bytes > data_bytes / 2,
        )
    }
}

thread_local! {
    static OPENED: RefCell<Weak<SamplingHardware>> = const { RefCell::new(Weak::new()) };
}

/// Opens the source that the environment requests, with the period of cycles or those of a metric
/// group's events, or shares the one that the thread has open.
///
/// # Errors
/// Same as [`SamplingHardware::open`].
pub(super) fn shared(periods: &[u64]) -> Result<Rc<SamplingHardware>, OpenError> {
    if let Some(opened) = OPENED.with_borrow(Weak::upgrade) {
        return Ok(opened);
    }
    let paths = SystemPaths::default();
    let opened = Rc::new(match Wanted::from_environment()? {
        Wanted::Group(name) => SamplingHardware::open_group(&paths, &name, periods)?,
        Wanted::Categories(counters) => {
            let period_cycles = periods.first().copied().filter(|period| *period > 0);
            let period_cycles = period_cycles.unwrap_or(DEFAULT_PERIOD_CYCLES);
            SamplingHardware::open(&paths, counters, period_cycles)?
        }
    });
    OPENED.set(Rc::downgrade(&opened));
    Ok(opened)
}

impl Source for Rc<SamplingHardware> {
    fn provenance(&self) -> &Provenance {
        (**self).provenance()
    }

    fn sample_boundary(&self) {
        (**self).sample_boundary();
    }

    fn sample_kept(&self) {
        (**self).sample_kept();
    }

    fn take_code_samples(&self) -> Option<CodeSamples> {
        (**self).take_code_samples()
    }

    fn start(&self) -> Reading {
        (**self).start()
    }

    fn end(&self, start: &Reading) -> Sample {
        (**self).end(start)
    }
}

impl Source for SamplingHardware {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    fn sample_boundary(&self) {
        self.state.borrow_mut().account.begin_sample();
    }

    fn sample_kept(&self) {
        let mut state = self.state.borrow_mut();
        state.account.keep_sample(&self.periods.get());
    }

    fn take_code_samples(&self) -> Option<CodeSamples> {
        let mut state = self.state.borrow_mut();
        Some(state.account.take(&self.periods.get()))
    }

    #[inline(never)]
    fn start(&self) -> Reading {
        let reading = Reading::from_window(self.tickets.next(), clock::now_ns());
        // If that fails, `end` notices that nothing was counted.
        let _ = self.group.leader().enable();
        reading
    }

    #[inline(never)]
    fn end(&self, start: &Reading) -> Sample {
        let _ = self.group.leader().disable();
        let wall_ns = clock::elapsed_ns(start.at_ns);
        let mut state = self.state.borrow_mut();
        let is_latest = self.tickets.is_latest(start);
        let (counts, flags, too_many) =
            state.end_window(&self.group, &self.periods.get(), is_latest);
        if too_many {
            self.interrupt_less();
        }
        Sample {
            windows: 1,
            wall_ns,
            flags,
            ..self.shape.sample(&counts, 0)
        }
    }
}

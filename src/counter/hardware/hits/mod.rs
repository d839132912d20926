//! Where the slots went, by interrupts: a source for launches of their own.
//!
//! The group is the one that counts the categories, and its event for cycles interrupts. Each
//! interrupt records the address and all counts of the group, so that the counts between two of
//! them can be charged to the code that the second one hit. A thread has one slots counter, so a
//! launch that takes hits gives no slots to the statistics. The group runs in windows only: what is
//! between them has no hits.
//!
//! The kernel limits the number of interrupts per second, and the buffer holds some thousands. If
//! there are too many, the period is doubled, and the sample in which that happened is left out.
//! Windows grow in criterion's warm-up, which is where this mostly happens.
//!
//! `ring` is the kernel's buffer, `records` reads it, and `account` adds up. For whole commands,
//! `follow` finds their threads and processes, and `command` samples each.

mod account;
#[cfg(feature = "commands")]
mod command;
#[cfg(feature = "commands")]
mod follow;
pub(super) mod records;
pub(super) mod ring;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Instant;

use super::exact_group::Plan;
use super::inherited_group::{MOST_EVENTS, Shape};
use super::metrics_shape::MetricsShape;
use super::opener::Opener;
use super::syscalls::{Counted, Event, Recorded};
use super::system::{CorePmu, CpuIdentity, core_pmu};
use super::{SystemPaths, cores, self_check};
use crate::counter::{Reading, Source, empty_window_of};
use crate::error::OpenError;
use crate::hits::CodeHits;
use crate::provenance::{Provenance, SourceKind};
use crate::sample::{Flags, Sample};
use crate::setting::{Counters, Setting};
use account::Account;
#[cfg(feature = "commands")]
pub use command::{CommandHits, Following};
use records::GroupCounts;
use ring::Ring;

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;

/// The counters of the thread that opened them, with interrupts.
#[derive(Debug)]
pub struct HittingHardware {
    group: HitGroup,
    shape: Shape,
    state: RefCell<State>,
    period_cycles: Cell<u64>,
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
struct HitGroup {
    /// The leader's first.
    events: Vec<Event>,
    /// The one that interrupts.
    interrupting: usize,
}

/// What the group has counted so far.
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
            ..super::metrics_shape(cpu, pmu, counters)?
        };
        return Ok(vec![(Shape::Metrics(shape), shape.formula())]);
    }
    let table = super::supported_table(cpu, pmu)?;
    let slots_per_cycle = super::slots_per_cycle(cpu, pmu, table)?;
    let shape_of = |form| Shape::Exact {
        plan: Plan::of_form(form),
        slots_per_cycle,
    };
    let forms = table.forms().iter();
    Ok(forms.map(|form| (shape_of(form), form.formula)).collect())
}

impl HittingHardware {
    /// Opens the counters of the calling thread, with an interrupt every `period_cycles`.
    ///
    /// # Errors
    /// Returns why the counters cannot be used.
    pub fn open(
        paths: &SystemPaths,
        counters: Counters,
        period_cycles: u64,
    ) -> Result<HittingHardware, OpenError> {
        let cpu = CpuIdentity::read(paths);
        let pmu = core_pmu(paths, &cpu, counters)?;
        let cpu = cpu.of_cores(paths, pmu.cpus.as_deref());
        cores::confine(&pmu)?;
        let opener = Opener {
            paths,
            pmu: &pmu.name,
            pmu_type: pmu.type_number,
            counted: Counted::ThisThread,
        };
        let mut refusal = None;
        for (shape, formula) in shapes(&cpu, &pmu, counters)? {
            match HittingHardware::open_shape(&opener, &pmu, shape, formula, period_cycles) {
                Ok(opened) => return Ok(opened),
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.expect("a table that counts has a form"))
    }

    fn open_shape(
        opener: &Opener<'_>,
        pmu: &CorePmu,
        shape: Shape,
        formula: &str,
        period_cycles: u64,
    ) -> Result<HittingHardware, OpenError> {
        let group = HitGroup::open(opener, shape, period_cycles)?;
        let ring = group.map(opener, shape, &ring::PAGES)?;
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
            account: Account::new(shape, last.counts),
            last,
        };
        // The launches before have proven that the categories are counted.
        let slots = shape.sample(&last.counts, 0).slots.unwrap_or(0);
        self_check::counted(opener, shape.leader(), 0, slots)?;
        // The hits of the check.
        state.ring.take();
        let mut hardware = HittingHardware {
            provenance: Provenance {
                source: SourceKind::Hardware,
                formula: formula.to_owned(),
                core_type: pmu.is_one_of_several.then(|| pmu.name.clone()),
                slots_per_cycle: shape.slots_per_cycle(),
                reason: format!(
                    "{} of PMU `{}`, recorded with the address about every {period_cycles} cycles",
                    shape.name(),
                    pmu.name
                ),
                empty_window: None,
                threads: Default::default(),
                elsewhere: None,
            },
            group,
            shape,
            state: RefCell::new(state),
            period_cycles: Cell::new(period_cycles),
        };
        hardware.provenance.empty_window = Some(empty_window_of(&hardware));
        hardware.take_hits();
        Ok(hardware)
    }

    /// Doubles the period, about.
    fn interrupt_less(&self) {
        let period_cycles = self.period_cycles.get().saturating_mul(2).saturating_add(1);
        if self.group.interrupting().set_period(period_cycles).is_ok() {
            self.period_cycles.set(period_cycles);
        }
    }
}

impl HitGroup {
    fn open(opener: &Opener<'_>, shape: Shape, period_cycles: u64) -> Result<HitGroup, OpenError> {
        let interrupting = shape.cycles_at();
        let mut events: Vec<Event> = Vec::new();
        for (index, (name, config)) in shape.events().into_iter().enumerate() {
            let period = if index == interrupting {
                period_cycles
            } else {
                0
            };
            let leader = events.first();
            events.push(opener.hitting(name, config, period, Recorded::Place, leader)?);
        }
        Ok(HitGroup {
            events,
            interrupting,
        })
    }

    fn map(&self, opener: &Opener<'_>, shape: Shape, sizes: &[usize]) -> Result<Ring, OpenError> {
        let (name, _) = shape.events()[self.interrupting];
        Ring::map(self.interrupting().descriptor(), sizes)
            .map_err(|error| opener.unmappable(name, error))
    }

    fn leader(&self) -> &Event {
        &self.events[0]
    }

    fn interrupting(&self) -> &Event {
        &self.events[self.interrupting]
    }

    /// Returns `None` if the group is not on the PMU.
    fn totals(&self) -> Option<Totals> {
        let mut words = [0; HEADER_WORDS + MOST_EVENTS];
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
    /// hits.
    fn end_window(&mut self, group: &HitGroup) -> (GroupCounts, Flags, bool) {
        let before = self.last;
        let totals = group.totals();
        let now = totals.unwrap_or(before);
        self.last = now;
        let data_bytes = self.ring.data_bytes();
        let records = self.ring.take();
        let used_bytes = records.map_or(data_bytes, <[u8]>::len);
        // The kernel refuses a record that would fill the last byte, and notes a loss before it.
        let is_full = used_bytes + 2 * records::hit_bytes(group.events.len()) > data_bytes;
        let was_running = totals.is_some()
            && now.enabled_ns - before.enabled_ns == now.running_ns - before.running_ns;
        let records = records.unwrap_or_default();
        let disturbed = self
            .account
            .add_window(records, is_full || !was_running, &now.counts);
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
    static OPENED: RefCell<Weak<HittingHardware>> = const { RefCell::new(Weak::new()) };
}

/// Opens the source as the environment asks for it, or shares the one that the thread has open: a
/// thread has one slots counter.
///
/// # Errors
/// Same as [`HittingHardware::open`].
pub(super) fn shared(period_cycles: u64) -> Result<Rc<HittingHardware>, OpenError> {
    if let Some(opened) = OPENED.with_borrow(Weak::upgrade) {
        return Ok(opened);
    }
    let paths = SystemPaths::default();
    let counters = Counters::from_environment()?;
    let opened = Rc::new(HittingHardware::open(&paths, counters, period_cycles)?);
    OPENED.set(Rc::downgrade(&opened));
    Ok(opened)
}

impl Source for Rc<HittingHardware> {
    fn provenance(&self) -> &Provenance {
        (**self).provenance()
    }

    fn sample_boundary(&self) {
        (**self).sample_boundary();
    }

    fn sample_kept(&self) {
        (**self).sample_kept();
    }

    fn take_hits(&self) -> Option<CodeHits> {
        (**self).take_hits()
    }

    fn start(&self) -> Reading {
        (**self).start()
    }

    fn end(&self, start: &Reading) -> Sample {
        (**self).end(start)
    }
}

impl Source for HittingHardware {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    fn sample_boundary(&self) {
        self.state.borrow_mut().account.begin_sample();
    }

    fn sample_kept(&self) {
        self.state.borrow_mut().account.keep_sample();
    }

    fn take_hits(&self) -> Option<CodeHits> {
        let period_cycles = self.period_cycles.get();
        Some(self.state.borrow_mut().account.take(period_cycles))
    }

    #[inline(never)]
    fn start(&self) -> Reading {
        let reading = Reading::of_clock();
        // If that fails, `end` notices that nothing was counted.
        let _ = self.group.leader().enable();
        reading
    }

    #[inline(never)]
    fn end(&self, start: &Reading) -> Sample {
        let _ = self.group.leader().disable();
        let wall_ns = Instant::now().duration_since(start.at).as_nanos() as u64;
        let (counts, flags, too_many) = self.state.borrow_mut().end_window(&self.group);
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

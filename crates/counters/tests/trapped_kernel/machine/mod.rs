//! A kernel and a PMU that behave as recorded from Linux 6.1 and 6.12 with TopDown events on Intel
//! CPUs, and that log every violation of their rules by the code under test.

mod calls;
mod ring;
mod threads;

use std::ffi::c_int;

use perf_event_open_sys::bindings::{perf_event_attr, perf_event_mmap_page};

use crate::pages::Pages;
use crate::trap::{EVENT_DESCRIPTORS, own_thread};
use ring::Ring;
use threads::ThreadGroup;

pub const SLOTS: u64 = 0x0400;
pub const RETIRING: u64 = 0x8000;
pub const INSTRUCTIONS: u64 = 0x00c0;
pub const CYCLES: u64 = 0x003c;

const COUNTER_MASK: u64 = (1 << 48) - 1;
/// The preset of a plain counter: -(2^47 - 1) in 48 bits.
const PRESET: u64 = 0x8000_0000_0001;
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;
const RESET: u64 = 0x2403;
const PERIOD: u64 = 0x4008_2404;
const SET_OUTPUT: u64 = 0x2405;
const ID: u64 = 0x8008_2407;

/// A process that is counted along with everything it starts.
pub const COMMAND: c_int = 4242;

/// Shares of slots: four of level 1, then four of level 2.
pub type Mix = [f64; 8];
pub const DEFAULT_MIX: Mix = [0.40, 0.10, 0.20, 0.30, 0.10, 0.08, 0.12, 0.18];

/// What the code under test did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Open(u64),
    Map(u64),
    Enable,
    Disable,
    Reset,
    Read,
    Close(u64),
}

/// Something that happens to the thread while it reads counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    Switch,
    Displace,
    Move,
    MoveAndBack,
    Forbid,
}

/// An event as the kernel keeps it.
struct Event {
    descriptor: c_int,
    attributes: perf_event_attr,
    /// The thread that may still live, and to which the event then belongs.
    opened_by: c_int,
    page: Option<usize>,
    ring: Option<Ring>,
    /// The event into whose buffer this one writes, if it has none.
    output: Option<c_int>,
    /// What it has counted since its last interrupt.
    since: f64,
    count: u64,
    /// The part of the registers already included in `count` since the last switch in.
    counted: u64,
    /// The general counter of a plain event.
    general: u64,
    /// The part of a count that is still to come.
    rest: f64,
}

/// See the module.
pub struct Machine {
    /// The categories of work done from now on.
    pub mix: Mix,
    /// Whether the CPU has the slots counter and PERF_METRICS; otherwise their codes count nothing.
    pub has_metrics: bool,
    /// The width of the pipeline.
    pub slots_per_cycle: u64,
    /// Plain events by code, and how many of them a slot of work produces. Others count nothing.
    pub plain_events: Vec<(u64, f64)>,
    /// `rdpmc` in sysfs.
    pub rdpmc_allowed: bool,
    /// Whether root has set it to 0 since the pages were mapped, which does not show in them.
    pub rdpmc_forbidden: bool,
    /// Work that each look at the slots costs.
    pub slots_per_look: u64,
    /// Whether something else has the PMU.
    pub pmu_is_taken: bool,
    /// The event whose group finds no place on the PMU.
    pub kept_off: Option<u64>,
    /// Whether the group is on the PMU half of the time.
    pub half_time: bool,
    /// The value at which the metrics register is stuck.
    pub stuck_ratios: Option<u64>,
    /// The answer to opening an event with this code.
    pub refuse_open: Option<(u64, c_int)>,
    /// The answer to an open without `exclude_guest`.
    pub wants_exclude_guest: bool,
    pub refuse_map: Option<c_int>,
    pub refuse_control: Option<c_int>,
    /// The largest buffer that the user's limit allows.
    pub largest_buffer_pages: usize,
    /// The event that counts and never interrupts.
    pub mute: Option<u64>,
    /// What happens, once, after this many more RDPMC instructions.
    pub disturbance: Option<(u32, Disturbance)>,
    /// Whether the thread is switched out and in after every RDPMC.
    pub disturb_every_look: bool,
    /// The threads that exist, the one under test first.
    pub threads: Vec<c_int>,
    /// The process that is sampled in place of the thread under test.
    pub sampled_process: Option<c_int>,
    /// Number of further reads of its group that a thread survives while exiting.
    pub ending_reads: u32,
    pub calls: Vec<Call>,
    pub rdpmcs: u32,
    pub violations: Vec<String>,

    /// Whether the thread is on a core of another kind.
    is_elsewhere: bool,
    /// The indices that pages have shown.
    shown: Vec<u32>,
    /// The thread under test.
    own_thread: c_int,
    events: Vec<Event>,
    thread_groups: Vec<ThreadGroup>,
    pages: Pages,
    enabled: bool,
    on_pmu: bool,
    has_run: bool,
    now_ns: u64,
    enabled_ns: u64,
    running_ns: u64,
    slots: u64,
    /// Slots of work on the PMU.
    worked: u64,
    categories: [f64; 8],
    instructions: u64,
    cycles: u64,
}

impl Machine {
    pub fn new() -> Machine {
        Machine {
            mix: DEFAULT_MIX,
            has_metrics: true,
            slots_per_cycle: 6,
            plain_events: Vec::new(),
            rdpmc_allowed: true,
            rdpmc_forbidden: false,
            is_elsewhere: false,
            slots_per_look: 0,
            pmu_is_taken: false,
            kept_off: None,
            half_time: false,
            stuck_ratios: None,
            refuse_open: None,
            wants_exclude_guest: false,
            refuse_map: None,
            refuse_control: None,
            largest_buffer_pages: usize::MAX,
            mute: None,
            disturbance: None,
            disturb_every_look: false,
            threads: Vec::new(),
            sampled_process: None,
            ending_reads: 0,
            calls: Vec::new(),
            rdpmcs: 0,
            violations: Vec::new(),
            shown: Vec::new(),
            own_thread: own_thread(),
            events: Vec::new(),
            thread_groups: Vec::new(),
            pages: Pages::new(),
            enabled: false,
            on_pmu: false,
            has_run: false,
            now_ns: 0,
            enabled_ns: 0,
            running_ns: 0,
            // Left over from the PMU's previous user.
            slots: 0x7fff_1234_5678,
            worked: 0,
            categories: [1e12; 8],
            instructions: PRESET,
            cycles: PRESET,
        }
    }

    /// Lets the thread run: two slots per instruction.
    pub fn work(&mut self, slots: u64) {
        self.pass_time(slots / 20);
        if let Some(&own) = self.threads.first() {
            self.work_of(own, slots);
        }
        if self.on_pmu {
            self.slots = (self.slots + slots) & COUNTER_MASK;
            for (category, share) in self.categories.iter_mut().zip(self.mix) {
                *category += slots as f64 * share;
            }
            let (before, after) = (self.worked, self.worked + slots);
            self.worked = after;
            let more = |each: u64| after / each - before / each;
            self.instructions = (self.instructions + more(2)) & COUNTER_MASK;
            self.cycles = (self.cycles + more(self.slots_per_cycle)) & COUNTER_MASK;
            for event in &mut self.events {
                let config = event.attributes.config;
                if let Some((_, per_slot)) = self.plain_events.iter().find(|e| e.0 == config) {
                    event.rest += slots as f64 * per_slot;
                    event.general += event.rest.round() as u64;
                    event.rest -= event.rest.round();
                    event.general &= COUNTER_MASK;
                }
            }
        }
    }

    /// Switches the thread out and in again. The registers of TopDown events are saved and
    /// restored; plain counters get a new value and a matching offset.
    pub fn switch(&mut self) {
        if !self.on_pmu {
            return;
        }
        let ratios = self.ratios();
        self.update_counts();
        self.categories = quantised(self.slots, ratios);
        self.instructions = PRESET;
        self.cycles = PRESET;
        for event in &mut self.events {
            event.general = PRESET;
        }
        for at in 0..self.events.len() {
            self.events[at].counted = self.register_of(at);
        }
        for _ in 0..3 {
            self.update_pages();
        }
    }

    /// Raises a performance monitoring interrupt: counts are updated and the registers restart; the
    /// page's lock does not change.
    pub fn overflow_interrupt(&mut self) {
        self.update_counts();
        self.zero_topdown_registers();
    }

    /// Gives the PMU to a user with higher priority; a pinned group is then in error.
    pub fn displace(&mut self) {
        self.pmu_is_taken = true;
        self.leave_pmu();
    }

    /// Moves the thread to a core of another kind, which has general counters alone.
    pub fn move_elsewhere(&mut self) {
        self.is_elsewhere = true;
        self.leave_pmu();
    }

    /// Moves it back.
    pub fn move_home(&mut self) {
        self.is_elsewhere = false;
        self.enter_pmu();
    }

    /// Takes the PMU from the group for a while.
    pub fn starve(&mut self, lost_ns: u64) {
        self.leave_pmu();
        self.pass_time(lost_ns);
        self.enter_pmu();
    }

    /// Answers `prctl(PR_TASK_PERF_EVENTS_DISABLE)` or `_ENABLE` by the thread under test: it
    /// concerns the events that this thread has opened.
    pub fn prctl(&mut self, enable: bool) {
        let leader = self.events.first();
        if leader.is_none_or(|leader| leader.opened_by != self.own_thread) {
            return;
        }
        if enable {
            self.enabled = true;
            self.enter_pmu();
        } else {
            self.leave_pmu();
            self.enabled = false;
        }
    }

    pub fn open_events(&self) -> usize {
        self.events.len()
    }

    pub fn attributes(&self, config: u64) -> perf_event_attr {
        let event = self.events.iter().find(|e| e.attributes.config == config);
        event.expect("the event is open").attributes
    }

    /// Answers RDPMC; `None` if it faults.
    pub fn rdpmc(&mut self, selector: u32) -> Option<u64> {
        if self.events.is_empty() {
            return Some(0);
        }
        self.rdpmcs += 1;
        let is_missing = self.is_elsewhere && matches!(selector, 0x4000_0003 | 0x2000_0000);
        if self.rdpmc_forbidden || is_missing {
            self.disturb();
            return None;
        }
        if !self.rdpmc_allowed || !self.shown.contains(&selector.wrapping_add(1)) {
            self.violations
                .push(format!("RDPMC of {selector:#x}, which no page has shown"));
        }
        let leader = self.events.first().and_then(|event| event.page);
        if leader.is_some_and(|page| self.pages.get(page).index == selector.wrapping_add(1)) {
            self.work(self.slots_per_look);
        }
        let value = match selector {
            0x4000_0003 => self.slots,
            0x2000_0000 => self.ratios(),
            0x4000_0000 => self.instructions,
            0x4000_0001 => self.cycles,
            general => self
                .events
                .get(general as usize)
                .map_or(0, |event| event.general),
        };
        if selector == 0x2000_0000 && self.clears_metrics() {
            self.zero_topdown_registers();
        }
        self.disturb();
        Some(value)
    }

    /// Returns whether the leader was opened with `metrics_clear`.
    fn clears_metrics(&self) -> bool {
        // SAFETY: every field of this union is a number, for which any bit pattern is valid.
        let config1 = |event: &Event| unsafe { event.attributes.__bindgen_anon_3.config1 };
        self.events.first().is_some_and(|event| config1(event) == 1)
    }

    fn disturb(&mut self) {
        if self.disturb_every_look {
            self.switch();
        }
        match &mut self.disturbance {
            None => {}
            Some((0, what)) => {
                let what = *what;
                self.disturbance = None;
                match what {
                    Disturbance::Switch => self.switch(),
                    Disturbance::Displace => self.displace(),
                    Disturbance::Move => self.move_elsewhere(),
                    Disturbance::MoveAndBack => {
                        self.move_elsewhere();
                        self.move_home();
                    }
                    Disturbance::Forbid => self.rdpmc_forbidden = true,
                }
            }
            Some((remaining, _)) => *remaining -= 1,
        }
    }

    fn find(&self, descriptor: c_int) -> Option<usize> {
        self.events.iter().position(|e| e.descriptor == descriptor)
    }

    fn pass_time(&mut self, ns: u64) {
        self.now_ns += ns;
        self.pass_time_of_threads(ns);
        if self.enabled {
            self.enabled_ns += ns;
            if self.on_pmu {
                self.running_ns += if self.half_time { ns / 2 } else { ns };
            }
        }
    }

    fn forget_the_group_before(&mut self) {
        (self.enabled, self.on_pmu, self.has_run) = (false, false, false);
        (self.enabled_ns, self.running_ns) = (0, 0);
    }

    /// Starts the program of process [`COMMAND`].
    pub fn exec(&mut self) {
        let leader = self.events.first();
        if leader.is_some_and(|leader| leader.attributes.enable_on_exec() == 1) {
            self.enabled = true;
            self.enter_pmu();
        }
    }

    fn enter_pmu(&mut self) {
        let is_kept_off = |event: &Event| Some(event.attributes.config) == self.kept_off;
        let is_free = !self.pmu_is_taken && !self.is_elsewhere;
        if self.enabled && is_free && !self.events.iter().any(is_kept_off) {
            self.on_pmu = true;
            if self.has_run {
                // Restored, with the ratios as fractions.
                self.categories = quantised(self.slots, self.ratios());
            } else {
                self.has_run = true;
                self.zero_topdown_registers();
            }
            for at in 0..self.events.len() {
                self.events[at].counted = self.register_of(at);
            }
            self.update_pages();
        }
    }

    fn leave_pmu(&mut self) {
        self.update_counts();
        self.on_pmu = false;
        self.update_pages();
    }

    fn zero_topdown_registers(&mut self) {
        if !self.has_topdown_group() {
            return;
        }
        self.slots = 0;
        self.categories = [0.0; 8];
        for at in 0..self.events.len() {
            if self.is_topdown(at) {
                self.events[at].counted = 0;
            }
        }
    }

    fn is_topdown(&self, at: usize) -> bool {
        let config = self.events[at].attributes.config;
        self.has_topdown_group() && (config == SLOTS || (0x8000..=0x8700).contains(&config))
    }

    /// Returns whether the group has a metric event: without one, slots is an ordinary counter.
    fn has_topdown_group(&self) -> bool {
        let is_metric = |event: &Event| (0x8000..=0x8700).contains(&event.attributes.config);
        self.has_metrics && self.events.iter().any(is_metric)
    }

    /// Returns the current value of an event's register.
    fn register_of(&self, at: usize) -> u64 {
        match self.events[at].attributes.config {
            config @ 0x8000..=0x8700 if self.has_metrics => {
                let byte = self.ratios().to_le_bytes()[(config as usize >> 8) & 7];
                self.slots * u64::from(byte) / 255
            }
            SLOTS if self.has_metrics => self.slots,
            INSTRUCTIONS => self.instructions,
            CYCLES => self.cycles,
            _ => self.events[at].general,
        }
    }

    fn update_counts(&mut self) {
        if !self.on_pmu {
            return;
        }
        for at in 0..self.events.len() {
            let now = self.register_of(at);
            let event = &mut self.events[at];
            // A change that would decrease a count is dropped.
            event.count += now.saturating_sub(event.counted);
            event.counted = now;
        }
    }

    /// Returns PERF_METRICS: fractions of 255, with level 1 forced to that sum by the largest
    /// remainders.
    fn ratios(&self) -> u64 {
        if let Some(ratios) = self.stuck_ratios {
            return ratios;
        }
        let total: f64 = self.categories[..4].iter().sum();
        if total == 0.0 {
            return 0;
        }
        let exact = self.categories.map(|category| category / total * 255.0);
        let mut bytes = exact.map(|fraction| fraction.round() as u8);
        bytes[..4].copy_from_slice(&[0, 1, 2, 3].map(|at: usize| exact[at] as u8));
        let mut order = [0, 1, 2, 3];
        order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
        let missing = 255 - bytes[..4].iter().map(|b| u32::from(*b)).sum::<u32>();
        for at in order.iter().cycle().take(missing as usize) {
            bytes[*at] += 1;
        }
        u64::from_le_bytes(bytes)
    }

    fn update_pages(&mut self) {
        for at in 0..self.events.len() {
            self.update_page(at);
        }
    }

    fn update_page(&mut self, at: usize) {
        let Some(page) = self.events[at].page else {
            return;
        };
        let config = self.events[at].attributes.config;
        let on_counter = self.on_pmu && self.rdpmc_allowed;
        let index = match config {
            _ if !on_counter => 0,
            SLOTS if self.has_metrics => 0x4000_0004,
            0x8000..=0x8700 if self.has_metrics => 0x2000_0001,
            INSTRUCTIONS => 0x4000_0001,
            CYCLES => 0x4000_0002,
            _ => at as u32 + 1,
        };
        if index != 0 {
            self.shown.push(index);
        }
        let count = self.events[at].count as i64;
        let offset = if self.is_topdown(at) {
            // What the kernel leaves there is useless with the restored registers.
            0x7fff_ffff_ffff + count
        } else {
            let register = self.register_of(at);
            count - ((register << 16) as i64 >> 16)
        };
        let capabilities = if self.rdpmc_allowed { 0x1e } else { 0x1a };
        let (enabled_ns, running_ns) = (self.enabled_ns, self.running_ns);
        self.pages
            .change(page, |content: &mut perf_event_mmap_page| {
                content.index = index;
                content.offset = offset;
                content.pmc_width = 48;
                content.__bindgen_anon_1.capabilities = capabilities;
                content.time_enabled = enabled_ns;
                content.time_running = running_ns;
            });
    }
}

/// Returns a real descriptor, so that nothing else gets the number.
fn event_descriptor() -> c_int {
    // SAFETY: plain calls on a file of our own.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let descriptor = libc::fcntl(null, libc::F_DUPFD_CLOEXEC, EVENT_DESCRIPTORS.start);
        libc::close(null);
        descriptor
    }
}

/// Returns the categories that the register's fractions represent: all that survives a switch.
fn quantised(slots: u64, ratios: u64) -> [f64; 8] {
    ratios
        .to_le_bytes()
        .map(|byte| slots as f64 * f64::from(byte) / 255.0)
}

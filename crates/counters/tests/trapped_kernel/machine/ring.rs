//! Events that interrupt: each interrupt writes a record into the event's buffer.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CYCLES, INSTRUCTIONS, Machine, SLOTS};

const SAMPLE: u32 = 9;
const LOST: u32 = 2;
const THROTTLE: u32 = 5;
/// Where the positions are in the first page.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
const PAGE: usize = 4096;

/// A mapped buffer. Not unmapped: the code under test does that.
pub(super) struct Ring {
    address: *mut u8,
    data_bytes: u64,
    /// Records for which there was no room.
    lost: u64,
}

impl Ring {
    fn position(&self, offset: usize) -> *mut u64 {
        // SAFETY: both positions are in the first page.
        unsafe { self.address.add(offset).cast() }
    }

    fn used_bytes(&self) -> u64 {
        // SAFETY: the buffer is mapped while its event is open.
        unsafe { self.position(HEAD).read() - self.position(TAIL).read() }
    }

    /// Appends bytes, byte by byte around the end. Another thread may empty the buffer meanwhile:
    /// it sees all of them or none.
    fn append(&mut self, bytes: &[u8]) {
        // SAFETY: the position is in the first page, aligned, and read as a whole everywhere.
        let position = unsafe { AtomicU64::from_ptr(self.position(HEAD)) };
        let head = position.load(Ordering::Relaxed);
        for (at, byte) in (head..).zip(bytes) {
            let location = PAGE + (at % self.data_bytes) as usize;
            // SAFETY: the buffer is mapped while its event is open, and the place is within it.
            unsafe { self.address.add(location).write(*byte) };
        }
        position.store(head + bytes.len() as u64, Ordering::Release);
    }

    /// Writes a record if there is room, after one that counts what was lost.
    fn record(&mut self, kind: u32, body: &[u64]) {
        let lost = match self.lost {
            0 => Vec::new(),
            lost => record(LOST, &[77, lost]),
        };
        let record = record(kind, body);
        let room = self.data_bytes - self.used_bytes() - 1;
        if ((lost.len() + record.len()) as u64) > room {
            self.lost += 1;
            return;
        }
        self.lost = 0;
        self.append(&lost);
        self.append(&record);
    }
}

fn record(kind: u32, body: &[u64]) -> Vec<u8> {
    let size = (8 + 8 * body.len()) as u16;
    let header = [&kind.to_ne_bytes()[..], &[2, 0], &size.to_ne_bytes()].concat();
    let words = body.iter().flat_map(|word| word.to_ne_bytes());
    header.into_iter().chain(words).collect()
}

/// Returns the number by which the event goes in records.
fn id_of(descriptor: c_int) -> u64 {
    1_000_000 + descriptor as u64
}

impl Machine {
    /// Maps a buffer for the event that interrupts.
    pub(super) fn map_ring(&mut self, arguments: [i64; 6]) -> i64 {
        let [address, length, protection, flags, descriptor, offset] = arguments;
        let size = length as usize;
        let data_pages = (size / PAGE).saturating_sub(1);
        let right = (address, offset) == (0, 0)
            && protection as c_int == libc::PROT_READ | libc::PROT_WRITE
            && flags as c_int == libc::MAP_SHARED
            && data_pages.is_power_of_two()
            && size % PAGE == 0;
        let at = self.find(descriptor as c_int).filter(|_| right);
        let Some(at) = at.filter(|at| self.period(*at) > 0) else {
            return -i64::from(libc::EINVAL);
        };
        if data_pages > self.largest_buffer_pages {
            return -i64::from(libc::EPERM);
        }
        // SAFETY: a new mapping of its own.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(address, libc::MAP_FAILED);
        self.events[at].ring = Some(Ring {
            address: address.cast(),
            data_bytes: (data_pages * PAGE) as u64,
            lost: 0,
        });
        address as i64
    }

    fn period(&self, at: usize) -> u64 {
        // SAFETY: every field of this union is a number.
        unsafe { self.events[at].attributes.__bindgen_anon_1.sample_period }
    }

    pub(super) fn set_period(&mut self, descriptor: c_int, period: *const u64) -> i64 {
        let Some(at) = self.find(descriptor).filter(|at| self.period(*at) > 0) else {
            return -i64::from(libc::EINVAL);
        };
        if self.on_pmu {
            self.violations
                .push("changed the period of a running event".to_owned());
        }
        // SAFETY: the request of the code under test points to the period.
        self.events[at].attributes.__bindgen_anon_1.sample_period = unsafe { period.read() };
        0
    }

    /// Writes the number by which an event goes in records.
    pub(super) fn identify(&mut self, descriptor: c_int, id: *mut u64) -> i64 {
        if self.find(descriptor).is_none() {
            return -i64::from(libc::EINVAL);
        }
        // SAFETY: the request of the code under test points to a number.
        unsafe { id.write(id_of(descriptor)) };
        0
    }

    /// Lets an event write into the buffer of another one.
    pub(super) fn set_output(&mut self, descriptor: c_int, other: c_int) -> i64 {
        let [event, into] = [descriptor, other].map(|event| self.find(event));
        match (event, into.filter(|at| self.events[*at].ring.is_some())) {
            (Some(event), Some(_)) if descriptor != other && self.period(event) > 0 => {
                self.events[event].output = Some(other);
                0
            }
            _ => -i64::from(libc::EINVAL),
        }
    }

    /// Returns how much of an event a slot of work is.
    fn per_slot(&self, config: u64) -> f64 {
        match config {
            SLOTS => 1.0,
            CYCLES => 1.0 / self.slots_per_cycle as f64,
            INSTRUCTIONS => 0.5,
            other => (self.plain_events.iter())
                .find(|(config, _)| *config == other)
                .map_or(0.0, |(_, per_slot)| *per_slot),
        }
    }

    /// Lets the thread run code at `address`, which interrupts record.
    pub fn work_at(&mut self, address: u64, slots: u64) {
        /// Counts are sums of fractions.
        const ALMOST: f64 = 1e-6;
        let mut left = slots;
        while left > 0 {
            let interrupting: Vec<(usize, f64)> = (0..self.events.len())
                .filter(|at| self.period(*at) > 0)
                .map(|at| (at, self.per_slot(self.events[at].attributes.config)))
                .filter(|(_, per_slot)| *per_slot > 0.0)
                .collect();
            if interrupting.is_empty() || !self.on_pmu {
                return self.work(left);
            }
            let until = |(at, per_slot): &(usize, f64)| {
                let counts = self.period(*at) as f64 - self.events[*at].since;
                (counts / per_slot - ALMOST).ceil().max(1.0) as u64
            };
            let step = interrupting.iter().map(until).fold(left, u64::min);
            self.work(step);
            left -= step;
            for (at, per_slot) in interrupting {
                let period = self.period(at) as f64;
                let event = &mut self.events[at];
                event.since += step as f64 * per_slot;
                if event.since + ALMOST >= period {
                    event.since -= period;
                    self.interrupt(at, address);
                }
            }
        }
    }

    /// Writes a record of what the event asks for.
    fn interrupt(&mut self, at: usize, address: u64) {
        const IP: u64 = 1;
        const READ: u64 = 1 << 4;
        const PERIOD: u64 = 1 << 8;
        const IDENTIFIER: u64 = 1 << 16;
        let event = &self.events[at];
        if self.mute == Some(event.attributes.config) {
            return;
        }
        let asks = |what| event.attributes.sample_type & what != 0;
        if !asks(IDENTIFIER) || !asks(IP) {
            self.violations
                .push("records do not tell whose they are, or where".to_owned());
        }
        let mut body = vec![id_of(event.descriptor), address];
        if asks(PERIOD) {
            body.push(self.period(at));
        }
        if asks(READ) {
            self.update_counts();
            body.push(self.events.len() as u64);
            body.extend([self.enabled_ns, self.running_ns]);
            body.extend(self.events.iter().map(|event| event.count));
            // Reading the group clears the registers.
            self.zero_topdown_registers();
        }
        let event = &self.events[at];
        let into = match event.output {
            Some(other) => self.find(other).map(|at| &mut self.events[at]),
            None => Some(&mut self.events[at]),
        };
        if let Some(ring) = into.and_then(|event| event.ring.as_mut()) {
            ring.record(SAMPLE, &body);
        }
    }

    /// Lets an event happen whose records hold weights, `times` times, each after `latency_cycles`.
    pub fn retire(&mut self, config: u64, times: u64, latency_cycles: u16) {
        const WEIGHT_STRUCT: u64 = 1 << 24;
        let mut events = 0..self.events.len();
        let at = events.find(|at| self.events[*at].attributes.config == config);
        let Some(at) = at.filter(|_| self.on_pmu) else {
            return;
        };
        let attributes = &self.events[at].attributes;
        if attributes.sample_type != WEIGHT_STRUCT || attributes.precise_ip() == 0 {
            self.violations
                .push(format!("{config:#x} cannot record weights like this"));
        }
        self.pass_time(times);
        let period = self.period(at);
        let event = &mut self.events[at];
        event.general += times;
        event.since += times as f64;
        // The latency of the load, of the instruction, and of its retirement.
        let weights = 300 | 200 << 32 | u64::from(latency_cycles) << 48;
        let ring = event.ring.as_mut().expect("it is mapped");
        while event.since >= period as f64 {
            event.since -= period as f64;
            ring.record(SAMPLE, &[weights]);
        }
    }

    fn ring(&mut self) -> &mut Ring {
        let rings = self.events.iter_mut().find_map(|event| event.ring.as_mut());
        rings.expect("a buffer is mapped")
    }

    /// Pauses the interrupts, as the kernel does when there are too many.
    pub fn throttle(&mut self) {
        self.ring().record(THROTTLE, &[1, 2, 3]);
    }

    /// Undoes changes of the period.
    pub fn set_all_periods(&mut self, period: u64) {
        for at in 0..self.events.len() {
            if self.period(at) > 0 {
                self.events[at].attributes.__bindgen_anon_1.sample_period = period;
            }
        }
    }

    /// Writes these bytes where a record belongs.
    pub fn write_garbage(&mut self, bytes: &[u8]) {
        self.ring().append(bytes);
    }

    /// Claims to have written more than the buffer holds.
    pub fn move_head_too_far(&mut self) {
        let ring = self.ring();
        let head = ring.position(HEAD);
        // SAFETY: as in `used_bytes`.
        unsafe { head.write(head.read() + 2 * ring.data_bytes) };
    }
}

//! Groups of single threads, inherited by their descendants: each counts for itself, has no page,
//! and is read with read().

use std::ffi::c_int;

use perf_event_open_sys::bindings::perf_event_attr;

use super::{CYCLES, Call, ENABLE, INSTRUCTIONS, Machine, SLOTS, event_descriptor};

/// A group, and the thread for which it was opened.
pub(super) struct ThreadGroup {
    thread: c_int,
    /// Descriptors, codes and counts, the leader's first.
    events: Vec<(c_int, u64, u64)>,
    enabled: bool,
    enabled_ns: u64,
    running_ns: u64,
}

impl Machine {
    /// Lets the thread, or one that descends from it, do work: two slots per instruction.
    pub fn work_of(&mut self, thread: c_int, slots: u64) {
        let rate = |config: u64| match config {
            SLOTS => 1.0,
            CYCLES => 1.0 / self.slots_per_cycle as f64,
            INSTRUCTIONS => 0.5,
            0x8000..=0x8700 if self.has_metrics => self.mix[(config as usize >> 8) & 7],
            other => (self.plain_events.iter())
                .find(|(config, _)| *config == other)
                .map_or(0.0, |(_, per_slot)| *per_slot),
        };
        let is_its = |group: &&mut ThreadGroup| group.thread == thread && group.enabled;
        for group in self.thread_groups.iter_mut().filter(is_its) {
            for (_, config, count) in &mut group.events {
                *count += (slots as f64 * rate(*config)).round() as u64;
            }
        }
    }

    pub(super) fn pass_time_of_threads(&mut self, ns: u64) {
        for group in self.thread_groups.iter_mut().filter(|g| g.enabled) {
            group.enabled_ns += ns;
            group.running_ns += if self.half_time { ns / 2 } else { ns };
        }
    }

    pub(super) fn open_of_thread(
        &mut self,
        attributes: &perf_event_attr,
        thread: c_int,
        group: c_int,
    ) -> i64 {
        if !self.threads.contains(&thread) {
            return -i64::from(libc::ESRCH);
        }
        let leads = group == -1;
        if leads != (attributes.disabled() == 1) || !leads && attributes.pinned() == 1 {
            self.violations
                .push("a leader is opened disabled, and it alone".to_owned());
        }
        let event = (event_descriptor(), attributes.config, 0);
        if leads {
            self.thread_groups.push(ThreadGroup {
                thread,
                events: vec![event],
                enabled: false,
                enabled_ns: 0,
                running_ns: 0,
            });
        } else {
            let led_by = |g: &&mut ThreadGroup| g.events[0].0 == group && g.thread == thread;
            let Some(led) = self.thread_groups.iter_mut().find(led_by) else {
                return -i64::from(libc::EINVAL);
            };
            led.events.push(event);
        }
        i64::from(event.0)
    }

    /// Returns the group with `descriptor` as leader.
    pub(super) fn thread_group(&self, descriptor: c_int) -> Option<usize> {
        let is_leader = |group: &ThreadGroup| {
            let leader = group.events.first();
            leader.is_some_and(|(leader, _, _)| *leader == descriptor)
        };
        self.thread_groups.iter().position(is_leader)
    }

    pub(super) fn control_of_thread(&mut self, at: usize, request: u64) -> i64 {
        if request != ENABLE {
            return -i64::from(libc::ENOTTY);
        }
        if self.on_pmu {
            self.violations
                .push("a thread's own group is on the PMU beside that of its process".to_owned());
        }
        self.calls.push(Call::Enable);
        self.thread_groups[at].enabled = true;
        0
    }

    /// Returns the counts, or ECHILD while an exiting thread's copy is dismantled.
    pub(super) fn read_of_thread(&mut self, at: usize) -> Result<Vec<u64>, i64> {
        self.calls.push(Call::Read);
        if self.ending_reads > 0 {
            self.ending_reads -= 1;
            return Err(-i64::from(libc::ECHILD));
        }
        self.pass_time(100);
        self.work(self.slots_per_look);
        let group = &self.thread_groups[at];
        let header = [
            group.events.len() as u64,
            group.enabled_ns,
            group.running_ns,
        ];
        let counts = group.events.iter().map(|(_, _, count)| *count);
        Ok(header.into_iter().chain(counts).collect())
    }

    /// Returns whether the descriptor belonged to a thread's group. A group ends with its leader.
    pub(super) fn close_of_thread(&mut self, descriptor: c_int) -> bool {
        let mut was_one = false;
        for group in &mut self.thread_groups {
            let before = group.events.len();
            group.events.retain(|(event, _, _)| *event != descriptor);
            was_one |= group.events.len() < before;
        }
        self.thread_groups.retain(|group| !group.events.is_empty());
        was_one
    }
}

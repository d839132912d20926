//! The kernel's side: the system calls made by the code under test.

use std::ffi::c_int;

use perf_event_open_sys::bindings::perf_event_attr;

use super::*;

impl Machine {
    /// Answers a system call with its result, or a negative errno.
    pub fn system_call(&mut self, number: i64, arguments: [i64; 6]) -> i64 {
        let descriptor = arguments[0] as c_int;
        match number {
            libc::SYS_perf_event_open => self.open(arguments),
            libc::SYS_mmap => self.map(arguments),
            libc::SYS_ioctl if arguments[1] as u64 == PERIOD => {
                self.set_period(descriptor, arguments[2] as *const u64)
            }
            libc::SYS_ioctl if arguments[1] as u64 == ID => {
                self.identify(descriptor, arguments[2] as *mut u64)
            }
            libc::SYS_ioctl if arguments[1] as u64 == SET_OUTPUT => {
                self.set_output(descriptor, arguments[2] as c_int)
            }
            libc::SYS_ioctl => self.control(descriptor, arguments[1] as u64),
            libc::SYS_read => self.read(descriptor, arguments[1] as *mut u64, arguments[2]),
            libc::SYS_close => self.close(descriptor),
            _ => -i64::from(libc::ENOSYS),
        }
    }

    fn open(&mut self, arguments: [i64; 6]) -> i64 {
        // SAFETY: the code under test passes a structure of the size stated in it.
        let attributes = unsafe { *(arguments[0] as *const perf_event_attr) };
        let config = attributes.config;
        self.calls.push(Call::Open(config));
        let [_, thread, cpu, group, flags, _] = arguments;
        if attributes.inherit() == 1 && thread as c_int != COMMAND {
            if let Some((refused, errno)) = self.refuse_open
                && refused == config
            {
                return -i64::from(errno);
            }
            return self.open_of_thread(&attributes, thread as c_int, group as c_int);
        }
        let counted = match attributes.inherit() {
            0 => self.sampled_process.unwrap_or(self.own_thread),
            _ => COMMAND,
        };
        if (thread as c_int, cpu as c_int) != (counted, -1) || flags != 8 || attributes.type_ != 4 {
            self.violations.push(format!(
                "opened {config:#x} otherwise than for process {counted}"
            ));
        }
        if self.events.is_empty() {
            self.forget_the_group_before();
        }
        if self.wants_exclude_guest && attributes.exclude_guest() == 0 {
            return -i64::from(libc::EOPNOTSUPP);
        }
        if let Some((refused, errno)) = self.refuse_open
            && refused == config
        {
            return -i64::from(errno);
        }
        let leader = self.events.first();
        let is_metric = self.has_metrics && (0x8000..=0x8700).contains(&config);
        let group = group as c_int;
        let leads = group == -1;
        let follows_slots = leader
            .is_some_and(|event| event.attributes.config == SLOTS && event.descriptor == group);
        let twice = self.events.iter().any(|e| e.attributes.config == config);
        let inherits_alike = leader.is_none_or(|e| e.attributes.inherit() == attributes.inherit());
        if (is_metric && !follows_slots)
            || (!leads && attributes.pinned() == 1)
            || twice
            || !inherits_alike
        {
            return -i64::from(libc::EINVAL);
        }
        if leads != (attributes.disabled() == 1) {
            self.violations.push(format!(
                "{config:#x}: only the leader is opened disabled, lest the group run too early"
            ));
        }
        let descriptor = event_descriptor();
        self.events.push(Event {
            descriptor,
            attributes,
            opened_by: own_thread(),
            page: None,
            ring: None,
            output: None,
            since: 0.0,
            count: 0,
            counted: 0,
            general: PRESET,
            rest: 0.0,
        });
        i64::from(descriptor)
    }

    fn map(&mut self, arguments: [i64; 6]) -> i64 {
        let [address, length, protection, flags, descriptor, offset] = arguments;
        if let Some(errno) = self.refuse_map {
            return -i64::from(errno);
        }
        if length > 4096 {
            return self.map_ring(arguments);
        }
        let right = address == 0
            && length == 4096
            && protection as c_int == libc::PROT_READ
            && flags as c_int == libc::MAP_SHARED
            && offset == 0;
        let Some(at) = self.find(descriptor as c_int).filter(|_| right) else {
            return -i64::from(libc::EINVAL);
        };
        if self.events[at].attributes.inherit() == 1 {
            return -i64::from(libc::EINVAL);
        }
        self.calls
            .push(Call::Map(self.events[at].attributes.config));
        let page = self.pages.map();
        self.events[at].page = Some(page);
        self.update_page(at);
        self.pages.address(page) as i64
    }

    fn control(&mut self, descriptor: c_int, request: u64) -> i64 {
        if let Some(errno) = self.refuse_control {
            return -i64::from(errno);
        }
        if let Some(at) = self.thread_group(descriptor) {
            return self.control_of_thread(at, request);
        }
        if self.find(descriptor) != Some(0) {
            self.violations
                .push("controlled another event than the leader".to_owned());
            return 0;
        }
        match request {
            ENABLE => {
                self.calls.push(Call::Enable);
                self.enabled = true;
                self.enter_pmu();
            }
            DISABLE => {
                self.calls.push(Call::Disable);
                self.leave_pmu();
                self.enabled = false;
            }
            RESET => {
                self.calls.push(Call::Reset);
                if self.on_pmu {
                    self.update_counts();
                    self.zero_topdown_registers();
                }
                self.events[0].count = 0;
                self.update_page(0);
                // The return to user mode.
                self.work(40);
            }
            _ => return -i64::from(libc::ENOTTY),
        }
        0
    }

    fn read(&mut self, descriptor: c_int, buffer: *mut u64, size: i64) -> i64 {
        if let Some(at) = self.thread_group(descriptor) {
            return match self.read_of_thread(at) {
                Ok(words) => answer(&words, buffer, size),
                Err(errno) => errno,
            };
        }
        self.calls.push(Call::Read);
        if self.find(descriptor) != Some(0) {
            self.violations
                .push("read another event than the leader".to_owned());
        }
        if self.enabled && !self.on_pmu {
            // A pinned group in error: end of file.
            return 0;
        }
        self.pass_time(100);
        self.work(self.slots_per_look);
        self.update_counts();
        self.zero_topdown_registers();
        let mut words = vec![self.events.len() as u64, self.enabled_ns, self.running_ns];
        words.extend(self.events.iter().map(|event| event.count));
        answer(&words, buffer, size)
    }

    fn close(&mut self, descriptor: c_int) -> i64 {
        if !self.close_of_thread(descriptor)
            && let Some(at) = self.find(descriptor)
        {
            let event = self.events.remove(at);
            self.calls.push(Call::Close(event.attributes.config));
        }
        // `close` would trap again; this has the same effect under another number.
        // SAFETY: the descriptor is one that `open` made.
        unsafe { libc::syscall(libc::SYS_close_range, descriptor, descriptor, 0) }
    }
}

/// Fills the buffer of a read().
fn answer(words: &[u64], buffer: *mut u64, size: i64) -> i64 {
    if (size as usize) < words.len() * 8 {
        return -i64::from(libc::ENOSPC);
    }
    // SAFETY: the buffer of the code under test has at least the size it states.
    unsafe { buffer.copy_from_nonoverlapping(words.as_ptr(), words.len()) };
    words.len() as i64 * 8
}

//! The system calls for counting: opening an event, controlling and reading its group, and the CPUs
//! that a thread may run on.
//!
//! This module knows the kernel's structures, but not what is counted.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perf_event_open_sys as sys;
use sys::bindings::{
    PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_GROUP, PERF_FORMAT_TOTAL_TIME_ENABLED,
    PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_PERIOD,
    PERF_SAMPLE_READ, PERF_SAMPLE_WEIGHT_STRUCT, perf_event_attr,
};

/// What to count: `type` and `config` of `perf_event_attr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventCode {
    /// The PMU's type number.
    pub pmu_type: u32,
    /// The raw event code.
    pub config: u64,
    /// Whether user code should read the counter itself, which must be requested on Arm.
    pub user_access: bool,
    /// Whether RDPMC of PERF_METRICS should clear it and the slots; for the slots event on Intel.
    pub metrics_clear: bool,
    /// Counts between PMU samples; 0 if it only counts.
    pub period: u64,
    /// Content of a PMU sample.
    pub recorded: Recorded,
}

/// Content of a PMU sample. It needs neither thread nor time, because the group counts one
/// thread, in windows alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// The event and the address, and the counts of its group.
    Counts,
    /// The event and the address, and its count since its previous PMU sample.
    Period,
    /// The weights of the instruction, of which one is its retire latency. The hardware writes
    /// them, which makes the event precise.
    Weights,
}

/// Which threads or processes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The calling thread.
    ThisThread,
    /// The thread with this id, 0 being the calling one, and all threads that descend from it from
    /// now on.
    ThreadAndDescendants(libc::pid_t),
    /// The process with this id from its next `exec` on, and all threads and processes that it
    /// starts afterwards.
    Tree(libc::pid_t),
    /// The first thread of the process with this id from its next `exec` on.
    Process(libc::pid_t),
    /// The thread with this id.
    Thread(libc::pid_t),
}

/// An open event, in user mode. Closed on drop.
#[derive(Debug)]
pub(crate) struct Event {
    descriptor: OwnedFd,
}

impl Event {
    /// Opens the leader of a group, disabled.
    ///
    /// A thread's own group is pinned: it is either on the PMU or refused, and never multiplexed.
    /// An inherited one is not: counts of a pinned copy that lost the PMU would be missing
    /// silently, while multiplexing shows in the times.
    pub fn open_leader(code: EventCode, counted: Counted) -> io::Result<Event> {
        let mut attributes = attributes(code, counted);
        attributes.set_disabled(1);
        match counted {
            Counted::ThisThread => attributes.set_pinned(1),
            Counted::ThreadAndDescendants(_) | Counted::Thread(_) => {}
            Counted::Tree(_) | Counted::Process(_) => attributes.set_enable_on_exec(1),
        }
        Event::open(attributes, counted, None)
    }

    /// Opens a member of the group that `leader` leads. It runs when the leader does.
    pub fn open_member(code: EventCode, counted: Counted, leader: &Event) -> io::Result<Event> {
        Event::open(attributes(code, counted), counted, Some(leader))
    }

    fn open(
        attributes: perf_event_attr,
        counted: Counted,
        leader: Option<&Event>,
    ) -> io::Result<Event> {
        const NO_GROUP: libc::c_int = -1;
        let group = leader.map_or(NO_GROUP, |leader| leader.descriptor.as_raw_fd());
        match counted {
            Counted::ThisThread => {
                let thread = current_thread();
                disowned(|| Event::open_adjusted(attributes, thread, group))
            }
            Counted::ThreadAndDescendants(id)
            | Counted::Tree(id)
            | Counted::Process(id)
            | Counted::Thread(id) => Event::open_adjusted(attributes, id, group),
        }
    }

    /// Opens the event, adjusted to this kernel and PMU.
    fn open_adjusted(
        mut attributes: perf_event_attr,
        process: libc::pid_t,
        group: libc::c_int,
    ) -> io::Result<Event> {
        const ANY_CPU: libc::c_int = -1;
        loop {
            // SAFETY: `attributes` is a valid structure whose `size` field is its size, and the
            // call writes to nothing else. It returns a new descriptor or -1.
            let result = unsafe {
                sys::perf_event_open(
                    &mut attributes,
                    process,
                    ANY_CPU,
                    group,
                    PERF_FLAG_FD_CLOEXEC as libc::c_ulong,
                )
            };
            if result >= 0 {
                // SAFETY: the kernel has just made this descriptor, and nothing else owns it.
                let descriptor = unsafe { OwnedFd::from_raw_fd(result) };
                return Ok(Event { descriptor });
            }
            let error = io::Error::last_os_error();
            // Arm cores before PMUv3.5 have no 64-bit counters.
            if error.raw_os_error() == Some(libc::EOPNOTSUPP) && requests_64_bits(&attributes) {
                set_config1(&mut attributes, USER_ACCESS);
                continue;
            }
            // Kernels before 5.13 cannot exclude processes from inheritance.
            if error.raw_os_error() == Some(libc::EINVAL) && attributes.inherit_thread() == 1 {
                attributes.set_inherit_thread(0);
                continue;
            }
            // A host that lends its PMU to guests requires guest time to be excluded explicitly.
            if error.raw_os_error() == Some(libc::EOPNOTSUPP) && attributes.exclude_guest() == 0 {
                attributes.set_exclude_guest(1);
                continue;
            }
            return Err(error);
        }
    }

    /// Starts the group. Counters continue from their current values.
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the request takes a number, not a pointer.
        done(unsafe { sys::ioctls::ENABLE(self.descriptor.as_raw_fd(), 0) })
    }

    /// Stops the group, so that others can use its counters. They keep their counts.
    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: as in `enable`.
        done(unsafe { sys::ioctls::DISABLE(self.descriptor.as_raw_fd(), 0) })
    }

    /// Sets this event's count to 0; for a TopDown event on the PMU, also the slots and
    /// PERF_METRICS registers.
    pub fn reset(&self) -> io::Result<()> {
        // SAFETY: as in `enable`.
        done(unsafe { sys::ioctls::RESET(self.descriptor.as_raw_fd(), 0) })
    }

    /// Changes after how many counts the event interrupts.
    pub fn set_period(&self, period: u64) -> io::Result<()> {
        // The request takes a pointer, which the bindings call a number.
        let location = &raw const period as u64;
        // SAFETY: the descriptor is open, and the kernel reads the number behind the pointer.
        done(unsafe { sys::ioctls::PERIOD(self.descriptor.as_raw_fd(), location) })
    }

    /// Returns the event's id in records.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0;
        // SAFETY: the descriptor is open, and the kernel writes one number behind the pointer.
        done(unsafe { sys::ioctls::ID(self.descriptor.as_raw_fd(), &mut id) })?;
        Ok(id)
    }

    /// Lets the event write its records into the buffer of another one, which is mapped.
    pub fn write_into(&self, other: &Event) -> io::Result<()> {
        let (event, into) = (self.descriptor.as_raw_fd(), other.descriptor.as_raw_fd());
        // SAFETY: both descriptors are open, and the request takes a number, not a pointer.
        done(unsafe { sys::ioctls::SET_OUTPUT(event, into) })
    }

    /// Reads the group into `words` and returns how many were filled: the number of events, the
    /// time enabled, the time running, then one count for each event, leader first. Fills none if a
    /// pinned group could not be put on the PMU.
    pub fn read_group(&self, words: &mut [u64]) -> io::Result<usize> {
        // SAFETY: the buffer is valid for writes of its size in bytes, and any bit pattern is a
        // u64.
        let bytes = unsafe {
            libc::read(
                self.descriptor.as_raw_fd(),
                words.as_mut_ptr().cast(),
                size_of_val(words),
            )
        };
        if bytes < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(bytes as usize / size_of::<u64>())
    }

    /// Returns the descriptor, for mapping the event's page.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Runs `open` on a thread that then ends, so that the events that it opens belong to no thread.
///
/// `prctl(PR_TASK_PERF_EVENTS_DISABLE)` stops the events that the calling thread has opened.
/// Measured code that makes this call and its counterpart would otherwise lose counts unnoticed.
pub(crate) fn disowned<T: Send>(open: impl FnOnce() -> T + Send) -> T {
    let mut open = Some(open);
    let mut opened = None;
    on_another_thread(&mut || opened = open.take().map(|open| open()));
    // Without another thread, this one opens them.
    opened.unwrap_or_else(|| open.expect("it has not run")())
}

/// Runs `work` to its end on a thread of its own, if there can be one.
fn on_another_thread(work: &mut (dyn FnMut() + Send)) {
    std::thread::scope(|scope| {
        let _ = std::thread::Builder::new()
            .name(format!("perf-{}", current_thread()))
            .spawn_scoped(scope, work);
    });
}

/// Returns the id of the calling thread.
pub(crate) fn current_thread() -> libc::pid_t {
    // SAFETY: the call takes nothing and has no effect. `libc::gettid` needs a newer C library.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

fn attributes(code: EventCode, counted: Counted) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        size: size_of::<perf_event_attr>() as u32,
        type_: code.pmu_type,
        config: code.config,
        read_format: u64::from(
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        ),
        ..perf_event_attr::default()
    };
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    match counted {
        Counted::ThisThread if code.user_access => {
            set_config1(&mut attributes, USER_ACCESS | LONG_COUNTER);
        }
        Counted::ThisThread | Counted::Process(_) | Counted::Thread(_) => {}
        // Every member of a group must have it.
        Counted::ThreadAndDescendants(_) => {
            attributes.set_inherit(1);
            attributes.set_inherit_thread(1);
        }
        Counted::Tree(_) => attributes.set_inherit(1),
    }
    if code.metrics_clear {
        set_config1(&mut attributes, METRICS_CLEAR);
    }
    if code.period > 0 {
        attributes.__bindgen_anon_1.sample_period = code.period;
        match code.recorded {
            Recorded::Counts => {
                attributes.sample_type =
                    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_READ).into();
            }
            Recorded::Period => {
                attributes.sample_type =
                    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD).into();
            }
            Recorded::Weights => {
                attributes.sample_type = PERF_SAMPLE_WEIGHT_STRUCT as u64;
                attributes.set_precise_ip(1);
            }
        }
    }
    attributes
}

/// The bit of `config1` on Intel: Linux, arch/x86/events/intel/core.c, `format/metrics_clear`.
const METRICS_CLEAR: u64 = 1;

/// Bits of `config1` on Arm: Linux, Documentation/arch/arm64/perf.rst.
const LONG_COUNTER: u64 = 1;
const USER_ACCESS: u64 = 1 << 1;

fn set_config1(attributes: &mut perf_event_attr, config1: u64) {
    attributes.__bindgen_anon_3.config1 = config1;
}

fn requests_64_bits(attributes: &perf_event_attr) -> bool {
    // SAFETY: every field of this union is a number, for which any bit pattern is valid.
    unsafe { attributes.__bindgen_anon_3.config1 == USER_ACCESS | LONG_COUNTER }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Returns the CPU that the calling thread runs on. The C library answers without a system call.
pub(crate) fn current_cpu() -> u32 {
    // SAFETY: the call takes nothing and has no effect.
    let cpu = unsafe { libc::sched_getcpu() };
    // It fails only on kernels without the call, which are older than TopDown events.
    u32::try_from(cpu).unwrap_or(0)
}

const WORDS_OF_CPUS: usize = 128;

/// Returns the CPUs that the calling thread may run on, in ascending order.
pub(crate) fn affinity() -> io::Result<Vec<u32>> {
    let mut words = [0_u64; WORDS_OF_CPUS];
    // SAFETY: the mask is as long as its size says. The kernel's masks are also arrays of words, so
    // one longer than `cpu_set_t` is allowed.
    done(unsafe { libc::sched_getaffinity(0, size_of_val(&words), words.as_mut_ptr().cast()) })?;
    Ok((0..words.len() as u32 * 64)
        .filter(|cpu| words[*cpu as usize / 64] >> (cpu % 64) & 1 == 1)
        .collect())
}

/// Restricts the calling thread to `cpus`.
pub(crate) fn set_affinity(cpus: &[u32]) -> io::Result<()> {
    let mut words = [0_u64; WORDS_OF_CPUS];
    for cpu in cpus {
        if let Some(word) = words.get_mut(*cpu as usize / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    // SAFETY: as in `affinity`; the kernel only reads the mask.
    done(unsafe { libc::sched_setaffinity(0, size_of_val(&words), words.as_ptr().cast()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_runs_on_a_cpu_of_its_affinity() {
        let cpus = affinity().unwrap();
        assert!(cpus.contains(&current_cpu()), "{cpus:?}");
        set_affinity(&cpus).unwrap();
        assert_eq!(affinity().unwrap(), cpus);
    }
}

//! Decides which code is trusted: its blocks do not check it on every entry.
//!
//! Checking costs as much as recording. It can be omitted under two conditions:
//!
//! * Nothing else changes memory: the process has a single thread, or the
//!   [others](super::other_threads) wait until this one wakes them, so that memory changes only
//!   through system calls of the traced thread and its signal handlers, which are
//!   [intercepted](super::handlers). If there are other threads, the process catches no signals
//!   except faults: another thread could handle any other.
//! * The code stays for the life of the process: it belongs to the program, the C library, the
//!   loader, or the kernel's vDSO.
//!
//! Trusted code is verified as a whole instead: at attach, after every system call that may wait or
//! write, after every handler, and at detach. When the traced thread starts or wakes another one,
//! or a handler has changed code, it switches to checking translations until the end of the trace.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use super::handlers;
use super::other_threads::{OtherThreads, OtherThreadsWatch};

/// The program, the C library, the loader and the vDSO.
const MAX_OBJECTS: usize = 4;

/// The address ranges of the objects that stay for the life of the process.
pub(super) struct LastingObjects {
    spans: [(u64, u64); MAX_OBJECTS],
    len: usize,
    /// An address in each of them except the program, which comes first.
    anchors: [u64; MAX_OBJECTS - 1],
}

impl LastingObjects {
    /// Finds the objects. May take the loader's lock, so do not call it inside the engine.
    pub(super) fn of_this_process() -> LastingObjects {
        // SAFETY: reads the auxiliary vector.
        let auxiliary = |key| unsafe { libc::getauxval(key) };
        let mut objects = LastingObjects {
            spans: [(0, 0); MAX_OBJECTS],
            len: 0,
            anchors: [
                libc::getpid as *const () as u64,
                auxiliary(libc::AT_BASE),
                auxiliary(libc::AT_SYSINFO_EHDR),
            ],
        };
        // SAFETY: `add` matches the expected signature and does not unwind; `objects` outlives the
        // call.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast()) };
        objects
    }

    pub(super) fn contain(&self, range: &Range<u64>) -> bool {
        self.spans[..self.len]
            .iter()
            .any(|&(start, end)| start <= range.start && range.end <= end)
    }
}

unsafe extern "C" fn add(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    objects: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description of an object and of its program headers, and
    // `objects` is the variable of `of_this_process`.
    let (info, objects, headers) = unsafe {
        let info = &*info;
        let headers = if info.dlpi_phnum == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into())
        };
        (info, &mut *objects.cast::<LastingObjects>(), headers)
    };
    const PAGE: u64 = 4096;
    let segments = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let (mut start, mut end) = (u64::MAX, 0);
    for segment in segments {
        let first = info.dlpi_addr.wrapping_add(segment.p_vaddr);
        start = start.min(first & !(PAGE - 1));
        end = end.max((first + segment.p_memsz).next_multiple_of(PAGE));
    }
    let is_program = objects.len == 0;
    let lasts = is_program || objects.anchors.iter().any(|at| (start..end).contains(at));
    if lasts && objects.len < MAX_OBJECTS {
        objects.spans[objects.len] = (start, end);
        objects.len += 1;
    }
    0
}

/// Whether anything besides the calling thread's own system calls may change the memory of this
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OthersThatChangeMemory {
    Nobody,
    /// Nothing now, but something may have since the previous query.
    NobodyNow,
    /// Something may, or the system does not say.
    Somebody,
}

impl OthersThatChangeMemory {
    pub(super) fn ask(threads: &mut OtherThreadsWatch) -> OthersThatChangeMemory {
        let now = threads.ask();
        // A signal may come to any thread.
        if threads.have_waited() && handlers::other_signals_are_caught() {
            return OthersThatChangeMemory::Somebody;
        }
        match now {
            OtherThreads::Wait { since_then: true } => OthersThatChangeMemory::Nobody,
            OtherThreads::Wait { since_then: false } => OthersThatChangeMemory::NobodyNow,
            OtherThreads::MayRun => OthersThatChangeMemory::Somebody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests are threads of this process, so a forked child runs this one.
    #[test]
    fn a_handler_changes_memory_unnoticed_only_if_another_thread_may_run_it() {
        extern "C" fn nothing(_signal: i32) {}
        // SAFETY: the child has one thread, makes one that ends with it, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let as_expected = std::panic::catch_unwind(|| {
                // SAFETY: the handler does nothing.
                unsafe { libc::signal(libc::SIGUSR1, nothing as *const () as usize) };
                let tracer = crate::Tracer::new(crate::Config::default(), Nothing).unwrap();
                let ask = || {
                    tracer.attach().unwrap();
                    let others = OthersThatChangeMemory::ask(&mut OtherThreadsWatch::default());
                    tracer.detach().unwrap();
                    others
                };
                assert_ne!(ask(), OthersThatChangeMemory::Somebody);
                std::thread::spawn(|| {
                    loop {
                        std::thread::park();
                    }
                });
                std::thread::sleep(std::time::Duration::from_millis(20));
                assert_eq!(ask(), OthersThatChangeMemory::Somebody);
                // SAFETY: as above.
                unsafe { libc::signal(libc::SIGUSR1, libc::SIG_DFL) };
                assert_ne!(ask(), OthersThatChangeMemory::Somebody);
            });
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(as_expected.is_err())) };
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }

    struct Nothing;

    impl crate::Consumer for Nothing {
        fn block(&mut self, _block: &crate::Block<'_>, _addresses: &[u64]) {}
    }

    #[test]
    fn this_function_lasts_and_the_heap_does_not() {
        let objects = LastingObjects::of_this_process();
        let around = |address: u64| address..address + 1;
        let here = this_function_lasts_and_the_heap_does_not as *const () as u64;
        assert!(objects.contain(&around(here)));
        assert!(objects.contain(&around(libc::malloc as *const () as u64)));
        let heap = Box::new(0_u64);
        assert!(!objects.contain(&around(&raw const *heap as u64)));
    }
}

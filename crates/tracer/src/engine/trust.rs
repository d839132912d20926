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
//!   loader, or the kernel's vDSO: see [`lasting_objects`](super::lasting_objects).
//!
//! Trusted code is verified as a whole instead: at attach, after every system call that may wait or
//! write, after every handler, and at detach. When the traced thread starts or wakes another one,
//! or a handler has changed code, it switches to checking translations until the end of the trace.

use super::other_threads::{OtherThreads, OtherThreadsWatch};

/// Whether anything besides the calling thread's own system calls may change the memory of this
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConcurrentWriters {
    Nobody,
    /// Nothing now, but something may have since the previous query.
    NobodyNow,
    /// Something may, or the system does not say.
    Somebody,
}

impl ConcurrentWriters {
    /// `catches_signals` says whether the program handles a signal that is not a fault: another
    /// thread may get it.
    pub(super) fn ask(
        threads: &mut OtherThreadsWatch,
        catches_signals: impl FnOnce() -> bool,
    ) -> ConcurrentWriters {
        let now = threads.ask();
        if threads.have_waited() && catches_signals() {
            return ConcurrentWriters::Somebody;
        }
        match now {
            OtherThreads::Wait { since_then: true } => ConcurrentWriters::Nobody,
            OtherThreads::Wait { since_then: false } => ConcurrentWriters::NobodyNow,
            OtherThreads::MayRun => ConcurrentWriters::Somebody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::handlers::catches_other_signals;
    use super::*;

    /// Other tests are threads of this process, so a forked child runs this one.
    #[test]
    fn only_handlers_on_other_threads_go_unnoticed() {
        extern "C" fn no_op(_signal: i32) {}
        // SAFETY: the child has one thread, makes one that ends with it, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let as_expected = std::panic::catch_unwind(|| {
                // SAFETY: the handler does nothing.
                unsafe { libc::signal(libc::SIGUSR1, no_op as *const () as usize) };
                let tracer = crate::Tracer::new(crate::Config::default(), Nothing).unwrap();
                let ask = || {
                    tracer.attach().unwrap();
                    let mut threads = OtherThreadsWatch::default();
                    let others = ConcurrentWriters::ask(&mut threads, catches_other_signals);
                    tracer.detach().unwrap();
                    others
                };
                assert_ne!(ask(), ConcurrentWriters::Somebody);
                std::thread::spawn(|| {
                    loop {
                        std::thread::park();
                    }
                });
                std::thread::sleep(std::time::Duration::from_millis(20));
                assert_eq!(ask(), ConcurrentWriters::Somebody);
                // SAFETY: as above.
                unsafe { libc::signal(libc::SIGUSR1, libc::SIG_DFL) };
                assert_ne!(ask(), ConcurrentWriters::Somebody);
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
}

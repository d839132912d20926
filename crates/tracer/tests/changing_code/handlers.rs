//! Signal handlers that change code made at run time.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use topdown_tracer::End;

use crate::page::Page;
use crate::traced;

#[test]
pub fn signal_handler_rewrites_code() {
    static PAGE_OF_HANDLER: AtomicU64 = AtomicU64::new(0);
    extern "C" fn rewrite(_signal: i32) {
        Page(PAGE_OF_HANDLER.load(Ordering::Relaxed) as usize).rewrite(2);
    }
    let page = Page::returning(1);
    PAGE_OF_HANDLER.store(page.0 as u64, Ordering::Relaxed);
    // SAFETY: the handler makes two system calls and writes to a page of the test's own.
    unsafe { libc::signal(libc::SIGUSR1, rewrite as *const () as usize) };
    let (results, end) = traced(|| {
        let first = page.call();
        // SAFETY: sends the signal to this thread.
        unsafe { libc::raise(libc::SIGUSR1) };
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
}

/// The timer's signal comes without a system call of the traced thread.
#[test]
fn timer_handler_rewrites_code() {
    static PAGE_OF_HANDLER: AtomicU64 = AtomicU64::new(0);
    static IS_DONE: AtomicU32 = AtomicU32::new(0);
    extern "C" fn rewrite(_signal: i32) {
        Page(PAGE_OF_HANDLER.load(Ordering::Relaxed) as usize).rewrite(2);
        IS_DONE.store(1, Ordering::Release);
    }
    let page = Page::returning(1);
    PAGE_OF_HANDLER.store(page.0 as u64, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { libc::signal(libc::SIGALRM, rewrite as *const () as usize) };
    let (results, end) = traced(|| {
        let first = page.call();
        // SAFETY: one signal after ten milliseconds.
        unsafe {
            let mut timer: libc::itimerval = std::mem::zeroed();
            timer.it_value.tv_usec = 10_000;
            libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut());
        }
        while IS_DONE.load(Ordering::Acquire) == 0 {
            std::hint::spin_loop();
        }
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
}

/// The check of a block faults where the program's code cannot be read: the handler sees the
/// program's own address, repairs it, and the trace continues.
#[test]
fn fault_handler_restores_code() {
    static PAGE_THAT_FAULTS: AtomicU64 = AtomicU64::new(0);
    static FAULTED_AT: AtomicU64 = AtomicU64::new(0);
    extern "C" fn repair(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel, or the tracer, passes the interrupted state.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        FAULTED_AT.store(registers[libc::REG_RIP as usize] as u64, Ordering::Relaxed);
        let page = Page(PAGE_THAT_FAULTS.load(Ordering::Relaxed) as usize);
        page.rewrite(2);
    }
    let page = Page::returning(1);
    PAGE_THAT_FAULTS.store(page.0 as u64, Ordering::Relaxed);
    // SAFETY: the handler makes the page executable and returns.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = repair as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut());
    }
    let (results, end) = traced(|| {
        let first = page.call();
        // Without a system call of this thread: the block's own check is what faults.
        thread::scope(|scope| {
            scope.spawn(|| page.protect(libc::PROT_NONE));
        });
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
    assert_eq!(FAULTED_AT.load(Ordering::Relaxed), page.0 as u64);
}

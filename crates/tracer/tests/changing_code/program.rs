//! Changes of the program's own code, which is trusted as long as nothing can change it.

use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use topdown_tracer::{End, TraceError};

use crate::count::tracer;
use crate::other_thread::changed_by_another_thread;
use crate::page::{Page, READ_WRITE, code, own_memory};
use crate::{handlers, in_a_process_of_its_own, in_child, traced, unseen_ways};

/// A function of the program itself, on a page of code that is otherwise executed too.
#[inline(never)]
extern "C" fn of_the_program() -> u64 {
    std::hint::black_box(1)
}

fn own_function() -> Page {
    Page(of_the_program as *const () as usize)
}

/// Also for signal handlers.
fn rewrite_own_function(value: u8) {
    own_memory()
        .write_all_at(&code(value), own_function().0 as u64)
        .unwrap();
}

/// Held by each test that changes [`of_the_program`], of which there is one in the process.
fn alone_with_the_program() -> MutexGuard<'static, ()> {
    static PROGRAM: Mutex<()> = Mutex::new(());
    PROGRAM.lock().unwrap_or_else(PoisonError::into_inner)
}

fn the_program_changes_its_own_function() {
    let memory = own_memory();
    let function = own_function();
    let mut before = code(0);
    memory
        .read_exact_at(&mut before, function.0 as u64)
        .unwrap();
    let (results, end) = traced(|| {
        let first = function.call();
        memory.write_all_at(&code(2), function.0 as u64).unwrap();
        (first, function.call())
    });
    memory.write_all_at(&before, function.0 as u64).unwrap();
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
}

#[test]
fn program_changes_its_own_function() {
    let _alone = alone_with_the_program();
    the_program_changes_its_own_function();
}

#[test]
fn other_thread_changes_function() {
    let _alone = alone_with_the_program();
    let memory = own_memory();
    let function = of_the_program as *const () as u64;
    let mut before = code(0);
    memory.read_exact_at(&mut before, function).unwrap();
    changed_by_another_thread(
        || {
            memory.write_all_at(&code(1), function).unwrap();
            // What is unmapped behind this must not be the program.
            let page = Page::returning(0);
            let jump = [&[0x48, 0xb8][..], &function.to_le_bytes(), &[0xff, 0xe0]].concat();
            memory.write_all_at(&jump, page.0 as u64).unwrap(); // mov rax, function; jmp rax
            page
        },
        |_| memory.write_all_at(&code(2), function).unwrap(),
    );
    memory.write_all_at(&before, function).unwrap();
}

/// The thread waits when each of the traces begins, so that the program's own code is trusted.
#[test]
fn woken_thread_changes_function() {
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let memory = own_memory();
        let function = own_function();
        let write = |value: u32| {
            memory
                .write_all_at(&code(value as u8), function.0 as u64)
                .unwrap()
        };
        write(1);
        let changed = AtomicU32::new(1);
        let (go, gone) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            let changed = &changed;
            scope.spawn(move || {
                for value in gone {
                    write(value);
                    changed.store(value, Ordering::Release);
                }
            });
            let tracer = tracer();
            for value in 2..10 {
                // Until the thread waits.
                thread::sleep(std::time::Duration::from_millis(5));
                let (results, end) = tracer.trace(|| {
                    let first = function.call();
                    go.send(value).unwrap();
                    while changed.load(Ordering::Acquire) != value {
                        std::hint::spin_loop();
                    }
                    (first, function.call())
                });
                assert_eq!(results, (u64::from(value) - 1, u64::from(value)));
                assert_eq!(end, Ok(End::Detach));
            }
            drop(go);
        });
    });
    assert_eq!(status, 0);
}

/// The own changes of a process of one thread.
#[test]
fn single_thread_process_changes_its_code() {
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        the_program_changes_its_own_function();
        unseen_ways::rewrite_through_alias();
        handlers::signal_handler_rewrites_code();
    });
    assert_eq!(status, 0);
}

/// A handler that changes the program's own code interrupts a loop that is translated already, and
/// whose blocks lead to one another.
#[test]
fn timer_handler_changes_function() {
    static VALUE: AtomicU32 = AtomicU32::new(1);
    extern "C" fn change(_signal: i32) {
        let value = VALUE.load(Ordering::Relaxed) + 1;
        rewrite_own_function(value as u8);
        VALUE.store(value, Ordering::Release);
    }
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let function = own_function();
        rewrite_own_function(1);
        // SAFETY: the handler writes to a function of the test's own.
        unsafe { libc::signal(libc::SIGALRM, change as *const () as usize) };
        let tracer = tracer();
        for _ in 0..50 {
            let first = VALUE.load(Ordering::Relaxed);
            let (seen, end) = tracer.trace(|| {
                // SAFETY: one signal soon.
                unsafe {
                    let mut timer: libc::itimerval = std::mem::zeroed();
                    timer.it_value.tv_usec = 300;
                    libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut());
                }
                let mut calls = 0_u64;
                while VALUE.load(Ordering::Acquire) == first {
                    let seen = function.call();
                    // The handler may run in between.
                    calls += u64::from(seen != u64::from(first));
                }
                (calls <= 1, function.call())
            });
            assert_eq!(seen, (true, u64::from(first) + 1));
            assert_eq!(end, Ok(End::Detach));
        }
    });
    assert_eq!(status, 0);
}

/// A handler that starts a thread, which changes the program's own code later.
#[test]
fn thread_of_handler_changes_function() {
    static GO: AtomicU32 = AtomicU32::new(0);
    extern "C" fn start_a_thread(_signal: i32) {
        thread::spawn(|| {
            while GO.load(Ordering::Acquire) != 1 {
                std::hint::spin_loop();
            }
            rewrite_own_function(2);
            GO.store(2, Ordering::Release);
        });
    }
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let function = own_function();
        rewrite_own_function(1);
        // SAFETY: the signal interrupts a system call of the test's own.
        unsafe { libc::signal(libc::SIGUSR1, start_a_thread as *const () as usize) };
        let (results, end) = traced(|| {
            let before = function.call();
            // SAFETY: sends the signal to this thread.
            unsafe { libc::raise(libc::SIGUSR1) };
            let meanwhile = function.call();
            GO.store(1, Ordering::Release);
            while GO.load(Ordering::Acquire) != 2 {
                std::hint::spin_loop();
            }
            (before, meanwhile, function.call())
        });
        assert_eq!(results, (1, 1, 2));
        assert_eq!(end, Ok(End::Detach));
    });
    assert_eq!(status, 0);
}

/// A handler that a handler has installed.
#[test]
fn nested_handler_changes_function() {
    extern "C" fn change(_signal: i32) {
        rewrite_own_function(2);
    }
    extern "C" fn install(_signal: i32) {
        // SAFETY: the other handler writes to a function of the test's own.
        unsafe { libc::signal(libc::SIGUSR2, change as *const () as usize) };
    }
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let function = own_function();
        rewrite_own_function(1);
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGUSR1, install as *const () as usize) };
        let (results, end) = traced(|| {
            let first = function.call();
            // SAFETY: sends the signals to this thread.
            unsafe {
                libc::raise(libc::SIGUSR1);
                libc::raise(libc::SIGUSR2);
            }
            (first, function.call())
        });
        assert_eq!(results, (1, 2));
        assert_eq!(end, Ok(End::Detach));
        // SAFETY: asks only.
        let now = unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGUSR2, ptr::null(), &mut now);
            now
        };
        assert_eq!(now.sa_sigaction, change as *const () as usize);
    });
    assert_eq!(status, 0);
}

/// A handler of a fault that changes the program's own code, in a process of one thread: the trace
/// ends at the fault.
#[test]
fn fault_handler_changes_its_own_function() {
    in_a_process_of_its_own("program::fault_handler_changes_its_own_function", || {
        let _alone = alone_with_the_program();
        static PAGE_THAT_FAULTS: AtomicU64 = AtomicU64::new(0);
        extern "C" fn repair(_signal: i32) {
            rewrite_own_function(2);
            Page(PAGE_THAT_FAULTS.load(Ordering::Relaxed) as usize).protect(READ_WRITE);
        }
        let status = in_child(|| {
            let page = Page::map(None, libc::PROT_NONE, libc::MAP_PRIVATE, None);
            PAGE_THAT_FAULTS.store(page.0 as u64, Ordering::Relaxed);
            let function = own_function();
            // SAFETY: the handler makes the page readable and returns.
            unsafe { libc::signal(libc::SIGSEGV, repair as *const () as usize) };
            let (results, end) = traced(|| {
                let first = function.call();
                // SAFETY: once the handler has been there.
                let zero = unsafe { ptr::with_exposed_provenance::<u64>(page.0).read_volatile() };
                (first, zero, function.call())
            });
            assert_eq!(results, (1, 0, 2));
            assert_eq!(end, Err(TraceError::CodeChanged));
        });
        assert_eq!(status, 0);
    });
}

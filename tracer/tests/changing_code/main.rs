//! Code that changes where the traced thread cannot see it change: the program's result is that of
//! the native run, and the trace is complete or says why it is not.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../support/count.rs"]
mod count;

mod page;
mod random;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;

use count::{Count, tracer};
use topdown_skipped::{Need, skip};
use topdown_tracer::{Config, End, TraceError, Tracer};

use self::page::{PAGE, Page, READ_EXECUTE, READ_WRITE, code, memory_file, own_memory};
use self::random::{Others, Program};

/// Held for reading while a test traces, and for writing while another one forks: the child would
/// inherit a trace in progress whose thread it does not have.
static TRACES: RwLock<()> = RwLock::new(());

fn traced<T>(work: impl FnOnce() -> T) -> (T, Result<End, TraceError>) {
    let _in_progress = TRACES.read().unwrap_or_else(PoisonError::into_inner);
    tracer().trace(work)
}

/// What lets another thread do something when the traced one wants it, without a system call of the
/// traced one.
struct Turns(AtomicU32);

impl Turns {
    fn wait_for(&self, turn: u32) {
        while self.0.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
    }

    fn give(&self, turn: u32) {
        self.0.store(turn, Ordering::Release);
    }
}

/// Calls the page, lets another thread do `change` while this one waits, and calls it again.
///
/// Three ways to wait: in a system call until the other thread has ended, in one until it says so,
/// and without any.
fn changed_by_another_thread(make: impl Fn() -> Page, change: impl Fn(Page) + Sync) {
    for way in ["join", "channel", "spin"] {
        let page = make();
        let turns = Turns(AtomicU32::new(0));
        let (done, is_done) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            let (turns, change) = (&turns, &change);
            let other = (way != "join").then(|| {
                scope.spawn(move || {
                    if way == "channel" {
                        gone.recv().unwrap();
                    } else {
                        turns.wait_for(1);
                    }
                    change(page);
                    turns.give(2);
                    done.send(()).unwrap();
                })
            });
            let (results, end) = traced(|| {
                let first = page.call();
                match way {
                    "join" => scope.spawn(move || change(page)).join().unwrap(),
                    "channel" => {
                        go.send(()).unwrap();
                        is_done.recv().unwrap();
                    }
                    _ => {
                        turns.give(1);
                        turns.wait_for(2);
                    }
                }
                (first, page.call())
            });
            drop(other);
            assert_eq!(results, (1, 2), "{way}");
            assert_eq!(end, Ok(End::Detach), "{way}");
        });
        page.unmap();
    }
}

#[test]
fn issue_14_5_another_thread_rewrites_between_mprotects() {
    changed_by_another_thread(|| Page::returning(1), |page| page.rewrite(2));
}

/// Another test could get the place in between.
#[test]
fn issue_14_5_another_thread_unmaps_and_maps() {
    in_a_process_of_its_own("issue_14_5_another_thread_unmaps_and_maps", || {
        changed_by_another_thread(
            || Page::returning(1),
            |page| {
                page.unmap();
                let place = Page::map(Some(page), READ_WRITE, libc::MAP_PRIVATE, None);
                place.write(2);
                place.protect(READ_EXECUTE);
            },
        );
    });
}

#[test]
fn issue_14_5_another_thread_writes_through_an_alias() {
    let file = memory_file(1);
    let alias = Page::map(None, READ_WRITE, libc::MAP_SHARED, Some(&file));
    changed_by_another_thread(
        || {
            alias.write(1);
            Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file))
        },
        |_| alias.write(2),
    );
}

/// A C library whose function `answer` returns `value`.
fn plugin(directory: &Path, value: u32) -> Option<PathBuf> {
    let source = directory.join(format!("{value}.c"));
    let library = directory.join(format!("lib{value}.so"));
    let text = format!("unsigned long answer(void) {{ return {value}; }}\n");
    File::create(&source)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let status = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    matches!(status, Ok(status) if status.success()).then_some(library)
}

type Answer = extern "C" fn() -> u64;

/// The library and its function.
fn open(library: &Path) -> (usize, Answer) {
    let name = std::ffi::CString::new(library.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the library has no constructors, and its function this type.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        let symbol = libc::dlsym(handle, c"answer".as_ptr());
        assert!(!symbol.is_null());
        (
            handle as usize,
            std::mem::transmute::<*mut _, Answer>(symbol),
        )
    }
}

fn close(handle: usize) {
    // SAFETY: a handle of `open`, whose function is called no more.
    unsafe { libc::dlclose(handle as *mut libc::c_void) };
}

#[test]
fn issue_14_5_another_thread_loads_a_plugin_in_the_place_of_another() {
    in_a_process_of_its_own(
        "issue_14_5_another_thread_loads_a_plugin_in_the_place_of_another",
        || {
            let directory = tempfile::tempdir().unwrap();
            let libraries = [1, 2].map(|value| plugin(directory.path(), value));
            let [Some(one), Some(two)] = libraries else {
                skip(Need::System, "there is no C compiler");
                return;
            };
            for spins in [false, true] {
                let (handle, answer) = open(&one);
                let place = answer as usize;
                let turns = Turns(AtomicU32::new(0));
                let second = AtomicPtr::new(ptr::null_mut());
                let handle_of_second = AtomicU64::new(0);
                let load_the_other = || {
                    close(handle);
                    let (handle, answer) = open(&two);
                    handle_of_second.store(handle as u64, Ordering::Relaxed);
                    second.store(answer as *mut (), Ordering::Release);
                };
                thread::scope(|scope| {
                    let other = spins.then(|| {
                        scope.spawn(|| {
                            turns.wait_for(1);
                            load_the_other();
                            turns.give(2);
                        })
                    });
                    let (results, end) = traced(|| {
                        let first = answer();
                        if spins {
                            turns.give(1);
                            turns.wait_for(2);
                        } else {
                            scope.spawn(load_the_other).join().unwrap();
                        }
                        // SAFETY: the other thread has stored the function.
                        let answer: Answer =
                            unsafe { std::mem::transmute(second.load(Ordering::Acquire)) };
                        (first, answer())
                    });
                    drop(other);
                    assert_eq!(results, (1, 2));
                    assert_eq!(end, Ok(End::Detach));
                });
                let second = second.load(Ordering::Relaxed) as usize;
                assert_eq!(second, place, "the loader took another place: no test");
                close(handle_of_second.load(Ordering::Relaxed) as usize);
            }
        },
    );
}

#[test]
fn issue_14_5_a_signal_handler_rewrites() {
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
fn issue_14_5_a_timers_handler_rewrites() {
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

#[test]
fn issue_14_5_code_is_rewritten_through_proc_self_mem() {
    let page = Page::returning(1);
    let memory = own_memory();
    let (results, end) = traced(|| {
        let first = page.call();
        memory.write_all_at(&code(2), page.0 as u64).unwrap();
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
    changed_by_another_thread(
        || Page::returning(1),
        |page| memory.write_all_at(&code(2), page.0 as u64).unwrap(),
    );
}

/// A function of the program itself, on a page of code that is otherwise executed too.
#[inline(never)]
extern "C" fn of_the_program() -> u64 {
    std::hint::black_box(1)
}

#[test]
fn issue_14_5_the_program_changes_its_own_function() {
    let _alone = alone_with_the_program();
    the_program_changes_its_own_function();
}

/// Runs `test` again, alone in a process: what other tests have loaded, and that they have threads
/// and handlers, decides what is trusted.
fn in_a_process_of_its_own(test: &str, body: impl FnOnce()) {
    const ALONE: &str = "TOPDOWN_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

/// Held by each test that changes [`of_the_program`], of which there is one in the process.
fn alone_with_the_program() -> MutexGuard<'static, ()> {
    static PROGRAM: Mutex<()> = Mutex::new(());
    PROGRAM.lock().unwrap_or_else(PoisonError::into_inner)
}

fn the_program_changes_its_own_function() {
    let memory = own_memory();
    let function = Page(of_the_program as *const () as usize);
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
fn issue_14_5_another_thread_changes_the_programs_own_function() {
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

#[test]
fn issue_14_5_code_is_rewritten_by_pwrite_to_its_file() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[0xcc; PAGE]).unwrap();
    file.write_all_at(&code(1), 0).unwrap();
    let page = Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file));
    let (results, end) = traced(|| {
        let first = page.call();
        file.write_all_at(&code(2), 0).unwrap();
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
    page.unmap();
    changed_by_another_thread(
        || {
            file.write_all_at(&code(1), 0).unwrap();
            Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file))
        },
        |_| file.write_all_at(&code(2), 0).unwrap(),
    );
}

#[test]
fn issue_14_5_code_is_rewritten_through_an_alias() {
    let file = memory_file(1);
    let page = Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file));
    let alias = Page::map(None, READ_WRITE, libc::MAP_SHARED, Some(&file));
    let (results, end) = traced(|| {
        let first = page.call();
        alias.write(2);
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
}

#[test]
fn issue_14_5_madvise_brings_the_files_code_back() {
    let file = memory_file(2);
    let make = || {
        let page = Page::map(None, READ_WRITE, libc::MAP_PRIVATE, Some(&file));
        page.write(1);
        page.protect(READ_EXECUTE);
        page
    };
    let page = make();
    let (results, end) = traced(|| {
        let first = page.call();
        page.drop_content();
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
    changed_by_another_thread(make, Page::drop_content);
}

/// How a forked child ends that runs `body`.
fn in_child(body: impl FnOnce()) -> i32 {
    let nobody_traces = TRACES.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the child runs `body` on its only thread and ends.
    let process = unsafe { libc::fork() };
    drop(nobody_traces);
    if process == 0 {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        if let Err(panic) = &result {
            // The harness captures what the child prints, so it would be lost.
            let text = panic.downcast_ref::<String>().map_or("", String::as_str);
            // SAFETY: writes the text to standard error.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        }
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(process, &mut status, 0) };
    status
}

/// Runs natively, then traced.
fn is_the_same_traced(program: &Program, seed: u64) {
    let native = program.prepared(|run| run());
    let (results, end) = program.prepared(|run| traced(run));
    assert_eq!(results, native, "seed {seed}");
    assert_eq!(end, Ok(End::Detach), "seed {seed}");
}

/// Some programs unmap a page and map another in its place, which another test could get.
#[test]
fn issue_14_5_random_programs_that_change_their_code_are_the_same_traced() {
    in_a_process_of_its_own(
        "issue_14_5_random_programs_that_change_their_code_are_the_same_traced",
        || {
            for seed in 0..100 {
                is_the_same_traced(&Program::random(seed, Others::RunningThreads), seed);
            }
        },
    );
}

/// In processes of one thread, where code of the program itself is trusted between system calls.
#[test]
fn issue_14_5_random_programs_of_one_thread_are_the_same_traced() {
    let status = in_child(|| {
        for seed in 0..100 {
            is_the_same_traced(&Program::random(seed, Others::Nobody), seed);
        }
    });
    assert_eq!(status, 0);
}

/// The same beside handlers, after which it is compared.
#[test]
fn issue_14_5_random_programs_with_handlers_are_the_same_traced() {
    let status = in_child(|| {
        for seed in 0..200 {
            is_the_same_traced(&Program::random(seed, Others::Handlers), seed);
        }
    });
    assert_eq!(status, 0);
}

/// In processes whose other threads wait, where code of the program itself is trusted until the
/// traced thread wakes one.
#[test]
fn issue_14_5_random_programs_that_wake_threads_are_the_same_traced() {
    let status = in_child(|| {
        for seed in 0..100 {
            is_the_same_traced(&Program::random(seed, Others::WaitingThreads), seed);
        }
    });
    assert_eq!(status, 0);
}

/// The thread waits when each of the traces begins, so that the program's own code is trusted.
#[test]
fn issue_14_5_a_thread_that_is_woken_changes_the_programs_own_function() {
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let memory = own_memory();
        let function = Page(of_the_program as *const () as usize);
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
fn issue_14_5_a_process_of_one_thread_changes_its_code() {
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        the_program_changes_its_own_function();
        issue_14_5_code_is_rewritten_through_an_alias();
        issue_14_5_a_signal_handler_rewrites();
    });
    assert_eq!(status, 0);
}

/// A handler that changes the program's own code interrupts a loop that is translated already, and
/// whose blocks lead to one another.
#[test]
fn issue_14_5_a_timers_handler_changes_the_programs_own_function() {
    static VALUE: AtomicU32 = AtomicU32::new(1);
    extern "C" fn change(_signal: i32) {
        let value = VALUE.load(Ordering::Relaxed) + 1;
        let function = of_the_program as *const () as u64;
        own_memory()
            .write_all_at(&code(value as u8), function)
            .unwrap();
        VALUE.store(value, Ordering::Release);
    }
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let function = Page(of_the_program as *const () as usize);
        own_memory()
            .write_all_at(&code(1), function.0 as u64)
            .unwrap();
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
fn issue_14_5_a_thread_of_a_handler_changes_the_programs_own_function() {
    static GO: AtomicU32 = AtomicU32::new(0);
    extern "C" fn start_a_thread(_signal: i32) {
        thread::spawn(|| {
            while GO.load(Ordering::Acquire) != 1 {
                std::hint::spin_loop();
            }
            let function = of_the_program as *const () as u64;
            own_memory().write_all_at(&code(2), function).unwrap();
            GO.store(2, Ordering::Release);
        });
    }
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let function = Page(of_the_program as *const () as usize);
        own_memory()
            .write_all_at(&code(1), function.0 as u64)
            .unwrap();
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
fn issue_14_5_a_handler_of_a_handler_changes_the_programs_own_function() {
    extern "C" fn change(_signal: i32) {
        let function = of_the_program as *const () as u64;
        own_memory().write_all_at(&code(2), function).unwrap();
    }
    extern "C" fn install(_signal: i32) {
        // SAFETY: the other handler writes to a function of the test's own.
        unsafe { libc::signal(libc::SIGUSR2, change as *const () as usize) };
    }
    let _alone = alone_with_the_program();
    let status = in_child(|| {
        let function = Page(of_the_program as *const () as usize);
        own_memory()
            .write_all_at(&code(1), function.0 as u64)
            .unwrap();
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
fn the_handler_of_a_fault_changes_the_programs_own_function() {
    in_a_process_of_its_own(
        "the_handler_of_a_fault_changes_the_programs_own_function",
        || {
            let _alone = alone_with_the_program();
            static PAGE_THAT_FAULTS: AtomicU64 = AtomicU64::new(0);
            extern "C" fn repair(_signal: i32) {
                let function = of_the_program as *const () as u64;
                own_memory().write_all_at(&code(2), function).unwrap();
                Page(PAGE_THAT_FAULTS.load(Ordering::Relaxed) as usize).protect(READ_WRITE);
            }
            let status = in_child(|| {
                let page = Page::map(None, libc::PROT_NONE, libc::MAP_PRIVATE, None);
                PAGE_THAT_FAULTS.store(page.0 as u64, Ordering::Relaxed);
                let function = Page(of_the_program as *const () as usize);
                // SAFETY: the handler makes the page readable and returns.
                unsafe { libc::signal(libc::SIGSEGV, repair as *const () as usize) };
                let (results, end) = traced(|| {
                    let first = function.call();
                    // SAFETY: once the handler has been there.
                    let zero =
                        unsafe { ptr::with_exposed_provenance::<u64>(page.0).read_volatile() };
                    (first, zero, function.call())
                });
                assert_eq!(results, (1, 0, 2));
                assert_eq!(end, Err(TraceError::CodeChanged));
            });
            assert_eq!(status, 0);
        },
    );
}

/// The check of a block faults where the program's code cannot be read: the handler sees the
/// program's own address, repairs it, and the trace goes on.
#[test]
fn the_handler_of_a_fault_gives_code_back() {
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

/// A library that is opened and closed over and over takes no further room.
#[test]
fn issue_14_11_a_loop_of_dlopen_does_not_use_up_the_room_for_translations() {
    let directory = tempfile::tempdir().unwrap();
    let Some(library) = plugin(directory.path(), 7) else {
        skip(Need::System, "there is no C compiler");
        return;
    };
    let config = Config {
        static_instructions: 64 * 1024,
        ..Config::default()
    };
    let tracer = Tracer::new(config, Count::default()).unwrap();
    for _ in 0..5 {
        let (sum, end) = tracer.trace(|| {
            (0..40)
                .map(|_| {
                    let (handle, answer) = open(&library);
                    let result = answer();
                    close(handle);
                    result
                })
                .sum::<u64>()
        });
        assert_eq!((sum, end), (280, Ok(End::Detach)));
    }
}

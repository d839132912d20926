//! Programs whose trace ends before they do, or might. Their results are right all the same.

use std::arch::asm;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use super::prepared::Prepared;
use super::squares;

/// Name, program, and the beginning of how its trace ends.
pub const ENDS: &[(&str, Prepared, &str)] = &[
    ("untranslatable code", untranslatable, "Err(Instruction"),
    ("fault that moves on", || fault(true), "Err(Fault"),
    ("fault that is repaired", || fault(false), "Ok(Detach"),
    ("command", command, "Ok(Detach"),
    ("select", select, "Err(Threads(Held"),
    (
        "wake from outside",
        wake_from_outside,
        "Err(Threads(AllWait",
    ),
    ("spin for outside", spin_for_outside, "Err(Threads(AllSpin"),
    (
        "blocked signals",
        blocked_signals,
        "Err(Attach(Threads(NotStopped",
    ),
    ("too many", too_many, "Err(Threads(TooMany"),
    ("interrupted read", interrupted_read, "Ok(Detach"),
    ("outliving", outliving, "Ok(Detach"),
    ("waiting at the end", waiting_at_the_end, "Ok(Detach"),
];

type Work = Box<dyn FnMut() -> String>;

fn untranslatable() -> Work {
    Box::new(|| {
        let worker = thread::spawn(|| {
            #[repr(align(16))]
            struct Area([u8; 512]);
            let mut area = Area([0; 512]);
            // SAFETY: the area has the size and alignment that the instruction needs.
            unsafe { asm!("fxsave64 [{}]", in(reg) &mut area) };
            squares(1000) + u64::from(area.0[24] > 0)
        });
        let sum = squares(50_000);
        (sum + worker.join().unwrap()).to_string()
    })
}

static PAGE: AtomicU64 = AtomicU64::new(0);
static MOVES_ON: AtomicBool = AtomicBool::new(false);

fn fault(moves_on: bool) -> Work {
    unsafe extern "C" fn on_fault(
        _signal: i32,
        _info: *mut libc::siginfo_t,
        context: *mut libc::ucontext_t,
    ) {
        if MOVES_ON.load(Ordering::Relaxed) {
            const LOAD_BYTES: i64 = 3;
            // SAFETY: the kernel passes the state of the thread.
            unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] += LOAD_BYTES };
        } else {
            let page = PAGE.load(Ordering::Relaxed) as *mut libc::c_void;
            // SAFETY: the page of this test.
            unsafe { libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE) };
        }
    }
    Box::new(move || {
        MOVES_ON.store(moves_on, Ordering::Relaxed);
        // SAFETY: a new page, and a handler that takes what it gets.
        let page = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
            page as u64
        };
        PAGE.store(page, Ordering::Relaxed);
        let worker = thread::spawn(move || {
            let value: u64;
            // SAFETY: the handler skips the load, or makes the page readable.
            unsafe { asm!("mov {0}, [{1}]", out(reg) value, in(reg) page) };
            squares(1000) + u64::from(value != 0) * u64::from(!MOVES_ON.load(Ordering::Relaxed))
        });
        let sum = squares(50_000);
        (sum + worker.join().unwrap()).to_string()
    })
}

fn command() -> Work {
    Box::new(|| {
        let worker = thread::spawn(|| {
            let output = std::process::Command::new("echo").arg("hello").output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        });
        squares(10_000).to_string() + &worker.join().unwrap()
    })
}

/// Waits by a system call of which nobody knows when it would not.
fn select() -> Work {
    Box::new(|| {
        let (read, write) = std::io::pipe().unwrap();
        let worker = thread::spawn(move || {
            thread::sleep(Duration::from_millis(1));
            drop(write);
        });
        // SAFETY: the kernel reads and writes a set of descriptors.
        let ready = unsafe {
            let mut set = std::mem::zeroed();
            libc::FD_SET(read.as_raw_fd(), &mut set);
            let none = std::ptr::null_mut();
            let count = read.as_raw_fd() + 1;
            libc::select(count, &mut set, none, none, std::ptr::null_mut())
        };
        worker.join().unwrap();
        ready.to_string()
    })
}

/// Memory that is shared with a child process, which changes it after a while.
fn changed_by_a_child(after: Duration) -> &'static AtomicU32 {
    // SAFETY: a new mapping, which stays; the child sleeps, writes and ends.
    unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let shared = libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0);
        let shared = &*shared.cast::<AtomicU32>();
        if libc::fork() == 0 {
            libc::usleep(after.as_micros() as u32);
            shared.store(1, Ordering::Release);
            libc::syscall(libc::SYS_futex, shared.as_ptr(), libc::FUTEX_WAKE, 100);
            libc::_exit(0);
        }
        shared
    }
}

fn idle_thread() -> mpsc::Sender<()> {
    let (end, ended) = mpsc::channel();
    thread::spawn(move || ended.recv());
    end
}

fn wake_from_outside() -> Work {
    let end = idle_thread();
    Box::new(move || {
        let _ = &end;
        let shared = changed_by_a_child(Duration::from_millis(300));
        while shared.load(Ordering::Acquire) == 0 {
            // SAFETY: waits at a word of this process.
            unsafe { libc::syscall(libc::SYS_futex, shared.as_ptr(), libc::FUTEX_WAIT, 0, 0) };
        }
        squares(100).to_string()
    })
}

fn spin_for_outside() -> Work {
    let end = idle_thread();
    Box::new(move || {
        let _ = &end;
        let shared = changed_by_a_child(Duration::from_secs(6));
        while shared.load(Ordering::Acquire) == 0 {
            std::hint::spin_loop();
        }
        squares(100).to_string()
    })
}

fn blocked_signals() -> Work {
    let (ask, asked) = mpsc::channel();
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || {
        // SAFETY: blocks all signals of this thread.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        }
        asked.iter().for_each(|n| answer.send(squares(n)).unwrap());
    });
    Box::new(move || {
        ask.send(100).unwrap();
        answered.recv().unwrap().to_string()
    })
}

fn too_many() -> Work {
    Box::new(|| {
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let threads: Vec<_> = (0..topdown_tracer::MAX_THREADS as u64)
            .map(|n| {
                let gate = Arc::clone(&gate);
                thread::spawn(move || {
                    drop(gate.lock().unwrap());
                    squares(n)
                })
            })
            .collect();
        drop(closed);
        let sum: u64 = threads.into_iter().map(|it| it.join().unwrap()).sum();
        sum.to_string()
    })
}

/// A handler without `SA_RESTART` ends a read.
fn interrupted_read() -> Work {
    extern "C" fn no_op(_signal: i32) {}
    Box::new(|| {
        let (read, write) = std::io::pipe().unwrap();
        // SAFETY: the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = no_op as *const () as usize;
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        }
        let (tell, told) = mpsc::channel();
        let worker = thread::spawn(move || {
            // SAFETY: asks for the thread.
            tell.send(unsafe { libc::pthread_self() } as u64).unwrap();
            let mut byte = 0_u8;
            // SAFETY: the kernel writes a byte.
            let count = unsafe { libc::read(read.as_raw_fd(), (&raw mut byte).cast(), 1) };
            (count, std::io::Error::last_os_error().kind())
        });
        let thread = told.recv().unwrap();
        thread::sleep(Duration::from_millis(20));
        // SAFETY: the thread lives: it waits.
        unsafe { libc::pthread_kill(thread as libc::pthread_t, libc::SIGUSR1) };
        let result = worker.join().unwrap();
        drop(write);
        format!("{result:?}")
    })
}

/// The thread ends after the trace.
fn outliving() -> Work {
    let mut before: Option<thread::JoinHandle<u64>> = None;
    Box::new(move || {
        let sum = before
            .take()
            .map_or(squares(300_000), |it| it.join().unwrap());
        before = Some(thread::spawn(|| squares(300_000)));
        sum.to_string()
    })
}

/// Threads wait in each way when the trace ends.
fn waiting_at_the_end() -> Work {
    Box::new(|| {
        let (read, write) = std::io::pipe().unwrap();
        let (send, receive) = mpsc::channel::<()>();
        let sleeping = thread::spawn(|| thread::sleep(Duration::from_millis(30)));
        let reading = thread::spawn(move || std::io::Read::read(&mut { read }, &mut [0]).unwrap());
        let receiving = thread::spawn(move || receive.recv().is_err());
        thread::spawn(move || {
            sleeping.join().unwrap();
            drop((write, send));
            assert_eq!(reading.join().unwrap(), 0);
            assert!(receiving.join().unwrap());
        });
        String::new()
    })
}

//! Programs with threads that never wait. What each does in a window is traced several times; in
//! between, it goes on natively.

use std::cell::OnceCell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::thread::JoinHandleExt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::squares;

/// What is executed in a window, and natively after it.
pub struct Parts {
    pub window: Box<dyn FnMut() -> String>,
    pub after: Box<dyn FnMut()>,
}

type Program = fn() -> Parts;

pub const ENDLESS: &[(&str, Program)] = &[
    ("nothing", || after(|_| {})),
    ("computation", || {
        after(|_| {
            std::hint::black_box(squares(100_000));
        })
    }),
    ("asking", asking),
    ("spinning", || after(|workers| spin_for(workers, || {}))),
    ("yielding", || {
        after(|workers| spin_for(workers, thread::yield_now))
    }),
    ("sleeping", || {
        after(|workers| spin_for(workers, || thread::sleep(Duration::from_millis(1))))
    }),
    ("reading", || after(Workers::read_answer)),
    ("joining", || after(Workers::join)),
    ("signalling", || after(Workers::signal)),
];

/// The first ones of [`ENDLESS`]: after a window they need nothing of the threads.
pub const ALONE: usize = 3;

const WORKERS: usize = 2;

/// Threads that work until they are told to end.
struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    answers: std::io::PipeReader,
}

#[derive(Default)]
struct Shared {
    rounds: AtomicU64,
    is_asked: AtomicBool,
    is_over: AtomicBool,
}

impl Workers {
    /// Begins them.
    fn new() -> Workers {
        let shared = Arc::new(Shared::default());
        let (answers, answer) = std::io::pipe().unwrap();
        let begin = |_| {
            let shared = Arc::clone(&shared);
            let mut answer = answer.try_clone().unwrap();
            thread::spawn(move || {
                let mut places = vec![0_u8; 1 << 12];
                let mut at = 1_usize;
                while !shared.is_over.load(Acquire) {
                    at = at.wrapping_mul(25_214_903_917).wrapping_add(11) % places.len();
                    places[at] = places[at].wrapping_add(1);
                    shared.rounds.fetch_add(1, Relaxed);
                    if shared.is_asked.swap(false, Acquire) {
                        answer.write_all(&[1]).unwrap();
                    }
                }
            })
        };
        let threads = (0..WORKERS).map(begin).collect();
        Workers {
            shared,
            threads,
            answers,
        }
    }

    fn read_answer(&mut self) {
        self.shared.is_asked.store(true, Release);
        self.answers.read_exact(&mut [0]).unwrap();
    }

    fn join(&mut self) {
        self.shared.is_over.store(true, Release);
        (self.threads.drain(..)).for_each(|thread| thread.join().unwrap());
    }

    /// Lets each execute a handler, on its own stack.
    fn signal(&mut self) {
        static STACK: AtomicU64 = AtomicU64::new(0);
        extern "C" fn note_stack(_: i32) {
            let here = 0_u8;
            STACK.store(&raw const here as u64, Release);
        }
        let handler = note_stack as extern "C" fn(i32) as usize;
        // SAFETY: the handler stores a number.
        unsafe { libc::signal(libc::SIGUSR1, handler) };
        for worker in &self.threads {
            let thread = worker.as_pthread_t();
            STACK.store(0, Release);
            // SAFETY: the thread exists.
            unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
            while STACK.load(Acquire) == 0 {
                thread::sleep(Duration::from_micros(100));
            }
            let (start, bytes) = stack_of(thread);
            assert!((start..start + bytes).contains(&STACK.load(Acquire)));
        }
    }
}

/// Returns where the stack of a thread begins, and its size.
fn stack_of(thread: libc::pthread_t) -> (u64, u64) {
    // SAFETY: all zeros is a valid value; the thread exists.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        assert_eq!(libc::pthread_getattr_np(thread, &mut attributes), 0);
        let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut start, &mut bytes);
        libc::pthread_attr_destroy(&mut attributes);
        (start as u64, bytes as u64)
    }
}

/// Waits until the threads have worked.
fn spin_for(workers: &mut Workers, meanwhile: fn()) {
    let before = workers.shared.rounds.load(Acquire);
    while workers.shared.rounds.load(Acquire) == before {
        meanwhile();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.join();
    }
}

/// Begins the threads in the first window and whenever they have ended.
fn after(after: fn(&mut Workers)) -> Parts {
    let workers = Rc::new(std::cell::RefCell::new(OnceCell::<Workers>::new()));
    let theirs = Rc::clone(&workers);
    Parts {
        window: Box::new(move || {
            theirs.borrow().get_or_init(Workers::new);
            squares(20_000).to_string()
        }),
        after: Box::new(move || {
            let mut workers = workers.borrow_mut();
            let Some(begun) = workers.get_mut() else {
                return;
            };
            after(begun);
            if begun.threads.is_empty() {
                workers.take();
            }
        }),
    }
}

/// In each window asks another process, which takes a different time for each answer.
fn asking() -> Parts {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut asked = TcpStream::connect(address).unwrap();
    let (asker, _) = listener.accept().unwrap();
    topdown_tracer::hold_at_port(address.port());
    // SAFETY: the child makes system calls alone.
    if unsafe { libc::fork() } == 0 {
        answer(asker.as_raw_fd(), asked.as_raw_fd());
    }
    let workers = OnceCell::new();
    Parts {
        window: Box::new(move || {
            workers.get_or_init(Workers::new);
            asked.write_all(&[1]).unwrap();
            asked.read_exact(&mut [0]).unwrap();
            squares(20_000).to_string()
        }),
        after: Box::new(|| {}),
    }
}

/// Answers until the asker has closed its end.
fn answer(asker: i32, other_end: i32) -> ! {
    // SAFETY: these are calls of the system, with room for one byte.
    unsafe {
        libc::close(other_end);
        let mut byte = 0_u8;
        let mut answers = std::process::id();
        while libc::read(asker, (&raw mut byte).cast(), 1) == 1 {
            answers += 1;
            libc::usleep(answers % 20 * 1000);
            libc::write(asker, (&raw const byte).cast(), 1);
        }
        libc::_exit(0)
    }
}

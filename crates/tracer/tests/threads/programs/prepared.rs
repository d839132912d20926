//! Programs whose threads exist before the trace begins, and wait in the kernel, run, or spin. What
//! each returns is traced several times.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::squares;

pub type Prepared = fn() -> Box<dyn FnMut() -> String>;

pub const PREPARED: &[(&str, Prepared)] = &[
    ("futex", futex),
    ("timed futex", timed_futex),
    ("poll", poll),
    ("nanosleep", nanosleep),
    ("read", read),
    ("pool", pool),
    ("running", running),
    ("spinning", spinning),
    ("many", many),
    ("scope", scope),
];

/// Waits until the threads are likely to wait in the kernel.
fn settle() {
    thread::sleep(Duration::from_millis(50));
}

fn futex() -> Box<dyn FnMut() -> String> {
    let (ask, asked) = channel();
    let (answer, answered) = channel();
    thread::spawn(move || asked.iter().for_each(|n| answer.send(squares(n)).unwrap()));
    settle();
    Box::new(move || {
        (0..5).for_each(|n| ask.send(n * 100).unwrap());
        answered.iter().take(5).sum::<u64>().to_string()
    })
}

fn timed_futex() -> Box<dyn FnMut() -> String> {
    let shared = Arc::new((Mutex::new((0, 0)), Condvar::new()));
    let theirs = Arc::clone(&shared);
    thread::spawn(move || {
        let (values, changed) = &*theirs;
        let mut values = values.lock().unwrap();
        loop {
            let limit = Duration::from_secs(60);
            values = changed
                .wait_timeout_while(values, limit, |it| it.0 == 0)
                .unwrap()
                .0;
            *values = (0, squares(values.0));
            changed.notify_all();
        }
    });
    settle();
    Box::new(move || {
        let (values, changed) = &*shared;
        let mut values = values.lock().unwrap();
        values.0 = 300;
        changed.notify_all();
        values = changed.wait_while(values, |it| it.1 == 0).unwrap();
        std::mem::take(&mut values.1).to_string()
    })
}

fn poll() -> Box<dyn FnMut() -> String> {
    use std::os::fd::AsRawFd;
    let (mut read, mut write) = std::io::pipe().unwrap();
    let (answer, answered) = channel();
    thread::spawn(move || {
        loop {
            let mut asked = libc::pollfd {
                fd: read.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: the kernel writes one entry.
            let ready = unsafe { libc::poll(&mut asked, 1, 60_000) };
            assert_eq!(ready, 1, "{}", std::io::Error::last_os_error());
            let mut byte = [0];
            read.read_exact(&mut byte).unwrap();
            answer.send(squares(byte[0].into())).unwrap();
        }
    });
    settle();
    Box::new(move || {
        write.write_all(&[200]).unwrap();
        answered.recv().unwrap().to_string()
    })
}

fn nanosleep() -> Box<dyn FnMut() -> String> {
    let count = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&count);
    thread::spawn(move || {
        loop {
            let time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 3_000_000,
            };
            // SAFETY: the kernel reads a time.
            let slept = unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
            assert_eq!(slept, 0, "{}", std::io::Error::last_os_error());
            theirs.fetch_add(1, Ordering::Release);
        }
    });
    settle();
    Box::new(move || {
        let begun = count.load(Ordering::Acquire);
        while count.load(Ordering::Acquire) < begun + 3 {
            thread::sleep(Duration::from_millis(1));
        }
        String::new()
    })
}

fn read() -> Box<dyn FnMut() -> String> {
    let (mut read, mut write) = std::io::pipe().unwrap();
    let (mut back, mut answer) = std::io::pipe().unwrap();
    thread::spawn(move || {
        let mut byte = [0];
        while read.read(&mut byte).unwrap() == 1 {
            answer
                .write_all(&squares(byte[0].into()).to_le_bytes())
                .unwrap();
        }
    });
    settle();
    Box::new(move || {
        write.write_all(&[100]).unwrap();
        let mut word = [0; 8];
        back.read_exact(&mut word).unwrap();
        u64::from_le_bytes(word).to_string()
    })
}

fn pool() -> Box<dyn FnMut() -> String> {
    use rayon::prelude::*;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    settle();
    Box::new(move || {
        let sum: u64 = pool.install(|| (0..100_u64).into_par_iter().map(squares).sum());
        sum.to_string()
    })
}

/// Its threads may end after the trace: a scope waits for their work alone.
fn scope() -> Box<dyn FnMut() -> String> {
    Box::new(|| {
        let mut sums = [0; 3];
        thread::scope(|scope| {
            for sum in &mut sums {
                scope.spawn(|| *sum = squares(2000));
            }
        });
        sums.iter().sum::<u64>().to_string()
    })
}

fn running() -> Box<dyn FnMut() -> String> {
    let count = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&count);
    thread::spawn(move || {
        loop {
            theirs.fetch_add(squares(50), Ordering::Release);
        }
    });
    Box::new(move || {
        let begun = count.load(Ordering::Acquire);
        while count.load(Ordering::Acquire) < begun + 100_000 {
            squares(100);
        }
        String::new()
    })
}

fn spinning() -> Box<dyn FnMut() -> String> {
    let is_asked = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&is_asked);
    thread::spawn(move || {
        loop {
            while !theirs.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            theirs.store(false, Ordering::Release);
        }
    });
    Box::new(move || {
        for _ in 0..20 {
            is_asked.store(true, Ordering::Release);
            while is_asked.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
        }
        String::new()
    })
}

fn many() -> Box<dyn FnMut() -> String> {
    let (answer, answered) = channel();
    let asks: Vec<_> = (0..30)
        .map(|n| {
            let (ask, asked) = channel();
            let answer = answer.clone();
            thread::spawn(move || {
                asked
                    .iter()
                    .for_each(|it: u64| answer.send(it + n).unwrap())
            });
            ask
        })
        .collect();
    settle();
    Box::new(move || {
        asks.iter().for_each(|ask| ask.send(5).unwrap());
        answered.iter().take(30).sum::<u64>().to_string()
    })
}

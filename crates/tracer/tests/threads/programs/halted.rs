//! Programs of two parts, between which other threads stay where they are: the first part begins
//! them and lets them work, the second one awaits their results.

use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

use super::squares;

/// What is executed before the threads are halted, and after it.
pub struct Halves {
    pub first: Box<dyn FnMut()>,
    pub second: Box<dyn FnMut() -> String>,
}

/// How the second part is executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Second {
    Traced,
    /// After the threads were released.
    Released,
    Natively,
}

type Program = fn() -> Halves;

pub const HALTED: &[(&str, Program, Second)] = &[
    ("released workers", released, Second::Traced),
    ("waiting worker", waiting, Second::Traced),
    ("released workers, natively", released, Second::Released),
    ("waiting worker, natively", waiting, Second::Released),
    ("forgotten workers", released, Second::Natively),
    ("forgotten waiting worker", waiting, Second::Natively),
];

/// The first ones of [`HALTED`].
pub const TRACED: usize = 2;

/// Number of threads that work.
const WORKERS: usize = 3;

/// Each executes more instructions.
pub const WORK_INSTRUCTIONS: u64 = 100_000;

type Workers = Arc<(Barrier, std::sync::Mutex<Vec<JoinHandle<u64>>>)>;

/// The first half ends when all of them may work, the second one when they have ended.
fn released() -> Halves {
    let workers: Workers = Arc::new((Barrier::new(WORKERS + 1), Default::default()));
    let ours = Arc::clone(&workers);
    Halves {
        first: Box::new(move || {
            let begin = |_| {
                let theirs = Arc::clone(&ours);
                thread::spawn(move || {
                    theirs.0.wait();
                    let sum = squares(WORK_INSTRUCTIONS);
                    theirs.0.wait();
                    sum
                })
            };
            ours.1.lock().unwrap().extend((0..WORKERS).map(begin));
            ours.0.wait();
        }),
        second: Box::new(move || {
            workers.0.wait();
            let ended = std::mem::take(&mut *workers.1.lock().unwrap());
            let sums = ended.into_iter().map(|thread| thread.join().unwrap());
            sums.sum::<u64>().to_string()
        }),
    }
}

/// They wait for the second half.
fn waiting() -> Halves {
    let (ask, asked) = std::sync::mpsc::channel::<u64>();
    let (answer, answered) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let answers = asked.iter().map(|n| squares(WORK_INSTRUCTIONS + n));
        answers.for_each(|sum| answer.send(sum).unwrap());
    });
    // Until it is likely to wait.
    thread::sleep(std::time::Duration::from_millis(50));
    Halves {
        first: Box::new(|| assert!(squares(1000) > 0)),
        second: Box::new(move || {
            (0..5).for_each(|n| ask.send(n).unwrap());
            answered.iter().take(5).sum::<u64>().to_string()
        }),
    }
}

//! Programs with a number of threads, each with a result that does not depend on their order.

mod atomics;
pub mod endless;
pub mod ends;
pub mod halted;
pub mod hundred;
mod locks;
mod messages;
pub mod ordered;
pub mod prepared;
mod shapes;

pub type Program = fn() -> String;

/// Each program with 1, 2, 3 and 7 threads.
macro_rules! sizes {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$(
            (concat!(stringify!($name), " 1"), $module::$name::<1> as Program),
            (concat!(stringify!($name), " 2"), $module::$name::<2>),
            (concat!(stringify!($name), " 3"), $module::$name::<3>),
            (concat!(stringify!($name), " 7"), $module::$name::<7>),
        )*]
    };
}

pub const ALL: &[(&str, Program)] = sizes![
    shapes::joined,
    shapes::scoped,
    shapes::nested,
    shapes::short_lived,
    shapes::thread_locals,
    shapes::panics,
    shapes::allocations,
    shapes::work_stealing,
    shapes::sleeps,
    locks::mutex,
    locks::read_write_lock,
    locks::condition_variable,
    locks::timed_wait,
    locks::barrier,
    locks::once,
    locks::parking,
    locks::semaphore,
    atomics::relaxed,
    atomics::acquire_release,
    atomics::sequentially_consistent,
    atomics::spin_lock,
    atomics::yielding,
    atomics::bare_spin,
    messages::channel,
    messages::rendezvous,
    messages::pipe,
    messages::socket,
    messages::event,
];

/// The clock decides about some instructions of these.
pub const ASK_FOR_TIME: [&str; 2] = ["sleeps", "timed_wait"];

/// Some work, which no compiler foresees.
pub fn squares(count: u64) -> u64 {
    (0..std::hint::black_box(count))
        .map(|n| std::hint::black_box(n) * n)
        .sum()
}

//! Makes values from the system repeatable that differ in every process: random numbers and the
//! date.
//!
//! A program that seeds a hasher with them executes different instructions in every launch. This
//! module replaces the C library's functions that fetch them, only in this process and its memory,
//! with functions whose results depend only on how many values were requested before. Requests that
//! bypass the C library are handled by the engine if they are traced: system calls, and the
//! instructions `rdrand` and `rdseed`.

use std::cell::Cell;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::kernel;
use crate::replaced_function::replace_all;

/// The clock's first value, in seconds since the epoch. It is in the past, so that a program that
/// lets the kernel wait for a deadline computed from it waits too short, rather than for years.
const DATE_SECONDS: i64 = 1_750_000_000;
/// Advance of the date with each query.
const STEP_NS: u64 = 1000;
const SECOND_NS: u64 = 1_000_000_000;

type ClockGetTime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int;

/// Whether random numbers come from the sequence.
static IS_FIXED: AtomicBool = AtomicBool::new(false);
static RANDOM_NUMBERS: AtomicU64 = AtomicU64::new(0);
static LOOKS: AtomicU64 = AtomicU64::new(0);
/// Time for which the monotonic clock has stood still.
static HIDDEN_NS: AtomicU64 = AtomicU64::new(0);
/// What the monotonic clock shows while it is [held](hold_clock); 0 if it is not.
static HELD_AT_NS: AtomicU64 = AtomicU64::new(0);
/// The kernel's own function for the other clocks, if the loader knows it.
static CLOCK_OF_THE_KERNEL: OnceLock<Option<ClockGetTime>> = OnceLock::new();

thread_local! {
    static WATCHER: Cell<Option<ClockWatcher>> = const { Cell::new(None) };
}

/// Receives what the clock showed, in nanoseconds, and the address to which it was written.
pub type ClockWatcher = fn(u64, usize);

/// From now on calls `watcher` when this thread has looked at the monotonic clock, if system values
/// are fixed. Looks of the watcher itself do not count. It must not panic.
pub fn watch_clock(watcher: Option<ClockWatcher>) {
    WATCHER.set(watcher);
}

/// Makes `getrandom` return the same numbers in every process, and `clock_gettime` the same dates,
/// for the rest of the process. Clocks that measure durations continue as usual, except for what is
/// [hidden](hide_time), and while [threads take turns](crate#all-threads). Do not use this in
/// programs whose random numbers must be random. Must be called while there is only one thread.
///
/// # Errors
/// Returns an error if the system does not let a process write to its own code. Then nothing has
/// changed.
pub fn fix_system_values() -> io::Result<()> {
    CLOCK_OF_THE_KERNEL.get_or_init(clock_of_the_kernel);
    let replacements = [
        (libc::getrandom as *const (), random_numbers as *const ()),
        // Some callers use the number: getrandom 0.2, and with it rand 0.8.
        (libc::syscall as *const (), system_call as *const ()),
        (libc::clock_gettime as *const (), clock as *const ()),
    ];
    replace_all(&replacements.map(|(function, by)| (function as u64, by as u64)))?;
    IS_FIXED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Returns whether random numbers repeat in this process.
pub(crate) fn are_fixed() -> bool {
    IS_FIXED.load(Ordering::Relaxed)
}

/// Subtracts this many nanoseconds from the monotonic clock, so that traced code takes no time for
/// those who measure with it. Does nothing unless system values are fixed.
pub fn hide_time(ns: u64) {
    HIDDEN_NS.fetch_add(ns, Ordering::Relaxed);
}

/// Advances the monotonic clock by this many nanoseconds at once, if system values are fixed.
pub fn pass_time(ns: u64) {
    // Adds up modulo 2^64, as `earlier` expects.
    HIDDEN_NS.fetch_sub(ns, Ordering::Relaxed);
}

/// Returns how much earlier the monotonic clock is than the kernel's, modulo 2^64.
pub fn hidden_ns() -> u64 {
    match are_fixed() {
        true => HIDDEN_NS.load(Ordering::Relaxed),
        false => 0,
    }
}

/// Makes the monotonic clock advance only with queries, and as the engine says, while threads take
/// turns: so what a program does with the time does not depend on how long tracing takes. Does
/// nothing unless system values are fixed.
pub(crate) fn hold_clock() {
    if are_fixed() && !is_clock_held() {
        HELD_AT_NS.store(monotonic_ns(), Ordering::Relaxed);
    }
}

/// The clock goes on from what it shows.
pub(crate) fn release_clock() {
    let held_at_ns = HELD_AT_NS.swap(0, Ordering::Relaxed);
    if held_at_ns != 0 {
        let hidden_ns = kernel_ns(libc::CLOCK_MONOTONIC).wrapping_sub(held_at_ns);
        HIDDEN_NS.store(hidden_ns, Ordering::Relaxed);
    }
}

/// See [`hold_clock`].
pub(crate) fn is_clock_held() -> bool {
    HELD_AT_NS.load(Ordering::Relaxed) != 0
}

/// Advances the clock if it is held.
pub(crate) fn advance_held_clock(ns: u64) {
    let _ = advanced(ns);
}

/// Returns what the clock shows before it advances by `ns`, if it is held. A thread that was
/// stopped in here may go on when the clock was released.
fn advanced(ns: u64) -> Option<u64> {
    let later = |at: u64| (at != 0).then(|| at.saturating_add(ns));
    let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
    HELD_AT_NS.fetch_update(success, failure, later).ok()
}

/// Returns what the program sees on the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    match HELD_AT_NS.load(Ordering::Relaxed) {
        0 => earlier(kernel_ns(libc::CLOCK_MONOTONIC), hidden_ns()),
        held_at_ns => held_at_ns,
    }
}

/// Returns what the program sees on another clock.
pub(crate) fn shown_ns(clock: libc::clockid_t) -> u64 {
    match clock {
        libc::CLOCK_MONOTONIC => monotonic_ns(),
        libc::CLOCK_REALTIME if are_fixed() => {
            DATE_SECONDS as u64 * SECOND_NS + LOOKS.load(Ordering::Relaxed) * STEP_NS
        }
        _ => kernel_ns(clock),
    }
}

/// Returns the kernel's time.
pub(crate) fn kernel_ns(clock: libc::clockid_t) -> u64 {
    let mut now = [0_u64; 2];
    let arguments = [clock as u64, now.as_mut_ptr() as u64, 0, 0, 0, 0];
    // SAFETY: the kernel writes one `struct timespec`, of two words.
    unsafe { kernel::call(libc::SYS_clock_gettime, arguments) };
    now[0].saturating_mul(SECOND_NS).saturating_add(now[1])
}

/// Replaces `getrandom`.
unsafe extern "C" fn random_numbers(
    buffer: *mut u8,
    bytes: libc::size_t,
    _flags: libc::c_uint,
) -> libc::ssize_t {
    let mut left = bytes;
    while left > 0 {
        let number = RANDOM_NUMBERS.fetch_add(1, Ordering::Relaxed);
        let random = random_number(number).to_le_bytes();
        let part = left.min(random.len());
        // SAFETY: the caller provides `bytes` bytes at `buffer`, of which `left` are not written
        // yet.
        unsafe {
            std::ptr::copy_nonoverlapping(random.as_ptr(), buffer.add(bytes - left), part);
        }
        left -= part;
    }
    bytes as libc::ssize_t
}

/// Performs the system call `getrandom`, with numbers of the sequence instead of the kernel's.
///
/// # Safety
/// Same as for the system call, whose arguments these are.
pub(crate) unsafe fn getrandom(buffer: u64, bytes: u64, flags: u64) -> u64 {
    let arguments = [buffer, bytes, flags, 0, 0, 0];
    // SAFETY: promised by the caller. The kernel determines how much of the buffer can be written.
    let written = unsafe { kernel::call(libc::SYS_getrandom, arguments) };
    if !kernel::is_error(written) {
        let buffer = std::ptr::with_exposed_provenance_mut(buffer as usize);
        // SAFETY: the kernel has written that many bytes there.
        unsafe { random_numbers(buffer, written as usize, 0) };
    }
    written
}

/// Replaces `syscall`, and differs from it only for random numbers.
unsafe extern "C" fn system_call(
    number: u64,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    fifth: u64,
    sixth: u64,
) -> u64 {
    let arguments = [first, second, third, fourth, fifth, sixth];
    // SAFETY: the caller of `syscall` promises what the kernel requires.
    let result = unsafe {
        if number == libc::SYS_getrandom as u64 {
            getrandom(first, second, third)
        } else {
            kernel::call(number as libc::c_long, arguments)
        }
    };
    if !kernel::is_error(result) {
        return result;
    }
    // SAFETY: it is this thread's own.
    unsafe { *libc::__errno_location() = result.wrapping_neg() as i32 };
    u64::MAX
}

/// Returns the number at position `n` of the sequence: SplitMix64, whose numbers are all different.
fn random_number(n: u64) -> u64 {
    let mut mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Replaces `clock_gettime`.
unsafe extern "C" fn clock(clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    if clock == libc::CLOCK_MONOTONIC {
        as_long_as_the_vdso();
        let shown_ns = advanced(STEP_NS).unwrap_or_else(monotonic_ns);
        // SAFETY: the caller provides room for one at `time`.
        unsafe { time.write(timespec_of(shown_ns)) };
        if let Some(watcher) = WATCHER.take() {
            watcher(shown_ns, time.addr());
            WATCHER.set(Some(watcher));
        }
        return 0;
    }
    if !matches!(
        clock,
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI
    ) {
        return match CLOCK_OF_THE_KERNEL.get() {
            // SAFETY: the kernel's function has the same contract as the called one.
            Some(Some(clock_of_the_kernel)) => unsafe { clock_of_the_kernel(clock, time) },
            // SAFETY: the system call has the same contract as the function.
            _ => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as libc::c_int },
        };
    }
    let ns = LOOKS.fetch_add(1, Ordering::Relaxed) * STEP_NS;
    let shown = libc::timespec {
        tv_sec: DATE_SECONDS + (ns / SECOND_NS) as i64,
        tv_nsec: (ns % SECOND_NS) as i64,
    };
    // SAFETY: the caller provides room for one at `time`.
    unsafe { time.write(shown) };
    0
}

/// Executes what takes most of the time in the vDSO. The vDSO itself would execute other
/// instructions when the kernel's clock has passed a second, so no two launches would be equal.
fn as_long_as_the_vdso() {
    // SAFETY: all processors of this architecture have both instructions.
    std::hint::black_box(unsafe {
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    });
}

/// Returns `now_ns` minus `hidden_ns` modulo 2^64, but at least zero.
fn earlier(now_ns: u64, hidden_ns: u64) -> u64 {
    (now_ns.wrapping_sub(hidden_ns) as i64).max(0) as u64
}

fn timespec_of(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / SECOND_NS) as i64,
        tv_nsec: (ns % SECOND_NS) as i64,
    }
}

/// Returns `clock_gettime` of the vDSO, which the C library also calls. A static program has no
/// loader that knows it.
fn clock_of_the_kernel() -> Option<ClockGetTime> {
    // SAFETY: looks up an object that is already loaded; the names are C strings. Its handle is not
    // closed: the vDSO stays for the life of the process.
    unsafe {
        let vdso = libc::dlopen(
            c"linux-vdso.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        );
        if vdso.is_null() {
            return None;
        }
        let function = libc::dlsym(vdso, c"__vdso_clock_gettime".as_ptr());
        // A null pointer becomes `None`; the type is from the vDSO's documentation, vdso(7).
        std::mem::transmute::<*mut libc::c_void, Option<ClockGetTime>>(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_time_is_subtracted() {
        const SHOWN_NS: u64 = 7 * SECOND_NS + 5;
        assert_eq!(earlier(SHOWN_NS, 0), SHOWN_NS);
        assert_eq!(earlier(SHOWN_NS, 6), 7 * SECOND_NS - 1);
        assert_eq!(earlier(5, 6), 0);
        assert_eq!(earlier(SHOWN_NS, 6_u64.wrapping_neg()), SHOWN_NS + 6);
        let shown = timespec_of(SHOWN_NS);
        assert_eq!((shown.tv_sec, shown.tv_nsec), (7, 5));
    }

    #[test]
    fn random_numbers_fill_exactly_the_request() {
        for bytes in [0, 1, 7, 8, 9, 33] {
            let mut buffer = [0_u8; 64];
            // SAFETY: the buffer is longer.
            let written = unsafe { random_numbers(buffer.as_mut_ptr(), bytes, 0) };
            assert_eq!(written as usize, bytes);
            assert!(buffer[bytes..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn random_sequence_is_fixed() {
        // The reference implementation, from the seed 0.
        assert_eq!(random_number(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random_number(1), 0x6e78_9e6a_a1b9_65f4);
    }
}

//! Takes over the threads that exist when a trace begins, and lets threads go on natively.
//!
//! A thread is taken over by a signal, whose handler makes it return to the engine instead of to
//! the program, with the program's state in the thread's [`seat`](super::seat). It goes on natively
//! in the reverse way: the thread sends itself the same signal, whose handler makes it return to
//! the program. So the kernel saves and restores whatever belongs to a thread's state.
//!
//! A system call in which a thread waits is interrupted, and begins again when the thread's turn
//! comes: by the kernel, or here where the kernel returns an error instead.

use std::sync::atomic::Ordering;

use super::super::context::{Context, DEFAULT_MXCSR};
use super::super::fault::{REGISTER_INDICES, Traced};
use super::super::machine::VectorState;
use super::super::other_threads::only_thread;
use super::super::tasks::{self, Task, number, this_thread};
use super::super::{TRACED_IN, entry};
use super::seat::{Seat, phase, turn};
use super::wait::{Wait, now_ns, rest};
use super::{MAX_THREADS, SEAT, Schedule, TEAM, Team};
use crate::error::ThreadsError;
use crate::{fixed_values, kernel};

/// The trace in which threads take turns.
#[derive(Clone, Copy)]
pub(in super::super) struct Link {
    pub context: *mut Context,
    pub traced: Traced,
    pub vector: VectorState,
    pub fs_base: u64,
    pub schedule: Schedule,
}

// Judgement: a thread that runs stops within milliseconds.
const STOP_LIMIT_NS: u64 = 2_000_000_000;
/// A running thread that is about to wait is given this long to do so: when it is new, and later.
const SETTLE_NS: [u64; 2] = [20_000_000, 2_000_000];

impl Team {
    /// Begins a trace of all threads: of the calling one, and of all others, which are stopped.
    pub(in super::super) fn begin(&self, link: Link) -> Result<(), ThreadsError> {
        let process = std::process::id();
        if self.process.swap(process, Ordering::Relaxed) != process {
            // The seats are copies of those of the process that forked this one.
            for seat in &self.seats {
                seat.phase.store(phase::FREE, Ordering::Relaxed);
                seat.turn.store(turn::WAIT, Ordering::Relaxed);
            }
            self.owner.store(0, Ordering::Relaxed);
        }
        let own = self.seat_for(this_thread())?;
        let lock = self
            .owner
            .compare_exchange(0, own + 1, Ordering::Acquire, Ordering::Relaxed);
        if lock.is_err() {
            return Err(ThreadsError::OtherTracer);
        }
        if let Err(error) = self.install_handler() {
            self.owner.store(0, Ordering::Release);
            return Err(error);
        }
        let order = self.order();
        order.link = Some(link);
        order.schedule = link.schedule;
        order.spin_since_ns = 0;
        order.turns_to_settle = None;
        order.error = None;
        self.held_since_ns.store(0, Ordering::Relaxed);
        let seat = &self.seats[own];
        self.prepare(own, link.vector);
        seat.stopped().fs_base = link.fs_base;
        seat.phase.store(phase::MEMBER, Ordering::Relaxed);
        self.members.store(1, Ordering::Relaxed);
        SEAT.set(own + 1);
        self.look_away();
        let gathered = self.gather(own);
        if gathered.is_err() {
            self.call_off();
            self.dismiss();
            self.unpark();
            self.end();
        } else if self.has_companions() {
            fixed_values::hold_clock();
        }
        gathered
    }

    /// Ends the trace, if it is of all threads and the calling one began it. Returns why it ended
    /// in the middle, if it did.
    pub(in super::super) fn end(&self) -> Option<ThreadsError> {
        let owner = self.owner.load(Ordering::Relaxed).checked_sub(1)?;
        let seat = &self.seats[owner];
        if seat.thread.load(Ordering::Relaxed) != this_thread() {
            return None;
        }
        if SEAT.get() == owner + 1 {
            self.dismiss();
            seat.phase.store(phase::NATIVE, Ordering::Release);
            SEAT.set(0);
        }
        let error = self.order().error.take();
        self.owner.store(0, Ordering::Release);
        error
    }

    /// Makes a seat ready for a thread that will wait in it.
    pub(super) fn prepare(&self, index: usize, vector: VectorState) {
        let seat = &self.seats[index];
        let stopped = seat.stopped();
        stopped.vector_mask_low = vector.mask as u32;
        stopped.vector_mask_high = (vector.mask >> 32) as u32;
        stopped.default_mxcsr = DEFAULT_MXCSR;
        stopped.process = self.process.load(Ordering::Relaxed);
        stopped.thread = seat.thread.load(Ordering::Relaxed);
        stopped.signal = self.signal();
        stopped.index = index as u32;
        stopped.admit = super::members::admit as *const () as u64;
        stopped.wait = Wait::Nothing;
        stopped.mask = None;
        stopped.never_waits = false;
        stopped.next = 0;
        stopped.interrupted = None;
        seat.turn.store(turn::WAIT, Ordering::Relaxed);
        seat.is_interrupted.store(false, Ordering::Relaxed);
    }

    /// Returns the seat of a thread: its own, or a free one.
    pub(super) fn seat_for(&self, thread: u32) -> Result<usize, ThreadsError> {
        let own = self.seat_of(thread);
        let free = || self.seats.iter().position(|seat| seat.is(phase::FREE));
        let index = own.or_else(free).ok_or(ThreadsError::TooMany {
            capacity: MAX_THREADS,
        })?;
        let seat = &self.seats[index];
        if own.is_none() {
            seat.thread.store(thread, Ordering::Relaxed);
            seat.phase.store(phase::NATIVE, Ordering::Relaxed);
        }
        Ok(index)
    }

    fn seat_of(&self, thread: u32) -> Option<usize> {
        self.seats
            .iter()
            .position(|seat| !seat.is(phase::FREE) && seat.thread.load(Ordering::Relaxed) == thread)
    }

    /// Stops all other threads.
    fn gather(&self, own: usize) -> Result<(), ThreadsError> {
        let begun_ns = now_ns();
        self.forget_dead();
        // Much faster than to list them.
        if only_thread() == Some(true) {
            return Ok(());
        }
        loop {
            let mut missing = None;
            let mut failed = None;
            let since_ns = now_ns() - begun_ns;
            let listed = tasks::each(|thread, task| {
                match self.is_stopped(thread, own, task, since_ns) {
                    Ok(true) => {}
                    Ok(false) => missing = Some(thread),
                    Err(error) => failed = Some(error),
                }
                Some(())
            });
            let error = match (listed, failed, missing) {
                (None, ..) => Some(ThreadsError::NotListed),
                (_, Some(error), _) => Some(error),
                (_, _, None) => return Ok(()),
                (_, _, Some(thread)) if since_ns > STOP_LIMIT_NS => {
                    Some(ThreadsError::NotStopped { thread })
                }
                _ => self.order().error,
            };
            if let Some(error) = error {
                return Err(error);
            }
            rest(20_000);
        }
    }

    /// Returns whether a thread has been stopped. If not, does what is to be done for it.
    fn is_stopped(
        &self,
        thread: u32,
        own: usize,
        task: Task<'_>,
        since_ns: u64,
    ) -> Result<bool, ThreadsError> {
        let seat = self.seat_of(thread);
        match seat.map(|seat| self.seats[seat].phase.load(Ordering::Acquire)) {
            Some(phase::MEMBER) => return Ok(true),
            Some(phase::PARKED) => {
                return Ok(seat.is_some_and(|seat| self.rejoin(&self.seats[seat])));
            }
            None | Some(phase::NATIVE) if seat != Some(own) => {}
            _ => return Ok(false),
        }
        match task.state() {
            // It has ended, but nobody has asked for its result.
            Some(b'Z' | b'X') => return Ok(true),
            Some(b'S') => {}
            _ if since_ns > SETTLE_NS[usize::from(seat.is_some())] => {}
            _ => return Ok(false),
        }
        let index = self.seat_for(thread)?;
        self.call(index, task)?;
        Ok(false)
    }

    /// Sends a thread the signal that takes it over.
    fn call(&self, index: usize, task: Task<'_>) -> Result<(), ThreadsError> {
        let Some(Link { vector, .. }) = self.order().link else {
            return Ok(());
        };
        let seat = &self.seats[index];
        seat.provide_memory(vector.bytes)?;
        self.prepare(index, vector);
        let mut buffer = [0; 256];
        let interrupted = task.read(b"/syscall", &mut buffer).and_then(parse_call);
        let stopped = seat.stopped();
        stopped.interrupted = interrupted;
        let arguments = [stopped.process, stopped.thread, stopped.signal].map(u64::from);
        let [process, thread, signal] = arguments;
        seat.phase.store(phase::CALLED, Ordering::Release);
        // SAFETY: the handler is installed.
        unsafe { kernel::call(libc::SYS_tgkill, [process, thread, signal, 0, 0, 0]) };
        Ok(())
    }

    /// Calls no thread any more. Those that are on their way arrive.
    fn call_off(&self) {
        for seat in &self.seats {
            let (called, native) = (phase::CALLED, phase::NATIVE);
            let _ =
                seat.phase
                    .compare_exchange(called, native, Ordering::AcqRel, Ordering::Relaxed);
            while seat.is(phase::COMING) {
                rest(20_000);
            }
        }
    }

    /// Frees the seats of threads that ended natively.
    fn forget_dead(&self) {
        for seat in &self.seats {
            if !seat.is(phase::FREE) && !seat.is(phase::MEMBER) && !seat.is_alive() {
                seat.phase.store(phase::FREE, Ordering::Release);
            }
        }
    }

    /// Installs the handler for a signal that the program does not use.
    fn install_handler(&self) -> Result<(), ThreadsError> {
        let ours = on_signal as *const () as usize;
        let known = self.signal() as i32;
        if known != 0 && handler_of(known) == ours {
            return Ok(());
        }
        let mut signals = (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev();
        let free = signals.find(|&signal| handler_of(signal) == libc::SIG_DFL);
        let signal = free.ok_or(ThreadsError::NoSignal)?;
        // SAFETY: all zeros is a valid action; the handler takes what one with SA_SIGINFO gets.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ours;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
        self.signal.store(signal as u32, Ordering::Relaxed);
        Ok(())
    }

    /// Lets the calling thread go on natively, where it is stopped.
    pub(super) fn leave(&self, own: usize) -> ! {
        if !self.is_owner(own) {
            TRACED_IN.set(0);
        }
        super::super::handlers::end();
        // The program may have taken the signal since the trace.
        let _ = self.install_handler();
        let stopped = self.seats[own].stopped();
        stopped.thread = this_thread();
        stopped.signal = self.signal();
        stopped.block_all_signals_but(1 << (stopped.signal - 1));
        // SAFETY: the seat has the thread's whole state, and the handler is installed.
        unsafe { entry::leave(std::ptr::from_mut(stopped).cast()) }
    }
}

fn handler_of(signal: i32) -> usize {
    // SAFETY: all zeros is a valid action, and the kernel writes one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action);
        action.sa_sigaction
    }
}

/// Returns number, first argument, stack pointer and address of the system call that `syscall` of a
/// thread shows, see proc_pid_syscall(5).
fn parse_call(text: &[u8]) -> Option<[u64; 4]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut fields = text.split(|&byte| byte == b' ');
    let call = number(fields.next()?, 10)?;
    let hexadecimal = |field: &[u8]| number(field.strip_prefix(b"0x")?, 16);
    let first = hexadecimal(fields.next()?)?;
    let stack = hexadecimal(fields.nth(5)?)?;
    let address = hexadecimal(fields.next()?)?;
    Some([call, first, stack, address])
}

/// Stops the thread, or lets it go on natively.
unsafe extern "C" fn on_signal(
    _signal: i32,
    _info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    // SAFETY: the kernel passes the interrupted state, and only to this function.
    let context = unsafe { &mut *context };
    match SEAT.get() {
        0 => stop(context),
        seat => go_on(&TEAM.seats[seat - 1], context),
    }
}

fn stop(context: &mut libc::ucontext_t) {
    let thread = this_thread();
    let called =
        |seat: &&Seat| seat.is(phase::CALLED) && seat.thread.load(Ordering::Relaxed) == thread;
    let Some(seat) = TEAM.seats.iter().find(called) else {
        return;
    };
    let coming = |seat: &Seat| {
        let (called, coming) = (phase::CALLED, phase::COMING);
        seat.phase
            .compare_exchange(called, coming, Ordering::AcqRel, Ordering::Relaxed)
    };
    // If another tracer traces this thread, whoever called it gives up.
    if TRACED_IN.get() != 0 || coming(seat).is_err() {
        return;
    }
    let registers = &mut context.uc_mcontext.gregs;
    let get = |registers: &[i64; 23], index: i32| registers[index as usize] as u64;
    let stopped = seat.stopped();
    for (number, index) in REGISTER_INDICES.into_iter().enumerate() {
        stopped.registers[number] = get(registers, index);
    }
    stopped.flags = get(registers, libc::REG_EFL);
    stopped.ip = get(registers, libc::REG_RIP);
    let [stack, first] = [libc::REG_RSP, libc::REG_RDI].map(|index| get(registers, index));
    if let Some([number, .., address]) = stopped
        .interrupted
        .filter(|call| call[1..] == [first, stack, stopped.ip])
    {
        if stopped.registers[0] == -i64::from(libc::EINTR) as u64 {
            const SYSCALL_BYTES: u64 = 2;
            stopped.registers[0] = number;
            stopped.ip = address - SYSCALL_BYTES;
        }
    }
    SEAT.set(stopped.index as usize + 1);
    const CLEAR_FLAGS: i64 = 0x202;
    registers[libc::REG_EFL as usize] = CLEAR_FLAGS;
    registers[libc::REG_RSP as usize] = stopped.stack as i64;
    registers[libc::REG_RBX as usize] = std::ptr::from_mut(stopped) as i64;
    registers[libc::REG_RIP as usize] = entry::join as *const () as i64;
}

fn go_on(seat: &Seat, context: &mut libc::ucontext_t) {
    let stopped = seat.stopped();
    let Some(mask) = stopped.mask.take() else {
        return;
    };
    let registers = &mut context.uc_mcontext.gregs;
    for (number, index) in REGISTER_INDICES.into_iter().enumerate() {
        registers[index as usize] = stopped.registers[number] as i64;
    }
    registers[libc::REG_EFL as usize] = stopped.flags as i64;
    registers[libc::REG_RIP as usize] = stopped.ip as i64;
    // SAFETY: the kernel's set of signals has this size, and the handler's return restores it.
    unsafe { (&raw mut context.uc_sigmask).cast::<u64>().write(mask) };
    SEAT.set(0);
    seat.turn.store(turn::WAIT, Ordering::Relaxed);
    // The thread may be called again, but the signal is blocked up to the handler's return.
    seat.phase.store(phase::NATIVE, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_of_a_waiting_thread_is_parsed() {
        let text = b"230 0x1 0x0 0x7ffc1 0x2 0x0 0x0 0x7ffc0 0x7fba7\n";
        assert_eq!(parse_call(text), Some([230, 1, 0x7ffc0, 0x7fba7]));
        assert_eq!(parse_call(b"running\n"), None);
        assert_eq!(parse_call(b"-1 0x7ffc0 0x7fba7\n"), None);
        assert_eq!(parse_call(b""), None);
    }
}

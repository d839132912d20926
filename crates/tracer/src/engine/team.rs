//! The threads that execute translated code in turn.
//!
//! While all threads of the process are traced, exactly one of them runs. It goes on until it has
//! filled its part of the trace buffer, waits, yields, or ends, and then passes the turn to the
//! next one in the order of their seats that waits for nothing, or to the one that its [`schedule`]
//! chooses. None of this depends on the clock or on the kernel's scheduler, unless every thread
//! waits for something outside.
//!
//! The team belongs to the process, not to a tracer: see [`seat`].

mod calls;
mod futex;
mod gather;
mod members;
mod park;
mod schedule;
mod seat;
mod wait;

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

pub(super) use self::calls::{MemberCall, hold_at_port, is_transfer, looks_at_files};
pub(super) use self::futex::woken_futex;
pub(super) use self::gather::Link;
pub(super) use self::members::After;
pub(super) use self::schedule::Schedule;
pub(super) use self::seat::Stopped;
use self::seat::{Seat, phase, turn};
pub(super) use self::wait::Wait;
use self::wait::{now_ns, rest};
use super::handlers;
use crate::error::ThreadsError;
use crate::{fixed_values, kernel};

/// Maximum number of threads.
pub(super) const MAX_THREADS: usize = crate::MAX_THREADS - 1;

// Judgement: far longer than any of these takes, and short enough to wait for.
const HELD_LIMIT_NS: u64 = 5_000_000_000;
const IDLE_LIMIT_NS: u64 = 10_000_000_000;
const SPIN_LIMIT_NS: u64 = 5_000_000_000;
const END_LIMIT_NS: u64 = 5_000_000_000;

/// A deadline that passes while other threads can run counts this much later, because traced code
/// takes longer than the program expects. Unless its clock is held.
const OVERDUE_NS: u64 = 1_000_000_000;

/// Advance of a held clock with each turn. Judgement: as long as a full one takes natively.
const TURN_NS: u64 = 5_000;

/// Maximum number of turns after a complete trace, for each thread. Judgement: threads that look
/// for work in vain soon wait, those of crossbeam's channels after 262 turns, and those that never
/// do must not take long.
const MAX_TURNS_TO_SETTLE: usize = 300;

/// In [`Team::held_since_ns`]: the trace has ended meanwhile.
const OVER: u64 = u64::MAX;

pub(super) static TEAM: Team = Team::new();

thread_local! {
    /// The calling thread's seat plus one, or 0.
    static SEAT: Cell<usize> = const { Cell::new(0) };
}

/// Returns the seat of the calling thread, which takes turns.
pub(super) fn own_seat() -> usize {
    SEAT.get() - 1
}

/// See the module.
pub(super) struct Team {
    seats: [Seat; MAX_THREADS],
    /// The process to which the seats belong: a forked child has a copy.
    process: AtomicU32,
    /// The signal that takes threads over, or 0.
    signal: AtomicU32,
    /// The thread whose tracer traces all threads: its seat plus one, or 0.
    owner: AtomicUsize,
    /// Number of threads that take turns.
    members: AtomicUsize,
    /// The thread that ended the last complete trace, until the next one begins; or 0.
    parked_by: AtomicU32,
    /// Since when the running thread is somewhere it might not come back from; 0 if it is not.
    held_since_ns: AtomicU64,
    /// Time in which all threads waited, since the process began.
    idle_ns: AtomicU64,
    order: UnsafeCell<Order>,
}

/// Used by the thread whose turn it is.
struct Order {
    link: Option<Link>,
    /// Whose turn was last, for the thread that decides.
    last: usize,
    ticket: u64,
    schedule: Schedule,
    /// Since when all threads only spin, or 0.
    spin_since_ns: u64,
    /// The system call in which the running thread is.
    held: u64,
    /// Turns left until the trace ends, once it is complete.
    turns_to_settle: Option<usize>,
    /// Why the trace ended in the middle.
    error: Option<ThreadsError>,
}

// SAFETY: the order is used by the thread whose turn it is, or before there is one.
unsafe impl Sync for Team {}

impl Team {
    const fn new() -> Team {
        Team {
            seats: [const { Seat::new() }; MAX_THREADS],
            process: AtomicU32::new(0),
            signal: AtomicU32::new(0),
            owner: AtomicUsize::new(0),
            members: AtomicUsize::new(0),
            parked_by: AtomicU32::new(0),
            held_since_ns: AtomicU64::new(0),
            idle_ns: AtomicU64::new(0),
            order: UnsafeCell::new(Order {
                link: None,
                last: 0,
                ticket: 0,
                schedule: Schedule::new(0),
                spin_since_ns: 0,
                held: 0,
                turns_to_settle: None,
                error: None,
            }),
        }
    }

    #[allow(clippy::mut_from_ref)]
    fn order(&self) -> &mut Order {
        // SAFETY: only the thread whose turn it is calls this, and keeps the reference for a
        // statement.
        unsafe { &mut *self.order.get() }
    }

    /// Returns the signal that takes threads over, or 0 if none was needed yet.
    pub(super) fn signal(&self) -> u32 {
        self.signal.load(Ordering::Relaxed)
    }

    /// Returns the seat of a thread.
    pub(super) fn seat(&self, index: usize) -> &Seat {
        &self.seats[index]
    }

    fn members(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(|seat| seat.is(phase::MEMBER))
    }

    /// Returns whether several threads take turns.
    pub(super) fn has_companions(&self) -> bool {
        self.members.load(Ordering::Relaxed) > 1
    }

    fn is_owner(&self, index: usize) -> bool {
        self.owner.load(Ordering::Relaxed) == index + 1
    }

    /// Returns the number by which a consumer knows the running thread: 0 for the tracer's own.
    pub(super) fn thread_number(&self) -> usize {
        match SEAT.get() {
            0 => 0,
            seat if self.is_owner(seat - 1) => 0,
            seat => seat,
        }
    }

    /// See the field.
    pub(super) fn idle_ns(&self) -> u64 {
        self.idle_ns.load(Ordering::Relaxed)
    }

    fn next_ticket(&self) -> u64 {
        let order = self.order();
        order.ticket += 1;
        order.ticket
    }

    /// Lets the running thread wait. Then it must [pass](Team::pass) its turn.
    pub(super) fn begin_wait(&self, index: usize, wait: Wait) {
        let ticket = self.next_ticket();
        let seat = &self.seats[index];
        seat.stopped().never_waits = false;
        seat.is_interrupted.store(false, Ordering::Relaxed);
        seat.stopped().wait = wait;
        seat.stopped().ticket = ticket;
    }

    /// Passes the turn to the next thread, and returns when it is the calling thread's again.
    /// `spins` says whether the thread only waits for others. Returns `false` if the trace has
    /// ended.
    pub(super) fn pass(&self, own: usize, spins: bool) -> bool {
        match self.choose(own, spins) {
            Ok(next) if next == own => true,
            Ok(next) => {
                self.seats[next].tell(turn::RUN);
                self.await_turn(own)
            }
            Err(error) => {
                self.end_by(error);
                false
            }
        }
    }

    /// Waits until it is the thread's turn. Returns `false` if the trace has ended.
    fn await_turn(&self, own: usize) -> bool {
        let seat = &self.seats[own];
        let mut watch = None;
        loop {
            match seat.hear() {
                turn::RUN => return true,
                turn::CHOOSE => match self.choose(self.order().last, false) {
                    Ok(next) if next == own => return true,
                    Ok(next) => self.seats[next].tell(turn::RUN),
                    Err(error) => {
                        self.end_by(error);
                        return false;
                    }
                },
                turn::LEAVE => return false,
                turn::PARK => self.stay(own),
                _ => {
                    self.sleep(own, &mut watch);
                    if handlers::has_handled() {
                        seat.is_interrupted.store(true, Ordering::Relaxed);
                    }
                    if self.limit_hold() {
                        return false;
                    }
                }
            }
        }
    }

    /// Returns whose turn it is after that of `last`.
    fn choose(&self, last: usize, spins: bool) -> Result<usize, ThreadsError> {
        self.bury()?;
        self.limit_spin(spins)?;
        fixed_values::advance_held_clock(TURN_NS);
        let mut idle_since_ns = 0;
        loop {
            for seat in self.members() {
                seat.look();
            }
            if let Some(next) = self.choose_to_settle(last) {
                return Ok(next);
            }
            if idle_since_ns != 0 {
                self.skip_to_deadline(now_ns() - idle_since_ns);
            }
            let is_idle = spins || idle_since_ns != 0 || fixed_values::is_clock_held();
            self.pass_deadline(if is_idle { 0 } else { OVERDUE_NS });
            if let Some(next) = self.next_ready(last) {
                if idle_since_ns != 0 {
                    self.idle_ns
                        .fetch_add(now_ns() - idle_since_ns, Ordering::Relaxed);
                }
                return Ok(next);
            }
            let waits = |seat: &Seat| seat.stopped().wait.is_for_threads();
            let now_ns = now_ns();
            if idle_since_ns == 0 {
                idle_since_ns = now_ns;
                continue;
            }
            let is_over = now_ns - idle_since_ns > IDLE_LIMIT_NS && self.members().any(waits);
            if is_over || self.members().all(waits) {
                return Err(ThreadsError::AllWait);
            }
            rest(((now_ns - idle_since_ns) / 8).clamp(20_000, 1_000_000));
        }
    }

    /// Lets all threads but the owner go on until they wait, and then the owner. Returns when it is
    /// the owner's turn, or `false` if the trace has ended.
    pub(super) fn settle(&self, own: usize) -> bool {
        let members = self.members.load(Ordering::Relaxed);
        self.order().turns_to_settle = Some(members * MAX_TURNS_TO_SETTLE);
        self.begin_wait(own, Wait::End);
        self.pass(own, false)
    }

    /// Returns whose turn it is if the trace is complete. Neither the clock nor what is outside
    /// ends a wait then.
    fn choose_to_settle(&self, last: usize) -> Option<usize> {
        let turns = self.order().turns_to_settle?;
        let next = self.next_ready(last).filter(|_| turns > 0);
        self.order().turns_to_settle = next.map(|_| turns - 1);
        next.or_else(|| {
            let owner = self.owner.load(Ordering::Relaxed).checked_sub(1)?;
            self.seats[owner].stopped().wait = Wait::Nothing;
            Some(owner)
        })
    }

    /// Returns the thread whose deadline comes first, and the deadline.
    fn first_deadline(&self) -> Option<(&Seat, u64)> {
        let deadline = |seat| Some((seat, Seat::stopped(seat).wait.until_ns()?));
        self.members()
            .filter_map(deadline)
            .min_by_key(|(_, until_ns)| *until_ns)
    }

    /// If the clock is held, advances it to the first deadline: at once, or when all threads have
    /// waited that long because something outside may happen before.
    fn skip_to_deadline(&self, idle_ns: u64) {
        if let Some((_, until_ns)) = self.first_deadline() {
            let left_ns = until_ns.saturating_sub(fixed_values::monotonic_ns());
            let waits_outside = |seat: &Seat| seat.stopped().wait.is_for_outside();
            if idle_ns >= left_ns || !self.members().any(waits_outside) {
                fixed_values::advance_held_clock(left_ns);
            }
        }
    }

    /// Ends the wait whose deadline comes first, if it passed this long ago. Only that one: so the
    /// order of deadlines decides, and not when somebody looks.
    fn pass_deadline(&self, margin_ns: u64) {
        if let Some((first, until_ns)) = self.first_deadline() {
            if fixed_values::monotonic_ns() >= until_ns.saturating_add(margin_ns) {
                first.time_out();
            }
        }
    }

    /// Waits until threads that end are gone, so that what the kernel does at their end does not
    /// depend on when it does it.
    fn bury(&self) -> Result<(), ThreadsError> {
        let mut ended = false;
        for seat in self.seats.iter().filter(|seat| seat.is(phase::ENDING)) {
            let begun_ns = now_ns();
            while seat.is_alive() {
                if now_ns() - begun_ns > END_LIMIT_NS {
                    let thread = seat.thread.load(Ordering::Relaxed);
                    return Err(ThreadsError::NotStopped { thread });
                }
                rest(20_000);
            }
            seat.phase.store(phase::FREE, Ordering::Release);
            ended = true;
        }
        if ended {
            self.wake_changed();
        }
        Ok(())
    }

    fn limit_spin(&self, spins: bool) -> Result<(), ThreadsError> {
        let order = self.order();
        if !spins {
            order.spin_since_ns = 0;
            return Ok(());
        }
        let now_ns = now_ns();
        if order.spin_since_ns == 0 {
            order.spin_since_ns = now_ns;
        }
        match now_ns - order.spin_since_ns > SPIN_LIMIT_NS {
            true => Err(ThreadsError::AllSpin),
            false => Ok(()),
        }
    }

    /// The running thread does something that it might not come back from: system call `number`, or
    /// `u64::MAX`.
    pub(super) fn hold(&self, own: usize, number: u64) {
        let order = self.order();
        order.held = number;
        order.last = own;
        self.held_since_ns.store(now_ns(), Ordering::Release);
    }

    /// It came back. Returns whether the trace goes on.
    pub(super) fn release(&self) -> bool {
        self.held_since_ns.swap(0, Ordering::AcqRel) != OVER
    }

    /// Ends the trace if the running thread does not come back and others could run. Called by one
    /// that waits. Returns whether it did.
    fn limit_hold(&self) -> bool {
        let since_ns = self.held_since_ns.load(Ordering::Acquire);
        if since_ns == 0 || since_ns == OVER || now_ns() - since_ns < HELD_LIMIT_NS {
            return false;
        }
        // Stays the same while the running thread is away.
        let (number, holder) = (self.order().held, self.order().last);
        let could_run = self.seats.iter().enumerate().any(|(index, seat)| {
            index != holder && seat.is(phase::MEMBER) && !seat.stopped().wait.is_for_threads()
        });
        let over = |since_ns| {
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            self.held_since_ns
                .compare_exchange(since_ns, OVER, success, failure)
        };
        if !could_run || over(since_ns).is_err() {
            return false;
        }
        self.end_by(ThreadsError::Held { number });
        true
    }

    fn end_by(&self, error: ThreadsError) {
        self.order().error = Some(error);
        self.dismiss();
    }

    /// Tells all other threads that take turns to go on natively. The calling one takes none any
    /// more.
    pub(super) fn dismiss(&self) {
        let own = SEAT.get();
        for (index, seat) in self.seats.iter().enumerate() {
            if seat.is(phase::MEMBER) && index + 1 != own {
                seat.phase.store(phase::LEAVING, Ordering::Release);
                seat.tell(turn::LEAVE);
            }
        }
        self.members.store(0, Ordering::Relaxed);
        fixed_values::release_clock();
    }

    /// Performs the system call at which the running thread is. Returns `false` if the trace has
    /// ended meanwhile.
    pub(super) fn perform(&self, own: usize) -> bool {
        // rdi, rsi, rdx, r10, r8, r9.
        const ARGUMENTS: [usize; 6] = [7, 6, 2, 10, 8, 9];
        let seat = &self.seats[own];
        let registers = &seat.stopped().registers;
        let number = registers[0];
        let arguments = ARGUMENTS.map(|register| registers[register]);
        self.hold(own, number);
        // SAFETY: the program is about to make this very call.
        let result = unsafe { kernel::call(number as libc::c_long, arguments) };
        let goes_on = self.release();
        seat.complete(result);
        goes_on
    }
}

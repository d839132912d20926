//! Reserved cycles of a shared resource.
//!
//! The model visits instructions in program order, but an out-of-order core serves them in the
//! order in which they become ready. A "next free cycle" counter would let a late instruction delay
//! an early one. So each resource has a calendar with one bit per cycle, and a request takes the
//! first free bit at or after the cycle in which it is ready.

use crate::ports::{INTEGER_PORTS, Ports};

/// Number of rows: 64 cycles each, so 8192 cycles. A reservation further in the future overwrites
/// the oldest row; requests for overwritten cycles are accepted without a record.
const ROWS: usize = 128;
const ROW_CYCLES: usize = 64;

/// Within this many cycles most requests are served.
const NEAR_CYCLES: usize = 4;

const PORTS: usize = 32;
/// Cycles are closed in a pattern that repeats after this many operations: a prime, so that few
/// loops are in step with it, but small enough for the branch predictor of the CPU that executes
/// the model.
const TURNS: u8 = 13;
/// Step from one turn to the next: nearest to the golden ratio, which spreads them evenly.
const TURN_STEP: u8 = 8;

/// A span of 64 cycles, by port and by cycle.
#[derive(Clone, Copy)]
struct Row {
    /// The number of the span this row currently represents.
    span: u64,
    /// For each port, the cycles in which it is busy.
    cycles: [u64; PORTS],
    /// For each cycle, the busy ports.
    busy: [u32; ROW_CYCLES],
    /// For each cycle, the ports that an operation which was just woken would not get.
    closed: [u32; ROW_CYCLES],
}

impl Row {
    const fn empty(span: u64) -> Row {
        Row {
            span,
            cycles: [0; PORTS],
            busy: [0; ROW_CYCLES],
            closed: [0; ROW_CYCLES],
        }
    }

    /// Returns the first cycle at or after `from` in which one of `ports` is free.
    #[inline]
    fn first_free(&self, ports: Ports, from: usize) -> Option<usize> {
        // Mostly it is among the next few.
        let near = from..(from + NEAR_CYCLES).min(ROW_CYCLES);
        for cycle in near {
            if ports.0 & !self.busy[cycle] != 0 {
                return Some(cycle);
            }
        }
        let mut busy = u64::MAX;
        let mut left = ports.0;
        while left != 0 {
            busy &= self.cycles[left.trailing_zeros() as usize % PORTS];
            left &= left - 1;
        }
        let free = !busy & u64::MAX << from;
        (free != 0).then(|| free.trailing_zeros() as usize % ROW_CYCLES)
    }

    #[inline]
    fn occupy(&mut self, closing: &mut Closing, port: u32, cycle: usize) {
        let busy = self.busy[cycle] | 1 << port;
        self.cycles[port as usize % PORTS] |= 1 << cycle;
        self.busy[cycle] = busy;
        self.closed[cycle] = closing.closed(busy);
    }
}

/// The busy cycles of all execution ports.
pub(crate) struct PortCalendar {
    rows: Box<[Row; ROWS]>,
    closing: Closing,
}

/// The cycles that are closed to further integer operations that were just woken, although a port
/// is free.
struct Closing {
    /// In how many turns, by the set of busy integer ports.
    by_busy: [u8; 1 << INTEGER_PORTS],
    /// Whether any cycle is ever closed.
    happens: bool,
    turn: u8,
}

impl Closing {
    /// Returns the ports that are closed where these are `busy`.
    #[inline]
    fn closed(&mut self, busy: u32) -> u32 {
        const INTEGER: u32 = (1 << INTEGER_PORTS) - 1;
        if !self.happens {
            return busy;
        }
        let next = self.turn + TURN_STEP;
        self.turn = next.checked_sub(TURNS).unwrap_or(next);
        let closes = self.turn < self.by_busy[(busy & INTEGER) as usize];
        busy | if closes { INTEGER } else { 0 }
    }
}

impl PortCalendar {
    /// `closed_by_busy`: in how many of 13 cases a cycle is closed, by the number of busy integer
    /// ports.
    pub(crate) fn new(closed_by_busy: [u8; INTEGER_PORTS + 1]) -> Self {
        let by_set = |set: usize| closed_by_busy[set.count_ones() as usize];
        PortCalendar {
            rows: boxed(Row::empty(0)),
            closing: Closing {
                by_busy: std::array::from_fn(by_set),
                happens: closed_by_busy != [0; INTEGER_PORTS + 1],
                turn: 0,
            },
        }
    }

    /// Begins the pattern of closed cycles again.
    pub(crate) fn restart(&mut self) {
        self.closing.turn = 0;
    }

    /// Takes the first cycle at or after `from` in which one of `ports` is free, and returns it.
    /// An operation that `is_woken`, by its last operand since it was issued, may take a port in
    /// vain and try again in the next cycle.
    ///
    /// If several ports are free, it takes the highest-numbered, so a core numbers its most
    /// specialised ports lowest to keep them free for operations that need them.
    #[inline]
    pub(crate) fn reserve(&mut self, ports: Ports, from: u64, is_woken: bool) -> u64 {
        if ports.is_empty() {
            return from;
        }
        let span = from / ROW_CYCLES as u64;
        let row = &mut self.rows[span as usize % ROWS];
        if row.span != span {
            if row.span > span {
                // The row already represents a later time: this cycle is forgotten.
                return from;
            }
            *row = Row::empty(span);
        }
        let place = from as usize % ROW_CYCLES;
        let taken = if is_woken {
            row.closed[place]
        } else {
            row.busy[place]
        };
        let open = ports.0 & !taken;
        if open == 0 {
            return self.reserve_later(ports, from, is_woken);
        }
        row.occupy(&mut self.closing, open.ilog2(), place);
        from
    }

    /// Like `reserve`, where no port is open in `from`.
    #[inline(never)]
    fn reserve_later(&mut self, ports: Ports, from: u64, is_woken: bool) -> u64 {
        let mut cycle = from;
        loop {
            let span = cycle / ROW_CYCLES as u64;
            let row = &mut self.rows[span as usize % ROWS];
            if row.span != span {
                if row.span > span {
                    return cycle;
                }
                *row = Row::empty(span);
            }
            let Some(free) = row.first_free(ports, cycle as usize % ROW_CYCLES) else {
                cycle = (span + 1) * ROW_CYCLES as u64;
                continue;
            };
            cycle = span * ROW_CYCLES as u64 + free as u64;
            let port = (ports.0 & !row.busy[free]).ilog2();
            let is_closed = is_woken && ports.0 & !row.closed[free] == 0;
            row.occupy(&mut self.closing, port, free);
            if !is_closed {
                return cycle;
            }
            // The port was taken in vain.
            cycle += 1;
        }
    }

    /// Marks one more cycle of the first port in `ports` as busy, for operations that are not
    /// pipelined.
    #[inline]
    pub(crate) fn block(&mut self, ports: Ports, cycle: u64) {
        if ports.is_empty() {
            return;
        }
        let span = cycle / ROW_CYCLES as u64;
        let row = &mut self.rows[span as usize % ROWS];
        if row.span < span {
            *row = Row::empty(span);
        }
        if row.span == span {
            let place = cycle as usize % ROW_CYCLES;
            row.occupy(&mut self.closing, ports.0.trailing_zeros(), place);
        }
    }
}

/// The busy intervals of one resource that serves one request every `interval` cycles.
pub(crate) struct Bandwidth {
    interval: u64,
    /// Number of each 64-interval span, and its busy bits.
    rows: Box<[(u64, u64); ROWS]>,
}

impl Bandwidth {
    /// Creates a resource that accepts one request every `interval` cycles; 0 means no limit.
    pub(crate) fn new(interval: u32) -> Self {
        Bandwidth {
            interval: u64::from(interval),
            rows: boxed((0, 0)),
        }
    }

    /// Takes the first free interval at or after `from`, and returns when the request is accepted.
    #[inline]
    pub(crate) fn reserve(&mut self, from: u64) -> u64 {
        if self.interval == 0 {
            return from;
        }
        let first = from / self.interval;
        let mut span = first / 64;
        let mut allowed = u64::MAX << (first % 64);
        loop {
            let row = &mut self.rows[span as usize % ROWS];
            if row.0 != span {
                if row.0 > span {
                    return from.max(span * 64 * self.interval);
                }
                *row = (span, 0);
            }
            let free = !row.1 & allowed;
            if free != 0 {
                row.1 |= free & free.wrapping_neg();
                let slot = span * 64 + u64::from(free.trailing_zeros());
                return from.max(slot * self.interval);
            }
            span += 1;
            allowed = u64::MAX;
        }
    }
}

/// Returns a boxed array created on the heap, without passing through the stack.
pub(crate) fn boxed<T: Copy, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("a vector of N elements is an array of N elements"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_serves_one_request_per_cycle() {
        let mut calendar = PortCalendar::new([0; INTEGER_PORTS + 1]);
        let port = Ports(0b1);
        assert_eq!(calendar.reserve(port, 10, true), 10);
        assert_eq!(calendar.reserve(port, 10, true), 11);
        assert_eq!(calendar.reserve(port, 5, true), 5);
    }

    #[test]
    fn most_general_port_is_taken_first() {
        let mut calendar = PortCalendar::new([0; INTEGER_PORTS + 1]);
        assert_eq!(calendar.reserve(Ports(0b11), 0, true), 0);
        // Port 1 took the general request, so the specialised port 0 is still free.
        assert_eq!(calendar.reserve(Ports(0b01), 0, true), 0);
        assert_eq!(calendar.reserve(Ports(0b11), 0, true), 1);
    }

    #[test]
    fn late_request_does_not_delay_early_one() {
        let mut memory = Bandwidth::new(10);
        assert_eq!(memory.reserve(1000), 1000);
        assert_eq!(memory.reserve(20), 20);
        assert_eq!(memory.reserve(20), 30);
    }

    #[test]
    fn some_woken_operations_wait_for_a_cycle() {
        let integer = Ports((1 << INTEGER_PORTS) - 1);
        let in_first_cycle = |calendar: &mut PortCalendar, from| {
            let times = [from; INTEGER_PORTS].map(|from| calendar.reserve(integer, from, true));
            times.iter().filter(|&&time| time == from).count() as u32
        };
        let mut always = PortCalendar::new([0; INTEGER_PORTS + 1]);
        let mut never = PortCalendar::new([0, 0, 0, TURNS, TURNS, TURNS, 0]);
        let mut sometimes = PortCalendar::new([0, 0, 0, 3, 4, 6, 0]);
        let mut found = 0;
        for from in (0..1300).map(|step| step * 4) {
            assert_eq!(in_first_cycle(&mut always, from), INTEGER_PORTS as u32);
            assert_eq!(in_first_cycle(&mut never, from), 3);
            found += in_first_cycle(&mut sometimes, from);
        }
        // Three, and then 10, 9 and 7 of 13 that try.
        assert!(
            (4.5 * 1300.0..5.5 * 1300.0).contains(&f64::from(found)),
            "{found}"
        );
    }

    #[test]
    fn port_reserved_in_vain_stays_busy() {
        let integer = Ports((1 << INTEGER_PORTS) - 1);
        let mut calendar = PortCalendar::new([0, 0, 0, TURNS, 0, 0, 0]);
        let woken = [0; 4].map(|from| calendar.reserve(integer, from, true));
        assert_eq!(woken, [0, 0, 0, 1]);
        let ready = [0; 3].map(|from| calendar.reserve(integer, from, false));
        assert_eq!(ready, [0, 0, 1], "four of six ports are busy");
    }

    #[test]
    fn ports_of_other_operations_never_close() {
        let mut calendar = PortCalendar::new([TURNS; INTEGER_PORTS + 1]);
        let other = Ports(0b11 << INTEGER_PORTS);
        assert_eq!(
            [0; 2].map(|from| calendar.reserve(other, from, true)),
            [0; 2]
        );
        assert_eq!(calendar.reserve(Ports(1), 0, true), 1);
    }

    #[test]
    fn full_row_continues_in_the_next() {
        let mut calendar = PortCalendar::new([0; INTEGER_PORTS + 1]);
        let last = (0..200).map(|_| calendar.reserve(Ports(1), 0, true)).last();
        assert_eq!(last, Some(199));
    }
}

//! Which cycles of a shared resource are taken.
//!
//! The model visits instructions in program order, but an out-of-order core serves them in the
//! order in which they become ready. A "next free cycle" counter would let a late instruction delay
//! an early one. So each resource has a calendar with one bit per cycle, and a request takes the
//! first free bit at or after the cycle in which it is ready.

/// A set of execution ports, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports(pub u32);

impl Ports {
    /// No port: the instruction completes at rename.
    pub const NONE: Ports = Ports(0);

    /// Returns the ports in either set.
    pub const fn or(self, other: Ports) -> Ports {
        Ports(self.0 | other.0)
    }

    /// Returns the ports of this set that are not in `other`.
    pub const fn without(self, other: Ports) -> Ports {
        Ports(self.0 & !other.0)
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Number of rows: 64 cycles each, so 8192 cycles. A reservation further in the future overwrites
/// the oldest row; requests for overwritten cycles are accepted without a record.
const ROWS: usize = 128;
const ROW_CYCLES: usize = 64;

const PORTS: usize = 32;

/// A span of 64 cycles, by port and by cycle.
#[derive(Clone, Copy)]
struct Row {
    /// The number of the span this row currently represents.
    span: u64,
    /// For each port, the cycles in which it is busy.
    cycles: [u64; PORTS],
    /// For each cycle, the busy ports.
    ports: [u32; ROW_CYCLES],
}

impl Row {
    const fn empty(span: u64) -> Row {
        Row {
            span,
            cycles: [0; PORTS],
            ports: [0; ROW_CYCLES],
        }
    }

    /// Returns the first cycle at or after `from` in which one of `ports` is free.
    #[inline]
    fn first_free(&self, ports: Ports, from: usize) -> Option<usize> {
        if ports.0 & !self.ports[from] != 0 {
            return Some(from);
        }
        let mut busy = u64::MAX;
        let mut left = ports.0;
        while left != 0 {
            busy &= self.cycles[left.trailing_zeros() as usize % PORTS];
            left &= left - 1;
        }
        let free = !busy & u64::MAX << from;
        (free != 0).then(|| free.trailing_zeros() as usize)
    }

    #[inline]
    fn occupy(&mut self, port: u32, cycle: usize) {
        self.cycles[port as usize % PORTS] |= 1 << cycle;
        self.ports[cycle] |= 1 << port;
    }
}

/// The busy cycles of all execution ports.
pub(crate) struct PortCalendar {
    rows: Box<[Row; ROWS]>,
}

impl PortCalendar {
    pub(crate) fn new() -> Self {
        PortCalendar {
            rows: boxed(Row::empty(0)),
        }
    }

    /// Takes the first cycle at or after `from` in which one of `ports` is free, and returns it.
    ///
    /// If several ports are free, it takes the highest-numbered, so a core numbers its most
    /// specialised ports lowest to keep them free for operations that need them.
    #[inline]
    pub(crate) fn reserve(&mut self, ports: Ports, from: u64) -> u64 {
        if ports.is_empty() {
            return from;
        }
        let mut cycle = from;
        loop {
            let span = cycle / ROW_CYCLES as u64;
            let row = &mut self.rows[span as usize % ROWS];
            if row.span != span {
                if row.span > span {
                    // The row already represents a later time: this cycle is forgotten.
                    return cycle;
                }
                *row = Row::empty(span);
            }
            if let Some(free) = row.first_free(ports, cycle as usize % ROW_CYCLES) {
                let port = (ports.0 & !row.ports[free % ROW_CYCLES]).ilog2();
                row.occupy(port, free % ROW_CYCLES);
                return span * ROW_CYCLES as u64 + free as u64;
            }
            cycle = (span + 1) * ROW_CYCLES as u64;
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
            row.occupy(ports.0.trailing_zeros(), cycle as usize % ROW_CYCLES);
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
    fn a_port_serves_one_request_per_cycle() {
        let mut calendar = PortCalendar::new();
        let port = Ports(0b1);
        assert_eq!(calendar.reserve(port, 10), 10);
        assert_eq!(calendar.reserve(port, 10), 11);
        assert_eq!(calendar.reserve(port, 5), 5);
    }

    #[test]
    fn the_most_general_port_is_taken_first() {
        let mut calendar = PortCalendar::new();
        assert_eq!(calendar.reserve(Ports(0b11), 0), 0);
        // Port 1 took the general request, so the specialised port 0 is still free.
        assert_eq!(calendar.reserve(Ports(0b01), 0), 0);
        assert_eq!(calendar.reserve(Ports(0b11), 0), 1);
    }

    #[test]
    fn a_late_request_does_not_delay_an_early_one() {
        let mut memory = Bandwidth::new(10);
        assert_eq!(memory.reserve(1000), 1000);
        assert_eq!(memory.reserve(20), 20);
        assert_eq!(memory.reserve(20), 30);
    }

    #[test]
    fn a_full_row_continues_in_the_next() {
        let mut calendar = PortCalendar::new();
        let last = (0..200).map(|_| calendar.reserve(Ports(1), 0)).last();
        assert_eq!(last, Some(199));
    }
}

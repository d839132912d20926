//! Ports that are chosen when an operation issues.
//!
//! Another port may be free when the operation becomes ready, but it keeps its own.

use super::bound_sets::{BOUND_PORTS, HORIZON, SETS};
use super::emptiest_scheduler::EmptiestScheduler;
use super::round_robin::RoundRobin;
use crate::calendar::boxed;
use crate::parameters::Binding;
use crate::ports::Ports;

/// Operations look for a free cycle this far ahead. Those that wait longer find their port free.
const FAR: u64 = HORIZON as u64 / 2;

/// The cycles in which each port is busy, in a span of 64 cycles, and the number of the span.
type Row = [u64; WORDS];
const ROW_CYCLES: u64 = 64;
const ROWS: usize = HORIZON / ROW_CYCLES as usize;
const WORDS: usize = 8;
const SPAN: usize = WORDS - 1;

/// How a port is chosen.
enum Rule {
    EmptiestScheduler(EmptiestScheduler),
    RoundRobin(RoundRobin),
}

/// The ports that are bound.
pub(crate) struct BoundPorts {
    /// The set of all of them; higher numbers are sets of others.
    last: u32,
    rule: Rule,
    rows: Box<[Row; ROWS]>,
}

impl BoundPorts {
    pub(crate) fn new(binding: Binding) -> Self {
        BoundPorts {
            last: match binding {
                Binding::None => 0,
                Binding::EmptiestScheduler | Binding::RoundRobin { .. } => SETS as u32 - 1,
            },
            rule: match binding {
                Binding::None | Binding::EmptiestScheduler => {
                    Rule::EmptiestScheduler(EmptiestScheduler::new())
                }
                Binding::RoundRobin { entries, lead } => {
                    Rule::RoundRobin(RoundRobin::new(entries, lead))
                }
            },
            rows: boxed([0; WORDS]),
        }
    }

    /// Returns whether `ports` are some of those that are bound.
    #[inline]
    pub(crate) fn has(&self, ports: Ports) -> bool {
        ports.0.wrapping_sub(1) < self.last
    }

    /// Returns the first cycle at or after `at` in which an operation for one of `ports` can issue,
    /// because fewer operations than fit wait for the port that it would be bound to. Calls must be
    /// in order of `at`.
    #[inline]
    pub(crate) fn room(&mut self, ports: Ports, at: u64) -> u64 {
        match &mut self.rule {
            Rule::RoundRobin(rule) if ports.0.wrapping_sub(1) < self.last => {
                rule.room(ports.0 as usize % SETS, at)
            }
            _ => at,
        }
    }

    /// Binds an operation that issues in the cycle `issued` to one of `ports`, and takes its first
    /// free cycle at or after `from`. Calls must be in order of `issued`.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, ports: Ports, issued: u64, from: u64) -> u64 {
        let set = ports.0 as usize % SETS;
        let (port, counted) = match &mut self.rule {
            Rule::EmptiestScheduler(rule) => (rule.choose(set, issued), rule.counted()),
            Rule::RoundRobin(rule) => (rule.choose(set, issued), rule.counted()),
        };
        if from - counted >= FAR {
            return from;
        }
        let executed = self.first_free(port, from);
        match &mut self.rule {
            Rule::EmptiestScheduler(rule) => rule.leave(port, executed),
            Rule::RoundRobin(rule) => rule.leave(port, executed),
        }
        executed
    }

    /// Takes the first free cycle of a port at or after `from`. Without a branch for a free `from`,
    /// which the CPU that executes the model cannot predict.
    #[inline(always)]
    fn first_free(&mut self, port: usize, from: u64) -> u64 {
        let mut span = from / ROW_CYCLES;
        let mut allowed = u64::MAX << (from % ROW_CYCLES);
        loop {
            let cycles = &mut self.row(span)[port];
            let free = !*cycles & allowed;
            if free != 0 {
                *cycles |= free & free.wrapping_neg();
                return span * ROW_CYCLES + u64::from(free.trailing_zeros());
            }
            span += 1;
            allowed = u64::MAX;
        }
    }

    #[inline(always)]
    fn row(&mut self, span: u64) -> &mut Row {
        let row = &mut self.rows[span as usize % ROWS];
        if row[SPAN] != span {
            *row = [0; WORDS];
            row[SPAN] = span;
        }
        row
    }

    /// Marks a cycle of the first port in `ports` as busy, for operations that are not pipelined.
    pub(crate) fn block(&mut self, ports: Ports, cycle: u64) {
        let port = ports.0.trailing_zeros() as usize % BOUND_PORTS;
        self.row(cycle / ROW_CYCLES)[port] |= 1 << (cycle % ROW_CYCLES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Ports = Ports(SETS as u32 - 1);

    #[test]
    fn operation_waits_for_its_port_beside_free_ones() {
        let mut ports = BoundPorts::new(Binding::EmptiestScheduler);
        assert_eq!(ports.reserve(Ports(0b10000), 10, 14), 14);
        assert_eq!(ports.reserve(ANY, 10, 14), 15);
        assert_eq!(ports.reserve(ANY, 10, 14), 14);
    }

    #[test]
    fn memory_ports_and_no_port_are_not_bound() {
        for (binding, last) in [(Binding::None, 0), (Binding::EmptiestScheduler, ANY.0)] {
            let ports = BoundPorts::new(binding);
            let bound: Vec<u32> = (0..100).filter(|&set| ports.has(Ports(set))).collect();
            assert_eq!(bound, (1..=last).collect::<Vec<_>>());
        }
    }

    #[test]
    fn unpipelined_operation_keeps_its_port_busy() {
        let mut ports = BoundPorts::new(Binding::EmptiestScheduler);
        assert_eq!(ports.reserve(Ports(0b100), 10, 14), 14);
        ports.block(Ports(0b100), 15);
        assert_eq!(ports.reserve(Ports(0b100), 10, 14), 16);
    }

    #[test]
    fn operation_issues_once_its_scheduler_has_room() {
        let mut ports = BoundPorts::new(Binding::RoundRobin {
            entries: 2,
            lead: 8,
        });
        let port = Ports(0b100);
        assert_eq!(ports.room(port, 10), 10);
        assert_eq!(ports.reserve(port, 10, 20), 20);
        assert_eq!(ports.reserve(port, 10, 30), 30);
        assert_eq!(ports.room(Ports(0b1000), 11), 11, "another port");
        assert_eq!(ports.room(port, 12), 21, "one has left");
    }
}

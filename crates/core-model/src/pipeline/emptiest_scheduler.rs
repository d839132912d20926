//! Binding an operation to the port for which fewest operations wait.
//!
//! Intel's cores do so at rename. A. Abel and J. Reineke found the rules on Ice Lake ("uiCA:
//! Accurate Throughput Prediction of Basic Blocks on Recent Intel Microarchitectures", ICS 2022;
//! `addNewUops` in its source): operations of a cycle with the same ports take them in turn, the
//! emptiest first. Left out: its rules for the last two slots of a cycle of five, and for a port
//! for which five more operations wait.

use super::bound_sets::{BOUND_PORTS, HORIZON, SETS};
use crate::calendar::boxed;

/// All ports that are bound.
const BOUND: u32 = SETS as u32 - 1;
/// Number of cycles that are checked at once for departures.
const CHUNK: usize = 8;
/// Words of the tables.
const WORDS: usize = 8;

/// Bits of the lane of a port. The lowest break ties, the highest is free for comparisons.
const LANE_BITS: u32 = 12;
const LANES: u32 = LANE_BITS * BOUND_PORTS as u32;
const LANE: u64 = (1 << LANE_BITS) - 1;
const TIE_BITS: u32 = 3;
/// One operation that waits for a port, and for each of a set of ports.
static ONE: [u64; WORDS] = {
    let mut one = [0; WORDS];
    let mut port = 0;
    while port < BOUND_PORTS {
        one[port] = lane(port, 1 << TIE_BITS);
        port += 1;
    }
    one
};
static ONE_EACH: [u64; SETS] = in_lanes(1 << TIE_BITS);
/// The highest bit of each lane.
const HIGHEST: u64 = in_lanes(1 << (LANE_BITS - 1))[SETS - 1];
/// Breaks ties: the highest port comes first.
const TIES: u64 = {
    let mut ties = 0;
    let mut port = 0;
    while port < BOUND_PORTS {
        ties |= lane(port, (BOUND_PORTS - 1 - port) as u64);
        port += 1;
    }
    ties
};
/// Factor that gathers the lowest bits of all lanes in the highest lane.
const GATHER: u64 = {
    let mut gather = 0;
    let mut port = 0;
    while port < BOUND_PORTS as u32 {
        gather |= 1 << (LANES - LANE_BITS - port * (LANE_BITS - 1));
        port += 1;
    }
    gather
};

const fn lane(port: usize, value: u64) -> u64 {
    value << (port as u32 * LANE_BITS)
}

/// Returns `value` in the lanes of each set of ports.
const fn in_lanes(value: u64) -> [u64; SETS] {
    let mut lanes = [0; SETS];
    let mut set = 0;
    while set < SETS {
        let mut port = 0;
        while port < BOUND_PORTS {
            lanes[set] |= lane(port, value * (set as u64 >> port & 1));
            port += 1;
        }
        set += 1;
    }
    lanes
}

/// Number of outcomes of comparing each port with the two after it.
const COMPARISONS: usize = 1 << (2 * BOUND_PORTS);
const ORDERS: usize = 120;
/// Turns in a word, each the number of a port; the last is followed by the first.
const TURNS: u32 = 8;
const TURN_BITS: u32 = u32::BITS / TURNS;

/// The order of ports for each outcome of all comparisons, and the turns of each set of ports for
/// each order, the first in the lowest bits.
struct Orders {
    by_comparisons: [u8; COMPARISONS],
    turns: [[u32; SETS]; ORDERS],
}

static ORDER: Orders = {
    let mut orders = Orders {
        by_comparisons: [0; COMPARISONS],
        turns: [[0; SETS]; ORDERS],
    };
    let mut number = 0;
    let mut comparisons = 0;
    while comparisons < COMPARISONS {
        if let Some(order) = order(comparisons) {
            orders.by_comparisons[comparisons] = number as u8;
            orders.turns[number] = turns(order);
            number += 1;
        }
        comparisons += 1;
    }
    assert!(number == ORDERS);
    orders
};

/// Returns the ports, the emptiest first, or `None` if the outcomes contradict each other.
const fn order(comparisons: usize) -> Option<[usize; BOUND_PORTS]> {
    // For each port, how many come before it.
    let mut rank = [0; BOUND_PORTS];
    let mut port = 0;
    while port < BOUND_PORTS {
        let next = (port + 1) % BOUND_PORTS;
        let after_next = (port + 2) % BOUND_PORTS;
        let more_than_next = comparisons >> port & 1 == 1;
        let more_than_after_next = comparisons >> (BOUND_PORTS + port) & 1 == 1;
        rank[if more_than_next { port } else { next }] += 1;
        rank[if more_than_after_next {
            port
        } else {
            after_next
        }] += 1;
        port += 1;
    }
    let mut order = [0; BOUND_PORTS];
    let mut found = 0;
    let mut port = 0;
    while port < BOUND_PORTS {
        order[rank[port]] = port;
        found |= 1 << rank[port];
        port += 1;
    }
    if found == BOUND { Some(order) } else { None }
}

const fn turns(order: [usize; BOUND_PORTS]) -> [u32; SETS] {
    let mut turns = [0; SETS];
    let mut set = 1;
    while set < SETS {
        let (mut turn, mut place) = (0, 0);
        while turn < TURNS {
            let port = order[place % BOUND_PORTS];
            if set >> port & 1 == 1 {
                turns[set] |= (port as u32) << (turn * TURN_BITS);
                turn += 1;
            }
            place += 1;
        }
        set += 1;
    }
    turns
}

/// Number of operations that wait for each port.
pub(super) struct EmptiestScheduler {
    /// The cycle of the last operation.
    cycle: u64,
    /// Operations that leave from `counted` on, a lane for each port.
    waiting: u64,
    /// The same when `cycle` began.
    waiting_before: u64,
    counted: u64,
    /// The ports that operations leave for in each cycle.
    leaving: Box<[u8; HORIZON]>,
    /// The turns of each set of ports in this cycle.
    turns: &'static [u32; SETS],
    /// The next turn of each set of ports.
    next: [u8; SETS],
}

impl EmptiestScheduler {
    pub(super) fn new() -> Self {
        EmptiestScheduler {
            cycle: 0,
            waiting: 0,
            waiting_before: 0,
            counted: 0,
            leaving: boxed(0),
            turns: &ORDER.turns[0],
            next: [0; SETS],
        }
    }

    /// Binds an operation that issues in the cycle `issued` to a port of `set`, and returns it.
    #[inline(always)]
    pub(super) fn choose(&mut self, set: usize, issued: u64) -> usize {
        if issued != self.cycle {
            self.begin(issued);
        }
        let next = &mut self.next[set];
        let port = self.turns[set].rotate_right((*next).into()) as usize % WORDS;
        *next = next.wrapping_add(TURN_BITS as u8);
        port
    }

    /// Returns the first cycle whose departures are not counted yet.
    #[inline(always)]
    pub(super) fn counted(&self) -> u64 {
        self.counted
    }

    /// Notes that an operation leaves for `port` in the cycle `executed`.
    #[inline(always)]
    pub(super) fn leave(&mut self, port: usize, executed: u64) {
        self.leaving[executed as usize % HORIZON] |= 1 << port;
        self.waiting += ONE[port];
    }

    /// Begins the cycle `now`. The numbers of waiting operations are those at the start of the
    /// cycle before it; a departure is known one cycle later.
    #[inline(never)]
    fn begin(&mut self, now: u64) {
        let until = now.saturating_sub(2);
        let left = if self.counted + 1 == until {
            self.leave_one_cycle()
        } else {
            self.drain_until(until)
        };
        self.waiting -= left;
        let usage = if self.cycle + 1 == now {
            self.waiting_before - left
        } else {
            self.waiting
        };
        self.cycle = now;
        self.waiting_before = self.waiting;
        self.next = [0; SETS];
        let order = ORDER.by_comparisons[comparisons(usage | TIES) % COMPARISONS];
        self.turns = &ORDER.turns[usize::from(order) % ORDERS];
    }

    /// Returns the departures of the next cycle, and counts them as done.
    #[inline]
    fn leave_one_cycle(&mut self) -> u64 {
        let leaving = &mut self.leaving[self.counted as usize % HORIZON];
        self.counted += 1;
        ONE_EACH[usize::from(std::mem::take(leaving)) % SETS]
    }

    /// Returns the departures before the cycle `until`, and counts them as done.
    fn drain_until(&mut self, until: u64) -> u64 {
        let mut left = 0;
        if until.saturating_sub(self.counted) >= HORIZON as u64 {
            self.leaving.fill(0);
            left = self.waiting;
            self.counted = until;
        }
        while self.counted < until {
            let place = self.counted as usize % HORIZON;
            let chunk = self.leaving[place..].first_chunk::<CHUNK>();
            if until - self.counted >= CHUNK as u64 && chunk == Some(&[0; CHUNK]) {
                self.counted += CHUNK as u64;
            } else {
                left += self.leave_one_cycle();
            }
        }
        left
    }
}

/// Returns for each port whether it has more than the next, and more than the one after that.
#[inline]
fn comparisons(lanes: u64) -> usize {
    let next = lanes >> LANE_BITS | (lanes & LANE) << (LANES - LANE_BITS);
    let after_next = next >> LANE_BITS | (next & LANE) << (LANES - LANE_BITS);
    let more = |others: u64| {
        let more = (((lanes | HIGHEST) - others) & HIGHEST) >> (LANE_BITS - 1);
        (more.wrapping_mul(GATHER) >> (LANES - LANE_BITS)) as usize & BOUND as usize
    };
    more(next) | more(after_next) << BOUND_PORTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: usize = BOUND as usize;

    /// Returns the port of an operation that leaves in the cycle `at`.
    fn port(rule: &mut EmptiestScheduler, set: usize, issued: u64, at: u64) -> usize {
        let port = rule.choose(set, issued);
        rule.leave(port, at);
        port
    }

    #[test]
    fn comparisons_order_any_numbers() {
        let mut state = 1_u64;
        for _ in 0..10_000 {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let waiting: [u64; BOUND_PORTS] =
                std::array::from_fn(|port| state >> (30 + port * 3) & 7);
            let lanes: u64 = (0..BOUND_PORTS)
                .map(|port| lane(port, waiting[port] << TIE_BITS))
                .sum();
            let order = ORDER.by_comparisons[comparisons(lanes | TIES)];
            let turns = ORDER.turns[usize::from(order)][SETS - 1];
            let ports = [0, 1, 2, 3, 4].map(|turn| (turns >> (turn * TURN_BITS)) as usize % WORDS);
            let mut expected = [4, 3, 2, 1, 0];
            expected.sort_by_key(|&port| waiting[port]);
            assert_eq!(ports, expected, "{waiting:?}");
        }
    }

    #[test]
    fn operations_of_a_cycle_use_ports_downwards() {
        let mut rule = EmptiestScheduler::new();
        let taken = [0; 6].map(|_| port(&mut rule, ANY, 10, 14));
        assert_eq!(taken, [4, 3, 2, 1, 0, 4]);
        assert_eq!(port(&mut rule, 0b11, 10, 14), 1, "another set");
    }

    #[test]
    fn busy_port_comes_last_two_cycles_later() {
        let mut rule = EmptiestScheduler::new();
        assert_eq!(port(&mut rule, 0b10000, 10, 100), 4);
        assert_eq!(port(&mut rule, ANY, 11, 15), 4);
        let taken = [0; 5].map(|_| port(&mut rule, ANY, 12, 16));
        assert_eq!(taken, [3, 2, 1, 0, 4]);
        let port_of_102 = port(&mut rule, ANY, 102, 106);
        assert_eq!(port_of_102, 3, "it has left, which is not known");
        assert_eq!(port(&mut rule, ANY, 103, 107), 4);
    }

    #[test]
    fn nothing_waits_after_all_have_left() {
        let mut rule = EmptiestScheduler::new();
        for issued in 1..100_000 {
            let at = issued + 4 + issued * 7919 % 8_000;
            let set = 1 + issued as usize % ANY;
            // One operation leaves for a port per cycle.
            let port = rule.choose(set, issued);
            if rule.leaving[at as usize % HORIZON] >> port & 1 == 0 {
                rule.leave(port, at);
            }
        }
        rule.begin(200_000);
        assert_eq!(rule.waiting, 0);
        for issued in (200_000..800_000).step_by(11) {
            port(&mut rule, ANY, issued, issued + 4);
        }
        rule.begin(800_010);
        assert_eq!(rule.waiting, 0);
    }
}

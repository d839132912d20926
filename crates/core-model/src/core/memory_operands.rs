//! Loads and stores: when their addresses are known, what they wait for, and their effects.

use topdown_tracer::{AccessKind, Address};

use super::execution::{Origin, Value};
use super::{Core, Executed, Order};
use crate::class::Class;
use crate::instruction::{MemoryOperand, Operation};
use crate::memory::LINE_BYTES;
use crate::parameters::{Atomics, MemoryRenaming};
use crate::pipeline::{Effect, Forward, Found, Source, Store};
use crate::pools::{NO_POOL, VECTOR_QUEUE};

/// The narrowest load that takes the register of a store, where that is learnt.
const MIN_RENAMED_BYTES: u32 = 4;

/// Returns whether an instruction does nothing to what it loads, or writes it back.
#[inline]
fn is_move_or_writes_back(operation: &Operation, operand: &MemoryOperand) -> bool {
    matches!(operation.class, Class::MemoryMove | Class::Pop) || operand.writes()
}

/// Returns whether bytes lie in two lines.
#[inline]
fn is_split(address: u64, bytes: u32) -> bool {
    address % LINE_BYTES + u64::from(bytes) > LINE_BYTES
}

impl Core {
    /// Executes the loads of an instruction and returns the value that arrives last.
    pub(super) fn loads(
        &mut self,
        operation: &Operation,
        executed: &Executed<'_>,
        earliest: u64,
    ) -> Value {
        let mut last = Value::READY;
        for operand in operation.operands(executed.operands) {
            if operand.kind == AccessKind::Write {
                continue;
            }
            let known = self.load_address_ready(operand).max(earliest);
            if operand.kind == AccessKind::Hint {
                let at = self.ports.reserve(self.parameters.ports.load, known, false);
                if let Some(address) = operand.address.first(executed.recorded) {
                    let address = self.addresses.model_address(address);
                    self.memory.prefetch(address, at, &mut self.ledger);
                }
                continue;
            }
            match operand.address {
                Address::Elements(elements) => {
                    for address in elements.addresses(executed.recorded) {
                        let value =
                            self.load::<true>(operation, operand, address, known, executed.block);
                        if value.ready >= last.ready {
                            last = value;
                        }
                    }
                }
                Address::Fixed(_) | Address::Recorded { .. } => {
                    let address = operand.address.first(executed.recorded).unwrap_or(0);
                    let value =
                        self.load::<true>(operation, operand, address, known, executed.block);
                    if value.ready >= last.ready {
                        last = value;
                    }
                }
            }
        }
        last
    }

    /// Executes the load of an instruction that is not rare.
    #[inline(always)]
    pub(super) fn common_load(
        &mut self,
        operation: &Operation,
        executed: &Executed<'_>,
        earliest: u64,
    ) -> Value {
        let operand = operation.operand(executed.operands);
        let known = self.load_address_ready(operand).max(earliest);
        let address = operand.address.first(executed.recorded).unwrap_or(0);
        self.load::<false>(operation, operand, address, known, executed.block)
    }

    /// Executes one load of at most 64 bytes whose address is known at `known`.
    #[inline]
    fn load<const RARE: bool>(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        known: u64,
        block: u32,
    ) -> Value {
        let address = self.addresses.model_address(address);
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        let ports = operand.load_ports;
        let ordering_wait = self.ordering_wait(operation.ip, known);
        let known = known.max(self.load_from);
        let mut at = self.ports.reserve(ports, known.max(ordering_wait), false);
        if let Some(banks) = &mut self.load_banks {
            while !banks.serve(address, at) {
                at = self.ports.reserve(ports, at + 1, false);
            }
        }
        let crosses_line = is_split(address, bytes);
        if crosses_line {
            self.ledger.count(|events| &mut events.split_accesses, 1);
            for _ in 0..self.parameters.memory.split_load_extra_operations {
                self.ports.reserve(ports, at, false);
            }
        }
        self.schedulers.enter(operation.pools[1], at);
        let found = self.stores.find(address, bytes, at);
        if RARE && self.shared_path.covers_current() {
            self.load_on_wrong_path(operand, address, bytes, &found);
        }
        // When it would have executed without caution.
        let alone = if ordering_wait > known { known } else { at };
        let effect = self.learn_order(operation, operand, address, &found, (alone, at), block);
        let (from, ready) = match found {
            Forward::Whole(store) => {
                let at = if effect == Effect::Renamed {
                    at
                } else {
                    at.max(store.address_known)
                };
                if self.is_renamed(operand, address, &store, effect) {
                    (store.data_ready, store.data_ready)
                } else {
                    // Until its data arrives, the load waits for whatever the store waits for.
                    let from = at.max(store.data_ready);
                    let mut forward = self.parameters.memory.forward_cycles;
                    if crosses_line {
                        forward += self.parameters.memory.split_forward_extra_cycles;
                    }
                    (from, from + u64::from(forward))
                }
            }
            Forward::Part(store) => {
                if !store.is_atomic {
                    self.ledger.count(|events| &mut events.blocked_loads, 1);
                }
                let at = at.max(store.address_known);
                let blocked = match self.parameters.memory.atomics {
                    Atomics::BeginLast { reload_cycles, .. } if store.is_atomic => reload_cycles,
                    _ => self.parameters.memory.blocked_forward_cycles,
                };
                (at, at.max(store.written) + u64::from(blocked))
            }
            Forward::None | Forward::Written => {
                let ready = self
                    .memory
                    .load(operation.ip, address, bytes, at, &mut self.ledger);
                if ready > at + 2 * u64::from(self.parameters.memory.l2.cycles) {
                    self.wait_beyond_l2(at, ready);
                }
                let memory = &self.parameters.memory;
                let split_cycles = if crosses_line {
                    memory.split_load_extra_cycles
                } else {
                    1
                };
                let hit = at + u64::from(memory.l1d.cycles + split_cycles);
                if self.parameters.ports.repeats_missed_loads && ready > hit {
                    self.ports.reserve(ports, ready - (hit - at), false);
                }
                if self.stores.is_aliased(address, bytes, at) {
                    self.ledger.count(|events| &mut events.aliased_loads, 1);
                    let extra = u64::from(self.parameters.memory.aliased_load_extra_cycles);
                    (at, ready + extra)
                } else {
                    (at, ready)
                }
            }
        };
        let hit = from + u64::from(self.parameters.memory.l1d.cycles);
        let is_late = self.parameters.ports.expects_hits && ready > hit && !operand.is_vector;
        let ready = ready + u64::from(operand.extra_cycles);
        Value {
            ready,
            origin: Origin::of_load(self.window.note_load(from, ready)).with_late(is_late),
        }
    }

    /// Begins a load when the wrong path executes it, if that is before its branch is resolved.
    #[inline(never)]
    fn load_on_wrong_path(
        &mut self,
        operand: &MemoryOperand,
        address: u64,
        bytes: u32,
        found: &Forward,
    ) {
        let is_cached = matches!(found, Forward::None | Forward::Written);
        let at = self.shared_path.load_at(operand.registers);
        let ready = at.filter(|_| is_cached).map(|at| {
            self.memory
                .load_untrained(address, bytes, at, &mut self.ledger)
        });
        self.shared_path.loaded(ready);
    }

    /// Returns until when the load at `ip`, whose address is known at `known`, waits for the
    /// addresses of earlier stores.
    #[inline]
    fn ordering_wait(&mut self, ip: u64, known: u64) -> u64 {
        let dependences = match &mut self.order {
            Order::Learnt(dependences) => dependences,
            Order::Counted(disambiguation) if disambiguation.waits(ip) => {
                return self.stores.addresses_known();
            }
            Order::Counted(_) => return 0,
        };
        let expected = dependences.look_up(ip);
        let waits = expected.waits_if_not_in_flight
            && (expected.waits_if_in_flight || !self.stores.is_in_flight(expected.distance, known));
        if waits {
            self.stores.addresses_known() + dependences.wait_cycles()
        } else {
            0
        }
    }

    /// Learns what a load found among the stores, and discards what follows it if that is not what
    /// was predicted.
    #[inline]
    fn learn_order(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        found: &Forward,
        (alone, at): (u64, u64),
        block: u32,
    ) -> Effect {
        let dependences = match &mut self.order {
            Order::Learnt(dependences) => dependences,
            Order::Counted(disambiguation) => {
                let is_ahead = self.stores.addresses_known() > alone;
                let (conflicts, discovered) = match found {
                    Forward::None | Forward::Written => (false, at),
                    Forward::Whole(store) | Forward::Part(store) => {
                        (store.address_known > alone, store.address_known)
                    }
                };
                if disambiguation.learn(operation.ip, is_ahead, conflicts) {
                    self.ledger.count(|events| &mut events.machine_clears, 1);
                    self.restart(discovered, block, true);
                    return Effect::Discarded;
                }
                return Effect::Usual;
            }
        };
        let (seen, discovered) = match found {
            Forward::None => (Found::Nothing, at),
            Forward::Written => return Effect::Usual,
            Forward::Whole(store) | Forward::Part(store) => {
                let is_whole = matches!(found, Forward::Whole(_));
                let can_rename = is_whole
                    && !operand.is_vector
                    && !store.is_vector
                    && address == store.address
                    && operand.bytes >= MIN_RENAMED_BYTES
                    && (!dependences.renames_moves_only()
                        || is_move_or_writes_back(operation, operand));
                let seen = Found::Store {
                    source: can_rename.then(|| Source {
                        distance: self.stores.distance(store),
                        is_named_alike: operand.name == store.name,
                    }),
                    in_time: store.address_known <= at,
                };
                (seen, at.max(store.address_known))
            }
        };
        let distance = dependences.look_up(operation.ip).distance;
        let expected_in_flight = self.stores.is_in_flight(distance, at);
        let is_ahead = self.stores.addresses_known() > alone;
        let effect = dependences.learn(operation.ip, seen, expected_in_flight, is_ahead);
        if effect == Effect::Discarded {
            self.ledger.count(|events| &mut events.machine_clears, 1);
            self.restart(discovered, block, true);
        }
        effect
    }

    /// Records that a load waits for more than the L2 from `at` until `ready`.
    #[inline]
    fn wait_beyond_l2(&mut self, at: u64, ready: u64) {
        let (from, until) = self.outstanding;
        self.outstanding = if at <= until {
            (from.min(at), until.max(ready))
        } else {
            (at, ready)
        };
    }

    /// Returns whether rename knows that a load reads what this store wrote.
    #[inline]
    fn is_renamed(
        &self,
        operand: &MemoryOperand,
        address: u64,
        store: &Store,
        effect: Effect,
    ) -> bool {
        if operand.is_vector {
            return false;
        }
        match self.parameters.rename.memory_renaming {
            MemoryRenaming::Learnt(_) => effect == Effect::Renamed,
            MemoryRenaming::SimpleAddress(_) => {
                let is_named = |bytes: u32| bytes != 2;
                (operand.kind == AccessKind::Read || operand.is_changed_by_constant)
                    && store.is_simple
                    && address == store.address
                    && !operand.is_indexed()
                    && is_named(operand.bytes)
                    && is_named(store.bytes)
                    && !is_split(address, operand.bytes)
            }
        }
    }

    /// Returns when the registers of an address are ready.
    #[inline]
    fn address_ready(&self, operand: &MemoryOperand) -> u64 {
        let [base, index] = operand.registers;
        self.value(base).ready.max(self.value(index).ready)
    }

    /// Returns the same for a load, for which an index that arrives last costs extra.
    #[inline]
    fn load_address_ready(&self, operand: &MemoryOperand) -> u64 {
        let [base, index] = operand.registers;
        let extra = u64::from(self.parameters.memory.index_extra_cycles);
        self.value(base).ready.max(self.value(index).ready + extra)
    }

    /// Executes the address and data operations of stores, and returns when the last is done.
    pub(super) fn store_operations(
        &mut self,
        operation: &Operation,
        executed: &Executed<'_>,
        earliest: u64,
        data_ready: u64,
    ) -> u64 {
        let mut done = 0;
        for operand in operation.operands(executed.operands) {
            if !operand.writes() {
                continue;
            }
            let parts = match operand.address {
                Address::Elements(elements) => elements.count,
                _ => 1,
            };
            for _ in 0..parts {
                done = done.max(self.store_operation(operation, operand, earliest, data_ready));
            }
        }
        done
    }

    /// Executes the address and data operations of one store, and returns when both are done.
    #[inline]
    pub(super) fn store_operation(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        earliest: u64,
        data_ready: u64,
    ) -> u64 {
        let known = self.address_ready(operand).max(earliest);
        let address_at = self
            .ports
            .reserve(self.parameters.ports.store_address, known, false);
        let data_at = self.store_data(operation, operand, earliest, data_ready);
        let executed = address_at.max(data_at);
        let waits_for_both = operation.pools[3] == NO_POOL;
        let leaves = if waits_for_both { executed } else { address_at };
        self.schedulers.enter(operation.pools[2], leaves);
        executed + 1
    }

    /// Executes the data operation of one store, and returns when.
    #[inline]
    fn store_data(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        earliest: u64,
        data_ready: u64,
    ) -> u64 {
        let is_woken = data_ready >= earliest;
        let from = data_ready.max(earliest);
        if operation.pools[3] == VECTOR_QUEUE {
            let entered = self.vector_queue.pass(operand.data_ports);
            let from = from.max(entered.at + 1);
            let at = self.ports.reserve(operand.data_ports, from, is_woken);
            self.vector_queue.execute(entered, at);
            return at;
        }
        let at = self.ports.reserve(operand.data_ports, from, is_woken);
        self.schedulers.enter(operation.pools[3], at);
        at
    }

    /// Puts the stores of a retired instruction into the store queue.
    #[inline]
    pub(super) fn write_stores(
        &mut self,
        operation: &Operation,
        executed: &Executed<'_>,
        result: &Value,
        stored: u64,
        retires: u64,
    ) {
        for operand in operation.operands(executed.operands) {
            if !operand.writes() {
                continue;
            }
            match operand.address {
                Address::Elements(elements) => {
                    for address in elements.addresses(executed.recorded) {
                        self.write_store(operation, operand, address, result, stored, retires);
                    }
                }
                Address::Fixed(_) | Address::Recorded { .. } => {
                    let address = operand.address.first(executed.recorded).unwrap_or(0);
                    if operation.is_atomic && is_split(address, operand.bytes) {
                        self.ledger.count(|events| &mut events.split_locks, 1);
                    }
                    self.write_store(operation, operand, address, result, stored, retires);
                }
            }
        }
    }

    /// Puts a store into the store queue.
    #[inline]
    pub(super) fn write_store(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        result: &Value,
        stored: u64,
        retires: u64,
    ) {
        let address = self.addresses.model_address(address);
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        let line_ready = if operand.non_temporal {
            self.memory
                .store_around(address, bytes, retires, &mut self.ledger)
        } else {
            let fetch_from = retires.max(self.stores.fetch_from(address));
            self.memory
                .store(operation.ip, address, bytes, fetch_from, &mut self.ledger)
        };
        let mut data_ready = result.ready;
        if operand.is_vector {
            data_ready += u64::from(self.parameters.memory.vector_store_extra_cycles);
        }
        let store = Store {
            address,
            bytes,
            address_known: self.address_ready(operand).min(stored),
            data_ready,
            written: 0,
            number: 0,
            before: [0; 2],
            name: operand.name,
            is_vector: operand.is_vector,
            is_simple: !operand.is_vector && !operand.is_indexed(),
            is_atomic: operation.is_atomic,
        };
        let written = self.stores.write(store, retires, line_ready);
        if operation.is_atomic && self.holds_loads() {
            self.load_from = self.load_from.max(written);
        }
    }
}

//! Loads and stores: when their addresses are known, what they wait for, what they leave behind.

use topdown_tracer::{AccessKind, Address};

use super::{CAUTIOUS_LOADS, Core, Value};
use crate::instruction::{MemoryOperand, Operation};
use crate::memory::LINE_BYTES;
use crate::parameters::MemoryRenaming;
use crate::pipeline::{Forward, Store};

impl Core {
    /// Executes the loads of an instruction; returns the value that is there last.
    #[inline]
    pub(super) fn loads(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        recorded: &[u64],
        earliest: u64,
        block: u32,
    ) -> Value {
        let mut last = Value::default();
        for operand in memory {
            if operand.kind == AccessKind::Write {
                continue;
            }
            let known = self.load_address_ready(operand).max(earliest);
            if operand.kind == AccessKind::Hint {
                let at = self.ports.reserve(self.parameters.ports.load, known);
                if let Some(address) = operand.address.first(recorded) {
                    let address = self.addresses.place(address);
                    self.memory.prefetch(address, at, &mut self.ledger);
                }
                continue;
            }
            match operand.address {
                Address::Elements(elements) => {
                    for address in elements.addresses(recorded) {
                        let value = self.load(operation, operand, address, known, block);
                        if value.ready >= last.ready {
                            last = value;
                        }
                    }
                }
                Address::Fixed(_) | Address::Recorded { .. } => {
                    let address = operand.address.first(recorded).unwrap_or(0);
                    let value = self.load(operation, operand, address, known, block);
                    if value.ready >= last.ready {
                        last = value;
                    }
                }
            }
        }
        last
    }

    /// Executes one load of at most 64 bytes whose address is known at `known`.
    #[inline]
    fn load(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        known: u64,
        block: u32,
    ) -> Value {
        let address = self.addresses.place(address);
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        let ports = &self.parameters.ports;
        let ports = if bytes > 32 {
            ports.load_512
        } else if operation.loads_vector {
            ports.load_vector
        } else {
            ports.load
        };
        let at = self.ports.reserve(ports, known.max(self.load_from));
        if address % LINE_BYTES + u64::from(bytes) > LINE_BYTES {
            for _ in 0..self.parameters.memory.split_load_extra_operations {
                self.ports.reserve(ports, at);
            }
        }
        self.schedulers
            .enter(self.parameters.window.load_scheduler, at);
        let (from, ready) = match self.stores.find(address, bytes, at) {
            Forward::Whole(store) => {
                let at = self.order(operation, &store, at, block);
                if self.is_renamed(operation, operand, address, &store) {
                    (store.data_ready, store.data_ready)
                } else {
                    // Until its data is there, the load waits for what the store waits for.
                    let from = at.max(store.data_ready);
                    let forward = u64::from(self.parameters.memory.forward_cycles);
                    (from, from + forward)
                }
            }
            Forward::Part(store) => {
                let at = self.order(operation, &store, at, block);
                let blocked = u64::from(self.parameters.memory.blocked_forward_cycles);
                (at, at.max(store.written) + blocked)
            }
            Forward::None => {
                let ready = self
                    .memory
                    .load(operation.ip, address, bytes, at, &mut self.ledger);
                if ready > at + 2 * u64::from(self.parameters.memory.l2.cycles) {
                    self.wait_beyond_l2(at, ready);
                }
                (at, ready)
            }
        };
        let extra = if operation.loads_vector {
            u64::from(self.parameters.memory.vector_load_extra_cycles)
        } else {
            0
        };
        let ready = ready + extra;
        Value {
            ready,
            load_from: from,
            load_until: ready,
            class: None,
        }
    }

    /// When a load that overlaps `store` may take its data: at `at`, or when the store's address is
    /// known. A load that runs ahead once takes old data, and all behind it is thrown away; from
    /// then on it waits.
    #[inline]
    fn order(&mut self, operation: &Operation, store: &Store, at: u64, block: u32) -> u64 {
        if store.address_known <= at {
            return at;
        }
        let place = (operation.ip ^ operation.ip >> 10) as usize % CAUTIOUS_LOADS;
        if self.cautious[place] != operation.ip {
            self.cautious[place] = operation.ip;
            self.ledger.count(|events| &mut events.machine_clears, 1);
            self.restart(store.address_known, block, true);
        }
        store.address_known
    }

    /// Notes that a load waits for more than the L2 from `at` until `ready`.
    #[inline]
    fn wait_beyond_l2(&mut self, at: u64, ready: u64) {
        let (from, until) = self.outstanding;
        self.outstanding = if at <= until {
            (from.min(at), until.max(ready))
        } else {
            (at, ready)
        };
    }

    /// Whether rename knows that a load reads what this store wrote.
    #[inline]
    fn is_renamed(
        &self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        store: &Store,
    ) -> bool {
        if operation.loads_vector {
            return false;
        }
        match self.parameters.rename.memory_renaming {
            MemoryRenaming::Predicted => operand.bytes == store.bytes,
            MemoryRenaming::SimpleAddress => {
                store.is_simple
                    && address == store.address
                    && operand.kind == AccessKind::Read
                    && !operand.is_indexed()
            }
        }
    }

    /// When the registers of an address are there.
    #[inline]
    fn address_ready(&self, operand: &MemoryOperand) -> u64 {
        let [base, index] = operand.registers;
        self.value(base).ready.max(self.value(index).ready)
    }

    /// The same for a load, for which an index that comes last costs extra.
    #[inline]
    fn load_address_ready(&self, operand: &MemoryOperand) -> u64 {
        let [base, index] = operand.registers;
        let mut index_ready = self.value(index).ready;
        if operand.is_scaled {
            index_ready += u64::from(self.parameters.memory.index_extra_cycles);
        }
        self.value(base).ready.max(index_ready)
    }

    /// Executes the address and data operations of stores; returns when the last is done.
    #[inline]
    pub(super) fn store_operations(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        earliest: u64,
        data_ready: u64,
    ) -> u64 {
        let mut done = 0;
        for operand in memory {
            if !operand.writes() {
                continue;
            }
            let parts = match operand.address {
                Address::Elements(elements) => elements.count,
                _ => 1,
            };
            let ports = &self.parameters.ports;
            let data = if operand.bytes > 32 {
                ports.store_data_512
            } else if operation.loads_vector {
                ports.store_data_vector
            } else {
                ports.store_data
            };
            let address_ports = ports.store_address;
            let known = self.address_ready(operand).max(earliest);
            for _ in 0..parts {
                let address_at = self.ports.reserve(address_ports, known);
                let data_at = self.ports.reserve(data, data_ready.max(earliest));
                let executed = address_at.max(data_at);
                self.schedulers
                    .enter(self.parameters.window.store_scheduler, executed);
                done = done.max(executed + 1);
            }
        }
        done
    }

    /// Puts the stores of a retired instruction into the store queue.
    #[inline]
    pub(super) fn write_stores(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        recorded: &[u64],
        result: &Value,
        executed: u64,
        retires: u64,
    ) {
        for operand in memory {
            if !operand.writes() {
                continue;
            }
            match operand.address {
                Address::Elements(elements) => {
                    for address in elements.addresses(recorded) {
                        self.write_store(operation, operand, address, result, executed, retires);
                    }
                }
                Address::Fixed(_) | Address::Recorded { .. } => {
                    let address = operand.address.first(recorded).unwrap_or(0);
                    self.write_store(operation, operand, address, result, executed, retires);
                }
            }
        }
    }

    #[inline]
    fn write_store(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        result: &Value,
        executed: u64,
        retires: u64,
    ) {
        let address = self.addresses.place(address);
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        let line_ready = if operand.non_temporal {
            self.memory
                .store_around(address, bytes, retires, &mut self.ledger)
        } else {
            let fetch_from = retires.max(self.stores.fetch_from(address));
            self.memory.store(
                operation.ip,
                address,
                bytes,
                retires,
                fetch_from,
                &mut self.ledger,
            )
        };
        let store = Store {
            address,
            bytes,
            address_known: self.address_ready(operand).min(executed),
            data_ready: result.ready,
            written: 0,
            is_simple: operand.kind == AccessKind::Write
                && !operation.loads_vector
                && !operand.is_indexed(),
        };
        let written = self.stores.write(store, retires, line_ready);
        if operation.is_atomic {
            self.load_from = self.load_from.max(written);
        }
    }
}

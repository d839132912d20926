//! Accesses of one instruction, and the values recorded for them.

use iced_x86::{Mnemonic, OpAccess, Register, UsedMemory};

use super::{MAX_ACCESSES, MAX_RECORDINGS, Recording, SmallList, ThreadFacts, Undescribable};
use crate::block::{Access, AccessKind, Address, Elements, Mask, Repeat};

/// A register's value is that of `entry` plus `offset`.
#[derive(Clone, Copy)]
pub(super) struct KnownValue {
    entry: u16,
    offset: i64,
}

impl KnownValue {
    pub(super) fn just(entry: u16) -> KnownValue {
        KnownValue { entry, offset: 0 }
    }
}

/// The description of one instruction while it is being built.
pub(super) struct Draft<'a> {
    pub accesses: SmallList<Access, MAX_ACCESSES>,
    pub recordings: SmallList<Recording, MAX_RECORDINGS>,
    pub held: [Option<KnownValue>; 16],
    pub thread_base: Option<u16>,
    pub next_entry: u16,
    pub facts: &'a ThreadFacts,
}

/// An address as an instruction computes it.
#[derive(Clone, Copy)]
struct Operand {
    segment: Register,
    base: Register,
    index: Register,
    scale: u8,
    displacement: u64,
}

impl Draft<'_> {
    fn entries(&mut self, count: usize) -> u16 {
        let entry = self.next_entry;
        self.next_entry += count as u16;
        entry
    }

    pub(super) fn hint(
        &mut self,
        instruction: &iced_x86::Instruction,
    ) -> Result<(), Undescribable> {
        let address = self.address(Operand {
            segment: instruction.memory_segment(),
            base: instruction.memory_base(),
            index: instruction.memory_index(),
            scale: instruction.memory_index_scale() as u8,
            displacement: instruction.memory_displacement64(),
        })?;
        self.accesses.push(Access {
            kind: AccessKind::Hint,
            size_bytes: 0,
            address,
        })
    }

    pub(super) fn access(
        &mut self,
        instruction: &iced_x86::Instruction,
        used: &UsedMemory,
        repeats: bool,
    ) -> Result<(), Undescribable> {
        let Some(kind) = kind_of(used.access()) else {
            return Ok(());
        };
        let operand = Operand {
            segment: used.segment(),
            base: used.base(),
            index: used.index(),
            scale: used.scale() as u8,
            displacement: used.displacement(),
        };
        let gathers = used.index().is_vector_register();
        let mut size_bytes = if repeats || gathers {
            instruction.memory_size().element_size() as u32
        } else {
            used.memory_size().size() as u32
        };
        if size_bytes == 0 && saves_extended_state(instruction.mnemonic()) {
            size_bytes = self.facts.xsave_bytes;
        }
        let address = if gathers {
            self.elements(instruction, operand, used.vsib_size() as u8)?
        } else {
            self.address(operand)?
        };
        self.accesses.push(Access {
            kind,
            size_bytes,
            address,
        })
    }

    pub(super) fn repeat(&mut self, mnemonic: Mnemonic) -> Result<Repeat, Undescribable> {
        let count = self.entries(1);
        self.recordings.push(Recording::Count { entry: count })?;
        let compares = matches!(
            mnemonic,
            Mnemonic::Cmpsb
                | Mnemonic::Cmpsw
                | Mnemonic::Cmpsd
                | Mnemonic::Cmpsq
                | Mnemonic::Scasb
                | Mnemonic::Scasw
                | Mnemonic::Scasd
                | Mnemonic::Scasq
        );
        let remaining = if compares {
            let entry = self.entries(1);
            self.recordings.push(Recording::CountAfter { entry })?;
            Some(entry)
        } else {
            None
        };
        Ok(Repeat { count, remaining })
    }

    /// Records that the instruction changes a general register.
    pub(super) fn change(&mut self, number: usize, instruction: &iced_x86::Instruction) {
        let moves_stack = number == Register::RSP.number()
            && matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
            && instruction.op0_register().full_register() != Register::RSP;
        match &mut self.held[number] {
            Some(held) if moves_stack => {
                held.offset += i64::from(instruction.stack_pointer_increment());
            }
            held => *held = None,
        }
    }

    /// Describes an address relative to FS, whose base depends on the thread.
    fn thread_address(&mut self, operand: Operand) -> Result<Address, Undescribable> {
        let (index, scale) = match (operand.base, operand.index) {
            (Register::None, Register::None) => (Register::None, 1),
            (base, Register::None) if base.is_gpr64() => (base, 1),
            (Register::None, index) if index.is_gpr64() => (index, operand.scale),
            // The sum of three registers: compilers compute it before.
            _ => return Err(Undescribable::AddressForm),
        };
        if index == Register::RSP {
            return Err(Undescribable::AddressForm);
        }
        let known = self.thread_base.filter(|_| index == Register::None);
        let entry = match known {
            Some(entry) => entry,
            None => {
                let entry = self.entries(1);
                self.recordings.push(Recording::ThreadBase {
                    entry,
                    index,
                    scale,
                })?;
                entry
            }
        };
        if index == Register::None {
            self.thread_base = Some(entry);
        }
        Ok(Address::Recorded {
            entry,
            displacement: operand.displacement as i64,
        })
    }

    fn address(&mut self, operand: Operand) -> Result<Address, Undescribable> {
        if operand.segment == Register::FS && self.facts.several_threads {
            return self.thread_address(operand);
        }
        let segment_base = match operand.segment {
            Register::FS => self.facts.fs_base,
            Register::GS => self.facts.gs_base,
            _ => 0,
        };
        if matches!(operand.base, Register::None | Register::RIP | Register::EIP)
            && operand.index == Register::None
        {
            // The decoder has already added the instruction pointer.
            return Ok(Address::Fixed(
                operand.displacement.wrapping_add(segment_base),
            ));
        }
        if operand.base.is_gpr64() && operand.index == Register::None {
            let number = operand.base.number();
            let held = match self.held[number] {
                Some(held) => held,
                None => {
                    let entry = self.entries(1);
                    self.recordings.push(Recording::General {
                        entry,
                        register: operand.base,
                    })?;
                    KnownValue::just(entry)
                }
            };
            self.held[number] = Some(held);
            return Ok(Address::Recorded {
                entry: held.entry,
                displacement: (operand.displacement as i64)
                    .wrapping_add(held.offset)
                    .wrapping_add_unsigned(segment_base),
            });
        }
        let encodable = |register: Register| {
            register == Register::None || register.is_gpr64() || register.is_gpr32()
        };
        if !encodable(operand.base) || !encodable(operand.index) {
            // `xlatb` adds an 8-bit register.
            return Err(Undescribable::AddressForm);
        }
        let entry = self.entries(1);
        self.recordings.push(Recording::Effective {
            entry,
            base: operand.base,
            index: operand.index,
            scale: operand.scale,
            displacement: i32::try_from(operand.displacement as i64)
                .or_else(|_| {
                    // 32-bit registers keep the displacement zero-extended.
                    u32::try_from(operand.displacement).map(|bits| bits as i32)
                })
                .map_err(|_| Undescribable::AddressForm)?,
        })?;
        Ok(Address::Recorded {
            entry,
            displacement: segment_base as i64,
        })
    }

    fn elements(
        &mut self,
        instruction: &iced_x86::Instruction,
        operand: Operand,
        index_bytes: u8,
    ) -> Result<Address, Undescribable> {
        let Address::Recorded {
            entry: base,
            displacement,
        } = self.address(Operand {
            index: Register::None,
            ..operand
        })?
        else {
            // Absolute: compilers do not generate such a gather.
            return Err(Undescribable::AddressForm);
        };
        let index_vector_bytes = operand.index.size();
        let indices = self.entries(index_vector_bytes / 8);
        self.recordings.push(Recording::Vector {
            entry: indices,
            register: operand.index,
        })?;
        let data_register = (0..instruction.op_count())
            .map(|operand| instruction.op_register(operand))
            .find(|register| register.is_vector_register())
            .ok_or(Undescribable::AddressForm)?;
        let element_bytes = instruction.memory_size().element_size();
        if element_bytes == 0 || index_bytes == 0 {
            return Err(Undescribable::AddressForm);
        }
        let count = (data_register.size() / element_bytes)
            .min(index_vector_bytes / usize::from(index_bytes));
        let mask = if instruction.op_mask() != Register::None {
            let entry = self.entries(1);
            self.recordings.push(Recording::MaskBits {
                entry,
                register: instruction.op_mask(),
            })?;
            Mask::Bits(entry)
        } else {
            let register = instruction.op_register(2);
            if !register.is_vector_register() {
                return Err(Undescribable::AddressForm);
            }
            let entry = self.entries(register.size() / 8);
            self.recordings
                .push(Recording::Vector { entry, register })?;
            Mask::Signs {
                entry,
                element_bytes: element_bytes as u8,
            }
        };
        Ok(Address::Elements(Elements {
            base,
            displacement,
            indices,
            index_bytes,
            scale: operand.scale,
            count: count as u8,
            mask,
        }))
    }
}

fn kind_of(access: OpAccess) -> Option<AccessKind> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(AccessKind::Read),
        OpAccess::Write | OpAccess::CondWrite => Some(AccessKind::Write),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(AccessKind::ReadWrite),
        _ => None,
    }
}

fn saves_extended_state(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Xsave
            | Mnemonic::Xsave64
            | Mnemonic::Xsavec
            | Mnemonic::Xsavec64
            | Mnemonic::Xsaveopt
            | Mnemonic::Xsaveopt64
            | Mnemonic::Xrstor
            | Mnemonic::Xrstor64
    )
}

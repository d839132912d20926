//! Lowers decoded instructions to what the model executes, once per translated instruction.

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register as Iced,
    RflagsBits,
};
use topdown_tracer::{Access, AccessKind};

use super::needs::Needs;
use super::operation::{DESTINATIONS, Flow, MemoryOperand, OPERATIONS, Operation, Rename, SOURCES};
use super::registers::{
    CARRY_FLAG, FIRST_X87, NONE, OTHER_FLAGS, Register, STACK_POINTER, UNREAD, is_vector, number,
};
use super::{form, fusion, neighbours};
use crate::class::{Class, DelayedPart, Timing};
use crate::parameters::{CoreParameters, StoreDataWaits, VectorSchedulers};
use crate::pools::{NO_POOL, Pools, VECTOR_QUEUE};
use crate::ports::Ports;

/// Lowers instructions for one core.
pub(crate) struct Lowering {
    factory: InstructionInfoFactory,
    timings: [Timing; Class::ALL.len()],
    parameters: CoreParameters,
}

impl Lowering {
    /// Reserves all memory that lowering will need.
    pub(crate) fn new(parameters: &CoreParameters) -> Self {
        let mut timings = [Timing::at_rename(Class::Unknown); Class::ALL.len()];
        for &timing in parameters.timings {
            timings[timing.class as usize] = timing;
        }
        Lowering {
            factory: topdown_tracer::reserved_factory(),
            timings,
            parameters: parameters.clone(),
        }
    }

    /// Returns the memory operand of an access by `instruction`.
    pub(crate) fn memory_operand(
        &self,
        instruction: &Instruction,
        access: &Access,
    ) -> MemoryOperand {
        let mut operand = MemoryOperand {
            kind: access.kind,
            bytes: access.size_bytes.max(1),
            address: access.address,
            registers: address_registers(instruction, access.kind),
            name: address_name(instruction, access.kind),
            non_temporal: is_non_temporal(instruction.mnemonic()),
            is_changed_by_constant: form::is_changed_by_constant(instruction, access.kind),
            ..MemoryOperand::NONE
        }
        .with_ports(form::vector_bytes(instruction) > 0, &self.parameters);
        if form::extends_sign(instruction) {
            operand.extra_cycles += self.parameters.memory.sign_extension_extra_cycles as u8;
        }
        operand
    }

    /// Lowers `instruction`, whose memory operands are `memory`.
    pub(crate) fn lower(
        &mut self,
        instruction: &Instruction,
        memory: &[MemoryOperand],
    ) -> Operation {
        let class = form::class(instruction);
        let timing = self.timings[class as usize];
        let loads = memory.iter().any(MemoryOperand::reads);
        let stores = memory.iter().any(MemoryOperand::writes);
        let vector_bytes = form::vector_bytes(instruction);
        let mut operation = Operation {
            ip: instruction.ip(),
            window: 0,
            length: instruction.len() as u8,
            entry_slots: form::entry_slots(instruction),
            flow: flow(instruction),
            class,
            rename: Rename::Execute,
            slots: timing.slots,
            latency: timing.latency,
            chained_latency: timing.chained_latency,
            busy: timing.busy,
            operations: 0,
            pools: [NO_POOL; 4],
            last_slot: u8::MAX,
            is_queued: false,
            waits_in: Pools::new([NO_POOL; 4]),
            schedulers: [NO_POOL; 4],
            integer_results: 0,
            vector_results: 0,
            x87_increment: instruction.fpu_stack_increment_info().increment() as i8,
            is_x87: false,
            serializes: is_serializing(class),
            is_atomic: class == Class::Atomic || class == Class::FullFence,
            is_known: class != Class::Unknown,
            is_absorbed: false,
            needs: Needs::default(),
            loads: 0,
            stores: 0,
            has_late_flags: false,
            is_rare: true,
            first_memory: 0,
            memory_count: 0,
            sources: [NONE; SOURCES],
            destinations: [UNREAD; DESTINATIONS],
            late_source: NONE,
            late_destination: UNREAD,
            late_cycles: 1,
            ports: [Ports::NONE; OPERATIONS],
            repeat: None,
        };
        let lost = if vector_bytes == 64 {
            self.parameters.ports.lost_at_512
        } else {
            Ports::NONE
        };
        for (port, &row) in operation.ports.iter_mut().zip(timing.operations) {
            let kept = row.without(lost);
            *port = if kept.is_empty() { row } else { kept };
            operation.operations += 1;
        }
        if loads && stores && class != Class::Atomic && timing.operations.len() == 1 {
            operation.slots += self.parameters.rename.read_modify_write_extra_slots as u8;
        }
        if class == Class::Scatter {
            // One slot per element, because the table row holds only the fixed part.
            let element_bytes = memory.first().map_or(4, |operand| operand.bytes.max(4));
            operation.slots = operation
                .slots
                .saturating_add((vector_bytes as u32 / element_bytes) as u8);
        }
        self.registers(instruction, &mut operation);
        match timing.late {
            DelayedPart::Nothing => {}
            DelayedPart::Base => operation.late_source = number(instruction.memory_base()),
            DelayedPart::Flags => operation.late_source = OTHER_FLAGS,
            DelayedPart::Selector => operation.late_source = number(form::selector(instruction)),
            DelayedPart::HighHalf => {
                let half = number(form::high_half(instruction));
                if half != NONE {
                    operation.late_destination = half;
                }
            }
            DelayedPart::Remainder(cycles) => {
                let remainder = number(form::high_half(instruction));
                if remainder != NONE {
                    operation.late_destination = remainder;
                    operation.late_cycles = cycles;
                }
            }
        }
        operation.is_x87 |= operation.x87_increment != 0;
        self.rename(instruction, &mut operation);
        let in_vector = operation
            .destinations
            .iter()
            .any(|&register| is_vector(register))
            || vector_bytes > 0;
        operation.schedulers = self.schedulers(in_vector, memory);
        if self.parameters.rename.restricts_last_slots {
            operation.last_slot = self.last_slot(&operation, loads || stores);
        }
        operation.is_queued = operation.schedulers[0] == VECTOR_QUEUE;
        operation
    }

    /// Returns the last slot of a cycle in which an instruction can issue.
    fn last_slot(&self, operation: &Operation, accesses_memory: bool) -> u8 {
        let width = self.parameters.width as u8;
        let leaves_vector_unit = operation.slots == 2
            && operation.sources.iter().any(|&source| is_vector(source))
            && !operation
                .destinations
                .iter()
                .any(|&register| is_vector(register));
        let after = if leaves_vector_unit {
            2
        } else if accesses_memory || operation.slots == 2 {
            1
        } else {
            0
        };
        width.saturating_sub(1 + after)
    }

    /// Returns the pools in which operations, loads, addresses and data of stores wait.
    fn schedulers(&self, in_vector: bool, memory: &[MemoryOperand]) -> [u8; 4] {
        let window = &self.parameters.window;
        let operations = |in_vector| match window.vector_schedulers {
            VectorSchedulers::Queued { .. } if in_vector => VECTOR_QUEUE,
            _ => window.integer_scheduler as u8,
        };
        let data = match window.store_data_waits {
            StoreDataWaits::WithAddress => NO_POOL,
            StoreDataWaits::WithOperations => {
                operations(memory.iter().any(|operand| operand.is_vector))
            }
        };
        [
            operations(in_vector),
            window.load_scheduler as u8,
            window.store_scheduler as u8,
            data,
        ]
    }

    /// Fills in sources and destinations.
    fn registers(&mut self, instruction: &Instruction, operation: &mut Operation) {
        let stack_engine = matches!(
            operation.class,
            Class::Push | Class::Pop | Class::Call | Class::Return
        );
        let base = number(instruction.memory_base());
        let index = number(instruction.memory_index());
        let has_access = !matches!(
            operation.class,
            Class::Lea
                | Class::LeaOffset
                | Class::LeaScaled
                | Class::LeaComplex
                | Class::LeaComplexScaled
        );
        let mut sources = Slots::new(&mut operation.sources);
        let mut destinations = Slots::new(&mut operation.destinations);
        for used in self.factory.info(instruction).used_registers() {
            let register = number(used.register());
            if register == NONE || (stack_engine && register == STACK_POINTER) {
                continue;
            }
            let access = used.access();
            let reads = matches!(
                access,
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            let writes = matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            );
            let address_only = has_access
                && (register == base || register == index)
                && !reads_operand(instruction, register);
            if reads && !address_only {
                sources.push(register);
            }
            if writes {
                destinations.push(register);
                // 8- and 16-bit results and conditional ones merge with the old content.
                let partial = used.register().is_gpr8() || used.register().is_gpr16();
                if partial || access == OpAccess::CondWrite {
                    sources.push(register);
                }
                if is_vector(register) {
                    operation.vector_results = 1;
                } else {
                    operation.integer_results += 1;
                }
            }
            if (FIRST_X87..FIRST_X87 + 8).contains(&register) && used.register().is_st() {
                operation.is_x87 = true;
            }
        }
        let carry = RflagsBits::CF;
        let read = instruction.rflags_read();
        let modified = instruction.rflags_modified();
        if read & carry != 0 {
            sources.push(CARRY_FLAG);
        }
        if read & STATUS_FLAGS & !carry != 0 {
            sources.push(OTHER_FLAGS);
        }
        if modified & carry != 0 {
            destinations.push(CARRY_FLAG);
        }
        if modified & STATUS_FLAGS & !carry != 0 {
            destinations.push(OTHER_FLAGS);
        }
    }

    /// Returns the number of the code window that contains the address `ip`.
    pub(crate) fn window(&self, ip: u64) -> u64 {
        let bytes = self.parameters.frontend.uop_cache_window_bytes;
        ip >> bytes.trailing_zeros()
    }

    /// Decides what rename handles without a port.
    fn rename(&self, instruction: &Instruction, operation: &mut Operation) {
        let rename = &self.parameters.rename;
        if form::ignores_sources(instruction) {
            operation.sources = [NONE; SOURCES];
            if form::is_zeroing(instruction) {
                operation.rename = Rename::Constant;
            }
        } else if (operation.class == Class::IntMove
            && rename.eliminates_integer_moves
            && (rename.eliminates_own_moves || !form::is_own_move(instruction)))
            || (rename.eliminates_byte_extensions && form::is_byte_extension(instruction))
            || (operation.class == Class::VecMove && rename.eliminates_vector_moves)
            || (matches!(operation.class, Class::IntAddImmediate | Class::LeaOffset)
                && rename.eliminates_immediate_adds
                && operation.memory_count == 0)
        {
            operation.rename = Rename::Forward;
        }
        if operation.rename != Rename::Execute {
            operation.operations = 0;
            operation.latency = 0;
            operation.chained_latency = 0;
        }
    }

    /// Returns whether blocks may switch between legacy SSE and AVX code.
    pub(crate) fn saves_upper_halves(&self) -> bool {
        self.parameters.rename.saves_upper_halves
    }

    /// Lengthens an instruction that follows too closely on these, the nearest first.
    pub(crate) fn delay<'a>(
        &self,
        before: impl Iterator<Item = (&'a Instruction, &'a Operation)> + Clone,
        operation: &mut Operation,
    ) {
        let extra = neighbours::extra_cycles(&self.parameters.rename, before, operation);
        operation.latency += extra;
        operation.chained_latency += extra;
    }

    /// Fuses two neighbours of a block, if the core decodes them as one. `operations` are those of
    /// the two and of what follows them, which is fused already.
    pub(crate) fn fuse(&self, pair: [&Instruction; 2], operations: &mut [Operation]) {
        let branch = &self.timings[Class::Branch as usize];
        fusion::fuse(&self.parameters.rename, branch, pair, operations);
    }
}

const STATUS_FLAGS: u32 = RflagsBits::CF
    | RflagsBits::OF
    | RflagsBits::SF
    | RflagsBits::ZF
    | RflagsBits::AF
    | RflagsBits::PF;

/// A fixed-size set of registers, filled from the front. Excess registers are dropped and
/// duplicates are skipped.
struct Slots<'a, const N: usize> {
    registers: &'a mut [Register; N],
    used: usize,
}

impl<'a, const N: usize> Slots<'a, N> {
    fn new(registers: &'a mut [Register; N]) -> Self {
        Slots { registers, used: 0 }
    }

    fn push(&mut self, register: Register) {
        if self.registers.contains(&register) {
            return;
        }
        if let Some(free) = self.registers.get_mut(self.used) {
            *free = register;
            self.used += 1;
        }
    }
}

fn reads_operand(instruction: &Instruction, register: Register) -> bool {
    // The first operand of most instructions is written. If it is also read, the register is needed
    // whether or not it is part of the address.
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && number(instruction.op_register(operand)) == register
            && !(operand == 0 && only_writes_first(instruction))
    })
}

fn only_writes_first(instruction: &Instruction) -> bool {
    matches!(form::class(instruction), Class::MemoryMove | Class::Pop)
}

/// Returns a name for the registers, scale and displacement of an address. All addresses on the
/// stack have one name, since the core follows the stack pointer.
fn address_name(instruction: &Instruction, kind: AccessKind) -> u64 {
    let [base, index] = address_registers(instruction, kind);
    if base == STACK_POINTER && index == NONE {
        return 0;
    }
    instruction.memory_displacement64() << 24
        | u64::from(instruction.memory_index_scale()) << 16
        | u64::from(index) << 8
        | u64::from(base)
}

fn address_registers(instruction: &Instruction, kind: AccessKind) -> [Register; 2] {
    if instruction.is_string_instruction() {
        use Mnemonic::*;
        let [source, destination] = [Iced::RSI, Iced::RDI].map(number);
        // As an index, because rename does not know these addresses.
        return match instruction.mnemonic() {
            Cmpsb | Cmpsw | Cmpsd | Cmpsq => [source, destination],
            Lodsb | Lodsw | Lodsd | Lodsq => [NONE, source],
            Movsb | Movsw | Movsd | Movsq if kind == AccessKind::Read => [NONE, source],
            _ => [NONE, destination],
        };
    }
    let on_stack = match form::class(instruction) {
        Class::Push | Class::Call => kind == AccessKind::Write,
        Class::Pop | Class::Return => kind == AccessKind::Read,
        Class::Leave => return [number(Iced::RBP), NONE],
        _ => false,
    };
    if on_stack {
        return [STACK_POINTER, NONE];
    }
    [
        number(instruction.memory_base()),
        number(instruction.memory_index()),
    ]
}

fn flow(instruction: &Instruction) -> Flow {
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => Flow::Conditional,
        FlowControl::UnconditionalBranch => Flow::Jump,
        FlowControl::IndirectBranch => Flow::IndirectJump,
        FlowControl::Return => Flow::Return,
        FlowControl::Call if instruction.mnemonic() == Mnemonic::Call => Flow::Call,
        FlowControl::IndirectCall => Flow::IndirectCall,
        _ => Flow::Next,
    }
}

fn is_serializing(class: Class) -> bool {
    matches!(
        class,
        Class::Pause | Class::LoadFence | Class::CpuId | Class::SystemCall | Class::FullFence
    )
}

fn is_non_temporal(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        Movnti | Movntdq | Movntps | Movntpd | Movntq | Vmovntdq | Vmovntps | Vmovntpd
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::{GOLDEN_COVE, ZEN_5};
    use crate::instruction::registers::is_vector;
    use iced_x86::{Decoder, DecoderOptions};

    fn decode(bytes: &[u8]) -> Instruction {
        Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).decode()
    }

    fn lower(bytes: &[u8]) -> Operation {
        Lowering::new(&GOLDEN_COVE).lower(&decode(bytes), &[])
    }

    #[test]
    fn forms_of_one_mnemonic_have_their_own_class() {
        let cases: [(&[u8], Class); 28] = [
            (&[0x48, 0x89, 0xd8], Class::IntMove),     // mov rax, rbx
            (&[0x48, 0x8b, 0x03], Class::MemoryMove),  // mov rax, [rbx]
            (&[0x8a, 0x03], Class::IntConstant),       // mov al, [rbx]
            (&[0xb8, 1, 0, 0, 0], Class::IntConstant), // mov eax, 1
            (&[0x0f, 0xb6, 0xc4], Class::HighByte),    // movzx eax, ah
            (&[0xc5, 0xfc, 0x51, 0xc0], Class::FpSqrt32Wide), // vsqrtps ymm0, ymm0
            (&[0xc5, 0xfc, 0x5a, 0x03], Class::FpConvert), // vcvtps2pd ymm0, [rbx]
            (&[0x48, 0x8d, 0x04, 0x0b], Class::Lea),   // lea rax, [rbx+rcx]
            (&[0x48, 0x8d, 0x43, 4], Class::LeaOffset), // lea rax, [rbx+4]
            (&[0xc5, 0xf9, 0x70, 0xc1, 0], Class::VecShuffle), // vpshufd xmm0, xmm1, 0
            (&[0xc4, 0xe2, 0x79, 0x30, 0xc1], Class::VecWidenLane), // vpmovzxbw xmm0, xmm1
            (&[0x48, 0x8d, 0x04, 0x4b], Class::LeaScaled), // lea rax, [rbx+rcx*2]
            (&[0x48, 0x8d, 0x44, 0x0b, 4], Class::LeaComplex), // lea rax, [rbx+rcx+4]
            (&[0x48, 0xf7, 0xf3], Class::Divide64),    // div rbx
            (&[0xf7, 0xf3], Class::Divide32),          // div ebx
            (&[0x48, 0xd3, 0xe0], Class::IntShiftByCl), // shl rax, cl
            (&[0x48, 0x0f, 0x47, 0xc3], Class::CondMoveTwoFlags), // cmova rax, rbx
            (&[0xf2, 0x0f, 0x10, 0xc1], Class::VecBlend), // movsd xmm0, xmm1
            (&[0x66, 0x48, 0x0f, 0x6e, 0xc0], Class::VecFromGpr), // movq xmm0, rax
            (&[0xf0, 0x48, 0x01, 0x03], Class::Atomic), // lock add [rbx], rax
            (&[0xf3, 0xa4], Class::StringRepeat),      // rep movsb
            (&[0x0f, 0x97, 0xc0], Class::SetConditionTwoFlags), // seta al
            (&[0x48, 0x8d, 0x44, 0x8b, 4], Class::LeaComplexScaled), // lea rax, [rbx+rcx*4+4]
            (&[0xc5, 0xf0, 0x14, 0xc2], Class::VecShuffleFloats), // vunpcklps xmm0, xmm1, xmm2
            (&[0xc4, 0xe2, 0x79, 0x58, 0xc1], Class::VecShuffleFloats), // vpbroadcastd xmm0, xmm1
            (&[0x0f, 0x17, 0x03], Class::VecShuffle),  // movhps [rbx], xmm0
            (&[0xc4, 0xe2, 0x7d, 0x30, 0x03], Class::VecWidenLoad), // vpmovzxbw ymm0, [rbx]
            (&[0xc4, 0xe2, 0x79, 0x30, 0x03], Class::MemoryMove), // vpmovzxbw xmm0, [rbx]
        ];
        for (bytes, class) in cases {
            assert_eq!(lower(bytes).class, class, "{:?}", decode(bytes).code());
        }
    }

    #[test]
    fn zeroing_idiom_depends_on_nothing() {
        let operation = lower(&[0x31, 0xc0]); // xor eax, eax
        assert_eq!(operation.rename, Rename::Constant);
        assert_eq!(operation.sources, [NONE; SOURCES]);
        // pcmpeqd xmm0, xmm0 depends on nothing either, but is executed.
        let operation = lower(&[0x66, 0x0f, 0x76, 0xc0]);
        assert_eq!(operation.rename, Rename::Execute);
        assert_eq!(operation.sources, [NONE; SOURCES]);
    }

    #[test]
    fn eight_bit_write_needs_the_old_content() {
        let rax = number(Iced::RAX);
        assert!(lower(&[0x0f, 0x94, 0xc0]).sources.contains(&rax)); // sete al
        assert!(!lower(&[0xb8, 1, 0, 0, 0]).sources.contains(&rax)); // mov eax, 1
    }

    #[test]
    fn increment_keeps_carry_flag() {
        let operation = lower(&[0x48, 0xff, 0xc0]); // inc rax
        assert!(!operation.destinations.contains(&CARRY_FLAG));
        assert!(operation.destinations.contains(&OTHER_FLAGS));
    }

    #[test]
    fn address_base_is_not_a_source_of_data() {
        let operation = lower(&[0x48, 0x03, 0x03]); // add rax, [rbx]
        assert!(operation.sources.contains(&number(Iced::RAX)));
        assert!(!operation.sources.contains(&number(Iced::RBX)));
    }

    #[test]
    fn string_instruction_reads_at_its_source() {
        let registers = |bytes: &[u8], kind| address_registers(&decode(bytes), kind);
        let [source, destination] = [Iced::RSI, Iced::RDI].map(number);
        let [lodsb, movsb, stosb] = [&[0xac], &[0xa4], &[0xaa]];
        assert_eq!(registers(lodsb, AccessKind::Read), [NONE, source]);
        assert_eq!(registers(movsb, AccessKind::Read), [NONE, source]);
        assert_eq!(registers(movsb, AccessKind::Write), [NONE, destination]);
        assert_eq!(registers(stosb, AccessKind::Write), [NONE, destination]);
    }

    #[test]
    fn stack_pointer_of_push_is_free() {
        let operation = lower(&[0x50]); // push rax
        assert!(!operation.destinations.contains(&STACK_POINTER));
        assert!(operation.sources.contains(&number(Iced::RAX)));
    }

    #[test]
    fn vector_of_64_bytes_loses_a_port_on_golden_cove() {
        let instruction = decode(&[0x62, 0xf1, 0x7d, 0x48, 0xfe, 0xc1]); // vpaddd zmm0, zmm0, zmm1
        let ports = |core| {
            Lowering::new(core).lower(&instruction, &[]).ports[0]
                .0
                .count_ones()
        };
        assert_eq!(ports(&GOLDEN_COVE), 2);
        assert_eq!(ports(&ZEN_5), 4);
    }

    #[test]
    fn results_know_their_register_file() {
        let operation = lower(&[0x66, 0x0f, 0xfe, 0xc1]); // paddd xmm0, xmm1
        assert_eq!(
            (operation.integer_results, operation.vector_results),
            (0, 1)
        );
        assert!(is_vector(operation.destinations[0]));
    }
}

//! Switches between AVX code and legacy SSE code, which leaves the upper halves of vector registers
//! alone. Some cores save these by microcode while they are in use, and restore them later.
//!
//! Which instructions switch was measured on Redwood Cove, where two switches take 390 cycles:
//! those that write a vector register, and AVX stores. Register 16 and later have no legacy form.

use iced_x86::{EncodingKind, Instruction, Mnemonic};

use crate::instruction::Operation;

/// What the upper halves are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Zeros.
    Clean,
    /// In use.
    Dirty,
    /// Saved, while legacy code runs.
    Saved,
}

const STATES: [State; 3] = [State::Clean, State::Dirty, State::Saved];

/// What an instruction does with them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// Legacy code writes a vector register.
    Legacy,
    /// AVX code writes no more than a lower half.
    Lower,
    /// AVX code writes a whole register.
    Whole,
    /// `vzeroupper`.
    Zero,
}

impl Effect {
    fn of(instruction: &Instruction, operation: &Operation) -> Effect {
        let register = instruction.op0_register();
        let writes_vector = operation.vector_results > 0 && register.is_vector_register();
        match instruction.code().encoding() {
            _ if matches!(
                instruction.mnemonic(),
                Mnemonic::Vzeroupper | Mnemonic::Vzeroall
            ) =>
            {
                Effect::Zero
            }
            _ if writes_vector && register.number() >= 16 => Effect::Nothing,
            EncodingKind::Legacy if writes_vector && register.is_xmm() => Effect::Legacy,
            EncodingKind::VEX | EncodingKind::EVEX if writes_vector && register.is_xmm() => {
                Effect::Lower
            }
            EncodingKind::VEX | EncodingKind::EVEX if writes_vector => Effect::Whole,
            EncodingKind::VEX | EncodingKind::EVEX if stores_vector(instruction) => Effect::Lower,
            _ => Effect::Nothing,
        }
    }

    /// Returns whether an instruction with this effect switches, and the state after it.
    fn after(self, state: State) -> (bool, State) {
        match (self, state) {
            (Effect::Legacy, State::Dirty) => (true, State::Saved),
            (Effect::Lower | Effect::Whole, State::Saved) => (true, State::Dirty),
            (Effect::Zero, _) => (state == State::Saved, State::Clean),
            (Effect::Whole, State::Clean) => (false, State::Dirty),
            _ => (false, state),
        }
    }
}

/// Returns whether it writes a vector register to memory.
fn stores_vector(instruction: &Instruction) -> bool {
    let mut registers = (1..instruction.op_count()).map(|at| instruction.op_register(at));
    instruction.op0_kind() == iced_x86::OpKind::Memory
        && registers.any(|register| register.is_vector_register())
}

/// What the instructions of a block do: for each state before it, how often they switch, and the
/// state after it.
#[derive(Clone, Copy)]
pub(crate) struct Switches([(u8, State); STATES.len()]);

impl Switches {
    /// Those of a block without vector instructions.
    pub(crate) const NONE: Switches =
        Switches([(0, State::Clean), (0, State::Dirty), (0, State::Saved)]);

    /// Adds the next instruction of the block.
    pub(crate) fn add(&mut self, instruction: &Instruction, operation: &Operation) {
        let effect = Effect::of(instruction, operation);
        for (switches, state) in &mut self.0 {
            let (is_switch, after) = effect.after(*state);
            *switches = switches.saturating_add(is_switch.into());
            *state = after;
        }
    }
}

/// The upper halves of a core's vector registers.
pub(crate) struct UpperHalves(State);

impl UpperHalves {
    /// They are zeros, as they should be between functions.
    pub(crate) const CLEAN: UpperHalves = UpperHalves(State::Clean);

    /// Executes a block, and returns how often it switched.
    #[inline]
    pub(crate) fn execute(&mut self, block: &Switches) -> u64 {
        let (switches, after) = block.0[self.0 as usize];
        self.0 = after;
        switches.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::code_asm::*;

    use crate::cores::GOLDEN_COVE;
    use crate::instruction::Lowering;

    type Write = fn(&mut CodeAssembler) -> Result<(), IcedError>;

    /// Returns the switches in each of many repetitions of this code.
    fn switches(write: Write) -> u64 {
        let mut assembler = CodeAssembler::new(64).unwrap();
        write(&mut assembler).unwrap();
        let mut lowering = Lowering::new(&GOLDEN_COVE);
        let mut block = Switches::NONE;
        for instruction in assembler.instructions() {
            block.add(instruction, &lowering.lower(instruction, &[]));
        }
        let mut halves = UpperHalves::CLEAN;
        halves.execute(&block);
        halves.execute(&block)
    }

    /// The loops of `hint-costs` of the lab that took some 390 cycles on Redwood Cove took two
    /// switches, the others none.
    #[test]
    fn legacy_code_among_avx_code_switches_twice() {
        let twice: [Write; 5] = [
            |a| {
                a.vaddps(ymm3, ymm3, ymm3)?;
                a.addps(xmm1, xmm1)
            },
            |a| {
                a.vpxor(ymm3, ymm3, ymm3)?;
                a.movsd_2(xmm1, qword_ptr(r12))
            },
            |a| {
                a.vaddps(ymm3, ymm3, ymm3)?;
                a.addps(xmm1, xmm1)?;
                a.vzeroupper()
            },
            |a| {
                a.vpaddd(zmm3, zmm3, zmm3)?;
                a.movq(xmm1, rax)
            },
            |a| {
                a.vaddps(ymm3, ymm3, ymm3)?;
                a.addps(xmm1, xmm1)?;
                a.vmovups(ptr(r12), ymm3)
            },
        ];
        for (number, write) in twice.into_iter().enumerate() {
            assert_eq!(switches(write), 2, "{number}");
        }
    }

    #[test]
    fn code_with_clean_halves_never_switches() {
        let never: [Write; 7] = [
            |a| {
                a.vaddps(xmm3, xmm3, xmm3)?;
                a.addps(xmm1, xmm1)
            },
            |a| {
                a.vaddps(ymm3, ymm3, ymm3)?;
                a.vzeroupper()?;
                a.addps(xmm1, xmm1)
            },
            // Legacy code that writes no vector register.
            |a| {
                a.vaddps(ymm3, ymm3, ymm3)?;
                a.movaps(ptr(r12), xmm1)
            },
            |a| {
                a.vaddps(ymm3, ymm3, ymm3)?;
                a.ucomiss(xmm1, xmm2)
            },
            |a| {
                a.vmovups(ptr(r12), ymm3)?;
                a.addps(xmm1, xmm1)
            },
            |a| {
                a.vpaddd(ymm19, ymm19, ymm19)?;
                a.addps(xmm1, xmm1)
            },
            |a| {
                a.vaddps(ymm3, ymm3, ymm3)?;
                a.andn(rax, rax, rbx)
            },
        ];
        for (number, write) in never.into_iter().enumerate() {
            assert_eq!(switches(write), 0, "{number}");
        }
    }
}

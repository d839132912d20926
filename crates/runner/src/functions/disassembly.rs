//! Instructions of x86-64 as text.

use iced_x86::{
    Code, Decoder, DecoderOptions, Formatter, GasFormatter, Instruction, IntelFormatter, OpKind,
};

/// The syntax of assembler text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// `mov rax, [rdi+8]`.
    #[default]
    Intel,
    /// `mov 8(%rdi),%rax`.
    Att,
}

impl Syntax {
    /// All of them.
    pub const ALL: [Syntax; 2] = [Syntax::Intel, Syntax::Att];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Syntax::Intel => "intel",
            Syntax::Att => "att",
        }
    }

    /// Returns how it looks.
    pub fn meaning(self) -> &'static str {
        match self {
            Syntax::Intel => "Destination first: `mov rax, [rdi+8]`",
            Syntax::Att => "Destination last: `mov 8(%rdi), %rax`",
        }
    }
}

/// A decoded instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// Its address.
    pub address: u64,
    /// Its text.
    pub text: String,
    /// Its form and immediate values, without registers and addresses.
    pub shape: String,
    /// The address that it calls or jumps to, if that is fixed.
    pub target: Option<u64>,
}

/// Decodes the instructions of `code`, which begins at `address`.
pub fn disassemble(code: &[u8], address: u64, syntax: Syntax) -> Vec<Disassembled> {
    let mut formatter: Box<dyn Formatter> = match syntax {
        Syntax::Intel => Box::new(IntelFormatter::new()),
        Syntax::Att => Box::new(GasFormatter::new()),
    };
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_show_branch_size(false);
    options.set_space_after_operand_separator(true);
    options.set_rip_relative_addresses(true);
    let decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    decoder
        .into_iter()
        .take_while(|instruction| instruction.code() != Code::INVALID)
        .map(|instruction| {
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            Disassembled {
                address: instruction.ip(),
                text,
                shape: shape(&instruction),
                target: Some(instruction.near_branch_target()).filter(|target| *target > 0),
            }
        })
        .collect()
}

/// Returns what an instruction does, whatever registers it uses and wherever code and data lie.
fn shape(instruction: &Instruction) -> String {
    let mut shape = format!("{:?}", instruction.code());
    for operand in 0..instruction.op_count() {
        match instruction.op_kind(operand) {
            OpKind::Register => shape.push_str(" r"),
            OpKind::Memory => shape.push_str(" m"),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {}
            _ => {
                if let Ok(value) = instruction.try_immediate(operand) {
                    shape.push_str(&format!(" {value}"));
                }
            }
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `add rax, [rdi+8]`, `cmp rcx, 7`, `jne` back to the first.
    const CODE: [u8; 10] = [0x48, 0x03, 0x47, 8, 0x48, 0x83, 0xf9, 7, 0x75, 0xf6];

    #[test]
    fn both_syntaxes_and_targets() {
        let texts = |syntax| -> Vec<String> {
            let all = disassemble(&CODE, 0x1000, syntax).into_iter();
            all.map(|one| one.text).collect()
        };
        let intel = ["add rax, [rdi+8]", "cmp rcx, 7", "jne 0x1000"];
        assert_eq!(texts(Syntax::Intel), intel);
        let att = ["add 8(%rdi), %rax", "cmp $7, %rcx", "jne 0x1000"];
        assert_eq!(texts(Syntax::Att), att);
        let targets = disassemble(&CODE, 0x1000, Syntax::Intel);
        assert_eq!(targets[2].target, Some(0x1000));
        assert_eq!((targets[1].address, targets[1].target), (0x1004, None));
    }

    #[test]
    fn shape_ignores_registers_and_addresses_but_no_values() {
        let shape_of = |code: &[u8], at| disassemble(code, at, Syntax::Intel).remove(0).shape;
        let first = shape_of(&CODE, 0x1000);
        // `add rbx, [rsi+0x40]`.
        assert_eq!(shape_of(&[0x48, 0x03, 0x5e, 0x40], 0x2000), first);
        // `add rbx, rsi`.
        assert_ne!(shape_of(&[0x48, 0x03, 0xde], 0x2000), first);
        assert_eq!(
            shape_of(&CODE[8..], 0x1008),
            shape_of(&[0x75, 0x10], 0x3000)
        );
        let other_value = [0x48, 0x83, 0xf9, 8];
        assert_ne!(shape_of(&CODE[4..], 0x1004), shape_of(&other_value, 0x1004));
    }

    #[test]
    fn bytes_that_are_no_instruction_end_the_text() {
        assert_eq!(disassemble(&[0x06], 0, Syntax::Intel), []);
        assert_eq!(disassemble(&[], 0, Syntax::Att), []);
    }
}

//! Registers as the model renames them: full registers, numbered densely.

use iced_x86::Register as Iced;

/// The number of a renamed register.
pub(crate) type Register = u8;

/// No register: always ready, never written.
pub(crate) const NONE: Register = 0;
/// No register: written, but never read.
pub(crate) const UNREAD: Register = Register::MAX;
const FIRST_GPR: Register = 1;
const FIRST_VECTOR: Register = FIRST_GPR + 16;
const FIRST_MASK: Register = FIRST_VECTOR + 32;
/// The eight x87 registers, by physical number: the model tracks the top of the stack.
pub(crate) const FIRST_X87: Register = FIRST_MASK + 8;
/// The carry flag, which some instructions preserve while they write the others.
pub(crate) const CARRY_FLAG: Register = FIRST_X87 + 8;
/// All other arithmetic flags.
pub(crate) const OTHER_FLAGS: Register = CARRY_FLAG + 1;
/// The register file is padded so that every [`Register`] is an index.
pub(crate) const REGISTERS: usize = 1 << Register::BITS;

/// `rsp`, which the stack engine updates without a port.
pub(crate) const STACK_POINTER: Register = FIRST_GPR + 4;

/// Returns the number of the full register that contains `register`, or [`NONE`] if it is not
/// renamed.
pub(crate) fn number(register: Iced) -> Register {
    let full = register.full_register();
    if full.is_gpr64() {
        FIRST_GPR + full.number() as Register
    } else if full.is_zmm() {
        FIRST_VECTOR + full.number() as Register
    } else if full.is_k() {
        FIRST_MASK + full.number() as Register
    } else if full.is_st() {
        FIRST_X87 + full.number() as Register
    } else if full.is_mm() {
        // The MMX registers share the x87 file; the top is 0 while they are in use.
        FIRST_X87 + full.number() as Register
    } else {
        NONE
    }
}

/// Returns whether results in this register live in the vector register file.
pub(crate) fn is_vector(register: Register) -> bool {
    (FIRST_VECTOR..CARRY_FLAG).contains(&register)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_register_share_its_number() {
        assert_eq!(number(Iced::AL), number(Iced::RAX));
        assert_eq!(number(Iced::XMM3), number(Iced::ZMM3));
        assert_eq!(number(Iced::ESP), STACK_POINTER);
        assert_eq!(number(Iced::RIP), NONE);
        assert_eq!(number(Iced::FS), NONE);
    }
}

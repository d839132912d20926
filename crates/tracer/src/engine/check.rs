//! A block that checks, on every entry, whether the program's code is still what was translated.
//!
//! ```text
//! indirect entry:  jmp check                     an indirect branch has borrowed rcx and rdx
//! failed:          load rdx, rcx
//!                  jmp                           into the engine or to another translation
//! entry:           save rcx, rdx
//! check:           nop                           or a jump to `failed`: see `Check`
//!   per 8 bytes:   rcx = the program's bytes, minus what they were
//!                  is rcx zero? else jump to `failed`
//!                  load rdx, rcx
//! ```
//!
//! Flags are preserved, as everywhere: the comparison is a sum that must be zero.

use super::assembler::{Assembler, Memory, RCX, RDX, Relative32};
use super::trampolines::register_slot;

/// Bit mask of the registers that a block borrows while it checks its code.
pub(crate) const BORROWED: u16 = 1 << RCX | 1 << RDX;

/// Maximum number of bytes in the check of eight bytes.
pub(crate) const BYTES_PER_WORD: usize = 38;

/// The distance from `failed` to the end of the check's first two bytes.
const TO_FAILED: u8 = 35;

/// A block's check of its own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// Its start as an offset in the code: [`Assembler::NO_OP`] or [`Check::ALWAYS_FAILS`].
    pub start: u32,
    /// The jump taken if the check fails.
    pub failed: Relative32,
}

impl Check {
    /// A short jump to `failed`.
    pub(crate) const ALWAYS_FAILS: [u8; 2] = [0xeb, TO_FAILED.wrapping_neg()];

    /// Writes the entries and the check of a block whose code is `source`, at `ip`. Also returns
    /// the entry; the indirect entry is where this begins.
    pub(super) fn write(
        code: &mut Assembler<'_>,
        context: u64,
        ip: u64,
        source: &[u8],
    ) -> (u64, Check) {
        let give_back = |code: &mut Assembler<'_>| {
            for register in [RDX, RCX] {
                code.load_near(register, register_slot(context, register));
            }
        };
        let to_check = code.jump_short();
        let failed = code.here();
        give_back(code);
        // The block's stub determines the target.
        let failed_site = code.jump(failed);
        let entry = code.here();
        for register in [RCX, RDX] {
            code.store_near(register_slot(context, register), register);
        }
        code.bind(to_check);
        let start = code.position() as u32;
        code.no_op();
        debug_assert_eq!(code.here() - failed, u64::from(TO_FAILED));
        for (at, bytes) in pieces(source.len()) {
            let mut was = [0; 8];
            was[..bytes].copy_from_slice(&source[at..at + bytes]);
            code.load_immediate(RCX, ip + at as u64);
            code.load_itself(RCX, bytes);
            code.load_immediate(RDX, u64::from_le_bytes(was).wrapping_neg());
            code.lea(RCX, Memory::sum(RCX, RDX));
            let same = code.jump_if_rcx_is_zero();
            code.jump(failed);
            code.bind(same);
        }
        give_back(code);
        let failed = failed_site;
        (entry, Check { start, failed })
    }
}

/// Returns pieces of 8, 4, 2 or 1 bytes that cover exactly `len` bytes: where each begins, and its
/// length. The last may overlap the one before.
fn pieces(len: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut covered = 0;
    std::iter::from_fn(move || {
        let (at, bytes) = match len - covered {
            0 => return None,
            8.. => (covered, 8),
            _ if len >= 8 => (len - 8, 8),
            4.. => (covered, 4),
            2.. => (covered, 2),
            _ => (covered, 1),
        };
        covered = at + bytes;
        Some((at, bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_exactly_all_bytes() {
        for len in 0..100 {
            let mut covered = vec![false; len];
            for (at, bytes) in pieces(len) {
                assert!([1, 2, 4, 8].contains(&bytes));
                covered[at..at + bytes].fill(true);
            }
            assert!(covered.iter().all(|&covered| covered), "{len}");
        }
        assert_eq!(pieces(720).count(), 90);
        assert_eq!(pieces(7).count(), 3);
    }
}

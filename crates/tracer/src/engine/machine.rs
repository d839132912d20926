//! State of the calling thread, from the CPU and the kernel.

use std::arch::asm;
use std::arch::x86_64::CpuidResult;
use std::ptr;

use crate::describe::ThreadFacts;
use crate::error::OpenError;

// asm/prctl.h
const ARCH_GET_FS: i32 = 0x1003;
const ARCH_GET_GS: i32 = 0x1004;
const ARCH_SHSTK_STATUS: i32 = 0x5005;

/// The parts of XCR0 that are not saved across the engine. These are the AMX tiles (17, 18), which
/// the engine never touches and which would take 8 KiB, and the protection keys (9), which it must
/// not change.
const NOT_KEPT: u64 = 1 << 9 | 1 << 17 | 1 << 18;

/// The vector state: which parts are saved, and how much memory that takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorState {
    pub mask: u64,
    pub bytes: usize,
}

fn leaf(number: u32) -> CpuidResult {
    // SAFETY: every x86_64 CPU has the instruction, and it changes only four registers. Newer
    // compilers know this and call the intrinsic safe; the oldest supported one does not.
    #[allow(unused_unsafe)]
    unsafe {
        std::arch::x86_64::__cpuid_count(number, 0)
    }
}

pub(crate) fn vector_state() -> Result<VectorState, OpenError> {
    const OSXSAVE: u32 = 1 << 27;
    if leaf(1).ecx & OSXSAVE == 0 {
        return Err(OpenError::Xsave);
    }
    let (low, high): (u32, u32);
    // SAFETY: OSXSAVE says that the system has enabled this instruction. It reads a register.
    unsafe {
        asm!(
            "xgetbv",
            in("ecx") 0,
            out("eax") low,
            out("edx") high,
            options(nomem, nostack, preserves_flags)
        );
    }
    let xcr0 = u64::from(high) << 32 | u64::from(low);
    Ok(VectorState {
        mask: xcr0 & !NOT_KEPT,
        bytes: leaf(0xd).ebx as usize,
    })
}

/// `several_threads` says whether other threads will execute the translation too.
pub(crate) fn thread_facts(vector_state: VectorState, several_threads: bool) -> ThreadFacts {
    ThreadFacts {
        several_threads,
        fs_base: arch_prctl(ARCH_GET_FS).unwrap_or(0),
        gs_base: arch_prctl(ARCH_GET_GS).unwrap_or(0),
        xsave_bytes: vector_state.bytes as u32,
    }
}

/// Returns whether this thread has a user shadow stack (Linux 6.6 and later).
pub(crate) fn has_shadow_stack() -> bool {
    arch_prctl(ARCH_SHSTK_STATUS).is_some_and(|status| status & 1 != 0)
}

/// Where this thread declares which restartable sequence it is in (rseq(2)).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestartableSequence(*const u64);

impl RestartableSequence {
    /// Returns the one that glibc (2.35 and later) has registered for the calling thread, or `None`
    /// if it has not.
    pub(crate) fn for_this_thread(facts: &ThreadFacts) -> Option<RestartableSequence> {
        // `rseq_cs` in the kernel's `struct rseq`.
        const SEQUENCE: u64 = 8;
        // SAFETY: looks up glibc's variables by name; if they exist, they have these types
        // (sys/rseq.h) and never change.
        let (offset, size) = unsafe {
            let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr());
            let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr());
            if offset.is_null() || size.is_null() {
                return None;
            }
            (*offset.cast::<isize>(), *size.cast::<u32>())
        };
        if size == 0 || facts.fs_base == 0 {
            return None;
        }
        let area = facts.fs_base.wrapping_add_signed(offset as i64);
        Some(RestartableSequence(ptr::with_exposed_provenance(
            (area + SEQUENCE) as usize,
        )))
    }

    /// Returns whether the thread has entered one since the kernel last took it off the CPU. This
    /// soon detects a program that uses them, and has no false positives.
    pub(crate) fn was_entered(self) -> bool {
        // SAFETY: inside the area that glibc keeps for as long as the thread lives, and the tracer
        // does not leave its thread. The kernel writes it too.
        unsafe { self.0.read_volatile() != 0 }
    }
}

fn arch_prctl(code: i32) -> Option<u64> {
    let mut value = 0_u64;
    // SAFETY: these codes write one word to the address they are given.
    let result = unsafe { libc::syscall(libc::SYS_arch_prctl, code, &raw mut value) };
    (result == 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fs_base_is_the_thread_control_block() {
        let facts = thread_facts(vector_state().unwrap(), false);
        let first_word: u64;
        // SAFETY: the ABI keeps a pointer to itself at the start of the thread control block.
        unsafe { asm!("mov {}, fs:[0]", out(reg) first_word, options(nostack, readonly)) };
        assert_eq!(facts.fs_base, first_word);
    }

    #[test]
    fn x87_and_sse_are_kept_and_tiles_are_not() {
        let state = vector_state().unwrap();
        assert_eq!(state.mask & 3, 3);
        assert_eq!(state.mask & NOT_KEPT, 0);
        assert!(state.bytes >= 512 + 64);
    }
}

//! Loops that each ask one question about a core. Their answers are in the descriptions of the
//! cores; they count in no group. `validate CORE ask-` runs them.

use std::arch::asm;

use super::loops::loops;
use super::{Group, Kernel, Random};

/// Accesses per run.
const ACCESSES: u64 = 16_384;

pub fn kernels() -> Vec<Kernel> {
    let mut kernels = chains();
    kernels.extend(lines());
    kernels
}

loops! { chains, Group::Question;
    // What do additions cost after a multiplication, and after one another?
    "ask-mul-sub-add": "mulsd xmm0, xmm1", "subsd xmm0, xmm2", "addsd xmm0, xmm3";
    "ask-copy-mul-add": "movapd xmm1, xmm0", "mulsd xmm1, xmm0", "addsd xmm1, xmm2",
        "movapd xmm0, xmm1";
    // Do a comparison and what reads its flags take a cycle each?
    "ask-cmp-cmov": "inc rax", "cmp rax, rcx", "cmovae rax, rcx";
    "ask-cmp-sbb": "cmp rsi, rdi", "sbb r9, 0", "mov rdi, r9";
    "ask-lea-inc-cmov": "lea r9, [rax + rax * 2]", "inc r9", "shr rax", "test r10b, 1",
        "cmovne rax, r9";
    // How many stores are written per cycle, to one line and to several?
    "ask-stores-one-line": "mov [r12 + 128], rax", "mov [r12 + 136], rax",
        "mov [r12 + 144], rax", "mov [r12 + 152], rax";
    "ask-stores-two-lines": "mov [r12 + 128], rax", "mov [r12 + 64], rax",
        "mov [r12 + 136], rax", "mov [r12 + 72], rax";
    "ask-stores-line-by-line": "mov [r12 + 128], rax", "mov [r12 + 136], rax",
        "mov [r12 + 64], rax", "mov [r12 + 72], rax";
    "ask-stores-three-lines": "mov [r12 + 128], rax", "mov [r12 + 64], rax",
        "mov [r12 + 192], rax", "mov [r12 + 256], rax";
    // How many branches that are not taken are executed per cycle?
    "ask-not-taken-2": "test rax, rax", "jz 9f", "test rax, rax", "jz 9f", "9:";
    "ask-not-taken-4": ".rept 4", "test rax, rax", "jz 9f", ".endr", "9:";
    "ask-not-taken-8": ".rept 8", "test rax, rax", "jz 9f", ".endr", "9:";
    "ask-not-taken-12": ".rept 12", "test rax, rax", "jz 9f", ".endr", "9:";
    "ask-not-taken-nops": ".rept 4", "test rax, rax", "jz 9f", "nop", "nop", "nop", ".endr", "9:";
    "ask-not-taken-apart": ".rept 4", "test rax, rax", "nop", "jz 9f", ".endr", "9:";
    "ask-not-taken-bt": ".rept 4", "bt rcx, 1", "jnc 9f", ".endr", "9:";
    "ask-not-taken-carry": ".rept 4", "cmp rcx, 1", "jb 9f", ".endr", "9:";
    "ask-not-taken-shared": "test rax, rax", ".rept 4", "jz 9f", ".endr", "9:";
    // How many bits are tested per cycle?
    "ask-bt-4": ".rept 4", "bt rcx, 1", ".endr";
    "ask-bt-8": ".rept 8", "bt rcx, 1", ".endr";
    "ask-bt-register-8": ".rept 8", "bt rcx, rsi", ".endr";
    "ask-bt-setc": ".rept 4", "bt rcx, 1", "setc dil", ".endr";
    "ask-bt-adc": ".rept 4", "bt rcx, 1", "adc rdi, 0", ".endr";
    "ask-setne-add": "xor edx, edx", "cmp byte ptr [r12 + 64], r9b", "setne dl", "add rax, rdx";
}

/// How often does a line come from the L2: in order, and in random order? And if it is written?
fn lines() -> Vec<Kernel> {
    macro_rules! over {
        ($($name:literal, $bytes:expr, $random:expr; $($line:literal),+;)+) => {
            vec![$(Kernel {
                name: $name,
                group: Group::Question,
                prepare: || {
                    let mut bytes = vec![0_u8; $bytes + 64];
                    let start = bytes.as_ptr().align_offset(64);
                    let offsets = offsets($bytes, $random);
                    Box::new(move || {
                        // SAFETY: accesses eight bytes at each offset, all inside of `bytes`.
                        unsafe {
                            asm!(
                                "2:", "mov {at}, [{offsets}]", $($line,)+
                                "add {offsets}, 8", "dec {left}", "jnz 2b",
                                at = out(reg) _,
                                value = inout(reg) 1_u64 => _,
                                bytes = in(reg) bytes.as_mut_ptr().add(start),
                                offsets = inout(reg) offsets.as_ptr() => _,
                                left = inout(reg) ACCESSES => _,
                                options(nostack)
                            );
                        }
                    })
                },
            }),+]
        };
    }
    over! {
        "ask-load-256k", 256 << 10, false; "mov {value}, [{bytes} + {at}]";
        "ask-load-256k-random", 256 << 10, true; "mov {value}, [{bytes} + {at}]";
        "ask-store-256k-random", 256 << 10, true; "mov [{bytes} + {at}], {value}";
        "ask-change-256k-random", 256 << 10, true; "or [{bytes} + {at}], {value}";
        "ask-change-16k-random", 16 << 10, true; "or [{bytes} + {at}], {value}";
    }
}

/// Returns the offsets of lines, in order or at random.
fn offsets(bytes: u64, is_random: bool) -> Vec<u64> {
    let mut random = Random(3);
    let line = |at: u64| if is_random { random.next() } else { at };
    (0..ACCESSES)
        .map(line)
        .map(|line| line % (bytes / 64) * 64)
        .collect()
}

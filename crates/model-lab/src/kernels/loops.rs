//! Loops of 1 to 200 instructions, as in nanosecond benchmarks: an iteration begins long before the
//! last one ends.
//!
//! The instructions are in assembly, so that every compiler generates the same code. Two more,
//! which count down and jump, are added to each loop.

use std::arch::asm;

use super::{Group, Kernel};

macro_rules! loops {
    ($function:ident, $group:expr; $($name:literal: $($line:literal),+;)+) => {
        pub fn $function() -> Vec<Kernel> {
            const ITERATIONS: u64 = 10_000;
            #[repr(align(64))]
            struct Memory([u64; 64]);

            vec![$(Kernel {
                name: $name,
                group: $group,
                prepare: || {
                    // The first line contains its own address; loads read the others.
                    let mut memory = Memory([0; 64]);
                    Box::new(move || {
                        memory.0[0] = memory.0.as_ptr() as u64;
                        // SAFETY: reads and writes only `memory`, and pops what it pushes.
                        unsafe {
                            asm!(
                                "2:", $($line,)+ "dec r15", "jnz 2b",
                                inout("r15") ITERATIONS => _,
                                in("r12") memory.0.as_mut_ptr(),
                                inout("r13") memory.0.as_mut_ptr() => _,
                                inout("rax") u64::MAX => _,
                                inout("rcx") 1_000_003_u64 => _,
                                inout("rdx") 0_u64 => _,
                                inout("rsi") 3_u64 => _,
                                inout("rdi") 5_u64 => _,
                                inout("r8") 1_u64 << 63 => _,
                                inout("r9") 7_u64 => _,
                                inout("r10") 9_u64 => _,
                                inout("r11") 11_u64 => _,
                                inout("xmm0") 1.0_f64 => _,
                                inout("xmm1") 1.0_f64 => _,
                                inout("xmm2") 1.0_f64 => _,
                                inout("xmm3") 1.0_f64 => _,
                            );
                        }
                    })
                },
            }),+]
        }
    };
}

pub(super) use loops;

loops! { kernels, Group::Loop;
    "loop-nop-1": "nop";
    "loop-add-1": "add rax, rax";
    "loop-add-4": "add rax, r8", "add rsi, r9", "add rdi, r10", "add rcx, r11";
    "loop-imul-1": "imul rax, rax";
    "loop-load-2": "mov rsi, [r12]", "mov rdi, [r12 + 64]";
    "loop-chase-1": "mov r13, [r13]";
    "loop-store-1": "mov [r12 + 128], rax";
    "loop-pass-3": "mov [r12 + 128], rax", "mov rsi, [r12 + 128]", "add rdi, rsi";
    "loop-memory-3": "mov [r12 + 128], rax", "mov rax, [r12 + 128]", "add rax, rsi";
    "loop-fnv-3": "movzx esi, byte ptr [r12 + 64]", "xor rax, rsi", "imul rax, rax, 435";
    "loop-xorshift-9": "mov rsi, rax", "shl rsi, 13", "xor rax, rsi", "mov rsi, rax", "shr rsi, 7",
        "xor rax, rsi", "mov rsi, rax", "shl rsi, 17", "xor rax, rsi";
    "loop-div-3": "xor edx, edx", "div rcx", "or rax, r8";
    "loop-addsd-1": "addsd xmm0, xmm1";
    "loop-mulsd-2": "mulsd xmm0, xmm1", "addsd xmm0, xmm2";
    "loop-compare-6": "movdqu xmm0, [r12 + 64]", "pxor xmm0, [r12 + 128]", "por xmm2, xmm0",
        "movdqu xmm1, [r12 + 80]", "pxor xmm1, [r12 + 144]", "por xmm3, xmm1";
    "loop-cmov-3": "lea rsi, [rax + r9]", "cmp rax, rcx", "cmovb rax, rsi";
    "loop-bits-5": "popcnt rsi, rax", "tzcnt rdi, r8", "bswap r9", "add r10, rsi", "xor r11, rdi";
    "loop-call-4": "call 5f", "jmp 6f", "5:", "add rax, r9", "ret", "6:";
    "loop-mixed-100": ".rept 20", "add rax, rsi", "xor rdi, rax", "lea r9, [r9 + r10]",
        "rol r11, 7", "sub r8, r9", ".endr";
    "loop-mixed-200": ".rept 25", "mov rsi, [r12 + 64]", "add rax, rsi", "xor rdi, rax",
        "imul r9, r10", "shr r11, 3", "and r8, rdi", "or r10, rsi", "mov [r12 + 192], rdi", ".endr";
}

//! A function's arguments are recorded at its entry, also where its first block leaves no other
//! registers to record with than those that hold arguments.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::arch::global_asm;
use std::hint::black_box;

use topdown_skipped::{Need, skip};
use topdown_tracer::{Arguments, Block, Config, Consumer, Tracer};

type Function = unsafe extern "C" fn(u64, u64, u64, u64) -> u64;

/// Writes a function whose first block uses every register but two, and one that calls it and adds
/// all registers of arguments to what it returns.
macro_rules! leaving {
    ($outer:ident, $inner:ident, $first:literal, $second:literal) => {
        global_asm!(
            concat!(".globl ", stringify!($inner)),
            concat!(stringify!($inner), ":"),
            "xor eax, eax",
            concat!("inc ", $first),
            concat!("inc ", $second),
            "inc rbx",
            "inc rbp",
            "inc r8",
            "inc r9",
            "inc r10",
            "inc r11",
            "inc r12",
            "inc r13",
            "inc r14",
            "inc r15",
            "test eax, eax",
            "jne 2f",
            "ret",
            "2: ud2",
            concat!(".globl ", stringify!($outer)),
            concat!(stringify!($outer), ":"),
            "push rbx",
            "push rbp",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            concat!("call ", stringify!($inner)),
            "add rax, rdi",
            "add rax, rsi",
            "add rax, rdx",
            "add rax, rcx",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbp",
            "pop rbx",
            "ret",
        );
        unsafe extern "C" {
            fn $outer(first: u64, second: u64, third: u64, fourth: u64) -> u64;
            fn $inner(first: u64, second: u64, third: u64, fourth: u64) -> u64;
        }
    };
}

leaving!(topdown_uses_rdi_rsi, topdown_leaves_rdx_rcx, "rdi", "rsi");
leaving!(topdown_uses_rdi_rdx, topdown_leaves_rsi_rcx, "rdi", "rdx");
leaving!(topdown_uses_rdi_rcx, topdown_leaves_rsi_rdx, "rdi", "rcx");
leaving!(topdown_uses_rsi_rdx, topdown_leaves_rdi_rcx, "rsi", "rdx");
leaving!(topdown_uses_rsi_rcx, topdown_leaves_rdi_rdx, "rsi", "rcx");
leaving!(topdown_uses_rdx_rcx, topdown_leaves_rdi_rsi, "rdx", "rcx");

const FUNCTIONS: [(Function, Function); 6] = [
    (topdown_uses_rdi_rsi, topdown_leaves_rdx_rcx),
    (topdown_uses_rdi_rdx, topdown_leaves_rsi_rcx),
    (topdown_uses_rdi_rcx, topdown_leaves_rsi_rdx),
    (topdown_uses_rsi_rdx, topdown_leaves_rdi_rcx),
    (topdown_uses_rsi_rcx, topdown_leaves_rdi_rdx),
    (topdown_uses_rdx_rcx, topdown_leaves_rdi_rsi),
];

/// Keeps the arguments of the functions.
struct Kept {
    /// In memory reserved beforehand.
    calls: Vec<(u64, Arguments)>,
    instructions: usize,
}

impl Consumer for Kept {
    fn wants_arguments_at(&self, ip: u64) -> bool {
        FUNCTIONS
            .iter()
            .any(|(_, inner)| *inner as usize as u64 == ip)
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        if let Some(arguments) = block.arguments(addresses) {
            self.instructions = block.instructions.len();
            self.calls.push((block.start_ip(), arguments));
        }
    }
}

#[test]
fn arguments_are_recorded_with_few_free_registers() {
    const ARGUMENTS: [u64; 4] = [0x1111, 0x2222_0000, 0x3333_0000_0000, 0x4444 << 48];
    for (outer, inner) in FUNCTIONS {
        let kept = Kept {
            calls: Vec::with_capacity(8),
            instructions: 0,
        };
        let Ok(mut tracer) = Tracer::new(Config::default(), kept) else {
            skip(Need::Model, "code cannot be traced on this machine");
            return;
        };
        let [first, second, third, fourth] = ARGUMENTS.map(black_box);
        let here = black_box(0_u8);
        // SAFETY: the function takes any numbers, and keeps the registers of its caller.
        let (sum, end) = tracer.trace(|| unsafe { outer(first, second, third, fourth) });
        end.unwrap();
        // What was borrowed is given back: each register has its argument, two of them one more.
        assert_eq!(sum, ARGUMENTS.iter().sum::<u64>() + 2);
        let kept = tracer.consumer_mut();
        let [(ip, arguments)] = kept.calls[..] else {
            panic!("{:x?}", kept.calls)
        };
        assert_eq!(ip, inner as usize as u64);
        assert_eq!(arguments.integers, ARGUMENTS);
        // The return address lies below the frames of this test.
        assert!(arguments.stack < (&raw const here) as u64);
        // The block does not end earlier for them.
        assert_eq!(kept.instructions, 15);
    }
}

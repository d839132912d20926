//! Loops of assembled code, executed here or on the model.

use std::io;
use std::time::Instant;

use iced_x86::code_asm::*;
use topdown_core_model::{Capacity, CoreParameters, Model};
use topdown_tracer::{Access, Address, BlockId, Consumer, OwnedBlock};

use crate::rows::Body;

/// Bodies per pass through a loop.
const BODIES: usize = 32;
/// Passes per timing: some 10 µs, so that most timings meet no interrupt.
const PASSES: u64 = 300;
/// Number of timings; the fastest counts.
const TRIES: usize = 200;

/// Executable memory with a function that runs a loop `rdi` times, with `rsi` as scratch memory.
pub struct Loop {
    bytes: Vec<u8>,
    /// The loop's range in the bytes.
    body: std::ops::Range<usize>,
    memory: *mut u8,
}

const CODE_BYTES: usize = 64 * 1024;

impl Loop {
    /// Assembles and maps a loop.
    pub fn new(write: Body) -> Result<Loop, Box<dyn std::error::Error>> {
        let mut a = CodeAssembler::new(64)?;
        for register in [rbx, rbp, r12, r13, r14, r15] {
            a.push(register)?;
        }
        a.mov(r15, rdi)?;
        // Scratch memory: a pointer to itself, and room for stores.
        a.mov(r14, rsi)?;
        a.mov(r13, rsi)?;
        a.mov(ptr(rsi), rsi)?;
        for register in [rax, rbx, rcx, rdx, r8, r9, r10, r11, r12] {
            a.mov(register, 1_u64)?;
        }
        a.mov(rbp, 1_u64)?;
        a.mov(rdi, 1_u64)?;
        a.finit()?;
        for _ in 0..4 {
            a.fld1()?;
        }
        a.cvtsi2sd(xmm15, rax)?;
        for register in [xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9] {
            a.movaps(register, xmm15)?;
        }
        let setup = a.assemble(0)?.len();
        let mut top = a.create_label();
        a.set_label(&mut top)?;
        for number in 0..BODIES {
            write(&mut a, number)?;
        }
        a.dec(r15)?;
        a.jne(top)?;
        let end = a.assemble(0)?.len();
        a.finit()?;
        a.vzeroupper()?;
        for register in [r15, r14, r13, r12, rbp, rbx] {
            a.pop(register)?;
        }
        a.ret()?;
        // SAFETY: a new private mapping at an address chosen by the kernel touches no other memory.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CODE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error().into());
        }
        let memory: *mut u8 = memory.cast();
        let bytes = a.assemble(memory as u64)?;
        assert!(bytes.len() <= CODE_BYTES, "a loop fits into its mapping");
        // SAFETY: the mapping is writable and at least as long as the code.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok(Loop {
            bytes,
            body: setup..end,
            memory,
        })
    }

    /// Returns the time of one execution of the whole loop in nanoseconds.
    fn time_ns(&self, scratch: &mut [u64; 512]) -> f64 {
        // SAFETY: the mapping holds a complete function that follows the C calling convention: it
        // saves the registers it must, leaves the x87 stack empty and returns; it writes only to
        // `scratch`.
        let function: extern "sysv64" fn(u64, *mut u64) =
            unsafe { std::mem::transmute(self.memory) };
        let start = Instant::now();
        function(PASSES, scratch.as_mut_ptr());
        start.elapsed().as_nanos() as f64
    }

    /// Returns the cycles per body on the model.
    pub fn modelled_cycles(&self, core: &CoreParameters) -> f64 {
        let capacity = Capacity {
            instructions: 4096,
            blocks: 256,
        };
        let mut model = Model::new(core, capacity);
        let mut blocks = Vec::new();
        let mut at = self.body.start;
        while at < self.body.end {
            let ip = self.memory as u64 + at as u64;
            let Some(block) = OwnedBlock::describe(&self.bytes[at..self.body.end], ip) else {
                return f64::NAN;
            };
            let strings = block.as_block(BlockId(0)).instructions;
            if strings
                .iter()
                .any(|instruction| instruction.repeat.is_some())
            {
                // One value serves all operands here, and a count is not an address.
                return f64::NAN;
            }
            at = (block.as_block(BlockId(0)).end_ip() - self.memory as u64) as usize;
            model.translated(&block.as_block(BlockId(blocks.len() as u32)));
            blocks.push(block);
        }
        let pass = |model: &mut Model| {
            for (number, block) in blocks.iter().enumerate() {
                let block = block.as_block(BlockId(number as u32));
                let recorded = vec![0x10_0000; block.recorded_values];
                model.block(&block, &take_off_displacements(block.accesses, recorded));
            }
        };
        for _ in 0..PASSES / 3 {
            pass(&mut model);
        }
        model.drain();
        let before = model.counts();
        for _ in 0..PASSES {
            pass(&mut model);
        }
        model.drain();
        let counts = model.counts() - before;
        counts.cycles as f64 / (PASSES as f64 * BODIES as f64)
    }
}

fn take_off_displacements(accesses: &[Access], mut recorded: Vec<u64>) -> Vec<u64> {
    for access in accesses {
        // All rows access the same address, so that one value serves all operands.
        if let Address::Recorded { displacement, .. } = access.address {
            recorded.fill(0x10_0000_u64.wrapping_sub(displacement as u64));
        }
    }
    recorded
}

impl Drop for Loop {
    fn drop(&mut self) {
        // SAFETY: this value made the mapping with this length, and nothing uses it any more.
        unsafe { libc::munmap(self.memory.cast(), CODE_BYTES) };
    }
}

/// A chain of dependent additions: one per cycle.
pub struct Clock(Loop);

impl Clock {
    /// Prepares the clock.
    pub fn new() -> Result<Clock, Box<dyn std::error::Error>> {
        Ok(Clock(Loop::new(|a, _| a.add(rax, rax))?))
    }

    /// Returns the cycles per body of a loop: the smallest of many ratios, each timed next to the
    /// clock.
    pub fn cycles(&self, code: &Loop) -> Result<f64, Box<dyn std::error::Error>> {
        let mut scratch = Box::new([0; 512]);
        let mut fastest = f64::INFINITY;
        let mut tick = f64::INFINITY;
        for _ in 0..TRIES {
            tick = tick.min(self.0.time_ns(&mut scratch));
            fastest = fastest.min(code.time_ns(&mut scratch));
        }
        Ok(fastest / tick)
    }
}

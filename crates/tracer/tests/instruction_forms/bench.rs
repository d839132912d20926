//! Executes a piece of code from a known state of the thread, and keeps the state behind it.

use std::arch::x86_64::__cpuid_count;
use std::sync::atomic::{AtomicU64, Ordering};

/// One mapping: code, then what it reads and writes, all within reach of RIP-relative operands.
/// The translation lies far away, so that these operands are rewritten.
pub struct Bench {
    start: *mut u8,
    pub vector_bytes: usize,
}

pub const CODE_BYTES: usize = 4096;
pub const INPUT: usize = CODE_BYTES;
const OUTPUT: usize = INPUT + 20 * 1024;
const HOST_STACK: usize = OUTPUT + 20 * 1024;
pub const SCRATCH: usize = 48 * 1024;
pub const SCRATCH_BYTES: usize = 64 * 1024;
pub const MIDDLE: usize = SCRATCH + SCRATCH_BYTES / 2;
const BENCH_BYTES: usize = SCRATCH + SCRATCH_BYTES;

/// Places in the input and output parts.
pub const GENERAL: usize = 0;
pub const FLAGS: usize = 128;
pub const VECTORS: usize = 192;

/// x87, SSE, AVX, mask registers and both halves of the AVX-512 state.
pub const VECTOR_MASK: u64 = 0xe7;

static CODE: AtomicU64 = AtomicU64::new(0);
static FAULT_EXIT: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_fault(signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the interrupted state.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let rip = registers[libc::REG_RIP as usize] as u64;
    let code = CODE.load(Ordering::Relaxed);
    if (code..code + CODE_BYTES as u64).contains(&rip) {
        registers[libc::REG_RIP as usize] = FAULT_EXIT.load(Ordering::Relaxed) as i64;
        // The trap, direction and alignment flags may be what faulted.
        registers[libc::REG_EFL as usize] = 2;
    } else {
        // SAFETY: a fault elsewhere is a bug: let it end the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

impl Bench {
    pub fn new() -> Bench {
        // SAFETY: a new mapping; then handlers on a stack of their own, since the tested code has
        // any value in rsp.
        unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                BENCH_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            let stack = libc::stack_t {
                ss_sp: Box::leak(vec![0_u8; 128 * 1024].into_boxed_slice())
                    .as_mut_ptr()
                    .cast(),
                ss_flags: 0,
                ss_size: 128 * 1024,
            };
            libc::sigaltstack(&stack, std::ptr::null_mut());
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            for signal in [
                libc::SIGSEGV,
                libc::SIGILL,
                libc::SIGFPE,
                libc::SIGBUS,
                libc::SIGTRAP,
            ] {
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
            CODE.store(start as u64, Ordering::Relaxed);
            Bench {
                start: start.cast(),
                vector_bytes: __cpuid_count(0xd, 0).ebx as usize,
            }
        }
    }

    pub fn address(&self, offset: usize) -> u64 {
        self.start as u64 + offset as u64
    }

    #[expect(clippy::mut_from_ref, reason = "callers use one part at a time")]
    pub fn part(&self, offset: usize, bytes: usize) -> &mut [u8] {
        assert!(offset + bytes <= BENCH_BYTES);
        // SAFETY: inside the mapping, which is never unmapped.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), bytes) }
    }

    fn protect_code(&self, protection: i32) {
        // SAFETY: the mapping's first page.
        let result = unsafe { libc::mprotect(self.start.cast(), CODE_BYTES, protection) };
        assert_eq!(result, 0);
    }

    /// Writes a function around `body`: load the input state, the body, store the output state.
    pub fn write_code(&self, body: &[u8]) {
        self.protect_code(libc::PROT_READ | libc::PROT_WRITE);
        let mut code = CodeWriter {
            bench: self,
            bytes: Vec::new(),
        };
        // push rbx, rbp, r12 to r15
        code.put(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]);
        code.relative(&[0x48, 0x89, 0x25], HOST_STACK); // mov [host], rsp
        code.vector_mask();
        code.relative(&[0x48, 0x0f, 0xae, 0x2d], INPUT + VECTORS); // xrstor64
        code.relative(&[0xff, 0x35], INPUT + FLAGS); // push [flags]
        code.put(&[0x9d]); // popfq
        for register in 0..16_u8 {
            let rex = 0x48 | (register >> 3) << 2;
            let modrm = (register & 7) << 3 | 5;
            let place = INPUT + GENERAL + 8 * usize::from(register);
            code.relative(&[rex, 0x8b, modrm], place);
        }
        code.put(body);
        for register in 0..16_u8 {
            let rex = 0x48 | (register >> 3) << 2;
            let modrm = (register & 7) << 3 | 5;
            let place = OUTPUT + GENERAL + 8 * usize::from(register);
            code.relative(&[rex, 0x89, modrm], place);
        }
        code.relative(&[0x48, 0x8b, 0x25], HOST_STACK); // mov rsp, [host]
        code.put(&[0x9c]); // pushfq
        code.relative(&[0x8f, 0x05], OUTPUT + FLAGS); // pop [flags]
        code.put(&[0xfc]); // cld
        code.vector_mask();
        code.relative(&[0x48, 0x0f, 0xae, 0x25], OUTPUT + VECTORS); // xsave64
        code.put(&[0x31, 0xc0]); // xor eax, eax
        let leave = |code: &mut CodeWriter<'_>| {
            code.put(&[0xdb, 0xe3]); // fninit
            code.put(&[0x68, 0x80, 0x1f, 0, 0, 0x0f, 0xae, 0x14, 0x24]); // push; ldmxcsr [rsp]
            code.put(&[0x48, 0x8d, 0x64, 0x24, 0x08]); // lea rsp, [rsp+8]
            // pop r15 to r12, rbp, rbx; ret
            code.put(&[
                0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3,
            ]);
        };
        leave(&mut code);
        FAULT_EXIT.store(self.address(code.bytes.len()), Ordering::Relaxed);
        code.relative(&[0x48, 0x8b, 0x25], HOST_STACK); // mov rsp, [host]
        code.put(&[0xb8, 1, 0, 0, 0]); // mov eax, 1
        leave(&mut code);
        self.part(0, code.bytes.len()).copy_from_slice(&code.bytes);
        self.protect_code(libc::PROT_READ | libc::PROT_EXEC);
    }

    /// Runs the function: whether it got to its end.
    pub fn call(&self) -> bool {
        // SAFETY: `write_code` has written a function of this type, which keeps what a function
        // must keep.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(self.start) };
        function() == 0
    }

    /// Everything that the instruction could change, made comparable.
    pub fn result(&self) -> (Vec<u8>, Vec<u8>) {
        let mut state = self.part(OUTPUT, VECTORS + self.vector_bytes).to_vec();
        // The last x87 instruction's opcode and the address of its data, and the header, which says
        // whether a part is in its initial state.
        state[VECTORS + 6..VECTORS + 8].fill(0);
        state[VECTORS + 16..VECTORS + 24].fill(0);
        state[VECTORS + 512..VECTORS + 576].fill(0);
        (state, self.part(SCRATCH, SCRATCH_BYTES).to_vec())
    }
}

struct CodeWriter<'a> {
    bench: &'a Bench,
    bytes: Vec<u8>,
}

impl CodeWriter<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An instruction that ends with a RIP-relative operand.
    fn relative(&mut self, opcode: &[u8], offset: usize) {
        self.put(opcode);
        let after = self.bench.address(self.bytes.len() + 4);
        let distance = self.bench.address(offset).wrapping_sub(after) as u32;
        self.put(&distance.to_le_bytes());
    }

    fn vector_mask(&mut self) {
        self.put(&[0xb8]); // mov eax, mask
        self.put(&(VECTOR_MASK as u32).to_le_bytes());
        self.put(&[0x31, 0xd2]); // xor edx, edx
    }
}

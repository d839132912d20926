//! Measures on this machine what code costs that is slower than it looks: the costs in the advice
//! of `cargo topdown explain`.
//!
//!     cargo run --release -p topdown-model-lab --bin surprises [--split-locks]
//!
//! Cycles are those of a chain of dependent additions, timed beside each pattern. Split locks stop
//! all cores of the machine, and hypervisors may delay them; only twenty are executed. x86-64 Linux
//! with AVX-512 only.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::io::Result<()> {
    if !std::arch::is_x86_feature_detected!("avx512f") {
        return Err(std::io::Error::other("this machine has no AVX-512"));
    }
    let with_split_locks = std::env::args().any(|word| word == "--split-locks");
    patterns::measure(with_split_locks)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("surprises runs on x86-64 Linux only");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod patterns {
    use std::arch::asm;
    use std::io;
    use std::time::Instant;

    /// Two pages of data, of which the first words are a denormal number and 1.5.
    #[repr(align(4096))]
    struct Data([u64; 1024]);

    const ROUNDS: u32 = 400;

    /// Returns the nanoseconds of one addition.
    fn addition_ns() -> f64 {
        let start = Instant::now();
        // SAFETY: changes only registers that are named.
        unsafe {
            asm!("2:", ".rept 32", "add {0}, {0}", ".endr", "dec {1}", "jnz 2b",
                inout(reg) 1_u64 => _, inout(reg) 600_u64 => _, options(nomem, nostack));
        }
        start.elapsed().as_nanos() as f64 / (600.0 * 32.0)
    }

    /// Prints the cycles of the fastest of many rounds, each of which takes `ns` and has this many
    /// `events`.
    fn report(name: &str, events: f64, rounds: u32, mut ns: impl FnMut() -> f64) {
        let (mut cycle, mut fastest) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..rounds {
            cycle = cycle.min(addition_ns());
            fastest = fastest.min(ns());
        }
        println!("{name:<44} {:>9.2}", fastest / cycle / events);
    }

    /// Loops with the address of [`Data`] in `r12` and `r13`: the repetitions and rounds of each,
    /// then the events in a repetition, the name and the code.
    macro_rules! patterns {
        ($address:ident, $times:literal x $rounds:expr;
            $($events:literal $name:literal: $($code:literal),+;)+) => {$(
            report($name, f64::from($events), $rounds, || {
                let start = Instant::now();
                // SAFETY: changes only registers that are named, the two pages at the address, and
                // register 19, which code for this target does not use without AVX-512.
                unsafe {
                    asm!("2:", $($code),+, "dec {times}", "jnz 2b", "vzeroupper",
                        times = inout(reg) $times as u64 => _, in("r12") $address,
                        inout("r13") $address => _, inout("rcx") 1_u64 => _, out("rax") _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _);
                }
                start.elapsed().as_nanos() as f64 / f64::from($times)
            });
        )+};
    }

    pub fn measure(with_split_locks: bool) -> io::Result<()> {
        let mut data = Box::new(Data([0; 1024]));
        let at = data.0.as_mut_ptr() as u64;
        data.0[64] = 1e-310_f64.to_bits();
        data.0[65] = 1.5_f64.to_bits();
        // Pointers to the data itself.
        data.0[16] = at;
        for place in [188, 4092] {
            // SAFETY: these eight bytes are inside the two pages.
            unsafe { std::ptr::write_unaligned((at + place) as *mut u64, at) };
        }
        println!("{:<44} {:>9}", "", "cycles");
        patterns! { at, 2000 x ROUNDS;
            8 "load": ".rept 8", "mov rax, [r12]", ".endr";
            8 "load across lines": ".rept 8", "mov rax, [r12 + 60]", ".endr";
            8 "load across pages": ".rept 8", "mov rax, [r12 + 4092]", ".endr";
            8 "chain of loads": ".rept 8", "mov r13, [r13 + 128]", ".endr";
            8 "chain of loads across lines": ".rept 8", "mov r13, [r13 + 188]", ".endr";
            4 "load after a store at another address":
                ".rept 4", "mov [r12 + 4096], rcx", "mov r13, [r13 + 128]", ".endr";
            4 "load after a store 4 KiB from it":
                ".rept 4", "mov [r12 + 4224], rcx", "mov r13, [r13 + 128]", ".endr";
            4 "load of a store of one byte":
                ".rept 4", "mov [r12 + 640], al", "mov rax, [r12 + 640]", ".endr";
            8 "store across lines": ".rept 8", "mov [r12 + 764], rax", ".endr";
            8 "store across pages": ".rept 8", "mov [r12 + 4092], rax", ".endr";
        }
        patterns! { at, 500 x ROUNDS;
            4 "multiplication of a denormal number":
                "movsd xmm0, [r12 + 512]", "movsd xmm1, [r12 + 520]",
                ".rept 4", "movapd xmm2, xmm0", "mulsd xmm2, xmm1", ".endr";
            4 "addition of a denormal number":
                "movsd xmm0, [r12 + 512]", "movsd xmm1, [r12 + 520]",
                ".rept 4", "movapd xmm2, xmm0", "addsd xmm2, xmm1", ".endr";
            4 "conversion of a denormal number":
                "movsd xmm0, [r12 + 512]", ".rept 4", "cvtsd2ss xmm2, xmm0", ".endr";
            4 "division of a denormal number":
                "movsd xmm0, [r12 + 512]", "movsd xmm1, [r12 + 520]",
                ".rept 4", "movapd xmm2, xmm0", "divsd xmm2, xmm1", ".endr";
            4 "square root of a denormal number":
                "movsd xmm0, [r12 + 512]", ".rept 4", "sqrtsd xmm2, xmm0", ".endr";
        }
        // Two switches in each repetition, except where the text says none.
        patterns! { at, 300 x ROUNDS;
            1 "AVX, VZEROUPPER, SSE: no switch":
                "vaddps ymm3, ymm3, ymm3", "vzeroupper", "addps xmm1, xmm1";
            2 "AVX, SSE: a switch": "vaddps ymm3, ymm3, ymm3", "addps xmm1, xmm1";
            2 "a zeroed YMM register, SSE: a switch": "vpxor ymm3, ymm3, ymm3", "movsd xmm1, [r12]";
            2 "AVX, SSE, VZEROUPPER: a switch":
                "vaddps ymm3, ymm3, ymm3", "addps xmm1, xmm1", "vzeroupper";
            2 "AVX, SSE, AVX store: a switch":
                "vaddps ymm3, ymm3, ymm3", "addps xmm1, xmm1", "vmovups [r12 + 1024], ymm3";
            2 "AVX-512, SSE: a switch": "vpaddd zmm3, zmm3, zmm3", "movq xmm1, rax";
            1 "AVX, SSE store: no switch": "vaddps ymm3, ymm3, ymm3", "movaps [r12 + 1024], xmm1";
            1 "AVX, SSE comparison: no switch": "vaddps ymm3, ymm3, ymm3", "ucomiss xmm1, xmm2";
            1 "register 19, SSE: no switch": "vpaddd zmm19, zmm19, zmm19", "addps xmm1, xmm1";
            1 "128-bit AVX, SSE: no switch": "vaddps xmm3, xmm3, xmm3", "addps xmm1, xmm1";
        }
        if with_split_locks {
            patterns! { at, 20 x 3;
                1 "lock add": "lock add qword ptr [r12 + 896], rcx";
            }
            patterns! { at, 20 x 1;
                1 "lock add across lines": "lock add qword ptr [r12 + 892], rcx";
            }
        }
        self_modifying_code()
    }

    /// Stores into and beside a function before it is called.
    fn self_modifying_code() -> io::Result<()> {
        const BYTES: usize = 8192;
        // mov eax, 1; ret
        const CODE: [u8; 6] = [0xb8, 1, 0, 0, 0, 0xc3];
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new private mapping at an address chosen by the kernel touches no other memory.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is writable and longer than the code.
        unsafe { std::ptr::copy_nonoverlapping(CODE.as_ptr(), mapping.cast(), CODE.len()) };
        let code = mapping as u64;
        for (name, place) in [
            ("store into code that runs", 1),
            ("store into its line", 32),
            ("store into the next line", 64),
            ("store into its page", 1024),
            ("store into another page", 4096),
        ] {
            report(name, 1.0, 100, || {
                let start = Instant::now();
                // SAFETY: the code is a function that changes `eax` only. The store leaves the code
                // as it was, or changes the rest of the mapping.
                unsafe {
                    asm!("2:", "mov [r13], ecx", "call r12", "dec {times}", "jnz 2b",
                        times = inout(reg) 300_u64 => _, in("r12") code, in("r13") code + place,
                        in("rcx") 1_u64, out("rax") _);
                }
                start.elapsed().as_nanos() as f64 / 300.0
            });
        }
        // SAFETY: this function made the mapping with this length, and nothing uses it any more.
        unsafe { libc::munmap(mapping, BYTES) };
        Ok(())
    }
}

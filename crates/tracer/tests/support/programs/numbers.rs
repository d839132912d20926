//! Arithmetic, hashing, ciphers, vectors, bits: instructions of all kinds.

use std::arch::asm;
use std::hint::black_box;

use super::{fold, random_numbers};

pub fn sha256() -> u64 {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(vec![3_u8; 100]);
    fold(digest.into_iter().map(u64::from))
}

pub fn blake3_hash() -> u64 {
    let bytes = vec![5_u8; 3000];
    fold(blake3::hash(&bytes).as_bytes().iter().map(|&b| b.into()))
}

pub fn aes_rounds() -> u64 {
    use aes::cipher::{BlockEncrypt, KeyInit};
    let cipher = aes::Aes128::new(&[9; 16].into());
    let mut block = [1; 16].into();
    for _ in 0..3 {
        cipher.encrypt_block(&mut block);
    }
    fold(block.into_iter().map(u64::from))
}

pub fn matrix_product() -> u64 {
    const N: usize = 8;
    let a: Vec<f64> = (0..N * N).map(|n| n as f64).collect();
    let mut c = vec![0.0; N * N];
    for i in 0..N {
        for k in 0..N {
            for j in 0..N {
                c[i * N + j] += a[i * N + k] * a[k * N + j];
            }
        }
    }
    fold(c.into_iter().map(f64::to_bits))
}

pub fn division() -> u64 {
    random_numbers(50)
        .windows(2)
        .map(|pair| pair[0] / (pair[1] >> 40 | 1) + pair[0] % (pair[1] >> 50 | 1))
        .fold(0, u64::wrapping_add)
}

pub fn wide_division() -> u64 {
    random_numbers(20)
        .chunks(2)
        .map(|pair| {
            let wide = u128::from(pair[0]) << 64 | u128::from(pair[1]);
            (wide / u128::from(pair[1] >> 9 | 1)) as u64 ^ (wide % 1_000_000_007) as u64
        })
        .fold(0, u64::wrapping_add)
}

pub fn x87() -> u64 {
    let mut result = 0_u64;
    let (a, b) = (3.25_f64, 7.5_f64);
    let mut mode = 0_u16;
    for _ in 0..20 {
        // SAFETY: x87 instructions on local variables; the stack is empty again at the end.
        unsafe {
            asm!(
                "fld qword ptr [{a}]",
                "fadd qword ptr [{b}]",
                "fld st(0)",
                "fmulp st(1), st",
                "fsqrt",
                "fldpi",
                "fxch",
                "fpatan",
                "fstp qword ptr [{result}]",
                "fnstcw [{mode}]",
                a = in(reg) &a,
                b = in(reg) &b,
                result = in(reg) &mut result,
                mode = in(reg) &mut mode,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack)
            );
        }
    }
    result ^ u64::from(mode)
}

/// Control words of both units, which the tracer itself must neither obey nor change.
pub fn rounding_modes() -> u64 {
    let (mut mxcsr, mut x87) = (0_u32, 0_u16);
    let third = |n: u64| (1.0 / black_box((3 * n + 1) as f64)).to_bits();
    let sums = [0x1f80_u32, 0x3f80, 0x5f80, 0xff80].map(|mode| {
        // SAFETY: sets MXCSR to round to nearest, down, up, and to zero with denormals flushed; it
        // is set back below.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, readonly)) };
        // New code, loops, an allocation and a system call: all ways into the tracer.
        let is_read = std::fs::read("/dev/null").is_ok();
        let sum = fold((0..black_box(40)).map(third)) ^ u64::from(is_read);
        // SAFETY: reads MXCSR, then sets the default.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &mut mxcsr, options(nostack));
            asm!("ldmxcsr [{}]", in(reg) &0x1f80_u32, options(nostack, readonly));
        }
        // The lowest six bits tell what has happened.
        sum ^ u64::from(mxcsr & 0xffc0) << 32
    });
    // SAFETY: sets x87 to 24 bits of precision, rounding up, and back; the stack stays empty.
    unsafe { asm!("fldcw [{}]", in(reg) &0x0b7f_u16, options(nostack, readonly)) };
    let exists = std::path::Path::new("/dev/null").exists();
    // SAFETY: as above.
    unsafe {
        asm!("fnstcw [{}]", in(reg) &mut x87, options(nostack));
        asm!("fldcw [{}]", in(reg) &0x037f_u16, options(nostack, readonly));
    }
    fold(sums) ^ u64::from(x87) << 1 ^ u64::from(exists)
}

/// What compilers emit rarely: 32-bit addresses, segments, a pop relative to the stack pointer that
/// it moves, and an index without a base.
pub fn address_forms() -> u64 {
    const BYTES: usize = 4096;
    let (mut sum, thread): (u64, u64);
    // SAFETY: a mapping of its own in the lowest 4 GiB, which all operands but the last two use:
    // the thread control block holds its own address, and the stack is as it was.
    unsafe {
        let low = libc::mmap(
            std::ptr::without_provenance_mut(0x1000_0000),
            BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        );
        assert_ne!(low, libc::MAP_FAILED);
        asm!(
            "mov qword ptr [{low:e} + 8], 40", // with the prefix 67h
            "mov {sum}, gs:[{low} + 8]",
            "lea {index}, [{low} + 8]",
            "shr {index}, 3",
            "add {sum}, [{index} * 8]",
            "add {sum:e}, [{index:e} * 8]",
            "mov {thread}, fs:[0]",
            "sub {thread}, fs:[{zero}]",
            "push {sum}",
            "push 2",
            "pop qword ptr [rsp]",
            "pop {index}",
            "add {sum}, {index}",
            low = in(reg) low,
            zero = in(reg) 0_u64,
            index = out(reg) _,
            sum = out(reg) sum,
            thread = out(reg) thread,
        );
        libc::munmap(low, BYTES);
    }
    sum += thread;
    sum
}

pub fn libm() -> u64 {
    fold((1..20).map(|n| {
        let x = f64::from(black_box(n));
        (x.sin() + x.exp().ln() + x.powf(0.3) + x.tanh()).to_bits()
    }))
}

pub fn string_instructions() -> u64 {
    let source: Vec<u8> = (0..=255).collect();
    let mut target = vec![0_u8; 256];
    let (remaining, compared, longs): (u64, u64, u64);
    // SAFETY: all pointers stay inside the two vectors of 256 bytes.
    unsafe {
        asm!("rep movsb", inout("rsi") source.as_ptr() => _, inout("rdi") target.as_mut_ptr() => _,
            inout("rcx") 100_u64 => _, options(nostack));
        asm!("rep movsq", inout("rsi") source.as_ptr() => _,
            inout("rdi") target.as_mut_ptr().add(100) => _,
            inout("rcx") 10_u64 => longs, options(nostack));
        asm!("rep stosb", inout("rdi") target.as_mut_ptr().add(180) => _,
            inout("rcx") 20_u64 => _, in("al") 7_u8, options(nostack));
        asm!("repne scasb", inout("rdi") source.as_ptr() => _, inout("rcx") 256_u64 => remaining,
            in("al") 77_u8, options(nostack));
        asm!("repe cmpsb", inout("rsi") source.as_ptr() => _,
            inout("rdi") target.as_ptr() => _, inout("rcx") 256_u64 => compared,
            options(nostack));
        asm!("rep movsb", inout("rsi") source.as_ptr() => _, inout("rdi") target.as_mut_ptr() => _,
            inout("rcx") 0_u64 => _, options(nostack));
        asm!("lodsb", "stosb", inout("rsi") source.as_ptr().add(3) => _,
            inout("rdi") target.as_mut_ptr() => _, out("al") _, options(nostack));
    }
    fold(target.into_iter().map(u64::from)) ^ remaining << 32 ^ compared << 16 ^ longs
}

pub fn atomics() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    let value = AtomicU64::new(1);
    for n in 0..30 {
        value.fetch_add(n, SeqCst);
        value.fetch_xor(n << 7, SeqCst);
        value.swap(value.load(SeqCst) + 1, SeqCst);
        let _ = value.compare_exchange(n, 5, SeqCst, SeqCst);
    }
    value.into_inner()
}

pub fn avx2_gather() -> u64 {
    if !is_x86_feature_detected!("avx2") {
        return 0;
    }
    let values: Vec<u32> = (0..64).map(|n| n * n).collect();
    let mut sums = [0_u32; 8];
    // SAFETY: the CPU has AVX2; indices 0, 9, ... 63 lie inside `values`; every other element is
    // masked out.
    unsafe {
        asm!(
            "vmovdqu ymm1, [{indices}]",
            "vpcmpeqd ymm2, ymm2, ymm2",
            "vpslldq ymm3, ymm2, 4",
            "vpxor ymm4, ymm4, ymm4",
            "vpgatherdd ymm4, [{values} + ymm1*4], ymm3",
            "vpcmpeqd ymm2, ymm2, ymm2",
            "vpmovsxdq ymm1, xmm1",
            "vpgatherqq ymm0, [{values} + ymm1*4], ymm2",
            "vpaddd ymm0, ymm0, ymm4",
            "vmovdqu [{sums}], ymm0",
            "vzeroupper",
            indices = in(reg) [0_u32, 9, 18, 27, 36, 45, 54, 62].as_ptr(),
            values = in(reg) values.as_ptr(),
            sums = in(reg) sums.as_mut_ptr(),
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _,
            options(nostack)
        );
    }
    fold(sums.into_iter().map(u64::from))
}

pub fn avx512() -> u64 {
    if !is_x86_feature_detected!("avx512f") {
        return 0;
    }
    let values: Vec<u32> = (0..64).map(|n| n * 7).collect();
    let mut results = [0_u32; 16];
    // SAFETY: the CPU has AVX-512; indices stay below 64; `results` has 64 bytes.
    unsafe {
        asm!(
            "vpbroadcastd zmm17, {three:e}",
            "vmovdqu32 zmm18, [{values}]",
            "mov {three:e}, 0x5a5a",
            "kmovw k1, {three:e}",
            "kmovw k2, k1",
            "vpandd zmm19, zmm18, zmm17",
            "vpgatherdd zmm20{{k1}}, [{values} + zmm19*4 + 8]",
            "vpaddd zmm18, zmm18, dword ptr [{values} + 40]{{1to16}}",
            "vpaddd zmm20{{k2}}{{z}}, zmm20, zmm18",
            "kmovw k1, k2",
            "vpscatterdd [{results} + zmm19*4]{{k1}}, zmm20",
            "vpaddd zmm20, zmm20, [{results}]",
            "vmovdqu32 [{results}], zmm20",
            "vzeroupper",
            three = inout(reg) 3_u32 => _,
            values = in(reg) values.as_ptr(),
            results = in(reg) results.as_mut_ptr(),
            out("zmm17") _, out("zmm18") _, out("zmm19") _, out("zmm20") _,
            out("k1") _, out("k2") _,
            options(nostack)
        );
    }
    fold(results.into_iter().map(u64::from))
}

pub fn bits() -> u64 {
    fold(random_numbers(60).into_iter().map(|n| {
        let isolated = n & n.wrapping_neg();
        u64::from(n.count_ones() + n.leading_zeros() * 3 + n.trailing_zeros() * 5)
            ^ n.reverse_bits()
            ^ n.rotate_right((n % 64) as u32)
            ^ isolated.swap_bytes()
    }))
}

pub fn single_precision_sum() -> u64 {
    let a: Vec<f32> = (0..500).map(|n| n as f32 * 0.5).collect();
    let b: Vec<f32> = (0..500).map(|n| 1.0 / (n as f32 + 1.0)).collect();
    let mut lanes = [0.0_f32; 8];
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for lane in 0..8 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    fold(lanes.map(|lane| u64::from(lane.to_bits())))
}

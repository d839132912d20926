//! Arithmetic: fully parallel, and fully serial.

/// Executes `rounds` × 8 additions to eight registers: nothing waits, so nearly every slot retires.
#[inline(never)]
pub fn independent_adds(rounds: u64) -> u64 {
    let mut sums = [1_u64; 8];
    for _ in 0..rounds {
        add_to_each(&mut sums);
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn add_to_each(sums: &mut [u64; 8]) {
    let [a, b, c, d, e, f, g, h] = sums;
    // SAFETY: only the named registers and the flags change; no memory is touched.
    unsafe {
        std::arch::asm!(
            "add {a}, 1",
            "add {b}, 2",
            "add {c}, 3",
            "add {d}, 4",
            "add {e}, 5",
            "add {f}, 6",
            "add {g}, 7",
            "add {h}, 8",
            a = inout(reg) * a,
            b = inout(reg) * b,
            c = inout(reg) * c,
            d = inout(reg) * d,
            e = inout(reg) * e,
            f = inout(reg) * f,
            g = inout(reg) * g,
            h = inout(reg) * h,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn add_to_each(sums: &mut [u64; 8]) {
    let [a, b, c, d, e, f, g, h] = sums;
    // SAFETY: only the named registers change; no memory is touched.
    unsafe {
        std::arch::asm!(
            "add {a}, {a}, 1",
            "add {b}, {b}, 2",
            "add {c}, {c}, 3",
            "add {d}, {d}, 4",
            "add {e}, {e}, 5",
            "add {f}, {f}, 6",
            "add {g}, {g}, 7",
            "add {h}, {h}, 8",
            a = inout(reg) * a,
            b = inout(reg) * b,
            c = inout(reg) * c,
            d = inout(reg) * d,
            e = inout(reg) * e,
            f = inout(reg) * f,
            g = inout(reg) * g,
            h = inout(reg) * h,
            options(nomem, nostack, preserves_flags),
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn add_to_each(sums: &mut [u64; 8]) {
    for (step, sum) in (1..).zip(sums) {
        *sum = std::hint::black_box(sum.wrapping_add(step));
    }
}

/// Executes `length` multiplications, each of the previous result: pure latency.
#[inline(never)]
pub fn multiply_chain(seed: u64, length: u64) -> u64 {
    (0..length).fold(seed, |product, _| {
        black_box_register(product).wrapping_mul(0x9e37_79b9)
    })
}

/// Executes `length` divisions, each depending on the previous result.
#[inline(never)]
pub fn divide_chain(seed: u64, length: u64) -> u64 {
    // Opaque, since compilers turn a division by a known number into a multiplication.
    let divisor = black_box_register(1_000_003);
    // The quotient is small; XORing the seed makes every dividend as long as the first.
    (0..length).fold(seed, |dividend, _| {
        (black_box_register(dividend) / divisor) ^ seed
    })
}

/// Like [`std::hint::black_box`], but the value stays in a register: the chain must not pass
/// through memory.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn black_box_register(value: u64) -> u64 {
    let mut value = value;
    // SAFETY: the assembly is empty.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack)) };
    value
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn black_box_register(value: u64) -> u64 {
    std::hint::black_box(value)
}

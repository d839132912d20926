//! System calls without the C library, which would change `errno`.

use std::arch::asm;

/// Makes a system call and returns the kernel's result.
///
/// # Safety
/// Same as for the system call with this number.
pub(crate) unsafe fn call(number: libc::c_long, arguments: [u64; 6]) -> u64 {
    let result;
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: promised by the caller; the kernel overwrites rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first, in("rsi") second, in("rdx") third,
            in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Returns whether `result` is an error, which the kernel returns as its negated number.
pub(crate) fn is_error(result: u64) -> bool {
    result > -4096_i64 as u64
}

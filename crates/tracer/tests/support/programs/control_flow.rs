//! Calls, jumps and unwinding.

use std::arch::asm;
use std::hint::black_box;

use super::random_numbers;

pub fn recursion() -> u64 {
    fn fibonacci(n: u64) -> u64 {
        if n < 2 {
            n
        } else {
            fibonacci(n - 1) + fibonacci(n - 2)
        }
    }
    fn ackermann(m: u64, n: u64) -> u64 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    fibonacci(black_box(10)) + ackermann(2, black_box(4))
}

pub fn function_pointers() -> u64 {
    let functions: [fn(u64) -> u64; 4] = [
        |n| n.wrapping_add(1),
        |n| n.wrapping_mul(3),
        |n| n ^ 0xff,
        u64::swap_bytes,
    ];
    random_numbers(100)
        .into_iter()
        .fold(0, |sum, n| functions[(n % 4) as usize](sum).wrapping_add(n))
}

pub fn trait_objects() -> u64 {
    trait Shape {
        fn area(&self) -> u64;
    }
    struct Square(u64);
    struct Rectangle(u64, u64);
    impl Shape for Square {
        fn area(&self) -> u64 {
            self.0 * self.0
        }
    }
    impl Shape for Rectangle {
        fn area(&self) -> u64 {
            self.0 * self.1
        }
    }
    let shapes: Vec<Box<dyn Shape>> = (0..30)
        .map(|n| -> Box<dyn Shape> {
            if n % 3 == 0 {
                Box::new(Square(n))
            } else {
                Box::new(Rectangle(n, n + 1))
            }
        })
        .collect();
    shapes.iter().map(|shape| shape.area()).sum()
}

pub fn jump_table() -> u64 {
    random_numbers(200)
        .into_iter()
        .fold(1, |value: u64, n| match n % 9 {
            0 => value.wrapping_add(n),
            1 => value ^ n,
            2 => value.rotate_left(7),
            3 => value.wrapping_mul(5),
            4 => !value,
            5 => value >> 1,
            6 => value.swap_bytes(),
            7 => value.wrapping_sub(n),
            _ => value.count_ones().into(),
        })
}

pub fn panic_and_catch() -> u64 {
    let caught = std::panic::catch_unwind(|| {
        let values = black_box(vec![1_u64, 2, 3]);
        std::panic::resume_unwind(Box::new(values.len() as u64));
    });
    *caught.unwrap_err().downcast::<u64>().unwrap()
}

pub fn panic_with_drops() -> u64 {
    use std::cell::Cell;
    struct Count<'a>(&'a Cell<u64>);
    impl Drop for Count<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    fn down(depth: u64, drops: &Cell<u64>) -> u64 {
        let _count = Count(drops);
        if depth == 0 {
            std::panic::resume_unwind(Box::new(()));
        }
        down(depth - 1, drops) + 1
    }
    let drops = Cell::new(0);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| down(3, &drops)));
    assert!(result.is_err());
    drops.get()
}

pub fn backtrace() -> u64 {
    // Walks the stack, without the names, which would take millions of instructions.
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            trace: extern "C" fn(*mut std::ffi::c_void, *mut u64) -> i32,
            argument: *mut u64,
        ) -> i32;
        fn _Unwind_GetIP(context: *mut std::ffi::c_void) -> usize;
    }
    /// Stops at the second frame: those below depend on how this program was started.
    extern "C" fn frame(context: *mut std::ffi::c_void, sum: *mut u64) -> i32 {
        const NO_REASON: i32 = 0;
        const NORMAL_STOP: i32 = 4;
        // SAFETY: the unwinder passes its context and the pointer that it was given below.
        unsafe {
            if *sum != 0 {
                return NORMAL_STOP;
            }
            *sum = _Unwind_GetIP(context) as u64;
        }
        NO_REASON
    }
    let mut sum = 0;
    // SAFETY: declared as in unwind.h.
    unsafe { _Unwind_Backtrace(frame, &mut sum) };
    sum
}

pub fn jump_back() -> u64 {
    unsafe extern "C" {
        fn _setjmp(buffer: *mut u64) -> i32;
        fn longjmp(buffer: *mut u64, value: i32) -> !;
    }
    // A Rust function must not return twice: the buffer is filled and used in assembly, and
    // libc's `longjmp` jumps back into it.
    let mut buffer = [0_u64; 32];
    let result: u64;
    // SAFETY: the frame that `_setjmp` saw still exists when `longjmp` goes back to it; all
    // registers that a call may change are given up.
    unsafe {
        asm!(
            "push rbx",
            "push r12",
            "mov rbx, rsp",
            "mov r12, rdi",
            "and rsp, -16",
            "call {setjmp}",
            "cmp eax, 3",
            "jge 2f",
            "lea esi, [rax + 1]",
            "mov rdi, r12",
            "call {longjmp}",
            "2:",
            "mov rsp, rbx",
            "pop r12",
            "pop rbx",
            setjmp = sym _setjmp,
            longjmp = sym longjmp,
            inout("rdi") buffer.as_mut_ptr() => _,
            out("rax") result,
            clobber_abi("C"),
        );
    }
    result
}

pub fn large_stack_frame() -> u64 {
    #[inline(never)]
    fn frame(seed: u8) -> u64 {
        let mut bytes = [seed; 40_000];
        black_box(&mut bytes);
        u64::from(bytes[39_999]) + u64::from(bytes[1])
    }
    frame(3) + frame(4)
}

pub fn count_branches() -> u64 {
    let result: u64;
    // SAFETY: registers only.
    unsafe {
        asm!(
            "xor eax, eax",
            "mov ecx, 20",
            "2:",
            "add rax, rcx",
            "loop 2b",
            "jrcxz 3f",
            "add rax, 1000",
            "3:",
            "mov ecx, 5",
            "4:",
            "add rax, 3",
            "cmp rax, 220",
            "loopne 4b",
            "mov rcx, 0x100000000",
            "jecxz 5f",
            "add rax, 5000",
            "5:",
            "mov ecx, 9",
            "6:",
            "add eax, 2",
            "test al, 3",
            "loope 6b",
            out("rax") result,
            out("rcx") _,
            options(nostack)
        );
    }
    result
}

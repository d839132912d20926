//! Programs that keep a stack of their own, which is the truth about their call paths.

use std::arch::global_asm;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

pub type Function = fn(u64) -> u64;

/// Calls by path, in which a function that is called again continues where it was.
#[derive(Default)]
pub struct Truth {
    open: Vec<Vec<u64>>,
    pub calls: BTreeMap<Vec<u64>, u64>,
}

thread_local! {
    pub static TRUTH: RefCell<Truth> = RefCell::default();
}

/// Whether they keep a stack: without it, they execute a tenth of the instructions.
pub static KEEP_STACKS: AtomicBool = AtomicBool::new(true);

fn enter(function: Function) {
    if !KEEP_STACKS.load(Ordering::Relaxed) {
        return;
    }
    TRUTH.with_borrow_mut(|truth| {
        let mut path = truth.open.last().cloned().unwrap_or_default();
        let address = function as usize as u64;
        match path.iter().position(|known| *known == address) {
            Some(place) => path.truncate(place + 1),
            None => path.push(address),
        }
        *truth.calls.entry(path.clone()).or_default() += 1;
        truth.open.push(path);
    });
}

fn leave() {
    TRUTH.with_borrow_mut(|truth| truth.open.pop());
}

fn depth() -> usize {
    TRUTH.with_borrow(|truth| truth.open.len())
}

fn leave_to(depth: usize) {
    TRUTH.with_borrow_mut(|truth| truth.open.truncate(depth));
}

#[inline(never)]
pub fn leaf(n: u64) -> u64 {
    enter(leaf);
    leave();
    black_box(n)
}

#[inline(never)]
pub fn twice(n: u64) -> u64 {
    enter(twice);
    let sum = leaf(n) + leaf(n + 1);
    leave();
    sum
}

#[inline(never)]
pub fn fibonacci(n: u64) -> u64 {
    enter(fibonacci);
    let sum = match n {
        0 | 1 => leaf(n),
        _ => fibonacci(n - 1) + fibonacci(n - 2),
    };
    leave();
    sum
}

#[inline(never)]
pub fn even(n: u64) -> u64 {
    enter(even);
    let result = if n == 0 { leaf(1) } else { odd(n - 1) };
    leave();
    result
}

#[inline(never)]
pub fn odd(n: u64) -> u64 {
    enter(odd);
    let result = if n == 0 { leaf(0) } else { even(n - 1) };
    leave();
    result
}

#[inline(never)]
pub fn panics(n: u64) -> u64 {
    enter(panics);
    if n == 0 {
        resume_unwind(Box::new(()));
    }
    let result = panics(n - 1) + twice(n);
    leave();
    result
}

#[inline(never)]
pub fn catches(n: u64) -> u64 {
    enter(catches);
    let before = depth();
    let result = catch_unwind(AssertUnwindSafe(|| panics(n))).unwrap_or(7);
    leave_to(before);
    let result = result + leaf(n);
    leave();
    result
}

#[inline(never)]
pub fn pointed(n: u64) -> u64 {
    enter(pointed);
    let functions: [Function; 2] = [leaf, twice];
    let result = (0..n)
        .map(|k| black_box(functions)[(k % 2) as usize](k))
        .sum();
    leave();
    result
}

global_asm!(
    ".globl topdown_test_set_jump",
    "topdown_test_set_jump:",
    "lea rax, [rsp + 8]",
    "mov [rdi], rax",
    "mov rax, [rsp]",
    "mov [rdi + 8], rax",
    "mov [rdi + 16], rbx",
    "mov [rdi + 24], rbp",
    "mov [rdi + 32], r12",
    "mov [rdi + 40], r13",
    "mov [rdi + 48], r14",
    "mov [rdi + 56], r15",
    "mov rdi, rsi",
    "sub rsp, 8",
    "call rdx",
    "add rsp, 8",
    "ret",
    ".globl topdown_test_long_jump",
    "topdown_test_long_jump:",
    "mov rbx, [rdi + 16]",
    "mov rbp, [rdi + 24]",
    "mov r12, [rdi + 32]",
    "mov r13, [rdi + 40]",
    "mov r14, [rdi + 48]",
    "mov r15, [rdi + 56]",
    "mov rsp, [rdi]",
    "mov rax, 5",
    "jmp [rdi + 8]",
    ".globl topdown_test_tail_call",
    "topdown_test_tail_call:",
    "jmp rsi",
);

#[derive(Default)]
#[repr(C)]
struct Registers([u64; 8]);

unsafe extern "C" {
    /// Saves the registers to return with, and calls a function.
    fn topdown_test_set_jump(to: *mut Registers, n: u64, work: extern "C" fn(u64) -> u64) -> u64;
    /// Returns 5 from `topdown_test_set_jump`.
    fn topdown_test_long_jump(to: *const Registers) -> !;
    /// Calls a function in place of itself.
    fn topdown_test_tail_call(n: u64, work: extern "C" fn(u64) -> u64) -> u64;
}

thread_local! {
    static REGISTERS: RefCell<Registers> = RefCell::default();
}

#[inline(never)]
pub fn leaves(n: u64) -> u64 {
    enter(leaves);
    if n == 0 {
        let to = REGISTERS.with(RefCell::as_ptr);
        // SAFETY: `jumps` called `topdown_test_set_jump`, which has not returned. The frames in
        // between own nothing.
        unsafe { topdown_test_long_jump(to) };
    }
    let result = twice(n) + leaves(n - 1);
    leave();
    result
}

extern "C" fn leaves_at_last(n: u64) -> u64 {
    leaves(n)
}

#[inline(never)]
pub fn jumps(n: u64) -> u64 {
    enter(jumps);
    let before = depth();
    let to = REGISTERS.with(RefCell::as_ptr);
    // SAFETY: the registers outlive the call.
    let five = unsafe { topdown_test_set_jump(to, n, leaves_at_last) };
    leave_to(before);
    let result = leaf(n) + five;
    leave();
    result
}

extern "C" fn twice_in_place(n: u64) -> u64 {
    twice(n)
}

#[inline(never)]
pub fn tail(n: u64) -> u64 {
    enter(tail);
    // SAFETY: jumps to a function of the same signature.
    let result = unsafe { topdown_test_tail_call(n, twice_in_place) } + leaf(n);
    leave();
    result
}

trait Shape {
    fn area(&self, n: u64) -> u64;
}

struct Square;
struct Pair(Box<dyn Shape>, Box<dyn Fn(u64) -> u64>);

impl Shape for Square {
    fn area(&self, n: u64) -> u64 {
        // The sum keeps the compiler from a jump to the function.
        twice(n) + 1
    }
}

impl Shape for Pair {
    fn area(&self, n: u64) -> u64 {
        self.0.area(n) + self.1(n)
    }
}

/// Through tables of methods and boxed closures.
#[inline(never)]
pub fn dynamic(n: u64) -> u64 {
    enter(dynamic);
    let added = black_box(n);
    let mut shape: Box<dyn Shape> = Box::new(Square);
    for _ in 0..n {
        shape = Box::new(Pair(shape, Box::new(move |k| leaf(k + added) + 1)));
    }
    let result = black_box(shape).area(n);
    leave();
    result
}

/// Calls a function when it is dropped, perhaps while the stack unwinds.
struct Guard(usize);

impl Drop for Guard {
    fn drop(&mut self) {
        leave_to(self.0);
        black_box(twice(1));
    }
}

#[inline(never)]
pub fn guarded(n: u64) -> u64 {
    enter(guarded);
    let _guard = Guard(depth());
    let result = match n {
        0 => panics(2),
        _ => guarded(n - 1) + leaf(n),
    };
    leave_to(_guard.0);
    drop(_guard);
    leave();
    result
}

/// A panic that is caught half-way and continues.
#[inline(never)]
pub fn rethrows(n: u64) -> u64 {
    enter(rethrows);
    let before = depth();
    let thrown = catch_unwind(|| guarded(n)).unwrap_err();
    leave_to(before);
    leaf(n);
    let caught = catch_unwind(AssertUnwindSafe(|| resume_unwind(thrown)));
    leave_to(before);
    let result = twice(n) + u64::from(caught.is_err());
    leave();
    result
}

/// Code of the standard library calls back.
#[inline(never)]
pub fn sorted(n: u64) -> u64 {
    enter(sorted);
    let mut numbers: Vec<u64> = (0..10 * n).map(|k| k * 7919 % 101).collect();
    numbers.sort_by_key(|number| leaf(*number));
    let result = numbers[3] + numbers.iter().map(|k| twice(*k)).sum::<u64>();
    leave();
    result
}

/// Another thread calls the same functions.
#[inline(never)]
pub fn on_another_thread(n: u64) -> u64 {
    enter(on_another_thread);
    let ends = AtomicBool::new(false);
    let order = Ordering::Relaxed;
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(order) {
                black_box(fibonacci(5));
            }
        });
        let result = fibonacci(n) + twice(n);
        ends.store(true, order);
        result
    });
    leave();
    result
}

#[inline(never)]
pub fn deep(n: u64) -> u64 {
    enter(deep);
    let result = match n {
        0 => twice(n),
        _ => deep(n - 1) + 1,
    };
    leave();
    result
}

pub const FUNCTIONS: [Function; 17] = [
    leaf,
    twice,
    fibonacci,
    even,
    odd,
    panics,
    catches,
    pointed,
    leaves,
    jumps,
    tail,
    dynamic,
    guarded,
    rethrows,
    sorted,
    on_another_thread,
    deep,
];

/// The programs, and how often each repeats itself.
pub const PROGRAMS: [(Function, u64); 12] = [
    (twice, 1),
    (fibonacci, 9),
    (even, 7),
    (catches, 3),
    (pointed, 5),
    (jumps, 4),
    (tail, 2),
    (dynamic, 4),
    (rethrows, 3),
    (sorted, 4),
    (on_another_thread, 6),
    (deep, 1000),
];

/// Returns whether a function of the programs begins here.
pub fn is_known(address: u64) -> bool {
    FUNCTIONS.iter().any(|f| *f as usize as u64 == address)
}

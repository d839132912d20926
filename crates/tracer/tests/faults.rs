//! Faults of traced code: the program's handlers see the program's state, and what they do to it
//! counts.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/child.rs"]
mod child;
#[path = "support/count.rs"]
mod count;
#[path = "support/traced.rs"]
mod traced;

use std::arch::asm;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use child::in_child;
use count::tracer;
use topdown_tracer::{End, TraceError};
use traced::traced;

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// A handler for a signal, put back on drop. Handlers belong to the process: one test at a time.
struct Installed {
    signal: i32,
    before: libc::sigaction,
    alone: Option<MutexGuard<'static, ()>>,
}

static ALONE: Mutex<()> = Mutex::new(());

fn install(signal: i32, handler: Handler) -> Installed {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut installed = install_too(signal, handler, 0);
    installed.alone = Some(alone);
    installed
}

fn install_too(signal: i32, handler: Handler, flags: i32) -> Installed {
    // SAFETY: the tests' handlers do no more than a handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        let mut before = std::mem::zeroed();
        assert_eq!(libc::sigaction(signal, &action, &mut before), 0);
        Installed {
            signal,
            before,
            alone: None,
        }
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // SAFETY: what was there before.
        unsafe { libc::sigaction(self.signal, &self.before, ptr::null_mut()) };
    }
}

fn handler_of(signal: i32) -> usize {
    // SAFETY: asks only.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut now);
        now.sa_sigaction
    }
}

/// The interrupted registers.
///
/// # Safety
/// `context` is what the kernel passed to a handler that is still running.
unsafe fn registers<'a>(context: *mut libc::c_void) -> &'a mut [i64; 23] {
    // SAFETY: the caller's promise.
    unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs }
}

// ---- what the handler sees ----

static SEEN: [AtomicU64; 23] = [const { AtomicU64::new(0) }; 23];

fn seen(place: i32) -> u64 {
    SEEN[place as usize].load(Ordering::Relaxed)
}

/// Writes down all registers, changes one and continues after the instruction, which has three
/// bytes.
extern "C" fn note_and_skip(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: passed by the kernel.
    let registers = unsafe { registers(context) };
    for (cell, register) in SEEN.iter().zip(registers.iter()) {
        cell.store(*register as u64, Ordering::Relaxed);
    }
    registers[libc::REG_RAX as usize] = 77;
    registers[libc::REG_RIP as usize] += 3;
}

#[test]
fn handler_sees_and_changes_program_registers() {
    let _installed = install(libc::SIGSEGV, note_and_skip);
    let ((result, untouched, ip), end) = traced(|| {
        let (mut value, ip): (u64, u64);
        let mut kept = [0_u64; 8];
        // SAFETY: the handler continues after the load. The jump begins a new block: of it, the
        // tracer knows that these registers are free to be borrowed.
        unsafe {
            asm!(
                "mov r8, 108", "mov r9, 109", "mov r10, 110", "mov r11, 111",
                "mov rcx, 101", "mov rdx, 102", "mov rsi, 106", "mov rdi, 107",
                "xor eax, eax",
                "jmp 2f",
                "2:",
                "add rax, 0",
                "3: mov rax, [rax]",
                "jmp 4f",
                "4:",
                "mov [{kept}], r8", "mov [{kept} + 8], r9",
                "mov [{kept} + 16], r10", "mov [{kept} + 24], r11",
                "mov [{kept} + 32], rcx", "mov [{kept} + 40], rdx",
                "mov [{kept} + 48], rsi", "mov [{kept} + 56], rdi",
                "lea {ip}, [rip + 3b]",
                kept = in(reg) kept.as_mut_ptr(),
                ip = lateout(reg) ip,
                out("rax") value,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                out("rcx") _, out("rdx") _, out("rsi") _, out("rdi") _,
                options(nostack)
            );
        }
        value += 1;
        (value, kept, ip)
    });
    assert_eq!(result, 78);
    assert_eq!(untouched, [108, 109, 110, 111, 101, 102, 106, 107]);
    assert_eq!(seen(libc::REG_RIP), ip);
    let places = [
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RSI,
        libc::REG_RDI,
    ];
    assert_eq!(places.map(seen), untouched);
    let signal = libc::SIGSEGV;
    assert_eq!(end, Err(TraceError::Fault { signal, ip }));
    let text = end.unwrap_err().to_string();
    assert!(text.contains("raised signal 11"), "{text}");
}

/// The divisor is in r9: the division is repeated with another one.
extern "C" fn divide_by_five(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: passed by the kernel.
    unsafe { registers(context)[libc::REG_R9 as usize] = 5 };
}

#[test]
fn instruction_repeats_with_registers_of_handler() {
    let _installed = install(libc::SIGFPE, divide_by_five);
    let (result, end) = traced(|| {
        let result: u64;
        // SAFETY: divides by r9, into which the handler puts a divisor.
        unsafe {
            asm!(
                "xor r9d, r9d", "jmp 2f", "2:", "mov eax, 100", "xor edx, edx", "div r9",
                out("rax") result, out("rdx") _, out("r9") _, options(nostack)
            );
        }
        result
    });
    assert_eq!(result, 20);
    assert!(
        matches!(end, Err(TraceError::Fault { signal, .. }) if signal == libc::SIGFPE),
        "{end:?}"
    );
}

static TABLE: [extern "C" fn() -> u64; 1] = [eleven];

extern "C" fn eleven() -> u64 {
    11
}

/// rax held no table: gives it one, and the branch is repeated.
extern "C" fn bring_the_table(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: passed by the kernel.
    let registers = unsafe { registers(context) };
    SEEN[0].store(registers[libc::REG_RCX as usize] as u64, Ordering::Relaxed);
    registers[libc::REG_RAX as usize] = TABLE.as_ptr() as i64;
}

#[test]
fn indirect_call_with_unreadable_target_is_repeated() {
    let _installed = install(libc::SIGSEGV, bring_the_table);
    let (result, end) = traced(|| {
        let result: u64;
        // SAFETY: the handler brings a table of one function.
        unsafe {
            asm!(
                "mov rcx, 1234", "xor eax, eax", "call [rax]",
                out("rax") result, clobber_abi("C")
            );
        }
        result
    });
    assert_eq!(result, 11);
    assert_eq!(seen(0), 1234);
    assert!(matches!(end, Err(TraceError::Fault { .. })), "{end:?}");
}

/// The stack pointer was in no man's land; the right one is in rbx.
extern "C" fn bring_the_stack(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: passed by the kernel.
    let registers = unsafe { registers(context) };
    registers[libc::REG_RSP as usize] = registers[libc::REG_R12 as usize];
}

#[test]
fn call_without_a_stack_is_repeated() {
    let mut stack = vec![0_u8; 64 * 1024];
    let signals = libc::stack_t {
        ss_sp: stack.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: stack.len(),
    };
    let alone = install(libc::SIGSEGV, bring_the_stack);
    let mut before = signals;
    // SAFETY: `stack` lives until the old one is put back.
    unsafe { libc::sigaltstack(&signals, &mut before) };
    let on_stack = install_too(libc::SIGSEGV, bring_the_stack, libc::SA_ONSTACK);
    let (result, end) = traced(|| {
        let result: u64;
        // SAFETY: the handler brings the stack back.
        unsafe {
            asm!(
                "mov r12, rsp", "xor esp, esp", "jmp 2f", "2:", "call {eleven}",
                eleven = sym eleven, out("rax") result, out("r12") _, clobber_abi("C")
            );
        }
        result
    });
    drop(on_stack);
    // SAFETY: what was there before.
    unsafe { libc::sigaltstack(&before, ptr::null_mut()) };
    drop(alone);
    assert_eq!(result, 11);
    assert!(matches!(end, Err(TraceError::Fault { .. })), "{end:?}");
}

// ---- faults that are repaired in memory ----

static PAGE: AtomicU64 = AtomicU64::new(0);
const PAGE_BYTES: usize = 4096;

extern "C" fn make_the_page_readable(
    _: i32,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let page = PAGE.load(Ordering::Relaxed);
    // SAFETY: passed by the kernel; the page is the test's own.
    unsafe {
        assert_eq!((*info).si_addr() as u64, page + 8);
        libc::mprotect(page as *mut libc::c_void, PAGE_BYTES, libc::PROT_READ);
    }
}

#[test]
fn fault_repaired_in_memory_continues_the_trace() {
    let _installed = install(libc::SIGSEGV, make_the_page_readable);
    // SAFETY: a new mapping, which nobody can read yet.
    let page = unsafe {
        libc::mmap(
            ptr::null_mut(),
            PAGE_BYTES,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    PAGE.store(page as u64, Ordering::Relaxed);
    // SAFETY: the handler makes it readable.
    let (value, end) = traced(|| unsafe { page.cast::<u64>().add(1).read_volatile() });
    assert_eq!((value, end), (0, Ok(End::Detach)));
    // SAFETY: the mapping from above.
    unsafe { libc::munmap(page, PAGE_BYTES) };
}

// ---- handlers that do not return ----

unsafe extern "C" {
    fn __sigsetjmp(buffer: *mut u64, save_mask: i32) -> i32;
    fn siglongjmp(buffer: *mut u64, value: i32) -> !;
}

/// What glibc calls a `sigjmp_buf`, which has 200 bytes.
struct JumpBuffer(std::cell::UnsafeCell<[u64; 32]>);

// SAFETY: used by one test at a time, on one thread.
unsafe impl Sync for JumpBuffer {}

static JUMP: JumpBuffer = JumpBuffer(std::cell::UnsafeCell::new([0; 32]));

extern "C" fn jump_out(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: `until_jump` has filled the buffer, and its frame still exists.
    unsafe { siglongjmp(JUMP.0.get().cast(), 5) }
}

/// Executes `body`, which a handler leaves by a jump; what the jump brought.
fn until_jump(body: extern "C" fn()) -> u64 {
    let result: u64;
    // SAFETY: a Rust function must not return twice: the buffer is filled and come back to in
    // assembly. The registers that a call may change are given up, and the stack pointer is one of
    // those that the jump brings back.
    unsafe {
        asm!(
            "push rbx",
            "push r12",
            "mov rbx, rsp",
            "mov r12, rdx",
            "and rsp, -16",
            "call {setjmp}",
            "test eax, eax",
            "jne 2f",
            "call r12",
            "2:",
            "mov rsp, rbx",
            "pop r12",
            "pop rbx",
            setjmp = sym __sigsetjmp,
            inout("rdi") JUMP.0.get() => _,
            in("esi") 1,
            inout("rdx") body as usize => _,
            out("rax") result,
            clobber_abi("C"),
        );
    }
    result
}

extern "C" fn read_null() {
    let null = black_box(ptr::null::<u64>());
    // SAFETY: none: it faults, and the handler jumps out.
    unsafe { asm!("mov {0}, [{0}]", inout(reg) null => _, options(nostack)) };
}

#[test]
fn handler_may_jump_out_of_a_fault() {
    let _installed = install(libc::SIGSEGV, jump_out);
    let (result, end) = traced(|| until_jump(read_null));
    assert_eq!(result, 5);
    assert!(matches!(end, Err(TraceError::Fault { .. })), "{end:?}");
}

extern "C" fn raise_and_go_on() {
    // SAFETY: the handler jumps out.
    unsafe { libc::raise(libc::SIGUSR2) };
}

#[test]
fn handler_jumping_out_without_a_fault_is_noticed() {
    let _installed = install(libc::SIGUSR2, jump_out);
    let tracer = tracer();
    let (result, end) = tracer.trace(|| until_jump(raise_and_go_on));
    assert_eq!(result, 5);
    // The jump itself may still be traced; what comes after it in the signal's frame is not.
    assert_eq!(end, Err(TraceError::LeftTracedCode));
    assert_eq!(
        tracer.attach(),
        Err(topdown_tracer::AttachError::Lost),
        "it cannot know whether the thread comes back"
    );
}

// ---- signals that were sent, and other threads ----

static CALLS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_call(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn sent_fault_signal_reaches_its_handler() {
    let _installed = install(libc::SIGFPE, count_call);
    let before = CALLS.load(Ordering::Relaxed);
    // SAFETY: the handler counts.
    let (_, end) = traced(|| unsafe { libc::raise(libc::SIGFPE) });
    assert_eq!(end, Ok(End::Detach));
    assert_eq!(CALLS.load(Ordering::Relaxed), before + 1);
}

#[test]
fn fault_of_another_thread_keeps_the_trace() {
    let _installed = install(libc::SIGSEGV, note_and_skip);
    let (result, end) = traced(|| {
        std::thread::spawn(|| {
            let value: u64;
            // SAFETY: the handler continues after the load.
            unsafe { asm!("mov rax, [rax]", inout("rax") 0_u64 => value, options(nostack)) };
            value
        })
        .join()
        .unwrap()
    });
    assert_eq!((result, end), (77, Ok(End::Detach)));
}

// ---- handlers come and go ----

#[test]
fn program_handlers_are_restored_after_the_trace() {
    let _installed = install(libc::SIGILL, note_and_skip);
    let before = handler_of(libc::SIGILL);
    let tracer = tracer();
    tracer.attach().unwrap();
    let meanwhile = handler_of(libc::SIGILL);
    tracer.detach().unwrap();
    assert_eq!(meanwhile, before, "the program sees its own");
    assert_eq!(handler_of(libc::SIGILL), before);
    drop(tracer);
    assert_eq!(handler_of(libc::SIGILL), before);
}

#[test]
fn handler_installed_while_traced_sees_program_state() {
    let installed = install(libc::SIGSEGV, count_call);
    let ((result, now), end) = traced(|| {
        let inner = install_too(libc::SIGSEGV, note_and_skip, 0);
        let value: u64;
        // SAFETY: the handler continues after the load.
        unsafe { asm!("mov rax, [rax]", inout("rax") 0_u64 => value, options(nostack)) };
        std::mem::forget(inner);
        (value, handler_of(libc::SIGSEGV))
    });
    assert_eq!(result, 77);
    assert_eq!(now, note_and_skip as *const () as usize);
    assert_eq!(handler_of(libc::SIGSEGV), now);
    assert!(matches!(end, Err(TraceError::Fault { .. })), "{end:?}");
    drop(installed);
}

#[test]
fn one_shot_handler_is_called_once() {
    let outer = install(libc::SIGSEGV, count_call);
    let inner = install_too(libc::SIGSEGV, note_and_skip, libc::SA_RESETHAND);
    let (result, end) = traced(|| {
        let value: u64;
        // SAFETY: the handler continues after the load.
        unsafe { asm!("mov rax, [rax]", inout("rax") 0_u64 => value, options(nostack)) };
        (value, handler_of(libc::SIGSEGV))
    });
    assert_eq!(result, (77, libc::SIG_DFL));
    assert!(matches!(end, Err(TraceError::Fault { .. })), "{end:?}");
    drop(inner);
    drop(outer);
}

#[test]
fn fault_without_handler_kills() {
    let _installed = install(libc::SIGFPE, count_call);
    let status = in_child(|| {
        // SAFETY: the child has no handler of its own.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        let _ = tracer().trace(|| read_null());
        0
    });
    assert!(libc::WIFSIGNALED(status), "{status:#x}");
    assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
}

#[expect(unconditional_recursion, reason = "it is to overflow the stack")]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    frame[1] + recurse(black_box(depth) + 1)
}

#[test]
fn stack_overflow_is_reported_by_standard_library() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let status = in_child(|| {
        let _ = tracer().trace(|| recurse(0));
        0
    });
    assert!(libc::WIFSIGNALED(status), "{status:#x}");
    assert_eq!(libc::WTERMSIG(status), libc::SIGABRT);
}

#[test]
fn recursion_to_the_end_of_the_stack_is_traced() {
    fn depth(left: u64) -> u64 {
        let frame = black_box([left; 64]);
        if left == 0 {
            0
        } else {
            frame[1] - left + 1 + depth(left - 1)
        }
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Frames of some 600 bytes: three of the four MiB.
    let deep = || depth(black_box(4500));
    let thread = std::thread::Builder::new().stack_size(4 << 20);
    let result = thread.spawn(move || traced(deep)).unwrap().join().unwrap();
    assert_eq!(result, (4500, Ok(End::Detach)));
}

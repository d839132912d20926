//! Untraceable code: it ends the trace with the reason, and the program still gets its right
//! result.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/child.rs"]
mod child;
#[path = "support/count.rs"]
mod count;
#[path = "support/traced.rs"]
mod traced;

use std::arch::asm;
use std::hint::black_box;
use topdown_skipped::{Need, skip};

use child::in_child;
use count::{Count, tracer};
use topdown_tracer::{Config, End, TraceError, Tracer};
use traced::traced;

// ---- instructions ----

/// The reason why an instruction was refused.
fn refused(end: Result<End, TraceError>) -> &'static str {
    match end {
        Err(TraceError::Instruction { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn far_return_runs_natively() {
    let (result, end) = traced(|| {
        let result: u64;
        // SAFETY: returns to the label behind it, in the same code segment.
        unsafe {
            asm!(
                "mov eax, cs",
                "push rax",
                "lea rax, [rip + 2f]",
                "push rax",
                "mov eax, 5",
                "retfq",
                "2:",
                "add rax, 1",
                out("rax") result,
            );
        }
        result
    });
    assert_eq!(result, 6);
    assert!(refused(end).contains("far"));
}

#[test]
fn address_with_8_bit_register_runs_natively() {
    let table: Vec<u8> = (0..=255).rev().collect();
    let (result, end) = traced(|| {
        let mut result = 5_u64;
        // SAFETY: reads the table at the index in al. rbx is kept.
        unsafe {
            asm!(
                "xchg rbx, {table}",
                "xlatb",
                "xchg rbx, {table}",
                table = inout(reg) table.as_ptr() => _,
                inout("rax") result,
                options(nostack)
            );
        }
        result
    });
    assert_eq!(result, 250);
    assert!(refused(end).contains("address form"));
}

#[test]
fn nested_enter_runs_natively() {
    let (result, end) = traced(|| {
        let result: u64;
        // SAFETY: the frame is taken down again; rbp is kept.
        unsafe {
            asm!(
                "mov {before}, rsp",
                "mov {frame}, rbp",
                "mov rbp, rsp",
                "enter 16, 6",
                "mov {result}, {before}",
                "sub {result}, rsp",
                "mov rsp, {before}",
                "mov rbp, {frame}",
                before = out(reg) _,
                frame = out(reg) _,
                result = out(reg) result,
            );
        }
        result
    });
    assert_eq!(result, 16 + 7 * 8);
    assert!(refused(end).contains("too many memory accesses"));
}

#[test]
fn system_call_of_32_bit_code_runs_natively() {
    const GETPID: u64 = 20;
    let call = || {
        let mut result = GETPID;
        // SAFETY: reads a number. The kernel clears r8 to r11.
        unsafe {
            asm!(
                "int 0x80",
                inout("rax") result,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        result
    };
    let own = || u64::from(std::process::id());
    let native = in_child(|| i32::from(call() == own()));
    let traced = in_child(|| {
        let (result, end) = traced(call);
        i32::from(result == own() && refused(end).contains("trap"))
    });
    // A kernel without 32-bit calls kills both children.
    assert_eq!(traced, native);
}

/// The page is execute-only where the kernel emulates it: its code can be called and not read.
#[test]
fn vsyscall_page_runs_natively() {
    const TIME: usize = 0xffff_ffff_ff60_0400;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    if !maps.contains("[vsyscall]") {
        skip(Need::System, "this kernel has no vsyscall page");
        return;
    }
    // SAFETY: `time` of the vsyscall page, which takes a pointer or null.
    let time: extern "C" fn(*mut i64) -> i64 = unsafe { std::mem::transmute(black_box(TIME)) };
    let (seconds, end) = traced(|| time(std::ptr::null_mut()));
    assert!(seconds > 1_600_000_000);
    let ip = TIME as u64;
    assert_eq!(end, Err(TraceError::NoCode { ip }));
}

extern "C" fn skip_trap(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the interrupted state. `ud2` has two bytes.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        context.uc_mcontext.gregs[libc::REG_RIP as usize] += 2;
    }
}

#[test]
fn trap_handler_sees_program_state() {
    // SAFETY: the handler skips the instruction; only this test raises this signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = skip_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut());
    }
    let (result, end) = traced(|| {
        let mut value = black_box(40_u64);
        // SAFETY: the handler continues after the instruction.
        unsafe { asm!("ud2", "add {value}, 2", value = inout(reg) value, options(nostack)) };
        value
    });
    assert_eq!(result, 42);
    assert!(refused(end).contains("trap"));
}

#[test]
fn segment_base_write_runs_natively() {
    let mut features = 0_u64;
    // SAFETY: reads the auxiliary vector. Bit 1 of HWCAP2: the instructions are permitted.
    unsafe { features |= libc::getauxval(libc::AT_HWCAP2) };
    if features & 2 == 0 {
        skip(Need::System, "FSGSBASE is not enabled here");
        return;
    }
    let (_, end) = traced(|| {
        // SAFETY: writes the value that is there.
        unsafe {
            asm!("rdgsbase {base}", "wrgsbase {base}", base = out(reg) _, options(nostack));
        }
    });
    assert!(refused(end).contains("base of a segment"));
}

extern "C" fn return_from_nowhere(
    _signal: i32,
    _info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes the interrupted state: a call has just pushed its return address.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let stack = registers[libc::REG_RSP as usize] as *const i64;
        registers[libc::REG_RIP as usize] = *stack;
        registers[libc::REG_RSP as usize] += 8;
        registers[libc::REG_RAX as usize] = 11;
    }
}

#[test]
fn call_to_nowhere_faults_natively() {
    const NOWHERE: usize = 0x10;
    // SAFETY: the handler goes back to the caller; only this test faults.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = return_from_nowhere as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
    }
    let (result, end) = traced(|| {
        // SAFETY: the call faults and the handler returns from it.
        let function: extern "C" fn() -> u64 =
            unsafe { std::mem::transmute(black_box(NOWHERE) as *const ()) };
        function()
    });
    assert_eq!(result, 11);
    let ip = NOWHERE as u64;
    assert_eq!(end, Err(TraceError::NoCode { ip }));
}

// ---- system calls ----

#[test]
fn changed_thread_pointer_is_not_traced() {
    const ARCH_GET_FS: i32 = 0x1003;
    const ARCH_SET_FS: i32 = 0x1002;
    let (result, end) = traced(|| {
        let mut base = 0_u64;
        // SAFETY: sets the base that is there.
        unsafe {
            libc::syscall(libc::SYS_arch_prctl, ARCH_GET_FS, &raw mut base);
            libc::syscall(libc::SYS_arch_prctl, ARCH_SET_FS, base)
        }
    });
    assert_eq!(result, 0);
    let Err(TraceError::SystemCall { number, .. }) = end else {
        panic!("{end:?}");
    };
    assert_eq!(number, libc::SYS_arch_prctl as u64);
}

// ---- capacity and the process ----

#[test]
fn code_beyond_capacity_is_an_error() {
    let config = Config {
        static_instructions: 1024,
        ..Config::default()
    };
    let tracer = Tracer::new(config, Count::default()).unwrap();
    let work = || format!("{:?} {:.3}", vec![Some("x"); 3], black_box(1.5_f64)).len();
    let (result, end) = tracer.trace(work);
    assert_eq!(result, work());
    assert_eq!(
        end,
        Err(TraceError::Capacity {
            table: "static_instructions",
            capacity: 1024
        })
    );
    let text = end.unwrap_err().to_string();
    assert!(text.contains("raise it in the config"), "{text}");
    assert!(tracer.is_half_full());
    tracer.with_consumer(|_| assert!(!tracer.forget_translations()));
    assert!(tracer.forget_translations());
    assert!(!tracer.is_half_full());
    assert_eq!(tracer.trace(|| black_box(3)), (3, Ok(End::Detach)));
}

/// A child that can open no file, or has changed its root, does not see its mappings.
#[test]
fn unreadable_mappings_end_the_trace() {
    let no_files = || {
        let limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: limits this child.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }
    };
    // SAFETY: the child may change its root in a namespace of its own; there is no `/proc` below
    // `/proc`.
    let another_root = || unsafe {
        libc::unshare(libc::CLONE_NEWUSER);
        libc::chroot(c"/proc".as_ptr())
    };
    for hide_mappings in [no_files as fn() -> i32, another_root] {
        let status = in_child(|| {
            let tracer = tracer();
            if hide_mappings() != 0 {
                return 77;
            }
            i32::from(tracer.trace(|| black_box(3)) == (3, Err(TraceError::Maps)))
        });
        match libc::WEXITSTATUS(status) {
            77 => skip(Need::System, "this process may not change its root"),
            code => assert_eq!(code, 1),
        }
    }
}

#[test]
fn other_user_is_traced() {
    const NOBODY: libc::uid_t = 65534;
    let status = in_child(|| {
        let tracer = tracer();
        // SAFETY: changes the user of this child.
        if unsafe { libc::setuid(NOBODY) } != 0 {
            return 77;
        }
        i32::from(tracer.trace(|| black_box(3)) == (3, Ok(End::Detach)))
    });
    match libc::WEXITSTATUS(status) {
        77 => skip(Need::System, "this process may not change its user"),
        code => assert_eq!(code, 1),
    }
}

// ---- leaving without notice ----

#[test]
fn detach_in_a_signal_handler_is_distinguished() {
    use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
    static TRACER: AtomicPtr<Tracer<Count>> = AtomicPtr::new(std::ptr::null_mut());
    static LEFT: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_signal: i32) {
        // SAFETY: the test keeps the tracer alive while the signal can come, on this thread.
        let tracer = unsafe { &*TRACER.load(Ordering::Relaxed) };
        let left = tracer.detach() == Err(TraceError::LeftTracedCode);
        LEFT.store(left, Ordering::Relaxed);
    }
    let mut tracer = tracer();
    TRACER.store(&mut tracer, Ordering::Relaxed);
    // SAFETY: installs the handler above.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
    }
    tracer.attach().unwrap();
    // SAFETY: sends the signal to this thread.
    unsafe { libc::raise(libc::SIGUSR1) };
    let sum: u64 = (0..black_box(1000)).sum();
    let end = tracer.detach();
    assert_eq!(sum, 499_500);
    assert!(LEFT.load(Ordering::Relaxed));
    assert_eq!(end, Err(TraceError::NotAttached));
    assert_eq!(tracer.attach(), Err(topdown_tracer::AttachError::Lost));
}

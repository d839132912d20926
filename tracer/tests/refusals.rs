//! What cannot be traced ends the trace with the reason, and the program gets its right result all
//! the same.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/count.rs"]
mod count;

use std::arch::asm;
use std::hint::black_box;
use topdown_skipped::{Need, skip};

use count::{Count, tracer};
use topdown_tracer::{Config, End, OpenError, TraceError, Tracer};

fn traced<T>(work: impl FnOnce() -> T) -> (T, Result<End, TraceError>) {
    let tracer = tracer();
    let first = tracer.trace(work);
    // Whatever happened, the tracer is of use again.
    assert_eq!(tracer.trace(|| black_box(3)), (3, Ok(End::Detach)));
    first
}

/// Memory for code that is made at run time.
struct Page(*mut u8);

impl Page {
    const BYTES: usize = 4096;

    fn new(protection: i32, sharing: i32) -> Page {
        // SAFETY: a new anonymous mapping.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Page::BYTES,
                protection,
                sharing | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        Page(start.cast())
    }

    /// Writes a function that returns `value`.
    fn write(&self, value: u8) {
        let code = [0xb8, value, 0, 0, 0, 0xc3]; // mov eax, value; ret
        // SAFETY: the page is writable whenever the tests call this.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), self.0, code.len()) };
    }

    fn protect(&self, protection: i32) {
        // SAFETY: the page is this one's own.
        let result = unsafe { libc::mprotect(self.0.cast(), Page::BYTES, protection) };
        assert_eq!(result, 0);
    }

    fn call(&self) -> u64 {
        // SAFETY: `write` put a function of this type there.
        let function: extern "C" fn() -> u64 = unsafe { std::mem::transmute(self.0) };
        function()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `new`.
        unsafe { libc::munmap(self.0.cast(), Page::BYTES) };
    }
}

/// How a forked child ends that returns this exit code.
fn in_child(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs `body` on its only thread and ends.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let code = body();
        // SAFETY: ends the child.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(process, &mut status, 0) };
    status
}

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const READ_EXECUTE: i32 = libc::PROT_READ | libc::PROT_EXEC;
const ALL: i32 = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;

// ---- code that changes ----

#[test]
fn code_in_writable_memory_is_not_traced() {
    let page = Page::new(ALL, libc::MAP_PRIVATE);
    let (results, end) = traced(|| {
        page.write(1);
        let first = page.call();
        page.write(2);
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    let ip = page.0 as u64;
    assert_eq!(end, Err(TraceError::WritableCode { ip }));
}

#[test]
fn code_in_shared_memory_is_not_traced() {
    let page = Page::new(READ_WRITE, libc::MAP_SHARED);
    page.write(9);
    page.protect(READ_EXECUTE);
    let (result, end) = traced(|| page.call());
    assert_eq!(result, 9);
    let ip = page.0 as u64;
    assert_eq!(end, Err(TraceError::WritableCode { ip }));
}

#[test]
fn code_that_is_rewritten_between_mprotects_is_traced_anew() {
    let page = Page::new(READ_WRITE, libc::MAP_PRIVATE);
    let (results, end) = traced(|| {
        [1, 2, 3].map(|value| {
            page.protect(READ_WRITE);
            page.write(value);
            page.protect(READ_EXECUTE);
            page.call()
        })
    });
    assert_eq!(results, [1, 2, 3]);
    assert_eq!(end, Ok(End::Detach));
}

#[test]
fn generated_code_that_changes_between_traces_is_traced_anew() {
    let tracer = tracer();
    let page = Page::new(READ_WRITE, libc::MAP_PRIVATE);
    for value in [4, 5, 6] {
        page.protect(READ_WRITE);
        page.write(value);
        page.protect(READ_EXECUTE);
        assert_eq!(
            tracer.trace(|| page.call()),
            (value.into(), Ok(End::Detach))
        );
    }
}

#[test]
fn a_new_mapping_in_the_place_of_an_old_one_is_traced_anew() {
    let (results, end) = traced(|| {
        [7, 8].map(|value| {
            let page = Page::new(READ_WRITE, libc::MAP_PRIVATE);
            page.write(value);
            page.protect(READ_EXECUTE);
            page.call()
        })
    });
    assert_eq!(results, [7, 8]);
    assert_eq!(end, Ok(End::Detach));
}

#[test]
fn a_mapping_that_is_moved_over_another_is_traced_anew() {
    let page = |value| {
        let page = Page::new(READ_WRITE, libc::MAP_PRIVATE);
        page.write(value);
        page.protect(READ_EXECUTE);
        page
    };
    let (first, second) = (page(1), page(2));
    let (results, end) = traced(|| {
        let before = first.call();
        // SAFETY: moves the second page to the place of the first.
        let moved = unsafe {
            libc::mremap(
                second.0.cast(),
                Page::BYTES,
                Page::BYTES,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                first.0,
            )
        };
        assert_eq!(moved, first.0.cast());
        (before, first.call())
    });
    // Its place is empty and may soon be somebody else's.
    std::mem::forget(second);
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
}

// ---- instructions ----

/// The reason why an instruction was refused.
fn refused(end: Result<End, TraceError>) -> &'static str {
    match end {
        Err(TraceError::Instruction { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_far_return_runs_natively() {
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
fn an_address_with_an_eight_bit_register_runs_natively() {
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
fn a_system_call_of_32_bit_code_runs_natively() {
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
fn the_vsyscall_page_runs_natively() {
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
fn a_trap_reaches_its_handler_with_the_programs_own_state() {
    // SAFETY: the handler skips the instruction; only this test raises this signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = skip_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut());
    }
    let (result, end) = traced(|| {
        let mut value = black_box(40_u64);
        // SAFETY: the handler goes on behind the instruction.
        unsafe { asm!("ud2", "add {value}, 2", value = inout(reg) value, options(nostack)) };
        value
    });
    assert_eq!(result, 42);
    assert!(refused(end).contains("trap"));
}

#[test]
fn a_segment_base_that_is_written_runs_natively() {
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
fn a_call_to_nowhere_faults_natively() {
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
fn another_thread_pointer_is_not_traced() {
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

// ---- capacity and configuration ----

#[test]
fn more_code_than_there_is_room_for_is_an_error() {
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
fn issue_14_11_where_the_mappings_cannot_be_read_the_trace_says_so() {
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
fn issue_14_11_another_user_is_traced_as_ever() {
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

#[test]
fn a_configuration_without_sense_is_refused() {
    let open = |config| {
        Tracer::new(config, Count::default())
            .map(|_| ())
            .unwrap_err()
    };
    let buffer = open(Config {
        buffer_bytes: 100_000,
        ..Config::default()
    });
    assert_eq!(
        buffer.to_string(),
        "buffer_bytes is 100000; it must be a power of two from 64 KiB to 8 MiB"
    );
    let code = open(Config {
        static_instructions: 3,
        ..Config::default()
    });
    assert!(matches!(
        code,
        OpenError::Config {
            field: "static_instructions",
            value: 3,
            ..
        }
    ));
}

#[test]
fn without_address_space_opening_fails_with_the_reason() {
    // The limit is below what is mapped already, so every further mapping fails.
    let limit = libc::rlimit {
        rlim_cur: 1 << 20,
        rlim_max: 1 << 20,
    };
    let status = in_child(|| {
        // SAFETY: limits this child, which only tries to open a tracer.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
        let opened = Tracer::new(Config::default(), Count::default());
        i32::from(matches!(opened, Err(OpenError::Memory { .. })))
    });
    assert_eq!(libc::WEXITSTATUS(status), 1);
}

#[test]
fn where_executable_memory_is_forbidden_opening_fails_with_the_reason() {
    const PR_SET_MDWE: i32 = 65;
    const PR_MDWE_REFUSE_EXEC_GAIN: u64 = 1;
    let status = in_child(|| {
        // SAFETY: forbids this child memory that is writable and executable.
        if unsafe { libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) } != 0 {
            return 77;
        }
        let opened = Tracer::new(Config::default(), Count::default());
        i32::from(matches!(opened, Err(OpenError::ExecutableMemory { .. })))
    });
    match libc::WEXITSTATUS(status) {
        77 => skip(Need::System, "this kernel has no PR_SET_MDWE"),
        code => assert_eq!(code, 1),
    }
}

// ---- leaving without notice ----

#[test]
fn a_detach_in_a_signal_handler_is_told_apart() {
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

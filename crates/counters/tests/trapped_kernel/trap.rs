//! Traps the calling thread's perf system calls and its RDPMC instructions, and forwards them to
//! the thread's [`Machine`].
//!
//! A seccomp filter turns the calls on events into SIGSYS; RDPMC raises SIGSEGV by itself if the
//! kernel has not permitted it. The handler of SIGSEGV that the code under test installs is kept,
//! and called when the machine refuses an RDPMC. Both signals arrive on the thread that caused
//! them, at an instruction of the code under test, so the handlers may do anything that code may
//! do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, Once};

use crate::machine::Machine;

/// The descriptors that stand for events. They are real ones, so that nothing else gets the
/// numbers.
pub const EVENT_DESCRIPTORS: std::ops::Range<c_int> = 600..1000;

thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
    static PROBED: RefCell<bool> = const { RefCell::new(false) };
}

/// Makes `machine` the kernel and the PMU of this thread from now on. Returns the reason if this
/// system does not allow that.
pub fn install(machine: Machine) -> Result<(), String> {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        handle(libc::SIGSYS, on_sigsys);
        handle(libc::SIGSEGV, on_sigsegv);
    });
    MACHINE.replace(Some(machine));
    let location = MACHINE.with(|machine| &raw const *machine as usize);
    MACHINES
        .lock()
        .unwrap()
        .get_or_insert_default()
        .insert(own_thread(), location);
    // SAFETY: if RDPMC is not permitted it faults, and the handler just installed skips it;
    // otherwise it changes two registers.
    unsafe {
        std::arch::asm!("rdpmc", in("ecx") 0, out("eax") _, out("edx") _);
    }
    if !PROBED.take() {
        return Err("RDPMC is permitted on this system, so it does not trap".to_owned());
    }
    filter_system_calls()
}

/// Where the machine of each thread is.
static MACHINES: Mutex<Option<HashMap<c_int, usize>>> = Mutex::new(None);

/// Passes this thread's machine to `use_it`; that of its parent if the code under test has started
/// this thread to open events.
pub fn with<T>(use_it: impl FnOnce(&mut Machine) -> T) -> T {
    let use_it =
        |machine: &mut Option<Machine>| use_it(machine.as_mut().expect("a machine is installed"));
    match parent() {
        None => MACHINE.with_borrow_mut(use_it),
        Some(parent) => {
            let location = MACHINES.lock().unwrap().as_ref().unwrap()[&parent];
            let machine = location as *const RefCell<Option<Machine>>;
            // SAFETY: the parent waits for this thread, so its machine exists, and is not used.
            use_it(&mut unsafe { &*machine }.borrow_mut())
        }
    }
}

/// The thread whose machine is that of the threads which follow a command.
static LENDER: AtomicI32 = AtomicI32::new(0);

/// Lets the threads that the code under test starts to follow a command use this thread's machine.
/// One thread at a time can lend it, and must not use it while they may.
pub fn lend_to_followers() {
    LENDER.store(own_thread(), Ordering::SeqCst);
}

/// Returns the thread that started this one to open events: its name says so, or that it follows a
/// command.
fn parent() -> Option<c_int> {
    let thread = std::thread::current();
    match thread.name()? {
        "follow" | "sampling" => Some(LENDER.load(Ordering::SeqCst)),
        name => name.strip_prefix("perf-")?.parse().ok(),
    }
}

/// Returns the id of the calling thread.
pub fn own_thread() -> c_int {
    // SAFETY: the call takes nothing and has no effect.
    unsafe { libc::syscall(libc::SYS_gettid) as c_int }
}

fn handle(signal: c_int, handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) {
    // SAFETY: the structure is valid, and the handler has the signature that SA_SIGINFO requires.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

fn filter_system_calls() -> Result<(), String> {
    const ARGUMENTS: u32 = 16;
    let mut program = vec![load(0)];
    // By number, and by the descriptor in the low half of the given argument.
    for (number, argument) in [
        (libc::SYS_perf_event_open, None),
        (libc::SYS_ioctl, Some(0)),
        (libc::SYS_read, Some(0)),
        (libc::SYS_close, Some(0)),
        (libc::SYS_mmap, Some(4)),
    ] {
        let block = match argument {
            None => vec![answer(libc::SECCOMP_RET_TRAP)],
            Some(argument) => vec![
                load(ARGUMENTS + 8 * argument),
                jump(libc::BPF_JGE, EVENT_DESCRIPTORS.start as u32, 0, 2),
                jump(libc::BPF_JGE, EVENT_DESCRIPTORS.end as u32, 1, 0),
                answer(libc::SECCOMP_RET_TRAP),
                answer(libc::SECCOMP_RET_ALLOW),
            ],
        };
        program.push(jump(libc::BPF_JEQ, number as u32, 0, block.len() as u8));
        program.extend(block);
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    apply(program)
}

/// Makes `sched_setaffinity` fail with EPERM on this thread.
pub fn refuse_affinity() -> Result<(), String> {
    apply(vec![
        load(0),
        jump(libc::BPF_JEQ, libc::SYS_sched_setaffinity as u32, 0, 1),
        answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        answer(libc::SECCOMP_RET_ALLOW),
    ])
}

fn apply(mut program: Vec<libc::sock_filter>) -> Result<(), String> {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the filter points to a program that outlives the call, which copies it.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER as libc::c_ulong,
            &raw const filter,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        let error = std::io::Error::last_os_error();
        Err(format!("seccomp filters are not permitted here: {error}"))
    }
}

/// Loads a word of `seccomp_data`: the call's number is at 0, its arguments start at 16.
fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn answer(action: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, action)
}

fn statement(code: u32, value: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k: value,
    }
}

fn jump(condition: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: (libc::BPF_JMP | condition | libc::BPF_K) as u16,
        jt: if_true,
        jf: if_false,
        k: value,
    }
}

extern "C" fn on_sigsys(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted thread's context to a handler with SA_SIGINFO.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let argument = |register: c_int| registers[register as usize];
    let number: c_long = argument(libc::REG_RAX);
    let arguments = [
        argument(libc::REG_RDI),
        argument(libc::REG_RSI),
        argument(libc::REG_RDX),
        argument(libc::REG_R10),
        argument(libc::REG_R8),
        argument(libc::REG_R9),
    ];
    take_handler();
    registers[libc::REG_RAX as usize] = with(|machine| machine.system_call(number, arguments));
}

/// The handler of SIGSEGV that the code under test has installed.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// If the code under test has put its handler of SIGSEGV before this one, takes its place back. The
/// code under test does so once, before it enables its first group.
fn take_handler() {
    if HANDLER.load(Ordering::SeqCst) != 0 {
        return;
    }
    // SAFETY: the structure is valid for writes.
    let current = unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut current);
        current.sa_sigaction
    };
    if current != on_sigsegv as *const () as usize {
        HANDLER.store(current, Ordering::SeqCst);
        handle(libc::SIGSEGV, on_sigsegv);
    }
}

extern "C" fn on_sigsegv(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    const RDPMC: [u8; 2] = [0x0f, 0x33];
    let passed_on = context;
    // SAFETY: as in `on_sigsys`.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let address = registers[libc::REG_RIP as usize] as *const [u8; 2];
    // SAFETY: the instruction at this address was just fetched, unless the fault is a jump to an
    // invalid address; then this faults again and kills the process, as it should.
    if unsafe { address.read_unaligned() } != RDPMC {
        // A real fault: it recurs when the handler returns, now with its usual effect.
        // SAFETY: the call only sets a handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    let selector = registers[libc::REG_RCX as usize] as u32;
    PROBED.set(true);
    let Some(value) = with(|machine| machine.rdpmc(selector)) else {
        let handler = HANDLER.load(Ordering::SeqCst);
        assert_ne!(handler, 0, "RDPMC faults, and no handler is installed");
        // SAFETY: the code under test has passed a handler with this signature to the kernel.
        let handler: Handler = unsafe { std::mem::transmute(handler) };
        handler(signal, info, passed_on);
        return;
    };
    registers[libc::REG_RAX as usize] = (value & 0xffff_ffff) as i64;
    registers[libc::REG_RDX as usize] = (value >> 32) as i64;
    registers[libc::REG_RIP as usize] += RDPMC.len() as i64;
}

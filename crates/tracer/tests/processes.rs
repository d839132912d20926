//! Processes: forked, spawned, replaced and debugged while traced, and with other rules for their
//! memory.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/count.rs"]
mod count;

use std::arch::asm;
use std::hint::black_box;
use topdown_skipped::{Need, skip};

use count::tracer;
use topdown_tracer::{AttachError, Block, Config, Consumer, End, TraceError, Tracer};

/// The result of `work`, traced to its end.
fn traced<T>(work: impl FnOnce() -> T) -> T {
    let (result, end) = tracer().trace(work);
    assert_eq!(end, Ok(End::Detach));
    result
}

fn squares(count: u64) -> u64 {
    (0..black_box(count)).map(|n| black_box(n) * n).sum()
}

/// A forked child that runs `body`; its exit status is 0 if that returns true.
fn fork(body: impl FnOnce() -> bool) -> libc::pid_t {
    // While another test fills the decoder's tables, a forked child would wait for it for ever.
    let _ = iced_x86::Decoder::new(64, &[], 0);
    // SAFETY: the child runs `body` on its only thread and ends.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        let right = body();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    process
}

fn wait(process: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let waited = unsafe { libc::waitpid(process, &mut status, 0) };
    assert_eq!(waited, process);
    status
}

#[test]
fn forked_child_runs_natively_without_tracer() {
    let tracer = tracer();
    tracer.attach().unwrap();
    // SAFETY: the child calls no more than what a fork of a threaded process may call, and exits.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let left = tracer.detach() == Err(TraceError::LeftTracedCode);
        let lost = tracer.attach() == Err(AttachError::Lost);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(left) + 2 * i32::from(lost)) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(process, &mut status, 0) };
    assert_eq!(tracer.detach(), Ok(End::Detach));
    assert_eq!(libc::WEXITSTATUS(status), 3);
}

#[test]
fn forked_child_cannot_attach_an_attached_copy() {
    let tracer = tracer();
    tracer.attach().unwrap();
    // SAFETY: as above.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let refused = tracer.attach() == Err(AttachError::ForkedChild);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(refused)) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(process, &mut status, 0) };
    assert_eq!(tracer.detach(), Ok(End::Detach));
    assert_eq!(libc::WEXITSTATUS(status), 1);
}

#[test]
fn command_is_spawned_and_its_output_read() {
    let work = || {
        let output = std::process::Command::new("echo")
            .arg("hello")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(traced(work), "hello\n");
}

#[test]
fn vfork_child_runs_natively_until_exit() {
    let process = traced(|| {
        let process: libc::pid_t;
        // SAFETY: the child, which shares this stack, exits at once without touching it.
        unsafe {
            asm!(
                "syscall", // vfork
                "test eax, eax",
                "jnz 2f",
                "mov edi, 7",
                "mov eax, 60", // exit
                "syscall",
                "2:",
                inlateout("rax") libc::SYS_vfork as i32 => process,
                out("rdi") _, out("rcx") _, out("r11") _,
            );
        }
        process
    });
    assert_eq!(libc::WEXITSTATUS(wait(process)), 7);
}

#[test]
fn traced_process_may_exec_another_program() {
    let process = fork(|| {
        let tracer = tracer();
        tracer.attach().unwrap();
        // SAFETY: a program and its arguments, ended by null.
        unsafe {
            let arguments = [
                c"sh".as_ptr(),
                c"-c".as_ptr(),
                c"exit 9".as_ptr(),
                std::ptr::null(),
            ];
            libc::execv(c"/bin/sh".as_ptr(), arguments.as_ptr());
        }
        false
    });
    assert_eq!(libc::WEXITSTATUS(wait(process)), 9);
}

#[test]
fn process_under_a_debugger_is_traced() {
    let process = fork(|| {
        // SAFETY: lets the parent debug this process, and stops.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                return true; // not permitted here
            }
            libc::raise(libc::SIGSTOP);
        }
        let work = || {
            // SAFETY: without effect, but the debugger sees it.
            unsafe { libc::raise(libc::SIGCONT) };
            squares(1000)
        };
        traced(work) == work()
    });
    loop {
        let status = wait(process);
        if !libc::WIFSTOPPED(status) {
            assert_eq!(status, 0);
            break;
        }
        let signal = match libc::WSTOPSIG(status) {
            libc::SIGSTOP => 0,
            signal => signal,
        };
        // SAFETY: lets the stopped child continue with the signal that it got.
        unsafe { libc::ptrace(libc::PTRACE_CONT, process, 0, signal) };
    }
}

#[test]
fn read_implies_exec_personality_is_traced() {
    let process = fork(|| {
        let personality = libc::ADDR_NO_RANDOMIZE | libc::READ_IMPLIES_EXEC;
        // SAFETY: changes how this process maps memory from now on.
        if unsafe { libc::personality(personality as libc::c_ulong) } == -1 {
            return true; // not permitted here
        }
        traced(|| squares(1000)) == squares(1000)
    });
    assert_eq!(wait(process), 0);
}

/// The kernel's `struct rseq_cs` (linux/rseq.h).
#[repr(C, align(32))]
struct Sequence {
    version: u32,
    flags: u32,
    start_ip: u64,
    post_commit_offset: u64,
    abort_ip: u64,
}

#[test]
fn thread_with_restartable_sequences_is_not_traced() {
    let find = |name: &std::ffi::CStr| {
        // SAFETY: looks up a name.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
    };
    let (offset, size) = (find(c"__rseq_offset"), find(c"__rseq_size"));
    // SAFETY: glibc's variables of these types.
    if offset.is_null() || unsafe { *size.cast::<u32>() } == 0 {
        skip(Need::System, "this libc registers no restartable sequences");
        return;
    }
    // The kernel wants glibc's signature in front of where it would go.
    static SIGNATURE: [u32; 2] = [0x5305_3053, 0];
    let sequence = Box::leak(Box::new(Sequence {
        version: 0,
        flags: 0,
        start_ip: 0x1000,
        post_commit_offset: 1,
        abort_ip: &raw const SIGNATURE[1] as u64,
    }));
    let tracer = tracer();
    // As if this thread had been in that sequence. The kernel forgets it when it interrupts the
    // thread outside of it: then once more.
    let refused = (0..1000).any(|_| {
        // SAFETY: the word for the current sequence in this thread's area.
        unsafe {
            let base: *mut u8;
            asm!("mov {}, fs:[0]", out(reg) base, options(nostack, readonly));
            let area = base.offset(*offset.cast::<isize>());
            area.add(8)
                .cast::<*const Sequence>()
                .write_volatile(sequence);
        }
        match tracer.attach() {
            Ok(()) => tracer.detach() == Err(AttachError::RestartableSequences.into()),
            Err(error) => error == AttachError::RestartableSequences,
        }
    });
    assert!(refused);
}

/// Random numbers without the C library: by the system call, and those of the processor where it
/// has them.
fn of_instructions() -> ([u8; 16], [u64; 4]) {
    let mut bytes = [0_u8; 16];
    let written: u64;
    // SAFETY: the buffer has as many bytes.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_getrandom => written,
            in("rdi") &mut bytes, in("rsi") bytes.len(), in("rdx") 0,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    assert_eq!(written, 16);
    let mut numbers = [0_u64; 4];
    if std::is_x86_feature_detected!("rdrand") && std::is_x86_feature_detected!("rdseed") {
        let [wide, high, narrow, seed] = &mut numbers;
        let succeeded: u8;
        // SAFETY: the processor has the instructions.
        unsafe {
            asm!(
                "rdrand {wide}", "setc {succeeded}", "rdrand r15", "rdrand {narrow:e}",
                "2:", "rdseed {seed}", "jnc 2b",
                wide = out(reg) *wide, narrow = out(reg) *narrow, seed = out(reg) *seed,
                succeeded = out(reg_byte) succeeded, out("r15") *high,
            );
        }
        assert_eq!(succeeded, 1);
        assert!(*narrow <= u64::from(u32::MAX));
        assert!(*wide != *high && *high != *seed);
    }
    (bytes, numbers)
}

/// What a forked child sees of random numbers and of the date, after `prepare`.
fn seen_by_a_child(prepare: fn()) -> String {
    let (mut read, write) = std::io::pipe().unwrap();
    let child = fork(move || {
        use std::io::Write;
        prepare();
        let mut bytes = [0_u8; 16];
        // SAFETY: the buffer has as many bytes.
        let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        let date = std::time::SystemTime::now();
        let before = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let goes_on = before.elapsed() >= std::time::Duration::from_millis(2);
        let mut by_number = [0_u8; 16];
        // SAFETY: as above.
        let same_count = unsafe { libc::syscall(libc::SYS_getrandom, &mut by_number, 16, 0) };
        let traced = traced(|| (std::time::SystemTime::now(), squares(10), of_instructions()));
        let mut write = write;
        write!(
            write,
            "{count} {bytes:?} {date:?} {goes_on} {same_count} {by_number:?} {traced:?}"
        )
        .is_ok()
    });
    let mut seen = String::new();
    std::io::Read::read_to_string(&mut read, &mut seen).unwrap();
    assert_eq!(wait(child), 0);
    seen
}

#[test]
fn fixed_values_repeat_and_durations_advance() {
    let fixed = || seen_by_a_child(|| topdown_tracer::fix_system_values().unwrap());
    let first = fixed();
    assert!(
        first.starts_with("16 [") && first.contains(" true "),
        "{first}"
    );
    assert_eq!(first, fixed());
    let as_ever = || seen_by_a_child(|| {});
    assert_ne!(as_ever(), as_ever());
}

/// Counts instructions in the vDSO, whose way depends on the time.
struct InVdso {
    start: u64,
    instructions: usize,
}

impl Consumer for InVdso {
    fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
        /// Two pages, at least.
        const VDSO_BYTES: u64 = 0x2000;
        if (self.start..self.start + VDSO_BYTES).contains(&block.start_ip()) {
            self.instructions += block.instructions.len();
        }
    }
}

#[test]
fn traced_durations_do_not_need_the_vdso() {
    let child = fork(|| {
        topdown_tracer::fix_system_values().unwrap();
        // SAFETY: asks for a number.
        let start = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
        let consumer = InVdso {
            start,
            instructions: 0,
        };
        let tracer = Tracer::new(Config::default(), consumer).unwrap();
        let now = std::time::Instant::now;
        let ((before, after), end) = tracer.trace(|| (now(), now()));
        let inside = tracer.with_consumer(|it| it.instructions);
        start != 0 && before <= after && end == Ok(End::Detach) && inside == Some(0)
    });
    assert_eq!(wait(child), 0);
}

#[test]
fn invalid_system_calls_still_fail() {
    let child = fork(|| {
        topdown_tracer::fix_system_values().unwrap();
        let failed = |number: i64, first: i64| {
            // SAFETY: there is no such descriptor, and no such memory, which the kernel sees.
            unsafe { libc::syscall(number, first, 8, 0) == -1 }
        };
        let errno = || std::io::Error::last_os_error().raw_os_error();
        let bad_descriptor = failed(libc::SYS_close, -1) && errno() == Some(libc::EBADF);
        let bad_memory = failed(libc::SYS_getrandom, 8) && errno() == Some(libc::EFAULT);
        // SAFETY: asks for the process.
        let process = unsafe { libc::syscall(libc::SYS_getpid) };
        bad_descriptor && bad_memory && process == i64::from(std::process::id())
    });
    assert_eq!(wait(child), 0);
}

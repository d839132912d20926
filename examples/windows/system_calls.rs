//! System calls of a piece of code, counted by tracing a child process.

use libc::{c_int, c_long, c_void, pid_t};

/// The call that the child makes before and after the code.
const MARK: c_long = libc::SYS_getppid;

/// Returns how many system calls `code` makes after `prepare`, both in a child process. What
/// `prepare` returns is passed to `code`; if it or `code` fails, so does this.
pub fn of<T>(
    prepare: impl FnOnce() -> Result<T, String>,
    code: impl FnOnce(T) -> Result<(), String>,
) -> Result<u64, String> {
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        0 => {
            let result = prepare().and_then(|prepared| {
                // SAFETY: the child asks to be traced, and waits until it is.
                unsafe {
                    libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                    libc::raise(libc::SIGSTOP);
                    libc::syscall(MARK);
                }
                let result = code(prepared);
                // SAFETY: the call takes nothing and has no effect.
                unsafe { libc::syscall(MARK) };
                result
            });
            if let Err(problem) = &result {
                eprintln!("{problem}");
            }
            std::process::exit(result.is_err().into());
        }
        child if child > 0 => count(child),
        _ => Err(std::io::Error::last_os_error().to_string()),
    }
}

fn count(child: pid_t) -> Result<u64, String> {
    let (mut calls, mut marks) = (0, 0);
    let mut is_at_entry = false;
    loop {
        let mut status: c_int = 0;
        // SAFETY: the status is valid for writes.
        unsafe { libc::waitpid(child, &mut status, 0) };
        if libc::WIFEXITED(status) {
            return match libc::WEXITSTATUS(status) {
                0 => Ok(calls),
                code => Err(format!("the traced process ended with {code}")),
            };
        }
        if libc::WIFSIGNALED(status) {
            return Err(format!(
                "the traced process was ended by {}",
                libc::WTERMSIG(status)
            ));
        }
        const SYSTEM_CALL: c_int = libc::SIGTRAP | 0x80;
        if libc::WSTOPSIG(status) == SYSTEM_CALL {
            is_at_entry = !is_at_entry;
            if is_at_entry && number_of(child) == MARK {
                marks += 1;
            } else if is_at_entry && marks == 1 {
                calls += 1;
            }
        } else {
            // SAFETY: the child is stopped.
            unsafe {
                libc::ptrace(
                    libc::PTRACE_SETOPTIONS,
                    child,
                    0,
                    libc::PTRACE_O_TRACESYSGOOD,
                )
            };
        }
        // SAFETY: the child is stopped. SIGSTOP alone is not passed on: it was for this process.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, child, 0, 0) };
    }
}

/// Returns the number of the system call at which the child is stopped.
fn number_of(child: pid_t) -> c_long {
    // SAFETY: the structure is valid for writes, and any bit pattern is one of it.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        let place = (&raw mut registers).cast::<c_void>();
        libc::ptrace(
            libc::PTRACE_GETREGS,
            child,
            std::ptr::null_mut::<c_void>(),
            place,
        );
        registers.orig_rax as c_long
    }
}

//! Follows the threads and processes of a command with ptrace: each stops as it begins, before its
//! `exec` continues and before it exits, and its signals pass.
//!
//! ptrace(2) describes the protocol of `PTRACE_SEIZE`.

use std::io;

use libc::{c_int, pid_t};

/// Events of a command's threads. Each thread is stopped meanwhile.
pub(super) trait Threads {
    /// The thread begins. The first one of the command has begun before.
    fn begins(&mut self, thread: pid_t);

    /// The thread `former` executes another program, and is now called `thread`. Its mappings are
    /// the new ones already, and other threads of its process are gone.
    fn executes(&mut self, thread: pid_t, former: pid_t);

    /// The thread is about to exit. May be called again, or for a thread that is gone.
    fn ends(&mut self, thread: pid_t);
}

const OPTIONS: c_int = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT;

/// All threads that this one follows, and no child of another thread of this program.
const OWN: c_int = libc::__WALL | libc::__WNOTHREAD;

/// Lets the calling thread follow the process, which must be running.
pub(super) fn seize(process: pid_t) -> io::Result<()> {
    ask(libc::PTRACE_SEIZE as Request, process, OPTIONS as usize)
}

/// Reports the events of the command's threads, until its first process has exited. That one is
/// left to be reaped; processes that outlive it run on when the calling thread ends.
pub(super) fn follow(first: pid_t, threads: &mut impl Threads) -> io::Result<()> {
    let mut known = vec![first];
    loop {
        let (thread, has_exited) = next()?;
        if has_exited && thread == first {
            return Ok(());
        }
        let Some(status) = status_of(thread)? else {
            continue;
        };
        if !libc::WIFSTOPPED(status) {
            known.retain(|entry| *entry != thread);
            threads.ends(thread);
            continue;
        }
        if !known.contains(&thread) {
            known.push(thread);
            threads.begins(thread);
        }
        let signal = libc::WSTOPSIG(status);
        let (request, signal) = match status >> 16 {
            // A signal is delivered.
            0 => (libc::PTRACE_CONT, signal),
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => {
                // The whole process is stopped, and stays so until it is continued.
                (libc::PTRACE_LISTEN, 0)
            }
            libc::PTRACE_EVENT_EXEC => {
                let former = message_of(thread).unwrap_or(thread);
                known.retain(|entry| *entry != former || former == thread);
                threads.executes(thread, former);
                (libc::PTRACE_CONT, 0)
            }
            libc::PTRACE_EVENT_EXIT => {
                threads.ends(thread);
                (libc::PTRACE_CONT, 0)
            }
            _ => (libc::PTRACE_CONT, 0),
        };
        // Fails if the thread has been killed meanwhile.
        let _ = ask(request as Request, thread, signal as usize);
    }
}

/// Waits until a thread stops or exits, which it leaves to be reaped. Returns it, and whether it
/// has exited.
fn next() -> io::Result<(pid_t, bool)> {
    loop {
        // SAFETY: the structure consists of numbers, for which zero is a value.
        let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | OWN;
        // SAFETY: the kernel fills the structure, and nothing else.
        let result = unsafe { libc::waitid(libc::P_ALL, 0, &mut found, options) };
        if result == 0 {
            let exits = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED];
            // SAFETY: `waitid` has filled the fields of a child's change of state.
            let thread = unsafe { found.si_pid() };
            return Ok((thread, exits.contains(&found.si_code)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Takes the change of state of a thread, if there is one.
fn status_of(thread: pid_t) -> io::Result<Option<c_int>> {
    let mut status = 0;
    // SAFETY: the kernel writes the status, and nothing else.
    let result = unsafe { libc::waitpid(thread, &mut status, libc::WNOHANG | OWN) };
    match result {
        0 => Ok(None),
        1.. => Ok(Some(status)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The C libraries disagree about the type.
#[cfg(target_env = "musl")]
type Request = c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

/// Makes a request that takes a number.
fn ask(request: Request, thread: pid_t, number: usize) -> io::Result<()> {
    let address = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the requests of this module that come here read and write no memory of this process.
    let result = unsafe { libc::ptrace(request, thread, address, number) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Returns the message of the event: for `exec`, the thread's former id.
fn message_of(thread: pid_t) -> Option<pid_t> {
    let mut message: libc::c_ulong = 0;
    let address = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the request writes one word to the place.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETEVENTMSG as Request,
            thread,
            address,
            &raw mut message,
        )
    };
    (result != -1).then_some(message as pid_t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    #[derive(Debug, Default)]
    struct Seen {
        alive: Vec<pid_t>,
        began: usize,
        executed: usize,
        ended: usize,
    }

    impl Threads for Seen {
        fn begins(&mut self, thread: pid_t) {
            self.began += 1;
            self.alive.push(thread);
            assert!(std::fs::exists(format!("/proc/{thread}/maps")).unwrap());
        }

        fn executes(&mut self, thread: pid_t, former: pid_t) {
            self.executed += 1;
            self.alive.retain(|alive| *alive != former);
            self.alive.push(thread);
        }

        fn ends(&mut self, thread: pid_t) {
            let before = self.alive.len();
            self.alive.retain(|alive| *alive != thread);
            self.ended += before - self.alive.len();
        }
    }

    /// Runs a script of the shell to its end. It waits for a line first.
    fn run(script: &str) -> Option<(Seen, Child)> {
        let mut child = Command::new("sh")
            .args(["-c", &format!("read go; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let first = child.id() as pid_t;
        if let Err(error) = seize(first) {
            topdown_skipped::skip(topdown_skipped::Need::Trap, error.to_string());
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let mut seen = Seen {
            alive: vec![first],
            ..Seen::default()
        };
        follow(first, &mut seen).unwrap();
        Some((seen, child))
    }

    fn output(child: &mut Child) -> String {
        let mut text = String::new();
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn every_process_is_seen_and_signals_pass() {
        let script = "(true); /bin/true; exec sh -c 'kill -KILL $(sh -c \"echo \\$PPID\")'";
        let Some((seen, mut child)) = run(script) else {
            return;
        };
        assert_eq!(child.wait().unwrap().to_string(), "signal: 9 (SIGKILL)");
        assert!(seen.began >= 3 && seen.executed >= 3, "{seen:?}");
        assert_eq!(seen.ended + seen.alive.len(), seen.began + 1, "{seen:?}");

        let traps = "trap 'echo caught' TERM; kill -TERM $$; \
                     (kill -STOP $$; kill -CONT $$) & wait; echo on; exit 7";
        let (seen, mut child) = run(traps).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
        assert_eq!(output(&mut child), "caught\non\n");
        assert_eq!((seen.began, seen.ended), (1, 2), "{seen:?}");
    }
}

//! A process for each benchmark, forked from one that has made the set-up once.
//!
//! A benchmark that is modelled in a process of its own does not depend on those before it. A fork
//! repeats no set-up and no start of the model. The parent measures nothing itself, and waits while
//! a child talks to the runner through their common connection.
//!
//! A child is a copy only if the process has no other threads, and shares nothing that a benchmark
//! changes: positions in files, other connections, memory.

use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::between;
use topdown_run::environment;
use topdown_run::forks::{CAN_FORK, CANNOT_FORK, ENTRY_BYTES, Entry, PLAN_PREFIX, PROBE_PREFIX};

/// The part of this process in measuring a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Processes are not forked: the benchmark belongs to this one.
    Alone,
    /// Skips it, since it is not wanted or a child has measured it.
    Parent,
    /// Measures it, and then [ends](end_child).
    Child,
}

/// The exit code of a child that has measured its benchmark. Judgement: no bench has it.
const MEASURED: i32 = 233;
/// The exit code of a process that cannot go on, as after a panic.
const FAILED: i32 = 101;
/// The first file descriptor after the standard ones.
const FIRST_FILE: i32 = 3;
/// The kernel gives out the lowest free descriptor, so a process with this one has others.
const MAX_FILES: i32 = 128;
/// The connection to the runner.
const MAX_SOCKETS: u32 = 1;

static BENCHMARKS: AtomicU64 = AtomicU64::new(0);
static IS_CHILD: AtomicBool = AtomicBool::new(false);
static REPEATS: AtomicU32 = AtomicU32::new(0);

/// Called before each benchmark: forks a process for it if the environment says so. Allocates
/// nothing that stays.
#[inline(never)]
pub fn before_benchmark() -> Role {
    let Some(value) = std::env::var_os(environment::FORKS) else {
        return Role::Alone;
    };
    between::end();
    if IS_CHILD.load(Ordering::Relaxed) {
        // Its benchmark panicked, and somebody caught that. The parent measures the others.
        std::process::exit(FAILED);
    }
    let number = BENCHMARKS.fetch_add(1, Ordering::Relaxed);
    let value = value.as_bytes();
    if let Some(path) = value.strip_prefix(PROBE_PREFIX.as_bytes()) {
        let answer = if can_fork() { CAN_FORK } else { CANNOT_FORK };
        let file = File::options().append(true).open(path_of(path));
        // Without an answer nothing is forked.
        let _ = file.and_then(|mut file| file.write_all(&[answer]));
        return Role::Alone;
    }
    let path = value.strip_prefix(PLAN_PREFIX.as_bytes());
    match path.map(|path| entry(path_of(path), number)) {
        Some(Entry::Measure { repeats }) => fork(repeats),
        _ => Role::Parent,
    }
}

/// Ends this process if it is a child, which has measured its benchmark.
pub fn end_child() {
    if !IS_CHILD.load(Ordering::Relaxed) {
        return;
    }
    let _ = std::io::stdout().flush();
    // SAFETY: ends the process. What `exit` would do in addition belongs to the parent.
    unsafe { libc::_exit(MEASURED) };
}

/// Returns the number of samples that the benchmark of this child repeats, at the first call.
pub(super) fn take_repeats() -> Option<u32> {
    let repeats = REPEATS.load(Ordering::Relaxed);
    REPEATS.store(0, Ordering::Relaxed);
    (repeats > 0).then_some(repeats)
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// Returns the entry of benchmark `number`.
fn entry(path: &Path, number: u64) -> Entry {
    let mut bytes = [0; ENTRY_BYTES];
    let file = File::open(path);
    let read = file.and_then(|file| file.read_exact_at(&mut bytes, number * ENTRY_BYTES as u64));
    read.map_or(Entry::Skip, |()| Entry::from_bytes(bytes))
}

fn fork(repeats: u32) -> Role {
    if !can_fork() {
        eprintln!("error: the set-up has started threads, or opened files, that a fork lacks");
        std::process::exit(FAILED);
    }
    // What is buffered is written once.
    let _ = std::io::stdout().flush();
    // SAFETY: the process has one thread, so no lock is held in the child that nobody releases.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: sets what happens if the parent is killed.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            IS_CHILD.store(true, Ordering::Relaxed);
            REPEATS.store(repeats, Ordering::Relaxed);
            Role::Child
        }
        child if child > 0 => {
            wait(child);
            Role::Parent
        }
        _ => {
            eprintln!("error: could not fork: {}", std::io::Error::last_os_error());
            std::process::exit(FAILED);
        }
    }
}

/// Waits until `child` has measured its benchmark. If it ends in any other way, so does this
/// process.
fn wait(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: writes to a variable.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } != child {
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            std::process::exit(FAILED);
        }
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        // SAFETY: ends the process by the same signal, without a handler.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    match libc::WEXITSTATUS(status) {
        MEASURED if libc::WIFEXITED(status) => {}
        code if libc::WIFEXITED(status) => std::process::exit(code),
        _ => std::process::exit(FAILED),
    }
}

/// Returns whether a child would be a copy of this process.
fn can_fork() -> bool {
    has_one_thread() && shares_no_file() && !topdown_tracer::may_share_writable_memory()
}

fn has_one_thread() -> bool {
    let mut stat = [0; 1024];
    let read = File::open("/proc/self/stat").and_then(|mut file| file.read(&mut stat));
    read.is_ok_and(|length| threads_in(&stat[..length]) == Some(b"1"))
}

/// Returns the number of threads in `/proc/self/stat`, as digits: proc_pid_stat(5).
fn threads_in(stat: &[u8]) -> Option<&[u8]> {
    /// Its index among the fields after the name, which ends with the last bracket.
    const INDEX: usize = 18;
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = stat[name_end..].split(|&byte| byte == b' ');
    fields.nth(INDEX)
}

/// Returns whether no open file has a position or content that a child could change, apart from the
/// connection to the runner and files that are appended to.
fn shares_no_file() -> bool {
    let mut sockets = 0;
    (FIRST_FILE..MAX_FILES).all(|file| match kind_of(file) {
        None => true,
        Some(libc::S_IFCHR) => true,
        Some(libc::S_IFREG) => is_appended_to(file),
        Some(libc::S_IFSOCK) => {
            sockets += 1;
            sockets <= MAX_SOCKETS
        }
        Some(_) => false,
    })
}

/// Returns the type of an open file; `None` if there is none.
fn kind_of(file: i32) -> Option<libc::mode_t> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fills `stat` if it returns 0.
    unsafe { (libc::fstat(file, stat.as_mut_ptr()) == 0).then(|| stat.assume_init().st_mode) }
        .map(|mode| mode & libc::S_IFMT)
}

fn is_appended_to(file: i32) -> bool {
    // SAFETY: reads the flags of a descriptor.
    let flags = unsafe { libc::fcntl(file, libc::F_GETFL) };
    flags & (libc::O_APPEND | libc::O_ACCMODE) == libc::O_APPEND | libc::O_WRONLY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_read_after_any_name() {
        let stat = b"1 (a) (b c) S 9 1 1 0 -1 4194304 90 0 0 0 0 0 0 0 20 0 7 0 1234 5";
        assert_eq!(threads_in(stat), Some(&b"7"[..]));
        assert_eq!(threads_in(b""), None);
    }

    #[test]
    fn files_with_a_position_are_shared() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let written = File::create(&path).unwrap();
        let appended = File::options().append(true).open(&path).unwrap();
        let read = File::open(&path).unwrap();
        use std::os::fd::AsRawFd;
        let shared = [&written, &appended, &read].map(|file| {
            let file = file.as_raw_fd();
            kind_of(file) == Some(libc::S_IFREG) && !is_appended_to(file)
        });
        assert_eq!(shared, [true, false, true]);
    }

    #[test]
    fn entry_beyond_the_plan_skips() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan");
        let plan = [Entry::Skip, Entry::Measure { repeats: 12 }].map(Entry::to_bytes);
        std::fs::write(&path, plan.concat()).unwrap();
        let entries = [0, 1, 2].map(|number| entry(&path, number));
        assert_eq!(
            entries,
            [Entry::Skip, Entry::Measure { repeats: 12 }, Entry::Skip]
        );
    }
}

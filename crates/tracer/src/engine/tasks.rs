//! The threads of this process, as the kernel lists them.

use std::ffi::CStr;

use crate::kernel::{self, File};

/// Returns the number of the calling thread.
pub(super) fn this_thread() -> u32 {
    // SAFETY: has no arguments.
    unsafe { kernel::call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Calls `visit` with the number and the files of each thread, the oldest first, until it returns
/// `None`. Neither allocates nor locks. Returns `None` too if the kernel does not list them.
pub(super) fn each(mut visit: impl FnMut(u32, Task<'_>) -> Option<()>) -> Option<()> {
    let directory = File::open(None, c"/proc/self/task")?;
    // A handler may have to do with a small stack.
    let mut buffer = [0; 1024];
    loop {
        let filled = directory.read_entries(&mut buffer)?;
        let mut entries = &buffer[..filled];
        if entries.is_empty() {
            return Some(());
        }
        // A `struct linux_dirent64`: 16 bytes, its length, its type, its name.
        while let [_, .., _] = entries {
            let length = usize::from(u16::from_le_bytes([*entries.get(16)?, *entries.get(17)?]));
            let name = CStr::from_bytes_until_nul(entries.get(19..length)?).ok()?;
            entries = &entries[length..];
            // Not `.` and `..`.
            if let Some(thread) = number(name.to_bytes(), 10) {
                let directory = &directory;
                visit(thread as u32, Task { directory, name })?;
            }
        }
    }
}

/// Returns the state of a thread as [`Task::state`] does.
pub(super) fn state_of(thread: u32) -> Option<u8> {
    state(read_of(thread, b"/stat", &mut [0; 256])?)
}

/// Returns the beginning of a thread's file as [`Task::read`] does.
pub(super) fn read_of<'b>(thread: u32, name: &[u8], buffer: &'b mut [u8; 256]) -> Option<&'b [u8]> {
    let mut filled = 0;
    each(|number, task| {
        if number == thread {
            filled = task.read(name, buffer)?.len();
        }
        Some(())
    })?;
    buffer.get(..filled).filter(|text| !text.is_empty())
}

/// The files that describe a thread.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    directory: &'a File,
    name: &'a CStr,
}

impl Task<'_> {
    /// Returns the beginning of the file that `name` with a slash in front of it names.
    pub(super) fn read<'b>(self, name: &[u8], buffer: &'b mut [u8; 256]) -> Option<&'b [u8]> {
        let mut path = [0; 32];
        let thread = self.name.to_bytes();
        path.get_mut(..thread.len())?.copy_from_slice(thread);
        path.get_mut(thread.len()..thread.len() + name.len())?
            .copy_from_slice(name);
        let path = CStr::from_bytes_until_nul(&path).ok()?;
        let filled = File::open(Some(self.directory), path)?.read(buffer)?;
        buffer.get(..filled)
    }

    /// Returns its state as one letter, see proc_pid_stat(5).
    pub(super) fn state(self) -> Option<u8> {
        state(self.read(b"/stat", &mut [0; 256])?)
    }
}

/// Returns the state in `stat` of a thread: its id, its name in parentheses, which may contain some
/// itself, its state.
fn state(stat: &[u8]) -> Option<u8> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    match stat[name_end..] {
        [_, b' ', state, b' ', ..] => Some(state),
        _ => None,
    }
}

/// Returns the number that `digits` are.
pub(super) fn number(digits: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_follows_the_last_parenthesis() {
        assert_eq!(state(b"73 (worker) S 1 73 73 0 -1 4194368"), Some(b'S'));
        assert_eq!(state(b"73 (a) R (b) S 1 73 73 0 -1 4194368"), Some(b'S'));
        assert_eq!(state(b"73 (worker) R 1 73 73 0 -1 4194368"), Some(b'R'));
        assert_eq!(state(b"73 (a) S 1) R 1 73 73 0 -1 4194368"), Some(b'R'));
        assert_eq!(state(b"73 (worker"), None);
        assert_eq!(state(b""), None);
    }

    #[test]
    fn this_thread_is_listed() {
        let mut found = None;
        each(|thread, task| {
            if thread == this_thread() {
                found = task.state();
            }
            Some(())
        });
        assert_eq!(found, Some(b'R'));
    }
}

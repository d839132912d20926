//! Which memory holds code that cannot change behind the translator's back.

use std::ffi::{c_int, c_void};

/// Executable memory without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeRange {
    pub start: u64,
    pub end: u64,
    /// Whether it comes from a file (or the kernel's vDSO), thus from a loader.
    pub from_file: bool,
}

/// Why code at an address cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCode {
    /// No memory there, or not readable and executable.
    Absent,
    /// It can change without a system call.
    Writable,
}

const MAX_RANGES: usize = 128;

/// The ranges that code was found in. A range that is not known is looked up in
/// `/proc/self/maps`, which takes some 50 µs.
pub(crate) struct CodeMap {
    ranges: [CodeRange; MAX_RANGES],
    len: usize,
}

impl CodeMap {
    pub(crate) fn new() -> CodeMap {
        CodeMap {
            ranges: [CodeRange {
                start: 0,
                end: 0,
                from_file: false,
            }; MAX_RANGES],
            len: 0,
        }
    }

    /// The range around `address`. Allocates nothing.
    pub(crate) fn range_at(&mut self, address: u64) -> Result<CodeRange, NotCode> {
        if let Some(range) = self.known(address) {
            return Ok(range);
        }
        let range = look_up(address)?;
        // When the table is full the oldest knowledge goes; it can be looked up again.
        let slot = if self.len < MAX_RANGES {
            self.len += 1;
            self.len - 1
        } else {
            address as usize % MAX_RANGES
        };
        self.ranges[slot] = range;
        Ok(range)
    }

    fn known(&self, address: u64) -> Option<CodeRange> {
        self.ranges[..self.len]
            .iter()
            .copied()
            .find(|range| (range.start..range.end).contains(&address))
    }

    /// Whether a part of `start..end` is known to hold code.
    pub(crate) fn overlaps(&self, start: u64, end: u64) -> bool {
        self.ranges[..self.len]
            .iter()
            .any(|range| range.start < end && start < range.end)
    }

    pub(crate) fn forget(&mut self) {
        self.len = 0;
    }
}

fn look_up(address: u64) -> Result<CodeRange, NotCode> {
    let mut maps = Maps::open().ok_or(NotCode::Absent)?;
    loop {
        let line = maps.next_line().ok_or(NotCode::Absent)?;
        let Some(entry) = Entry::parse(line) else {
            continue;
        };
        if !(entry.range.start..entry.range.end).contains(&address) {
            continue;
        }
        return match entry {
            Entry {
                readable: true,
                executable: true,
                changeable: false,
                range,
            } => Ok(range),
            Entry {
                executable: true,
                changeable: true,
                ..
            } => Err(NotCode::Writable),
            _ => Err(NotCode::Absent),
        };
    }
}

/// A line of `/proc/self/maps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    range: CodeRange,
    readable: bool,
    executable: bool,
    /// Writable, or shared with a mapping that may be.
    changeable: bool,
}

impl Entry {
    /// `start-end perms offset device inode path`, see proc_pid_maps(5).
    fn parse(line: &[u8]) -> Option<Entry> {
        let mut fields = line
            .split(|&byte| byte == b' ')
            .filter(|field| !field.is_empty());
        let mut addresses = fields.next()?.split(|&byte| byte == b'-');
        let start = hexadecimal(addresses.next()?)?;
        let end = hexadecimal(addresses.next()?)?;
        let &[read, write, execute, sharing] = fields.next()? else {
            return None;
        };
        let path = fields.nth(3);
        Some(Entry {
            range: CodeRange {
                start,
                end,
                from_file: path.is_some_and(|path| path.starts_with(b"/") || path == b"[vdso]"),
            },
            readable: read == b'r',
            executable: execute == b'x',
            changeable: write == b'w' || sharing == b's',
        })
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Reads `/proc/self/maps` line by line without allocating.
struct Maps {
    file: c_int,
    buffer: [u8; 8192],
    start: usize,
    end: usize,
}

impl Maps {
    fn open() -> Option<Maps> {
        // Bare system calls: libc's own functions are cancellation points.
        // SAFETY: the path is a C string.
        let file = unsafe {
            libc::syscall(
                libc::SYS_openat,
                libc::AT_FDCWD,
                c"/proc/self/maps".as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC,
            )
        };
        (file >= 0).then_some(Maps {
            file: file as c_int,
            buffer: [0; 8192],
            start: 0,
            end: 0,
        })
    }

    /// The next line without its end. Lines are shorter than the buffer: paths have at most 4096
    /// bytes.
    fn next_line(&mut self) -> Option<&[u8]> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(length) = unread.iter().position(|&byte| byte == b'\n') {
                let line = self.start..self.start + length;
                self.start = line.end + 1;
                return Some(&self.buffer[line]);
            }
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            let free = &mut self.buffer[self.end..];
            // SAFETY: the kernel writes at most `free.len()` bytes to `free`.
            let read =
                unsafe { libc::syscall(libc::SYS_read, self.file, free.as_mut_ptr(), free.len()) };
            match usize::try_from(read) {
                Ok(read) if read > 0 => self.end += read,
                _ => return None,
            }
        }
    }
}

impl Drop for Maps {
    fn drop(&mut self) {
        // SAFETY: this handle owns the file.
        unsafe { libc::syscall(libc::SYS_close, self.file) };
    }
}

/// How many shared objects were ever unloaded from this process. May take the loader's lock: not
/// for use inside the engine.
pub(crate) fn unloaded_objects() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        result: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description, and `result` is the variable below.
        unsafe { *result.cast::<u64>() = (*info).dlpi_subs };
        1
    }
    let mut unloaded = 0_u64;
    // SAFETY: `first` matches the expected signature and does not unwind; `unloaded` outlives the
    // call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut unloaded).cast()) };
    unloaded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_understood() {
        let entry = Entry::parse(
            b"7f10-7f20 r-xp 00001000 fe:00 123                    /usr/lib/a name.so",
        );
        assert_eq!(
            entry,
            Some(Entry {
                range: CodeRange {
                    start: 0x7f10,
                    end: 0x7f20,
                    from_file: true,
                },
                readable: true,
                executable: true,
                changeable: false,
            })
        );
        let anonymous = Entry::parse(b"1000-2000 rwxs 00000000 00:00 0 ").unwrap();
        assert!(anonymous.changeable && !anonymous.range.from_file);
        assert_eq!(Entry::parse(b"nonsense"), None);
    }

    #[test]
    fn this_function_lies_in_a_file_and_the_stack_is_no_code() {
        let mut map = CodeMap::new();
        let here = this_function_lies_in_a_file_and_the_stack_is_no_code as *const () as u64;
        let range = map.range_at(here).unwrap();
        assert!(range.from_file && range.start <= here && here < range.end);
        assert!(map.overlaps(here, here + 1));
        let variable = 0;
        assert_eq!(
            map.range_at(&raw const variable as u64),
            Err(NotCode::Absent)
        );
        assert_eq!(map.range_at(8), Err(NotCode::Absent));
        map.forget();
        assert!(!map.overlaps(0, u64::MAX));
    }
}

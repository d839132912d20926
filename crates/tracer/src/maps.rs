//! Reads `/proc/self/maps`, without allocating or locking.

use crate::kernel::File;

/// What a mapping contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A file.
    File,
    /// Code provided by the kernel: the vDSO.
    KernelCode,
    /// The stack of the process's first thread.
    Stack,
    /// Anything else.
    Other,
}

/// A line of `/proc/self/maps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub start: u64,
    pub end: u64,
    pub readable: bool,
    pub executable: bool,
    /// Writable, or shared with a mapping that may be.
    pub changeable: bool,
    pub owner: Owner,
}

impl Entry {
    /// Parses `start-end perms offset device inode path`, see proc_pid_maps(5).
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
        let owner = match fields.nth(3) {
            Some([b'/', ..]) => Owner::File,
            Some(b"[vdso]") => Owner::KernelCode,
            Some(b"[stack]") => Owner::Stack,
            _ => Owner::Other,
        };
        Some(Entry {
            start,
            end,
            readable: read == b'r',
            executable: execute == b'x',
            changeable: write == b'w' || sharing == b's',
            owner,
        })
    }
}

/// The kernel does not show this process its mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// Returns the mapping around `address`, if there is one. Takes some 50 µs.
pub(crate) fn entry_at(address: u64) -> Result<Option<Entry>, Unreadable> {
    let mut maps = Maps::open().ok_or(Unreadable)?;
    while let Some(line) = maps.next_line() {
        match Entry::parse(line) {
            Some(entry) if (entry.start..entry.end).contains(&address) => return Ok(Some(entry)),
            _ => {}
        }
    }
    Ok(None)
}

/// Returns whether a forked child would share memory that it writes, or the kernel does not say.
/// Takes some 50 µs.
pub fn may_share_writable_memory() -> bool {
    let Some(mut maps) = Maps::open() else {
        return true;
    };
    while let Some(line) = maps.next_line() {
        let mut fields = line.split(|&byte| byte == b' ');
        if let Some([_, b'w', _, b's']) = fields.nth(1) {
            return true;
        }
    }
    false
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Reads `/proc/self/maps` line by line without allocating.
struct Maps {
    file: File,
    buffer: [u8; 8192],
    start: usize,
    end: usize,
}

impl Maps {
    fn open() -> Option<Maps> {
        Some(Maps {
            file: File::open(None, c"/proc/thread-self/maps")?,
            buffer: [0; 8192],
            start: 0,
            end: 0,
        })
    }

    /// Returns the next line without its end. Lines are shorter than the buffer, since paths have
    /// at most 4096 bytes.
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
            match self.file.read(&mut self.buffer[self.end..])? {
                0 => return None,
                read => self.end += read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Mapping;

    #[test]
    fn line_of_maps_is_understood() {
        let entry = Entry::parse(
            b"7f10-7f20 r-xp 00001000 fe:00 123                    /usr/lib/a name.so",
        );
        assert_eq!(
            entry,
            Some(Entry {
                start: 0x7f10,
                end: 0x7f20,
                readable: true,
                executable: true,
                changeable: false,
                owner: Owner::File,
            })
        );
        let anonymous = Entry::parse(b"1000-2000 rwxs 00000000 00:00 0 ").unwrap();
        assert!(anonymous.changeable);
        assert_eq!(anonymous.owner, Owner::Other);
        assert_eq!(Entry::parse(b"nonsense"), None);
    }

    #[test]
    fn mapping_of_a_variable_contains_it() {
        let variable = 0;
        let address = &raw const variable as u64;
        let mapping = Mapping::at(address).unwrap();
        assert!((mapping.start..mapping.end).contains(&address));
        assert_eq!(Mapping::at(8), None);
    }
}

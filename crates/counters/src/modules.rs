//! Modules loaded by a process, according to `/proc/PID/maps`; proc(5) describes the format.

use std::fs::File;
use std::io::Read;

/// Above the size for most processes, so that allocations do not depend on the program.
const MAX_BYTES: usize = 64 * 1024;
const MAX_MODULES: usize = 64;

/// Memory that contains code, and what it was loaded from.
#[derive(Debug)]
pub struct ModuleMap {
    /// In ascending order, without overlaps.
    mappings: Vec<Mapping>,
    /// For each index returned by [`locate`](ModuleMap::locate), a mapping with that name;
    /// `None` if unnamed. There are only a few.
    named: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Mapping {
    start: u64,
    end: u64,
    /// Its start offset in the file.
    offset: u64,
    name: String,
}

/// Returns the number of threads of this process, or `None` if the system does not say.
#[inline]
pub fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

impl ModuleMap {
    /// Reads the current mappings. If that fails, no code has a name.
    #[inline]
    pub fn for_this_process() -> ModuleMap {
        ModuleMap::read("/proc/thread-self/maps")
    }

    /// Reads the current mappings of another process.
    #[inline]
    pub fn for_process(process: i32) -> ModuleMap {
        ModuleMap::read(&format!("/proc/{process}/maps"))
    }

    #[inline]
    fn read(path: &str) -> ModuleMap {
        let mut maps = String::with_capacity(MAX_BYTES);
        let read = File::open(path).and_then(|mut file| file.read_to_string(&mut maps));
        ModuleMap::parse(match read {
            Ok(_) => &maps,
            Err(_) => "",
        })
    }

    #[inline]
    fn parse(maps: &str) -> ModuleMap {
        let mut mappings = Vec::with_capacity(MAX_MODULES);
        mappings.extend(maps.lines().filter_map(Mapping::parse));
        ModuleMap {
            mappings,
            named: Vec::with_capacity(MAX_MODULES),
        }
    }

    /// Returns the index of the module at `address`, and the position in its file, or the address
    /// itself if it is not a file.
    #[inline]
    pub fn locate(&mut self, address: u64) -> (u32, u64) {
        let mapping = self.mapping_of(address);
        let (_, location) = self.position_in(mapping, address);
        let name = |index: Option<usize>| index.map(|index| &self.mappings[index].name);
        let mut known = self.named.iter();
        let known = known.position(|&known| name(known) == name(mapping));
        let index = known.unwrap_or_else(|| {
            self.named.push(mapping);
            self.named.len() - 1
        });
        (index as u32, location)
    }

    /// Returns whether no mapping could be read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// Returns the name of the module at `address`, and the position as
    /// [`locate`](ModuleMap::locate) does; `None` if nothing known is there.
    #[inline]
    pub fn locate_known(&self, address: u64) -> Option<(&str, u64)> {
        let mapping = self.mapping_of(address)?;
        Some(self.position_in(Some(mapping), address))
    }

    #[inline]
    fn mapping_of(&self, address: u64) -> Option<usize> {
        let after = self.mappings.partition_point(|m| m.start <= address);
        after.checked_sub(1).filter(|&last| {
            let last = &self.mappings[last];
            address < last.end && !last.name.is_empty()
        })
    }

    #[inline]
    fn position_in(&self, mapping: Option<usize>, address: u64) -> (&str, u64) {
        match mapping.map(|index| &self.mappings[index]) {
            Some(m) if m.name.starts_with('/') => (&m.name, address - m.start + m.offset),
            Some(m) => (&m.name, address),
            None => ("", address),
        }
    }

    /// Returns the names of the modules looked up so far, by index.
    #[inline]
    pub fn into_names(mut self) -> Vec<String> {
        let mut names = Vec::with_capacity(MAX_MODULES);
        names.extend(self.named.iter().map(|named| match named {
            Some(index) => std::mem::take(&mut self.mappings[*index].name),
            None => String::new(),
        }));
        names
    }
}

impl Mapping {
    /// Returns `None` for text that is not a line of the file, and for memory without code.
    #[inline]
    fn parse(line: &str) -> Option<Mapping> {
        let mut rest = line;
        let mut field = || {
            let (field, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = behind.trim_start();
            field
        };
        let (range, permissions, offset) = (field(), field(), field());
        let (_device, _inode) = (field(), field());
        let (start, end) = range.split_once('-')?;
        permissions.as_bytes().contains(&b'x').then_some(())?;
        Some(Mapping {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            offset: u64::from_str_radix(offset, 16).ok()?,
            name: rest.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5000-6000 r--p 00000000 fe:01 42                         /home/a user/bench
6000-8000 r-xp 00001000 fe:01 42                         /home/a user/bench
8000-9000 rw-p 00003000 fe:01 42                         /home/a user/bench
a000-b000 rwxp 00000000 00:00 0
c000-d000 r-xp 00002000 fe:01 43                         /lib/libc.so.6
f000-f800 r-xp 00000000 00:00 0                          [vdso]
not a line
";

    #[test]
    fn addresses_become_file_offsets() {
        let mut map = ModuleMap::parse(MAPS);
        assert_eq!(map.locate(0x7010), (0, 0x2010));
        assert_eq!(map.locate(0xc004), (1, 0x2004));
        assert_eq!(map.locate(0x6000), (0, 0x1000));
        assert_eq!(map.locate(0xf123), (2, 0xf123));
        // Without a name, without code, without a mapping.
        for address in [0xa123, 0x5000, 0xd000, 0x1] {
            assert_eq!(map.locate(address), (3, address));
        }
        let known = |address| map.locate_known(address);
        assert_eq!(known(0xc004), Some(("/lib/libc.so.6", 0x2004)));
        assert_eq!(known(0xf123), Some(("[vdso]", 0xf123)));
        assert_eq!(known(0xa123), None);
        assert!(!map.is_empty() && ModuleMap::for_process(-1).is_empty());
        let names = ["/home/a user/bench", "/lib/libc.so.6", "[vdso]", ""];
        assert_eq!(map.into_names(), names);
    }

    #[test]
    fn this_test_is_in_its_own_executable() {
        let mut map = ModuleMap::for_this_process();
        let here = this_test_is_in_its_own_executable as *const () as u64;
        let (module, _) = map.locate(here);
        let name = &map.into_names()[module as usize];
        assert_eq!(*name, std::env::current_exe().unwrap().to_string_lossy());
    }
}

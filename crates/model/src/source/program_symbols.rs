//! The functions of this program by name, from the symbol table of its file. Allocates nothing, so
//! that it does not affect where the program's own data lies.
//!
//! The format is that of the System V ABI, chapters 4 and 5: <https://gabi.xinuos.com>.

use std::os::fd::AsRawFd;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Its address in this process.
    pub(super) ip: u64,
    bytes: u64,
}

/// The file of this program, mapped into memory.
pub(super) struct ProgramSymbols {
    start: *mut libc::c_void,
    bytes: usize,
    /// The difference between addresses in this process and in the file.
    bias: u64,
}

const SECTION_HEADER_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
/// `SHT_SYMTAB`.
const SYMBOL_TABLE: u32 = 2;
/// `STT_FUNC`.
const FUNCTION: u8 = 2;
/// `PT_LOAD`.
const LOADED: u32 = 1;
const PROGRAM_HEADER_BYTES: usize = 56;

impl ProgramSymbols {
    pub(super) fn for_this_process() -> Option<ProgramSymbols> {
        // SAFETY: a path that ends with a zero; the descriptor is owned from here on.
        let file = unsafe {
            let path = c"/proc/thread-self/exe".as_ptr();
            let descriptor = libc::open(path, libc::O_RDONLY | libc::O_CLOEXEC);
            if descriptor < 0 {
                return None;
            }
            <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(descriptor)
        };
        let bytes = usize::try_from(file.metadata().ok()?.len()).ok()?;
        // SAFETY: a new private mapping, which nothing else refers to.
        let start = unsafe {
            let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                flags,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let mut program = ProgramSymbols {
            start,
            bytes,
            bias: 0,
        };
        // SAFETY: reads a number that the kernel passed to the process.
        let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
        let is_elf64 = program.file().starts_with(b"\x7fELF\x02\x01");
        let entry_in_file = program.u64_at(24).filter(|_| is_elf64 && entry != 0)?;
        program.bias = entry.wrapping_sub(entry_in_file);
        Some(program)
    }

    fn file(&self) -> &[u8] {
        // SAFETY: mapped until this is dropped. The system refuses to write to the file of a
        // running program.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes) }
    }

    fn at<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.file().get(offset..)?.first_chunk().copied()
    }

    fn u64_at(&self, offset: usize) -> Option<u64> {
        self.at(offset).map(u64::from_le_bytes)
    }

    fn offset_at(&self, offset: usize) -> Option<usize> {
        self.u64_at(offset)?.try_into().ok()
    }

    fn u32_at(&self, offset: usize) -> Option<u32> {
        self.at(offset).map(u32::from_le_bytes)
    }

    fn u16_at(&self, offset: usize) -> Option<usize> {
        self.at(offset).map(|two| u16::from_le_bytes(two).into())
    }

    /// Returns where the header of a section is in the file.
    fn section(&self, number: usize) -> Option<usize> {
        self.offset_at(40)?
            .checked_add(number.checked_mul(SECTION_HEADER_BYTES)?)
    }

    /// Returns the content of a section.
    fn content(&self, header: usize) -> Option<&[u8]> {
        let start = self.offset_at(header + 24)?;
        let end = start.checked_add(self.offset_at(header + 32)?)?;
        self.file().get(start..end)
    }

    /// Returns the symbol table and the names in it; `None` for a stripped program.
    fn table(&self) -> Option<(&[u8], &[u8])> {
        let mut headers = (0..self.u16_at(60)?).map_while(|number| self.section(number));
        let header = headers.find(|&header| self.u32_at(header + 4) == Some(SYMBOL_TABLE))?;
        let names = self.section(self.u32_at(header + 40)? as usize)?;
        Some((self.content(header)?, self.content(names)?))
    }

    /// Returns all functions with their names.
    pub(super) fn functions(&self) -> impl Iterator<Item = (&str, Symbol)> {
        let (symbols, names) = self.table().unwrap_or_default();
        symbols.chunks_exact(SYMBOL_BYTES).filter_map(|symbol| {
            let is_defined = symbol[6..8] != [0, 0];
            if symbol[4] & 0xf != FUNCTION || !is_defined {
                return None;
            }
            let word =
                |at: usize| u64::from_le_bytes(*symbol[at..].first_chunk().unwrap_or(&[0; 8]));
            let name = names.get(word(0) as u32 as usize..)?;
            let end = name.iter().position(|&byte| byte == 0)?;
            let symbol = Symbol {
                ip: word(8).wrapping_add(self.bias),
                bytes: word(16),
            };
            Some((std::str::from_utf8(&name[..end]).ok()?, symbol))
        })
    }

    /// Returns the function that begins at this address.
    pub(super) fn function_at(&self, ip: u64) -> Option<Symbol> {
        let mut functions = self.functions();
        Some(functions.find(|(_, symbol)| symbol.ip == ip)?.1)
    }

    /// Returns the code of a function, as it is in the file.
    pub(super) fn code(&self, function: Symbol) -> Option<&[u8]> {
        let (offset, _) = self.in_file(function.ip, function.bytes)?;
        let bytes = usize::try_from(function.bytes).ok()?;
        self.file().get(offset..)?.get(..bytes)
    }

    /// Returns the pointer at an address of this program's data, after the loader has set it.
    pub(super) fn pointer_at(&self, address: u64) -> Option<u64> {
        const BYTES: u64 = 8;
        self.in_file(address, BYTES)?;
        if address % BYTES != 0 {
            return None;
        }
        // SAFETY: the address lies in a segment that the loader has mapped, and is aligned. Before
        // the program runs, the loader writes there; after that, nothing does or all is atomic.
        Some(unsafe { std::ptr::with_exposed_provenance::<u64>(address as usize).read_volatile() })
    }

    /// Returns the offset of a loaded range in the file, and how many bytes of its segment follow.
    fn in_file(&self, address: u64, bytes: u64) -> Option<(usize, u64)> {
        let address = address.wrapping_sub(self.bias);
        let first = self.offset_at(32)?;
        (0..self.u16_at(56)?).find_map(|number| {
            let header = first.checked_add(number * PROGRAM_HEADER_BYTES)?;
            let is_loaded = self.u32_at(header)? == LOADED;
            let start = self.u64_at(header + 16)?;
            let before = address.checked_sub(start).filter(|_| is_loaded)?;
            let after = self.u64_at(header + 32)?.checked_sub(before)?;
            let offset = self.u64_at(header + 8)?.checked_add(before)?;
            (after >= bytes).then_some((offset.try_into().ok()?, after))
        })
    }
}

impl Drop for ProgramSymbols {
    fn drop(&mut self) {
        // SAFETY: mapped on creation, and no reference to it is left.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn found_by_name(n: u64) -> u64 {
        std::hint::black_box(n) + 1
    }

    #[test]
    fn function_has_address_and_code() {
        assert_eq!(found_by_name(1), 2);
        let program = ProgramSymbols::for_this_process().unwrap();
        let here = found_by_name as *const () as u64;
        let function = program.function_at(here).unwrap();
        let (name, _) = program.functions().find(|(_, f)| f.ip == here).unwrap();
        assert!(name.contains("found_by_name"), "{name}");
        let code = program.code(function).unwrap();
        // SAFETY: the code of a function of this program, of at least its size.
        let loaded = unsafe { std::slice::from_raw_parts(here as *const u8, code.len()) };
        assert!(!code.is_empty() && code == loaded);
        assert_eq!(program.pointer_at(0x10), None);
    }
}

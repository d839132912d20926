//! Replaces functions of the C library by others, only in this process and its memory.
//!
//! The first bytes of each function become a jump. They are written through `/proc/self/mem`, which
//! can write to code mapped without write permission; the file on disk and other processes are
//! unaffected.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iced_x86::{Decoder, DecoderOptions, FlowControl};

/// `jmp [rip]`; the address follows.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const JUMP_BYTES: usize = JUMP.len() + size_of::<u64>();
/// Enough of a function to see that it is longer than the jump.
const SEEN_BYTES: usize = JUMP_BYTES + 15;

/// Makes each function a jump to its replacement, or none of them.
///
/// # Errors
/// Returns an error if a function is shorter than a jump, or if the system does not let a process
/// write to its own code. Then nothing has changed.
pub(crate) fn replace_all(replacements: &[(u64, u64)]) -> io::Result<()> {
    let memory = File::options()
        .read(true)
        .write(true)
        .open("/proc/thread-self/mem")?;
    replace_all_in(&memory, replacements)
}

fn replace_all_in(memory: &File, replacements: &[(u64, u64)]) -> io::Result<()> {
    let Some((&(address, replacement), rest)) = replacements.split_first() else {
        return Ok(());
    };
    let mut before = [0; JUMP_BYTES];
    memory.read_exact_at(&mut before, address)?;
    replace(memory, address, replacement)?;
    replace_all_in(memory, rest).inspect_err(|_| {
        // It was just written to, so this succeeds.
        let _ = memory.write_all_at(&before, address);
    })
}

/// Makes the function at `address` a jump to `replacement`.
fn replace(memory: &File, address: u64, replacement: u64) -> io::Result<()> {
    let mut code = [0; SEEN_BYTES];
    let read = memory.read_at(&mut code, address)?;
    if !fits_jump(&code[..read], address) {
        return Err(io::Error::other("the function is too short"));
    }
    let mut jump = [0; JUMP_BYTES];
    jump[..JUMP.len()].copy_from_slice(&JUMP);
    jump[JUMP.len()..].copy_from_slice(&replacement.to_le_bytes());
    memory.write_all_at(&jump, address)
}

/// Returns whether the function that begins with `code` is at least as long as the jump.
fn fits_jump(code: &[u8], address: u64) -> bool {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    while decoder.position() < JUMP_BYTES {
        if !decoder.can_decode() {
            return false;
        }
        let instruction = decoder.decode();
        let goes_on = matches!(
            instruction.flow_control(),
            FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::Call
        );
        if instruction.is_invalid() || (!goes_on && decoder.position() < JUMP_BYTES) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_shorter_than_the_jump_is_kept() {
        let long = [0x90; SEEN_BYTES];
        assert!(fits_jump(&long, 0x1000));
        for end in [0xc3, 0xcc] {
            let mut short = long;
            short[5] = end; // ret, int3
            assert!(!fits_jump(&short, 0x1000), "{end:x}");
        }
        // It may end with the last byte that the jump needs.
        let mut fits = long;
        fits[JUMP_BYTES - 1] = 0xc3;
        assert!(fits_jump(&fits, 0x1000));
        assert!(!fits_jump(&long[..4], 0x1000));
    }

    /// Code in shared memory of a file that is open for reading cannot be written, not even through
    /// `/proc/self/mem`.
    #[test]
    fn one_failed_replacement_prevents_all() {
        const CODE: [u8; SEEN_BYTES] = [0x90; SEEN_BYTES];
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all_at(&CODE, 0).unwrap();
        let file = File::open(file.path()).unwrap();
        let map = |flags| {
            // SAFETY: a new mapping of a file with the code; it stays to the end of the process.
            let start = unsafe {
                let file = std::os::fd::AsRawFd::as_raw_fd(&file);
                libc::mmap(
                    std::ptr::null_mut(),
                    CODE.len(),
                    libc::PROT_READ,
                    flags,
                    file,
                    0,
                )
            };
            assert_ne!(start, libc::MAP_FAILED);
            start as u64
        };
        let [first, second, last] =
            [libc::MAP_PRIVATE, libc::MAP_PRIVATE, libc::MAP_SHARED].map(map);
        let memory = File::options()
            .read(true)
            .write(true)
            .open("/proc/thread-self/mem")
            .unwrap();
        let now = |address| {
            let mut now = [0; SEEN_BYTES];
            memory.read_exact_at(&mut now, address).unwrap();
            now
        };
        assert!(replace_all_in(&memory, &[(first, 1), (second, 2), (last, 3)]).is_err());
        assert_eq!([first, second, last].map(now), [CODE; 3]);
        replace_all_in(&memory, &[(first, 1), (second, 2)]).unwrap();
        let jump = [JUMP.as_slice(), &2_u64.to_le_bytes()].concat();
        assert!(now(second).starts_with(&jump));
    }
}

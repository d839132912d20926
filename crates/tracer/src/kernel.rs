//! System calls without the C library, which would change `errno`.

use std::arch::asm;
use std::ffi::CStr;

/// Makes a system call and returns the kernel's result.
///
/// # Safety
/// Same as for the system call with this number.
pub(crate) unsafe fn call(number: libc::c_long, arguments: [u64; 6]) -> u64 {
    let result;
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: promised by the caller; the kernel overwrites rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first, in("rsi") second, in("rdx") third,
            in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Returns whether `result` is an error, which the kernel returns as its negated number.
pub(crate) fn is_error(result: u64) -> bool {
    result > -4096_i64 as u64
}

/// A file or directory open for reading.
pub(crate) struct File(u64);

impl File {
    /// Opens `path`, relative to `directory` if given. Returns `None` if it cannot be opened.
    pub(crate) fn open(directory: Option<&File>, path: &CStr) -> Option<File> {
        let directory = directory.map_or(libc::AT_FDCWD as u64, |directory| directory.0);
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        let arguments = [directory, path.as_ptr() as u64, flags, 0, 0, 0];
        // SAFETY: the path is a C string.
        let file = unsafe { call(libc::SYS_openat, arguments) };
        (!is_error(file)).then_some(File(file))
    }

    /// Reads the next bytes of a file and returns how many, 0 at its end.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        self.fill(libc::SYS_read, buffer)
    }

    /// Reads the next entries of a directory, each a `struct linux_dirent64` (getdents64(2)), and
    /// returns their total length in bytes, 0 at its end.
    pub(crate) fn read_entries(&self, buffer: &mut [u8]) -> Option<usize> {
        self.fill(libc::SYS_getdents64, buffer)
    }

    fn fill(&self, number: libc::c_long, buffer: &mut [u8]) -> Option<usize> {
        let arguments = [
            self.0,
            buffer.as_mut_ptr() as u64,
            buffer.len() as u64,
            0,
            0,
            0,
        ];
        // SAFETY: the kernel writes at most `buffer.len()` bytes to `buffer`.
        let filled = unsafe { call(number, arguments) };
        (!is_error(filled)).then_some(filled as usize)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: this handle owns the file.
        unsafe { call(libc::SYS_close, [self.0, 0, 0, 0, 0, 0]) };
    }
}

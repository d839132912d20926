//! Memory for code that is made at run time.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr;

pub const PAGE: usize = 4096;
pub const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
pub const READ_EXECUTE: i32 = libc::PROT_READ | libc::PROT_EXEC;

/// A function that returns `value`.
pub fn code(value: u8) -> [u8; 6] {
    [0xb8, value, 0, 0, 0, 0xc3] // mov eax, value; ret
}

/// A page of memory at an address.
#[derive(Clone, Copy)]
pub struct Page(pub usize);

impl Page {
    /// At `place`, or anywhere.
    pub fn map(place: Option<Page>, protection: i32, flags: i32, file: Option<&File>) -> Page {
        let fixed = if place.is_some() { libc::MAP_FIXED } else { 0 };
        let anonymous = if file.is_none() {
            libc::MAP_ANONYMOUS
        } else {
            0
        };
        // SAFETY: a new mapping, or one over a page of the test's own.
        let start = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(place.map_or(0, |page| page.0)),
                PAGE,
                protection,
                flags | fixed | anonymous,
                file.map_or(-1, AsRawFd::as_raw_fd),
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        Page(start.expose_provenance())
    }

    /// Private memory with a function that returns `value`.
    pub fn returning(value: u8) -> Page {
        let page = Page::map(None, READ_WRITE, libc::MAP_PRIVATE, None);
        page.write(value);
        page.protect(READ_EXECUTE);
        page
    }

    /// Writes a function that returns `value`.
    pub fn write(self, value: u8) {
        self.write_code(&code(value));
    }

    pub fn write_code(self, code: &[u8]) {
        // SAFETY: the page is writable whenever the tests call this.
        unsafe {
            ptr::copy_nonoverlapping(
                code.as_ptr(),
                ptr::with_exposed_provenance_mut(self.0),
                code.len(),
            );
        };
    }

    pub fn protect(self, protection: i32) {
        // SAFETY: a page of the test's own.
        let result =
            unsafe { libc::mprotect(ptr::with_exposed_provenance_mut(self.0), PAGE, protection) };
        assert_eq!(result, 0);
    }

    /// As a just-in-time compiler that keeps to "writable or executable" does it.
    pub fn rewrite(self, value: u8) {
        self.protect(READ_WRITE);
        self.write(value);
        self.protect(READ_EXECUTE);
    }

    pub fn unmap(self) {
        // SAFETY: a page of the test's own, which it uses no more.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.0), PAGE) };
    }

    /// Gives the content up: that of the file comes back.
    pub fn drop_content(self) {
        // SAFETY: a page of the test's own.
        let result = unsafe {
            libc::madvise(
                ptr::with_exposed_provenance_mut(self.0),
                PAGE,
                libc::MADV_DONTNEED,
            )
        };
        assert_eq!(result, 0);
    }

    pub fn call(self) -> u64 {
        // SAFETY: `write` put a function of this type there.
        let function: extern "C" fn() -> u64 =
            unsafe { std::mem::transmute(ptr::with_exposed_provenance::<()>(self.0)) };
        function()
    }
}

/// A file in memory with a function that returns `value`.
pub fn memory_file(value: u8) -> File {
    // SAFETY: makes a file of its own, which `File` closes.
    let file = unsafe { File::from_raw_fd(libc::memfd_create(c"code".as_ptr(), 0)) };
    file.set_len(PAGE as u64).unwrap();
    file.write_all_at(&code(value), 0).unwrap();
    file
}

/// What reaches code that is mapped without the right to write.
pub fn own_memory() -> File {
    File::options()
        .read(true)
        .write(true)
        .open("/proc/self/mem")
        .unwrap()
}

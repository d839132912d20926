//! The pages that the fake kernel shares with the code under test.

use std::ffi::c_int;

use perf_event_open_sys::bindings::perf_event_mmap_page;

const PAGES: usize = 64;
const PAGE_SIZE: usize = 4096;

/// Pages in memory that is mapped twice: writable for the kernel, and read-only for each `map`.
pub struct Pages {
    memory: c_int,
    writable: *mut u8,
    read_only: Vec<*mut u8>,
}

impl Pages {
    pub fn new() -> Pages {
        let size = PAGES * PAGE_SIZE;
        // SAFETY: a new file in memory and a new mapping of it.
        let (memory, writable) = unsafe {
            let memory = libc::memfd_create(c"events".as_ptr(), libc::MFD_CLOEXEC);
            assert!(memory >= 0 && libc::ftruncate(memory, size as i64) == 0);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let writable = libc::mmap(
                std::ptr::null_mut(),
                size,
                protection,
                libc::MAP_SHARED,
                memory,
                0,
            );
            assert_ne!(writable, libc::MAP_FAILED);
            (memory, writable.cast())
        };
        Pages {
            memory,
            writable,
            read_only: Vec::new(),
        }
    }

    /// Maps a new page and returns its number.
    pub fn map(&mut self) -> usize {
        let page = self.read_only.len();
        assert!(page < PAGES);
        // SAFETY: a new mapping of a part of the file.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE_SIZE,
                libc::PROT_READ,
                libc::MAP_SHARED,
                self.memory,
                (page * PAGE_SIZE) as i64,
            )
        };
        assert_ne!(address, libc::MAP_FAILED);
        self.read_only.push(address.cast());
        page
    }

    /// Returns the page's address in the code under test.
    pub fn address(&self, page: usize) -> *mut u8 {
        self.read_only[page]
    }

    /// Changes a page as the kernel does: the lock goes up before and after.
    pub fn change(&mut self, page: usize, change: impl FnOnce(&mut perf_event_mmap_page)) {
        // SAFETY: the page is within the mapping, and only this thread uses it.
        let content = unsafe {
            &mut *self
                .writable
                .add(page * PAGE_SIZE)
                .cast::<perf_event_mmap_page>()
        };
        content.lock = content.lock.wrapping_add(1);
        change(content);
        content.lock = content.lock.wrapping_add(1);
    }

    /// Returns the contents of a page.
    pub fn get(&self, page: usize) -> &perf_event_mmap_page {
        // SAFETY: as in `change`.
        unsafe {
            &*self
                .writable
                .add(page * PAGE_SIZE)
                .cast::<perf_event_mmap_page>()
        }
    }
}

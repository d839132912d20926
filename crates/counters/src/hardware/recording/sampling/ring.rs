//! The buffer into which the kernel writes an event's records.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;

use crate::hardware::page::page_size;

/// The largest buffer that the usual limit of a user allows on one CPU: `perf_event_mlock_kb` is
/// 516, for 128 pages of 4 KiB and the first one, which describes them. If part of the limit is
/// used, a smaller one has to do.
pub(in super::super) const PAGES: [usize; 4] = [128, 32, 8, 2];

/// The mapped buffer of one event. Unmapped on drop.
#[derive(Debug)]
pub(in super::super) struct Ring {
    address: NonNull<u8>,
    data_bytes: usize,
    /// Where the next record begins, counted from the start of sampling.
    tail: u64,
    /// A copy of the records, in one piece.
    copy: Vec<u8>,
}

impl Ring {
    /// Maps the buffer of the event behind `descriptor`, with the first of these sizes that fits.
    pub fn map(descriptor: BorrowedFd<'_>, sizes: &[usize]) -> io::Result<Ring> {
        let mut result = Err(io::Error::other("no size fits"));
        for pages in sizes {
            result = Ring::map_pages(descriptor, *pages);
            let is_too_large = |error: &io::Error| error.raw_os_error() == Some(libc::EPERM);
            if !result.as_ref().is_err_and(is_too_large) {
                break;
            }
        }
        result
    }

    fn map_pages(descriptor: BorrowedFd<'_>, pages: usize) -> io::Result<Ring> {
        let data_bytes = pages * page_size();
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_size() + data_bytes,
                // Writable, so that the kernel does not overwrite what has not been taken.
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast());
        Ok(Ring {
            address: address.ok_or_else(|| io::Error::other("mapped at address 0"))?,
            data_bytes,
            tail: 0,
            copy: Vec::with_capacity(data_bytes),
        })
    }

    /// Returns the size of the buffer.
    pub fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Returns the records since the last call, and makes room for more; `None` if the kernel
    /// claims to have written more than there is room for. If the event is counting, there may be
    /// more already.
    pub fn take(&mut self) -> Option<&[u8]> {
        let head = self.position(std::mem::offset_of!(perf_event_mmap_page, data_head));
        // What the kernel wrote before it moved the head is visible after this load.
        let head = head.load(Ordering::Acquire);
        let begin = (self.tail % self.data_bytes as u64) as usize;
        let length = usize::try_from(head.wrapping_sub(self.tail)).unwrap_or(usize::MAX);
        self.tail = head;
        self.copy.clear();
        let fits = length <= self.data_bytes;
        if fits && length > 0 {
            let first = length.min(self.data_bytes - begin);
            // SAFETY: the data follow the first page and are mapped until `drop`. Both parts lie
            // within them: `begin` is, `first` ends where they end, and the rest is at most
            // `begin` bytes from their start. The kernel writes there only after it has been told
            // below that they were taken. The copy has room for all data.
            unsafe {
                let data = self.address.as_ptr().add(page_size());
                let copy = self.copy.as_mut_ptr();
                copy.copy_from_nonoverlapping(data.add(begin), first);
                copy.add(first)
                    .copy_from_nonoverlapping(data, length - first);
                self.copy.set_len(length);
            }
        }
        let tail = self.position(std::mem::offset_of!(perf_event_mmap_page, data_tail));
        // The copy is complete before the kernel sees the new tail.
        tail.store(head, Ordering::Release);
        fits.then_some(&self.copy)
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both positions are aligned words in the first page, which is mapped until `drop`;
        // the kernel and this code access them as whole words.
        unsafe { AtomicU64::from_ptr(self.address.as_ptr().add(offset).cast()) }
    }
}

// SAFETY: the mapping belongs to the process, not to a thread, and whoever has the `Ring` alone has
// it.
unsafe impl Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `map_pages` made the mapping with this size, and nothing refers into it.
        unsafe { libc::munmap(self.address.as_ptr().cast(), page_size() + self.data_bytes) };
    }
}

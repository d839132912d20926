//! Reads the program's code, which another thread may unmap meanwhile.

use std::ptr;

use crate::kernel;

const PAGE: u64 = 4096;

/// Reads the bytes at `ip` into `buffer`, as far as memory is mapped, and returns how many. The
/// kernel copies them, so that unmapped memory ends the read instead of faulting. Returns `None` if
/// a policy forbids that.
pub(super) fn read(ip: u64, buffer: &mut [u8]) -> Option<usize> {
    debug_assert!(buffer.len() as u64 <= PAGE);
    // A transfer can stop between two vectors, so use one per page.
    let first = (PAGE - ip % PAGE).min(buffer.len() as u64) as usize;
    let vector = |start: *mut libc::c_void, len| libc::iovec {
        iov_base: start,
        iov_len: len,
    };
    let address = |at: u64| ptr::with_exposed_provenance_mut(at as usize);
    let to = [vector(buffer.as_mut_ptr().cast(), buffer.len())];
    let from = [
        vector(address(ip), first),
        vector(address(ip + first as u64), buffer.len() - first),
    ];
    let process = u64::from(std::process::id());
    let arguments = [
        process,
        to.as_ptr() as u64,
        to.len() as u64,
        from.as_ptr() as u64,
        from.len() as u64,
        0,
    ];
    // SAFETY: the kernel reads the vectors and writes at most `buffer.len()` bytes to `buffer`.
    let read = unsafe { kernel::call(libc::SYS_process_vm_readv, arguments) };
    if read == -i64::from(libc::EFAULT) as u64 {
        return Some(0);
    }
    (!kernel::is_error(read)).then_some(read as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_stops_at_unmapped_memory() {
        // SAFETY: two new pages, of which the second is unmapped again.
        let page = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(ptr::null_mut(), 8192, protection, flags, -1, 0);
            assert_eq!(libc::munmap(page.byte_add(4096), 4096), 0);
            page as u64
        };
        let mut buffer = [1; 720];
        assert_eq!(read(page, &mut buffer), Some(720));
        assert_eq!(buffer, [0; 720]);
        assert_eq!(read(page + 4090, &mut buffer), Some(6));
        assert_eq!(read(page + 4096, &mut buffer), Some(0));
        // SAFETY: the page of this test.
        unsafe { libc::munmap(page as *mut libc::c_void, 4096) };
    }
}

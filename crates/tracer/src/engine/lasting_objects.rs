//! The objects whose code stays for the life of the process.

use std::ffi::{c_int, c_void};
use std::ops::Range;

/// The program, the C library, the loader and the vDSO.
const MAX_OBJECTS: usize = 4;

/// The address ranges of the objects that stay for the life of the process.
pub(super) struct LastingObjects {
    spans: [(u64, u64); MAX_OBJECTS],
    len: usize,
    /// An address in each of them except the program, which comes first.
    anchors: [u64; MAX_OBJECTS - 1],
}

impl LastingObjects {
    /// Finds the objects. May take the loader's lock, so do not call it inside the engine.
    pub(super) fn for_this_process() -> LastingObjects {
        // SAFETY: reads the auxiliary vector.
        let auxiliary = |key| unsafe { libc::getauxval(key) };
        let mut objects = LastingObjects {
            spans: [(0, 0); MAX_OBJECTS],
            len: 0,
            anchors: [
                libc::getpid as *const () as u64,
                auxiliary(libc::AT_BASE),
                auxiliary(libc::AT_SYSINFO_EHDR),
            ],
        };
        // SAFETY: `add` matches the expected signature and does not unwind; `objects` outlives the
        // call.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast()) };
        objects
    }

    pub(super) fn contain(&self, range: &Range<u64>) -> bool {
        self.spans[..self.len]
            .iter()
            .any(|&(start, end)| start <= range.start && range.end <= end)
    }
}

unsafe extern "C" fn add(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    objects: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description of an object and of its program headers, and
    // `objects` is the variable of `of_this_process`.
    let (info, objects, headers) = unsafe {
        let info = &*info;
        let headers = if info.dlpi_phnum == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into())
        };
        (info, &mut *objects.cast::<LastingObjects>(), headers)
    };
    const PAGE: u64 = 4096;
    let segments = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let (mut start, mut end) = (u64::MAX, 0);
    for segment in segments {
        let first = info.dlpi_addr.wrapping_add(segment.p_vaddr);
        start = start.min(first & !(PAGE - 1));
        end = end.max((first + segment.p_memsz).next_multiple_of(PAGE));
    }
    let is_program = objects.len == 0;
    let lasts = is_program || objects.anchors.iter().any(|at| (start..end).contains(at));
    if lasts && objects.len < MAX_OBJECTS {
        objects.spans[objects.len] = (start, end);
        objects.len += 1;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_is_lasting_and_heap_is_not() {
        let objects = LastingObjects::for_this_process();
        let around = |address: u64| address..address + 1;
        let here = function_is_lasting_and_heap_is_not as *const () as u64;
        assert!(objects.contain(&around(here)));
        assert!(objects.contain(&around(libc::malloc as *const () as u64)));
        let heap = Box::new(0_u64);
        assert!(!objects.contain(&around(&raw const *heap as u64)));
    }
}

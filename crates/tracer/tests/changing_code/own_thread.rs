//! Code changed by the traced thread itself.

use std::hint::black_box;
use std::ptr;

use topdown_tracer::{End, TraceError};

use crate::count::tracer;
use crate::page::{PAGE, Page, READ_EXECUTE, READ_WRITE};
use crate::{in_a_process_of_its_own, traced_by};

fn traced<T>(work: impl FnOnce() -> T) -> (T, Result<End, TraceError>) {
    let tracer = tracer();
    let first = traced_by(&tracer, work);
    // Whatever happened, the tracer is of use again.
    let again = traced_by(&tracer, || black_box(3));
    assert_eq!(again, (3, Ok(End::Detach)));
    first
}

#[test]
fn code_in_writable_memory_is_not_traced() {
    let page = Page::map(None, READ_WRITE | READ_EXECUTE, libc::MAP_PRIVATE, None);
    let (results, end) = traced(|| {
        page.write(1);
        let first = page.call();
        page.write(2);
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    let ip = page.0 as u64;
    assert_eq!(end, Err(TraceError::WritableCode { ip }));
}

#[test]
fn code_in_shared_memory_is_not_traced() {
    let page = Page::map(None, READ_WRITE, libc::MAP_SHARED, None);
    page.write(9);
    page.protect(READ_EXECUTE);
    let (result, end) = traced(|| page.call());
    assert_eq!(result, 9);
    let ip = page.0 as u64;
    assert_eq!(end, Err(TraceError::WritableCode { ip }));
}

#[test]
fn code_rewritten_between_mprotects_is_traced_anew() {
    let page = Page::returning(0);
    let (results, end) = traced(|| {
        [1, 2, 3].map(|value| {
            page.rewrite(value);
            page.call()
        })
    });
    assert_eq!(results, [1, 2, 3]);
    assert_eq!(end, Ok(End::Detach));
}

#[test]
fn generated_code_changed_between_traces_is_renewed() {
    let tracer = tracer();
    let page = Page::returning(0);
    for value in [4, 5, 6] {
        page.rewrite(value);
        let traced = traced_by(&tracer, || page.call());
        assert_eq!(traced, (value.into(), Ok(End::Detach)));
    }
}

/// Another test could get the place in between.
#[test]
fn mapping_at_old_address_is_traced_anew() {
    in_a_process_of_its_own("own_thread::mapping_at_old_address_is_traced_anew", || {
        let (pages, end) = traced(|| {
            [7, 8].map(|value| {
                let page = Page::returning(value);
                let result = page.call();
                page.unmap();
                (page.0, result)
            })
        });
        assert_eq!(pages.map(|(_, result)| result), [7, 8]);
        assert_eq!(
            pages[0].0, pages[1].0,
            "the kernel took another place: no test"
        );
        assert_eq!(end, Ok(End::Detach));
    });
}

#[test]
fn mapping_moved_over_another_is_traced_anew() {
    let (first, second) = (Page::returning(1), Page::returning(2));
    let (results, end) = traced(|| {
        let before = first.call();
        // SAFETY: moves the second page to the place of the first; its own is not used again.
        let moved = unsafe {
            libc::mremap(
                ptr::with_exposed_provenance_mut(second.0),
                PAGE,
                PAGE,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                ptr::with_exposed_provenance_mut::<u8>(first.0),
            )
        };
        assert_ne!(moved, libc::MAP_FAILED);
        (before, first.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
}

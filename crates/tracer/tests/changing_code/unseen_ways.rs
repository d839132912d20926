//! Ways to change code that need no right to write where it is executed.

use std::io::Write;
use std::os::unix::fs::FileExt;

use topdown_tracer::End;

use crate::other_thread::changed_by_another_thread;
use crate::page::{PAGE, Page, READ_EXECUTE, READ_WRITE, code, memory_file, own_memory};
use crate::traced;

#[test]
fn rewrite_through_proc_self_mem() {
    let page = Page::returning(1);
    let memory = own_memory();
    let (results, end) = traced(|| {
        let first = page.call();
        memory.write_all_at(&code(2), page.0 as u64).unwrap();
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
    changed_by_another_thread(
        || Page::returning(1),
        |page| memory.write_all_at(&code(2), page.0 as u64).unwrap(),
    );
}

#[test]
fn rewrite_by_pwrite_to_mapped_file() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[0xcc; PAGE]).unwrap();
    file.write_all_at(&code(1), 0).unwrap();
    let page = Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file));
    let (results, end) = traced(|| {
        let first = page.call();
        file.write_all_at(&code(2), 0).unwrap();
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
    page.unmap();
    changed_by_another_thread(
        || {
            file.write_all_at(&code(1), 0).unwrap();
            Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file))
        },
        |_| file.write_all_at(&code(2), 0).unwrap(),
    );
}

#[test]
pub fn rewrite_through_alias() {
    let file = memory_file(1);
    let page = Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file));
    let alias = Page::map(None, READ_WRITE, libc::MAP_SHARED, Some(&file));
    let (results, end) = traced(|| {
        let first = page.call();
        alias.write(2);
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
}

#[test]
fn madvise_restores_code_of_file() {
    let file = memory_file(2);
    let make = || {
        let page = Page::map(None, READ_WRITE, libc::MAP_PRIVATE, Some(&file));
        page.write(1);
        page.protect(READ_EXECUTE);
        page
    };
    let page = make();
    let (results, end) = traced(|| {
        let first = page.call();
        page.drop_content();
        (first, page.call())
    });
    assert_eq!(results, (1, 2));
    assert_eq!(end, Ok(End::Detach));
    changed_by_another_thread(make, Page::drop_content);
}

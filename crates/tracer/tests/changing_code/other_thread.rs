//! Another thread changes code while the traced one waits.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use topdown_tracer::End;

use crate::page::{Page, READ_EXECUTE, READ_WRITE, memory_file};
use crate::{in_a_process_of_its_own, traced};

/// What lets another thread do something when the traced one wants it, without a system call of the
/// traced one.
#[derive(Default)]
pub struct Turns(AtomicU32);

impl Turns {
    pub fn wait_for(&self, turn: u32) {
        while self.0.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
    }

    pub fn give(&self, turn: u32) {
        self.0.store(turn, Ordering::Release);
    }
}

/// Calls the page, lets another thread do `change` while this one waits, and calls it again.
///
/// Three ways to wait: in a system call until the other thread has ended, in one until it says so,
/// and without any.
pub fn changed_by_another_thread(make: impl Fn() -> Page, change: impl Fn(Page) + Sync) {
    for way in ["join", "channel", "spin"] {
        let page = make();
        let turns = Turns::default();
        let (done, is_done) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            let (turns, change) = (&turns, &change);
            let other = (way != "join").then(|| {
                scope.spawn(move || {
                    if way == "channel" {
                        gone.recv().unwrap();
                    } else {
                        turns.wait_for(1);
                    }
                    change(page);
                    turns.give(2);
                    done.send(()).unwrap();
                })
            });
            let (results, end) = traced(|| {
                let first = page.call();
                match way {
                    "join" => scope.spawn(move || change(page)).join().unwrap(),
                    "channel" => {
                        go.send(()).unwrap();
                        is_done.recv().unwrap();
                    }
                    _ => {
                        turns.give(1);
                        turns.wait_for(2);
                    }
                }
                (first, page.call())
            });
            drop(other);
            assert_eq!(results, (1, 2), "{way}");
            assert_eq!(end, Ok(End::Detach), "{way}");
        });
        page.unmap();
    }
}

#[test]
fn other_thread_rewrites_between_mprotects() {
    changed_by_another_thread(|| Page::returning(1), |page| page.rewrite(2));
}

/// Another test could get the place in between.
#[test]
fn other_thread_unmaps_and_maps() {
    in_a_process_of_its_own("other_thread::other_thread_unmaps_and_maps", || {
        changed_by_another_thread(
            || Page::returning(1),
            |page| {
                page.unmap();
                let place = Page::map(Some(page), READ_WRITE, libc::MAP_PRIVATE, None);
                place.write(2);
                place.protect(READ_EXECUTE);
            },
        );
    });
}

#[test]
fn other_thread_writes_through_alias() {
    let file = memory_file(1);
    let alias = Page::map(None, READ_WRITE, libc::MAP_SHARED, Some(&file));
    changed_by_another_thread(
        || {
            alias.write(1);
            Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(&file))
        },
        |_| alias.write(2),
    );
}

//! Libraries that are loaded and closed while traced.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::thread;

use topdown_skipped::{Need, skip};
use topdown_tracer::{Config, End, Tracer};

use crate::count::Count;
use crate::other_thread::Turns;
use crate::{in_a_process_of_its_own, traced, traced_by};

/// A C library whose function `answer` returns `value`.
fn plugin(directory: &Path, value: u32) -> Option<PathBuf> {
    let source = directory.join(format!("{value}.c"));
    let library = directory.join(format!("lib{value}.so"));
    let text = format!("unsigned long answer(void) {{ return {value}; }}\n");
    File::create(&source)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let status = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    matches!(status, Ok(status) if status.success()).then_some(library)
}

type Answer = extern "C" fn() -> u64;

/// The library and its function.
fn open(library: &Path) -> (usize, Answer) {
    let name = std::ffi::CString::new(library.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the library has no constructors, and its function this type.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        let symbol = libc::dlsym(handle, c"answer".as_ptr());
        assert!(!symbol.is_null());
        (
            handle as usize,
            std::mem::transmute::<*mut _, Answer>(symbol),
        )
    }
}

fn close(handle: usize) {
    // SAFETY: a handle of `open`, whose function is called no more.
    unsafe { libc::dlclose(handle as *mut libc::c_void) };
}

#[test]
fn other_thread_replaces_plugin() {
    in_a_process_of_its_own("plugins::other_thread_replaces_plugin", || {
        let directory = tempfile::tempdir().unwrap();
        let libraries = [1, 2].map(|value| plugin(directory.path(), value));
        let [Some(one), Some(two)] = libraries else {
            skip(Need::System, "there is no C compiler");
            return;
        };
        for spins in [false, true] {
            let (handle, answer) = open(&one);
            let place = answer as usize;
            let turns = Turns::default();
            let second = AtomicPtr::new(ptr::null_mut());
            let handle_of_second = AtomicU64::new(0);
            let load_the_other = || {
                close(handle);
                let (handle, answer) = open(&two);
                handle_of_second.store(handle as u64, Ordering::Relaxed);
                second.store(answer as *mut (), Ordering::Release);
            };
            thread::scope(|scope| {
                let other = spins.then(|| {
                    scope.spawn(|| {
                        turns.wait_for(1);
                        load_the_other();
                        turns.give(2);
                    })
                });
                let (results, end) = traced(|| {
                    let first = answer();
                    if spins {
                        turns.give(1);
                        turns.wait_for(2);
                    } else {
                        scope.spawn(load_the_other).join().unwrap();
                    }
                    // SAFETY: the other thread has stored the function.
                    let answer: Answer =
                        unsafe { std::mem::transmute(second.load(Ordering::Acquire)) };
                    (first, answer())
                });
                drop(other);
                assert_eq!(results, (1, 2));
                assert_eq!(end, Ok(End::Detach));
            });
            let second = second.load(Ordering::Relaxed) as usize;
            assert_eq!(second, place, "the loader took another place: no test");
            close(handle_of_second.load(Ordering::Relaxed) as usize);
        }
    });
}

/// A library that is opened and closed over and over takes no further room.
#[test]
fn repeated_dlopen_reuses_translation_space() {
    let directory = tempfile::tempdir().unwrap();
    let Some(library) = plugin(directory.path(), 7) else {
        skip(Need::System, "there is no C compiler");
        return;
    };
    let config = Config {
        static_instructions: 64 * 1024,
        ..Config::default()
    };
    let tracer = Tracer::new(config, Count::default()).unwrap();
    for _ in 0..5 {
        let (sum, end) = traced_by(&tracer, || {
            (0..40)
                .map(|_| {
                    let (handle, answer) = open(&library);
                    let result = answer();
                    close(handle);
                    result
                })
                .sum::<u64>()
        });
        assert_eq!((sum, end), (280, Ok(End::Detach)));
    }
}

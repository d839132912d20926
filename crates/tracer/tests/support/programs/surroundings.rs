//! Programs that reach beyond the thread: files, libraries, another thread.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::sync::LazyLock;

use super::{fold, random_numbers};

pub fn file() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/kernel/ostype").unwrap();
    let missing = std::fs::File::open("/nonexistent/file").unwrap_err();
    fold(text.bytes().map(u64::from)) ^ missing.raw_os_error().unwrap() as u64
}

pub fn environment() -> u64 {
    let mut hasher = DefaultHasher::new();
    std::env::var_os("PATH").hash(&mut hasher);
    std::env::current_dir().unwrap().hash(&mut hasher);
    hasher.finish()
}

pub fn dlopen() -> u64 {
    // SAFETY: libm's `cbrt` has this signature; the handle is closed after its last use.
    unsafe {
        let library = libc::dlopen(c"libm.so.6".as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return 1;
        }
        let symbol = libc::dlsym(library, c"cbrt".as_ptr());
        let cbrt: extern "C" fn(f64) -> f64 = std::mem::transmute(symbol);
        let result = cbrt(black_box(27.0)).to_bits();
        libc::dlclose(library);
        result
    }
}

/// The thread's result comes through a pipe: one system call waits for it, however long that takes.
/// A join would execute other instructions when the thread is done already.
pub fn thread() -> u64 {
    let mut ends = [0; 2];
    let mut result = [0_u8; 8];
    // SAFETY: the pipe is this function's own until both ends are closed.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let [read, write] = ends;
        let thread = std::thread::spawn(move || {
            let result = fold(random_numbers(50)).to_ne_bytes();
            assert_eq!(libc::write(write, result.as_ptr().cast(), 8), 8);
        });
        std::mem::forget(thread);
        assert_eq!(libc::read(read, result.as_mut_ptr().cast(), 8), 8);
        libc::close(read);
        libc::close(write);
    }
    u64::from_ne_bytes(result)
}

/// A C library whose symbols the loader binds when they are called for the first time.
pub fn lazy_binding() -> u64 {
    static LIBRARY: LazyLock<Option<std::ffi::CString>> = LazyLock::new(|| {
        let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let name = format!("lazy-{}", std::process::id());
        let source = directory.join(format!("{name}.c"));
        let library = directory.join(format!("{name}.so"));
        let text = "#include <stdlib.h>\n#include <math.h>\n\
            double lazy(double x) { return cos(x) + strtod(\"2.5\", 0) + labs(-3); }\n";
        std::fs::write(&source, text).ok()?;
        let built = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-Wl,-z,lazy"])
            .arg("-o")
            .args([&library, &source])
            .arg("-lm")
            .status()
            .ok()?;
        built
            .success()
            .then(|| std::ffi::CString::new(library.to_str()?).ok())?
    });
    let Some(path) = LIBRARY.as_ref() else {
        return 0; // no C compiler here
    };
    // SAFETY: the function has this type; the library is closed after its last use.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return 0; // a static program has no loader
        }
        let symbol = libc::dlsym(library, c"lazy".as_ptr());
        let lazy: extern "C" fn(f64) -> f64 = std::mem::transmute(symbol);
        let results = [lazy(black_box(0.25)), lazy(black_box(0.5))];
        libc::dlclose(library);
        fold(results.map(f64::to_bits))
    }
}

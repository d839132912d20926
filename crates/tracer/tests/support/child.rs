//! Forked children of tests.

/// How a forked child ends that returns this exit code.
pub fn in_child(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs `body` on its only thread and ends.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        let code = body();
        // SAFETY: ends the child.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(process, &mut status, 0) };
    status
}

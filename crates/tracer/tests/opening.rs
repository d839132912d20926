//! Errors of opening a tracer, each with its reason.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/child.rs"]
mod child;
use topdown_skipped::{Need, skip};
use topdown_tracer::{Block, Config, Consumer, OpenError, Tracer};

use child::in_child;

struct Ignore;

impl Consumer for Ignore {
    fn block(&mut self, _block: &Block<'_>, _addresses: &[u64]) {}
}

fn open(config: Config) -> Result<(), OpenError> {
    Tracer::new(config, Ignore).map(drop)
}

#[test]
fn invalid_configuration_is_refused() {
    let buffer = open(Config {
        buffer_bytes: 100_000,
        ..Config::default()
    })
    .unwrap_err();
    assert_eq!(
        buffer.to_string(),
        "buffer_bytes is 100000; it must be a power of two from 64 KiB to 8 MiB"
    );
    let code = open(Config {
        static_instructions: 3,
        ..Config::default()
    });
    assert!(matches!(
        code,
        Err(OpenError::Config {
            field: "static_instructions",
            value: 3,
            ..
        })
    ));
}

#[test]
fn missing_address_space_fails_with_reason() {
    // The limit is below what is mapped already, so every further mapping fails.
    let limit = libc::rlimit {
        rlim_cur: 1 << 20,
        rlim_max: 1 << 20,
    };
    let status = in_child(|| {
        // SAFETY: limits this child, which only tries to open a tracer.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
        let opened = open(Config::default());
        i32::from(matches!(opened, Err(OpenError::Memory { .. })))
    });
    assert_eq!(libc::WEXITSTATUS(status), 1);
}

#[test]
fn forbidden_executable_memory_fails_with_reason() {
    const PR_SET_MDWE: i32 = 65;
    const PR_MDWE_REFUSE_EXEC_GAIN: u64 = 1;
    let status = in_child(|| {
        // SAFETY: forbids this child memory that is writable and executable.
        if unsafe { libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) } != 0 {
            return 77;
        }
        let opened = open(Config::default());
        i32::from(matches!(opened, Err(OpenError::ExecutableMemory { .. })))
    });
    match libc::WEXITSTATUS(status) {
        77 => skip(Need::System, "this kernel has no PR_SET_MDWE"),
        code => assert_eq!(code, 1),
    }
}

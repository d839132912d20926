//! Effects of system calls on the translation.

use super::handlers;

// asm/prctl.h
const ARCH_GET_FS: u64 = 0x1003;
const ARCH_GET_GS: u64 = 0x1004;

// asm-generic/unistd.h, Linux 6.7.
const FUTEX_WAKE: i64 = 454;
const FUTEX_REQUEUE: i64 = 456;

/// How to handle a system call of the traced thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Perform it as is.
    Perform,
    /// Perform it as is. It may wait for another thread or process that changes the program's code,
    /// or change the code itself.
    MayChangeCode,
    /// Perform it as is. It may wake other threads of this process.
    WakesThreads(Wakes),
    /// Perform it. From now on, the program's code may change at any time, through the kernel
    /// acting for this thread.
    LetsOthersChangeCode,
    /// It creates a child, which must not run in the translation. `shares_memory`: the child may
    /// still be leaving the translation at any later time.
    Split { shares_memory: bool },
    /// It may change the memory in this range.
    Changes { start: u64, end: u64 },
    /// It queries or sets the handler of a signal, which the engine intercepts.
    SetsHandler { signal: i32 },
    /// It returns random numbers, which may have to be repeatable.
    GivesRandomNumbers,
    /// It would invalidate what the translation relies on.
    Refuse,
}

/// Number of [waiting threads](super::other_threads) that a system call wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    Nobody,
    /// As many as it returns.
    Counted,
    Somebody,
}

impl Wakes {
    /// Returns whether a thread may have been woken, given the system call's `result`.
    pub(crate) fn somebody(self, result: u64) -> bool {
        match self {
            Wakes::Nobody => false,
            Wakes::Counted => result != 0,
            Wakes::Somebody => true,
        }
    }

    /// Returns the effect of an operation of futex(2).
    fn by_futex(operation: u64) -> Wakes {
        match operation as i32 & libc::FUTEX_CMD_MASK {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => Wakes::Nobody,
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Wakes::Counted,
            _ => Wakes::Somebody,
        }
    }
}

/// Chooses the policy from the number and the first four arguments.
pub(crate) fn policy(number: u64, arguments: [u64; 4]) -> Policy {
    let Ok(number) = i64::try_from(number) else {
        return Policy::MayChangeCode;
    };
    let range = |start: u64, len: u64| Policy::Changes {
        start,
        end: start.saturating_add(len),
    };
    let [first, second, _, fourth] = arguments;
    match number {
        libc::SYS_fork | libc::SYS_vfork => Policy::Split {
            // A vfork's parent waits until the child has left.
            shares_memory: false,
        },
        libc::SYS_clone => Policy::Split {
            shares_memory: shares_memory(first),
        },
        // Its flags are in memory: assume the worst.
        libc::SYS_clone3 => Policy::Split {
            shares_memory: true,
        },
        libc::SYS_munmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect | libc::SYS_madvise => {
            range(first, second)
        }
        // With MREMAP_FIXED, it also replaces what is at another address.
        libc::SYS_mremap if fourth & libc::MREMAP_FIXED as u64 != 0 => EVERYTHING,
        libc::SYS_mremap => range(first, second),
        // With MAP_FIXED it replaces a mapping; without an address it can only take free memory.
        libc::SYS_mmap if first != 0 => range(first, second),
        libc::SYS_shmat | libc::SYS_remap_file_pages => EVERYTHING,
        libc::SYS_rt_sigaction if handlers::is_intercepted(first) => Policy::SetsHandler {
            signal: first as i32,
        },
        libc::SYS_getrandom => Policy::GivesRandomNumbers,
        // A jump to a saved state, whose address would not be translated.
        libc::SYS_rt_sigreturn => Policy::Refuse,
        libc::SYS_arch_prctl if first != ARCH_GET_FS && first != ARCH_GET_GS => Policy::Refuse,
        libc::SYS_modify_ldt => Policy::Refuse,
        libc::SYS_io_uring_setup | libc::SYS_io_setup | libc::SYS_ptrace => {
            Policy::LetsOthersChangeCode
        }
        libc::SYS_futex => Policy::WakesThreads(Wakes::by_futex(second)),
        FUTEX_WAKE => Policy::WakesThreads(Wakes::Counted),
        FUTEX_REQUEUE => Policy::WakesThreads(Wakes::Somebody),
        // A signal ends a wait.
        libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_tgkill
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_rt_tgsigqueueinfo
        | libc::SYS_pidfd_send_signal => Policy::WakesThreads(Wakes::Somebody),
        // They do not wait, and write at most to what their arguments point to. A thread that
        // begins makes some of them. If one lets a signal come, its handler is seen as always.
        libc::SYS_brk
        | libc::SYS_mmap
        | libc::SYS_rt_sigaction
        | libc::SYS_sigaltstack
        | libc::SYS_arch_prctl
        | libc::SYS_clock_gettime
        | libc::SYS_clock_getres
        | libc::SYS_gettimeofday
        | libc::SYS_time
        | libc::SYS_times
        | libc::SYS_getrusage
        | libc::SYS_getpid
        | libc::SYS_getppid
        | libc::SYS_gettid
        | libc::SYS_getuid
        | libc::SYS_geteuid
        | libc::SYS_getgid
        | libc::SYS_getegid
        | libc::SYS_getcpu
        | libc::SYS_sched_getaffinity
        | libc::SYS_uname
        | libc::SYS_sysinfo
        | libc::SYS_set_robust_list
        | libc::SYS_set_tid_address
        | libc::SYS_rseq
        | libc::SYS_rt_sigprocmask
        | libc::SYS_prctl
        | libc::SYS_sched_setaffinity
        | libc::SYS_lseek => Policy::Perform,
        _ => Policy::MayChangeCode,
    }
}

/// It may change memory anywhere.
const EVERYTHING: Policy = Policy::Changes {
    start: 0,
    end: u64::MAX,
};

fn shares_memory(clone_flags: u64) -> bool {
    let flags = clone_flags as i32;
    flags & libc::CLONE_VM != 0 && flags & libc::CLONE_VFORK == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy_of(number: i64, [first, second]: [u64; 2]) -> Policy {
        policy(number as u64, [first, second, 0, 0])
    }

    #[test]
    fn thread_shares_memory_and_spawned_process_ends() {
        let thread = (libc::CLONE_VM | libc::CLONE_THREAD) as u64;
        let spawn = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;
        assert_eq!(
            policy_of(libc::SYS_clone, [thread, 0]),
            Policy::Split {
                shares_memory: true
            }
        );
        assert_eq!(
            policy_of(libc::SYS_clone, [spawn, 0]),
            Policy::Split {
                shares_memory: false
            }
        );
    }

    #[test]
    fn waking_calls_are_known_by_result_or_at_once() {
        let futex = |operation: i32| policy_of(libc::SYS_futex, [0, operation as u64]);
        let private = libc::FUTEX_PRIVATE_FLAG;
        let woken = futex(libc::FUTEX_WAKE | private);
        assert_eq!(woken, Policy::WakesThreads(Wakes::Counted));
        let waits = futex(libc::FUTEX_WAIT_BITSET | private | libc::FUTEX_CLOCK_REALTIME);
        assert_eq!(waits, Policy::WakesThreads(Wakes::Nobody));
        let moved = futex(libc::FUTEX_CMP_REQUEUE);
        assert_eq!(moved, Policy::WakesThreads(Wakes::Somebody));
        assert!(!Wakes::Counted.somebody(0) && Wakes::Counted.somebody(1));
        assert!(!Wakes::Nobody.somebody(1) && Wakes::Somebody.somebody(0));
    }

    #[test]
    fn mapping_changes_are_seen() {
        assert_eq!(
            policy_of(libc::SYS_munmap, [0x1000, 0x2000]),
            Policy::Changes {
                start: 0x1000,
                end: 0x3000
            }
        );
        assert_eq!(policy_of(libc::SYS_mmap, [0, 0x1000]), Policy::Perform);
        let moved = |flags| policy(libc::SYS_mremap as u64, [0x1000, 0x2000, 0x4000, flags]);
        let (start, end) = (0x1000, 0x3000);
        assert_eq!(
            moved(libc::MREMAP_MAYMOVE as u64),
            Policy::Changes { start, end }
        );
        let fixed = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        assert_eq!(moved(fixed as u64), EVERYTHING);
    }

    #[test]
    fn changed_thread_pointer_is_refused() {
        const ARCH_SET_FS: u64 = 0x1002;
        assert_eq!(
            policy_of(libc::SYS_arch_prctl, [ARCH_SET_FS, 0]),
            Policy::Refuse
        );
        assert_eq!(
            policy_of(libc::SYS_arch_prctl, [ARCH_GET_FS, 0]),
            Policy::Perform
        );
    }
}

//! Lets a process run on one CPU, as if it still had all that it had.
//!
//! Outside of traces, the kernel's scheduler decides in which order the threads of a pool begin to
//! wait, and the pool gives work to the one that came first or last. On one CPU, and without
//! preemption by whoever wakes up, that order nearly always repeats.

use std::io;
use std::sync::OnceLock;

use crate::kernel;
use crate::replaced_function::replace_all;

/// Room for 8192 CPUs, the kernel's maximum on this architecture.
type Mask = [u8; 1024];

static RESTRICTION: OnceLock<Restriction> = OnceLock::new();

struct Restriction {
    /// What the process could use before.
    all: Mask,
    /// What it may use.
    one: Mask,
    /// The length of the kernel's masks.
    length: usize,
}

/// Restricts the process to one CPU for its rest, and lets threads finish their time slices.
/// Processes with different places have different CPUs, as far as there are any.
/// `sched_getaffinity` goes on to list all its CPUs, so pools have as many threads as before; of a
/// thread that chooses other CPUs it lists those. Must be called while there is only one thread.
///
/// # Errors
/// Returns an error if the system does not let a process write to its own code, or choose its CPUs.
/// Then nothing has changed.
pub fn run_on_one_cpu(place: usize) -> io::Result<()> {
    let mut all: Mask = [0; size_of::<Mask>()];
    let length = affinity_of(0, &mut all).map_err(io::Error::from_raw_os_error)?;
    let cpus = cpus_in(&all);
    // From the last one on: systems do more on the first.
    let own = cpus[cpus.len() - 1 - place % cpus.len()];
    let mut one: Mask = [0; size_of::<Mask>()];
    one[own / 8] = 1 << (own % 8);
    RESTRICTION.get_or_init(|| Restriction { all, one, length });
    let replacement = (
        libc::sched_getaffinity as *const () as u64,
        sched_getaffinity as *const () as u64,
    );
    replace_all(&[replacement])?;
    // SAFETY: the kernel reads the mask.
    if unsafe { libc::sched_setaffinity(0, length, one.as_ptr().cast()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zero is a valid value.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: asks for the policy, and the kernel reads the parameters.
    unsafe {
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            // May fail: then the order repeats less often.
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters);
        }
    }
    Ok(())
}

/// Returns the numbers of the CPUs in a mask.
fn cpus_in(mask: &Mask) -> Vec<usize> {
    let has = |cpu: &usize| mask[cpu / 8] & (1 << (cpu % 8)) != 0;
    (0..8 * mask.len()).filter(has).collect()
}

/// Fills `mask`, and returns how many bytes of it the kernel has written, or its error number.
fn affinity_of(thread: u64, mask: &mut [u8]) -> Result<usize, i32> {
    let arguments = [thread, mask.len() as u64, mask.as_mut_ptr() as u64, 0, 0, 0];
    // SAFETY: the kernel writes at most as many bytes as `mask` has.
    let result = unsafe { kernel::call(libc::SYS_sched_getaffinity, arguments) };
    match kernel::is_error(result) {
        true => Err(result.wrapping_neg() as i32),
        false => Ok(result as usize),
    }
}

/// Replaces the C library's function.
unsafe extern "C" fn sched_getaffinity(
    thread: libc::pid_t,
    bytes: libc::size_t,
    mask: *mut libc::cpu_set_t,
) -> libc::c_int {
    // SAFETY: the caller provides room for as many bytes.
    let mask = unsafe { std::slice::from_raw_parts_mut(mask.cast::<u8>(), bytes) };
    let written = match affinity_of(thread as u64, mask) {
        Ok(written) => written,
        Err(error) => {
            // SAFETY: it is this thread's own.
            unsafe { *libc::__errno_location() = error };
            return -1;
        }
    };
    mask[written..].fill(0);
    if let Some(Restriction { all, one, length }) = RESTRICTION.get() {
        let length = bytes.min(*length);
        if mask[..length] == one[..length] {
            mask[..length].copy_from_slice(&all[..length]);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::available_parallelism;
    use topdown_skipped::{Need, skip};

    #[test]
    fn process_on_one_cpu_sees_all_of_them() {
        let before = available_parallelism().unwrap();
        let shows_all = in_child(|| {
            run_on_one_cpu(0).unwrap();
            available_parallelism().unwrap() == before && cpus_of_kernel().len() == 1
        });
        assert!(shows_all);
    }

    #[test]
    fn places_have_different_cpus() {
        let all = cpus_of_kernel();
        if all.len() == 1 {
            return skip(Need::Cpus, "there is only one CPU");
        }
        for place in 0..2 * all.len() {
            let has_own = in_child(|| {
                run_on_one_cpu(place).unwrap();
                cpus_of_kernel() == [all[all.len() - 1 - place % all.len()]]
            });
            assert!(has_own, "{place}");
        }
    }

    #[test]
    fn cpus_chosen_by_a_thread_are_listed() {
        let all = cpus_of_kernel();
        if all.len() == 1 {
            return skip(Need::Cpus, "there is only one CPU");
        }
        let shows_chosen = in_child(|| {
            run_on_one_cpu(0).unwrap();
            let own = cpus_of_kernel();
            let other = all.iter().find(|cpu| !own.contains(cpu)).unwrap();
            let mut chosen: Mask = [0; size_of::<Mask>()];
            chosen[other / 8] = 1 << (other % 8);
            // SAFETY: the kernel reads the mask.
            let set = unsafe { libc::sched_setaffinity(0, chosen.len(), chosen.as_ptr().cast()) };
            set == 0 && available_parallelism().unwrap().get() == 1
        });
        assert!(shows_chosen);
    }

    /// Returns the CPUs that the kernel lets this thread use.
    fn cpus_of_kernel() -> Vec<usize> {
        let mut mask: Mask = [0; size_of::<Mask>()];
        affinity_of(0, &mut mask).unwrap();
        cpus_in(&mask)
    }

    /// Returns what `holds` returns in a process of its own, which stays on its CPU.
    fn in_child(holds: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child runs on its only thread, and ends without the harness.
        let process = unsafe { libc::fork() };
        if process == 0 {
            let holds = holds();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!holds)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child; `status` has room.
        assert_eq!(unsafe { libc::waitpid(process, &mut status, 0) }, process);
        status == 0
    }
}

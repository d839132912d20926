//! CPU affinity of a process that single-steps another.

/// Keeps this thread, and the children that it forks, on its CPU. The stepper and its child take
/// turns: on two CPUs each turn wakes the other one up, which takes a virtual machine longer than
/// the step. Where that is not permitted, it only takes longer.
pub fn stay_on_this_cpu() {
    // SAFETY: an empty set is a valid value; the kernel reads it.
    unsafe {
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut cpus);
        libc::sched_setaffinity(0, size_of_val(&cpus), &raw const cpus);
    }
}

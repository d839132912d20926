//! Number of modelled launches that run at once.

use std::num::NonZero;
use std::thread;

/// Returns how many launches may run at once: as many as there are CPUs, or `--jobs`, which cargo
/// has checked.
pub fn at_once(jobs: Option<&str>) -> usize {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    of_jobs(jobs, cpus)
}

/// As for cargo, a negative number counts from the number of CPUs.
fn of_jobs(jobs: Option<&str>, cpus: usize) -> usize {
    match jobs.and_then(|jobs| jobs.parse::<isize>().ok()) {
        None => cpus,
        Some(jobs) if jobs < 0 => cpus.saturating_sub(jobs.unsigned_abs()).max(1),
        Some(jobs) => jobs.unsigned_abs().max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_parsed_like_cargo() {
        let cases = [
            (None, 8),
            (Some("default"), 8),
            (Some("3"), 3),
            (Some("-3"), 5),
            (Some("-9"), 1),
        ];
        for (jobs, expected) in cases {
            assert_eq!(of_jobs(jobs, 8), expected, "{jobs:?}");
        }
    }
}

//! Work that is divided among the CPUs.
#![forbid(unsafe_code)]

use std::thread;

/// Returns what `of` makes of each item, in their order. Each CPU that the process may use gets a
/// thread and a part of neighbouring items. A single part stays on the calling thread.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = items.len().div_ceil(threads).max(1);
    if part >= items.len() {
        return items.iter().map(work).collect();
    }
    let work = &work;
    thread::scope(|scope| {
        let parts = items.chunks(part);
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| 2 * item).collect();
            assert_eq!(map(&items, |item| 2 * item), doubled);
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn panic_reaches_the_caller() {
        map(&[1, 2, 3], |item| assert_ne!(*item, 3, "the third"));
    }
}

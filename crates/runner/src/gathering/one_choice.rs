//! One choice of whose slots to count, for all launches of a benchmark and both sides of a
//! comparison.
//!
//! Unless the user chooses, each process decides in its warm-up, and two could decide differently.
//! So the first launches decide for later ones: all threads are counted if they were on either
//! side.

use topdown_run::provenance::CountedThreads;

use crate::launching::join::is_ours;
use crate::launching::measured::Measured;

/// Threads whose slots the benchmarks of a launch counted, in the order in which they ran.
pub type Seen = Vec<(String, CountedThreads)>;

/// Returns whose slots a launch counted.
pub fn seen(benchmarks: &[Measured]) -> Seen {
    let ours = benchmarks.iter().filter(|b| is_ours(&b.provenance));
    ours.map(|b| (b.name.clone(), b.provenance.threads))
        .collect()
}

/// Returns the decision for the benchmarks of one of the `sides`, in the format of
/// [`THREADS_DECIDED`](topdown_run::environment::THREADS_DECIDED), and whether its launch deviated.
pub fn decided(side: &Seen, sides: &[&Seen]) -> (String, bool) {
    let is_all = |name: &String| {
        let mut all = sides.iter().copied().flatten();
        all.any(|(other, threads)| other == name && *threads == CountedThreads::All)
    };
    let letters = side
        .iter()
        .map(|(name, _)| if is_all(name) { 'a' } else { 'o' });
    let is_otherwise = side
        .iter()
        .any(|(name, threads)| is_all(name) != (*threads == CountedThreads::All));
    (letters.collect(), is_otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::provenance::CountedThreads::{All, Own};

    fn seen(benchmarks: &[(&str, CountedThreads)]) -> Seen {
        let named = |(name, threads): &(&str, CountedThreads)| ((*name).to_owned(), *threads);
        benchmarks.iter().map(named).collect()
    }

    #[test]
    fn both_sides_count_all_threads_if_one_did() {
        let base = seen(&[("alone", Own), ("pool", Own), ("scope", All)]);
        let candidate = seen(&[("new", Own), ("pool", All), ("scope", All), ("alone", Own)]);
        let sides = [&base, &candidate];
        assert_eq!(decided(&base, &sides), ("oaa".to_owned(), true));
        assert_eq!(decided(&candidate, &sides), ("oaao".to_owned(), false));
    }

    #[test]
    fn equal_choices_need_one_launch() {
        let side = seen(&[("alone", Own), ("pool", All)]);
        assert_eq!(decided(&side, &[&side, &side]), ("oa".to_owned(), false));
        assert_eq!(decided(&side, &[&side]), ("oa".to_owned(), false));
    }
}

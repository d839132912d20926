//! Samples that initialise something each. criterion calls the closure of `bench_function` once per
//! sample, so the first iteration of every sample fills what that closure makes.

/// An initialisation has at least this many instructions. Judgement: with fewer, it is the cost of
/// windows.
const MIN_INSTRUCTIONS: u64 = 10_000;

/// An initialisation that is a smaller part of a sample does no harm: a twentieth. Judgement: a
/// change of 3 % is then seen as one of 2.85 %.
const MAX_PARTS: u64 = 20;

/// What two pairs of samples say about the same initialisation differs by less: an eighth.
/// Judgement: iterations of random length double less exactly.
const SAME_PARTS: u64 = 8;

/// What the samples so far say about an initialisation in each of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RepeatedInitialisation {
    /// The instructions of the last sample.
    last: u64,
    /// The part of the last sample that did not double with the iterations.
    constant: u64,
    /// The instructions of an initialisation, 0 if there is none.
    initialisation: u64,
}

impl RepeatedInitialisation {
    /// Counts a sample of twice as many iterations as the one before.
    pub fn count(&mut self, instructions: u64) {
        let last = std::mem::replace(&mut self.last, instructions);
        // A sample that has less than the one before shows what that one alone initialised.
        let constant = if instructions < last {
            0
        } else {
            last.saturating_mul(2).saturating_sub(instructions)
        };
        let before = std::mem::replace(&mut self.constant, constant);
        let is_same = constant.abs_diff(before) <= before / SAME_PARTS;
        let is_large = constant >= MIN_INSTRUCTIONS;
        self.initialisation = if is_same && is_large { constant } else { 0 };
    }

    /// Returns how many instructions of each sample initialise something.
    pub fn initialisation(&self) -> u64 {
        self.initialisation
    }

    /// Returns whether they are a notable part of the last sample.
    pub fn matters(&self) -> bool {
        self.initialisation > 0 && self.initialisation.saturating_mul(MAX_PARTS) >= self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: &[u64]) -> (u64, bool) {
        let mut found = RepeatedInitialisation::default();
        samples.iter().for_each(|sample| found.count(*sample));
        (found.initialisation(), found.matters())
    }

    #[test]
    fn constant_part_of_three_samples_is_an_initialisation() {
        assert_eq!(of(&[100_100, 100_200, 100_400]), (100_000, true));
        assert_eq!(of(&[100_100, 100_200]), (0, false));
        let long = [1_100_000, 2_100_000, 4_100_000];
        assert_eq!(of(&long), (100_000, false));
        // The first iteration of all, and one further on.
        assert_eq!(of(&[100_100, 200, 400, 800]), (0, false));
        assert_eq!(of(&[160_000, 200_000, 400_000, 800_000]), (0, false));
        assert_eq!(of(&[100_100, 200_200, 400, 800]), (0, false));
        // Windows, and iterations that differ.
        assert_eq!(of(&[91, 94, 100, 112]), (0, false));
        assert_eq!(of(&[100_000, 190_000, 410_000]), (0, false));
        assert_eq!(of(&[100_000, 190_000, 350_000, 740_000]), (0, false));
    }
}

//! Taken branches that lie so close together that decoded operations are not kept.

use crate::calendar::boxed;
use crate::parameters::CrowdedBranches as Parameters;

/// Number of windows of code whose taken branches are kept.
const WINDOWS: usize = 512;
/// Bytes of a window.
const WINDOW_BYTES: u64 = u32::BITS as u64;

/// The taken branches of each window of code.
pub(super) struct CrowdedBranches {
    parameters: Parameters,
    /// The number of a window, and a bit for each byte at which a taken branch ends.
    windows: Box<[(u32, u32); WINDOWS]>,
}

impl CrowdedBranches {
    pub(super) fn new(parameters: &Parameters) -> Self {
        CrowdedBranches {
            parameters: parameters.clone(),
            windows: boxed((0, 0)),
        }
    }

    /// Takes the branch whose last byte lies at `last`, and returns the cycles that it costs more
    /// than others.
    #[inline]
    pub(super) fn take(&mut self, last: u64) -> u64 {
        let number = (last / WINDOW_BYTES) as u32;
        let window = &mut self.windows[number as usize % WINDOWS];
        if window.0 != number {
            *window = (number, 0);
        }
        window.1 |= 1 << (last % WINDOW_BYTES);
        let branches = window.1.count_ones();
        if branches <= self.parameters.kept {
            return 0;
        }
        (branches * self.parameters.eighths).div_ceil(8).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    /// Returns the cycles of so many branches, one every two bytes, in the second round.
    fn cycles(count: u64) -> u64 {
        let parameters = GOLDEN_COVE.frontend.crowded_branches.as_ref().unwrap();
        let mut crowded = CrowdedBranches::new(parameters);
        let mut round = || -> u64 {
            (0..count)
                .map(|place| crowded.take(0x1001 + place * 2))
                .sum()
        };
        round();
        round()
    }

    #[test]
    fn each_of_too_many_branches_costs() {
        assert_eq!(cycles(6), 0);
        assert_eq!(cycles(7), 7 * 3);
        assert_eq!(cycles(16), 16 * 6);
    }
}

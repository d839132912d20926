//! The file through which `cargo topdown` has a bench fork a process for each benchmark.
//!
//! [`FORKS`](crate::environment::FORKS) names it. It has an [`Entry`] for each benchmark, in the
//! order in which the bench reaches them. To find out whether the bench can fork, a launch that
//! measures nothing begins with an empty file, and the bench appends [`CAN_FORK`] or
//! [`CANNOT_FORK`] when it reaches a benchmark.

/// The prefix of the path of a file with entries.
pub const PLAN_PREFIX: &str = "plan:";

/// The prefix of the path of a file to which the bench appends; as long as the other.
pub const PROBE_PREFIX: &str = "test:";

/// A fork would have a copy of everything.
pub const CAN_FORK: u8 = b'y';

/// A fork would lack or share something.
pub const CANNOT_FORK: u8 = b'n';

/// The length of an entry: it is read without allocating, which would move data of benchmarks.
pub const ENTRY_BYTES: usize = 8;

/// The treatment of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nothing.
    Skip,
    /// Measure it in a process of its own.
    Measure {
        /// Number of samples to repeat without a model, as in
        /// [`REPEATS`](crate::environment::REPEATS); 0 to model.
        repeats: u32,
    },
}

impl Entry {
    const SKIP: [u8; ENTRY_BYTES] = *b"--------";

    /// Returns the bytes of the file.
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let Entry::Measure { repeats } = self else {
            return Entry::SKIP;
        };
        let mut digits = [b'0'; ENTRY_BYTES];
        let mut rest = repeats;
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        digits
    }

    /// Reads the bytes of the file. What is not a number skips the benchmark.
    pub fn from_bytes(bytes: [u8; ENTRY_BYTES]) -> Entry {
        let digits = std::str::from_utf8(&bytes);
        match digits.map(str::parse) {
            Ok(Ok(repeats)) => Entry::Measure { repeats },
            _ => Entry::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_written() {
        for entry in [
            Entry::Skip,
            Entry::Measure { repeats: 0 },
            Entry::Measure { repeats: 9 },
            Entry::Measure {
                repeats: 12_345_678,
            },
        ] {
            assert_eq!(Entry::from_bytes(entry.to_bytes()), entry);
        }
        assert_eq!(Entry::Measure { repeats: 7 }.to_bytes(), *b"00000007");
        assert_eq!(PLAN_PREFIX.len(), PROBE_PREFIX.len());
    }
}

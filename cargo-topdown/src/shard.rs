//! Cuts a suite into parts for several machines of one class.
//!
//! `command::bench` finds out which benchmarks the suite has, and [`merge`](crate::merge) puts the
//! parts together.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use topdown_run::run_file::MAX_SHARDS;

/// A part and the number of parts: `2/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardNumber {
    /// From 1 to `of`.
    pub number: u32,
    /// The number of parts; at most [`MAX_SHARDS`].
    pub of: u32,
}

/// The text is not a shard number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not `I/N`: shard I of N, counted from 1, with N up to {MAX_SHARDS}")]
pub struct ShardNumberError(String);

impl FromStr for ShardNumber {
    type Err = ShardNumberError;

    fn from_str(text: &str) -> Result<ShardNumber, ShardNumberError> {
        let number = text.split_once('/').and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            (of <= MAX_SHARDS && (1..=of).contains(&number)).then_some(ShardNumber { number, of })
        });
        number.ok_or_else(|| ShardNumberError(text.to_owned()))
    }
}

impl fmt::Display for ShardNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Returns the shard of each item, from 1 to `of`, in the items' order.
///
/// Neighbours stay together: a bench target prepares its data in every process, so few machines
/// should start it. All shards cost nearly the same: if the sum of `costs` (all above 0) is cut
/// into `of` equal lengths, an item goes where its middle falls. With equal costs, the shards' item
/// counts differ by at most one.
pub fn cut(costs: &[f64], of: u32) -> Vec<u32> {
    let total: f64 = costs.iter().sum();
    let mut begin = 0.0;
    costs
        .iter()
        .map(|cost| {
            let middle = begin + cost / 2.0;
            begin += cost;
            // Rounding could put the last item past the end.
            ((middle / total * f64::from(of)) as u32 + 1).min(of)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_number_is_between_one_and_total() {
        assert_eq!("2/4".parse(), Ok(ShardNumber { number: 2, of: 4 }));
        assert_eq!("1/1".parse::<ShardNumber>().unwrap().to_string(), "1/1");
        for text in [
            "0/4", "5/4", "2", "2/", "/2", "a/b", "1/2/3", "-1/2", "1/1001", "",
        ] {
            let error = text.parse::<ShardNumber>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not `I/N`")));
        }
    }

    #[test]
    fn shards_of_equal_items_differ_by_at_most_one() {
        for items in 1..40 {
            for of in 1..10 {
                let shards = cut(&vec![0.35; items], of);
                assert!(shards.is_sorted(), "{items} in {of}: {shards:?}");
                let sizes: Vec<usize> = (1..=of)
                    .map(|shard| shards.iter().filter(|s| **s == shard).count())
                    .collect();
                let (least, most) = (sizes.iter().min(), sizes.iter().max());
                assert!(
                    most.unwrap() - least.unwrap() <= 1,
                    "{items} in {of}: {sizes:?}"
                );
            }
        }
    }

    #[test]
    fn expensive_items_get_smaller_shards() {
        assert_eq!(cut(&[3.0, 1.0, 1.0, 1.0], 2), [1, 2, 2, 2]);
        assert_eq!(cut(&[1.0, 1.0, 1.0, 3.0], 2), [1, 1, 1, 2]);
        assert_eq!(cut(&[], 3), [0; 0]);
    }
}

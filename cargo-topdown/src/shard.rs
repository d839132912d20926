//! Parts of a suite that several machines of one class share.
//!
//! Knows how a suite is cut; which benchmarks it has is found out by `command::bench`, and
//! [`merge`](crate::merge) puts the parts together.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Which part of how many: `2/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardNumber {
    /// From 1 to `of`.
    pub number: u32,
    /// How many parts there are.
    pub of: u32,
}

/// A text that is not the number of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not `I/N`, the shard I of N, counted from 1")]
pub struct ShardNumberError(String);

impl FromStr for ShardNumber {
    type Err = ShardNumberError;

    fn from_str(text: &str) -> Result<ShardNumber, ShardNumberError> {
        let number = text.split_once('/').and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            (1..=of)
                .contains(&number)
                .then_some(ShardNumber { number, of })
        });
        number.ok_or_else(|| ShardNumberError(text.to_owned()))
    }
}

impl fmt::Display for ShardNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// The number, from 1 to `of`, of the shard of each item, in their order.
///
/// Neighbours stay together: a bench target prepares its data in every process, so it should be
/// started by few machines. All shards cost nearly the same: an item goes where its middle falls
/// when the sum of `costs` (all above 0) is cut into `of` equal lengths. Equal costs make shards
/// whose numbers of items differ by at most one.
pub fn cut(costs: &[f64], of: u32) -> Vec<u32> {
    let total: f64 = costs.iter().sum();
    let mut begin = 0.0;
    costs
        .iter()
        .map(|cost| {
            let middle = begin + cost / 2.0;
            begin += cost;
            // Rounding could put the last item behind the end.
            ((middle / total * f64::from(of)) as u32 + 1).min(of)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_of_so_many() {
        assert_eq!("2/4".parse(), Ok(ShardNumber { number: 2, of: 4 }));
        assert_eq!("1/1".parse::<ShardNumber>().unwrap().to_string(), "1/1");
        for text in ["0/4", "5/4", "2", "2/", "/2", "a/b", "1/2/3", "-1/2", ""] {
            let error = text.parse::<ShardNumber>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not `I/N`")));
        }
    }

    #[test]
    fn equal_items_make_shards_that_differ_by_one_at_most() {
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
    fn what_costs_more_leaves_room_for_less_beside_it() {
        assert_eq!(cut(&[3.0, 1.0, 1.0, 1.0], 2), [1, 2, 2, 2]);
        assert_eq!(cut(&[1.0, 1.0, 1.0, 3.0], 2), [1, 1, 1, 2]);
        assert_eq!(cut(&[], 3), [0; 0]);
    }
}

//! A hash table of fixed size that refers to the rows of another table.

/// Finds rows by their keys, which only the rows hold.
pub(crate) struct Index {
    /// Row numbers plus 1; 0 where there is none.
    buckets: Box<[u32]>,
}

pub(crate) struct Vacant(usize);

impl Index {
    /// Reserves room for this many rows.
    pub(crate) fn new(rows: usize) -> Index {
        Index {
            buckets: vec![0; (2 * rows.max(1)).next_power_of_two()].into_boxed_slice(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.buckets.fill(0);
    }

    /// Returns the row with a key, or where to insert it. `is_it` says whether a row has the key.
    pub(crate) fn find(&self, key: &[u64], is_it: impl Fn(u32) -> bool) -> Result<u32, Vacant> {
        let mixed = key.iter().fold(0_u64, |hash, value| {
            (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        let mask = self.buckets.len() - 1;
        let mut bucket = (mixed >> 32) as usize & mask;
        loop {
            match self.buckets[bucket] {
                0 => return Err(Vacant(bucket)),
                row if is_it(row - 1) => return Ok(row - 1),
                _ => bucket = (bucket + 1) & mask,
            }
        }
    }

    /// Inserts a row. There must be room for it.
    pub(crate) fn insert(&mut self, vacant: Vacant, row: u32) {
        self.buckets[vacant.0] = row + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_key_until_full() {
        let mut index = Index::new(100);
        let keys: Vec<[u64; 2]> = (0..100).map(|n| [n % 7, n << 40]).collect();
        for (row, key) in (0..).zip(&keys) {
            let vacant = index.find(key, |n| keys[n as usize] == *key).err().unwrap();
            index.insert(vacant, row);
        }
        for (row, key) in (0..).zip(&keys) {
            let found = index.find(key, |n| keys[n as usize] == *key);
            assert_eq!(found.ok(), Some(row));
        }
        assert!(index.find(&[8, 8], |n| keys[n as usize] == [8, 8]).is_err());
        index.clear();
        assert!(index.find(&keys[0], |_| true).is_err());
    }
}

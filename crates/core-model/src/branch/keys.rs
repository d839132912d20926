//! Addresses of branches and targets, numbered as keys of the predictors.
//!
//! The tables of a real predictor are indexed by hashes of addresses. Which branches share an entry
//! then depends on where the linker has put each function, which an unrelated change of the program
//! decides. A model that numbers the places of branches in the order in which they are first
//! executed has tables of the same size, but predicts the same wherever they lie.

use crate::index::Index;

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeAddress {
    /// Where it lies in the model.
    pub ip: u64,
    /// What the tables of predictors know it by.
    pub key: u64,
}

/// Assigns keys.
pub(super) struct Keys {
    /// The numbered places; a place's key is its position. Never more than there is room for.
    numbered: Vec<u64>,
    index: Index,
}

impl Keys {
    /// Creates keys that are numbers for this many places, and the addresses of all others.
    pub(super) fn new(places: usize) -> Keys {
        Keys {
            numbered: Vec::with_capacity(places),
            index: Index::new(places),
        }
    }

    /// Returns the place at `ip`.
    pub(super) fn address(&mut self, ip: u64) -> CodeAddress {
        let found = self
            .index
            .find(&[ip], |row| self.numbered[row as usize] == ip);
        let key = match found {
            Ok(row) => row.into(),
            Err(_) if self.numbered.len() == self.numbered.capacity() => ip,
            Err(vacant) => {
                let row = self.numbered.len() as u32;
                self.index.insert(vacant, row);
                self.numbered.push(ip);
                row.into()
            }
        };
        CodeAddress { ip, key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_in_order_until_full() {
        let mut keys = Keys::new(2);
        let mut key = |ip| keys.address(ip).key;
        assert_eq!([key(7000), key(50), key(7000)], [0, 1, 0]);
        assert_eq!([key(900), key(50), key(900)], [900, 1, 900]);
    }

    #[test]
    fn full_table_uses_address_as_key() {
        assert_eq!(
            Keys::new(0).address(7000),
            CodeAddress {
                ip: 7000,
                key: 7000
            }
        );
    }
}

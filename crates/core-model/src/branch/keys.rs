//! Addresses of branches and targets, numbered as keys of the predictors.
//!
//! The tables of a real predictor are indexed by hashes of addresses, so an unrelated change of the
//! program, which moves functions, changes which branches share an entry. A model that numbers
//! branches in the order in which they are first executed predicts the same wherever they lie.

use crate::index::Index;

/// An address in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeAddress {
    /// The address in the model.
    pub ip: u64,
    /// The key in the predictors' tables.
    pub key: u64,
}

/// Assigns keys.
pub(super) struct Keys {
    /// The numbered addresses; the position is the key. Never reallocates.
    numbered: Vec<u64>,
    index: Index,
}

impl Keys {
    /// Numbers this many addresses; all others are their own keys.
    pub(super) fn new(addresses: usize) -> Keys {
        Keys {
            numbered: Vec::with_capacity(addresses),
            index: Index::new(addresses),
        }
    }

    /// Returns the code address of `ip`.
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

//! Hashes of the first iterations of a benchmark.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the first three iterations of a benchmark executed in a process. Two builds with equal
/// fingerprints execute the same instructions in the same order, on data at the same places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The instructions, including those in libraries, and how often each was executed, excluding
    /// relative offsets to other code and to static data, which the linker decides.
    pub code: Hash,
    /// The instructions in execution order and their data addresses, as the model assigns them,
    /// excluding addresses encoded in the instructions.
    pub data: Hash,
    /// The same as `code` per function, sorted by name. Functions with the same name are merged.
    pub functions: Vec<FunctionFingerprint>,
}

impl Fingerprint {
    /// Returns whether both executed the same instructions in the same order, on data at the same
    /// places.
    pub fn is_same(&self, other: &Fingerprint) -> bool {
        (self.code, self.data) == (other.code, other.data)
    }
}

/// The executed part of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FunctionFingerprint {
    /// Its name; absent if no symbol names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The library that contains it; absent for the bench executable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its instructions, and how often each was executed.
    pub code: Hash,
}

/// 64 bits; 16 hexadecimal digits in files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct Hash(pub u64);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = String;

    fn try_from(text: String) -> Result<Hash, String> {
        let is_hash = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match u64::from_str_radix(&text, 16) {
            Ok(hash) if is_hash => Ok(Hash(hash)),
            _ => Err(format!("{text:?} is not a hash of 16 hexadecimal digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_exactly_sixteen_digits() {
        let json = serde_json::to_string(&Hash(0xab)).unwrap();
        assert_eq!(json, "\"00000000000000ab\"");
        assert_eq!(serde_json::from_str::<Hash>(&json).unwrap(), Hash(0xab));
        for wrong in [
            "\"ab\"",
            "\"+0000000000000ab\"",
            "\"\"",
            "7",
            "\"00000000000000ag\"",
        ] {
            assert!(serde_json::from_str::<Hash>(wrong).is_err(), "{wrong}");
        }
    }
}

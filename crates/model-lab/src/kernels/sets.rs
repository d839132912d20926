//! The sets of kernels, and how they are kept from being tuned to.
//!
//! A set is written and frozen with its native cycles before any core runs it. Each version of a
//! core runs it once; from the next version on it counts as calibrated.

use super::Group;

/// Kernels that were written together.
pub struct Set {
    /// As in the documents.
    pub title: &'static str,
    /// Its kernels.
    pub group: Group,
    /// The versions of the cores that first ran it.
    pub first_run_by: &'static str,
    /// The source, and the start of its SHA-256 in hexadecimal digits, if the set is frozen.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares them"))]
    frozen: Option<(&'static [&'static str], &'static str)>,
}

const fn older(title: &'static str, group: Group, first_run_by: &'static str) -> Set {
    Set {
        title,
        group,
        first_run_by,
        frozen: None,
    }
}

const fn frozen(
    title: &'static str,
    group: Group,
    first_run_by: &'static str,
    source: &'static [&'static str],
    digest: &'static str,
) -> Set {
    Set {
        title,
        group,
        first_run_by,
        frozen: Some((source, digest)),
    }
}

const PATTERNS: &[&str] = &[include_str!("patterns.rs")];
const PATTERNS_DIGEST: &str = "eb0fc80ef880c6f3";

/// All sets, in the order of the documents.
pub const ALL: &[Set] = &[
    older("calibrated on", Group::Tuned, "version 1"),
    older("held out", Group::HeldOut, "version 2"),
    older("written for version 4", Group::Fresh, "version 4"),
    older("written for version 10", Group::Later, "version 10"),
    older("loops of 1 to 200 instructions", Group::Loop, "version 1"),
    frozen(
        "unseen-1",
        Group::Unseen1,
        "golden-cove 15",
        &[
            include_str!("unseen_1/codecs.rs"),
            include_str!("unseen_1/maps.rs"),
            include_str!("unseen_1/numeric.rs"),
            include_str!("unseen_1/parsers.rs"),
            include_str!("unseen_1/sorting.rs"),
            include_str!("unseen_1/text.rs"),
        ],
        "a1acf41b3659ada8",
    ),
    frozen(
        "unseen-2",
        Group::Unseen2,
        "golden-cove 18",
        &[include_str!("unseen_2.rs")],
        "1591de0bc3a74f4a",
    ),
    frozen(
        "patterns",
        Group::Pattern,
        "golden-cove 15",
        PATTERNS,
        PATTERNS_DIGEST,
    ),
    frozen(
        "patterns, kept back",
        Group::KeptBack,
        "golden-cove 15",
        PATTERNS,
        PATTERNS_DIGEST,
    ),
    frozen(
        "changed kernels",
        Group::Change,
        "golden-cove 15",
        &[include_str!("changes.rs")],
        "8fadcdcb564731ff",
    ),
];

/// Returns the set of a group; questions belong to none.
pub fn of(group: Group) -> Option<&'static Set> {
    ALL.iter().find(|set| set.group == group)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn digest(source: &[&str]) -> String {
        let mut hash = Sha256::new();
        source.iter().for_each(|text| hash.update(text));
        let bytes = hash.finalize();
        bytes
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    #[test]
    fn frozen_sets_have_their_source() {
        for set in ALL {
            if let Some((source, expected)) = set.frozen {
                let title = set.title;
                assert_eq!(
                    digest(source),
                    expected,
                    "changed since it was measured: {title}"
                );
            }
        }
    }
}

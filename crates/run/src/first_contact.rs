//! Errors of modelled cores on kernels that nobody had tuned to.

use std::fmt;

/// The error of one version of a core in its first and only run of a set of kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstContact {
    /// The core's name.
    pub core: &'static str,
    /// Its version. Later ones may have been calibrated on these kernels.
    pub version: u32,
    /// The set, as the documents and the lab call it.
    pub set: &'static str,
    /// Number of kernels.
    pub kernels: u32,
    /// Median, mean and largest error of the modelled cycles.
    pub median_percent: f64,
    /// See `median_percent`.
    pub mean_percent: f64,
    /// See `median_percent`.
    pub worst_percent: f64,
}

/// The newest of each core that has any.
pub const FIRST_CONTACTS: &[FirstContact] = &[FirstContact {
    core: "golden-cove",
    version: 18,
    set: "unseen-2",
    kernels: 12,
    median_percent: 9.4,
    mean_percent: 9.8,
    worst_percent: 15.5,
}];

impl FirstContact {
    /// Returns what is known of the core of a formula (`model-golden-cove/17`), whatever its
    /// version.
    #[inline]
    pub fn of(formula: &str) -> Option<&'static FirstContact> {
        let (core, _) = formula.strip_prefix("model-")?.rsplit_once('/')?;
        FIRST_CONTACTS.iter().find(|contact| contact.core == core)
    }
}

impl fmt::Display for FirstContact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} was wrong by {:.0} % in the median of {} kernels that nobody had tuned to, \
             {:.0} % in the mean, {:.0} % at worst",
            self.core,
            self.version,
            self.median_percent,
            self.kernels,
            self.mean_percent,
            self.worst_percent
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_state_the_same_error() {
        let page = |path: &str| {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
            let text = std::fs::read_to_string(format!("{root}/{path}")).unwrap();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for contact in FIRST_CONTACTS {
            for path in ["README.md", "docs/model.md"] {
                assert!(
                    page(path).contains(&contact.to_string()),
                    "{path}: {contact}"
                );
            }
            let row = format!(
                "| {} {} | {} | {} | {:.1} % | {:.1} % | {:.1} % (",
                contact.core,
                contact.version,
                contact.set,
                contact.kernels,
                contact.mean_percent,
                contact.median_percent,
                contact.worst_percent
            );
            let path = "docs/engineering/core-model.md";
            assert!(page(path).contains(&row), "{path}: {row}");
        }
    }

    #[test]
    fn formula_of_any_version_names_its_core() {
        let core = |formula| FirstContact::of(formula).map(|contact| contact.core);
        assert_eq!(core("model-golden-cove/99"), Some("golden-cove"));
        assert_eq!(core("model-zen-5/17"), None);
        assert_eq!(core("intel-golden-cove"), None);
    }
}

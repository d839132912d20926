//! Patterns for benchmarks and bench targets in settings.

use topdown_run::run_file::{BenchmarkId, LeftOut};
use wildmatch::WildMatch;

/// A pattern for benchmarks: `*` and `?` in `package::target::name`, or in the name alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Only benchmarks of this package.
    package: Option<String>,
    pattern: WildMatch,
}

impl Pattern {
    /// Matches `text` in any package.
    pub fn new(text: &str) -> Pattern {
        Pattern::within(None, text)
    }

    /// Matches `text` in the package of this name, or in any.
    pub fn within(package: Option<&str>, text: &str) -> Pattern {
        Pattern {
            package: package.map(str::to_owned),
            pattern: WildMatch::new(text),
        }
    }

    /// Returns the form stored in a run.
    pub fn stored(&self) -> LeftOut {
        LeftOut {
            package: self.package.clone(),
            pattern: self.pattern.to_string(),
        }
    }

    /// Returns the package that it is restricted to.
    pub fn package(&self) -> Option<&str> {
        self.package.as_deref()
    }

    /// Returns whether it matches `id`.
    pub fn matches(&self, id: &BenchmarkId) -> bool {
        self.is_in(&id.package)
            && (self.pattern.matches(&id.name) || self.pattern.matches(&id.to_string()))
    }

    /// Returns whether it matches a whole bench target: `package::target`, or `package::target::*`.
    pub fn matches_target(&self, package: &str, target: &str) -> bool {
        let text = self.pattern.to_string();
        let target = format!("{package}::{target}");
        let all_of = |text: &str| WildMatch::new(text).matches(&target);
        // A pattern of names, such as `sort*`, does not match a target with such a name.
        self.is_in(package)
            && text.contains("::")
            && (all_of(&text) || text.strip_suffix("::*").is_some_and(all_of))
    }

    fn is_in(&self, package: &str) -> bool {
        self.package.as_ref().is_none_or(|name| name == package)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pattern.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::id;

    #[test]
    fn pattern_matches_name_or_whole_id() {
        let parse = id("parse/json");
        for pattern in ["parse/*", "*json", "parse/jso?", "suite::*", "*"] {
            assert!(Pattern::new(pattern).matches(&parse), "{pattern}");
        }
        for pattern in ["json", "other::*", "parse"] {
            assert!(!Pattern::new(pattern).matches(&parse), "{pattern}");
        }
        assert!(Pattern::within(Some("suite"), "*").matches(&parse));
        assert!(!Pattern::within(Some("other"), "*").matches(&parse));
    }

    #[test]
    fn target_includes_its_package() {
        for pattern in [
            "suite::iai",
            "suite::iai::*",
            "*::iai",
            "*::ia?::*",
            "suite::*",
        ] {
            assert!(
                Pattern::new(pattern).matches_target("suite", "iai"),
                "{pattern}"
            );
        }
        for pattern in ["iai", "*", "ia*", "suite::iai::a/*", "other::*"] {
            assert!(
                !Pattern::new(pattern).matches_target("suite", "iai"),
                "{pattern}"
            );
        }
        assert!(!Pattern::within(Some("other"), "*::iai").matches_target("suite", "iai"));
    }
}

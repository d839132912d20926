//! A run's commit, with a link to it where the repository has a page.

use crate::commit_pages::CommitPages;

/// A commit as the pages show it.
pub struct CommitFact {
    /// `commit 1a2b3c4d5e with changes`.
    pub text: String,
    /// The commit's page.
    pub url: Option<String>,
}

impl CommitFact {
    /// Returns nothing for a run outside of git.
    pub fn new(
        commit: Option<&str>,
        is_dirty: Option<bool>,
        pages: Option<&CommitPages>,
    ) -> Option<CommitFact> {
        let commit = commit?;
        let short: String = commit.chars().take(10).collect();
        let is_commit = commit.chars().all(|c| c.is_ascii_hexdigit());
        Some(CommitFact {
            text: match is_dirty {
                Some(true) => format!("commit {short} with changes"),
                _ => format!("commit {short}"),
            },
            url: pages.filter(|_| is_commit).map(|p| p.page_of(commit)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_commit_hash_has_no_link() {
        let pages = CommitPages::from_remote("https://github.com/o/r");
        let fact = |commit| CommitFact::new(Some(commit), Some(true), pages.as_ref()).unwrap();
        let known = fact("0123456789abcdef");
        assert_eq!(known.text, "commit 0123456789 with changes");
        assert_eq!(
            known.url.as_deref(),
            Some("https://github.com/o/r/commit/0123456789abcdef")
        );
        assert_eq!(fact("../../settings").url, None);
        assert!(CommitFact::new(None, None, pages.as_ref()).is_none());
    }
}

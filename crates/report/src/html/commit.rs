//! A run's commit, with a link to it where the repository has a page.

/// Where the pages of commits are: `https://host/owner/repository/commit/`.
///
/// GitHub, Gitea and Forgejo have them there; GitLab forwards to its own place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPages(String);

impl CommitPages {
    /// Makes it from the address of a git remote. Returns `None` if that does not name a
    /// repository on a host with pages, such as a directory.
    pub fn of_remote(remote: &str) -> Option<CommitPages> {
        let remote = remote.trim();
        let place = match remote.split_once("://") {
            Some(("https" | "http" | "ssh" | "git", place)) => place.to_owned(),
            Some(_) => return None,
            // `git@host:owner/repository`
            None => {
                let (host, path) = remote.split_once(':')?;
                format!("{host}/{path}")
            }
        };
        let (host, path) = place.split_once('/')?;
        // Neither the user, whose password may be in it, nor the port of another protocol.
        let host = host.rsplit('@').next().unwrap_or(host);
        let host = host.split(':').next().unwrap_or(host);
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let is_plain = |text: &str| {
            let mut characters = text.chars();
            characters.all(|c| c.is_ascii_alphanumeric() || "-._~/".contains(c))
        };
        let is_repository = host.contains('.') && path.contains('/');
        (is_repository && is_plain(host) && is_plain(path))
            .then(|| CommitPages(format!("https://{host}/{path}/commit/")))
    }

    fn page_of(&self, commit: &str) -> String {
        format!("{}{commit}", self.0)
    }
}

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
    fn only_known_hosts_have_commit_links() {
        let page = "https://github.com/o/r/commit/";
        for (remote, expected) in [
            ("https://github.com/o/r.git", Some(page)),
            ("https://user:secret@github.com/o/r", Some(page)),
            ("git@github.com:o/r.git\n", Some(page)),
            ("ssh://git@github.com:22/o/r.git/", Some(page)),
            (
                "https://gitlab.example.org/a/b/c.git",
                Some("https://gitlab.example.org/a/b/c/commit/"),
            ),
            ("/srv/git/r.git", None),
            ("../r", None),
            ("file:///srv/git/r.git", None),
            ("https://github.com/o/r\"><script>", None),
            ("javascript:alert(1)//", None),
            ("", None),
        ] {
            let pages = CommitPages::of_remote(remote);
            let expected = expected.map(|page| CommitPages(page.to_owned()));
            assert_eq!(pages, expected, "{remote:?}");
        }
    }

    #[test]
    fn invalid_commit_hash_has_no_link() {
        let pages = CommitPages::of_remote("https://github.com/o/r");
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

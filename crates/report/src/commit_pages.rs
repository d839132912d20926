//! Pages of commits, on the host of the repository.

/// Where the pages of commits are: `https://host/owner/repository/commit/`.
///
/// GitHub, Gitea and Forgejo have them there; GitLab forwards to its own place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPages(String);

impl CommitPages {
    /// Makes it from the address of a git remote. Returns `None` if that does not name a
    /// repository on a host with pages, such as a directory.
    pub fn from_remote(remote: &str) -> Option<CommitPages> {
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

    /// Returns the address of the page of `commit`.
    pub fn page_of(&self, commit: &str) -> String {
        format!("{}{commit}", self.0)
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
            let pages = CommitPages::from_remote(remote);
            let expected = expected.map(|page| CommitPages(page.to_owned()));
            assert_eq!(pages, expected, "{remote:?}");
        }
    }
}

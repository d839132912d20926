//! "Did you mean": the known word that is nearest to an unknown one.

use std::fmt;

/// The similarity from which on a word may be a misspelling, as clap has it for flags.
const MIN_SIMILARITY: f64 = 0.7;

/// Returns the word of `known` that is most like `word`, if any is like it.
pub fn nearest<T: AsRef<str>>(word: &str, known: impl IntoIterator<Item = T>) -> Option<String> {
    let similarity = |known: &T| {
        let known = known.as_ref();
        // Part of a name is what people remember.
        if !word.is_empty() && known.contains(word) {
            1.0
        } else {
            strsim::jaro(word, known)
        }
    };
    let rated = known.into_iter().map(|known| (similarity(&known), known));
    let like = rated.filter(|(similarity, _)| *similarity > MIN_SIMILARITY);
    let best = like.max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, known)| known.as_ref().to_owned())
}

/// A suggestion as the end of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion(pub Option<String>);

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(word) => write!(f, "; did you mean `{word}`?"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misspelt_words_get_suggestions() {
        let known = ["main", "release-1.2", "feature/parse"];
        for (word, expected) in [
            ("mian", Some("main")),
            ("release-1.1", Some("release-1.2")),
            ("parse", Some("feature/parse")),
            ("nope", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known).as_deref(), expected, "{word}");
        }
    }
}

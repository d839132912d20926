//! A word of a shell.

/// Quotes what a shell would take for more than one word, or for something else.
pub fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_metacharacters_are_quoted() {
        assert_eq!(shell_quoted("../runs-2/ü"), "../runs-2/ü");
        assert_eq!(shell_quoted("Bob's runs"), r"'Bob'\''s runs'");
        assert_eq!(shell_quoted("$HOME"), "'$HOME'");
    }
}

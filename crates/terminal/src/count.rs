//! Counted things in words.

use std::fmt::Display;

/// Returns a whole number with its noun: `1 launch`, `2 launches`.
pub fn count_of(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = match noun.ends_with("ch") {
        _ if count == "1" => "",
        true => "es",
        false => "s",
    };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(count_of(0, "run"), "0 runs");
        assert_eq!(count_of(1, "launch"), "1 launch");
        assert_eq!(count_of(2, "launch"), "2 launches");
    }
}

//! Short names of functions, for sentences.

use crate::columns::shortened;

/// The least letters of a path that identify a function.
const FEW_LETTERS: usize = 8;

/// Shortens a function's path to its last names: `char_count_general_case`, `drift::sort`. What is
/// still longer than this many columns, or no plain path, loses its middle.
pub fn last_names(label: &str, max_columns: usize) -> String {
    if let Some(method) = method_of_trait(label) {
        return shortened(&method, max_columns, true);
    }
    if label.contains(['<', ' ']) {
        return shortened(label, max_columns, true);
    }
    let letters = |path: &str| path.replace("{{closure}}", "").trim_matches(':').len();
    let starts = label.rmatch_indices("::").map(|(at, _)| &label[at + 2..]);
    let mut tails = starts.filter(|tail| letters(tail) >= FEW_LETTERS);
    shortened(tails.next().unwrap_or(label), max_columns, true)
}

/// `FilterMap::next` of `<core::…::FilterMap<I, F> as core::iter::Iterator>::next`, if it is one.
fn method_of_trait(label: &str) -> Option<String> {
    let (implementor, of_trait) = label.strip_prefix('<')?.split_once(" as ")?;
    let (_, method) = of_trait.rsplit_once(">::")?;
    let (path, _) = implementor.split_once('<').unwrap_or((implementor, ""));
    let is_path = |path: &str| {
        path.chars()
            .all(|c| c.is_alphanumeric() || "_:".contains(c))
    };
    let name = path.rsplit("::").next().filter(|name| !name.is_empty())?;
    is_path(path).then(|| format!("{name}::{method}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_get_short_identifying_names() {
        for (label, name) in [
            (
                "core::str::count::char_count_general_case",
                "char_count_general_case",
            ),
            ("core::slice::sort::stable::drift::sort", "drift::sort"),
            ("main", "main"),
            (
                "suite::parse::number::{{closure}}",
                "parse::number::{{closure}}",
            ),
            ("malloc (libc.so.6)", "malloc (libc.so.6)"),
            (
                "<core::iter::adapters::filter_map::FilterMap<I, F> as core::iter::Iterator>::next",
                "FilterMap::next",
            ),
            (
                "<std::hash::random::DefaultHasher as core::hash::Hasher>::write",
                "DefaultHasher::write",
            ),
            ("<&T as Into<u64>>::into", "<&T as Into<u64>>::into"),
            ("<[T]>::sort", "<[T]>::sort"),
        ] {
            assert_eq!(last_names(label, 40), name);
        }
    }
}

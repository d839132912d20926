//! Names, comments and pages: the rules of CONTRIBUTING.md that a pattern can check.

use std::fs;
use std::path::{Path, PathBuf};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Words that no name of an item contains, because the field has a better term.
const FORBIDDEN_WORDS: [&str; 9] = [
    "told", "whose", "whoever", "patience", "patient", "owed", "stretch", "lately", "blame",
];
/// Names that say nothing by themselves.
const FORBIDDEN_NAMES: [&str; 10] = [
    "again",
    "beside",
    "elsewhere",
    "hits",
    "lacking",
    "place",
    "places",
    "said",
    "LEAST",
    "MOST",
];
/// Limits are `MIN_` and `MAX_`.
const FORBIDDEN_PREFIXES: [&str; 2] = ["LEAST_", "MOST_"];
/// Item docs and module lines are noun phrases, or sentences with a verb first.
const QUESTIONS: [&str; 6] = [
    "How many ",
    "How much ",
    "How often ",
    "How far ",
    "How long ",
    "How well ",
];
const QUESTION_WORDS: [&str; 8] = [
    "How ", "What ", "Where ", "Which ", "Who ", "Whose ", "Why ", "When ",
];
const MAX_COLUMNS: usize = 100;
const MAX_TEST_NAME: usize = 80;

/// Pages and their longest length in bytes.
const MAX_PAGE_BYTES: [(&str, u64); 7] = [
    ("ARCHITECTURE.md", 9_000),
    ("CHANGELOG.md", 4_500),
    ("README.md", 8_000),
    ("crates/core-model/README.md", 3_000),
    ("docs/gate.md", 20_000),
    ("docs/model.md", 12_288),
    ("docs/projects.md", 6_000),
];
/// All pages together.
const MAX_PROSE_BYTES: u64 = 240_000;

/// Returns the files of the repository whose names end with `suffix`, without build output.
fn files(suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::from(REPOSITORY)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with('.') || name == "target" || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
            } else if name.ends_with(suffix) {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// Returns the path and the text of every source file but this one and generated ones.
fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    let sources = files(".rs").into_iter();
    let others = sources.filter(|path| {
        let is_generated = path.iter().any(|part| part == "generated");
        !is_generated && !path.ends_with("xtask/tests/words.rs")
    });
    others.map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
}

/// Returns the name of the item that a line defines, and its keyword.
fn item(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "mod" => {
                let name = words.find(|word| !["fn", "mut", "unsafe"].contains(word))?;
                let is_part = |c: char| !c.is_alphanumeric() && c != '_';
                let name = name.split(is_part).next()?;
                return (!name.is_empty()).then_some((word, name));
            }
            "unsafe" | "async" | "extern" => {}
            word if word.starts_with("pub") || word.starts_with('"') => {}
            word if word.starts_with('(') || word.ends_with(')') => {}
            _ => return None,
        }
    }
    None
}

/// Returns the words of a name in snake or camel case, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c != '_' {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
    }
    words
}

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN_NAMES.contains(&name)
        || FORBIDDEN_PREFIXES.iter().any(|p| name.starts_with(p))
        || (words_of(name).iter()).any(|word| FORBIDDEN_WORDS.contains(&word.as_str()))
}

#[test]
fn names_have_no_forbidden_words() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            if let Some((_, name)) = item(line.trim_start()).filter(|(_, name)| is_forbidden(name))
            {
                wrong.push(format!("{}:{}: {name}", path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn test_names_are_short_and_say_an_outcome() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let mut is_test = false;
        for line in text.lines().map(str::trim_start) {
            if let Some(("fn", name)) = item(line) {
                let is_clause = ["what_", "who_", "which_", "issue_"]
                    .iter()
                    .any(|prefix| name.starts_with(prefix));
                if is_test && (is_clause || name.len() > MAX_TEST_NAME) {
                    wrong.push(format!("{}: {name}", path.display()));
                }
                is_test = false;
            }
            is_test |= line == "#[test]";
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comments_fit_and_are_no_questions() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let mut is_inside = false;
        for (number, line) in text.lines().enumerate() {
            let start = line.trim_start();
            let is_comment = start.starts_with("//");
            let prose = start.trim_start_matches(['/', '!']).trim_start();
            let is_question = match is_inside {
                _ if number == 0 && start.starts_with("//!") => {
                    QUESTION_WORDS.iter().any(|word| prose.starts_with(word))
                }
                false if start.starts_with("///") => {
                    QUESTIONS.iter().any(|words| prose.starts_with(words))
                }
                _ => false,
            };
            let is_long = is_comment && line.chars().count() > MAX_COLUMNS && prose.contains(' ');
            if is_question || is_long {
                wrong.push(format!("{}:{}: {start}", path.display(), number + 1));
            }
            is_inside = is_comment;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_stay_short() {
    let length = |path: &Path| fs::metadata(path).unwrap().len();
    for (page, limit) in MAX_PAGE_BYTES {
        let length = length(&Path::new(REPOSITORY).join(page));
        assert!(length <= limit, "{page}: {length} bytes of {limit}");
    }
    let all: u64 = files(".md").iter().map(|path| length(path)).sum();
    assert!(all <= MAX_PROSE_BYTES, "{all} bytes of {MAX_PROSE_BYTES}");
}

#[test]
fn items_are_recognised() {
    assert_eq!(item("pub(crate) const fn a(b: C)"), Some(("const", "a")));
    assert_eq!(
        item("unsafe extern \"C\" fn handler()"),
        Some(("fn", "handler"))
    );
    assert_eq!(item("pub struct ToldTwice;"), Some(("struct", "ToldTwice")));
    assert_eq!(item("let place = 1;"), None);
    for name in ["ToldTwice", "is_told", "LEAST_X", "MOST", "place", "Whose"] {
        assert!(is_forbidden(name), "{name}");
    }
    for name in ["placement", "almost_x", "hits_of_l2", "store_location"] {
        assert!(!is_forbidden(name), "{name}");
    }
}

//! A place in the code, as people name it.

use std::fmt;

use criterion_topdown::run_file::SourceLine;

use crate::columns::shortened;

/// More columns of a function's name would fill a narrow terminal.
const LONGEST_FUNCTION: usize = 30;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// Its function; absent for code without a symbol.
    pub function: Option<String>,
    /// Its line, if there is debug information.
    pub line: Option<SourceLine>,
    /// The file that it was loaded from, and where there.
    pub position: String,
}

impl CodePlace {
    /// Names it in a few words, of which the run file has more.
    pub fn in_short(&self) -> String {
        let line = self.line.as_ref().map(|SourceLine { file, line, .. }| {
            let mut slashes = file.rmatch_indices('/').map(|(index, _)| index + 1);
            let start = slashes.nth(1).unwrap_or(0);
            format!("{}:{line}", &file[start..])
        });
        let function = self.function.as_deref().map(last_part);
        let function =
            function.map(|name| format!("`{}`", shortened(name, LONGEST_FUNCTION, true)));
        match (function, line) {
            (Some(function), Some(line)) => format!("{function} ({line})"),
            (Some(known), None) | (None, Some(known)) => known,
            (None, None) => self.position.clone(),
        }
    }
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodePlace {
            function,
            line,
            position,
        } = self;
        match (function, line) {
            (Some(function), Some(line)) => write!(f, "`{function}` ({line}, {position})"),
            (Some(function), None) => write!(f, "`{function}` ({position})"),
            (None, Some(line)) => write!(f, "{line} ({position})"),
            (None, None) => f.write_str(position),
        }
    }
}

/// Returns the last part of a path that is no closure, without the file of line tables.
fn last_part(name: &str) -> &str {
    let path = name.split(" (").next().unwrap_or(name);
    let mut depth = 0_u32;
    let mut end = path.len();
    for (index, c) in path.char_indices().rev() {
        match c {
            '>' | '}' => depth += 1,
            '<' | '{' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                let part = &path[index + 1..end];
                if !part.is_empty() && !part.starts_with(['{', '<']) {
                    return part;
                }
                end = index;
            }
            _ => {}
        }
    }
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_path_is_a_function() {
        for (name, expected) in [
            (
                "once_cell::sync::OnceCell<T>::get_or_try_init",
                "get_or_try_init",
            ),
            ("suite::parse::{{closure}}::{{closure}}", "parse"),
            (
                "<criterion::Bencher<M>>::iter::<u64, suite::parse::{closure#0}>",
                "iter",
            ),
            ("<a::B as c::D>::drop", "drop"),
            ("divide (src/kernel.rs)", "divide"),
            ("{{closure}} (src/kernel.rs)", "{{closure}}"),
            ("main", "main"),
        ] {
            assert_eq!(last_part(name), expected, "{name}");
        }
    }
}

//! A place in the code, as people name it.

use std::fmt;

use topdown_run::run_file::SourceLine;

use topdown_terminal::last_names;

/// Columns of a function's name that leave room on a narrow terminal.
const MAX_FUNCTION_COLUMNS: usize = 30;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLocation {
    /// Its function; absent for code without a symbol.
    pub function: Option<String>,
    /// Its line, if there is debug information.
    pub line: Option<SourceLine>,
    /// The file that it was loaded from, and the offset in it.
    pub position: String,
}

impl CodeLocation {
    /// Names it in a few words. The run file has all of it.
    pub fn in_short(&self) -> String {
        let line = self.line.as_ref().map(|SourceLine { file, line, .. }| {
            let mut slashes = file.rmatch_indices('/').map(|(index, _)| index + 1);
            let start = slashes.nth(1).unwrap_or(0);
            format!("{}:{line}", &file[start..])
        });
        let function = self.function.as_deref().map(|name| {
            // The line identifies the file and the closure.
            let path = name.split(" (").next().unwrap_or(name);
            let function = path.trim_end_matches("::{{closure}}");
            format!("`{}`", last_names(function, MAX_FUNCTION_COLUMNS))
        });
        match (function, line) {
            (Some(function), Some(line)) => format!("{function} ({line})"),
            (Some(known), None) | (None, Some(known)) => known,
            (None, None) => self.position.clone(),
        }
    }
}

impl fmt::Display for CodeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodeLocation {
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

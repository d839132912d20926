//! A command to GitHub's runner, which shows it next to the log and on the run's page.

use std::io::{self, Write};

use topdown_run::run_file::SourceLine;

/// How GitHub shows a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Shown, and no more.
    Notice,
    /// Shown in yellow.
    Warning,
    /// Shown in red.
    Error,
}

/// Writes one command, escaped like GitHub's `@actions/core` does.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, level: Level, title: &str, message: &str) -> io::Result<()> {
    write_at(out, level, None, title, message)
}

/// Writes one command that belongs to a line of the repository.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_at(
    out: &mut impl Write,
    level: Level,
    at: Option<&SourceLine>,
    title: &str,
    message: &str,
) -> io::Result<()> {
    let level = match level {
        Level::Notice => "notice",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let message = data(message);
    let title = data(title).replace(':', "%3A").replace(',', "%2C");
    let place = match at {
        Some(SourceLine { file, line, .. }) => {
            let file = data(file).replace(':', "%3A").replace(',', "%2C");
            format!("file={file},line={line},")
        }
        None => String::new(),
    };
    writeln!(out, "::{level} {place}title={title}::{message}")
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_message_cannot_inject_a_command() {
        let mut out = Vec::new();
        let at = SourceLine {
            file: "a,line=1::b\n.rs".to_owned(),
            line: 7,
            in_workspace: true,
        };
        write_at(&mut out, Level::Error, Some(&at), "t", "m").unwrap();
        let expected = "::error file=a%2Cline=1%3A%3Ab%0A.rs,line=7,title=t::m\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        let title = "a::b,file=x\n::error::t";
        write(&mut out, Level::Warning, title, "100 %\r\n::error::m").unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "::warning title=a%3A%3Ab%2Cfile=x%0A%3A%3Aerror%3A%3At\
             ::100 %25%0D%0A::error::m\n"
        );
    }
}

//! Colours, and where text goes.

use std::io::Stdout;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};

use crate::cli::ColorChoice;

/// Headings.
pub const HEADING: Style = Style::new().bold();
/// What is there for completeness.
pub const DIM: Style = Style::new().dimmed();
/// What is good.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What is bad.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Standard output, coloured as `choice` says. On `auto` the usual rules hold: a terminal, and the
/// variables `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE`.
pub fn stdout(choice: ColorChoice) -> AutoStream<Stdout> {
    AutoStream::new(
        std::io::stdout(),
        match choice {
            // Looks at the stream and the environment.
            ColorChoice::Auto => return AutoStream::auto(std::io::stdout()),
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        },
    )
}

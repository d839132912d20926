//! The command line of `annotate`.

use std::path::PathBuf;

use clap::Args;
use topdown_report::listing_text::Extent;
use topdown_runner::functions::Syntax;

use super::{OneBenchmarkArgs, one_of};

/// `cargo topdown annotate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the lines of `decode` in the benchmark `parse/1k`, on the model
  cargo topdown annotate --exact parse/1k decode --source model")]
pub struct AnnotateArgs {
    /// Show all of the functions whose names contain FUNCTION, and no others
    #[arg(value_name = "FUNCTION", index = 2)]
    pub function: Option<String>,

    #[command(flatten)]
    pub one: OneBenchmarkArgs,

    #[command(flatten)]
    pub listing: ListingArgs,
}

/// How to show lines and instructions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listing")]
pub struct ListingArgs {
    /// The syntax of the disassembly [default: intel]
    #[arg(long, value_name = "SYNTAX", value_parser = one_of(Syntax::ALL, Syntax::name, Syntax::meaning))]
    pub syntax: Option<Syntax>,

    /// Show lines and instructions with few slots, too
    #[arg(long)]
    pub all_lines: bool,

    /// Write HTML pages to DIR, too: an index, and a file for each function
    #[arg(long, value_name = "DIR")]
    pub pages: Option<PathBuf>,
}

impl ListingArgs {
    /// Returns the syntax of the disassembly.
    pub fn syntax(&self) -> Syntax {
        self.syntax.unwrap_or_default()
    }

    /// Returns the first of these flags that is given.
    pub fn first_flag(&self) -> Option<&'static str> {
        let given = [
            ("--syntax", self.syntax.is_some()),
            ("--all-lines", self.all_lines),
            ("--pages", self.pages.is_some()),
        ];
        let given = given.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(flag, _)| flag)
    }

    /// Returns how much is shown.
    pub fn extent(&self) -> Extent {
        if self.all_lines {
            Extent::All
        } else {
            Extent::Hottest
        }
    }
}

//! The command line of `annotate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use topdown_report::listing_text::Extent;
use topdown_run::run_file::Filter;
use topdown_runner::functions::Syntax;

use super::{CargoBenchArgs, LaunchMeasuringArgs, OutputArgs, StoreArgs};
use crate::config::Layer;
use crate::measure::Request;

/// `cargo topdown annotate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the lines of `decode` in the benchmark `parse/1k`, on the model
  cargo topdown annotate --exact parse/1k decode --source model")]
pub struct AnnotateArgs {
    /// The benchmark to annotate: a regular expression that matches exactly one id
    #[arg(value_name = "BENCH")]
    pub benchmark: String,

    /// Show all of the functions whose names contain FUNCTION, and no others
    #[arg(value_name = "FUNCTION")]
    pub function: Option<String>,

    /// Match BENCH as a whole id, not as a regular expression
    #[arg(long)]
    pub exact: bool,

    #[command(flatten)]
    pub listing: ListingArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub measuring: LaunchMeasuringArgs,

    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// How to show lines and instructions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listing")]
pub struct ListingArgs {
    /// The syntax of the disassembly [default: intel]
    #[arg(long, value_name = "SYNTAX")]
    pub syntax: Option<SyntaxChoice>,

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
        self.syntax.map_or_else(Syntax::default, Syntax::from)
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

/// The syntax of a disassembly, as a flag names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SyntaxChoice {
    /// Destination first: `mov rax, [rdi+8]`.
    Intel,
    /// Destination last: `mov 8(%rdi), %rax`.
    Att,
}

impl From<SyntaxChoice> for Syntax {
    fn from(choice: SyntaxChoice) -> Syntax {
        match choice {
            SyntaxChoice::Intel => Syntax::Intel,
            SyntaxChoice::Att => Syntax::Att,
        }
    }
}

impl AnnotateArgs {
    /// The same as a plain request.
    pub fn request(&self) -> Request {
        let filter = Filter {
            expression: self.benchmark.clone(),
            exact: self.exact,
        };
        let settings = Layer {
            launches: Some(1),
            ..Layer::from(&self.measuring)
        };
        Request {
            filter: Some(filter),
            ..self
                .cargo
                .request(settings, self.store.manifest_path.clone(), &self.output)
        }
    }
}

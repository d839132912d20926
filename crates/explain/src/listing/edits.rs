//! Source lines that differ between two listings.

use std::collections::{BTreeMap, BTreeSet};

use similar::{Algorithm, DiffTag, capture_diff_slices};
use topdown_run::run_file::SourceLine;

use super::Listing;

/// The numbers of edited lines, by file, before and after.
#[derive(Clone, Debug, Default)]
pub struct Edits([BTreeMap<String, BTreeSet<u32>>; 2]);

impl Edits {
    /// Compares the files that both sides know, without indentation.
    pub fn between([before, after]: [&Listing; 2]) -> Edits {
        let mut edits = Edits::default();
        for (file, new) in &after.sources {
            let Some(old) = before.sources.get(file) else {
                continue;
            };
            let [old_lines, new_lines] =
                [old, new].map(|lines| lines.iter().map(|line| line.trim()).collect::<Vec<_>>());
            for operation in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
                if operation.tag() == DiffTag::Equal {
                    continue;
                }
                let ranges = [operation.old_range(), operation.new_range()];
                for (side, range) in edits.0.iter_mut().zip(ranges) {
                    let numbers = range.map(|index| index as u32 + 1);
                    side.entry(file.clone()).or_default().extend(numbers);
                }
            }
        }
        edits
    }

    /// Returns whether a line was edited, removed or added.
    pub fn has(&self, side: usize, line: &SourceLine) -> bool {
        let lines = self.0[side].get(&line.file);
        line.in_workspace && lines.is_some_and(|lines| lines.contains(&line.line))
    }

    /// Returns the lines of the side after that were edited or added, but for blank ones and
    /// comments.
    pub fn after<'a>(&'a self, after: &'a Listing) -> impl Iterator<Item = (SourceLine, &'a str)> {
        self.0[1].iter().flat_map(move |(file, numbers)| {
            let text = &after.sources[file];
            numbers.iter().filter_map(move |number| {
                let text = text[*number as usize - 1].as_str();
                let line = SourceLine {
                    file: file.clone(),
                    line: *number,
                    in_workspace: true,
                };
                let is_code = !text.trim().is_empty() && !text.trim_start().starts_with("//");
                is_code.then_some((line, text))
            })
        })
    }
}

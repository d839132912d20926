//! A listing in a terminal: functions, the line with the most slots first, and its instructions.

use std::io::{self, Write};

use topdown_explain::listing::{
    Cause, ListedFunction, ListedInstruction, ListedLine, ListedSlots, Listing,
};
use topdown_terminal::count_of;

use super::bar::CATEGORIES;
use super::listing_words::{
    CALLED, category_words, function_label, inlined_into, instruction_words, line_words, notes_of,
    share_of, title_of, why_words,
};
use super::number::percent;
use super::style::{DIM, HEADING, Look};
use super::table::{Cell, Column, Table};
use super::text::wrapped;

/// The shown part of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The lines and instructions that matter.
    Hottest,
    /// All of it.
    All,
}

/// Lines below this share of the slots are left out…
const MIN_LINE_SHARE: f64 = 0.01;
/// … and instructions below this one.
const MIN_INSTRUCTION_SHARE: f64 = 0.005;

const COLUMNS: [Column; 7] = [
    Column::number("share %"),
    Column::number("ret"),
    Column::number("bad"),
    Column::number("fe"),
    Column::number("be"),
    Column::code("line or instruction", 34),
    Column::name("why", 24).starts_line(),
];

/// Writes a listing with ANSI colours.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(
    out: &mut impl Write,
    listing: &Listing,
    extent: Extent,
    look: Look,
) -> io::Result<()> {
    let title = format!("{}: {}", listing.id, title_of(listing));
    for line in wrapped(&title, look.width) {
        writeln!(out, "{HEADING}{line}{HEADING:#}")?;
    }
    let is_shown = |slots: &ListedSlots, least: f64| {
        extent == Extent::All || slots.total() >= least * listing.slots
    };
    let mut left_out = ListedSlots::default();
    for function in &listing.functions {
        if !is_shown(&function.slots, MIN_LINE_SHARE) {
            left_out.add(&function.slots);
            continue;
        }
        write_heading(out, listing, function, look)?;
        let mut table = Table::new(COLUMNS);
        for line in &function.lines {
            let with_calls = ListedSlots::sum([&line.slots, &line.called]);
            if !is_shown(&with_calls, MIN_LINE_SHARE) {
                left_out.add(&line.slots);
                continue;
            }
            table.row(line_cells(listing, line, look));
            if line.called.total() > 0.0 && is_shown(&line.called, MIN_INSTRUCTION_SHARE) {
                let code = Cell::from(CALLED);
                table.row(cells(listing, &line.called, code, None, look));
            }
            for one in &line.instructions {
                let is_shown = is_shown(&one.slots, MIN_INSTRUCTION_SHARE);
                if is_shown && !one.text.is_empty() {
                    table.row(instruction_cells(listing, one, look));
                }
            }
        }
        table.write(out, look)?;
    }
    writeln!(out)?;
    let mut notes = notes_of(listing);
    if left_out.total() > 0.0 {
        notes.push(format!(
            "lines below {} % of the slots are left out, together {} %; `--all-lines` or a FUNCTION \
             shows them",
            percent(MIN_LINE_SHARE),
            share_of(listing, &left_out, look.unicode)
        ));
    }
    for line in notes.iter().flat_map(|note| wrapped(note, look.width)) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

fn write_heading(
    out: &mut impl Write,
    listing: &Listing,
    function: &ListedFunction,
    look: Look,
) -> io::Result<()> {
    let label = function_label(&function.name, &function.module);
    let share = share_of(listing, &function.slots, look.unicode);
    let lines = count_of(function.lines.len(), "line");
    writeln!(out)?;
    for line in wrapped(&format!("{label}: {share} %, {lines}"), look.width) {
        writeln!(out, "{HEADING}{line}{HEADING:#}")?;
    }
    let inlined = inlined_into(function);
    for line in wrapped(&inlined, look.width)
        .iter()
        .filter(|l| !l.is_empty())
    {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

fn line_cells(listing: &Listing, line: &ListedLine, look: Look) -> [Cell; COLUMNS.len()] {
    let words = line_words(line.at.as_ref(), line.text.as_ref());
    // Each instruction says why.
    let why = match listing.has_instructions {
        true => None,
        false => line.cause(),
    };
    cells(
        listing,
        &line.slots,
        Cell::styled(words, HEADING),
        why,
        look,
    )
}

fn instruction_cells(
    listing: &Listing,
    one: &ListedInstruction,
    look: Look,
) -> [Cell; COLUMNS.len()] {
    let words = instruction_words(one);
    cells(listing, &one.slots, words.into(), Cause::of(one), look)
}

fn cells(
    listing: &Listing,
    slots: &ListedSlots,
    code: Cell,
    why: Option<Cause>,
    look: Look,
) -> [Cell; COLUMNS.len()] {
    let categories = category_words(listing, slots);
    let category = |index: usize| Cell::styled(categories[index].clone(), CATEGORIES[index].style);
    [
        share_of(listing, slots, look.unicode).into(),
        category(0),
        category(1),
        category(2),
        category(3),
        code,
        Cell::styled(why_words(why), DIM),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing_examples::{decode, sampled};
    use crate::shown::{shown, terminal};
    use crate::text::width_of;

    fn text(listing: &Listing, extent: Extent, width: usize) -> String {
        let text = shown(|out| write(out, listing, extent, terminal(width)));
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
        }
        text
    }

    #[test]
    fn listing_at_80_columns() {
        insta::assert_snapshot!(text(&decode(0.0), Extent::Hottest, 80));
    }

    #[test]
    fn listing_at_200_columns() {
        insta::assert_snapshot!(text(&decode(0.0), Extent::All, 200));
    }

    #[test]
    fn sampled_listing_has_errors_and_no_categories() {
        insta::assert_snapshot!(text(&sampled(), Extent::Hottest, 80));
    }
}

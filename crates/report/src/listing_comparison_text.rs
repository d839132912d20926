//! Two listings side by side in a terminal.

use std::io::{self, Write};

use anstyle::Style;
use topdown_explain::listing::{
    AlignedInstruction, Alignment, ComparedLine, ListedInstruction, ListingComparison, TellingLine,
};

use super::listing_text::Extent;
use super::listing_words::{
    change_words, function_label, line_in_words, notes_of_sides, reason_in_words, side_words,
    signed, telling_function, telling_slots, why_words,
};
use super::number::slots;
use super::style::{BAD, DIM, GOOD, HEADING, Look};
use super::table::{Cell, Column, Keep, Table};
use super::text::wrapped;

/// The most telling lines come first, as many as these.
pub const MAX_TELLING_LINES: usize = 10;

const LINES: [Column; 6] = [
    Column::number("change"),
    Column::number("before").keep(Keep::Optional(1)),
    Column::number("after").keep(Keep::Optional(1)),
    Column::code("line", 20),
    Column::name("function", 12).keep(Keep::Optional(2)),
    Column::name("why", 24).starts_line(),
];

const SIDES: [Column; 7] = [
    Column::number("change"),
    Column::text(""),
    Column::number("before"),
    Column::code("", 20),
    Column::number("after"),
    Column::code("", 20),
    Column::name("why", 20).starts_line(),
];

/// Writes what changed: the most telling lines, then each function that changed.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(
    out: &mut impl Write,
    comparison: &ListingComparison,
    extent: Extent,
    look: Look,
) -> io::Result<()> {
    let title = format!(
        "{}: {}",
        comparison.id,
        change_words(comparison, look.arrow())
    );
    for line in wrapped(&title, look.width) {
        writeln!(out, "{HEADING}{line}{HEADING:#}")?;
    }
    let matters = |change: f64| extent == Extent::All || comparison.matters(change);
    let telling: Vec<_> = comparison
        .most_telling()
        .into_iter()
        .take(MAX_TELLING_LINES)
        .collect();
    writeln!(out)?;
    if telling.is_empty() {
        let text = "no line changed by 0.5 % of the slots or more";
        writeln!(out, "{text}")?;
    }
    let mut table = Table::new(LINES);
    for line in telling {
        table.row(telling_cells(line));
    }
    table.write(out, look)?;
    for function in &comparison.functions {
        let lines = || function.lines.iter().filter(|line| matters(line.change()));
        if lines().next().is_none() {
            continue;
        }
        let label = function_label(&function.name, &function.module);
        writeln!(out)?;
        let heading = format!("{label}: {}", signed(function.change()));
        for line in wrapped(&heading, look.width) {
            writeln!(out, "{HEADING}{line}{HEADING:#}")?;
        }
        let mut table = Table::new(SIDES);
        for line in lines() {
            table.row(line_cells(line));
            for one in line.instructions.iter().filter(|i| matters(i.change())) {
                table.row(instruction_cells(one));
            }
        }
        table.write(out, look)?;
    }
    writeln!(out)?;
    let legend = "slots per iteration before and after; + new, - gone, > moved; instructions \
                  are aligned without registers and addresses";
    let mut notes = vec![legend.to_owned()];
    notes.extend(notes_of_sides(&comparison.sides));
    for line in notes.iter().flat_map(|note| wrapped(note, look.width)) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

fn change_cell(change: f64) -> Cell {
    Cell::styled(signed(change), colour_of(change))
}

fn colour_of(change: f64) -> Style {
    if change > 0.0 { BAD } else { GOOD }
}

fn telling_cells((function, line): TellingLine<'_>) -> [Cell; LINES.len()] {
    let [change, before, after] = telling_slots(line);
    [
        Cell::styled(change, colour_of(line.change_with_calls())),
        before.into(),
        after.into(),
        line_in_words(line).into(),
        telling_function(function).into(),
        Cell::styled(reason_in_words(line), DIM),
    ]
}

fn line_cells(line: &ComparedLine) -> [Cell; SIDES.len()] {
    let code = |side: usize| Cell::styled(side_words(line, side), HEADING);
    [
        change_cell(line.change()),
        Cell::default(),
        slots(line.slots(0).total()).into(),
        code(0),
        slots(line.slots(1).total()).into(),
        code(1),
        Cell::default(),
    ]
}

fn instruction_cells(one: &AlignedInstruction) -> [Cell; SIDES.len()] {
    let of = |side: &Option<ListedInstruction>| match side {
        Some(one) => (slots(one.slots.total()), format!("  {}", one.text)),
        None => (String::new(), String::new()),
    };
    let [(before, old), (after, new)] = one.sides.each_ref().map(of);
    let sign = match one.alignment {
        Alignment::Same => "",
        Alignment::Moved => ">",
        Alignment::New => "+",
        Alignment::Gone => "-",
    };
    [
        change_cell(one.change()),
        sign.into(),
        before.into(),
        old.into(),
        after.into(),
        new.into(),
        Cell::styled(why_words(one.cause()), DIM),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing_examples::decode;
    use crate::shown::{shown, terminal};
    use crate::text::width_of;

    fn text(width: usize) -> String {
        let comparison = ListingComparison::new(decode(0.0), decode(400.0));
        let text = shown(|out| write(out, &comparison, Extent::Hottest, terminal(width)));
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
        }
        text
    }

    #[test]
    fn listings_side_by_side_at_80_columns() {
        insta::assert_snapshot!(text(80));
    }

    #[test]
    fn listings_side_by_side_at_200_columns() {
        insta::assert_snapshot!(text(200));
    }

    #[test]
    fn equal_listings_have_no_telling_line() {
        let comparison = ListingComparison::new(decode(0.0), decode(0.0));
        let text = shown(|out| write(out, &comparison, Extent::Hottest, terminal(80)));
        assert!(text.contains("no line changed"), "{text}");
    }
}

//! Two listings side by side in a terminal.

use std::io::{self, Write};

use topdown_explain::listing::{
    AlignedInstruction, Alignment, ComparedFunction, ComparedLine, ListedInstruction,
    ListingComparison,
};

use super::listing_text::Extent;
use super::listing_words::{
    cause_in_words, function_label, notes_of, place_of, reason_in_words, title_of,
};
use super::number::{percent_change, slots};
use super::style::{BAD, DIM, GOOD, HEADING, Look};
use super::table::{Cell, Column, Keep, Table};
use super::text::wrapped;

/// The most telling lines come first, as many as these.
pub const MAX_TELLING_LINES: usize = 10;

const LINES: [Column; 6] = [
    Column::number("change"),
    Column::number("before").keep(Keep::Optional(1)),
    Column::number("after").keep(Keep::Optional(1)),
    Column::name("line", 20),
    Column::name("function", 12).keep(Keep::Optional(2)),
    Column::name("why", 24).starts_line(),
];

const SIDES: [Column; 7] = [
    Column::number("change"),
    Column::text(""),
    Column::number("before"),
    Column::name("", 20),
    Column::number("after"),
    Column::name("", 20),
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
    let [before, after] = &comparison.sides;
    let change = comparison.change() / before.slots.max(f64::MIN_POSITIVE);
    let title = format!(
        "{}: {} {} {} ({})",
        comparison.id,
        slots(before.slots),
        look.arrow(),
        title_of(after),
        percent_change(change)
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
    for (function, line) in telling {
        table.row(telling_cells(function, line));
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
    let notes = std::iter::once(legend).chain(notes_of(after));
    for line in notes.flat_map(|note| wrapped(note, look.width)) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

/// Returns a change of slots with its sign.
pub fn signed(change: f64) -> String {
    let sign = if change < 0.0 { "-" } else { "+" };
    format!("{sign}{}", slots(change.abs()))
}

fn change_cell(change: f64) -> Cell {
    Cell::styled(signed(change), if change > 0.0 { BAD } else { GOOD })
}

/// Returns where a line is and its text, on the side that still has it.
pub fn line_in_words(line: &ComparedLine) -> String {
    let side = usize::from(line.at[1].is_some() || line.at[0].is_none());
    let text = line.text[side].as_deref().map(str::trim);
    let place = place_of(line.at[side].as_ref());
    let words = format!("{place}  {}", text.unwrap_or_default());
    words.trim_end().to_owned()
}

fn telling_cells(function: &ComparedFunction, line: &ComparedLine) -> [Cell; LINES.len()] {
    let [before, after] = [0, 1].map(|side| slots(line.slots(side).total()));
    [
        change_cell(line.change()),
        before.into(),
        after.into(),
        line_in_words(line).into(),
        function_label(&function.name, &function.module).into(),
        Cell::styled(reason_in_words(line), DIM),
    ]
}

fn line_cells(line: &ComparedLine) -> [Cell; SIDES.len()] {
    let code = |side: usize| {
        let text = line.text[side].as_deref().map(str::trim);
        let words = line.at[side].as_ref().map_or(String::new(), |at| {
            format!("{at}  {}", text.unwrap_or_default())
        });
        Cell::styled(words.trim_end().to_owned(), HEADING)
    };
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
        Cell::styled(one.cause().map_or(String::new(), cause_in_words), DIM),
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

//! The categories of one benchmark with their parts, as a table and a bar.

use std::io::{self, Write};

use super::bar::{CATEGORIES, bar};
use super::number::percent;
use super::style::{DIM, Look};
use super::table::{Cell, Column, Table};
use topdown_gate::summary::Shares;

/// The widest bar.
const BAR_WIDTH: usize = 60;

/// The columns before a category's parts, if it has all slots.
const BEFORE_PARTS: usize = "  _  bad speculation  100.0 %  ".len();

/// Writes each category's share of slots, with those of its parts if they are known, and all as a
/// bar.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub(super) fn write(out: &mut impl Write, shares: &Shares, look: Look) -> io::Result<()> {
    let all = shares.all();
    let columns = [
        Column::text(""),
        Column::text(""),
        Column::number(""),
        Column::text(""),
    ];
    let rows = CATEGORIES.iter().zip(&all).map(|(category, share)| {
        let parts = category
            .category
            .and_then(|category| Some((category, shares.level2?[category])))
            .map(|(category, part)| {
                [
                    (category.measured_part().name(), part),
                    (category.rest().name(), share - part),
                ]
                .map(|(name, share)| format!("{name} {}", percent(share)))
            });
        (category, share, parts)
    });
    let rows: Vec<_> = rows.collect();
    let mut parts = rows.iter().filter_map(|(_, _, parts)| parts.as_ref());
    let fits = parts.all(|parts| BEFORE_PARTS + parts.join(", ").len() <= look.width);
    let mut table = Table::new(columns).indented(2);
    for (category, share, parts) in rows {
        let mut row = |start: [Cell; 3], parts: String| {
            let parts = Cell::styled(parts, DIM);
            table.row(start.into_iter().chain([parts]));
        };
        let start = [
            Cell::styled(category.glyph(look.unicode), category.style),
            category.name().into(),
            format!("{} %", percent(*share)).into(),
        ];
        match parts {
            Some([first, second]) if !fits => {
                row(start, first + ",");
                row(["", "", ""].map(Cell::from), second);
            }
            parts => row(start, parts.map_or(String::new(), |parts| parts.join(", "))),
        }
    }
    table.write(out, look)?;
    let width = look.width.saturating_sub(2).min(BAR_WIDTH);
    writeln!(out, "  {}", bar(&all, width, look.unicode))
}

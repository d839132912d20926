//! Tables for a terminal: every table that a command prints is laid out here.
//!
//! Columns are as wide as their widest cell. When a table is too wide, names are shortened in the
//! middle, sentences are wrapped, columns are dropped by priority, or rows are broken into two
//! lines, as its columns say.
//! (The published table crates wrap or truncate cells, but drop no columns and break no rows.)

use std::collections::HashMap;
use std::io::{self, Write};

use anstyle::Style;

use super::style::{DIM, Look};
use super::text::{ShortNames, head_within, shown_width, width_of, wrapped};

/// Columns between two columns, and before the second line of a row.
const GAP: usize = 2;
/// Optional columns are dropped rather than shorten a name to less than this.
const LONG_NAME: usize = 28;
/// Width of code behind a place that is shortened for it.
const MIN_CODE: usize = 16;

/// When a column is dropped from a table that is too wide. The greatest goes first; equal ones go
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// Never.
    Always,
    /// If it does not fit next to the shortest name.
    Essential(u8),
    /// If names would have to be shortened for it.
    Optional(u8),
}

/// A column: its heading, and how it behaves when space is short.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    heading: &'static str,
    is_number: bool,
    keep: Keep,
    /// The width down to which cells are shortened or wrapped, if they are.
    least: Option<usize>,
    wraps: bool,
    is_code: bool,
    starts_line: bool,
}

impl Column {
    /// A left-aligned column.
    pub const fn text(heading: &'static str) -> Column {
        Column {
            heading,
            is_number: false,
            keep: Keep::Always,
            least: None,
            wraps: false,
            is_code: false,
            starts_line: false,
        }
    }

    /// A right-aligned column.
    pub const fn number(heading: &'static str) -> Column {
        Column {
            is_number: true,
            ..Column::text(heading)
        }
    }

    /// A left-aligned column that is shortened, down to `least` columns.
    pub const fn name(heading: &'static str, least: usize) -> Column {
        Column {
            least: Some(least),
            ..Column::text(heading)
        }
    }

    /// A left-aligned column of code, of which the ends are left out, down to `least` columns. If
    /// it begins with a place, two spaces before the code, the end of that stays.
    pub const fn code(heading: &'static str, least: usize) -> Column {
        Column {
            is_code: true,
            ..Column::name(heading, least)
        }
    }

    /// A left-aligned column of sentences, which are wrapped at spaces. It must be the last one.
    pub const fn wrapped(heading: &'static str) -> Column {
        Column {
            wraps: true,
            ..Column::name(heading, 1)
        }
    }

    /// Sets when the column is dropped.
    pub const fn keep(self, keep: Keep) -> Column {
        Column { keep, ..self }
    }

    /// Makes this and the following columns the second line of each row, if they do not all fit
    /// into one.
    pub const fn starts_line(self) -> Column {
        Column {
            starts_line: true,
            ..self
        }
    }
}

/// The text of a cell, which may contain styles, and a style for all of it.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    style: Style,
    is_one_line: bool,
}

impl Cell {
    /// Makes a cell with a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell {
            text: text.into(),
            style,
            is_one_line: false,
        }
    }

    /// Makes a cell that is never wrapped, so that its text can be copied.
    pub fn one_line(text: impl Into<String>) -> Cell {
        Cell {
            is_one_line: true,
            ..Cell::from(text)
        }
    }

    fn width(&self) -> usize {
        shown_width(&self.text)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::styled(text, Style::new())
    }
}

#[derive(Debug)]
enum Line {
    Row(Vec<Cell>),
    Text(String),
}

/// A table, to be filled line by line.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    indent: usize,
    lines: Vec<Line>,
}

impl Table {
    /// Makes a table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Table {
        Table {
            columns: columns.into(),
            indent: 0,
            lines: Vec::new(),
        }
    }

    /// Makes a table of named values, without those that are empty.
    pub fn facts<N: Into<String>>(facts: impl IntoIterator<Item = (N, String)>) -> Table {
        let mut table = Table::new([Column::text(""), Column::wrapped("")]).indented(2);
        for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
            table.row([Cell::styled(name, DIM), value.into()]);
        }
        table
    }

    /// Indents headings and rows.
    pub fn indented(self, indent: usize) -> Table {
        Table { indent, ..self }
    }

    /// Adds a row with a cell for each column. A column whose cells are all empty is not shown.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.lines.push(Line::Row(cells));
    }

    /// Adds text between the rows as it is.
    pub fn text(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Text(text.into()));
    }

    /// Writes headings and lines in as many columns as `look` has.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, out: &mut impl Write, look: Look) -> io::Result<()> {
        let parts = self.layout(look.width);
        let headings: Vec<Cell> = self
            .columns
            .iter()
            .map(|column| Cell::styled(column.heading, DIM))
            .collect();
        let short_names = self.short_names(&parts, look);
        for (line, part) in parts.iter().enumerate() {
            if part
                .iter()
                .any(|(index, _)| !self.columns[*index].heading.is_empty())
            {
                self.write_line(out, &headings, line, part, &short_names, look)?;
            }
        }
        for line in &self.lines {
            match line {
                Line::Text(text) => writeln!(out, "{text}")?,
                Line::Row(cells) => {
                    for (line, part) in parts.iter().enumerate() {
                        let is_any = part.iter().any(|(index, _)| !cells[*index].text.is_empty());
                        if line == 0 || is_any {
                            self.write_line(out, cells, line, part, &short_names, look)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the shortened names of each column that has some.
    fn short_names(&self, parts: &[Vec<(usize, usize)>], look: Look) -> HashMap<usize, ShortNames> {
        let rows = || {
            self.lines.iter().filter_map(|line| match line {
                Line::Row(cells) => Some(cells),
                Line::Text(_) => None,
            })
        };
        let columns = parts.iter().flatten().filter(|(index, _)| {
            let column = &self.columns[*index];
            column.least.is_some() && !column.wraps && !column.is_code
        });
        let shortened = columns.map(|(index, width)| {
            let texts = rows().map(|cells| cells[*index].text.as_str());
            let texts = texts.chain([self.columns[*index].heading]);
            (*index, ShortNames::new(texts, *width, look.unicode))
        });
        shortened.collect()
    }

    /// Returns whether `look` has room for the column with this heading, if any cell is filled.
    pub fn shows(&self, heading: &str, look: Look) -> bool {
        let mut shown = self.layout(look.width).into_iter().flatten();
        shown.any(|(index, _)| self.columns[index].heading == heading)
    }

    /// Returns the columns of each line of a row, with their widths.
    fn layout(&self, width: usize) -> Vec<Vec<(usize, usize)>> {
        let natural = self.natural_widths();
        let room = width.saturating_sub(self.indent);
        let all: Vec<usize> = (0..self.columns.len())
            .filter(|i| natural[*i] > 0)
            .collect();
        let second = all
            .iter()
            .position(|index| self.columns[*index].starts_line);
        let Some(second) = second else {
            return vec![self.fitted(&all, &natural, room)];
        };
        if self.needed(&all, &natural, |_, least| least) <= room {
            return vec![self.fitted(&all, &natural, room)];
        }
        vec![
            self.fitted(&all[..second], &natural, room),
            self.fitted(&all[second..], &natural, room.saturating_sub(GAP)),
        ]
    }

    /// Returns the width of each column's widest cell; 0 if all are empty.
    fn natural_widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for line in &self.lines {
            if let Line::Row(cells) = line {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.width());
                }
            }
        }
        for (width, column) in widths.iter_mut().zip(&self.columns) {
            if *width > 0 {
                *width = (*width).max(width_of(column.heading));
            }
        }
        widths
    }

    /// Returns the width of these columns. `of_name` has the width of a name that is so wide, and
    /// can be shortened so far.
    fn needed(
        &self,
        columns: &[usize],
        natural: &[usize],
        of_name: fn(usize, usize) -> usize,
    ) -> usize {
        let widths = columns.iter().map(|index| {
            let width = natural[*index];
            let least = self.columns[*index].least;
            least.map_or(width, |least| of_name(width, least.min(width)))
        });
        widths.sum::<usize>() + GAP * columns.len().saturating_sub(1)
    }

    /// Drops columns until the others fit, and shortens the names.
    fn fitted(&self, columns: &[usize], natural: &[usize], room: usize) -> Vec<(usize, usize)> {
        let mut columns = columns.to_vec();
        loop {
            let keep = |index: &usize| self.columns[*index].keep;
            let worst = columns.iter().map(keep).max().unwrap_or(Keep::Always);
            let needed = match worst {
                Keep::Optional(_) => {
                    self.needed(&columns, natural, |width, _| width.min(LONG_NAME))
                }
                _ => self.needed(&columns, natural, |_, least| least),
            };
            if needed <= room || worst == Keep::Always {
                break;
            }
            columns.retain(|index| keep(index) < worst);
        }
        let others = self.needed(&columns, natural, |_, _| 0);
        let mut room = room.saturating_sub(others);
        let mut widths = natural.to_vec();
        let shrinks = columns.iter().filter(|i| self.columns[**i].least.is_some());
        let (sentences, mut names): (Vec<usize>, Vec<usize>) =
            shrinks.partition(|index| self.columns[**index].wraps);
        names.sort_by_key(|index| natural[*index]);
        for index in &sentences {
            widths[*index] = natural[*index].min(room.max(1));
        }
        // Short names leave what they do not need to the longer ones.
        for (at, index) in names.iter().enumerate() {
            // Beside sentences, which are wrapped, they keep their room.
            let share = match sentences.is_empty() {
                true => room / (names.len() - at),
                false => room,
            };
            let least = self.columns[*index].least.unwrap_or_default();
            widths[*index] = natural[*index].min(share.max(least));
            if sentences.is_empty() {
                room = room.saturating_sub(widths[*index]);
            }
        }
        let with_width = |index: usize| (index, widths[index]);
        columns.into_iter().map(with_width).collect()
    }

    fn write_line(
        &self,
        out: &mut impl Write,
        cells: &[Cell],
        line: usize,
        part: &[(usize, usize)],
        short_names: &HashMap<usize, ShortNames>,
        look: Look,
    ) -> io::Result<()> {
        // Spaces are written with the text after them, so that no line ends with one.
        let mut spaces = self.indent + GAP * line;
        let mut start = spaces;
        for (index, width) in part {
            let (column, cell) = (&self.columns[*index], &cells[*index]);
            let style = cell.style;
            let mut below = Vec::new();
            let text = match column.least {
                Some(_) if column.wraps && cell.is_one_line => cell.text.clone(),
                Some(_) if column.wraps => {
                    below = wrapped(&cell.text, *width);
                    below.drain(..1.min(below.len())).collect()
                }
                Some(_) if column.is_code => shortened_code(&cell.text, *width, look.unicode),
                Some(_) => match short_names.get(index) {
                    Some(short) => short.of(&cell.text).to_owned(),
                    None => cell.text.clone(),
                },
                None => cell.text.clone(),
            };
            let fill = width.saturating_sub(shown_width(&text));
            let (before, after) = if column.is_number {
                (fill, 0)
            } else {
                (0, fill)
            };
            spaces += before;
            if !text.is_empty() {
                write!(out, "{:spaces$}{style}{text}{style:#}", "")?;
                spaces = 0;
            }
            spaces += after + GAP;
            for text in below {
                write!(out, "\n{:start$}{style}{text}{style:#}", "")?;
            }
            start += width + GAP;
        }
        writeln!(out)
    }
}

/// Leaves out the end of code, and the start of the place before it.
fn shortened_code(text: &str, width: usize, unicode: bool) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let ellipsis = if unicode { "…" } else { "..." };
    let head = |text: &str, width: usize| {
        let head = head_within(text.chars(), width.saturating_sub(width_of(ellipsis)));
        format!("{head}{ellipsis}")
    };
    let Some((place, code)) = text.split_once("  ").filter(|(place, _)| !place.is_empty()) else {
        return head(text, width);
    };
    let room = width.saturating_sub(MIN_CODE).max(width / 2);
    let place = match width_of(place) <= room {
        true => place.to_owned(),
        false => {
            let tail = head_within(place.chars().rev(), room.saturating_sub(width_of(ellipsis)));
            let tail: String = tail.chars().rev().collect();
            format!("{ellipsis}{tail}")
        }
    };
    let room = width.saturating_sub(width_of(&place) + GAP);
    match width_of(code) <= room {
        true => format!("{place}  {code}"),
        false => format!("{place}  {}", head(code, room)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::{self, terminal};

    const COLUMNS: [Column; 6] = [
        Column::name("benchmark", 10),
        Column::text("verdict"),
        Column::number("change").keep(Keep::Essential(1)),
        Column::number("one").keep(Keep::Optional(1)),
        Column::number("other").keep(Keep::Optional(1)),
        Column::number("empty").keep(Keep::Optional(2)),
    ];

    fn shown(columns: [Column; 6], width: usize) -> String {
        let mut table = Table::new(columns);
        table.row([
            "group/the first benchmark",
            "regressed",
            "+12.5",
            "1",
            "-2",
            "",
        ]);
        table.text("in between");
        table.row(["b", "same", "0.0", "", "", ""]);
        shown::shown(|out| table.write(out, terminal(width)))
    }

    #[test]
    fn optional_columns_are_dropped_first() {
        let heading = |width| shown(COLUMNS, width).lines().next().unwrap().to_owned();
        assert_eq!(
            heading(80),
            "benchmark                  verdict    change  one  other"
        );
        // Optional columns of one priority go together.
        assert_eq!(heading(49), "benchmark                  verdict    change");
        assert_eq!(heading(30), "benchmark    verdict    change");
        assert_eq!(heading(28), "benchmark          verdict");
        assert_eq!(heading(1), "benchmark   verdict");
        assert_eq!(
            shown(COLUMNS, 34),
            "benchmark        verdict    change\n\
             group/t…nchmark  regressed   +12.5\n\
             in between\n\
             b                same          0.0\n"
        );
    }

    #[test]
    fn rows_are_broken_at_marked_columns() {
        let mut columns = COLUMNS;
        columns[2] = columns[2].starts_line();
        assert_eq!(shown(columns, 80), shown(COLUMNS, 80));
        assert_eq!(
            shown(columns, 36),
            "benchmark                  verdict\n  \
               change  one  other\n\
             group/the first benchmark  regressed\n   \
                +12.5    1     -2\n\
             in between\n\
             b                          same\n     \
                  0.0\n"
        );
    }

    #[test]
    fn sentences_wrap_beside_other_columns() {
        let columns = [Column::text(""), Column::wrapped("")];
        let mut table = Table::new(columns).indented(2);
        table.row(["a", "no hardware counters here"]);
        table.row(["bcd", "yes"]);
        table.row([Cell::default(), Cell::one_line("sudo something long")]);
        let look = Look {
            width: 18,
            unicode: true,
        };
        let mut out = Vec::new();
        table.write(&mut out, look).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "  a    no hardware\n       \
                    counters\n       \
                    here\n  \
               bcd  yes\n       \
                    sudo something long\n"
        );
    }

    #[test]
    fn styles_take_no_width() {
        let mut table = Table::new([Column::number("a"), Column::text("b")]).indented(1);
        table.row([
            Cell::styled("12", DIM),
            Cell::from(format!("{DIM}x{DIM:#}y")),
        ]);
        table.row(["1", "z"]);
        let look = Look {
            width: 10,
            unicode: false,
        };
        let text = shown::shown(|out| table.write(out, look));
        assert_eq!(text, "  a  b\n 12  xy\n  1  z\n");
    }

    #[test]
    fn code_keeps_its_line_and_its_start() {
        let line = "crates/strsim/src/lib.rs:254  cache = { let mut next = cache.clone() };";
        let short = |text: &str, width| shortened_code(text, width, true);
        assert_eq!(short(line, 80), line);
        assert_eq!(
            short(line, 50),
            "crates/strsim/src/lib.rs:254  cache = { let mut n…"
        );
        assert_eq!(short(line, 32), "…/src/lib.rs:254  cache = { let…");
        assert_eq!(short("  mov rdi, [rsi+rax*8+16]", 14), "  mov rdi, [r…");
    }

    #[test]
    fn names_share_the_room() {
        let mut table = Table::new([
            Column::number("n"),
            Column::code("before", 10),
            Column::code("after", 10),
        ]);
        table.row(["1".to_owned(), "x".repeat(60), "y".repeat(20)]);
        let text = shown::shown(|out| table.write(out, terminal(50)));
        let widths: Vec<usize> = text.lines().map(width_of).collect();
        assert_eq!(widths.iter().max(), Some(&50), "{text}");
        assert!(text.contains(&"y".repeat(20)), "{text}");
    }
}

//! Listings as pages: an index, and a page for each function.

use askama::Template;
use topdown_explain::listing::{
    AlignedInstruction, Alignment, Cause, ComparedFunction, ComparedLine, ListedFunction,
    ListedInstruction, ListedSlots, Listing, ListingComparison,
};

use crate::listing_comparison_text::MAX_TELLING_LINES;
use crate::listing_words::{
    CALLED, category_words, change_words, function_label, inlined_into, instruction_words,
    line_in_words, line_words, notes_of, notes_of_sides, reason_in_words, share_of, side_words,
    signed, telling_function, telling_slots, title_of, why_words,
};
use crate::number::slots;

/// A page: the name of its file, and its text.
pub type NamedPage = (String, String);

#[derive(Template)]
#[template(path = "listing.html")]
struct Page {
    tool_version: &'static str,
    kind: &'static str,
    title: String,
    facts: Vec<String>,
    is_function: bool,
    tables: Vec<PageTable>,
    notes: Vec<String>,
}

struct PageTable {
    caption: String,
    headings: Vec<Heading>,
    rows: Vec<Row>,
}

struct Heading {
    text: &'static str,
    is_number: bool,
}

struct Row {
    is_line: bool,
    cells: Vec<PageCell>,
}

struct PageCell {
    text: String,
    style: &'static str,
    link: Option<String>,
}

fn number(text: impl Into<String>) -> PageCell {
    PageCell {
        text: text.into(),
        style: "number",
        link: None,
    }
}

fn code(text: impl Into<String>) -> PageCell {
    PageCell {
        style: "code",
        ..number(text)
    }
}

fn plain(text: impl Into<String>) -> PageCell {
    PageCell {
        style: "",
        ..number(text)
    }
}

/// Returns headings; those that end with `#` are of numbers.
fn headings(texts: &[&'static str]) -> Vec<Heading> {
    let heading = |text: &&'static str| Heading {
        text: text.trim_end_matches('#'),
        is_number: text.ends_with('#'),
    };
    texts.iter().map(heading).collect()
}

fn file_of(number: usize) -> String {
    format!("function-{}.html", number + 1)
}

/// The pages of a benchmark: its index, and what its functions have.
struct Book {
    kind: &'static str,
    id: String,
    fact: String,
    notes: Vec<String>,
    tables: Vec<PageTable>,
    functions: Vec<FunctionPage>,
}

struct FunctionPage {
    label: String,
    facts: Vec<String>,
    table: PageTable,
}

impl Book {
    fn pages(self) -> Vec<NamedPage> {
        let page = |title: String, facts: Vec<String>, tables: Vec<PageTable>| Page {
            tool_version: env!("CARGO_PKG_VERSION"),
            kind: self.kind,
            is_function: title != self.id,
            title,
            facts: facts.into_iter().filter(|fact| !fact.is_empty()).collect(),
            tables,
            notes: self.notes.clone(),
        };
        let rendered = |page: Page| page.render().expect("a string takes all");
        let index = page(self.id.clone(), vec![self.fact], self.tables);
        let index = ("index.html".to_owned(), rendered(index));
        let functions = self.functions.into_iter().enumerate();
        let functions = functions.map(|(number, function)| {
            let facts = [vec![self.id.clone()], function.facts].concat();
            let page = page(function.label, facts, vec![function.table]);
            (file_of(number), rendered(page))
        });
        std::iter::once(index).chain(functions).collect()
    }
}

/// Returns the cell of a function in an index.
fn link(number: usize, label: &str) -> PageCell {
    PageCell {
        link: Some(file_of(number)),
        ..code(label)
    }
}

/// Returns the pages of a listing.
pub fn listing_pages(listing: &Listing) -> Vec<NamedPage> {
    let label = |function: &ListedFunction| function_label(&function.name, &function.module);
    let share = |slots: &ListedSlots| share_of(listing, slots, true);
    let rows = listing.functions.iter().enumerate();
    let rows = rows.map(|(index, function)| Row {
        is_line: false,
        cells: vec![
            number(share(&function.slots)),
            number(slots(function.slots.total())),
            link(index, &label(function)),
            plain(inlined_into(function)),
        ],
    });
    let functions = listing.functions.iter().map(|function| FunctionPage {
        label: label(function),
        facts: vec![
            format!("{} % of its slots", share(&function.slots)),
            inlined_into(function),
        ],
        table: lines_of(listing, function),
    });
    Book {
        kind: "TopDown listing",
        id: listing.id.to_string(),
        fact: title_of(listing),
        notes: notes_of(listing),
        tables: vec![PageTable {
            caption: "Functions, the most slots first".to_owned(),
            headings: headings(&["share %#", "slots#", "function", "inlined into"]),
            rows: rows.collect(),
        }],
        functions: functions.collect(),
    }
    .pages()
}

fn lines_of(listing: &Listing, function: &ListedFunction) -> PageTable {
    let row = |slots: &ListedSlots, words: String, why: Option<Cause>| {
        let mut cells = vec![number(share_of(listing, slots, true))];
        cells.extend(category_words(listing, slots).map(number));
        cells.extend([code(words), plain(why_words(why))]);
        cells
    };
    let mut rows = Vec::new();
    for line in &function.lines {
        let words = line_words(line.at.as_ref(), line.text.as_ref());
        rows.push(Row {
            is_line: true,
            cells: row(&line.slots, words, None),
        });
        rows.extend((line.called.total() > 0.0).then(|| Row {
            is_line: false,
            cells: row(&line.called, CALLED.to_owned(), None),
        }));
        rows.extend(line.instructions.iter().map(|one| Row {
            is_line: false,
            cells: row(&one.slots, instruction_words(one), Cause::of(one)),
        }));
    }
    PageTable {
        caption: "Lines, the most slots first, with their instructions".to_owned(),
        headings: headings(&[
            "share %#",
            "retiring %#",
            "bad speculation %#",
            "frontend %#",
            "backend %#",
            "line or instruction",
            "why",
        ]),
        rows,
    }
}

/// Returns the pages of two listings side by side.
pub fn comparison_pages(comparison: &ListingComparison) -> Vec<NamedPage> {
    let label = |function: &ComparedFunction| function_label(&function.name, &function.module);
    let telling = comparison.most_telling().into_iter();
    let telling = telling.take(MAX_TELLING_LINES).map(|(function, line)| {
        let mut cells = Vec::from(telling_slots(line).map(number));
        cells.extend([
            code(line_in_words(line)),
            code(telling_function(function)),
            plain(reason_in_words(line)),
        ]);
        Row {
            is_line: false,
            cells,
        }
    });
    let lines = PageTable {
        caption: "Lines with the greatest change, in slots per iteration".to_owned(),
        headings: headings(&["change#", "before#", "after#", "line", "function", "why"]),
        rows: telling.collect(),
    };
    let rows = comparison.functions.iter().enumerate();
    let rows = rows.map(|(index, function)| {
        let side = |side: usize| function.slots[side].map_or(String::new(), |s| slots(s.total()));
        Row {
            is_line: false,
            cells: vec![
                number(signed(function.change())),
                number(side(0)),
                number(side(1)),
                link(index, &label(function)),
            ],
        }
    });
    let functions = PageTable {
        caption: "Functions, the greatest change first".to_owned(),
        headings: headings(&["change#", "before#", "after#", "function"]),
        rows: rows.collect(),
    };
    let pages = comparison.functions.iter().map(|function| FunctionPage {
        label: label(function),
        facts: vec![format!("{} slots", signed(function.change()))],
        table: sides_of(function),
    });
    Book {
        kind: "TopDown listing of a change",
        id: comparison.id.to_string(),
        fact: change_words(comparison, "→"),
        notes: notes_of_sides(&comparison.sides),
        functions: pages.collect(),
        tables: vec![lines, functions],
    }
    .pages()
}

fn sides_of(function: &ComparedFunction) -> PageTable {
    let mut rows = Vec::new();
    for line in &function.lines {
        rows.push(line_row(line));
        rows.extend(line.instructions.iter().map(instruction_row));
    }
    PageTable {
        caption: "Lines, the greatest change first, with their instructions".to_owned(),
        headings: headings(&[
            "change#",
            "how",
            "before#",
            "code before",
            "after#",
            "code after",
            "why",
        ]),
        rows,
    }
}

fn line_row(line: &ComparedLine) -> Row {
    let side = |side: usize| {
        let total = line.slots(side).total();
        [number(slots(total)), code(side_words(line, side))]
    };
    let mut cells = vec![number(signed(line.change())), plain("")];
    cells.extend([0, 1].into_iter().flat_map(side));
    cells.push(plain(reason_in_words(line)));
    Row {
        is_line: true,
        cells,
    }
}

fn instruction_row(one: &AlignedInstruction) -> Row {
    let side = |side: &Option<ListedInstruction>| match side {
        Some(one) => [
            number(slots(one.slots.total())),
            code(instruction_words(one)),
        ],
        None => [number(""), code("")],
    };
    let alignment = match one.alignment {
        Alignment::Same => "",
        Alignment::Moved => "moved",
        Alignment::New => "new",
        Alignment::Gone => "gone",
    };
    let mut cells = vec![number(signed(one.change())), plain(alignment)];
    cells.extend(one.sides.iter().flat_map(side));
    cells.push(plain(why_words(one.cause())));
    Row {
        is_line: false,
        cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing_examples::decode;

    #[test]
    fn listing_has_index_and_a_page_for_each_function() {
        let pages = listing_pages(&decode(0.0));
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["index.html", "function-1.html", "function-2.html"]);
        assert!(
            pages[0]
                .1
                .contains("href=\"function-1.html\">codec::decode<")
        );
        let start = pages[1].1.find("<body>").unwrap();
        insta::assert_snapshot!(&pages[1].1[start..]);
    }

    #[test]
    fn comparison_shows_both_sides_and_escapes_names() {
        let mut after = decode(400.0);
        after.functions[1].name = Some("<script>".to_owned());
        let comparison = ListingComparison::new(decode(0.0), after);
        let pages = comparison_pages(&comparison);
        assert_eq!(pages.len(), 4);
        assert!(pages.iter().all(|(_, page)| !page.contains("<script>")));
        let start = pages[1].1.find("<main").unwrap();
        insta::assert_snapshot!(&pages[1].1[start..]);
    }
}

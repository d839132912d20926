//! Listings as pages: an index, and a page for each function.

use askama::Template;
use topdown_explain::listing::{
    AlignedInstruction, Alignment, Cause, ComparedFunction, ComparedLine, ListedFunction,
    ListedInstruction, ListedSlots, Listing, ListingComparison,
};

use crate::listing_comparison_text::{MAX_TELLING_LINES, line_in_words, signed};
use crate::listing_words::{
    cause_in_words, function_label, inlined_into, notes_of, place_of, reason_in_words, share_of,
    title_of,
};
use crate::number::{percent_change, slots};

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
    notes: Vec<&'static str>,
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

/// Renders a page of a benchmark.
fn page(kind: &'static str, title: String, facts: Vec<String>, tables: Vec<PageTable>) -> Page {
    Page {
        tool_version: env!("CARGO_PKG_VERSION"),
        kind,
        title,
        facts: facts.into_iter().filter(|fact| !fact.is_empty()).collect(),
        is_function: false,
        tables,
        notes: Vec::new(),
    }
}

fn rendered(page: &Page) -> String {
    page.render().expect("a string takes all")
}

/// Returns the pages of a listing.
pub fn listing_pages(listing: &Listing) -> Vec<NamedPage> {
    let label = |function: &ListedFunction| function_label(&function.name, &function.module);
    let rows = listing.functions.iter().enumerate();
    let rows = rows.map(|(number_of, function)| Row {
        is_line: false,
        cells: vec![
            number(share_of(listing, &function.slots, true)),
            number(slots(function.slots.total())),
            PageCell {
                link: Some(file_of(number_of)),
                ..code(label(function))
            },
            plain(inlined_into(function)),
        ],
    });
    let functions = PageTable {
        caption: "Functions, the most slots first".to_owned(),
        headings: headings(&["share %#", "slots#", "function", ""]),
        rows: rows.collect(),
    };
    let index = Page {
        notes: notes_of(listing),
        ..page(
            "TopDown listing",
            listing.id.to_string(),
            vec![title_of(listing)],
            vec![functions],
        )
    };
    let of_functions = listing.functions.iter().enumerate();
    let of_functions = of_functions.map(|(number_of, function)| {
        let facts = vec![
            listing.id.to_string(),
            format!(
                "{} % of its slots",
                share_of(listing, &function.slots, true)
            ),
            inlined_into(function),
        ];
        let page = Page {
            is_function: true,
            notes: notes_of(listing),
            ..page(
                "TopDown listing",
                label(function),
                facts,
                vec![lines_of(listing, function)],
            )
        };
        (file_of(number_of), rendered(&page))
    });
    let index = ("index.html".to_owned(), rendered(&index));
    std::iter::once(index).chain(of_functions).collect()
}

fn lines_of(listing: &Listing, function: &ListedFunction) -> PageTable {
    let mut rows = Vec::new();
    for line in &function.lines {
        let text = line.text.as_deref().map(str::trim).unwrap_or_default();
        let place = format!("{}  {text}", place_of(line.at.as_ref()));
        rows.push(row(listing, true, &line.slots, place.trim_end(), None));
        for one in &line.instructions {
            let from = one.inlined.as_deref();
            let from = from.map_or(String::new(), |name| format!("  ; {name}"));
            let text = format!("  {:x}  {}{from}", one.address, one.text);
            rows.push(row(listing, false, &one.slots, &text, Cause::of(one)));
        }
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

fn row(listing: &Listing, is_line: bool, of: &ListedSlots, text: &str, why: Option<Cause>) -> Row {
    let total = of.total();
    let has_categories = listing.sampled.is_none() && total > 0.0;
    let mut cells = vec![number(share_of(listing, of, true))];
    cells.extend(of.level1.into_array().map(|part| {
        number(match has_categories {
            true => format!("{:.0}", 100.0 * part / total),
            false => String::new(),
        })
    }));
    cells.push(code(text));
    cells.push(plain(why.map_or(String::new(), cause_in_words)));
    Row { is_line, cells }
}

/// Returns the pages of two listings side by side.
pub fn comparison_pages(comparison: &ListingComparison) -> Vec<NamedPage> {
    let label = |function: &ComparedFunction| function_label(&function.name, &function.module);
    let [before, after] = &comparison.sides;
    let change = comparison.change() / before.slots.max(f64::MIN_POSITIVE);
    let total = format!(
        "{} → {} ({})",
        slots(before.slots),
        title_of(after),
        percent_change(change)
    );
    let telling = comparison.most_telling().into_iter();
    let telling = telling.take(MAX_TELLING_LINES).map(|(function, line)| Row {
        is_line: false,
        cells: vec![
            number(signed(line.change())),
            number(slots(line.slots(0).total())),
            number(slots(line.slots(1).total())),
            code(line_in_words(line)),
            code(label(function)),
            plain(reason_in_words(line)),
        ],
    });
    let lines = PageTable {
        caption: "Lines with the greatest change, in slots per iteration".to_owned(),
        headings: headings(&["change#", "before#", "after#", "line", "function", "why"]),
        rows: telling.collect(),
    };
    let functions = comparison.functions.iter().enumerate();
    let functions = functions.map(|(number_of, function)| {
        let side = |side: usize| function.slots[side].map_or(String::new(), |s| slots(s.total()));
        Row {
            is_line: false,
            cells: vec![
                number(signed(function.change())),
                number(side(0)),
                number(side(1)),
                PageCell {
                    link: Some(file_of(number_of)),
                    ..code(label(function))
                },
            ],
        }
    });
    let functions = PageTable {
        caption: "Functions, the greatest change first".to_owned(),
        headings: headings(&["change#", "before#", "after#", "function"]),
        rows: functions.collect(),
    };
    let id = comparison.id.to_string();
    let index = Page {
        notes: notes_of(after),
        ..page(
            "TopDown listing of a change",
            id.clone(),
            vec![total],
            vec![lines, functions],
        )
    };
    let of_functions = comparison.functions.iter().enumerate();
    let of_functions = of_functions.map(|(number_of, function)| {
        let facts = vec![id.clone(), format!("{} slots", signed(function.change()))];
        let page = Page {
            is_function: true,
            notes: notes_of(after),
            ..page(
                "TopDown listing of a change",
                label(function),
                facts,
                vec![sides_of(function)],
            )
        };
        (file_of(number_of), rendered(&page))
    });
    let index = ("index.html".to_owned(), rendered(&index));
    std::iter::once(index).chain(of_functions).collect()
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
            "",
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
        let text = line.text[side]
            .as_deref()
            .map(str::trim)
            .unwrap_or_default();
        let place = line.at[side].as_ref();
        let place = place.map_or(String::new(), |at| format!("{at}  {text}"));
        [
            number(slots(line.slots(side).total())),
            code(place.trim_end()),
        ]
    };
    let mut cells = vec![number(signed(line.change())), plain("")];
    cells.extend(side(0));
    cells.extend(side(1));
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
            code(format!("  {:x}  {}", one.address, one.text)),
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
    cells.push(plain(one.cause().map_or(String::new(), cause_in_words)));
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

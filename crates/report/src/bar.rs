//! The TopDown bar: where the slots went, as a stacked bar of a given width.

use anstyle::{AnsiColor, Style};
use topdown_gate::metric::Metric;
use topdown_run::category::Category;

/// How one category looks: a glyph that is distinct without colour, and a colour.
#[derive(Clone, Copy, Debug)]
pub struct CategoryLook {
    /// The category; `None` for SMT contention.
    pub category: Option<Category>,
    /// The heading of its column.
    pub short_name: &'static str,
    unicode: char,
    ascii: char,
    /// Its colour; none of them is the red of a failure.
    pub style: Style,
}

impl CategoryLook {
    /// Returns the category's name.
    pub fn name(&self) -> &'static str {
        self.category
            .map_or(Metric::SmtContention.name(), Category::name)
    }

    /// Returns the glyph of one cell.
    pub fn glyph(&self, unicode: bool) -> char {
        if unicode { self.unicode } else { self.ascii }
    }
}

/// The categories and SMT contention, in the order in which bars and tables show them.
pub const CATEGORIES: [CategoryLook; 5] = [
    look(Some(Category::Retiring), "ret", '█', '#', AnsiColor::Green),
    look(
        Some(Category::BadSpeculation),
        "bad",
        '▚',
        'x',
        AnsiColor::Magenta,
    ),
    look(
        Some(Category::FrontendBound),
        "fe",
        '▒',
        '=',
        AnsiColor::Yellow,
    ),
    look(
        Some(Category::BackendBound),
        "be",
        '░',
        '.',
        AnsiColor::Blue,
    ),
    look(None, "smt", '·', ':', AnsiColor::Cyan),
];

const fn look(
    category: Option<Category>,
    short_name: &'static str,
    unicode: char,
    ascii: char,
    color: AnsiColor,
) -> CategoryLook {
    CategoryLook {
        category,
        short_name,
        unicode,
        ascii,
        style: color.on_default(),
    }
}

/// Draws a bar of exactly `width` cells with ANSI colours. `shares` are in the order of
/// [`CATEGORIES`], and are scaled to fill the bar. Negative shares, which resolution can cause,
/// count as none.
pub fn bar(shares: &[f64], width: usize, unicode: bool) -> String {
    let mut text = String::new();
    for (look, cells) in CATEGORIES.iter().zip(cells_of(shares, width)) {
        if cells > 0 {
            let style = look.style;
            let glyphs: String = std::iter::repeat_n(look.glyph(unicode), cells).collect();
            text += &format!("{style}{glyphs}{style:#}");
        }
    }
    text
}

/// Distributes cells by the largest-remainder method, so that they always add up to `width`.
/// Returns zeros if no share is above zero.
fn cells_of(shares: &[f64], width: usize) -> Vec<usize> {
    let shares: Vec<f64> = shares.iter().map(|share| share.max(0.0)).collect();
    let total: f64 = shares.iter().sum();
    if total <= 0.0 || !total.is_finite() {
        return vec![0; shares.len()];
    }
    let exact: Vec<f64> = shares.iter().map(|s| s / total * width as f64).collect();
    let mut cells: Vec<usize> = exact.iter().map(|cells| cells.floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..shares.len()).collect();
    by_remainder.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let left = width - cells.iter().sum::<usize>();
    for &index in by_remainder.iter().take(left) {
        cells[index] += 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(shares: &[f64], width: usize, unicode: bool) -> String {
        anstream::adapter::strip_str(&bar(shares, width, unicode)).to_string()
    }

    #[test]
    fn bar_is_readable_without_colour_and_unicode() {
        let shares = [0.4, 0.1, 0.2, 0.3];
        assert_eq!(plain(&shares, 10, true), "████▚▒▒░░░");
        assert_eq!(plain(&shares, 10, false), "####x==...");
        assert_eq!(plain(&[0.5, 0.0, 0.0, 0.25, 0.25], 8, true), "████░░··");
    }

    #[test]
    fn bar_has_full_width() {
        for width in 0..50 {
            for shares in [
                [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0],
                [0.999, 0.001, 0.0, 0.0],
                [0.5, -0.004, 0.3, 0.2],
                [0.7, 0.7, 0.7, 0.7],
            ] {
                assert_eq!(plain(&shares, width, false).len(), width);
            }
        }
    }

    #[test]
    fn empty_measurement_has_no_bar() {
        assert_eq!(plain(&[0.0; 4], 10, true), "");
        assert_eq!(plain(&[f64::NAN, 0.0, 0.0, 0.0], 10, true), "");
    }

    #[test]
    fn every_category_has_its_own_colour() {
        let text = bar(&[0.25; 4], 4, true);
        assert_eq!(text.matches('\u{1b}').count(), 8);
        let styles: std::collections::HashSet<String> = CATEGORIES
            .iter()
            .map(|look| look.style.to_string())
            .collect();
        assert_eq!(styles.len(), CATEGORIES.len());
    }
}

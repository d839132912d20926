//! Finished results as text. Nothing is computed or decided here.

pub mod comparison_json;
mod comparison_table;
pub mod comparison_text;
mod sentences;
pub mod style;
mod wrap;

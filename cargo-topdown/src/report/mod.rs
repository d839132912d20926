//! Finished results as text. Nothing is computed or decided here.

mod bar;
pub mod comparison_json;
mod comparison_table;
pub mod comparison_text;
pub mod diagnosis;
mod number;
pub mod run_table;
mod sentences;
pub mod style;
mod text;
mod wrap;

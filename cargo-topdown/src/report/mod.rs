//! Finished results as text. Nothing is computed or decided here.

pub mod style;

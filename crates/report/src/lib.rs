//! Finished runs and comparisons as text, Markdown, HTML, JUnit and JSON. Nothing is computed or
//! decided here.
#![forbid(unsafe_code)]

mod advice_text;
mod allocations;
pub mod annotations;
#[cfg(test)]
mod awkward_cases;
mod bar;
pub mod bisection_text;
mod bisection_words;
pub mod budget_text;
mod category_table;
pub mod changed_lines;
pub mod commit_pages;
pub mod compared;
pub mod comparison_json;
mod comparison_table;
pub mod comparison_text;
pub mod detail;
pub mod difference;
pub mod difference_json;
pub mod event_table;
#[cfg(any(test, feature = "examples"))]
pub mod examples;
pub mod explanation;
pub mod export;
mod foreign_comment;
pub mod foreign_comparison;
mod function_rows;
pub mod function_table;
pub mod html;
mod junit;
#[cfg(test)]
mod kernels;
pub mod listing_comparison_text;
#[cfg(test)]
mod listing_examples;
mod listing_markdown;
pub mod listing_text;
mod listing_words;
mod markdown;
pub mod markdown_text;
mod measured_group;
pub mod metric_groups;
pub mod metric_groups_json;
#[cfg(test)]
mod modelled_cases;
mod names;
pub mod noise_table;
pub mod number;
pub mod profile;
pub mod request;
pub mod run_origin;
mod run_row;
pub mod run_table;
mod schedule_sentence;
mod sentence_groups;
mod sentences;
#[cfg(any(test, feature = "examples"))]
pub mod shown;
pub mod style;
mod suite_notes;
pub mod table;
mod text;
pub mod trend_text;
mod undecided_sentence;
mod verdict_facts;
mod verdict_sentence;
pub mod versus_text;
pub mod workflow_command;

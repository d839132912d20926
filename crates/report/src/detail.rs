//! Level of detail of a report.

/// The detail of a comparison as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A sentence on each benchmark that changed, and the table.
    Sentences,
    /// All benchmarks in both, and all categories, functions and changed code, and the two runs in
    /// full.
    All,
}

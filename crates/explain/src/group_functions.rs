//! Functions by the PMU samples of a metric group.

/// Functions by the PMU samples of a metric group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupFunctions {
    /// By the event that paces the group: cycles, or instructions.
    pub paced: EventFunctions,
    /// By each event that is sampled for its metrics, with its name.
    pub events: Vec<(String, EventFunctions)>,
}

/// Functions in which an event's counts arose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventFunctions {
    /// Number of its interrupts.
    pub hits: u64,
    /// The most frequent function first.
    pub functions: Vec<SampledFunction>,
}

/// A function in which an event was sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledFunction {
    /// Demangled; `None` if unknown.
    pub name: Option<String>,
    /// The executable or library that has it.
    pub module: Option<String>,
    /// The fraction of the event's counts.
    pub share: f64,
}

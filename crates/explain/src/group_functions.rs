//! The functions that a metric group was hit in.

/// The functions in which a metric group was hit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupFunctions {
    /// By the event that paces the group: cycles, or instructions.
    pub paced: HitEvent,
    /// By each event that is sampled for its metrics, with its name.
    pub events: Vec<(String, HitEvent)>,
}

/// Where an event's counts are from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HitEvent {
    /// How often it interrupted.
    pub hits: u64,
    /// The function that it hit most first.
    pub functions: Vec<HitFunction>,
}

/// A function that an event hit.
#[derive(Clone, Debug, PartialEq)]
pub struct HitFunction {
    /// Demangled; `None` if unknown.
    pub name: Option<String>,
    /// The executable or library that has it.
    pub module: Option<String>,
    /// The fraction of the event's counts.
    pub share: f64,
}

//! What a tool printed about one execution of a command: names and numbers.

/// A line of the file, from 1, or the file as a whole; and what is wrong with it.
pub type Located = (Option<usize>, super::Problem);

/// One execution.
#[derive(Debug, Default, PartialEq)]
pub struct Execution {
    /// The tool, as formulas and ids name it.
    pub tool: &'static str,
    /// The tool's own words for its version.
    pub tool_version: Option<String>,
    /// Events.
    pub counts: Vec<Count>,
    /// What the tool computed of them.
    pub metrics: Vec<Metric>,
    /// Whether there were metrics without a name.
    pub has_nameless_metrics: bool,
    /// The wall-clock time.
    pub wall_ns: Option<u64>,
}

/// An event and how often it happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The name as it was printed.
    pub name: String,
    /// Where it stands.
    pub line: usize,
    /// How often, or why that is not known.
    pub count: Result<u64, Lost>,
    /// How long it was counted, over all threads together.
    pub running_ns: Option<u64>,
}

/// Why a count is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Lost {
    /// The tool's own words, such as `<not counted>`.
    Missing(String),
    /// It was counted part of the time, and scaled.
    Multiplexed {
        /// How much of the time: `50.25 %`, `9/10`.
        running: String,
    },
}

/// A number that the tool computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name as it was printed.
    pub name: String,
    /// Where it stands.
    pub line: usize,
    /// The number, or why there is none. Shares are in percent.
    pub value: Result<f64, Lost>,
    /// How far the printed digits are from the number at most.
    pub rounding: f64,
}

/// An event's name without its PMU and modifiers: `slots` of `cpu_core/slots/u` and of `slots:u`.
pub struct EventName<'a> {
    /// `cpu_core` of `cpu_core/slots/`.
    pub pmu: Option<&'a str>,
    /// The name, in lower case.
    pub name: String,
}

impl Count {
    /// The event's name, taken apart.
    pub fn event(&self) -> EventName<'_> {
        let text = self.name.trim();
        let (pmu, name) = match text.split('/').collect::<Vec<_>>()[..] {
            // With terms inside it is an event of its own, not a name.
            [pmu, name, _] if !name.contains(['=', ',']) => (Some(pmu), name),
            _ => (None, text),
        };
        let name = match name.rsplit_once(':') {
            Some((name, modifiers)) if modifiers.chars().all(|c| c.is_ascii_alphabetic()) => name,
            _ => name,
        };
        EventName {
            pmu,
            name: name.to_ascii_lowercase(),
        }
    }
}

/// How far a number printed as `text` can be from the number that was meant: half of its last digit.
pub fn rounding_of(text: &str) -> f64 {
    match text.trim().split_once('.') {
        Some((_, digits)) => 0.5 * 10_f64.powi(-(digits.len().min(15) as i32)),
        None => 0.5,
    }
}

//! What a tool printed about one execution of a command: names and numbers, and how they are found.

use super::Problem;

/// A line of the file, from 1, or the file as a whole; and what is wrong with it.
pub type Located = (Option<usize>, Problem);

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

impl Execution {
    /// The PMUs that events name and that counted something.
    pub fn pmus(&self) -> Vec<String> {
        let mut pmus: Vec<String> = self
            .counts
            .iter()
            .filter(|count| count.count != Ok(0))
            .filter_map(|count| Some(count.event().pmu?.to_owned()))
            .collect();
        pmus.sort();
        pmus.dedup();
        pmus
    }

    /// The event of this name, in lower case.
    pub fn count(&self, name: &str) -> Result<Option<&Count>, Located> {
        let mut found = self
            .counts
            .iter()
            .filter(|count| count.event().name == name);
        let first = found.next();
        match (first, found.next()) {
            // What does not fit the counters is often counted twice, too, which is the lesser evil.
            (Some(a), Some(b)) if a.count.is_err() || b.count.is_err() => {
                Ok([a, b].into_iter().find(|count| count.count.is_err()))
            }
            (Some(first), Some(second)) => Err((
                Some(second.line),
                Problem::Twice {
                    name: second.name.clone(),
                    first: first.line,
                },
            )),
            _ => Ok(first),
        }
    }

    /// The first of these events that there is.
    pub fn first_count(&self, names: &[&str]) -> Result<Option<&Count>, Located> {
        for name in names {
            if let Some(count) = self.count(name)? {
                return Ok(Some(count));
            }
        }
        Ok(None)
    }

    /// The last part of a node's name says which it is: `Memory_Bound` of
    /// `Backend_Bound.Memory_Bound`.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| {
            let own = metric.name.to_ascii_lowercase().replace(' ', "_");
            own.rsplit('.').next() == Some(name)
        })
    }

    /// An event that is shown, not judged: an unknown one is not an error.
    pub fn plain(&self, names: &[&str]) -> Option<u64> {
        let count = self.first_count(names).ok()??;
        count.count.clone().ok()
    }
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

    /// What was counted.
    pub fn known(&self) -> Result<u64, Located> {
        self.count.clone().map_err(|lost| {
            let name = self.name.clone();
            (
                Some(self.line).filter(|line| *line > 0),
                Problem::Lost { name, lost },
            )
        })
    }
}

impl Metric {
    /// What was computed.
    pub fn known(&self) -> Result<f64, Located> {
        self.value.clone().map_err(|lost| {
            let name = self.name.clone();
            (Some(self.line), Problem::Lost { name, lost })
        })
    }
}

/// How far a number printed as `text` can be from the number that was meant: half of its last digit.
pub fn rounding_of(text: &str) -> f64 {
    match text.trim().split_once('.') {
        Some((_, digits)) => 0.5 * 10_f64.powi(-(digits.len().min(15) as i32)),
        None => 0.5,
    }
}

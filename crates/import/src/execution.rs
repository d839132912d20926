//! One execution of a command as printed by a tool: names and numbers, with lookups.

use super::problem::{Lost, Problem};

/// A problem, with its line in the file (from 1) unless it concerns the whole file.
pub type Located = (Option<usize>, Problem);

/// One execution.
#[derive(Debug, Default, PartialEq)]
pub struct Execution {
    /// The tool's name, as used in formulas and ids.
    pub tool: &'static str,
    /// The tool's version, as printed.
    pub tool_version: Option<String>,
    pub counts: Vec<Count>,
    /// What the tool computed from them.
    pub metrics: Vec<Metric>,
    /// Whether there were metrics without a name.
    pub has_nameless_metrics: bool,
    pub wall_ns: Option<u64>,
    /// Whether the events of the newest row never ran, as on cores of another type: the metrics of
    /// that row, and of the rows below without events, say nothing.
    pub is_idle_row: bool,
    /// Where the program was, if the tool recorded that; the counts are their sums.
    pub samples: Vec<ToolSample>,
    /// PMU samples that were lost.
    pub lost_samples: u64,
}

/// An address, and the counts since the PMU sample before.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSample {
    /// The function, if it has a name.
    pub function: Option<String>,
    /// The file that it was loaded from, if it was printed.
    pub module: Option<String>,
    /// Whether the PMU sample before, of the same thread, was in the same function.
    pub is_inside: bool,
    /// One count for each event, in the order of the execution's counts.
    pub counts: Vec<u64>,
}

/// An event and its count.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The event's name, as printed.
    pub name: String,
    /// The line it is on.
    pub line: usize,
    /// The count, or why it is unknown.
    pub count: Result<u64, Lost>,
    /// Time for which the event was counted, summed over all threads.
    pub running_ns: Option<u64>,
}

/// A number that the tool computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The metric's name, as printed.
    pub name: String,
    /// The line it is on.
    pub line: usize,
    /// The number, or why it is unknown. Shares are in percent.
    pub value: Result<f64, Lost>,
    /// The largest possible rounding error of the printed number.
    pub rounding: f64,
}

/// Returns whether perf calls a retire latency like this: `mem_load_retired.l2_hit:R`, or
/// `cpu_core/mem_load_retired.l2_hit/R`. Its number is a mean in cycles and its time is made up
/// (Linux, tools/perf/util/intel-tpebs.c).
pub fn is_retire_latency(event: &str) -> bool {
    let modifiers = event.trim().rsplit([':', '/']).next().unwrap_or_default();
    // Raw codes have no modifiers: `r20d1`.
    modifiers.len() < event.trim().len()
        && modifiers.contains('R')
        && modifiers.chars().all(|c| c.is_ascii_alphabetic())
        && modifiers.len() <= MAX_MODIFIERS
}

/// Otherwise it is a part of a name: `syscalls:SOME_CALL`.
const MAX_MODIFIERS: usize = 4;

/// An event's name without PMU and modifiers: `slots` for `cpu_core/slots/u` and `slots:u`.
pub struct EventName<'a> {
    /// `cpu_core` for `cpu_core/slots/`.
    pub pmu: Option<&'a str>,
    /// The name in lower case.
    pub name: String,
}

impl Execution {
    /// Adds a metric of the newest row.
    pub fn add_metric(&mut self, metric: Metric) {
        if !self.is_idle_row {
            self.metrics.push(metric);
        }
    }

    /// Removes the events of PMUs on whose cores the command never ran, if it ran on others.
    ///
    /// That loses nothing: had it run there, the events of the others would have counted for a part
    /// of the time only.
    pub fn drop_idle_pmus(&mut self) {
        let pmus = self.pmus();
        if !pmus.is_empty() {
            self.counts.retain(|count| {
                let has_run = count.running_ns != Some(0);
                has_run
                    || count
                        .event()
                        .pmu
                        .is_none_or(|pmu| pmus.iter().any(|p| p == pmu))
            });
        }
    }

    /// Returns the PMUs named by events that counted something.
    pub fn pmus(&self) -> Vec<String> {
        let mut pmus: Vec<String> = self
            .counts
            .iter()
            .filter(|count| !matches!(count.count, Ok(0) | Err(Lost::Missing(_))))
            .filter_map(|count| Some(count.event().pmu?.to_owned()))
            .collect();
        pmus.sort();
        pmus.dedup();
        pmus
    }

    /// Returns the event with this lower-case name.
    pub fn count(&self, name: &str) -> Result<Option<&Count>, Located> {
        self.only(|count| count.event().name == name)
    }

    /// Returns the event with this lower-case name or, without a name, this code.
    pub fn count_of(&self, name: &str, config: u64) -> Result<Option<&Count>, Located> {
        self.only(|count| count.event().name == name || count.config() == Some(config))
    }

    /// Returns the only event for which this holds.
    fn only(&self, holds: impl Fn(&Count) -> bool) -> Result<Option<&Count>, Located> {
        let mut found = self.counts.iter().filter(|count| holds(count));
        let first = found.next();
        match (first, found.next()) {
            // An event that did not fit the counters is often listed twice as well. Report the lost
            // count, which matters more.
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

    /// Returns the first of these events that was counted.
    pub fn first_count(&self, names: &[&str]) -> Result<Option<&Count>, Located> {
        for name in names {
            if let Some(count) = self.count(name)? {
                return Ok(Some(count));
            }
        }
        Ok(None)
    }

    /// Finds a metric by the last part of its name: `memory_bound` finds
    /// `Backend_Bound.Memory_Bound`.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| {
            let own = metric.name.to_ascii_lowercase().replace(' ', "_");
            own.rsplit('.').next() == Some(name)
        })
    }

    /// Returns a count that is shown but not judged, so an unknown one is not an error.
    pub fn plain(&self, names: &[&str]) -> Option<u64> {
        let count = self.first_count(names).ok()??;
        count.count.clone().ok()
    }
}

impl Count {
    /// Splits the event's name.
    pub fn event(&self) -> EventName<'_> {
        let text = self.name.trim();
        let (pmu, name) = match text.split('/').collect::<Vec<_>>()[..] {
            // With terms inside the slashes, the whole text is the event.
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

    /// Returns the code of an event that was counted without a name: `r3e`, or
    /// `cpu/event=0x9c,umask=0x1/`; `None` if it has a name or terms that are not part of a code.
    fn config(&self) -> Option<u64> {
        let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let name = self.event().name;
        if let Some(code) = name.strip_prefix('r') {
            return hexadecimal(code);
        }
        let [_, terms, _] = name.split('/').collect::<Vec<_>>()[..] else {
            return None;
        };
        terms.split(',').try_fold(0, |config, term| {
            let (key, value) = term.split_once('=').unwrap_or((term, "0x1"));
            let value = hexadecimal(value.strip_prefix("0x")?)?;
            // The fields of IA32_PERFEVTSEL; Arm has only an event, of 16 bits.
            let (bit, width) = match key {
                "event" => (0, 16),
                "umask" => (8, 8),
                "edge" => (18, 1),
                "any" => (21, 1),
                "inv" => (23, 1),
                "cmask" => (24, 8),
                _ => return None,
            };
            (value >> width == 0).then_some(config | value << bit)
        })
    }

    /// Returns the count, or the error that it is unknown.
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
    /// Returns the value, or the error that it is unknown.
    pub fn known(&self) -> Result<f64, Located> {
        self.value.clone().map_err(|lost| {
            let name = self.name.clone();
            (Some(self.line), Problem::Lost { name, lost })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_nameless_events_are_read() {
        let config = |name: &str| {
            let count = Count {
                name: name.to_owned(),
                line: 1,
                count: Ok(1),
                running_ns: None,
            };
            count.config()
        };
        for (name, code) in [
            ("r3e", 0x3e),
            ("r019c:u", 0x19c),
            ("cpu/event=0x9c,umask=0x1/", 0x19c),
            ("cpu/event=0xa3,umask=0x14,cmask=0x14/u", 0x1400_14a3),
            ("cpu_core/event=0x0d,umask=0x03,edge,inv=0x1/", 0x84_030d),
            ("armv8_pmuv3/event=0x8162/", 0x8162),
        ] {
            assert_eq!(config(name), Some(code), "{name}");
        }
        for name in [
            "retiring",
            "cpu/slots/",
            "cpu_core/topdown-retiring/u",
            "cpu/event=0x9c,umask=0x1,period=1000/",
            "cpu/event=0x9c,umask=0x100/",
            "cpu/event=9c/",
        ] {
            assert_eq!(config(name), None, "{name}");
        }
    }

    #[test]
    fn retire_latency_modifier_is_recognized() {
        for latency in [
            "MEM_LOAD_RETIRED.L2_HIT:R",
            "mem_load_retired.l2_hit:uR",
            "cpu_core/MEM_LOAD_RETIRED.L2_HIT/R",
            "cpu/event=0xd1,umask=0x2/R",
        ] {
            assert!(is_retire_latency(latency), "{latency}");
        }
        for event in [
            "MEM_LOAD_RETIRED.L2_HIT:u",
            "cpu_core/MEM_LOAD_RETIRED.L2_HIT/",
            "R",
            "r20d1",
            "TOPDOWN.SLOTS",
            "irq:TIMER",
        ] {
            assert!(!is_retire_latency(event), "{event}");
        }
    }
}

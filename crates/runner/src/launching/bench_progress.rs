//! Progress of a bench, for timeout messages.

use std::fmt;

/// Progress of a bench.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BenchProgress {
    /// The benchmark that began last.
    last: Option<String>,
    /// Whether that benchmark is running.
    is_running: bool,
    /// A benchmark that did not complete before the next one began or its group ended.
    cut_short: Option<String>,
    /// Number of open groups.
    pub open_groups: u32,
}

impl BenchProgress {
    pub fn begin(&mut self, name: String) {
        self.cut_short();
        self.last = Some(name);
        self.is_running = true;
    }

    pub fn complete(&mut self) {
        self.is_running = false;
    }

    pub fn cut_short(&mut self) {
        if std::mem::take(&mut self.is_running) && self.cut_short.is_none() {
            self.cut_short.clone_from(&self.last);
        }
    }

    /// Returns the name of a benchmark that began and did not complete.
    pub fn unfinished(&self) -> Option<&str> {
        let running = self.last.as_ref().filter(|_| self.is_running);
        self.cut_short.as_ref().or(running).map(String::as_str)
    }
}

impl fmt::Display for BenchProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.last, self.is_running) {
            (None, _) => f.write_str("before its first benchmark"),
            (Some(name), true) => write!(f, "in benchmark `{name}`"),
            (Some(name), false) => write!(f, "after benchmark `{name}`"),
        }
    }
}

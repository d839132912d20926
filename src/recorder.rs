//! Collects the samples of the current benchmark and hands them on when it completes.
//!
//! Under `cargo topdown` they go to the file named in the environment; a plain `cargo bench` prints
//! their TopDown split.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};

use crate::formatter::split_line;
use crate::records_file::RecordsFile;
use topdown_run::code::CodeSlots;
use topdown_run::code_samples::CodeSamples;
use topdown_run::provenance::{Provenance, SourceKind, TIMES_ITSELF};
use topdown_run::record::Record;
use topdown_run::sample::{Flags, Sample};

/// Initial capacity for the samples of one benchmark, so that keeping one rarely allocates: ten
/// times criterion's default sample size.
const ROOM_FOR_SAMPLES: usize = 1000;

pub(crate) struct Recorder {
    samples: RefCell<Vec<Sample>>,
    file: Option<&'static RecordsFile>,
    /// What the last sealed benchmark measured.
    measured: Cell<SourceKind>,
}

/// What is known about a benchmark apart from its samples: see [`Record`].
pub(crate) struct Parts {
    pub(crate) first: Option<Sample>,
    pub(crate) groups: Vec<Sample>,
    pub(crate) code: Option<CodeSlots>,
    pub(crate) hits: Option<CodeSamples>,
}

impl Recorder {
    /// Returns whether `cargo topdown` runs this process.
    pub(crate) fn is_wanted() -> bool {
        RecordsFile::from_environment().is_some()
    }

    /// `source` is that of the measurement.
    pub(crate) fn from_environment(source: SourceKind) -> Recorder {
        Recorder {
            samples: RefCell::new(Vec::with_capacity(ROOM_FOR_SAMPLES)),
            file: RecordsFile::from_environment(),
            measured: Cell::new(source),
        }
    }

    /// Keeps a sample; called between windows.
    pub(crate) fn keep(&self, sample: &Sample) {
        self.samples.borrow_mut().push(*sample);
    }

    /// Returns the number of samples kept of the current benchmark.
    pub(crate) fn kept(&self) -> usize {
        self.samples.borrow().len()
    }

    /// Returns what the last sealed benchmark measured, which is not always what the source
    /// measures.
    pub(crate) fn measured(&self) -> SourceKind {
        self.measured.get()
    }

    /// Completes a benchmark: all samples kept so far belong to it. Samples of a benchmark that is
    /// never sealed (test mode, a panic) are not data and vanish with the process.
    pub(crate) fn seal(&self, provenance: &Provenance, parts: Parts) {
        let mut samples = self.samples.borrow_mut();
        if samples.is_empty() {
            return;
        }
        let provenance = provenance_of(&samples, provenance);
        self.measured.set(provenance.source);
        match &self.file {
            Some(file) => {
                let record = Record {
                    provenance: provenance.into_owned(),
                    samples: std::mem::take(&mut samples),
                    first: parts.first,
                    groups: parts.groups,
                    code: parts.code,
                    hits: parts.hits,
                };
                samples.reserve(ROOM_FOR_SAMPLES);
                file.append(|out| record.write_line(out));
            }
            None => print_split(&samples, &provenance),
        }
        samples.clear();
    }
}

/// Returns the provenance for `samples`: time for a benchmark that times itself, regardless of the
/// other benchmarks.
fn provenance_of<'a>(samples: &[Sample], provenance: &'a Provenance) -> Cow<'a, Provenance> {
    let has_time_alone = |sample: &Sample| {
        let time_alone = Sample {
            windows: sample.windows,
            wall_ns: sample.wall_ns,
            ..Sample::EMPTY
        };
        *sample == time_alone
    };
    // Windows of the source `time` include the threads' activity. A benchmark that could not be
    // modelled also has only time, and no cost.
    let is_timed = provenance.source == SourceKind::Time;
    let has_reason = is_timed && provenance.empty_window.is_none();
    let counts = |sample: &&Sample| !sample.flags.intersects(Flags::NOT_COUNTING);
    let mut counting = samples.iter().filter(counts).peekable();
    if has_reason || counting.peek().is_none() || !counting.all(has_time_alone) {
        return Cow::Borrowed(provenance);
    }
    Cow::Owned(Provenance {
        empty_window: provenance.empty_window.filter(|_| is_timed),
        ..Provenance::for_clock(TIMES_ITSELF)
    })
}

fn print_split(samples: &[Sample], provenance: &Provenance) {
    let total = samples
        .iter()
        .fold(Sample::EMPTY, |sum, sample| sum.plus(sample));
    let Some(line) = split_line(&total, provenance) else {
        return;
    };
    let mut out = io::stdout().lock();
    // criterion leaves "Benchmarking …: Analyzing" on the terminal's current line, to be
    // overwritten.
    let overwrite = if out.is_terminal() { "\r\x1b[K" } else { "" };
    // A closed standard output cannot be helped, and criterion is about to notice it too.
    let _ = writeln!(out, "{overwrite}{line}");
}

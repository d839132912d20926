//! Keeps the sample vectors of the benchmark that is running and hands them on when it is done.
//!
//! Under `cargo topdown` they go to the file that the environment names; in a plain `cargo bench`
//! their TopDown split is printed.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};

use crate::code::CodeSlots;
use crate::formatter::split_line;
use crate::provenance::{Provenance, SourceKind, TIMES_ITSELF};
use crate::record::Record;
use crate::records_file::RecordsFile;
use crate::sample::Sample;

/// Room for the samples of one benchmark, so that keeping one seldom allocates: ten times
/// criterion's default sample size.
const ROOM_FOR_SAMPLES: usize = 1000;

pub(crate) struct Recorder {
    samples: RefCell<Vec<Sample>>,
    file: Option<&'static RecordsFile>,
    /// What the benchmark that was sealed last has.
    measured: Cell<SourceKind>,
}

impl Recorder {
    /// Whether `cargo topdown` runs this process.
    pub(crate) fn is_wanted() -> bool {
        RecordsFile::of_environment().is_some()
    }

    /// `source` is that of the measurement.
    pub(crate) fn from_environment(source: SourceKind) -> Recorder {
        Recorder {
            samples: RefCell::new(Vec::with_capacity(ROOM_FOR_SAMPLES)),
            file: RecordsFile::of_environment(),
            measured: Cell::new(source),
        }
    }

    /// Called between windows.
    pub(crate) fn keep(&self, sample: &Sample) {
        self.samples.borrow_mut().push(*sample);
    }

    /// How many samples have been kept of the benchmark that is running.
    pub(crate) fn kept(&self) -> usize {
        self.samples.borrow().len()
    }

    /// What the benchmark that was sealed last has, which is not always what the source measures.
    pub(crate) fn measured(&self) -> SourceKind {
        self.measured.get()
    }

    /// The samples kept so far are all of one benchmark, and `code` says where in the code their slots
    /// went. Those of a benchmark that is never
    /// sealed (test mode, a panic) are no data and vanish with the process.
    pub(crate) fn seal(&self, provenance: &Provenance, code: Option<CodeSlots>) {
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
                    code,
                };
                samples.reserve(ROOM_FOR_SAMPLES);
                file.append(|out| record.write_line(out));
            }
            None => print_split(&samples, &provenance),
        }
        samples.clear();
    }
}

/// What a benchmark that times itself measures is time, whatever the others have: its `iter_custom`
/// returned durations.
fn provenance_of<'a>(samples: &[Sample], provenance: &'a Provenance) -> Cow<'a, Provenance> {
    let has_time_alone = |sample: &Sample| {
        let time_alone = Sample {
            windows: sample.windows,
            wall_ns: sample.wall_ns,
            ..Sample::EMPTY
        };
        *sample == time_alone
    };
    // Windows of the source `time` tell of the threads' activity. Those of a benchmark that could not be
    // modelled have time alone too, and no cost.
    let is_timed = provenance.source == SourceKind::Time;
    let has_reason = is_timed && provenance.empty_window.is_none();
    if has_reason || !samples.iter().all(has_time_alone) {
        return Cow::Borrowed(provenance);
    }
    Cow::Owned(Provenance {
        source: SourceKind::Time,
        formula: "time/1".to_owned(),
        core_type: None,
        slots_per_cycle: None,
        reason: TIMES_ITSELF.to_owned(),
        empty_window: provenance.empty_window.filter(|_| is_timed),
        threads: Default::default(),
        elsewhere: None,
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
    // Nothing can be done about a closed standard output, and criterion is about to notice too.
    let _ = writeln!(out, "{overwrite}{line}");
}

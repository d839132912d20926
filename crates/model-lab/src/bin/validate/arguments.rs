//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use topdown_core_model::{CoreParameters, cores};
use topdown_model_lab::mechanisms::{self, Mechanism};

use crate::native::CALM_TIME;

pub struct Arguments {
    pub core: &'static CoreParameters,
    /// Runs only kernels whose names contain this.
    pub filter: String,
    /// File with native cycles.
    pub native: Option<PathBuf>,
    /// Leaves out kernels that the file lacks, instead of measuring them on this machine.
    pub stored: bool,
    /// Document that should have the summary.
    pub expect: Option<PathBuf>,
    /// Makes the table of the core's mechanisms, and nothing else.
    pub mechanisms: bool,
    /// The mechanism with which that table begins.
    pub first_mechanism: Option<&'static Mechanism>,
    /// Includes the loops that are kept back until a version is done.
    pub kept_back: bool,
    /// Number of traces of each kernel, counting the last time, instead of the policy.
    pub runs: Option<usize>,
    /// Measures all kernels natively and models none.
    pub measure: bool,
    /// Time spent on measuring a kernel while the machine is calm.
    pub calm_time: Duration,
    /// Counts the slots of each kernel with the CPU's counters too.
    pub counters: bool,
}

impl Arguments {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Arguments {
            core: cores::ALL[0],
            filter: String::new(),
            native: None,
            stored: false,
            expect: None,
            mechanisms: false,
            first_mechanism: None,
            kept_back: false,
            runs: None,
            measure: false,
            calm_time: CALM_TIME,
            counters: false,
        };
        let mut places = 0;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--measure" => arguments.measure = true,
                "--calm-ms" => {
                    let time = words.next().and_then(|text| text.parse().ok());
                    let time = time.ok_or("--calm-ms needs a number")?;
                    arguments.calm_time = Duration::from_millis(time);
                }
                "--stored" => arguments.stored = true,
                "--counters" => arguments.counters = true,
                "--mechanisms" => arguments.mechanisms = true,
                "--kept-back" => arguments.kept_back = true,
                "--from" => {
                    let name = words.next().ok_or("--from needs a mechanism")?;
                    arguments.first_mechanism = Some(mechanism(&name)?);
                }
                "--without" => {
                    let name = words.next().ok_or("--without needs a mechanism")?;
                    arguments.core = simpler(arguments.core, mechanism(&name)?)?;
                }
                "--native" => {
                    let file = words.next().ok_or("--native needs a file")?;
                    arguments.native = Some(file.into());
                }
                "--expect" => {
                    let file = words.next().ok_or("--expect needs a document")?;
                    arguments.expect = Some(file.into());
                }
                "--runs" => {
                    let count = words.next().and_then(|text| text.parse().ok());
                    arguments.runs = Some(count.ok_or("--runs needs a number")?);
                }
                option if option.starts_with("--") => return Err(format!("no option `{option}`")),
                _ => {
                    match places {
                        0 => arguments.core = core(&word)?,
                        1 => arguments.filter = word,
                        _ => return Err(format!("one word too many: `{word}`")),
                    }
                    places += 1;
                }
            }
        }
        Ok(arguments)
    }
}

fn core(name: &str) -> Result<&'static CoreParameters, String> {
    cores::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = cores::ALL.iter().map(|core| core.name).collect();
        format!("no core `{name}`; known: {}", known.join(", "))
    })
}

fn mechanism(name: &str) -> Result<&'static Mechanism, String> {
    let known: Vec<&str> = mechanisms::ALL
        .iter()
        .map(|mechanism| mechanism.name)
        .collect();
    mechanisms::by_name(name)
        .ok_or_else(|| format!("no mechanism `{name}`; known: {}", known.join(", ")))
}

fn simpler(
    core: &CoreParameters,
    mechanism: &Mechanism,
) -> Result<&'static CoreParameters, String> {
    mechanisms::without(core, mechanism)
        .ok_or_else(|| format!("{} has no {}", core.name, mechanism.name))
}

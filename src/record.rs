//! What a bench process hands to `cargo topdown`: one line per benchmark, in addition to
//! criterion's own protocol, which carries a single number per sample.
//!
//! The line is JSON, read by `run_file`. It is written by hand here because every bench of every
//! user pays for the compile time of this module.

use std::fmt::{Arguments, Display};
use std::io::{self, Write};

use crate::activity::{Activity, Elsewhere};
use crate::category::PerCategory;
use crate::code::{CodeSlots, Trail};
use crate::event::Event;
use crate::hits::{CodeHits, HitEngine};
use crate::provenance::{CountedThreads, Provenance};
use crate::sample::{Level1, Sample};

/// The version of the file formats that this library writes.
pub const SCHEMA_VERSION: u32 = 1;

/// A line of the records file: a measurement has begun and will report its end.
pub const LAST_WORD_OWED: &str = "last word owed";
/// A line of the records file: a measurement has ended.
pub const LAST_WORD_SAID: &str = "last word said";

/// The samples of one benchmark in one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What the numbers are.
    pub provenance: Provenance,
    /// In the order in which criterion asked for their scalars.
    pub samples: Vec<Sample>,
    /// Where in the code their slots went, if known.
    pub code: Option<CodeSlots>,
    /// Where the hardware hit their code, if it recorded that.
    pub hits: Option<CodeHits>,
}

impl Record {
    /// Returns the record as one line of JSON, newline included.
    #[inline]
    pub fn to_line(&self) -> String {
        let mut line = Vec::new();
        self.write_line(&mut line).expect("a vector takes all");
        String::from_utf8(line).expect("JSON is text")
    }

    /// Writes that line in small pieces. Allocations do not depend on the length of numbers, so
    /// that in a launch on the model the heap layout does not depend on the clock.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_line(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut json = Json::to(out);
        json.object(|json| {
            json.field("schema_version", &SCHEMA_VERSION);
            json.name("provenance");
            json.object(|json| provenance(json, &self.provenance));
            json.name("samples");
            json.object(|json| samples(json, &self.samples));
            if let Some(of) = &self.code {
                json.name("code");
                json.object(|json| code(json, of));
            }
            if let Some(of) = &self.hits {
                json.name("hits");
                json.object(|json| hits(json, of));
            }
        });
        json.literal("\n");
        json.result
    }
}

fn provenance(json: &mut Json<'_>, of: &Provenance) {
    json.text("source", of.source.name());
    json.text("formula", &of.formula);
    if let Some(core_type) = &of.core_type {
        json.text("core_type", core_type);
    }
    if let Some(slots) = of.slots_per_cycle {
        json.field("slots_per_cycle", &slots);
    }
    json.text("reason", &of.reason);
    if let Some(window) = of.empty_window {
        json.name("empty_window");
        json.object(|json| {
            for (name, count) in [
                ("slots", window.slots),
                ("instructions", window.instructions),
                ("cycles", window.cycles),
            ] {
                if let Some(count) = count {
                    json.field(name, &count);
                }
            }
            json.field("wall_ns", &window.wall_ns);
        });
    }
    if of.threads != CountedThreads::Own {
        json.text("threads", of.threads.name());
    }
    if let Some(elsewhere) = of.elsewhere {
        let (kind, fraction) = match elsewhere {
            Elsewhere::OtherThreads { fraction } => ("other_threads", fraction),
            Elsewhere::Waiting { fraction } => ("waiting", fraction),
        };
        json.name("elsewhere");
        json.object(|json| {
            json.text("kind", kind);
            json.name("fraction");
            json.number(fraction);
        });
    }
}

/// The name of a quantity, and how to get it from a row.
type Column<T, N> = (&'static str, fn(&T) -> N);

/// Writes one column per quantity. A quantity missing in any sample is left out for all of them,
/// since half a column could not be compared.
fn samples(json: &mut Json<'_>, samples: &[Sample]) {
    let all = |json: &mut Json<'_>, name: &str, of: fn(&Sample) -> u64| {
        json.name(name);
        json.array(samples, |json, sample| json.value(&of(sample)));
    };
    let known = |json: &mut Json<'_>, name: &str, of: &dyn Fn(&Sample) -> Option<u64>| {
        if !samples.is_empty() && samples.iter().all(|sample| of(sample).is_some()) {
            json.name(name);
            json.array(samples, |json, sample| json.value(&of(sample).unwrap_or(0)));
        }
    };
    all(json, "windows", |sample| sample.windows);
    all(json, "wall_ns", |sample| sample.wall_ns);
    known(json, "slots", &|sample| sample.slots);
    if let Some(levels) = known_of_all(samples, |sample| sample.level1) {
        json.name("level1");
        json.object(|json| level1(json, &levels));
    }
    if let Some(levels) = known_of_all(samples, |sample| sample.level2) {
        json.name("level2");
        json.object(|json| level2(json, &levels));
    }
    known(json, "instructions", &|sample| sample.instructions);
    known(json, "cycles", &|sample| sample.cycles);
    let is_known = |event| {
        samples
            .iter()
            .all(|sample| sample.events.get(event).is_some())
    };
    if !samples.is_empty() && Event::ALL.into_iter().any(is_known) {
        json.name("events");
        json.object(|json| {
            for event in Event::ALL {
                known(json, event.name(), &|sample| sample.events.get(event));
            }
        });
    }
    if let Some(groups) = known_of_all(samples, |sample| sample.group_counts) {
        // All samples belong to one group.
        let events = groups.iter().map(|group| group.as_slice().len()).max();
        let events: Vec<usize> = (0..events.unwrap_or(0)).collect();
        json.name("group_counts");
        json.array(&events, |json, event| {
            json.array(&groups, |json, group| {
                json.value(group.as_slice().get(*event).unwrap_or(&0));
            });
        });
    }
    let is_watched = |activity: Activity| activity.windows > 0;
    if samples
        .iter()
        .any(|sample| sample.activity.is_some_and(is_watched))
    {
        json.name("activity");
        json.object(|json| activity(json, samples));
    }
    json.name("resolution_slots");
    json.array(samples, |json, sample| json.number(sample.resolution_slots));
    all(json, "flags", |sample| sample.flags.bits().into());
}

fn known_of_all<T>(samples: &[Sample], of: fn(&Sample) -> Option<T>) -> Option<Vec<T>> {
    if samples.is_empty() {
        return None;
    }
    let mut column = Vec::new();
    for sample in samples {
        column.push(of(sample)?);
    }
    Some(column)
}

fn level1(json: &mut Json<'_>, levels: &[Level1]) {
    let columns: [Column<Level1, f64>; 4] = [
        ("retiring_slots", |level| level.slots.retiring),
        ("bad_speculation_slots", |level| level.slots.bad_speculation),
        ("frontend_bound_slots", |level| level.slots.frontend_bound),
        ("backend_bound_slots", |level| level.slots.backend_bound),
    ];
    json.numbers(&columns, levels);
    if levels
        .iter()
        .all(|level| level.smt_contention_slots.is_some())
    {
        let column: Column<Level1, f64> = ("smt_contention_slots", |level| {
            level.smt_contention_slots.unwrap_or(0.0)
        });
        json.numbers(&[column], levels);
    }
}

fn level2(json: &mut Json<'_>, levels: &[PerCategory<f64>]) {
    let columns: [Column<PerCategory<f64>, f64>; 4] = [
        ("heavy_operations_slots", |level| level.retiring),
        ("branch_mispredicts_slots", |level| level.bad_speculation),
        ("fetch_latency_slots", |level| level.frontend_bound),
        ("memory_bound_slots", |level| level.backend_bound),
    ];
    json.numbers(&columns, levels);
}

/// Writes 0 for samples that were not watched.
fn activity(json: &mut Json<'_>, samples: &[Sample]) {
    let columns: [Column<Activity, u64>; 5] = [
        ("windows", |activity| activity.windows),
        ("wall_ns", |activity| activity.wall_ns),
        ("own_ns", |activity| activity.own_ns),
        ("others_ns", |activity| activity.others_ns),
        ("blocked", |activity| activity.blocked),
    ];
    for (name, column) in columns {
        json.name(name);
        json.array(samples, |json, sample| {
            json.value(&sample.activity.as_ref().map_or(0, column));
        });
    }
}

fn code(json: &mut Json<'_>, code: &CodeSlots) {
    json.name("modules");
    json.array(&code.modules, |json, module| json.string(module));
    json.name("blocks");
    json.array(&code.blocks, |json, block| {
        json.counts(&[
            block.module.into(),
            block.offset,
            block.bytes.into(),
            block.content,
            block.call.into(),
        ]);
    });
    json.name("calls");
    json.array(&code.calls, |json, call| {
        json.counts(&[call.caller.into(), call.module.into(), call.offset]);
    });
    json.name("samples");
    json.array(&code.samples, |json, blocks| {
        json.array(blocks, |json, (block, counts)| {
            json.nested("[", "]", |json| {
                json.value(block);
                json.counts(&<[u64; 9]>::from(*counts));
            });
        });
    });
    json.name("first_samples");
    json.array(&code.first_samples, |json, (block, instructions)| {
        json.counts(&[u64::from(*block), *instructions]);
    });
    json.field("first_samples_data", &code.first_samples_data);
    json.name("trail");
    json.object(|json| trail(json, &code.trail));
}

fn hits(json: &mut Json<'_>, hits: &CodeHits) {
    json.name("modules");
    json.array(&hits.modules, |json, module| json.string(module));
    json.name("places");
    json.array(&hits.places, |json, place| {
        json.nested("[", "]", |json| {
            for count in [
                u64::from(place.module),
                place.offset,
                place.hits,
                place.instructions,
                place.slots,
            ] {
                json.value(&count);
            }
            for slots in [place.level1_slots, place.level2_slots] {
                json.array(&slots.into_array(), |json, slots| json.number(*slots));
            }
            let after = place.after.iter();
            let after: Vec<u64> = after.flat_map(|at| [u64::from(at.0), at.1]).collect();
            json.array(&after, |json, part| json.value(part));
        });
    });
    if let Some(own) = &hits.own {
        json.name("own");
        json.object(|json| {
            json.name("events");
            json.array(&own.events, |json, event| json.string(event));
            json.name("periods");
            json.counts(&own.periods);
            json.name("places");
            json.array(&own.places, |json, place| {
                json.nested("[", "]", |json| {
                    for number in [u64::from(place.module), place.offset, place.hits] {
                        json.value(&number);
                    }
                    json.counts(&place.counts);
                });
            });
        });
    }
    let sampled = &hits.sampled;
    json.name("sampled");
    json.object(|json| {
        json.name("engine");
        json.string(match sampled.engine {
            HitEngine::Counters => "counters",
            HitEngine::Metrics => "metrics",
            HitEngine::OwnPeriods => "own-periods",
        });
        json.field("period_cycles", &sampled.period_cycles);
        json.field("hits", &sampled.hits);
        json.field("effective_hits", &sampled.effective_hits);
        json.field("lost", &sampled.lost);
        json.field("throttled", &sampled.throttled);
    });
}

fn trail(json: &mut Json<'_>, trail: &Trail) {
    json.field("number", &trail.number);
    json.field("blocks", &trail.blocks);
    json.field("hash", &trail.hash);
    json.field("every_blocks", &trail.every_blocks);
    json.name("hashes");
    json.counts(&trail.hashes);
    json.field("stretch_from", &trail.stretch_from);
    json.name("stretch");
    json.array(&trail.stretch, |json, block| json.value(block));
}

/// A JSON document under construction.
// Every bench of every user compiles this, so code common to all fields is compiled only once.
struct Json<'a> {
    out: &'a mut dyn Write,
    /// Whether the open object or array is still empty, or a name has just been written.
    begins: bool,
    /// The first error.
    result: io::Result<()>,
}

impl<'a> Json<'a> {
    fn to(out: &'a mut dyn Write) -> Json<'a> {
        Json {
            out,
            begins: true,
            result: Ok(()),
        }
    }

    #[inline(never)]
    fn write(&mut self, what: Arguments<'_>) {
        if self.result.is_ok() {
            self.result = self.out.write_fmt(what);
        }
    }

    #[inline(never)]
    fn literal(&mut self, text: &str) {
        self.write(format_args!("{text}"));
    }

    /// Writes a comma, unless this is the first element.
    #[inline(never)]
    fn separate(&mut self) {
        if !std::mem::take(&mut self.begins) {
            self.literal(",");
        }
    }

    /// Writes a value whose text is valid JSON, such as an integer.
    #[inline(never)]
    fn value(&mut self, value: &dyn Display) {
        self.separate();
        self.write(format_args!("{value}"));
    }

    /// Writes the shortest digits that read back as the same number.
    #[inline(never)]
    fn number(&mut self, number: f64) {
        if number.is_finite() {
            self.value(&format_args!("{number:?}"));
        } else {
            self.value(&"null");
        }
    }

    #[inline(never)]
    fn string(&mut self, string: &str) {
        self.separate();
        self.literal("\"");
        for char in string.chars() {
            match char {
                '"' | '\\' => self.write(format_args!("\\{char}")),
                '\0'..='\x1f' => self.write(format_args!("\\u{:04x}", u32::from(char))),
                _ => self.write(format_args!("{char}")),
            }
        }
        self.literal("\"");
    }

    #[inline(never)]
    fn name(&mut self, name: &str) {
        self.string(name);
        self.literal(":");
        self.begins = true;
    }

    #[inline(never)]
    fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.string(text);
    }

    #[inline(never)]
    fn field(&mut self, name: &str, value: &dyn Display) {
        self.name(name);
        self.value(value);
    }

    fn nested(&mut self, open: &str, close: &str, content: impl FnOnce(&mut Self)) {
        self.separate();
        self.literal(open);
        self.begins = true;
        content(self);
        self.begins = false;
        self.literal(close);
    }

    fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.nested("{", "}", fields);
    }

    fn array<T>(&mut self, items: &[T], item: impl Fn(&mut Self, &T)) {
        self.nested("[", "]", |json| items.iter().for_each(|of| item(json, of)));
    }

    #[inline(never)]
    fn counts(&mut self, counts: &[u64]) {
        self.array(counts, |json, count| json.value(count));
    }

    fn numbers<T>(&mut self, columns: &[Column<T, f64>], rows: &[T]) {
        for (name, column) in columns {
            self.name(name);
            self.array(rows, |json, row| json.number(column(row)));
        }
    }
}

#[cfg(all(test, feature = "run_file"))]
mod tests {
    use super::*;
    use crate::provenance::{EmptyWindow, SourceKind};

    #[test]
    fn a_provenance_is_written_as_it_is_read() {
        let least = Provenance::of_clock("a \"reason\" with \\ and é");
        let most = Provenance {
            source: SourceKind::Hardware,
            core_type: Some("cpu_core".to_owned()),
            slots_per_cycle: Some(6),
            empty_window: Some(EmptyWindow {
                slots: Some(352),
                instructions: Some(81),
                cycles: Some(44),
                wall_ns: 40,
            }),
            threads: CountedThreads::All,
            elsewhere: Some(Elsewhere::OtherThreads { fraction: 1e-7 }),
            ..least.clone()
        };
        let waiting = Provenance {
            empty_window: Some(EmptyWindow {
                wall_ns: 40,
                ..EmptyWindow::default()
            }),
            elsewhere: Some(Elsewhere::Waiting { fraction: 0.1 }),
            ..least.clone()
        };
        for written in [least, most, waiting] {
            let mut line = Vec::new();
            let mut json = Json::to(&mut line);
            json.object(|json| provenance(json, &written));
            let text = String::from_utf8(line).unwrap();
            assert_eq!(text, serde_json::to_string(&written).unwrap());
            assert_eq!(serde_json::from_str::<Provenance>(&text).unwrap(), written);
        }
    }
}

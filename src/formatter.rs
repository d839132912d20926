//! Formats slots for criterion's own output.

use criterion::Throughput;
use criterion::measurement::ValueFormatter;

use topdown_run::category::Category;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::sample::{Flags, Sample};

/// Formats slots, or nanoseconds if that is what is measured.
#[derive(Debug)]
pub(crate) struct SlotsFormatter {
    units: &'static Units,
}

/// The names of a quantity at 1, 10^3, 10^6 and 10^9 times its size. criterion's nanoseconds or
/// slots are in the first one without scaling.
#[derive(Debug)]
struct Units {
    value: [&'static str; 4],
    /// The denominator of throughputs, in units of the scalar.
    per: f64,
    bytes: &'static str,
    elements: &'static str,
    bits: &'static str,
    iterations: &'static str,
    machine: &'static str,
}

static SLOTS: Units = Units {
    value: ["slots", "Kslots", "Mslots", "Gslots"],
    per: 1.0,
    bytes: "B/slot",
    elements: "elem/slot",
    bits: "bit/slot",
    iterations: "iter/slot",
    machine: "slots",
};

static TIME: Units = Units {
    value: ["ns", "µs", "ms", "s"],
    per: 1e3,
    bytes: "MB/s",
    elements: "Melem/s",
    bits: "Mbit/s",
    iterations: "Miter/s",
    machine: "ns",
};

static OF_SLOTS: SlotsFormatter = SlotsFormatter { units: &SLOTS };

static OF_TIME: SlotsFormatter = SlotsFormatter { units: &TIME };

impl SlotsFormatter {
    pub(crate) fn new(source: SourceKind) -> &'static SlotsFormatter {
        match source {
            SourceKind::Time => &OF_TIME,
            SourceKind::Hardware | SourceKind::Model => &OF_SLOTS,
        }
    }
}

impl ValueFormatter for SlotsFormatter {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let step = match typical {
            v if v < 1e3 => 0,
            v if v < 1e6 => 1,
            v if v < 1e9 => 2,
            _ => 3,
        };
        let factor = 1000_f64.powi(-step);
        for value in values {
            *value *= factor;
        }
        self.units.value[step as usize]
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        let (amount, unit) = match throughput {
            Throughput::Bytes(n) | Throughput::BytesDecimal(n) => (*n, self.units.bytes),
            Throughput::Bits(n) => (*n, self.units.bits),
            Throughput::Elements(n) => (*n, self.units.elements),
            Throughput::ElementsAndBytes { bytes, .. } => (*bytes, self.units.bytes),
            // criterion has added variants in minor releases.
            #[allow(unreachable_patterns)]
            _ => (1, self.units.iterations),
        };
        for value in values {
            *value = amount as f64 * self.units.per / *value;
        }
        unit
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        self.units.machine
    }
}

/// Returns the TopDown split of a benchmark on one line, or `None` if there are no slots to split.
pub(crate) fn split_line(total: &Sample, provenance: &Provenance) -> Option<String> {
    let level1 = total.level1?;
    let slots = total.slots.filter(|slots| *slots > 0)? as f64;
    let percent =
        |category_slots: f64| format!("{:.1}%", (category_slots / slots * 100.0).max(0.0));
    let part = |name: &str, category: Category| match total.level2 {
        Some(level2) => format!(" ({name} {})", percent(level2[category])),
        None => String::new(),
    };
    let mut line = format!(
        "topdown: retiring {}, bad speculation {}{}, frontend bound {}{}, backend bound {}{}",
        percent(level1.slots.retiring),
        percent(level1.slots.bad_speculation),
        part("mispredicts", Category::BadSpeculation),
        percent(level1.slots.frontend_bound),
        part("latency", Category::FrontendBound),
        percent(level1.slots.backend_bound),
        part("memory", Category::BackendBound),
    );
    if let Some(contention) = level1.smt_contention_slots {
        line += &format!(", SMT contention {}", percent(contention));
    }
    if let (Some(instructions), Some(cycles)) =
        (total.instructions, total.cycles.filter(|c| *c > 0))
    {
        line += &format!(
            "; {:.2} instructions per cycle",
            instructions as f64 / cycles as f64
        );
    }
    if let Some(resolution) = total.resolution_fraction().filter(|r| *r > 0.0) {
        line += &format!("; ±{:.1}", resolution * 100.0);
    }
    if provenance.source == SourceKind::Model {
        line += " (modelled)";
    }
    if total.flags != Flags::NONE {
        line += &format!(" [{}]", total.flags);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::category::PerCategory;
    use topdown_run::sample::Level1;

    #[test]
    fn values_scale_with_their_size() {
        let slots = SlotsFormatter::new(SourceKind::Hardware);
        assert_eq!(slots.format_value(999.0), "999.00 slots");
        assert_eq!(slots.format_value(1234.5), "1.2345 Kslots");
        assert_eq!(slots.format_value(2.5e9), "2.5000 Gslots");
        let time = SlotsFormatter::new(SourceKind::Time);
        assert_eq!(time.format_value(1500.0), "1.5000 µs");
    }

    #[test]
    fn throughput_is_work_per_slot_or_per_second() {
        let slots = SlotsFormatter::new(SourceKind::Hardware);
        let text = slots.format_throughput(&Throughput::Elements(100), 400.0);
        assert_eq!(text, "0.2500 elem/slot");
        let time = SlotsFormatter::new(SourceKind::Time);
        let text = time.format_throughput(&Throughput::Bytes(4096), 1024.0);
        assert_eq!(text, "4000.0 MB/s");
    }

    #[test]
    fn split_names_every_category() {
        let provenance =
            topdown_counters::Source::provenance(&topdown_counters::scripted::Scripted::new())
                .clone();
        let total = Sample {
            windows: 1,
            slots: Some(1000),
            level1: Some(Level1 {
                slots: PerCategory {
                    retiring: 400.0,
                    bad_speculation: 102.0,
                    frontend_bound: 200.0,
                    backend_bound: 298.0,
                },
                smt_contention_slots: None,
            }),
            level2: Some(PerCategory {
                backend_bound: 180.0,
                ..PerCategory::default()
            }),
            instructions: Some(300),
            cycles: Some(200),
            resolution_slots: 4.0,
            ..Sample::EMPTY
        };
        assert_eq!(
            split_line(&total, &provenance).unwrap(),
            "topdown: retiring 40.0%, bad speculation 10.2% (mispredicts 0.0%), frontend bound \
             20.0% (latency 0.0%), backend bound 29.8% (memory 18.0%); 1.50 instructions per \
             cycle; ±0.4"
        );
        assert_eq!(split_line(&Sample::EMPTY, &provenance), None);
    }
}

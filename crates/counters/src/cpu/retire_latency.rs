//! Retire latency of an event: TMA multiplies it with the event's count, to get the cycles that
//! were spent waiting.
//!
//! Since Meteor Lake and Granite Rapids, PEBS records can hold the cycles between the retirement of
//! an instruction and of the one before it ("timed PEBS", `:R` in Intel's formulas). Without them,
//! TMA takes a value of the family: a mean that Intel published for the event, or an assumed time.

use super::{Event, MetricGroup, Models};

/// The retire latencies of one family of cores.
#[derive(Debug)]
pub struct LatencyTable {
    /// The family, by its maker's name.
    pub name: &'static str,
    /// The CPUs that this table covers.
    pub models: &'static [Models],
    /// Whether the cores record retire latencies.
    pub is_recorded: bool,
    /// Where the numbers come from, in addition to the sources of `cpu`.
    pub sources: &'static str,
    /// One per event.
    pub latencies: &'static [RetireLatency],
}

/// Retire latency of an event, without a measurement.
#[derive(Debug)]
pub struct RetireLatency {
    /// The event.
    pub event: Event,
    /// Its mean, in core cycles, that Intel published.
    pub published_cycles: Option<f64>,
    /// The time that TMA assumes without a measurement, and the maximum of any other.
    pub assumed_ns: Option<f64>,
}

/// The retire latency that a metric uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Core cycles per occurrence.
    pub cycles: f64,
    /// The cycles that count, if TMA limits them.
    pub counted_cycles: f64,
    /// Where it comes from.
    pub origin: LatencyOrigin,
}

/// Where a retire latency comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyOrigin {
    /// From the records of this benchmark.
    Sampled,
    /// From the mean that Intel published for the family.
    Published,
    /// From the time that Intel's metrics assume for the family.
    Assumed,
}

impl LatencyTable {
    /// Returns what is known about an event.
    #[inline]
    pub fn of(&self, event: Event) -> Option<&'static RetireLatency> {
        let mut latencies = self.latencies.iter();
        latencies.find(|latency| latency.event.config == event.config)
    }

    /// Returns the events of a group whose latencies these cores record and its metrics need, in
    /// the order of its metrics.
    #[inline]
    pub fn recorded_for(&self, group: &MetricGroup) -> Vec<Event> {
        let wanted = group.metrics.iter().filter_map(|metric| metric.latency_of);
        wanted
            .filter(|event| self.is_recorded && self.of(*event).is_some())
            .collect()
    }
}

impl RetireLatency {
    /// Returns the latency that counts, or `None` if it was not sampled and the family has none.
    #[inline]
    pub fn counting(&self, sampled: Option<f64>, cycles_per_ns: Option<f64>) -> Option<Latency> {
        let assumed = self.assumed_ns.zip(cycles_per_ns);
        let assumed = assumed.map(|(ns, cycles_per_ns)| ns * cycles_per_ns);
        let (cycles, origin) = match (sampled, self.published_cycles) {
            (Some(cycles), _) => (cycles, LatencyOrigin::Sampled),
            (None, Some(cycles)) => (cycles, LatencyOrigin::Published),
            (None, None) => (assumed?, LatencyOrigin::Assumed),
        };
        Some(Latency {
            cycles,
            counted_cycles: assumed.map_or(cycles, |assumed| cycles.min(assumed)),
            origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{CoreType, Identity, LATENCIES, TABLES, latencies_for, table_for};

    fn intel(model: u32) -> Identity<'static> {
        Identity {
            vendor: "GenuineIntel",
            family: 6,
            model,
            stepping: 4,
            core: CoreType::Performance,
        }
    }

    fn of(model: u32, event: &str) -> &'static RetireLatency {
        let table = latencies_for(&intel(model)).unwrap();
        let mut latencies = table.latencies.iter();
        latencies
            .find(|latency| latency.event.name == event)
            .unwrap()
    }

    /// By hand, from the formulas of perfmon's files for TMA 5.1 and 5.2.
    #[test]
    fn latency_follows_intel_formulas() {
        let counting = |model, event, sampled, ghz| {
            let latency = of(model, event).counting(sampled, ghz)?;
            Some((latency.counted_cycles, latency.origin))
        };
        use LatencyOrigin::{Assumed, Published, Sampled};
        const L2: &str = "MEM_LOAD_RETIRED.L2_HIT";
        const L3: &str = "MEM_LOAD_RETIRED.L3_HIT";
        const LOCAL: &str = "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM";
        const LOCK: &str = "MEM_INST_RETIRED.LOCK_LOADS";
        let granite = 0xad;
        assert_eq!(
            counting(granite, L2, Some(7.5), Some(2.5)),
            Some((7.5, Sampled))
        );
        // At most 4.4 ns at 2.5 GHz.
        assert_eq!(
            counting(granite, L2, Some(90.0), Some(2.5)),
            Some((11.0, Sampled))
        );
        assert_eq!(
            counting(granite, L2, None, Some(2.5)),
            Some((5.71, Published))
        );
        // 37 - 4.4 ns would be 65.2 cycles at 2 GHz, and 32.6 at 1 GHz.
        assert_eq!(
            counting(granite, L3, None, Some(2.0)),
            Some((57.64, Published))
        );
        assert_eq!(counting(granite, L3, None, Some(1.0)).unwrap().1, Published);
        assert!((counting(granite, L3, None, Some(1.0)).unwrap().0 - 32.6).abs() < 1e-9);
        assert_eq!(
            counting(granite, LOCAL, Some(400.0), Some(2.0)),
            Some((400.0, Sampled))
        );
        assert_eq!(
            counting(granite, LOCK, None, None),
            Some((63.76, Published))
        );
        // Meteor Lake: 12 - 3 ns, and nothing for locked loads.
        assert_eq!(counting(0xaa, L3, None, Some(4.0)), Some((36.0, Assumed)));
        assert_eq!(counting(0xaa, LOCK, None, Some(4.0)), None);
        assert_eq!(
            counting(0xaa, LOCK, Some(20.0), None),
            Some((20.0, Sampled))
        );
        assert_eq!(counting(0xbd, L2, None, Some(5.0)), Some((15.0, Assumed)));
        assert_eq!(counting(0xbd, L2, None, None), None);
        // Sapphire Rapids records none: 109 - 37 ns.
        assert_eq!(
            counting(0x8f, LOCAL, None, Some(3.0)),
            Some((216.0, Assumed))
        );
    }

    #[test]
    fn cpu_has_one_latency_table_for_its_groups() {
        for table in LATENCIES {
            let of_cores = TABLES.iter().filter(|cores| {
                let names = cores.groups.iter().flat_map(|group| group.metrics);
                let wanted: Vec<Event> = names.filter_map(|metric| metric.latency_of).collect();
                let has = |latency: &RetireLatency| wanted.contains(&latency.event);
                table.latencies.iter().all(has)
            });
            assert!(of_cores.count() > 0, "{}", table.name);
        }
        for model in 0..=0xff {
            let tables = LATENCIES.iter().filter(|table| {
                let mut models = table.models.iter();
                models.any(|models| models.contains(&intel(model)))
            });
            assert!(tables.count() <= 1, "{model:#x}");
            // Every core whose groups need latencies has some.
            let cores = table_for(&intel(model));
            let metrics = cores.into_iter().flat_map(|cores| cores.groups);
            let mut metrics = metrics.flat_map(|group| group.metrics);
            assert_eq!(
                metrics.any(|metric| metric.latency_of.is_some()),
                latencies_for(&intel(model)).is_some(),
                "{model:#x}"
            );
        }
        let efficient = Identity {
            core: CoreType::Efficient,
            ..intel(0xaa)
        };
        assert!(latencies_for(&efficient).is_none());
    }
}

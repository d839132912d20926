//! Stored PMU samples of a benchmark by code address.

use serde::{Deserialize, Serialize};

use super::columns::Rows;
use super::error::RunFileProblem;
use crate::code_samples::{CodeSamples, EventAddress, EventSamples, Sampled, SampledAddress};

/// Module, offset, PMU samples, instructions, slots, two rows of categories, and module and offset
/// of the PMU sample before, if known.
type AddressRow = (u32, u64, u64, u64, u64, [f64; 4], [f64; 4], Vec<u64>);

/// [`CodeSamples`], with rows of numbers for the places.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CodeSampleColumns {
    /// The files that contain the code.
    modules: Vec<String>,
    /// The module, the offset, the PMU samples, the instructions and the slots of each place; its
    /// slots by category, and those of each category's measured part; and the module and the offset
    /// of the PMU sample before, if known.
    places: Vec<AddressRow>,
    /// Counts by events with periods of their own, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<EventSampleColumns>,
    /// How the places were found.
    sampled: Sampled,
}

/// Module, offset, PMU samples, and what each event counted.
type EventAddressRow = (u32, u64, u64, Vec<u64>);

/// [`EventSamples`], with rows of numbers for the places.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct EventSampleColumns {
    /// The names of the events.
    events: Vec<String>,
    /// After how many counts each interrupts; 0 if its counts are those between two PMU samples of
    /// cycles.
    periods: Vec<u64>,
    /// The module, the offset and the PMU samples of each place, and what each event counted there.
    places: Vec<EventAddressRow>,
}

impl EventSampleColumns {
    #[cfg(test)]
    fn from_own(own: &EventSamples) -> EventSampleColumns {
        let row = |place: &EventAddress| {
            let counts = place.counts.clone();
            (place.module, place.offset, place.hits, counts)
        };
        EventSampleColumns {
            events: own.events.clone(),
            periods: own.periods.clone(),
            places: own.places.iter().map(row).collect(),
        }
    }

    fn into_own(self, modules: usize) -> Result<EventSamples, RunFileProblem> {
        let events = self.events.len();
        let each = Rows {
            count: events,
            what: "events",
        };
        each.counts("periods", &self.periods)?;
        let mut places = Vec::with_capacity(self.places.len());
        for (module, offset, hits, counts) in self.places {
            check_module(module, modules)?;
            each.counts("places", &counts)?;
            let one = Rows {
                count: 1,
                what: "number",
            };
            one.counts("places", &[hits])?;
            places.push(EventAddress {
                module,
                offset,
                hits,
                counts,
            });
        }
        Ok(EventSamples {
            events: self.events,
            periods: self.periods,
            places,
        })
    }
}

fn check_module(module: u32, modules: usize) -> Result<(), RunFileProblem> {
    if (module as usize) < modules {
        return Ok(());
    }
    let problem = format!("refers to module {module} of {modules}");
    Err(RunFileProblem::field("places", problem))
}

impl CodeSampleColumns {
    #[cfg(test)]
    pub(super) fn from_samples(hits: &CodeSamples) -> CodeSampleColumns {
        let row = |place: &SampledAddress| {
            let (level1, level2) = (place.level1_slots, place.level2_slots);
            (
                place.module,
                place.offset,
                place.hits,
                place.instructions,
                place.slots,
                level1.into_array(),
                level2.into_array(),
                place
                    .after
                    .map_or(Vec::new(), |(module, offset)| vec![module.into(), offset]),
            )
        };
        CodeSampleColumns {
            modules: hits.modules.clone(),
            places: hits.places.iter().map(row).collect(),
            own: hits.own.as_ref().map(EventSampleColumns::from_own),
            sampled: hits.sampled,
        }
    }

    /// Returns the PMU samples, checking every index and every count.
    pub(super) fn into_hits(self) -> Result<CodeSamples, RunFileProblem> {
        let counts = Rows {
            count: 3,
            what: "counts",
        };
        let categories = Rows {
            count: 4,
            what: "categories",
        };
        let modules = self.modules.len();
        let mut places = Vec::with_capacity(self.places.len());
        for row in self.places {
            let (module, offset, hits, instructions, slots, level1, level2, before) = row;
            let after = match before[..] {
                [] => None,
                [module, offset] => Some((u32::try_from(module).unwrap_or(u32::MAX), offset)),
                _ => {
                    let problem = format!("has {} numbers for the hit before", before.len());
                    return Err(RunFileProblem::field("places", problem));
                }
            };
            check_module(module, modules)?;
            if let Some((module, _)) = after {
                check_module(module, modules)?;
            }
            counts.counts("places", &[hits, instructions, slots])?;
            categories.signed("places", &level1)?;
            categories.signed("places", &level2)?;
            places.push(SampledAddress {
                module,
                offset,
                after,
                hits,
                instructions,
                slots,
                level1_slots: level1.into(),
                level2_slots: level2.into(),
            });
        }
        check_sampled(&self.sampled).map_err(|problem| problem.under("sampled"))?;
        let own = self.own.map(|own| own.into_own(modules)).transpose();
        Ok(CodeSamples {
            own: own.map_err(|problem| problem.under("own"))?,
            modules: self.modules,
            places,
            sampled: self.sampled,
        })
    }
}

pub(super) fn check_sampled(sampled: &Sampled) -> Result<(), RunFileProblem> {
    let one = Rows {
        count: 1,
        what: "number",
    };
    for (field, count) in [
        ("period_cycles", sampled.period_cycles),
        ("hits", sampled.hits),
        ("effective_hits", sampled.effective_hits),
        ("lost", sampled.lost),
        ("throttled", sampled.throttled),
    ] {
        one.counts(field, &[count])?;
    }
    Ok(())
}

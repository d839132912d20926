//! Where the hardware hit the code of a benchmark, on disk.

use serde::{Deserialize, Serialize};

use super::columns::Rows;
use super::error::RunFileProblem;
use crate::hits::{CodeHits, HitPlace, Sampled};

/// Module, offset, instructions, slots, and two rows of categories.
type PlaceRow = (u32, u64, u64, u64, [f64; 4], [f64; 4]);

/// [`CodeHits`], with rows of numbers for the places.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct HitColumns {
    /// The files that contain the code.
    modules: Vec<String>,
    /// The module, the offset, the instructions and the slots of each place; its slots by
    /// category, and those of each category's measured part.
    places: Vec<PlaceRow>,
    /// How the places were found.
    sampled: Sampled,
}

impl HitColumns {
    #[cfg(test)]
    pub(super) fn from_hits(hits: &CodeHits) -> HitColumns {
        let row = |place: &HitPlace| {
            let (level1, level2) = (place.level1_slots, place.level2_slots);
            (
                place.module,
                place.offset,
                place.instructions,
                place.slots,
                level1.into_array(),
                level2.into_array(),
            )
        };
        HitColumns {
            modules: hits.modules.clone(),
            places: hits.places.iter().map(row).collect(),
            sampled: hits.sampled,
        }
    }

    /// Returns the hits, checking every index and every count.
    pub(super) fn into_hits(self) -> Result<CodeHits, RunFileProblem> {
        let counts = Rows {
            count: 2,
            what: "counts",
        };
        let categories = Rows {
            count: 4,
            what: "categories",
        };
        let modules = self.modules.len();
        let mut places = Vec::with_capacity(self.places.len());
        for (module, offset, instructions, slots, level1, level2) in self.places {
            if module as usize >= modules {
                let problem = format!("refers to module {module} of {modules}");
                return Err(RunFileProblem::field("places", problem));
            }
            counts.counts("places", &[instructions, slots])?;
            categories.signed("places", &level1)?;
            categories.signed("places", &level2)?;
            places.push(HitPlace {
                module,
                offset,
                instructions,
                slots,
                level1_slots: level1.into(),
                level2_slots: level2.into(),
            });
        }
        check_sampled(&self.sampled).map_err(|problem| problem.under("sampled"))?;
        Ok(CodeHits {
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

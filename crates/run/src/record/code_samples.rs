//! Record of a benchmark's PMU samples by code address.

use super::json::Json;
use crate::code_samples::{CodeSamples, SamplingEngine};

pub(super) fn code_samples(json: &mut Json<'_>, hits: &CodeSamples) {
    json.name("modules");
    json.strings(&hits.modules);
    json.open_field("places", "[");
    for place in &hits.places {
        json.open("[");
        for count in [
            u64::from(place.module),
            place.offset,
            place.hits,
            place.instructions,
            place.slots,
        ] {
            json.value(&count);
        }
        for level_slots in [place.level1_slots, place.level2_slots] {
            json.open("[");
            for slots in level_slots.into_array() {
                json.number(slots);
            }
            json.close("]");
        }
        json.open("[");
        if let Some((module, offset)) = &place.after {
            json.value(module);
            json.value(offset);
        }
        json.close("]");
        json.close("]");
    }
    json.close("]");
    if let Some(own) = &hits.own {
        json.open_field("own", "{");
        json.name("events");
        json.strings(&own.events);
        json.name("periods");
        json.counts(&own.periods);
        json.open_field("places", "[");
        for place in &own.places {
            json.open("[");
            for number in [u64::from(place.module), place.offset, place.hits] {
                json.value(&number);
            }
            json.counts(&place.counts);
            json.close("]");
        }
        json.close("]");
        json.close("}");
    }
    let sampled = &hits.sampled;
    json.open_field("sampled", "{");
    json.text(
        "engine",
        match sampled.engine {
            SamplingEngine::Counters => "counters",
            SamplingEngine::Metrics => "metrics",
            SamplingEngine::OwnPeriods => "own-periods",
        },
    );
    json.field("period_cycles", &sampled.period_cycles);
    json.field("hits", &sampled.hits);
    json.field("effective_hits", &sampled.effective_hits);
    json.field("lost", &sampled.lost);
    json.field("throttled", &sampled.throttled);
    json.close("}");
}

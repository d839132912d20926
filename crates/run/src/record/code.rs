//! Record of modelled slots by code address.

use super::json::Json;
use crate::code::{CodeSlots, Trail};

pub(super) fn code(json: &mut Json<'_>, code: &CodeSlots) {
    json.name("modules");
    json.strings(&code.modules);
    json.open_field("blocks", "[");
    for block in &code.blocks {
        json.counts(&[
            block.module.into(),
            block.offset,
            block.bytes.into(),
            block.content,
            block.call.into(),
        ]);
    }
    json.close("]");
    json.open_field("calls", "[");
    for call in &code.calls {
        json.counts(&[call.caller.into(), call.module.into(), call.offset]);
    }
    json.close("]");
    json.open_field("samples", "[");
    for blocks in &code.samples {
        json.open("[");
        for (block, counts) in blocks {
            json.open("[");
            json.value(block);
            json.counts(&<[u64; 9]>::from(*counts));
            json.close("]");
        }
        json.close("]");
    }
    json.close("]");
    if !code.events.is_empty() {
        json.open_field("events", "[");
        for events in &code.events {
            json.open("[");
            for events in events {
                json.counts(&<[u64; 12]>::from(*events));
            }
            json.close("]");
        }
        json.close("]");
    }
    json.open_field("first_samples", "[");
    for (block, instructions) in &code.first_samples {
        json.counts(&[u64::from(*block), *instructions]);
    }
    json.close("]");
    json.field("first_samples_data", &code.first_samples_data);
    json.open_field("trail", "{");
    trail(json, &code.trail);
    json.close("}");
    if !code.lock.is_empty() {
        json.open_field("lock", "[");
        for block in &code.lock {
            json.value(block);
        }
        json.close("]");
    }
}

fn trail(json: &mut Json<'_>, trail: &Trail) {
    json.field("number", &trail.number);
    json.field("blocks", &trail.blocks);
    json.field("hash", &trail.hash);
    json.field("every_blocks", &trail.every_blocks);
    json.name("hashes");
    json.counts(&trail.hashes);
    json.field("stretch_from", &trail.stretch_from);
    json.open_field("stretch", "[");
    for block in &trail.stretch {
        json.value(block);
    }
    json.close("]");
    if let Some(digest) = &trail.digest {
        json.open_field("digest", "{");
        json.field("executed", &digest.executed);
        if let Some(moves) = &digest.moves {
            json.field("moves", moves);
        }
        json.field("samples", &digest.samples);
        json.close("}");
    }
}

//! The file formats as JSON Schemas. `docs/schema/` holds them for other programs.

use schemars::{Schema, SchemaGenerator};

use super::version::KnownVersion;
use crate::event::Event;

use super::{SCHEMA_VERSION, record, samples_file, wire};

/// The schema of `run.json`.
pub fn run(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<wire::RunWire>()
}

/// The schema of a line of `samples-ID.jsonl`.
pub fn samples_line(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<samples_file::Line>()
}

/// The schema of the line that a bench process writes for each benchmark.
pub fn record_line(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<record::Wire>()
}

/// What the names of a table of events must be; the derived schema of a map says nothing of it.
pub fn event_names() -> serde_json::Value {
    serde_json::json!({ "enum": Event::ALL.map(Event::name) })
}

impl schemars::JsonSchema for KnownVersion {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SchemaVersion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "The version of the format.",
            "const": SCHEMA_VERSION,
        })
    }
}

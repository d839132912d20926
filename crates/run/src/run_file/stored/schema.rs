//! The file formats as JSON Schemas, published for other programs in `docs/schema/`.

use schemars::{Schema, SchemaGenerator};

use super::version::KnownVersion;
use super::{record, samples_file, wire};
use crate::record::SCHEMA_VERSION;

/// Returns the schema of `run.json`.
pub fn run(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<wire::RunWire>()
}

/// Returns the schema of a line of `samples-ID.jsonl`.
pub fn samples_line(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<samples_file::Line>()
}

/// Returns the schema of the line that a bench process writes for each benchmark.
pub fn record_line(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<record::Wire>()
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

//! Checks documents against the JSON Schemas in `docs/schema/`, for tests.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the directory of the schemas.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

/// Panics unless `document` conforms to the schema `name` of its version.
pub fn check(name: &str, document: &Value) {
    let version = &document["schema_version"];
    let path = directory().join(format!("{name}-v{version}.json"));
    let schema = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = schema
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{document:#}");
}

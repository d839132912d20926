//! The schema version that every stored object begins with.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::RunFileProblem;
use crate::record::SCHEMA_VERSION;
use crate::visible::visible_json;

/// The oldest readable version. Each version adds optional fields to the one before.
const OLDEST_VERSION: u32 = 1;

/// The field `schema_version`: [`SCHEMA_VERSION`] when writing, any version that this release knows
/// when reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownVersion;

impl Serialize for KnownVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SCHEMA_VERSION.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KnownVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KnownVersion, D::Error> {
        match u64::deserialize(deserializer)? {
            version if is_known(version) => Ok(KnownVersion),
            version => Err(D::Error::custom(format!("schema version {version}"))),
        }
    }
}

fn is_known(version: u64) -> bool {
    (u64::from(OLDEST_VERSION)..=u64::from(SCHEMA_VERSION)).contains(&version)
}

/// Parses an object that contains a [`KnownVersion`].
///
/// Its strings are made [`visible`](crate::visible::visible), since they are displayed.
///
/// A file of another version is rejected for its version, not for the first field that differs.
/// Only failures are parsed a second time for that, because large files are common.
pub(super) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, RunFileProblem> {
    let json = &*visible_json(json);
    serde_json::from_slice(json).map_err(|error| match version_of(json) {
        Ok(Some(found)) if !is_known(found) => RunFileProblem::SchemaVersion {
            found,
            oldest: OLDEST_VERSION,
            newest: SCHEMA_VERSION,
        },
        Ok(None) => RunFileProblem::NoSchemaVersion,
        Err(_) if !begins_as_object(json) => RunFileProblem::NoSchemaVersion,
        _ => RunFileProblem::Json {
            field: field_of_error::<T>(json),
            error,
        },
    })
}

/// Returns the path of the field where parsing `json` fails.
fn field_of_error<T: DeserializeOwned>(json: &[u8]) -> String {
    let deserializer = &mut serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, T>(deserializer) {
        Ok(_) => ".".to_owned(),
        Err(error) => error.path().to_string(),
    }
}

fn begins_as_object(json: &[u8]) -> bool {
    json.trim_ascii_start().starts_with(b"{")
}

fn version_of(json: &[u8]) -> serde_json::Result<Option<u64>> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: Option<u64>,
    }
    serde_json::from_slice(json).map(|version: Version| version.schema_version)
}

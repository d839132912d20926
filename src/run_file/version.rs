//! The schema version that every stored object begins with.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::RunFileProblem;
use crate::record::SCHEMA_VERSION;
use crate::visible::visible_json;

/// The oldest version that it reads. Each version has optional fields that the one before has not.
const OLDEST_VERSION: u32 = 1;

/// The field `schema_version`: [`SCHEMA_VERSION`] in what is written, a version that this release
/// knows in what is read.
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

/// Parses an object that holds a [`KnownVersion`].
///
/// Its strings are [`visible`](crate::visible::visible), since they name things to people.
///
/// A file of another version is refused by its version and not by the first field that differs.
/// Only what fails is looked at a second time for that: large files are common.
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

/// The path of the field where parsing `json` fails.
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

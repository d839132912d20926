//! Stands for `recording` where the feature `sampling` is off.

use crate::Source;
use crate::error::OpenError;

pub(super) fn open(_: &str, _: &str) -> Result<Box<dyn Source>, OpenError> {
    Err(OpenError::LeftOut { part: "sampling" })
}

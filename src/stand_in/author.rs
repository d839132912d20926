//! Who decides how long and how often a benchmark is measured.
//!
//! In a plain `cargo bench` its author does. A launch of `cargo topdown` has a plan of its own: a group
//! that asks for five seconds would take fifty in ten launches. `--author-settings` keeps what the
//! author asked for.

use std::sync::LazyLock;

use crate::doubling::{AUTHOR, SAMPLING_VARIABLE};
use crate::recorder::Recorder;

/// Whether what a group sets holds.
pub(super) fn decides() -> bool {
    static DECIDES: LazyLock<bool> = LazyLock::new(|| {
        !Recorder::is_wanted() || std::env::var(SAMPLING_VARIABLE).as_deref() == Ok(AUTHOR)
    });
    *DECIDES
}

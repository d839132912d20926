//! Choice between the author's settings and the plan of a launch, for length and number of samples.
//!
//! In a plain `cargo bench` the author decides. A launch of `cargo topdown` has its own plan: a
//! group that asks for five seconds would take fifty in ten launches. `--author-settings` keeps the
//! author's settings.

use std::sync::LazyLock;
use std::time::Duration;

use criterion::measurement::Measurement;

use crate::recorder::Recorder;
use topdown_run::setting::{Sampling, Setting};

/// Returns whether the author's settings apply.
pub(super) fn decides() -> bool {
    !Recorder::is_wanted() || comes_first()
}

/// Returns whether they also override the flags of a launch. In a plain `cargo bench` the user
/// passes the flags, and they take precedence.
fn comes_first() -> bool {
    static COMES_FIRST: LazyLock<bool> = LazyLock::new(|| {
        Recorder::is_wanted() && Sampling::from_environment() == Ok(Sampling::Author)
    });
    *COMES_FIRST
}

/// The author's settings for all benchmarks of a `Criterion`, which criterion's flags override.
#[derive(Clone, Copy, Default)]
pub(super) struct Plan {
    pub(super) sample_size: Option<usize>,
    pub(super) warm_up_time: Option<Duration>,
    pub(super) measurement_time: Option<Duration>,
}

impl Plan {
    /// Restores the settings after criterion has read its flags, if they take precedence.
    pub(super) fn restore<M: Measurement>(
        self,
        mut criterion: criterion::Criterion<M>,
    ) -> criterion::Criterion<M> {
        if !comes_first() {
            return criterion;
        }
        if let Some(samples) = self.sample_size {
            criterion = criterion.sample_size(samples);
        }
        if let Some(duration) = self.warm_up_time {
            criterion = criterion.warm_up_time(duration);
        }
        if let Some(duration) = self.measurement_time {
            criterion = criterion.measurement_time(duration);
        }
        criterion
    }
}

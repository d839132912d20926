//! Set-up that must run before the program's `main` in a launch on the model.
//!
//! Values that differ in every process must be fixed early: `RandomState` draws its keys once per
//! thread, and criterion needs one before any measurement is opened.

use topdown_tracer::{fix_system_values, run_on_one_cpu};

use topdown_run::environment;
use topdown_run::setting::{Setting, SourceChoice};

/// The loader calls it, like every function in this section.
#[used]
// SAFETY: the section holds pointers to functions of this type, and this is one.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    let on_the_model = matches!(
        SourceChoice::from_environment(),
        Ok(SourceChoice::Model | SourceChoice::ModelOrTime)
    );
    if on_the_model && std::env::var_os(environment::SAMPLES).is_some() {
        // If the system forbids it, launches may differ, which the program detects and reports.
        let _ = fix_system_values();
        if let Some(place) = place_on_one_cpu() {
            let _ = run_on_one_cpu(place);
        }
    }
}

/// Returns which of its CPUs this launch runs on, from the last one on, if the environment says
/// that its benchmarks have several threads.
pub(super) fn place_on_one_cpu() -> Option<usize> {
    let place: usize = std::env::var(environment::ONE_CPU).ok()?.parse().ok()?;
    place.checked_sub(1)
}

//! Code that the launches of a benchmark executed, and differences between them.

use topdown_gate::statistics::launch::Taken;
use topdown_run::run_file::{CallPaths, Fingerprint, Functions};

use crate::launching::measured::Measured;
use topdown_explain::GroupFunctions;

use crate::functions::{
    CalledByLine, SlotsByAddress, call_paths_of, called_by_line, functions_of,
    functions_of_samples, group_functions, slots_by_address,
};

/// The code of a benchmark that its launches know.
pub struct LaunchedCode {
    pub functions: Option<Functions>,
    pub call_paths: Option<CallPaths>,
    pub fingerprint: Option<Fingerprint>,
    /// Functions by the PMU samples of a metric group, if it was sampled.
    pub hit_group: Option<GroupFunctions>,
    /// Slots by address, if they were requested.
    pub by_address: Option<SlotsByAddress>,
    /// Cost of code outside of the workspace, if its launches know their paths.
    pub called: Option<CalledByLine>,
}

impl LaunchedCode {
    /// Sums up the code of these launches. `taken` says which samples make up their values.
    pub fn of(launches: &[(u32, Measured)], taken: Taken) -> LaunchedCode {
        let with_functions: Vec<_> = launches
            .iter()
            .map(|(_, measured)| (&*measured.samples, measured.functions.as_ref()))
            .collect();
        let with_hits: Vec<_> = launches
            .iter()
            .filter_map(|(_, measured)| Some((&*measured.samples, measured.hits.as_ref()?)))
            .collect();
        let functions =
            functions_of(&with_functions, taken).or_else(|| functions_of_samples(&with_hits));
        let of_launches: Vec<_> = with_hits.iter().map(|(_, functions)| *functions).collect();
        let with_paths: Vec<_> = launches
            .iter()
            .map(|(_, measured)| (&*measured.samples, measured.paths.as_ref()))
            .collect();
        let of_instructions: Vec<_> = launches
            .iter()
            .filter_map(|(_, measured)| Some((&*measured.samples, measured.instructions.as_ref()?)))
            .collect();
        LaunchedCode {
            by_address: slots_by_address(&of_instructions, taken),
            functions,
            call_paths: call_paths_of(&with_paths, taken),
            called: called_by_line(&with_paths, taken),
            fingerprint: common_fingerprint(launches),
            hit_group: group_functions(&of_launches),
        }
    }
}

/// Returns the fingerprint, if all launches have the same one.
fn common_fingerprint(launches: &[(u32, Measured)]) -> Option<Fingerprint> {
    let ((_, first), others) = launches.split_first()?;
    let fingerprint = first.fingerprint.as_ref()?;
    let mut others = others.iter();
    let all_alike = others.all(|(_, other)| other.fingerprint.as_ref() == Some(fingerprint));
    all_alike.then(|| fingerprint.clone())
}

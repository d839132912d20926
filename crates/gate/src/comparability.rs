//! Comparability of two runs.
//!
//! Numbers of another CPU, source or formula are refused and never normalised: slots of different
//! pipelines are different things. What can affect a result without changing its nature (host,
//! kernel, microcode) is a warning.
//!
//! Slots of a modelled core belong to that core, whichever CPU executed the code, so another CPU is
//! only a warning. Times of different CPUs are never compared.

use std::fmt;

use serde::Serialize;
use topdown_run::activity::UncountedWork;
use topdown_run::machine::Machine;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::Run;

/// The field of [`of_benchmark`] for the core, which the user can choose.
pub const MODELLED_CORE: &str = "modelled core";
/// The field of [`of_benchmark`] for the version of the model.
pub const MODEL_VERSION: &str = "version of the model";
/// The field of [`of_benchmark`] for whose slots were counted.
pub const COUNTED_THREADS: &str = "counted threads";

/// A field that must be equal but is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The field.
    pub field: String,
    /// The baseline's value.
    pub baseline: String,
    /// The candidate's value.
    pub candidate: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} in the baseline, {} in the candidate",
            self.field, self.baseline, self.candidate
        )
    }
}

/// Returns the differing CPU fields, which forbid comparing any benchmark that was not modelled.
pub fn of_cpus(a: &Machine, b: &Machine) -> Vec<Difference> {
    let mut fields = Fields::default();
    fields.text("CPU vendor", &a.vendor, &b.vendor);
    fields.number("CPU family", a.family, b.family);
    fields.number("CPU model", a.model, b.model);
    fields.number("CPU stepping", a.stepping, b.stepping);
    fields.option("cores", &a.cores, &b.cores);
    fields.option("hypervisor", &a.hypervisor, &b.hypervisor);
    fields.option("SMT", &a.smt_active.map(on_off), &b.smt_active.map(on_off));
    fields.0
}

/// Returns the differing fields of the whole run that forbid a comparison. These include the CPUs,
/// unless both runs have modelled benchmarks.
pub fn forbidding(baseline: &Run, candidate: &Run, across_builds: bool) -> Vec<Difference> {
    let (a, b) = (&baseline.machine, &candidate.machine);
    let mut fields = Fields::default();
    fields.text("architecture", &a.architecture, &b.architecture);
    let may_be_modelled = has_modelled(candidate) || candidate.benchmarks.is_empty();
    if !(has_modelled(baseline) && may_be_modelled) {
        fields.0.extend(of_cpus(a, b));
    }
    let (a, b) = (&baseline.build, &candidate.build);
    fields.text("target", &a.target, &b.target);
    fields.text("profile", &a.profile, &b.profile);
    if !across_builds {
        fields.build(baseline, candidate);
    }
    fields.0
}

/// Returns the differing fields of the whole run that are worth a warning, except the CPUs of
/// [`modelled_on_other_cpus`].
pub fn worrying(baseline: &Run, candidate: &Run, across_builds: bool) -> Vec<Difference> {
    let (a, b) = (&baseline.machine, &candidate.machine);
    let mut fields = Fields::default();
    fields.option("host", &a.host, &b.host);
    fields.number("CPUs online", a.cpus, b.cpus);
    fields.option("kernel", &a.kernel, &b.kernel);
    fields.option("microcode", &a.microcode, &b.microcode);
    fields.option("frequency governor", &a.governor, &b.governor);
    if across_builds {
        fields.build(baseline, candidate);
    }
    let (a, b) = (&baseline.launch_settings, &candidate.launch_settings);
    fields.number("samples per launch", a.sample_size, b.sample_size);
    fields.number("warm-up in ms", a.warm_up_ms, b.warm_up_ms);
    fields.number("measurement in ms", a.measurement_ms, b.measurement_ms);
    fields.0
}

/// Returns how the CPUs differ on which two runs were modelled.
pub fn modelled_on_other_cpus(baseline: &Run, candidate: &Run) -> Vec<Difference> {
    if has_modelled(baseline) && has_modelled(candidate) {
        of_cpus(&baseline.machine, &candidate.machine)
    } else {
        Vec::new()
    }
}

fn has_modelled(run: &Run) -> bool {
    let mut benchmarks = run.benchmarks.iter();
    benchmarks.any(|benchmark| benchmark.provenance().source == SourceKind::Model)
}

/// Returns where the work of a benchmark is if the slots of either side are not about it. Then only
/// time judges it, whatever the other side has.
pub fn uncounted_work(baseline: &Provenance, candidate: &Provenance) -> Option<UncountedWork> {
    candidate.elsewhere.or(baseline.elsewhere)
}

/// Returns the differing fields of one benchmark that forbid its comparison; `cpus` comes from
/// [`of_cpus`].
pub fn of_benchmark(
    baseline: &Provenance,
    candidate: &Provenance,
    cpus: &[Difference],
) -> Vec<Difference> {
    let mut fields = Fields::default();
    if uncounted_work(baseline, candidate).is_some() {
        fields.0.extend_from_slice(cpus);
        return fields.0;
    }
    if baseline.source != candidate.source {
        // All other differences follow from this one. A benchmark can have become too long for the
        // model, so the reason for time is worth its length.
        let source = |provenance: &Provenance| match provenance.source {
            SourceKind::Time => format!("`{}` ({})", provenance.source.name(), provenance.reason),
            kind => format!("`{}`", kind.name()),
        };
        fields.0.push(Difference {
            field: "source".to_owned(),
            baseline: source(baseline),
            candidate: source(candidate),
        });
        return fields.0;
    }
    match (baseline.modelled_core(), candidate.modelled_core()) {
        (Some(a), Some(b)) => {
            fields.text(MODELLED_CORE, a.0, b.0);
            fields.text(MODEL_VERSION, a.1, b.1);
        }
        _ => {
            fields.text("formula", &baseline.formula, &candidate.formula);
            fields.0.extend_from_slice(cpus);
        }
    }
    fields.option("core type", &baseline.core_type, &candidate.core_type);
    fields.text(
        COUNTED_THREADS,
        baseline.threads.name(),
        candidate.threads.name(),
    );
    fields.option(
        "slots per cycle",
        &baseline.slots_per_cycle,
        &candidate.slots_per_cycle,
    );
    fields.0
}

#[derive(Default)]
struct Fields(Vec<Difference>);

impl Fields {
    /// Compares how the runs were built. Different compilers make different programs from the same
    /// source, so a difference says nothing about the source; but a user may want to know just
    /// that.
    fn build(&mut self, baseline: &Run, candidate: &Run) {
        let (a, b) = (&baseline.build, &candidate.build);
        self.text("rustc", &a.rustc, &b.rustc);
        self.text("RUSTFLAGS", &a.rustflags, &b.rustflags);
    }

    fn text(&mut self, field: &str, baseline: &str, candidate: &str) {
        let shown = |text: &str| match text {
            "" => "none".to_owned(),
            text => format!("`{text}`"),
        };
        if baseline != candidate {
            self.0.push(Difference {
                field: field.to_owned(),
                baseline: shown(baseline),
                candidate: shown(candidate),
            });
        }
    }

    fn number(&mut self, field: &str, baseline: impl ToString, candidate: impl ToString) {
        self.text(field, &baseline.to_string(), &candidate.to_string());
    }

    fn option(
        &mut self,
        field: &str,
        baseline: &Option<impl ToString>,
        candidate: &Option<impl ToString>,
    ) {
        self.text(
            field,
            &baseline.as_ref().map_or(String::new(), ToString::to_string),
            &candidate
                .as_ref()
                .map_or(String::new(), ToString::to_string),
        );
    }
}

fn on_off(active: bool) -> &'static str {
    if active { "on" } else { "off" }
}

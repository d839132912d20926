//! The core that a user describes, in place of this library's tables.

use std::sync::OnceLock;

use super::system::CpuIdentity;
use crate::cpu::{CpuTable, DescribedCore};
use crate::error::OpenError;
use topdown_run::environment;

static GIVEN: OnceLock<&'static CpuTable> = OnceLock::new();

/// Uses `table` for this machine's cores in this process from now on. Later calls have no effect.
pub fn give_core(table: &'static CpuTable) {
    GIVEN.get_or_init(|| table);
}

/// Returns whether this is the table given to this process.
pub(super) fn is_given(table: &CpuTable) -> bool {
    GIVEN.get().is_some_and(|given| std::ptr::eq(*given, table))
}

/// Compares the slots per cycle of a described core with those that the kernel reports.
pub(super) fn check_width(given: Option<u32>, kernels: Option<u32>) -> Result<(), OpenError> {
    match (given, kernels) {
        (Some(given), Some(kernels)) if given != kernels => Err(OpenError::DescribedCore {
            problem: format!("it has {given} slots per cycle, but the kernel reports {kernels}"),
        }),
        _ => Ok(()),
    }
}

/// Returns the table of the core given to this process, if any.
pub(super) fn given_core(
    cpu: &CpuIdentity,
    pmu: &str,
) -> Result<Option<&'static CpuTable>, OpenError> {
    let described = match GIVEN.get() {
        Some(_) => None,
        None => std::env::var(environment::DESCRIBED_CORE).ok(),
    };
    if let Some(text) = described {
        // Benches for other processors need no reader of descriptions.
        if !cfg!(any(target_arch = "aarch64", feature = "commands")) {
            return Err(OpenError::DescribedCore {
                problem: format!("it describes an Arm core, but this is {}", cpu.in_words()),
            });
        }
        let core = DescribedCore::from_text(&text)
            .map_err(|problem| OpenError::DescribedCore { problem })?;
        give_core(core.into_table());
    }
    match GIVEN.get() {
        Some(table) => checked(table, cpu, pmu).map(Some),
        None => Ok(None),
    }
}

fn checked(
    table: &'static CpuTable,
    cpu: &CpuIdentity,
    pmu: &str,
) -> Result<&'static CpuTable, OpenError> {
    if table.is_for(&cpu.identity(pmu)) {
        return Ok(table);
    }
    Err(OpenError::DescribedCore {
        problem: format!(
            "it describes {}, but this is {}",
            table.name,
            cpu.in_words()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_contradicting_kernel_is_refused() {
        let error = check_width(Some(4), Some(5)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "could not use the telemetry specification of CARGO_TOPDOWN_ARM_SPECIFICATION: it has \
             4 slots per cycle, but the kernel reports 5"
        );
        assert!(check_width(Some(5), Some(5)).is_ok());
        // As in virtual machines.
        assert!(check_width(Some(5), None).is_ok());
        assert!(check_width(None, Some(5)).is_ok());
    }

    #[test]
    fn described_core_is_used_for_its_own_core() {
        let text = "core\tExample E1\t65\t3585\t4\texample/1\nfixed\tCPU_CYCLES\t17\n".to_owned()
            + &"percent\t25\n".repeat(4);
        let table = DescribedCore::from_text(&text).unwrap().into_table();
        let problem = |model| {
            let cpu = CpuIdentity {
                vendor: "0x41".to_owned(),
                family: 8,
                model,
                ..CpuIdentity::default()
            };
            let error = checked(table, &cpu, "armv8_pmuv3_0").err()?;
            assert!(error.remedy().is_none());
            Some(error.to_string())
        };
        assert_eq!(problem(0xe01), None);
        let problem = problem(0xd40).unwrap();
        assert!(problem.contains("it describes Example E1"), "{problem}");
        assert!(problem.contains("part 0xd40"), "{problem}");
    }
}

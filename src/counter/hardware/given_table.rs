//! The telemetry specification that a user gives for a core of Arm.

use std::path::Path;

use super::system::CpuIdentity;
use crate::cpu::{CpuTable, table_of_specification};
use crate::error::OpenError;

/// The environment variable that names a telemetry specification of Arm for the CPU of this
/// machine. It takes the place of the table that this library has, if it has one.
pub const SPECIFICATION_VARIABLE: &str = "CARGO_TOPDOWN_ARM_SPECIFICATION";

/// The table of the specification that [`SPECIFICATION_VARIABLE`] names, if it is set.
pub(super) fn from_environment(
    cpu: &CpuIdentity,
    pmu: &str,
) -> Result<Option<&'static CpuTable>, OpenError> {
    match std::env::var_os(SPECIFICATION_VARIABLE) {
        Some(path) => from_file(Path::new(&path), cpu, pmu).map(Some),
        None => Ok(None),
    }
}

fn from_file(path: &Path, cpu: &CpuIdentity, pmu: &str) -> Result<&'static CpuTable, OpenError> {
    let unusable = |problem| OpenError::Specification {
        path: path.display().to_string(),
        problem,
    };
    let json = std::fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    let table = table_of_specification(&json).map_err(unusable)?;
    if table.is_for(&cpu.identity(pmu)) {
        Ok(table)
    } else {
        Err(unusable(format!(
            "it is for {}, and this is {}",
            table.name,
            cpu.in_words()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../../tests/data/arm-specification.json");

    fn problem_of(json: &str, model: u32) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, json).unwrap();
        let cpu = CpuIdentity {
            vendor: "0x41".to_owned(),
            family: 8,
            model,
            ..CpuIdentity::default()
        };
        let error = from_file(file.path(), &cpu, "armv8_pmuv3_0").err()?;
        assert!(error.remedy().is_none());
        Some(error.to_string())
    }

    #[test]
    fn a_file_is_for_the_core_that_it_names() {
        assert_eq!(problem_of(FILE, 0xe01), None);
        let problem = problem_of(FILE, 0xd40).unwrap();
        assert!(problem.contains("it is for Example E1"), "{problem}");
        assert!(problem.contains("model 0xd40"), "{problem}");
    }

    #[test]
    fn a_file_that_is_no_specification_is_refused_by_its_name() {
        let problem = problem_of("{}", 0xe01).unwrap();
        assert!(problem.contains("product_configuration"), "{problem}");
        let missing = from_file(
            Path::new("/nowhere/core.json"),
            &CpuIdentity::default(),
            "armv8_pmuv3_0",
        )
        .unwrap_err();
        assert!(
            missing.to_string().contains("/nowhere/core.json"),
            "{missing}"
        );
    }
}

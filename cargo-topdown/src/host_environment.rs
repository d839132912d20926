//! Finds out in which kind of place this machine is: whose cloud, which virtual machine, which
//! container. docs/where-counters.md says what counters there are.

use std::fs;
use std::path::Path;

/// A place, and the section of docs/where-counters.md about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEnvironment {
    /// For people: `Amazon EC2 m7i.large, in a container`.
    pub name: String,
    /// The section's anchor.
    pub section: &'static str,
    /// Whether other guests may share the hardware. On Arm no register says so, so machines of
    /// clouds count as virtual unless their name says bare metal.
    pub is_virtual: bool,
}

impl HostEnvironment {
    /// Returns the place of this machine.
    pub fn of_this_machine(hypervisor: Option<&str>) -> Option<HostEnvironment> {
        host_environment(hypervisor, Path::new("/"), |name| std::env::var(name).ok())
    }
}

/// Returns the place of the machine whose `/proc`, `/sys` and markers are below `root`; `None` on
/// ordinary hardware. `variable` reads the environment.
fn host_environment(
    hypervisor: Option<&str>,
    root: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<HostEnvironment> {
    let dmi = |name: &str| {
        let text = fs::read_to_string(root.join("sys/class/dmi/id").join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    let vendor = dmi("sys_vendor").unwrap_or_default();
    let product = dmi("product_name").unwrap_or_default();
    let is_container = ["run/.containerenv", ".dockerenv"]
        .iter()
        .any(|marker| root.join(marker).exists())
        || variable("container").is_some()
        || variable("KUBERNETES_SERVICE_HOST").is_some();
    // What QEMU and other monitors write, on Arm without firmware.
    let device_tree = fs::read(root.join("sys/firmware/devicetree/base/compatible"));
    let is_dummy = device_tree.is_ok_and(|names| names.starts_with(b"linux,dummy-virt"));
    let is_github = variable("RUNNER_ENVIRONMENT").as_deref() == Some("github-hosted");
    let (name, section) = match vendor.as_str() {
        _ if is_github => ("GitHub-hosted runner".to_owned(), "github-hosted-runners"),
        "Amazon EC2" => (format!("Amazon EC2 {product}"), "aws"),
        "Google" => ("Google Compute Engine".to_owned(), "google-cloud"),
        // On Arm no register tells a guest from a laptop of theirs.
        "Microsoft Corporation" if hypervisor.is_some() || product == "Virtual Machine" => {
            ("Azure or Hyper-V".to_owned(), "azure")
        }
        vendor if vendor.starts_with("VMware") => ("VMware".to_owned(), "vmware"),
        "QEMU" if hypervisor.is_none() => {
            ("virtual machine (QEMU)".to_owned(), "your-own-kvm-host")
        }
        _ => match hypervisor {
            Some("kvm") => ("virtual machine (KVM)".to_owned(), "your-own-kvm-host"),
            Some("qemu") => ("virtual machine (QEMU)".to_owned(), "your-own-kvm-host"),
            Some("hyper-v") => ("virtual machine (Hyper-V)".to_owned(), "azure"),
            Some("vmware") => ("virtual machine (VMware)".to_owned(), "vmware"),
            Some(other) => (format!("virtual machine ({other})"), "your-own-kvm-host"),
            None if is_dummy => ("virtual machine".to_owned(), "your-own-kvm-host"),
            None => (String::new(), "containers"),
        },
    };
    let is_bare_metal = hypervisor.is_none() && product.contains(".metal");
    let is_virtual = !name.is_empty() && !is_bare_metal;
    let name = match (name.is_empty(), is_container) {
        (true, false) => return None,
        (true, true) => "container".to_owned(),
        (false, true) => format!("{name}, in a container"),
        (false, false) => name,
    };
    Some(HostEnvironment {
        name,
        section,
        is_virtual,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(hypervisor: Option<&str>, files: &[(&str, &str)], variables: &[&str]) -> String {
        environment(hypervisor, files, variables).map_or(String::new(), |found| found.name)
    }

    fn environment(
        hypervisor: Option<&str>,
        files: &[(&str, &str)],
        variables: &[&str],
    ) -> Option<HostEnvironment> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let variable = |name: &str| {
            let mut pairs = variables.iter().filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let found = host_environment(hypervisor, root.path(), variable)?;
        let page = include_str!("../../docs/where-counters.md");
        let is_heading = |line: &str| {
            line.strip_prefix("## ")
                .is_some_and(|heading| heading.to_lowercase().replace(' ', "-") == found.section)
        };
        assert!(page.lines().any(is_heading), "{}", found.section);
        Some(found)
    }

    const VENDOR: &str = "sys/class/dmi/id/sys_vendor";
    const PRODUCT: &str = "sys/class/dmi/id/product_name";

    const DEVICE_TREE: &str = "sys/firmware/devicetree/base/compatible";

    #[test]
    fn only_bare_metal_of_clouds_is_physical() {
        let is_virtual = |hypervisor, files: &[(&str, &str)], variables: &[&str]| {
            environment(hypervisor, files, variables).is_some_and(|found| found.is_virtual)
        };
        let ec2 = |product| [(VENDOR, "Amazon EC2\n"), (PRODUCT, product)];
        assert!(is_virtual(None, &ec2("c8g.4xlarge\n"), &[]));
        assert!(!is_virtual(None, &ec2("c8g.metal-24xl\n"), &[]));
        assert!(is_virtual(Some("kvm"), &[], &[]));
        assert!(!is_virtual(None, &[], &["container=podman"]));
    }

    #[test]
    fn every_hosting_service_has_a_section() {
        assert_eq!(found(None, &[(VENDOR, "Dell Inc.\n")], &[]), "");
        let ec2 = [(VENDOR, "Amazon EC2\n"), (PRODUCT, "m7i.large\n")];
        assert_eq!(found(Some("kvm"), &ec2, &[]), "Amazon EC2 m7i.large");
        let google = [(VENDOR, "Google\n"), (".dockerenv", "")];
        assert_eq!(
            found(Some("kvm"), &google, &[]),
            "Google Compute Engine, in a container"
        );
        let azure = [(VENDOR, "Microsoft Corporation\n")];
        assert_eq!(found(Some("hyper-v"), &azure, &[]), "Azure or Hyper-V");
        let cobalt = [
            (VENDOR, "Microsoft Corporation\n"),
            (PRODUCT, "Virtual Machine\n"),
        ];
        assert_eq!(found(None, &cobalt, &[]), "Azure or Hyper-V");
        let laptop = [(VENDOR, "Microsoft Corporation\n"), (PRODUCT, "Surface\n")];
        assert_eq!(found(None, &laptop, &[]), "");
        let arm_guest = [(VENDOR, "QEMU\n"), (PRODUCT, "KVM Virtual Machine\n")];
        assert_eq!(found(None, &arm_guest, &[]), "virtual machine (QEMU)");
        let github = ["RUNNER_ENVIRONMENT=github-hosted"];
        assert_eq!(
            found(Some("hyper-v"), &azure, &github),
            "GitHub-hosted runner"
        );
        assert_eq!(found(Some("kvm"), &[], &[]), "virtual machine (KVM)");
        assert_eq!(found(Some("qemu"), &[], &[]), "virtual machine (QEMU)");
        assert_eq!(found(Some("xen"), &[], &[]), "virtual machine (xen)");
        let device_tree = [(DEVICE_TREE, "linux,dummy-virt\0")];
        assert_eq!(found(None, &device_tree, &[]), "virtual machine");
        let board = [(DEVICE_TREE, "raspberrypi,5-model-b\0brcm,bcm2712\0")];
        assert_eq!(found(None, &board, &[]), "");
        assert_eq!(found(Some("vmware"), &[], &[]), "virtual machine (VMware)");
        assert_eq!(found(None, &[], &["container=podman"]), "container");
    }
}

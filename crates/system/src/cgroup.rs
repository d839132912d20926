//! A control group for the processes of one launch, if one can be created.
//!
//! Its processes can be killed all at once, without missing any. No controller is enabled in it, so
//! it does not affect measurements. It is a child of this program's group, which must permit that:
//! a systemd user session does, most containers do not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::processes;

/// Removed on drop, with all processes in it.
#[derive(Debug)]
pub struct Cgroup {
    directory: PathBuf,
}

impl Cgroup {
    /// Creates a group with this `name`; `None` if that is impossible.
    pub fn new(name: &str) -> Option<Cgroup> {
        let directory = own_directory()?.join(name);
        fs::create_dir(&directory).ok()?;
        let group = Cgroup { directory };
        // Processes can only enter if this file exists and is writable.
        let entrance = fs::OpenOptions::new().write(true).open(group.entrance());
        entrance.is_ok().then_some(group)
    }

    /// A group that an earlier program left behind.
    pub fn abandoned(directory: PathBuf) -> Cgroup {
        Cgroup { directory }
    }

    /// Returns the directory in the file system of control groups.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file through which a process enters.
    pub fn entrance(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }

    /// Returns the processes in it.
    pub fn processes(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.entrance()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Since Linux 5.14.
        if fs::write(self.directory.join("cgroup.kill"), "1").is_err() {
            processes::end_all(|| self.processes());
        }
        // Killed processes take a moment to leave.
        for _ in 0..200 {
            if fs::remove_dir(&self.directory).is_ok() || !self.directory.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// Returns the directory of this program's own cgroup v2 group.
fn own_directory() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    Some(mount_point(&mounts)?.join(path))
}

/// Finds the mount point of cgroup v2 in the text of `/proc/self/mountinfo`.
fn mount_point(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then_some(())?;
        mount.split(' ').nth(4).map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_v2_mount_is_found() {
        let mounts = "\
            30 25 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:10 - cgroup2 cgroup2 rw\n";
        let found = mount_point(mounts).unwrap();
        assert_eq!(found, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(mount_point("30 25 0:26 / / rw - ext4 /dev/sda rw\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cgroup_kills_its_processes() {
        let name = format!("cargo-topdown-test-{}", std::process::id());
        let Some(group) = Cgroup::new(&name) else {
            let reason = "no control group can be made here";
            topdown_skipped::skip(topdown_skipped::Need::System, reason);
            return;
        };
        let directory = group.directory().to_owned();
        let mut sleep = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        fs::write(group.entrance(), sleep.id().to_string()).unwrap();
        assert_eq!(group.processes(), [sleep.id()]);
        drop(group);
        assert!(!sleep.wait().unwrap().success());
        assert!(!directory.exists());
    }
}

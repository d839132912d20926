//! Execution ports.

/// Number of ports of integer operations that may close together.
pub const INTEGER_PORTS: usize = 6;

/// A set of execution ports, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports(pub u32);

impl Ports {
    /// No port: the instruction completes at rename.
    pub const NONE: Ports = Ports(0);

    /// Returns the ports in either set.
    pub const fn or(self, other: Ports) -> Ports {
        Ports(self.0 | other.0)
    }

    /// Returns the ports of this set that are not in `other`.
    pub const fn without(self, other: Ports) -> Ports {
        Ports(self.0 & !other.0)
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

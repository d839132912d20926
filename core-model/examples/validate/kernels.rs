//! The kernels: small programs of different nature, each with its data prepared beforehand.

mod application;
mod microscopic;

/// A program to run again and again.
pub struct Kernel {
    pub name: &'static str,
    /// Not looked at while the cores were calibrated.
    pub held_out: bool,
    /// Makes the data and returns the code that is run.
    pub prepare: fn() -> Box<dyn FnMut()>,
}

/// Kernels that the cores were calibrated on.
const fn known(name: &'static str, prepare: fn() -> Box<dyn FnMut()>) -> Kernel {
    Kernel {
        name,
        held_out: false,
        prepare,
    }
}

/// Kernels that were not looked at meanwhile.
const fn held_out(name: &'static str, prepare: fn() -> Box<dyn FnMut()>) -> Kernel {
    Kernel {
        name,
        held_out: true,
        prepare,
    }
}

/// All kernels.
pub fn all() -> Vec<Kernel> {
    let mut kernels = microscopic::kernels();
    kernels.extend(application::kernels());
    kernels
}

/// A fixed sequence of pseudo-random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

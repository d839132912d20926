//! The kernels: small programs of different nature, each with its data prepared beforehand.

mod application;
mod fresh;
mod microscopic;

/// What is known of a kernel while a core is calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The cores were calibrated on it.
    Tuned,
    /// Not looked at while Zen 5 was calibrated, nor while Golden Cove was.
    HeldOut,
    /// Written before Golden Cove was calibrated and run on it afterwards.
    Fresh,
}

/// A program to run again and again.
pub struct Kernel {
    pub name: &'static str,
    pub group: Group,
    /// Makes the data and returns the code that is run.
    pub prepare: fn() -> Box<dyn FnMut()>,
}

macro_rules! group {
    ($name:ident, $group:ident) => {
        const fn $name(name: &'static str, prepare: fn() -> Box<dyn FnMut()>) -> Kernel {
            Kernel {
                name,
                group: Group::$group,
                prepare,
            }
        }
    };
}

group!(tuned, Tuned);
group!(held_out, HeldOut);
group!(fresh, Fresh);

/// All kernels.
pub fn all() -> Vec<Kernel> {
    let mut kernels = microscopic::kernels();
    kernels.extend(application::kernels());
    kernels.extend(fresh::kernels());
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

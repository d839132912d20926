//! The configuration of a tracer.

use crate::error::OpenError;

/// Capacities of a tracer. Memory is reserved at once but used only as needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of the program's instructions that can be translated, each counted once per block
    /// that contains it. A block takes about 200 bytes per instruction, including its description.
    pub static_instructions: usize,
    /// The size of the trace buffer: a power of two from 64 KiB to 8 MiB.
    pub buffer_bytes: usize,
    /// Whether to trace all threads of the process, and not only the calling one: see
    /// [All threads](crate#all-threads).
    pub all_threads: bool,
    /// In which order threads take turns, if all are traced: see
    /// [All threads](crate#all-threads).
    pub schedule: u32,
}

impl Default for Config {
    /// 512 Ki instructions: an ordinary Rust benchmark has 20 000 to 70 000. 256 KiB of buffer,
    /// which stays in the L2 cache; larger ones are no faster.
    fn default() -> Config {
        Config {
            static_instructions: 512 * 1024,
            buffer_bytes: 256 * 1024,
            all_threads: false,
            schedule: 0,
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        const SMALLEST_BUFFER: usize = 64 * 1024;
        const LARGEST_BUFFER: usize = 8 * 1024 * 1024;
        const SMALLEST_CODE: usize = 1024;
        // Code, context and tables stay within reach of 32-bit distances.
        const LARGEST_CODE: usize = 16 * 1024 * 1024;
        if !self.buffer_bytes.is_power_of_two()
            || !(SMALLEST_BUFFER..=LARGEST_BUFFER).contains(&self.buffer_bytes)
        {
            return Err(OpenError::Config {
                field: "buffer_bytes",
                value: self.buffer_bytes,
                allowed: "a power of two from 64 KiB to 8 MiB",
            });
        }
        if !(SMALLEST_CODE..=LARGEST_CODE).contains(&self.static_instructions) {
            return Err(OpenError::Config {
                field: "static_instructions",
                value: self.static_instructions,
                allowed: "1024 to 16 Mi",
            });
        }
        Ok(())
    }
}

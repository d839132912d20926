//! The configuration of a tracer.

/// How much a tracer can hold. Memory is reserved at once but used only as needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of the program's instructions that can be translated, each counted once per block
    /// that contains it. A block takes about 200 bytes per instruction, including its description.
    pub static_instructions: usize,
    /// The size of the trace buffer: a power of two from 64 KiB to 8 MiB.
    pub buffer_bytes: usize,
}

impl Default for Config {
    /// 512 Ki instructions: an ordinary Rust benchmark has 20 000 to 70 000. 256 KiB of buffer,
    /// which stays in the L2 cache; larger ones are no faster.
    fn default() -> Config {
        Config {
            static_instructions: 512 * 1024,
            buffer_bytes: 256 * 1024,
        }
    }
}

//! Data shared by the generated code and the engine, at the start of the code's own mapping.

/// Why generated code calls the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Request {
    /// From `attach`: continue at [`Context::target`], translated.
    Enter = 0,
    /// A direct branch that is not linked yet; [`Context::exit`] is the offset of its record.
    Direct = 1,
    /// An indirect branch to a [`Context::target`] that is not in the table.
    Indirect = 2,
    /// The trace buffer is full; [`Context::exit`] is the block, [`Context::next`] where to
    /// continue.
    Drain = 3,
    /// Before a system call; [`Context::exit`] is the offset of its record.
    SystemCall = 4,
    /// A block's code differs from what was translated; [`Context::exit`] is the offset of its
    /// record.
    Changed = 5,
    /// After a `pause`; [`Context::exit`] is the offset of its record.
    Pause = 6,
}

impl Request {
    pub(crate) const ALL: [Request; 7] = [
        Request::Enter,
        Request::Direct,
        Request::Indirect,
        Request::Drain,
        Request::SystemCall,
        Request::Changed,
        Request::Pause,
    ];
}

/// Addressed by the generated code relative to itself, and by [`entry`](super::entry) by offset.
#[repr(C)]
pub(crate) struct Context {
    /// The thread's general registers, in encoding order. While the engine runs they are complete;
    /// while translated code runs, they hold those that it borrows.
    pub registers: [u64; 16],
    /// The thread's flags while the engine runs.
    pub flags: u64,
    /// Where the thread continues: an address in translated or original code.
    pub next: u64,
    /// Where the next trace value goes.
    pub trace_pointer: u64,
    /// Where the program is going.
    pub target: u64,
    /// See [`Request`].
    pub exit: u32,
    /// A [`Request`].
    pub request: u32,
    /// Generated code that loads rax from `registers` and jumps to `next`.
    pub resume: u64,
    /// [`entry::serve`](super::entry::serve).
    pub save: u64,
    /// The engine's function, which gets this context and sets `next`.
    pub dispatch: u64,
    /// For the engine's function.
    pub engine: u64,
    /// The upper end of the engine's stack, aligned to 16.
    pub stack: u64,
    /// Where the vector state is saved, aligned to 64.
    pub vector_state: u64,
    /// Which parts of the vector state are saved.
    pub vector_mask_low: u32,
    /// See `vector_mask_low`.
    pub vector_mask_high: u32,
    /// The floating-point mode that compiled code expects.
    pub default_mxcsr: u32,
    /// The base of the thread's FS segment.
    pub fs_base: u64,
    /// The state of the repeatable random numbers: a linear congruential generator.
    pub random_state: u64,
    /// Its multiplier: [`RANDOM_MULTIPLIER`].
    pub random_multiplier: u64,
}

/// Knuth's multiplier for 64 bits (MMIX).
pub(crate) const RANDOM_MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// The mode at the start of every process: all exceptions masked, round to nearest.
pub(crate) const DEFAULT_MXCSR: u32 = 0x1f80;

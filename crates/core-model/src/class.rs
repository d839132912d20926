//! Classes of instructions, and how a core executes them.
//!
//! Classes are the same for every core, and a core gives each a [`Timing`]. Loads and stores are
//! not part of a class: an instruction with memory operands has them in addition.

use crate::ports::Ports;

macro_rules! classes {
    ($($(#[$meta:meta])* $class:ident,)+) => {
        /// A group of instruction forms that a core executes in the same way.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Class {
            $($(#[$meta])* $class,)+
        }

        impl Class {
            /// All classes, in the order of every core's table.
            pub const ALL: &'static [Class] = &[$(Class::$class,)+];
        }
    };
}

classes! {
    /// A form missing from the table. Executed as one operation of one cycle, and counted.
    Unknown,
    /// Takes a slot and nothing else.
    Nop,
    /// Brings a line into the caches; nothing waits for it.
    Prefetch,
    /// Register-to-register move of 32 or 64 bits.
    IntMove,
    /// Move of an immediate; also moves that merge into 8 or 16 bits.
    IntConstant,
    /// A move that only loads or only stores.
    MemoryMove,
    /// Logic, compare, test, negate, sign and zero extension.
    IntAlu,
    /// Add, subtract, increment, decrement.
    IntAdd,
    /// Addition of an immediate of -1024 to 1023 to a 64-bit register: some cores do it at rename.
    IntAddImmediate,
    /// A move, extension, logic or addition that reads or writes `ah`, `bh`, `ch` or `dh`.
    HighByte,
    /// `cwd`, `cdq`, `cqo`.
    IntSignSplat,
    /// Shifts and rotates by an immediate or with BMI2.
    IntShift,
    /// Shifts and rotates by `cl`: they keep the flags if the count is 0.
    IntShiftByCl,
    /// `rcl`, `rcr`.
    RotateCarry,
    /// `shld`, `shrd`.
    DoubleShift,
    /// `adc`, `sbb`, `adcx`, `adox`.
    AddCarry,
    /// `setcc` on one flag group.
    SetCondition,
    /// `seta`, `setbe`: two flag groups.
    SetConditionTwoFlags,
    /// `cmovcc` on one flag group.
    CondMove,
    /// `cmova`, `cmovbe`: two flag groups.
    CondMoveTwoFlags,
    /// `cmovg`, `cmovge`, `cmovl`, `cmovle`: sign and overflow.
    CondMoveSigned,
    /// `lea` of two registers, or of one unmodified.
    Lea,
    /// `lea` of a 64-bit register and a constant of -1024 to 1023: some cores do it at rename.
    LeaOffset,
    /// `lea` of at most two components with a scale.
    LeaScaled,
    /// `lea` of three components.
    LeaComplex,
    /// The same with a scale.
    LeaComplexScaled,
    /// Multiplication with a result of one register.
    Multiply,
    /// Multiplication with a result of two registers.
    MultiplyWide,
    /// Division of 64-bit operands.
    Divide64,
    /// Division of narrower operands.
    Divide32,
    /// `popcnt`, `lzcnt`.
    BitCount,
    /// `tzcnt`, `bsf`, `bsr`.
    BitScan,
    /// `pdep`, `pext`.
    BitDeposit,
    /// `andn`.
    AndNot,
    /// `blsr`, `blsi`, `blsmsk`.
    BitField,
    /// `bextr`.
    BitExtract,
    /// `bzhi`.
    BitZeroHigh,
    /// `bt`.
    BitTest,
    /// `bts`, `btr`, `btc`.
    BitChange,
    /// `bswap` of 32 bits, and `movbe`.
    ByteSwap,
    /// `bswap` of 64 bits.
    ByteSwap64,
    /// `crc32`.
    Crc,
    /// `xchg` of registers.
    Exchange,
    /// `xadd` without lock.
    ExchangeAdd,
    /// `cmpxchg` without lock.
    CompareExchange,
    /// Any read-modify-write with a lock, `xchg` with memory included.
    Atomic,
    /// Conditional jump.
    Branch,
    /// `loop` and its variants.
    Loop,
    /// Unconditional jump, direct or indirect.
    Jump,
    /// Call, direct or indirect.
    Call,
    /// Return.
    Return,
    /// `push`.
    Push,
    /// `pop`.
    Pop,
    /// `leave`.
    Leave,
    /// A string instruction without repetition.
    StringStep,
    /// The start of a repeated string instruction; the model adds slots for each step of a move
    /// or each element compared.
    StringRepeat,
    /// `pause` and similar.
    Pause,
    /// `lfence`.
    LoadFence,
    /// `mfence`, `serialize`.
    FullFence,
    /// `sfence`, cache line flushes.
    StoreFence,
    /// `rdtsc` and similar.
    ReadClock,
    /// `rdrand`, `rdseed`.
    Random,
    /// `cpuid`.
    CpuId,
    /// `syscall`: the kernel's time is not modelled.
    SystemCall,
    /// State saving and other long microcode.
    Microcode,
    /// Move between vector registers.
    VecMove,
    /// Move of a general register into a vector register.
    VecFromGpr,
    /// Move of vector element 0 into a general register.
    VecToGpr,
    /// Bitwise logic.
    VecLogic,
    /// Integer addition, minimum, maximum, average.
    VecAdd,
    /// Integer addition that saturates, absolute value, sign.
    VecAddSaturating,
    /// Integer comparison into a vector register.
    VecCompare,
    /// `pcmpgtq`.
    VecCompareGreater64,
    /// Comparison or test into a mask register.
    VecMaskCompare,
    /// Shift of all elements by one immediate count.
    VecShift,
    /// Shift of all elements by one count in a register.
    VecShiftByXmm,
    /// Shift of each element by its own count.
    VecShiftVar,
    /// Shuffle inside 128-bit lanes by a fixed pattern.
    VecShuffle,
    /// Shuffle of floats inside 128-bit lanes but for `shufps`, and broadcast inside 128 bits.
    VecShuffleFloats,
    /// Shuffle of bytes inside 128-bit lanes by a pattern in a register.
    VecShuffleBytes,
    /// `palignr`.
    VecAlign,
    /// Narrowing with saturation inside 128-bit lanes.
    VecPack,
    /// Shuffle across lanes.
    VecShuffleLane,
    /// Widening inside 128 bits.
    VecWidenLane,
    /// Broadcast and widening across lanes, insertion and extraction of lanes.
    VecWiden,
    /// Widening of what is loaded to more than 128 bits, broadcast of a loaded byte or word.
    VecWidenLoad,
    /// Narrowing moves of AVX-512.
    VecNarrow,
    /// Blend by an immediate or a mask register.
    VecBlend,
    /// Blend by a vector register.
    VecBlendVar,
    /// `vpmaskmov`, `vmaskmov`.
    VecMaskMove,
    /// Compress and expand.
    VecCompress,
    /// Integer multiplication of 8- and 16-bit elements, 32 × 32 → 64, dot products.
    VecMultiply,
    /// `pmulld`.
    VecMultiply32,
    /// `vpmullq`.
    VecMultiply64,
    /// `pmovmskb` and similar.
    VecMoveMask,
    /// Element insertion from a general register.
    VecInsert,
    /// Element extraction to a general register.
    VecExtract,
    /// `ptest`.
    VecTest,
    /// `psadbw`.
    VecSumDifferences,
    /// `mpsadbw`, `vdbpsadbw`, `phminposuw`.
    VecMultiSad,
    /// Horizontal additions.
    VecHorizontal,
    /// The same of integers.
    VecHorizontalInt,
    /// `vpopcnt`.
    VecPopcnt,
    /// `vplzcnt`.
    VecLzcnt,
    /// `vpconflict`.
    VecConflict,
    /// `pcmpistri` and similar.
    VecString,
    /// `vzeroupper`.
    VecZeroUpper,
    /// Gather; the loads of its elements are added.
    Gather,
    /// Scatter; the stores of its elements are added.
    Scatter,
    /// Logic of mask registers.
    MaskLogic,
    /// Shifts, additions and unpacking of mask registers.
    MaskShift,
    /// `kortest`, `ktest`.
    MaskTest,
    /// Move between mask registers.
    MaskMove,
    /// Move of a general register into a mask register.
    MaskFromGpr,
    /// Move of a mask register into a general register.
    MaskToGpr,
    /// Expansion of a mask register into a vector register.
    MaskToVec,
    /// Floating-point addition.
    FpAdd,
    /// Floating-point multiplication.
    FpMultiply,
    /// Fused multiply and add.
    FpFma,
    /// Floating-point minimum and maximum.
    FpMinMax,
    /// Floating-point comparison into a vector register.
    FpCompare,
    /// `comisd` and similar: comparison into the flags.
    FpCompareFlags,
    /// Division of 32-bit floats, up to 128 bits.
    FpDivide32,
    /// Division of 32-bit floats, 256 bits and more.
    FpDivide32Wide,
    /// Division of 64-bit floats, up to 128 bits.
    FpDivide64,
    /// Division of 64-bit floats, 256 bits and more.
    FpDivide64Wide,
    /// Square root of 32-bit floats, up to 128 bits.
    FpSqrt32,
    /// Square root of 32-bit floats, 256 bits and more.
    FpSqrt32Wide,
    /// Square root of 64-bit floats, up to 128 bits.
    FpSqrt64,
    /// Square root of 64-bit floats, 256 bits and more.
    FpSqrt64Wide,
    /// Approximate reciprocals.
    FpReciprocal,
    /// Rounding to integral values.
    FpRound,
    /// Exponent and mantissa operations, scaling.
    FpManipulate,
    /// Conversion of packed integers and floats of the same width.
    FpConvert,
    /// Conversion that changes the width.
    FpConvertWidth,
    /// Conversion of a general register to a float.
    FpFromInt,
    /// Conversion of a float to a general register.
    FpToInt,
    /// `dppd`, `dpps`.
    FpDot,
    /// AES rounds.
    Aes,
    /// `aeskeygenassist`.
    AesKey,
    /// `aesimc`.
    AesInverse,
    /// `pclmulqdq`.
    CarrylessMultiply,
    /// Galois field operations.
    Galois,
    /// `sha256rnds2`.
    Sha256Rounds,
    /// `sha256msg1`.
    Sha256Message1,
    /// `sha256msg2`.
    Sha256Message2,
    /// `sha1rnds4`.
    Sha1Rounds,
    /// `sha1msg1`, `sha1msg2`, `sha1nexte`.
    Sha1Message,
    /// `ldmxcsr`.
    MxcsrLoad,
    /// `stmxcsr`.
    MxcsrStore,
    /// x87 moves, exchanges and constants.
    X87Move,
    /// x87 addition.
    X87Add,
    /// x87 multiplication.
    X87Multiply,
    /// x87 division and square root.
    X87Divide,
    /// x87 comparison.
    X87Compare,
    /// x87 conversion to and from integers.
    X87Convert,
    /// x87 control and status words.
    X87Control,
    /// x87 transcendental functions and other long microcode.
    X87Transcendental,
}

/// How a core executes a [`Class`], excluding memory operands.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The class this row belongs to.
    pub class: Class,
    /// Issue slots, at least 1.
    pub slots: u8,
    /// The ports of each operation that needs one; empty if rename does all the work.
    pub operations: &'static [Ports],
    /// Cycles from the last source to the result.
    pub latency: u8,
    /// The same if that source is produced by the same class: a short bypass.
    pub chained_latency: u8,
    /// Cycles for which the first operation blocks its port; 1 if pipelined.
    pub busy: u8,
    /// What takes longer than `latency` says.
    pub late: DelayedPart,
}

/// The part of an instruction that takes longer than the rest: a cycle, if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedPart {
    /// None of it.
    Nothing,
    /// From the base of the address that it computes.
    Base,
    /// From the flags.
    Flags,
    /// From the register that selects what is blended.
    Selector,
    /// To the upper half of the product.
    HighHalf,
    /// To the remainder, by so many cycles.
    Remainder(u8),
}

impl Timing {
    /// Creates a row with one slot and one pipelined operation.
    pub const fn single(class: Class, ports: &'static [Ports; 1], latency: u8) -> Timing {
        Timing::several(class, 1, ports, latency)
    }

    /// Creates a row with several pipelined operations.
    pub const fn several(
        class: Class,
        slots: u8,
        operations: &'static [Ports],
        latency: u8,
    ) -> Timing {
        Timing {
            class,
            slots,
            operations,
            latency,
            chained_latency: latency,
            busy: 1,
            late: DelayedPart::Nothing,
        }
    }

    /// Creates a row with one slot, no port and no latency.
    pub const fn at_rename(class: Class) -> Timing {
        Timing::several(class, 1, &[], 0)
    }

    /// Returns this row with the first operation's port blocked for `busy` cycles.
    pub const fn blocking(mut self, busy: u8) -> Timing {
        self.busy = busy;
        self
    }

    /// Returns this row with a part that takes longer.
    pub const fn with_late(mut self, late: DelayedPart) -> Timing {
        self.late = late;
        self
    }

    /// Returns this row with a shorter latency after its own class.
    pub const fn chained(mut self, latency: u8) -> Timing {
        self.chained_latency = latency;
        self
    }
}

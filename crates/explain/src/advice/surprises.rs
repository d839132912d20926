//! Sentences about code that is slower than it looks: blocked, aliased and split accesses, split
//! locks, and microcode that hardware starts by itself. `surprises` of the lab measured what they
//! cost on Redwood Cove.

use topdown_counters::cpu::Subject;

use super::group_sentences::{Row, SubjectMetric, row};
use super::sentence::Limit;

pub static SURPRISES: [Row; 19] = [
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["store_forward_blocks"]),
        Limit::AtLeast(10.0),
        "blocked loads",
        BLOCKED,
        ONE_WIDTH,
    )
    .costing("13 cycles by Intel's Store_Fwd_Blk, and 20 in a chain on Redwood Cove"),
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["aliasing_4k"]),
        Limit::AtLeast(20.0),
        "",
        ALIASED,
        SHIFT,
    )
    .costing(
        "a few cycles by Intel's 4K_Aliasing, often hidden behind other work; none on Redwood Cove",
    ),
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["split_loads"]),
        Limit::AtLeast(20.0),
        "",
        SPLIT,
        ALIGN,
    )
    .costing(SPLIT_CYCLES),
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["split_stores"]),
        Limit::AtLeast(20.0),
        "",
        SPLIT,
        ALIGN,
    )
    .costing(SPLIT_CYCLES),
    // Elsewhere, per 1000 instructions.
    row(
        Subject::LoadBlocks,
        SubjectMetric::Misses,
        Limit::AtLeast(5.0),
        "blocked loads",
        BLOCKED,
        ONE_WIDTH,
    )
    .costing(
        "a wait until the store is written, and then 13 cycles on Golden Cove, 9 on Zen 4, 1 on \
         Zen 5",
    ),
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["aliased_loads"]),
        Limit::AtLeast(15.0),
        "",
        ALIASED,
        SHIFT,
    )
    .costing("7 cycles on Zen 4; Intel publishes none for efficient cores"),
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["split_accesses", "line_crossing_loads"]),
        Limit::AtLeast(50.0),
        "",
        SPLIT,
        ALIGN,
    )
    .costing(SPLIT_CYCLES),
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["line_crossing_stores"]),
        Limit::AtLeast(50.0),
        "",
        SPLIT,
        ALIGN,
    )
    .costing(SPLIT_CYCLES),
    row(
        Subject::LoadBlocks,
        SubjectMetric::Named(&["page_crossing_loads"]),
        Limit::AtLeast(20.0),
        "",
        "Many loads touch two pages",
        ALIGN,
    )
    .costing("3 cycles on Redwood Cove; AMD publishes none"),
    row(
        Subject::Alignment,
        SubjectMetric::Named(&["late_unaligned_loads"]),
        Limit::AtLeast(50.0),
        "unaligned accesses",
        SPLIT,
        ALIGN,
    )
    .costing(ARM_CYCLES),
    row(
        Subject::Alignment,
        SubjectMetric::Named(&["late_unaligned_stores"]),
        Limit::AtLeast(50.0),
        "",
        SPLIT,
        ALIGN,
    )
    .costing(ARM_CYCLES),
    row(
        Subject::NotModelled,
        SubjectMetric::Named(&["sse_avx_switches"]),
        Limit::AtLeast(0.2),
        "",
        MIXED,
        VZEROUPPER,
    )
    .costing("some 200 cycles on Redwood Cove, which the model leaves out"),
    row(
        Subject::NotModelled,
        SubjectMetric::Named(&["split_locks"]),
        Limit::AtLeast(0.1),
        "",
        SPLIT_LOCK,
        ALIGN_ATOMICS,
    )
    .costing(
        "more than 1000 cycles, in which no other core reaches memory (Linux, buslock.rst); the \
         model leaves them out",
    ),
    row(
        Subject::NotModelled,
        SubjectMetric::Named(&["page_split_stores"]),
        Limit::AtLeast(4.0),
        "",
        "Many stores touch two pages",
        ALIGN,
    )
    .costing("25 cycles on Redwood Cove, which the model leaves out"),
    row(
        Subject::Locks,
        SubjectMetric::Named(&["split_locks", "bus_locks"]),
        Limit::AtLeast(0.1),
        "split locks",
        SPLIT_LOCK,
        ALIGN_ATOMICS,
    )
    .costing("more than 1000 cycles, in which no other core reaches memory (Linux, buslock.rst)"),
    row(
        Subject::Locks,
        SubjectMetric::Named(&["lock_latency"]),
        Limit::AtLeast(20.0),
        "atomic operations",
        "Loads wait for atomic operations",
        "use fewer of them, and keep data that one thread writes apart from data that others read",
    ),
    row(
        Subject::Assists,
        SubjectMetric::Named(&["sse_avx_mix"]),
        Limit::AtLeast(0.2),
        "microcode assists",
        MIXED,
        VZEROUPPER,
    )
    .costing("160 cycles by Intel's Mixing_Vectors, some 200 on Redwood Cove"),
    row(
        Subject::Assists,
        SubjectMetric::Named(&["sse_avx_stalls"]),
        Limit::AtLeast(5.0),
        "",
        "Legacy SSE code and AVX code are mixed",
        VZEROUPPER,
    )
    .costing("a second dispatch; AMD publishes no cycles"),
    row(
        Subject::Assists,
        SubjectMetric::Named(&["fp_assists"]),
        Limit::AtLeast(0.5),
        "",
        "Floating-point operations need microcode, as denormal numbers do",
        "flush denormal numbers to zero, or scale the data away from them",
    )
    .costing("120 to 150 cycles on Redwood Cove, where additions and conversions need none"),
];

const BLOCKED: &str = "Loads wait for a store of only some of their bytes";
const ONE_WIDTH: &str = "store and load the same width, or load later; a value built bytewise in \
     memory is better built in a register";
const ALIASED: &str =
    "Loads are repeated because an earlier store has the same address modulo 4096";
const SHIFT: &str = "shift one of the arrays by some cache lines";
const SPLIT: &str = "Many accesses touch two cache lines";
const SPLIT_CYCLES: &str = "on Redwood Cove half a cycle for a load, and 7 for what waits for it; 2 \
     for a store, and 25 across pages";
const ARM_CYCLES: &str = "another access to the cache; Arm publishes no cycles";
const SPLIT_LOCK: &str = "Atomic operations work on data in two cache lines";
const ALIGN_ATOMICS: &str = "align what they work on: no `repr(packed)`, no unaligned pointers";
const MIXED: &str = "Legacy SSE code runs while the upper halves of vector registers are in use";
const VZEROUPPER: &str =
    "end 256-bit code with VZEROUPPER, or compile all of it for AVX (`-C target-cpu`)";
const ALIGN: &str = "align the data to cache lines, and step by whole vectors from there";

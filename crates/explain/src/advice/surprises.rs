//! Sentences about code that is slower than it looks: blocked, aliased and split accesses, split
//! locks, and microcode that hardware starts by itself. `surprises` of the lab measured what they
//! cost on Redwood Cove.

use super::group_sentences::SubjectMetric::{Misses, Named};
use super::group_sentences::{Row, row};
use super::sentence::Limit;

/// A cause, and its remedy.
type Sentence = (&'static str, &'static str);

/// A row of the table: the subject, the metric, its minimum, what is ruled out, the sentence,
/// and what one of the events costs.
macro_rules! rows {
    ($(
        $subject:ident, $metric:expr, $min:literal, $rules_out:literal, $sentence:expr,
        $cost:expr;
    )*) => {
        &[$(row(
            topdown_counters::cpu::Subject::$subject,
            $metric,
            Limit::AtLeast($min),
            $rules_out,
            $sentence.0,
            $sentence.1,
        )
        .costing($cost)),*]
    };
}

pub static SURPRISES: &[Row] = rows! {
    LoadBlocks, Named(&["store_forward_blocks"]), 10.0, "blocked loads", BLOCKED,
        "13 cycles by Intel's Store_Fwd_Blk, and 20 in a chain on Redwood Cove";
    LoadBlocks, Named(&["aliasing_4k"]), 20.0, "", ALIASED,
        "a few cycles by Intel's 4K_Aliasing, often hidden behind other work; none on Redwood Cove";
    LoadBlocks, Named(&["split_loads"]), 20.0, "", SPLIT, SPLIT_CYCLES;
    LoadBlocks, Named(&["split_stores"]), 20.0, "", SPLIT, SPLIT_CYCLES;
    // Elsewhere, per 1000 instructions.
    LoadBlocks, Misses, 5.0, "blocked loads", BLOCKED,
        "a wait until the store is written, and then 18 cycles on Golden Cove, 9 on Zen 4, 1 on \
         Zen 5";
    LoadBlocks, Named(&["aliased_loads"]), 15.0, "", ALIASED,
        "7 cycles on Zen 4; Intel publishes none for efficient cores";
    LoadBlocks, Named(&["split_accesses", "line_crossing_loads"]), 50.0, "", SPLIT, SPLIT_CYCLES;
    LoadBlocks, Named(&["line_crossing_stores"]), 50.0, "", SPLIT, SPLIT_CYCLES;
    LoadBlocks, Named(&["page_crossing_loads"]), 20.0, "", ("Many loads touch two pages", ALIGN),
        "3 cycles on Redwood Cove; AMD publishes none";
    Alignment, Named(&["late_unaligned_loads"]), 50.0, "unaligned accesses", SPLIT, ARM_CYCLES;
    Alignment, Named(&["late_unaligned_stores"]), 50.0, "", SPLIT, ARM_CYCLES;
    NotModelled, Named(&["sse_avx_switches"]), 0.2, "", MIXED,
        "some 200 cycles on Redwood Cove, which the model leaves out";
    NotModelled, Named(&["split_locks"]), 0.1, "", SPLIT_LOCK,
        "more than 1000 cycles, in which no other core reaches memory (Linux, buslock.rst); the \
         model leaves them out";
    NotModelled, Named(&["page_split_stores"]), 4.0, "", ("Many stores touch two pages", ALIGN),
        "25 cycles on Redwood Cove, which the model leaves out";
    Locks, Named(&["split_locks", "bus_locks"]), 0.1, "split locks", SPLIT_LOCK,
        "more than 1000 cycles, in which no other core reaches memory (Linux, buslock.rst)";
    Locks, Named(&["lock_latency", "locked_cycles"]), 20.0, "atomic operations", LOCKS, "";
    Assists, Named(&["sse_avx_mix"]), 0.2, "microcode assists", MIXED,
        "160 cycles by Intel's Mixing_Vectors, some 200 on Redwood Cove";
    Assists, Named(&["sse_avx_stalls"]), 5.0, "",
        ("Legacy SSE code and AVX code are mixed", VZEROUPPER),
        "a second dispatch; AMD publishes no cycles";
    Assists, Named(&["fp_assists"]), 0.5, "", DENORMALS,
        "120 to 150 cycles on Redwood Cove, where additions and conversions need none";
};

const BLOCKED: Sentence = (
    "Loads wait for a store of only some of their bytes",
    "store and load the same width, or load later; a value built bytewise in memory is better \
     built in a register",
);
const ALIASED: Sentence = (
    "Loads are repeated because an earlier store has the same address modulo 4096",
    "shift one of the arrays by some cache lines",
);
const SPLIT: Sentence = ("Many accesses touch two cache lines", ALIGN);
const SPLIT_LOCK: Sentence = (
    "Atomic operations work on data in two cache lines",
    "align what they work on: no `repr(packed)`, no unaligned pointers",
);
const LOCKS: Sentence = (
    "Loads wait for atomic operations",
    "use fewer of them, and keep data that one thread writes apart from data that others read",
);
const MIXED: Sentence = (
    "Legacy SSE code runs while the upper halves of vector registers are in use",
    VZEROUPPER,
);
const DENORMALS: Sentence = (
    "Floating-point operations need microcode, as denormal numbers do",
    "flush denormal numbers to zero, or scale the data away from them",
);
const ALIGN: &str = "align the data to cache lines, and step by whole vectors from there";
const VZEROUPPER: &str =
    "end 256-bit code with VZEROUPPER, or compile all of it for AVX (`-C target-cpu`)";
const SPLIT_CYCLES: &str = "on Redwood Cove half a cycle for a load, and 7 for what waits for it; \
     2 for a store, and 25 across pages";
const ARM_CYCLES: &str = "another access to the cache; Arm publishes no cycles";

//! Allocations that grew, in words.

use super::number::{amount, bytes};
use topdown_gate::verdict::AllocationChange;

/// `allocates 3 times per iteration, was 1: +96 B`, for allocations that grew.
pub fn grown(change: &AllocationChange) -> String {
    let (before, after) = (&change.baseline, &change.candidate);
    let more_bytes = after.bytes - before.bytes;
    let sign = if more_bytes < 0.0 { "-" } else { "+" };
    let more_bytes = format!("{sign}{}", bytes(more_bytes.abs()));
    if after.times == before.times {
        let same = match after.times {
            1.0 => "allocation".to_owned(),
            times => format!("{} allocations", amount(times)),
        };
        return format!("allocates {more_bytes} per iteration in the same {same}");
    }
    format!(
        "allocates {} per iteration, was {}: {more_bytes}",
        times(after.times),
        amount(before.times)
    )
}

fn times(count: f64) -> String {
    let unit = if count == 1.0 { "time" } else { "times" };
    format!("{} {unit}", amount(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::allocated::Allocated;

    #[test]
    fn growth_is_one_phrase() {
        let reported = |before: [f64; 2], after: [f64; 2]| {
            let allocated = |[times, bytes]: [f64; 2]| Allocated { times, bytes };
            grown(&AllocationChange {
                baseline: allocated(before),
                candidate: allocated(after),
                grew: true,
                gated: false,
            })
        };
        for (before, after, text) in [
            (
                [1.0, 96.0],
                [3.0, 192.0],
                "allocates 3 times per iteration, was 1: +96 B",
            ),
            (
                [0.0, 0.0],
                [1.0, 24_576.0],
                "allocates 1 time per iteration, was 0: +24.58 kB",
            ),
            (
                [2.0, 1000.0],
                [4.5, 400.0],
                "allocates 4.500 times per iteration, was 2: -600 B",
            ),
            (
                [2.0, 100.0],
                [2.0, 108.0],
                "allocates +8 B per iteration in the same 2 allocations",
            ),
            (
                [1.0, 96.0],
                [1.0, 172.0],
                "allocates +76 B per iteration in the same allocation",
            ),
        ] {
            assert_eq!(reported(before, after), text);
        }
    }
}

//! Records that the kernel writes into the buffer of an event with weights: perf_event.h,
//! `perf_event_type` and `perf_sample_weight`.

use perf_event_open_sys::bindings::{PERF_RECORD_LOST, PERF_RECORD_SAMPLE, PERF_RECORD_THROTTLE};

use super::super::sampling::records::next_of;

/// The size of a PMU sample's body.
const WEIGHT_BYTES: usize = 8;

/// The records of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weights {
    /// The number of PMU samples.
    pub hits: u64,
    /// The sum of their retire latencies, in core cycles.
    pub cycles: u64,
    /// Whether there are more PMU samples than the kernel can take.
    pub too_many: bool,
    /// Whether some bytes are not records.
    pub has_gap: bool,
}

impl Weights {
    /// Reads any bytes.
    pub fn of(mut records: &[u8]) -> Weights {
        let mut weights = Weights::default();
        while !records.is_empty() {
            match next_of(&mut records) {
                Some((PERF_RECORD_SAMPLE, body)) if body.len() == WEIGHT_BYTES => {
                    weights.hits += 1;
                    weights.cycles += u64::from(retire_latency(body));
                }
                Some((PERF_RECORD_LOST | PERF_RECORD_THROTTLE, _)) => weights.too_many = true,
                Some((PERF_RECORD_SAMPLE, _)) | None => weights.has_gap = true,
                Some(_) => {}
            }
        }
        weights
    }
}

/// The third weight, in the upper 16 bits on little-endian machines, such as all that record it.
fn retire_latency(body: &[u8]) -> u16 {
    match body {
        [.., low, high] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let size = (8 + body.len()) as u16;
        let header = [&kind.to_ne_bytes()[..], &[2, 0], &size.to_ne_bytes()].concat();
        [&header, body].concat()
    }

    /// The cache latency, the instruction latency and the retire latency.
    fn hit(latency: u16) -> Vec<u8> {
        let weights = [&77_u32.to_le_bytes()[..], &[9, 0], &latency.to_le_bytes()].concat();
        record(PERF_RECORD_SAMPLE, &weights)
    }

    #[test]
    fn third_weight_is_the_retire_latency() {
        let bytes = [hit(12), record(77, &[0; 24]), hit(65_535)].concat();
        let expected = Weights {
            hits: 2,
            cycles: 65_547,
            ..Weights::default()
        };
        assert_eq!(Weights::of(&bytes), expected);
    }

    #[test]
    fn excess_pmu_samples_and_invalid_records_are_found() {
        for kind in [PERF_RECORD_LOST, PERF_RECORD_THROTTLE] {
            let weights = Weights::of(&[hit(5), record(kind, &[0; 24]), hit(6)].concat());
            assert_eq!((weights.hits, weights.cycles), (2, 11));
            assert!(weights.too_many && !weights.has_gap);
        }
        for broken in [record(PERF_RECORD_SAMPLE, &[0; 4]), vec![1, 2, 3]] {
            let weights = Weights::of(&[hit(5), broken].concat());
            assert!(weights.has_gap && weights.hits == 1, "{weights:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_readable(bytes: Vec<u8>) {
            let weights = Weights::of(&bytes);
            assert!(weights.hits <= bytes.len() as u64 / 16);
        }
    }
}

//! Retire latencies of loads, as in the formulas of perfmon's files for TMA 5.1 and 5.2.
//!
//! A load that a level serves is assumed to take the time of this level minus that of the level
//! before it.

use crate::cpu::generated::intel_performance::golden_cove::{
    L2_HIT, L3_HIT, LOCAL_MEMORY, LOCKED_LOADS, REMOTE_MEMORY,
};
use crate::cpu::models::CoreType;
use crate::cpu::{LatencyTable, Models, RetireLatency};

const fn assumed(event: crate::cpu::Event, assumed_ns: f64) -> RetireLatency {
    RetireLatency {
        event,
        published_cycles: None,
        assumed_ns: Some(assumed_ns),
    }
}

const CLIENT: [RetireLatency; 2] = [assumed(L2_HIT, 3.0), assumed(L3_HIT, 12.0 - 3.0)];

const LOCKED: RetireLatency = RetireLatency {
    event: LOCKED_LOADS,
    published_cycles: None,
    assumed_ns: None,
};

pub(in crate::cpu) static GOLDEN_COVE_CLIENT_LATENCIES: LatencyTable = LatencyTable {
    name: "Alder, Raptor, Bartlett Lake",
    models: &[
        Models::intel(&[0xd7]),
        Models::intel_hybrid(CoreType::Performance, &[0x97, 0x9a, 0xb7, 0xba, 0xbf]),
    ],
    is_recorded: false,
    sources: "perfmon ADL, alderlake_metrics_goldencove_core.json 1.1",
    latencies: &CLIENT,
};

pub(in crate::cpu) static SAPPHIRE_RAPIDS_LATENCIES: LatencyTable = LatencyTable {
    name: "Sapphire, Emerald Rapids",
    models: &[Models::intel(&[0x8f, 0xcf])],
    is_recorded: false,
    sources: "perfmon SPR, EMR, sapphirerapids_metrics.json 1.3",
    latencies: &[
        assumed(L2_HIT, 4.4),
        assumed(L3_HIT, 37.0 - 4.4),
        assumed(LOCAL_MEMORY, 109.0 - 37.0),
        assumed(REMOTE_MEMORY, 190.0 - 37.0),
    ],
};

pub(in crate::cpu) static METEOR_LAKE_LATENCIES: LatencyTable = LatencyTable {
    name: "Meteor Lake, Arrow Lake U",
    models: &[Models::intel_hybrid(
        CoreType::Performance,
        &[0xaa, 0xac, 0xb5],
    )],
    is_recorded: true,
    sources: "perfmon MTL, meteorlake_metrics_redwoodcove_core.json 1.1",
    latencies: &[assumed(L2_HIT, 3.0), assumed(L3_HIT, 12.0 - 3.0), LOCKED],
};

pub(in crate::cpu) static GRANITE_RAPIDS_LATENCIES: LatencyTable = LatencyTable {
    name: "Granite Rapids",
    models: &[Models::intel(&[0xad, 0xae])],
    is_recorded: true,
    sources: "perfmon GNR, graniterapids_metrics.json 1.3 and the means of \
              graniterapids_retire_latency.json 1.08",
    latencies: &[
        RetireLatency {
            published_cycles: Some(5.71),
            ..assumed(L2_HIT, 4.4)
        },
        RetireLatency {
            published_cycles: Some(57.64),
            ..assumed(L3_HIT, 37.0 - 4.4)
        },
        RetireLatency {
            event: LOCAL_MEMORY,
            published_cycles: Some(115.83),
            assumed_ns: None,
        },
        RetireLatency {
            event: REMOTE_MEMORY,
            published_cycles: Some(430.22),
            assumed_ns: None,
        },
        RetireLatency {
            published_cycles: Some(63.76),
            ..LOCKED
        },
    ],
};

pub(in crate::cpu) static LION_COVE_LATENCIES: LatencyTable = LatencyTable {
    name: "Lunar, Arrow, Panther Lake",
    models: &[Models::intel_hybrid(
        CoreType::Performance,
        &[0xbd, 0xc5, 0xc6, 0xcc, 0xd5, 0xe5],
    )],
    is_recorded: true,
    sources: "perfmon LNL, ARL, lunarlake_metrics_lioncove_core.json 1.1; Panther Lake's metrics \
              are not published, and taken to be Lunar Lake's",
    latencies: &[assumed(L2_HIT, 3.0), assumed(L3_HIT, 12.0 - 3.0), LOCKED],
};

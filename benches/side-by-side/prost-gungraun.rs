//! The benchmarks of prost's `benches/varint.rs`.

use bytes::Buf;
use gungraun::prelude::*;
use prost::encoding::varint::{decode_varint, encode_varint, encoded_len_varint};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};

fn values(kind: &str) -> Vec<u64> {
    let mut values: Vec<u64> = match kind {
        "small" => (0..100).collect(),
        "medium" => (1 << 28..).take(100).collect(),
        "large" => (1 << 63..).take(100).collect(),
        "mixed" => (0..10)
            .flat_map(|width| (0..10).map(move |offset| offset + (1 << (width * 7))))
            .collect(),
        other => panic!("no values are called {other}"),
    };
    values.shuffle(&mut StdRng::seed_from_u64(0));
    values
}

fn with_room(kind: &str) -> (Vec<u64>, Vec<u8>) {
    (values(kind), Vec::with_capacity(1000))
}

fn encoded(kind: &str) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(1000);
    for value in values(kind) {
        encode_varint(value, &mut buffer);
    }
    buffer
}

#[library_benchmark]
#[benches::values(args = ["small", "medium", "large", "mixed"], setup = with_room)]
fn encode((values, mut buffer): (Vec<u64>, Vec<u8>)) -> Vec<u8> {
    for &value in &values {
        encode_varint(value, &mut buffer);
    }
    buffer
}

#[library_benchmark]
#[benches::values(args = ["small", "medium", "large", "mixed"], setup = encoded)]
fn decode(buffer: Vec<u8>) -> Vec<u8> {
    let mut rest = &mut buffer.as_slice();
    while rest.has_remaining() {
        std::hint::black_box(&decode_varint(&mut rest));
    }
    buffer
}

#[library_benchmark]
#[benches::values(args = ["small", "medium", "large", "mixed"], setup = values)]
fn encoded_len(values: Vec<u64>) -> usize {
    values.iter().map(|&value| encoded_len_varint(value)).sum()
}

library_benchmark_group!(name = varint, benchmarks = [encode, decode, encoded_len]);
main!(library_benchmark_groups = varint);

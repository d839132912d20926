//! Orders of five kinds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use super::super::{Kernel, Random, unseen_1};

pub fn kernels() -> Vec<Kernel> {
    vec![
        unseen_1("merge-runs", merge_runs),
        unseen_1("sort-strings", sort_strings),
        unseen_1("insert-sorts", insert_sorts),
        unseen_1("sort-records", sort_records),
        unseen_1("merge-queues", merge_queues),
    ]
}

/// Finds runs that are in order already, and merges them from the bottom up.
fn merge_runs() -> Box<dyn FnMut()> {
    let mut random = Random(461);
    let mut numbers: Vec<i32> = Vec::new();
    while numbers.len() < 6000 {
        let length = 4 + (random.next() >> 58) as i32;
        let first = (random.next() >> 40) as i32;
        numbers.extend((0..length).map(|step| first + step * 37));
    }
    let mut sorted = numbers.clone();
    let mut spare = numbers.clone();
    let mut bounds: Vec<usize> = Vec::with_capacity(numbers.len());
    Box::new(move || {
        sorted.copy_from_slice(&numbers);
        bounds.clear();
        bounds.push(0);
        bounds.extend((1..sorted.len()).filter(|&at| sorted[at] < sorted[at - 1]));
        bounds.push(sorted.len());
        while bounds.len() > 2 {
            let mut kept = 1;
            let mut run = 0;
            while run + 1 < bounds.len() {
                let (begin, middle) = (bounds[run], bounds[run + 1]);
                let end = bounds.get(run + 2).copied().unwrap_or(middle);
                let (mut left, mut right) = (begin, middle);
                for slot in &mut spare[begin..end] {
                    let takes_left = right == end || left < middle && sorted[left] <= sorted[right];
                    if takes_left {
                        *slot = sorted[left];
                        left += 1;
                    } else {
                        *slot = sorted[right];
                        right += 1;
                    }
                }
                bounds[kept] = end;
                kept += 1;
                run += 2;
            }
            bounds.truncate(kept);
            std::mem::swap(&mut sorted, &mut spare);
        }
        black_box(&sorted);
    })
}

/// Sorts paths with long common beginnings.
fn sort_strings() -> Box<dyn FnMut()> {
    let mut random = Random(463);
    let parts = [
        "src",
        "tests",
        "crates/core",
        "crates/model",
        "docs",
        "benches",
    ];
    let paths: Vec<String> = (0..900)
        .map(|_| {
            let part = parts[(random.next() >> 33) as usize % parts.len()];
            format!(
                "/home/user/project/{part}/module_{}.rs",
                random.next() >> 52
            )
        })
        .collect();
    let mut sorted: Vec<&'static str> = Vec::with_capacity(paths.len());
    let paths: &'static [String] = Box::leak(paths.into_boxed_slice());
    Box::new(move || {
        sorted.clear();
        sorted.extend(paths.iter().map(String::as_str));
        sorted.sort_unstable();
        black_box(&sorted);
    })
}

/// Many short arrays, nearly sorted as particles between two frames.
fn insert_sorts() -> Box<dyn FnMut()> {
    let mut random = Random(467);
    let groups: Vec<Vec<f32>> = (0..300)
        .map(|_| {
            let count = 5 + (random.next() >> 60) as usize;
            let noise = |random: &mut Random| (random.next() >> 50) as f32 / 4000.0;
            (0..count)
                .map(|place| place as f32 + noise(&mut random))
                .collect()
        })
        .collect();
    let mut scratch: Vec<f32> = Vec::with_capacity(32);
    Box::new(move || {
        let mut moved = 0;
        for group in &groups {
            scratch.clear();
            scratch.extend_from_slice(group);
            for next in 1..scratch.len() {
                let value = scratch[next];
                let mut at = next;
                while at > 0 && scratch[at - 1] > value {
                    scratch[at] = scratch[at - 1];
                    at -= 1;
                    moved += 1;
                }
                scratch[at] = value;
            }
            black_box(&scratch);
        }
        black_box(moved);
    })
}

/// A stable sort of records of 40 bytes by two keys.
fn sort_records() -> Box<dyn FnMut()> {
    #[derive(Clone)]
    struct Record {
        department: u8,
        score: f64,
        id: u64,
        extra: [u32; 4],
    }
    let mut random = Random(479);
    let records: Vec<Record> = (0..1200)
        .map(|id| Record {
            department: (random.next() >> 61) as u8,
            score: (random.next() >> 54) as f64 / 10.0,
            id,
            extra: [id as u32; 4],
        })
        .collect();
    let mut sorted = records.clone();
    Box::new(move || {
        sorted.clone_from_slice(&records);
        sorted.sort_by(|a, b| {
            let departments = a.department.cmp(&b.department);
            departments.then_with(|| b.score.total_cmp(&a.score))
        });
        black_box(sorted.iter().fold(0, |sum, record| {
            sum * 3 + record.id + u64::from(record.extra[0])
        }));
    })
}

/// Merges sorted streams with a heap of their heads.
fn merge_queues() -> Box<dyn FnMut()> {
    let mut random = Random(487);
    let queues: Vec<Vec<u64>> = (0..24)
        .map(|_| {
            let mut queue: Vec<u64> = (0..150).map(|_| random.next() >> 40).collect();
            queue.sort_unstable();
            queue
        })
        .collect();
    let mut heap = BinaryHeap::with_capacity(32);
    let mut merged: Vec<u64> = Vec::with_capacity(24 * 150);
    Box::new(move || {
        merged.clear();
        heap.extend(
            queues
                .iter()
                .enumerate()
                .map(|(queue, items)| Reverse((items[0], queue, 1))),
        );
        while let Some(mut head) = heap.peek_mut() {
            let Reverse((item, queue, next)) = *head;
            merged.push(item);
            match queues[queue].get(next) {
                Some(&item) => *head = Reverse((item, queue, next + 1)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
        }
        black_box(&merged);
    })
}

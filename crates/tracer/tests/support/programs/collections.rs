//! Sorting, maps, lists, and what allocates.

use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::hint::black_box;

use super::{fold, random_numbers};

pub fn sort() -> u64 {
    let mut values = random_numbers(80);
    values.sort_unstable();
    fold(values)
}

pub fn stable_sort() -> u64 {
    let mut values: Vec<(u64, u64)> = random_numbers(50)
        .into_iter()
        .map(|n| (n % 16, n))
        .collect();
    values.sort_by_key(|pair| pair.0);
    fold(values.into_iter().map(|pair| pair.1))
}

pub fn binary_search() -> u64 {
    let values: Vec<u64> = (0..256).map(|n| n * 3).collect();
    fold((0..64).map(|n| match values.binary_search(&(n * 11)) {
        Ok(place) => place as u64,
        Err(place) => !place as u64,
    }))
}

pub fn hash_map() -> u64 {
    let mut map = HashMap::new();
    for (place, number) in random_numbers(20).into_iter().enumerate() {
        *map.entry(number % 20).or_insert(0) += place as u64;
    }
    (0..20).map(|key| map.get(&key).copied().unwrap_or(1)).sum()
}

pub fn hash_set_of_strings() -> u64 {
    let set: HashSet<String> = (0..6).map(|n| n.to_string()).collect();
    (0..12)
        .filter(|n: &u32| set.contains(&n.to_string()))
        .count() as u64
}

pub fn b_tree() -> u64 {
    let mut map: BTreeMap<u64, u64> = random_numbers(30)
        .into_iter()
        .map(|n| (n, n >> 3))
        .collect();
    map.retain(|key, _| key % 3 != 0);
    fold(map.into_iter().map(|(key, value)| key ^ value))
}

pub fn heap_and_deque() -> u64 {
    let mut heap: BinaryHeap<u64> = random_numbers(60).into();
    let mut deque = VecDeque::new();
    while let Some(value) = heap.pop() {
        if value % 2 == 0 {
            deque.push_front(value);
        } else {
            deque.push_back(value);
        }
    }
    fold(deque)
}

pub fn allocator() -> u64 {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for (place, number) in random_numbers(60).into_iter().enumerate() {
        let mut bytes = Vec::with_capacity((number % 3000) as usize);
        bytes.resize(place, place as u8);
        kept.push(bytes);
        if number % 3 == 0 {
            kept.swap_remove((number as usize / 3) % kept.len());
        }
    }
    let mut large = vec![0_u8; 300_000];
    large[299_999] = 1;
    black_box(&large);
    kept.iter().map(|bytes| bytes.len() as u64).sum()
}

pub fn linked_list() -> u64 {
    struct Node {
        value: u64,
        next: Option<std::rc::Rc<Node>>,
    }
    let list = random_numbers(40).into_iter().fold(None, |next, value| {
        Some(std::rc::Rc::new(Node { value, next }))
    });
    let shared = list.clone();
    let mut values = Vec::new();
    let mut at = shared.as_ref();
    while let Some(node) = at {
        values.push(node.value);
        at = node.next.as_ref();
    }
    fold(values)
}

pub fn sort_of_strings() -> u64 {
    let mut words: Vec<String> = random_numbers(20)
        .into_iter()
        .map(|n| n.to_string())
        .collect();
    words.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| b.cmp(a)));
    words.dedup_by_key(|word| word.as_bytes()[0]);
    fold(words.concat().bytes().map(u64::from))
}

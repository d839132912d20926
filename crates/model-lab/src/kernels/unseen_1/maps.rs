//! Tables of keys.

use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};
use std::hint::black_box;

use super::super::{Kernel, Random, unseen_1};

pub fn kernels() -> Vec<Kernel> {
    vec![
        unseen_1("swiss-groups", swiss_groups),
        unseen_1("group-by", group_by),
        unseen_1("intern", intern),
        unseen_1("cuckoo", cuckoo),
        unseen_1("slot-map", slot_map),
    ]
}

fn mix(key: u64) -> u64 {
    let key = (key ^ key >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    key ^ key >> 29
}

/// Probes groups of 16 tags with vector comparisons.
fn swiss_groups() -> Box<dyn FnMut()> {
    const GROUPS: usize = 256;
    struct Table {
        tags: Vec<[u8; 16]>,
        entries: Vec<[(u64, u64); 16]>,
    }
    fn matching(tags: &[u8; 16], tag: u8) -> u32 {
        // SAFETY: the load reads the sixteen bytes of the array; SSE2 is part of x86-64.
        unsafe {
            let tags = _mm_loadu_si128(tags.as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8(tag as i8))) as u32
        }
    }
    impl Table {
        fn find(&self, key: u64) -> Result<(usize, usize), (usize, usize)> {
            let hash = mix(key);
            let (tag, mut group) = ((hash >> 57) as u8 | 0x80, hash as usize % GROUPS);
            for step in 1.. {
                let mut found = matching(&self.tags[group], tag);
                while found != 0 {
                    let slot = found.trailing_zeros() as usize;
                    if self.entries[group][slot].0 == key {
                        return Ok((group, slot));
                    }
                    found &= found - 1;
                }
                let free = matching(&self.tags[group], 0);
                if free != 0 {
                    return Err((group, free.trailing_zeros() as usize));
                }
                group = (group + step) % GROUPS;
            }
            unreachable!("the table never fills up")
        }
    }
    let mut random = Random(433);
    let keys: Vec<u64> = (0..6000).map(|_| (random.next() >> 20) % 3000).collect();
    let mut table = Table {
        tags: vec![[0; 16]; GROUPS],
        entries: vec![[(0, 0); 16]; GROUPS],
    };
    Box::new(move || {
        table.tags.fill([0; 16]);
        for &key in &keys {
            match table.find(key) {
                Ok((group, slot)) => table.entries[group][slot].1 += 1,
                Err((group, slot)) => {
                    table.tags[group][slot] = (mix(key) >> 57) as u8 | 0x80;
                    table.entries[group][slot] = (key, 1);
                }
            }
        }
        black_box(&table.entries);
    })
}

/// Collects records by city in a standard map, and sums each group.
fn group_by() -> Box<dyn FnMut()> {
    type Hash = BuildHasherDefault<DefaultHasher>;
    let mut random = Random(439);
    let cities: Vec<String> = (0..80)
        .map(|city| format!("city-{}", city * 7919))
        .collect();
    let records: Vec<(String, u32)> = (0..2500)
        .map(|_| {
            let city = &cities[(random.next() >> 33) as usize % cities.len()];
            (city.clone(), (random.next() >> 50) as u32)
        })
        .collect();
    Box::new(move || {
        let mut groups: HashMap<&str, Vec<u32>, Hash> = HashMap::default();
        for (city, amount) in &records {
            groups.entry(city).or_default().push(*amount);
        }
        let sums: BTreeMap<&str, (u64, u32)> = groups
            .iter()
            .map(|(city, amounts)| {
                let sum = amounts.iter().map(|&amount| u64::from(amount)).sum();
                (*city, (sum, amounts.iter().copied().max().unwrap_or(0)))
            })
            .collect();
        black_box(sums);
    })
}

/// Numbers words in order of appearance, with a multiplying hash of eight bytes at a time.
fn intern() -> Box<dyn FnMut()> {
    #[derive(Default)]
    struct Multiplying(u64);
    impl Hasher for Multiplying {
        fn write(&mut self, bytes: &[u8]) {
            for chunk in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                let word = u64::from_le_bytes(word);
                self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
            }
        }
        fn finish(&self) -> u64 {
            self.0
        }
    }
    let mut random = Random(443);
    let stems = [
        "self",
        "value",
        "index",
        "buffer",
        "length_of",
        "iterator_state",
        "x",
        "mut",
    ];
    let words: Vec<String> = (0..4000)
        .map(|_| {
            let stem = stems[(random.next() >> 61) as usize];
            format!("{stem}{}", (random.next() >> 55) * (random.next() >> 63))
        })
        .collect();
    let mut names: Vec<&'static str> = Vec::with_capacity(4000);
    let words: &'static [String] = Box::leak(words.into_boxed_slice());
    let mut numbers: HashMap<&str, u32, BuildHasherDefault<Multiplying>> = HashMap::default();
    Box::new(move || {
        numbers.clear();
        names.clear();
        let mut sum = 0_u32;
        for word in words {
            let number = *numbers.entry(word).or_insert_with(|| {
                names.push(word);
                names.len() as u32
            });
            sum = sum.wrapping_mul(31).wrapping_add(number);
        }
        black_box(sum);
    })
}

/// Two places for each key; an insertion moves what is in its way.
fn cuckoo() -> Box<dyn FnMut()> {
    const SLOTS: u64 = 4096;
    let places = |key: u32| {
        let hash = mix(u64::from(key));
        [(hash % SLOTS) as usize, (hash >> 40 & (SLOTS - 1)) as usize]
    };
    let mut random = Random(449);
    let keys: Vec<u32> = (0..1800)
        .map(|_| (random.next() >> 33) as u32 | 1)
        .collect();
    let mut tables = [
        vec![0_u32; SLOTS as usize / 2],
        vec![0_u32; SLOTS as usize / 2],
    ];
    Box::new(move || {
        tables.iter_mut().for_each(|table| table.fill(0));
        let mut lost = 0;
        for &key in &keys {
            let (mut key, mut side) = (key, 0);
            for turn in 0..=32 {
                let slot = &mut tables[side][places(key)[side] / 2];
                key = std::mem::replace(slot, key);
                side ^= 1;
                if key == 0 {
                    break;
                }
                lost += u32::from(turn == 32);
            }
        }
        let found = (0..2)
            .flat_map(|shift| keys.iter().map(move |key| key.wrapping_add(shift * 2)))
            .filter(|&key| {
                let [first, second] = places(key);
                tables[0][first / 2] == key || tables[1][second / 2] == key
            });
        black_box((found.count(), lost));
    })
}

/// Entities with generations: removed, made again, and looked up by handles that may be stale.
fn slot_map() -> Box<dyn FnMut()> {
    struct Slot {
        generation: u32,
        value: Option<[f32; 3]>,
    }
    let mut random = Random(457);
    let actions: Vec<(u8, u32)> = (0..8000)
        .map(|_| ((random.next() >> 61) as u8, (random.next() >> 32) as u32))
        .collect();
    let mut slots: Vec<Slot> = Vec::with_capacity(8000);
    let mut free: Vec<u32> = Vec::with_capacity(8000);
    let mut handles: Vec<(u32, u32)> = Vec::with_capacity(8000);
    Box::new(move || {
        slots.clear();
        free.clear();
        handles.clear();
        let (mut sum, mut stale) = (0.0, 0);
        for &(action, number) in &actions {
            let chosen = handles.get(number as usize % handles.len().max(1)).copied();
            match (action, chosen) {
                (0..=1, _) | (_, None) => {
                    let value = Some([number as f32, 1.0, 2.0]);
                    let index = free.pop().unwrap_or(slots.len() as u32);
                    if index as usize == slots.len() {
                        slots.push(Slot {
                            generation: 0,
                            value,
                        });
                    } else {
                        slots[index as usize].value = value;
                    }
                    handles.push((index, slots[index as usize].generation));
                }
                (2, Some((index, generation))) => {
                    let slot = &mut slots[index as usize];
                    if slot.generation == generation && slot.value.take().is_some() {
                        slot.generation += 1;
                        free.push(index);
                    }
                }
                (_, Some((index, generation))) => {
                    let slot = &slots[index as usize];
                    match slot.value {
                        Some([x, y, z]) if slot.generation == generation => sum += x * y + z,
                        _ => stale += 1,
                    }
                }
            }
        }
        black_box((sum, stale));
    })
}

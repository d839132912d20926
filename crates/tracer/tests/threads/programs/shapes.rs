//! Ways to start and end threads.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use rayon::prelude::*;

use super::squares;

pub fn joined<const N: usize>() -> String {
    let threads = (0..N as u64).map(|n| thread::spawn(move || squares(5000 * (n + 1))));
    let threads: Vec<_> = threads.collect();
    let sums: Vec<u64> = threads.into_iter().map(|it| it.join().unwrap()).collect();
    format!("{sums:?}")
}

pub fn scoped<const N: usize>() -> String {
    let mut sums = [0; N];
    thread::scope(|scope| {
        for (index, sum) in sums.iter_mut().enumerate() {
            scope.spawn(move || *sum = squares(20_000 * (index as u64 + 1)));
        }
    });
    format!("{sums:?}")
}

pub fn nested<const N: usize>() -> String {
    fn deeper(depth: usize) -> u64 {
        let below = match depth {
            0 => 0,
            _ => thread::spawn(move || deeper(depth - 1)).join().unwrap(),
        };
        below + squares(100 * depth as u64)
    }
    deeper(N).to_string()
}

pub fn short_lived<const N: usize>() -> String {
    let mut sum = 0;
    for round in 0..20 {
        let threads: Vec<_> = (0..N as u64)
            .map(|n| thread::spawn(move || n * round))
            .collect();
        sum += threads
            .into_iter()
            .map(|it| it.join().unwrap())
            .sum::<u64>();
    }
    sum.to_string()
}

pub fn thread_locals<const N: usize>() -> String {
    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(7) };
        static NAME: String = format!("{:?}", thread::current().name().is_some());
        static TABLE: Cell<[u64; 16]> = const { Cell::new([1; 16]) };
    }
    let threads: Vec<_> = (0..N as u64)
        .map(|n| {
            thread::spawn(move || {
                for step in 0..500 {
                    COUNT.set(COUNT.get() + n * step);
                    let mut table = TABLE.get();
                    table[step as usize % 16] += COUNT.get();
                    TABLE.set(table);
                }
                let names = NAME.with(String::len) as u64;
                COUNT.get() + names + TABLE.get().iter().sum::<u64>()
            })
        })
        .collect();
    let sums: Vec<u64> = threads.into_iter().map(|it| it.join().unwrap()).collect();
    format!("{sums:?} {}", TABLE.get().iter().sum::<u64>())
}

pub fn panics<const N: usize>() -> String {
    let threads: Vec<_> = (0..N)
        .map(|n| {
            thread::spawn(move || {
                let dropped = squares(100);
                if n % 2 == 0 {
                    std::panic::resume_unwind(Box::new(dropped + n as u64));
                }
                dropped
            })
        })
        .collect();
    let results: Vec<_> = threads
        .into_iter()
        .map(|it| match it.join() {
            Ok(sum) => sum,
            Err(panic) => *panic.downcast_ref::<u64>().unwrap(),
        })
        .collect();
    format!("{results:?}")
}

pub fn allocations<const N: usize>() -> String {
    let threads: Vec<_> = (0..N as u64)
        .map(|seed| {
            thread::spawn(move || {
                let mut map = BTreeMap::new();
                for n in 0..800_u64 {
                    let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed) >> 40;
                    map.insert(key, format!("{n}"));
                    map.remove(&(key / 2));
                }
                map
            })
        })
        .collect();
    let sizes = threads.into_iter().map(|it| it.join().unwrap());
    let sizes: Vec<_> = sizes
        .map(|map| map.values().map(String::len).sum::<usize>())
        .collect();
    format!("{sizes:?}")
}

pub fn work_stealing<const N: usize>() -> String {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(N)
        .build()
        .unwrap();
    let sum: u64 = pool.install(|| (0..200_u64).into_par_iter().map(|n| squares(n * 3)).sum());
    drop(pool);
    sum.to_string()
}

pub fn sleeps<const N: usize>() -> String {
    let threads: Vec<_> = (0..N as u64)
        .map(|n| {
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(2 * (n % 3) + 1));
                squares(n + 3)
            })
        })
        .collect();
    let sum: u64 = threads.into_iter().map(|it| it.join().unwrap()).sum();
    sum.to_string()
}

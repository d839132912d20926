//! Numbers.

use std::hint::black_box;

use super::super::{Kernel, Random, unseen_1};

pub fn kernels() -> Vec<Kernel> {
    vec![
        unseen_1("fir-f32", fir),
        unseen_1("cholesky", cholesky),
        unseen_1("factorise", factorise),
        unseen_1("perlin", perlin),
        unseen_1("convex-hull", convex_hull),
    ]
}

fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A filter of 24 taps over a signal, and every second sample of it.
fn fir() -> Box<dyn FnMut()> {
    let mut random = Random(523);
    let signal: Vec<f32> = (0..4096).map(|_| unit(&mut random) as f32 - 0.5).collect();
    let taps: [f32; 24] = std::array::from_fn(|tap| 1.0 / (1.0 + tap as f32));
    let mut output = vec![0.0_f32; (signal.len() - taps.len()) / 2];
    Box::new(move || {
        for (number, sample) in output.iter_mut().enumerate() {
            let window = &signal[2 * number..2 * number + taps.len()];
            *sample = window.iter().zip(&taps).map(|(a, b)| a * b).sum();
        }
        black_box(&output);
    })
}

/// Factors a symmetric matrix and solves for one right-hand side.
fn cholesky() -> Box<dyn FnMut()> {
    const SIZE: usize = 40;
    let mut random = Random(541);
    let root: Vec<f64> = (0..SIZE * SIZE).map(|_| unit(&mut random) - 0.5).collect();
    let mut matrix = vec![0.0; SIZE * SIZE];
    for row in 0..SIZE {
        for column in 0..SIZE {
            let dot = (0..SIZE).map(|k| root[row * SIZE + k] * root[column * SIZE + k]);
            matrix[row * SIZE + column] = dot.sum::<f64>() + f64::from(row == column);
        }
    }
    let mut lower = vec![0.0; SIZE * SIZE];
    Box::new(move || {
        for row in 0..SIZE {
            for column in 0..=row {
                let (a, b) = (&lower[row * SIZE..], &lower[column * SIZE..]);
                let sum: f64 = a[..column]
                    .iter()
                    .zip(&b[..column])
                    .map(|(a, b)| a * b)
                    .sum();
                let rest = matrix[row * SIZE + column] - sum;
                lower[row * SIZE + column] = if row == column {
                    rest.sqrt()
                } else {
                    rest / lower[column * SIZE + column]
                };
            }
        }
        let mut solution = [1.0; SIZE];
        for row in 0..SIZE {
            let done: f64 = (0..row).map(|k| lower[row * SIZE + k] * solution[k]).sum();
            solution[row] = (solution[row] - done) / lower[row * SIZE + row];
        }
        for row in (0..SIZE).rev() {
            let done: f64 = (row + 1..SIZE)
                .map(|k| lower[k * SIZE + row] * solution[k])
                .sum();
            solution[row] = (solution[row] - done) / lower[row * SIZE + row];
        }
        black_box(solution);
    })
}

/// Prime factors by trial division, with a wheel.
fn factorise() -> Box<dyn FnMut()> {
    let mut random = Random(547);
    let numbers: Vec<u64> = (0..120).map(|_| (random.next() >> 42) | 1).collect();
    let mut factors: Vec<u32> = Vec::with_capacity(2000);
    Box::new(move || {
        factors.clear();
        for &number in &numbers {
            let mut rest = number;
            let (mut divisor, mut step) = (3, 2);
            while divisor * divisor <= rest {
                while rest % divisor == 0 {
                    factors.push(divisor as u32);
                    rest /= divisor;
                }
                divisor += if divisor < 5 { 2 } else { step };
                step = 6 - step;
            }
            factors.push(rest as u32);
        }
        black_box(&factors);
    })
}

/// Gradient noise in two dimensions, three octaves.
fn perlin() -> Box<dyn FnMut()> {
    let mut random = Random(557);
    let mut table: Vec<u8> = (0..=255).collect();
    for place in (1..256).rev() {
        table.swap(place, (random.next() >> 33) as usize % (place + 1));
    }
    let table: [u8; 256] = table.try_into().unwrap_or([0; 256]);
    let noise = move |x: f32, y: f32| {
        let (column, row) = (x.floor() as i32, y.floor() as i32);
        let (x, y) = (x - column as f32, y - row as f32);
        let fade = |t: f32| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
        let corner = |dx: i32, dy: i32| {
            let first = table[(column + dx & 255) as usize];
            let hash = table[(i32::from(first) + row + dy & 255) as usize];
            let (x, y) = (x - dx as f32, y - dy as f32);
            match hash & 7 {
                0 => x + y,
                1 => x - y,
                2 => y - x,
                3 => -x - y,
                4 => x,
                5 => -x,
                6 => y,
                _ => -y,
            }
        };
        let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
        let (u, v) = (fade(x), fade(y));
        mix(
            mix(corner(0, 0), corner(1, 0), u),
            mix(corner(0, 1), corner(1, 1), u),
            v,
        )
    };
    let mut image = vec![0.0_f32; 40 * 40];
    Box::new(move || {
        for (place, pixel) in image.iter_mut().enumerate() {
            let (x, y) = ((place % 40) as f32 / 11.0, (place / 40) as f32 / 11.0);
            let octaves = [1.0, 2.0, 4.0].map(|scale: f32| noise(x * scale, y * scale) / scale);
            *pixel = octaves.iter().sum();
        }
        black_box(&image);
    })
}

/// The hull of points by a sort and two scans.
fn convex_hull() -> Box<dyn FnMut()> {
    let mut random = Random(563);
    let points: Vec<(f64, f64)> = (0..800)
        .map(|_| {
            let (x, y) = (unit(&mut random) - 0.5, unit(&mut random) - 0.5);
            let scale = 1.0 / (0.2 + (x * x + y * y).sqrt());
            (x * scale, y * scale)
        })
        .collect();
    let mut sorted = points.clone();
    let mut hull: Vec<(f64, f64)> = Vec::with_capacity(100);
    Box::new(move || {
        sorted.copy_from_slice(&points);
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        hull.clear();
        let turns = |a: (f64, f64), b: (f64, f64), c: (f64, f64)| {
            (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) > 0.0
        };
        let mut scan = |points: &mut dyn Iterator<Item = (f64, f64)>| {
            let bottom = hull.len();
            for point in points {
                while hull.len() >= bottom + 2
                    && !turns(hull[hull.len() - 2], hull[hull.len() - 1], point)
                {
                    hull.pop();
                }
                hull.push(point);
            }
        };
        scan(&mut sorted.iter().copied());
        scan(&mut sorted.iter().rev().copied());
        black_box(&hull);
    })
}

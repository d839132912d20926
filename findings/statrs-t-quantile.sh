#!/usr/bin/env bash
# statrs 0.19.1, `StudentsT::inverse_cdf`: with a million degrees of freedom the quantile is far off.
#
# Seen: the 97.5 % quantile with 1e6 degrees of freedom is 1.959848. It should be 1.959966. The
# normal distribution has 1.959964. With 1e4 degrees of freedom all printed digits are right.
#
# A good guess: Student's t approaches the normal distribution, so many degrees of freedom are the
# easy case. The tail, `sf`, is indeed right there.
#
# Why it is wrong: statrs inverts the incomplete beta function to y and returns
# sqrt(freedom * (1 - y) / y). y is about 1 - t^2 / freedom, so its error, divided by t^2 / freedom,
# is the error of t: the closer y is to 1, the fewer digits are left.
#
# Source: statrs 0.19.1, src/distribution/students_t.rs, `inverse_cdf`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >Cargo.toml <<'TOML'
[package]
name = "quantiles"
version = "0.0.0"
edition = "2021"

[dependencies]
statrs = { version = "=0.19.1", default-features = false, features = ["std"] }
TOML
mkdir src
cat >src/main.rs <<'RUST'
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

fn main() {
    let normal = Normal::standard().inverse_cdf(0.975);
    let quantile = |freedom: f64| {
        let t = StudentsT::new(0.0, 1.0, freedom).unwrap();
        let quantile = t.inverse_cdf(0.975);
        println!("{freedom:e}: {quantile:.6}, tail of 1.959966: {:.6}", t.sf(1.959966));
        quantile
    };
    println!("normal: {normal:.6}");
    // Cornish and Fisher 1938: z + (z^3 + z) / (4 n).
    let expected = |freedom: f64| normal + (normal.powi(3) + normal) / (4.0 * freedom);
    assert!((quantile(1e4) - expected(1e4)).abs() < 1e-6);
    let error = quantile(1e6) - expected(1e6);
    println!("error: {error:.6}");
    assert!((error + 0.000118).abs() < 2e-6);
}
RUST
cargo run --quiet
echo 'as stated: wrong in the fourth decimal'

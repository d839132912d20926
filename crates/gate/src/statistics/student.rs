//! Tails and quantiles of Student's t.

use std::cell::RefCell;
use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// With more degrees of freedom, the normal distribution differs by less than a millionth of a
/// standard deviation, and the quantiles of statrs 0.19.1 are wrong.
const MAX_DEGREES_OF_FREEDOM: f64 = 1e6;

/// Returns P(T > `t`) with `degrees_of_freedom`. Never 1 − cdf, which reaches 0 long before the
/// tail does.
pub fn upper_tail(t: f64, degrees_of_freedom: f64) -> f64 {
    if degrees_of_freedom > MAX_DEGREES_OF_FREEDOM {
        return Normal::standard().sf(t);
    }
    match StudentsT::new(0.0, 1.0, degrees_of_freedom) {
        Ok(distribution) => distribution.sf(t),
        // No degrees of freedom, no knowledge.
        Err(_) => 1.0,
    }
}

/// Returns the t that is exceeded with probability `tail` (0 < `tail` < 0.5); infinite without
/// degrees of freedom.
pub fn upper_quantile(tail: f64, degrees_of_freedom: f64) -> f64 {
    if degrees_of_freedom > MAX_DEGREES_OF_FREEDOM {
        return -Normal::standard().inverse_cdf(tail);
    }
    match StudentsT::new(0.0, 1.0, degrees_of_freedom) {
        Ok(distribution) => -distribution.inverse_cdf(tail),
        Err(_) => f64::INFINITY,
    }
}

/// Quantiles of one tail for intervals that are shown but decide nothing.
///
/// Inverting costs about ten microseconds, which would matter in a suite of 10 000 benchmarks.
/// Degrees of freedom are rounded down to tenths, which widens an interval by less than 2 %.
pub struct Quantiles {
    tail: f64,
    by_tenths: RefCell<HashMap<u64, f64>>,
}

impl Quantiles {
    /// Quantiles that are exceeded with probability `tail`.
    pub fn for_tail(tail: f64) -> Quantiles {
        Quantiles {
            tail,
            by_tenths: RefCell::default(),
        }
    }

    /// See [`upper_quantile`].
    pub fn at(&self, degrees_of_freedom: f64) -> f64 {
        let tenths = (degrees_of_freedom * 10.0).floor().max(1.0) as u64;
        *self
            .by_tenths
            .borrow_mut()
            .entry(tenths)
            .or_insert_with(|| upper_quantile(self.tail, tenths as f64 / 10.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 208 tails by mpmath 1.3.0 with 40 digits: half of the regularized incomplete beta function
    /// of df/2 and 1/2 at df / (df + t²). The quantile of each is t.
    #[test]
    fn tails_and_quantiles_agree_with_mpmath() {
        for line in include_str!("student_tails.csv").lines() {
            let mut fields = line.split(',').map(|field| field.parse::<f64>().unwrap());
            let [df, t, tail] = std::array::from_fn(|_| fields.next().unwrap());
            let found = upper_tail(t, df);
            assert!((found / tail - 1.0).abs() < 1e-8, "{line}: tail {found}");
            let found = upper_quantile(tail, df);
            assert!((found / t - 1.0).abs() < 1e-6, "{line}: quantile {found}");
        }
    }

    /// scipy 1.17.1: `scipy.stats.norm.isf`.
    #[test]
    fn very_many_degrees_of_freedom_are_normal() {
        for df in [1.1e6, 1e9, 1e15, 1e300, f64::INFINITY] {
            let t = upper_quantile(0.025, df);
            assert!((t / 1.959963984540054 - 1.0).abs() < 1e-9, "{df}: {t}");
            let tail = upper_tail(4.753424308822899, df);
            assert!((tail / 1e-6 - 1.0).abs() < 1e-8, "{df}: {tail}");
        }
        for df in [f64::NAN, 0.0, -1.0] {
            assert_eq!(upper_tail(3.0, df), 1.0);
            assert_eq!(upper_quantile(0.025, df), f64::INFINITY);
        }
    }

    /// From scipy 1.17.1: `scipy.stats.t.sf(t, df)`.
    #[test]
    fn tails_agree_with_scipy() {
        for (t, df, expected) in [
            (0.5, 3.2, 0.32472508900659736),
            (4.86, 21.0, 4.173751738995919e-05),
            (12.0, 9.5, 2.3562585071971617e-07),
            (60.0, 20.0, 2.340325799678465e-24),
            (-2.0, 8.0, 0.9597418810213687),
        ] {
            let tail = upper_tail(t, df);
            assert!((tail / expected - 1.0).abs() < 1e-8, "{t} {df}: {tail}");
        }
        assert_eq!(upper_tail(3.0, 0.0), 1.0);
        assert_eq!(upper_tail(3.0, f64::NAN), 1.0);
    }

    /// From scipy 1.17.1: `scipy.stats.t.isf(tail, df)`.
    #[test]
    fn quantiles_agree_with_scipy() {
        for (tail, df, expected) in [
            (0.025, 9.7, 2.237515123700105),
            (0.05 / 1200.0, 21.0, 4.860716713333056),
            (4e-7, 12.5, 9.01227045454724),
            (0.05, 3.0, 2.353363434801824),
        ] {
            let t = upper_quantile(tail, df);
            assert!((t / expected - 1.0).abs() < 1e-8, "{tail} {df}: {t}");
        }
        assert_eq!(upper_quantile(0.05, 0.0), f64::INFINITY);
    }

    #[test]
    fn rounded_degrees_of_freedom_never_narrow() {
        let quantiles = Quantiles::for_tail(0.025);
        for df in [2.0, 3.37, 9.99, 24.05] {
            let (rounded, exact) = (quantiles.at(df), upper_quantile(0.025, df));
            assert!(rounded >= exact - 1e-12, "{df}");
            assert!(rounded < exact * 1.02, "{df}");
        }
    }
}

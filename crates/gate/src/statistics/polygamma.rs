//! The second and third derivatives of ln Γ, which statrs lacks.
//!
//! Below 10 by the recurrences ψ′(x) = ψ′(x + 1) + 1/x² and ψ″(x) = ψ″(x + 1) − 2/x³, above by the
//! asymptotic series (Abramowitz & Stegun 6.4.12 and 6.4.13).

const SERIES_FROM: f64 = 10.0;

/// Returns ψ′(x) for x > 0.
pub fn trigamma(x: f64) -> f64 {
    let mut x = x;
    let mut below = 0.0;
    while x < SERIES_FROM {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail =
        1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0))));
    below + 1.0 / x + y / 2.0 + y / x * tail
}

/// Returns ψ″(x) for x > 0.
pub fn tetragamma(x: f64) -> f64 {
    let mut x = x;
    let mut below = 0.0;
    while x < SERIES_FROM {
        below -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail = 1.0 / 2.0 - y * (1.0 / 6.0 - y * (1.0 / 6.0 - y * (3.0 / 10.0 - y * (5.0 / 6.0))));
    below - y - y / x - y * y * tail
}

/// Returns the x > 0 at which ψ′(x) = `value`, for `value` > 0.
///
/// Uses Newton's method on 1/ψ′, which is nearly linear and convex, so that it converges from below
/// without overshooting (Smyth 2004, appendix).
pub fn inverse_trigamma(value: f64) -> f64 {
    let mut x = 0.5 + 1.0 / value;
    for _ in 0..50 {
        let trigamma = trigamma(x);
        let step = trigamma * (1.0 - trigamma / value) / tetragamma(x);
        x += step;
        if step.abs() < 1e-12 * x {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From scipy 1.17.1: `scipy.special.polygamma([1, 2], x)`.
    #[test]
    fn derivatives_agree_with_scipy() {
        for (x, first, second) in [
            (0.5, 4.93480220054468, -16.828796644234316),
            (1.0, 1.6449340668482266, -2.404113806319188),
            (2.0, 0.6449340668482266, -0.4041138063191886),
            (2.25, 0.5573291545071107, -0.3037399375369204),
            (4.5, 0.24872510303901035, -0.061556821321027695),
            (9.5, 0.11099728846909902, -0.012307845807709338),
            (33.0, 0.03076680402030209, -0.0009465216039640907),
        ] {
            assert!((trigamma(x) / first - 1.0).abs() < 1e-10, "{x}");
            assert!((tetragamma(x) / second - 1.0).abs() < 1e-10, "{x}");
        }
    }

    #[test]
    fn inverse_inverts() {
        for x in [0.5, 0.9, 2.0, 3.0, 17.0, 200.0] {
            let back = inverse_trigamma(trigamma(x));
            assert!((back - x).abs() < 1e-9 * x, "{x}: {back}");
        }
    }
}

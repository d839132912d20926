//! Probabilities as text.

/// `= 0.012`, `< 1e-12`.
pub fn equals(p: f64) -> String {
    if p < 1e-12 {
        "< 1e-12".to_owned()
    } else {
        format!("= {}", probability(p))
    }
}

/// `0.012`, `1.2e-5`.
pub fn probability(p: f64) -> String {
    if p >= 0.001 {
        format!("{p:.3}")
    } else {
        format!("{p:.1e}")
    }
}

//! Numbers for people: four digits and a unit.

use std::fmt::Display;

use topdown_gate::launches_made::LaunchesMade;

use topdown_terminal::count_of;

/// Formats a number of slots per iteration: `999.9`, `12.34K`.
pub fn slots(value: f64) -> String {
    scaled(value, &["", "K", "M", "G", "T"])
}

/// Formats a count that is mostly whole: `3`, `4.500`, `12.34K`.
pub fn amount(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 10_000.0 {
        return format!("{value}");
    }
    slots(value)
}

/// Formats a number of bytes: `96 B`, `12.34 kB`.
pub fn bytes(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 10_000.0 {
        return format!("{value} B");
    }
    scaled(value, &[" B", " kB", " MB", " GB", " TB"])
}

/// Formats a time: `250.5 ns`, `1.234 ms`. `ascii` avoids the µ.
pub fn time_ns(value: f64, ascii: bool) -> String {
    let micro = if ascii { " us" } else { " µs" };
    scaled(value, &[" ns", micro, " ms", " s"])
}

/// From here on, numbers use scientific notation: 100 000 % is a factor of 1000.
const FEW_DIGITS: f64 = 1e5;

/// `10 launches`, `8 to 10 launches`.
pub fn timed_launches(made: &LaunchesMade) -> String {
    match made.fewest {
        Some(fewest) => format!("{fewest} to {}", count_of(made.most, "launch")),
        None => count_of(made.most, "launch"),
    }
}

/// `8 to 10 launches`, `10 launches and 2 on the model`.
pub fn launches_made(made: &LaunchesMade) -> String {
    with_modelled(timed_launches(made), made.modelled)
}

/// `10 launches`, `10 launches and 2 on the model`.
pub fn launches_in_words<N: Display>(count: N, modelled: Option<N>) -> String {
    with_modelled(count_of(count, "launch"), modelled)
}

fn with_modelled(launches: String, modelled: Option<impl Display>) -> String {
    match modelled {
        Some(modelled) => format!("{launches} and {modelled} on the model"),
        None => launches,
    }
}

/// Formats a fraction as a percentage with one decimal. Zero after rounding has no sign: a category
/// can be negative within its resolution.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent.abs() >= FEW_DIGITS {
        return format!("{percent:.1e}");
    }
    match format!("{percent:.1}") {
        text if text == "-0.0" => "0.0".to_owned(),
        text => text,
    }
}

/// Formats a fraction as `+8.3 %`.
pub fn percent_change(fraction: f64) -> String {
    format!("{} %", points(fraction))
}

/// Formats a fraction as `+8.3`, in percent or percentage points.
pub fn points(fraction: f64) -> String {
    match percent(fraction) {
        text if text == "0.0" || text.starts_with('-') => text,
        text => format!("+{text}"),
    }
}

fn scaled(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut step = 0;
    // 999.95 would be printed as 1000.0.
    while value.abs() >= 999.95 && step + 1 < units.len() {
        value /= 1000.0;
        step += 1;
    }
    let decimals = match value.abs() {
        v if v >= FEW_DIGITS => return format!("{value:.3e}{}", units[step]),
        v if v < 9.9995 => 3,
        v if v < 99.995 => 2,
        _ => 1,
    };
    format!("{value:.decimals$}{}", units[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_at_every_size() {
        for (value, text) in [
            (0.0, "0.000"),
            (9.9996, "10.00"),
            (99.996, "100.0"),
            (999.96, "1.000K"),
            (12_345.0, "12.35K"),
            (1.5e15, "1500.0T"),
        ] {
            assert_eq!(slots(value), text);
        }
        assert_eq!(time_ns(1234.0, false), "1.234 µs");
        assert_eq!(time_ns(1234.0, true), "1.234 us");
        assert_eq!(time_ns(90e9, false), "90.00 s");
    }

    #[test]
    fn extreme_numbers_are_short() {
        assert_eq!(points(999.0), "+99900.0");
        assert_eq!(points(1000.0), "+1.0e5");
        assert_eq!(points(-1.5e30), "-1.5e32");
        assert_eq!(points(f64::INFINITY), "+inf");
        assert_eq!(slots(1e30), "1.000e18T");
        assert_eq!(time_ns(1e18, false), "1.000e9 s");
    }

    #[test]
    fn percent_has_no_negative_zero() {
        assert_eq!(percent(-0.0001), "0.0");
        assert_eq!(percent(-0.004), "-0.4");
        assert_eq!(percent(0.5), "50.0");
    }

    #[test]
    fn a_change_has_a_sign_unless_it_rounds_to_zero() {
        assert_eq!(percent_change(-0.0001), "0.0 %");
        assert_eq!(percent_change(0.0001), "0.0 %");
        assert_eq!(percent_change(0.083), "+8.3 %");
        assert_eq!(points(-0.5), "-50.0");
    }
}

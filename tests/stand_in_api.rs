//! Everything public in criterion 0.8, compiled against criterion and against this library: what
//! compiles with one compiles with the other.

macro_rules! compiled_against {
    ($module:ident, $package:ident) => {
        #[allow(dead_code, reason = "compiling them is the test")]
        #[allow(
            clippy::type_complexity,
            clippy::unnecessary_fallible_conversions,
            reason = "users write such sources"
        )]
        mod $module {
            use ::$package as criterion;

            include!("criterion_api/sources.rs");
        }
    };
}

compiled_against!(original, criterion);
compiled_against!(stand_in, criterion_topdown);

#[test]
fn wall_time_measures_outside_of_benchmarks() {
    let of_original = original::wall_time_is_a_value();
    let of_stand_in = stand_in::wall_time_is_a_value();
    let second = std::time::Duration::from_secs(1);
    assert!(of_original < second && of_stand_in < second);
}

#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::arm_specification;

fuzz_target!(|bytes: &[u8]| arm_specification(bytes));

#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::accepted;

fuzz_target!(|bytes: &[u8]| accepted(bytes));

#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::comparison;

fuzz_target!(|bytes: &[u8]| comparison(bytes));

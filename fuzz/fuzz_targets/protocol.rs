#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::protocol;

fuzz_target!(|bytes: &[u8]| protocol(bytes));

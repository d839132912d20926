#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::record;

fuzz_target!(|bytes: &[u8]| record(bytes));

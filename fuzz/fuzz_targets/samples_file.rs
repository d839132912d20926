#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::samples_file;

fuzz_target!(|bytes: &[u8]| samples_file(bytes));

#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::run_file;

fuzz_target!(|bytes: &[u8]| run_file(bytes));

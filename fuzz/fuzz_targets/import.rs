#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::import;

fuzz_target!(|bytes: &[u8]| import(bytes));

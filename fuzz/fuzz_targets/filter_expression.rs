#![no_main]

use libfuzzer_sys::fuzz_target;
use topdown_fuzz::fuzzing::filter_expression;

fuzz_target!(|bytes: &[u8]| filter_expression(bytes));

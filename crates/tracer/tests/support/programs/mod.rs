//! Programs of different nature, small enough to be single-stepped. Each returns a value that
//! depends on all of its work.

mod collections;
mod control_flow;
mod numbers;
mod surroundings;
mod text;

/// A name and what to run.
pub type Program = (&'static str, fn() -> u64);

/// Programs whose executed instructions depend on nothing but the state of the process.
pub const PROGRAMS: &[Program] = &[
    ("sort", collections::sort),
    ("stable sort", collections::stable_sort),
    ("binary search", collections::binary_search),
    ("hash map", collections::hash_map),
    ("hash set of strings", collections::hash_set_of_strings),
    ("b-tree", collections::b_tree),
    ("heap and deque", collections::heap_and_deque),
    ("parse", text::parse),
    ("format", text::format),
    ("floats to text and back", text::floats_to_text_and_back),
    ("utf-8", text::utf8),
    ("json", text::json),
    ("regular expression", text::regular_expression),
    ("sha-256", numbers::sha256),
    ("blake3", numbers::blake3_hash),
    ("aes", numbers::aes_rounds),
    ("matrix product", numbers::matrix_product),
    ("division", numbers::division),
    ("128-bit division", numbers::wide_division),
    ("x87", numbers::x87),
    ("rounding modes", numbers::rounding_modes),
    ("address forms", numbers::address_forms),
    ("libm", numbers::libm),
    ("recursion", control_flow::recursion),
    ("function pointers", control_flow::function_pointers),
    ("trait objects", control_flow::trait_objects),
    ("jump table", control_flow::jump_table),
    ("string instructions", numbers::string_instructions),
    ("count branches", control_flow::count_branches),
    ("atomics", numbers::atomics),
    ("panic and catch", control_flow::panic_and_catch),
    ("nested panic with drops", control_flow::panic_with_drops),
    ("backtrace", control_flow::backtrace),
    ("file", surroundings::file),
    ("environment", surroundings::environment),
    ("dlopen", surroundings::dlopen),
    ("setjmp and longjmp", control_flow::jump_back),
    ("large stack frame", control_flow::large_stack_frame),
    ("allocator", collections::allocator),
    ("avx2 gather", numbers::avx2_gather),
    ("avx-512", numbers::avx512),
    ("compression", text::compression),
    ("decompression", text::decompression),
    ("thread", surroundings::thread),
    ("lazy binding", surroundings::lazy_binding),
    ("text search", text::text_search),
    ("edit distance", text::edit_distance),
    ("linked list", collections::linked_list),
    ("bits", numbers::bits),
    ("single-precision sum", numbers::single_precision_sum),
    ("sort of strings", collections::sort_of_strings),
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn random_numbers(count: usize) -> Vec<u64> {
    let mut random = Random(0x1234_5678_9abc_def1);
    (0..count).map(|_| random.next()).collect()
}

fn fold(values: impl IntoIterator<Item = u64>) -> u64 {
    values
        .into_iter()
        .fold(7, |sum, value| sum.wrapping_mul(31).wrapping_add(value))
}

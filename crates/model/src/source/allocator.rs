//! Entry points of this program's allocator.
//!
//! Rust code calls `__rust_alloc` and its siblings, which the symbol table names. A compiler may
//! inline them, down to the functions of C, whose addresses the linker knows, or of another
//! allocator in C. All of these are entry points.
//!
//! An allocator written in Rust alone can be inlined entirely. So allocations are unknown unless
//! `__rust_alloc` leads to a function of C.

use topdown_tracer::Arguments;
use topdown_tracer::iced_x86::{Decoder, DecoderOptions, FlowControl, OpKind};

use super::program_symbols::{ProgramSymbols, Symbol};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Allocate {
        bytes: Amount,
    },
    /// Its first argument is the old pointer.
    Reallocate {
        /// The new size.
        bytes: Amount,
    },
    /// Its first argument is the pointer.
    Free {
        bytes: Option<Amount>,
    },
}

/// Bytes of a call, by its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// The argument with this index.
    Argument(usize),
    /// The product of the first two.
    Product,
}

impl Amount {
    pub(super) fn of(self, arguments: &Arguments) -> u64 {
        let values = &arguments.integers;
        match self {
            Amount::Argument(index) => values[index],
            Amount::Product => values[0].wrapping_mul(values[1]),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    ip: u64,
    pub(super) operation: Operation,
    /// Whether it is one of the functions that the compiler calls, which the program's global
    /// allocator implements.
    pub(super) is_of_rust: bool,
}

const fn allocate(bytes: usize) -> Operation {
    Operation::Allocate {
        bytes: Amount::Argument(bytes),
    }
}

const fn reallocate(bytes: usize) -> Operation {
    Operation::Reallocate {
        bytes: Amount::Argument(bytes),
    }
}

const FREE: Operation = Operation::Free { bytes: None };

const FREE_OF_KNOWN_SIZE: Operation = Operation::Free {
    bytes: Some(Amount::Argument(1)),
};

/// The functions of `alloc::alloc` without the beginnings of their names, by their signatures
/// there: (size, align), (pointer, size, align), (pointer, size, align, new size).
const OF_RUST: [(&str, Operation); 4] = [
    ("alloc", allocate(0)),
    ("alloc_zeroed", allocate(0)),
    ("realloc", reallocate(3)),
    ("dealloc", FREE_OF_KNOWN_SIZE),
];

/// What implements them: the compiler's shim, std's default allocator, and in older compilers the
/// program's own.
const PREFIXES_OF_RUST: [&str; 3] = ["__rust_", "__rdl_", "__rg_"];

/// Functions of C allocators that Rust programs link, by their manuals: mimalloc, jemalloc.
const OF_LIBRARIES: [(&str, Operation); 15] = [
    ("mi_malloc", allocate(0)),
    ("mi_zalloc", allocate(0)),
    ("mi_malloc_aligned", allocate(0)),
    ("mi_zalloc_aligned", allocate(0)),
    ("mi_realloc", reallocate(1)),
    ("mi_realloc_aligned", reallocate(1)),
    ("mi_free", FREE),
    ("_rjem_malloc", allocate(0)),
    (
        "_rjem_calloc",
        Operation::Allocate {
            bytes: Amount::Product,
        },
    ),
    ("_rjem_mallocx", allocate(0)),
    ("_rjem_realloc", reallocate(1)),
    ("_rjem_rallocx", reallocate(1)),
    ("_rjem_free", FREE),
    ("_rjem_dallocx", FREE),
    ("_rjem_sdallocx", FREE_OF_KNOWN_SIZE),
];

/// Functions of C, wherever they were linked from.
fn of_c() -> [Entry; 7] {
    let entry = |function: *const (), operation| Entry {
        ip: function as u64,
        operation,
        is_of_rust: false,
    };
    let product = Operation::Allocate {
        bytes: Amount::Product,
    };
    [
        entry(libc::malloc as *const (), allocate(0)),
        entry(libc::calloc as *const (), product),
        entry(libc::realloc as *const (), reallocate(1)),
        entry(libc::free as *const (), FREE),
        entry(libc::posix_memalign as *const (), allocate(2)),
        entry(libc::aligned_alloc as *const (), allocate(1)),
        entry(libc::memalign as *const (), allocate(1)),
    ]
}

const MAX_ENTRIES: usize = 7 + OF_LIBRARIES.len() + OF_RUST.len() * PREFIXES_OF_RUST.len();

/// The entry points of this program's allocator.
pub(super) struct Allocator {
    /// In ascending order. Those that are not in use have the highest address.
    entries: [Entry; MAX_ENTRIES],
}

impl Allocator {
    /// Returns `None` if they cannot be found, as in a program without symbols. Does not allocate.
    pub(super) fn for_this_program() -> Option<Allocator> {
        let symbols = ProgramSymbols::for_this_process()?;
        let mut allocator = Allocator {
            entries: [Entry {
                ip: u64::MAX,
                operation: FREE,
                is_of_rust: false,
            }; MAX_ENTRIES],
        };
        for entry in of_c() {
            allocator.insert(entry);
        }
        let mut rust_alloc = None;
        for (name, symbol) in symbols.functions() {
            if rust_alloc.is_none() && is_rust_alloc(name) {
                rust_alloc = Some(symbol);
            }
            if let Some(entry) = entry_of(name, symbol.ip) {
                allocator.insert(entry);
            }
        }
        let leads_to_c = allocator.leads_to_c(&symbols, rust_alloc?, MAX_CALLS);
        leads_to_c.then_some(allocator)
    }

    /// Inserts an entry in order, if there is room.
    // Every launched bench would compile a sorting algorithm for these few entries.
    fn insert(&mut self, entry: Entry) {
        let last = MAX_ENTRIES - 1;
        if self.entries[last].ip != u64::MAX {
            return;
        }
        let at = self.entries.partition_point(|before| before.ip <= entry.ip);
        self.entries.copy_within(at..last, at + 1);
        self.entries[at] = entry;
    }

    /// Returns what a call of the function at `ip` does, if it is an entry point.
    pub(super) fn operation_at(&self, ip: u64) -> Option<&Entry> {
        let entries = &self.entries;
        let place = entries.binary_search_by_key(&ip, |entry| entry.ip).ok()?;
        Some(&entries[place])
    }

    /// Returns whether the code of `function` calls a function of C, directly or through this many
    /// others.
    fn leads_to_c(&self, symbols: &ProgramSymbols, function: Symbol, calls: u32) -> bool {
        let Some(code) = symbols.code(function) else {
            return false;
        };
        let decoder = Decoder::with_ip(64, code, function.ip, DecoderOptions::NONE);
        decoder.into_iter().any(|instruction| {
            let target = match instruction.flow_control() {
                FlowControl::Call | FlowControl::UnconditionalBranch
                    if instruction.op0_kind() == OpKind::NearBranch64 =>
                {
                    Some(instruction.near_branch_target())
                }
                FlowControl::IndirectCall | FlowControl::IndirectBranch
                    if instruction.is_ip_rel_memory_operand() =>
                {
                    symbols.pointer_at(instruction.ip_rel_memory_address())
                }
                _ => None,
            };
            let own = function.ip..function.ip + code.len() as u64;
            let Some(target) = target.filter(|target| !own.contains(target)) else {
                return false;
            };
            match self.operation_at(target) {
                Some(entry) if !entry.is_of_rust => true,
                _ if calls == 0 => false,
                _ => symbols
                    .function_at(target)
                    .is_some_and(|callee| self.leads_to_c(symbols, callee, calls - 1)),
            }
        })
    }
}

/// From `__rust_alloc` through std's or the program's own allocator to `malloc`.
const MAX_CALLS: u32 = 4;

fn entry_of(name: &str, ip: u64) -> Option<Entry> {
    let of_library = || {
        let mut known = OF_LIBRARIES.iter();
        Some((known.find(|known| known.0 == name)?.1, false))
    };
    let of_rust = || {
        let name = rust_name(name)?;
        let mut prefixes = PREFIXES_OF_RUST.iter();
        let rest = prefixes.find_map(|prefix| name.strip_prefix(prefix))?;
        Some((OF_RUST.iter().find(|known| known.0 == rest)?.1, true))
    };
    let (operation, is_of_rust) = of_rust().or_else(of_library)?;
    Some(Entry {
        ip,
        operation,
        is_of_rust,
    })
}

fn is_rust_alloc(name: &str) -> bool {
    rust_name(name) == Some("__rust_alloc")
}

/// Returns the name of a function that the compiler knows by name: `__rust_alloc` for itself, and
/// since Rust 1.88 for `_RNvCs4fqI2P2rA04_7___rustc12___rust_alloc`.
fn rust_name(symbol: &str) -> Option<&str> {
    if let Some((_, name)) = symbol.split_once("7___rustc") {
        // The length, an underscore since the name begins with one, and the name.
        let name = name.trim_start_matches(|c: char| c.is_ascii_digit());
        return name.strip_prefix('_').filter(|name| name.starts_with("__"));
    }
    symbol.starts_with("__r").then_some(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_both_forms() {
        for name in ["__rust_alloc", "_RNvCs4fqI2P2rA04_7___rustc12___rust_alloc"] {
            assert!(is_rust_alloc(name), "{name}");
        }
        let operation = |name| entry_of(name, 1).map(|entry| entry.operation);
        let mangled = "_RNvCs4fqI2P2rA04_7___rustc14___rust_realloc";
        assert_eq!(operation(mangled), Some(reallocate(3)));
        assert_eq!(operation("__rdl_alloc_zeroed"), Some(allocate(0)));
        assert_eq!(operation("__rg_dealloc"), Some(FREE_OF_KNOWN_SIZE));
        assert_eq!(operation("mi_free"), Some(FREE));
        for other in [
            "_RNvCs4fqI2P2rA04_7___rustc26___rust_alloc_error_handler",
            "_RNvCs4fqI2P2rA04_7___rustc35___rust_no_alloc_shim_is_unstable_v2",
            "__rust_start_panic",
            "my__rust_alloc",
        ] {
            assert_eq!(operation(other), None, "{other}");
        }
    }

    #[test]
    fn this_test_has_an_allocator() {
        let allocator = Allocator::for_this_program().unwrap();
        let malloc = allocator.operation_at(libc::malloc as *const () as u64);
        assert_eq!(malloc.unwrap().operation, allocate(0));
        let of_rust = allocator.entries.iter().filter(|entry| entry.is_of_rust);
        assert!(of_rust.count() >= OF_RUST.len());
        assert_eq!(allocator.operation_at(0x1000), None);
    }
}

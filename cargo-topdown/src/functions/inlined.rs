//! The functions that the compiler inlined, from the debug information of an executable.
//!
//! A block of code is often made of several functions, the standard library's among them, which
//! nobody looks for. So a block counts for the innermost function that is not the standard
//! library's, and of several such for the one that most of its bytes are of.

use std::ops::Range;
use std::path::Path;

use addr2line::Loader;

/// Where the standard library's sources were when it was built: `/rustc/HASH/library/core/…`, and
/// where they are if rustup has installed them.
const STANDARD_LIBRARY: [&str; 2] = ["/rustc/", "/lib/rustlib/src/rust/library/"];

/// A block is looked at once for so many bytes: about every instruction.
const STEP_BYTES: usize = 4;

/// The debug information of one file.
pub struct InlinedFunctions {
    loader: Loader,
}

impl InlinedFunctions {
    /// `None` for a file that is not an object file.
    pub fn read(path: &Path) -> Option<InlinedFunctions> {
        let loader = Loader::new(path).ok()?;
        Some(InlinedFunctions { loader })
    }

    /// The mangled name of the inlined function that most of these addresses of the file belong to;
    /// `None` where that is the function itself that they are in, or nothing tells.
    pub fn most_of(&self, addresses: Range<u64>) -> Option<String> {
        let mut votes: Vec<(Option<String>, usize)> = Vec::new();
        for address in addresses.step_by(STEP_BYTES) {
            let name = self.innermost(address);
            match votes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => votes.push((name, 1)),
            }
        }
        // Of equals the first one.
        let most = votes.into_iter().rev().max_by_key(|(_, count)| *count)?;
        most.0
    }

    /// The file and the line at an address of the file.
    pub fn line_of(&self, address: u64) -> Option<String> {
        let location = self.loader.find_location(address).ok()??;
        Some(format!("{}:{}", location.file?, location.line?))
    }

    /// The innermost function at `address` that is not the standard library's, if it is inlined.
    fn innermost(&self, address: u64) -> Option<String> {
        let mut frames = self.loader.find_frames(address).ok()?;
        let mut found = None;
        while let Ok(Some(frame)) = frames.next() {
            // The outermost frame is not inlined: there has to be another behind what was found.
            if found.is_some() {
                return found;
            }
            let file = frame.location.and_then(|location| location.file);
            let is_standard = file.is_some_and(|f| STANDARD_LIBRARY.iter().any(|s| f.contains(s)));
            if !is_standard {
                let name = frame.function?.raw_name().ok()?.into_owned();
                found = Some(match (is_mangled(&name), file) {
                    (false, Some(file)) => format!("{name} ({})", shortened(file)),
                    _ => name,
                });
            }
        }
        None
    }
}

/// Whether a name says in which module it is. Line tables alone have the last part of a path.
fn is_mangled(name: &str) -> bool {
    name.starts_with("_R") || name.starts_with("_ZN")
}

/// The end of a path: what stands before it differs between machines and work trees.
fn shortened(file: &str) -> &str {
    let mut slashes = file.rmatch_indices('/').map(|(index, _)| index);
    slashes.nth(1).map_or(file, |index| &file[index + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    const SOURCE: &str = "
        mod kernel {
            #[inline(always)]
            pub fn divide(rounds: u64) -> u64 {
                let mut dividend = u64::MAX;
                for _ in 0..rounds {
                    dividend = (dividend / std::hint::black_box(7)) | 1 << 63;
                }
                dividend
            }
        }
        #[unsafe(no_mangle)]
        #[inline(never)]
        fn outer(rounds: u64) -> u64 {
            kernel::divide(rounds)
        }
        fn main() {
            println!(\"{}\", outer(std::hint::black_box(100)));
        }
    ";

    /// The functions of the bytes of `outer`, as votes over small blocks.
    #[test]
    #[cfg(target_os = "linux")]
    fn an_inlined_function_is_known_with_debug_information_alone() {
        use object::read::{Object, ObjectSymbol};
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("program.rs");
        fs::write(&source, SOURCE).unwrap();
        let found = |debug_information: &str| {
            let program = directory.path().join("program");
            let built = Command::new("rustc")
                .args(["--edition=2024", "-O"])
                .arg(format!("-Cdebuginfo={debug_information}"))
                .arg(&source)
                .arg("-o")
                .arg(&program)
                .status();
            assert!(built.unwrap().success());
            let bytes = fs::read(&program).unwrap();
            let file = object::read::File::parse(&*bytes).unwrap();
            let outer = file.symbol_by_name("outer").unwrap();
            let addresses = outer.address()..outer.address() + outer.size();
            InlinedFunctions::read(&program).unwrap().most_of(addresses)
        };
        let name = found("1").unwrap();
        let demangled = format!("{:#}", rustc_demangle::demangle(&name));
        assert_eq!(demangled, "program::kernel::divide");
        // Line tables name the function without its path, and the file that it is in.
        let name = found("line-tables-only").unwrap();
        let directory = directory.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(name, format!("divide ({directory}/program.rs)"));
        assert_eq!(found("0"), None);
    }

    #[test]
    fn what_is_no_object_file_has_no_functions() {
        assert!(InlinedFunctions::read(Path::new("/nowhere")).is_none());
        assert!(InlinedFunctions::read(Path::new(env!("CARGO_MANIFEST_DIR"))).is_none());
    }
}

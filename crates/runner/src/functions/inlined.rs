//! Finds inlined functions from an executable's debug information.
//!
//! A block often contains code of several functions, many of them in the standard library. It is
//! attributed to the innermost function outside the standard library; of several, to the one with
//! the most bytes.

use std::ops::Range;
use std::path::Path;

use addr2line::Loader;

/// Where the sources of the standard library (`/rustc/HASH/library/core/…`) and of the crates in it
/// (`/rust/deps/hashbrown-0.16.1/…`) were when it was built, and where rustup installs them.
const STANDARD_LIBRARY: [&str; 3] = ["/rustc/", "/rust/deps/", "/lib/rustlib/src/rust/library/"];

/// Distance of lookups of a block's functions, in bytes: about every instruction.
const STEP_BYTES: usize = 4;

/// The debug information of one file.
pub struct InlinedFunctions {
    loader: Loader,
}

impl InlinedFunctions {
    /// Returns `None` if the file is not an object file.
    pub fn read(path: &Path) -> Option<InlinedFunctions> {
        let loader = Loader::new(path).ok()?;
        Some(InlinedFunctions { loader })
    }

    /// Returns the mangled name of the inlined function that has the most of these addresses;
    /// `None` if most belong to the enclosing function itself or are unknown.
    pub fn most_frequent(&self, addresses: Range<u64>) -> Option<String> {
        let mut votes: Vec<(Option<String>, usize)> = Vec::new();
        for address in addresses.step_by(STEP_BYTES) {
            let name = self.innermost(address);
            match votes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => votes.push((name, 1)),
            }
        }
        // On a tie, the first wins.
        let most = votes.into_iter().rev().max_by_key(|(_, count)| *count)?;
        most.0
    }

    /// Returns the functions that contain the code at `addresses`, from the enclosing one to the
    /// innermost one outside the standard library, which is that of
    /// [`most_frequent`](Self::most_frequent). Empty without debug information.
    pub fn frames_of(&self, addresses: Range<u64>) -> Vec<InlinedFrame> {
        let innermost = self.most_frequent(addresses.clone());
        let mut chains = addresses.step_by(STEP_BYTES).map(|a| self.frames_at(a));
        let is_it = |chain: &Vec<InlinedFrame>| match chain.as_slice() {
            [] => false,
            [_] => innermost.is_none(),
            [.., last] => last.name == innermost,
        };
        chains.find(is_it).unwrap_or_default()
    }

    /// Returns the functions that contain an instruction, the enclosing one first.
    pub fn frames_at(&self, address: u64) -> Vec<InlinedFrame> {
        let Ok(mut frames) = self.loader.find_frames(address) else {
            return Vec::new();
        };
        let mut chain = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let file = frame.location.as_ref().and_then(|location| location.file);
            let line = frame.location.as_ref().and_then(|location| location.line);
            let name = frame.function.as_ref();
            let name = name.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            chain.push((
                is_standard(file),
                InlinedFrame {
                    name: name.map(|name| with_file(name, file)),
                    line: file.map(str::to_owned).zip(line),
                },
            ));
        }
        let count = chain.len();
        let kept = chain.into_iter().enumerate();
        let kept = kept.filter(|(index, (standard, _))| index + 1 == count || !standard);
        let mut kept: Vec<InlinedFrame> = kept.map(|(_, (_, frame))| frame).collect();
        kept.reverse();
        kept
    }

    /// Returns the mangled name of the innermost function at `address`, if that is inlined and in
    /// the standard library.
    pub fn inlined_standard(&self, address: u64) -> Option<String> {
        let mut frames = self.loader.find_frames(address).ok()?;
        let first = frames.next().ok()??;
        let is_inlined = matches!(frames.next(), Ok(Some(_)));
        let file = first.location.and_then(|location| location.file);
        let name = first.function?.raw_name().ok()?.into_owned();
        (is_inlined && is_standard(file)).then_some(name)
    }

    /// Returns the source file and line of an address.
    pub fn line_of(&self, address: u64) -> Option<(&str, u32)> {
        let location = self.loader.find_location(address).ok()??;
        location.file.zip(location.line)
    }

    /// Returns the innermost function at `address` outside the standard library, if it is inlined.
    fn innermost(&self, address: u64) -> Option<String> {
        let mut frames = self.loader.find_frames(address).ok()?;
        let mut found = None;
        while let Ok(Some(frame)) = frames.next() {
            // The outermost frame is not inlined, so accept `found` only if another frame follows.
            if found.is_some() {
                return found;
            }
            let file = frame.location.and_then(|location| location.file);
            if !is_standard(file) {
                let name = frame.function?.raw_name().ok()?.into_owned();
                found = Some(with_file(name, file));
            }
        }
        None
    }
}

/// A function that contains an instruction.
pub struct InlinedFrame {
    /// Its mangled name, or that of line tables.
    pub name: Option<String>,
    /// The source file and line of the instruction, or of the call of the next frame.
    pub line: Option<(String, u32)>,
}

fn is_standard(file: Option<&str>) -> bool {
    file.is_some_and(|file| STANDARD_LIBRARY.iter().any(|part| file.contains(part)))
}

/// Adds the file to a name without a module path.
fn with_file(name: String, file: Option<&str>) -> String {
    match (is_mangled(&name), file) {
        (false, Some(file)) => format!("{name} ({})", shortened(file)),
        _ => name,
    }
}

/// Returns whether a name contains its module path. Line tables have only the last part.
fn is_mangled(name: &str) -> bool {
    name.starts_with("_R") || name.starts_with("_ZN")
}

/// Returns the end of a path. The start differs between machines and work trees.
fn shortened(file: &str) -> &str {
    let mut slashes = file.rmatch_indices('/').map(|(index, _)| index);
    slashes.nth(1).map_or(file, |index| &file[index + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
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

    /// The functions of the bytes of `outer`, by majority over small blocks.
    #[test]
    #[cfg(target_os = "linux")]
    fn inlined_function_needs_debug_information() {
        use object::read::{Object, ObjectSymbol};
        use std::fs;
        use std::process::Command;

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
            InlinedFunctions::read(&program)
                .unwrap()
                .most_frequent(addresses)
        };
        let name = found("1").unwrap();
        let demangled = format!("{:#}", rustc_demangle::demangle(&name));
        assert_eq!(demangled, "program::kernel::divide");
        // Line tables give the function's name without its path, and its file.
        let name = found("line-tables-only").unwrap();
        let directory = directory.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(name, format!("divide ({directory}/program.rs)"));
        assert_eq!(found("0"), None);
    }

    #[test]
    fn invalid_object_file_has_no_functions() {
        assert!(InlinedFunctions::read(Path::new("/nowhere")).is_none());
        assert!(InlinedFunctions::read(Path::new(env!("CARGO_MANIFEST_DIR"))).is_none());
    }
}

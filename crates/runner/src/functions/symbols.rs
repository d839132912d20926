//! Finds function names in the symbol tables of the files that code was loaded from.
//!
//! If a file cannot be read, or has no symbol at a position, its code has no name; this is not an
//! error. A symbol counts only within its size, so code between the symbols of a stripped library
//! is not attributed to the preceding function.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use object::read::{Object, ObjectSegment, ObjectSymbol, ReadCache};
use object::{Architecture, SymbolKind, read};
use topdown_run::run_file::{SourceLine, stored_file};
use topdown_run::visible::visible;

use super::code_location::CodeLocation;
use super::inlined::InlinedFunctions;

/// The symbols of a bench executable and its libraries, read on demand.
pub struct Symbols {
    executable: PathBuf,
    /// The root of the workspace that the executable was built from.
    workspace: PathBuf,
    /// By path; `None` if a file has no symbols.
    modules: HashMap<String, Option<Module>>,
}

struct Module {
    table: SymbolTable,
    inlined: Option<InlinedFunctions>,
}

/// A function that code belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFrame {
    /// Its demangled name; absent for code without a symbol.
    pub name: Option<String>,
    /// The line of the code, or of the call of the next frame.
    pub line: Option<SourceLine>,
}

/// The function and line of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodePosition {
    /// As of [`Symbols::frames_of`]: at least one.
    pub frames: Vec<CodeFrame>,
    /// The path of the source file of the last one.
    pub path: Option<String>,
    /// The function of the standard library that is inlined there, if one is.
    pub inlined: Option<String>,
}

/// `#` omits the hash.
fn demangled(mangled: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    visible(&name).into_owned()
}

/// Shortens the path of a file, whose start differs between machines.
fn source_line(file: &str, line: u32, workspace: &Path) -> SourceLine {
    let in_workspace = Path::new(file).strip_prefix(workspace).ok();
    let in_workspace = in_workspace.filter(|_| !workspace.as_os_str().is_empty());
    let path = match in_workspace {
        Some(path) => path.to_string_lossy().into_owned(),
        None => {
            let mut slashes = file.rmatch_indices('/').map(|(index, _)| index);
            let start = slashes.nth(2).map_or(0, |index| index + 1);
            file[start..].to_owned()
        }
    };
    SourceLine {
        file: visible(&path).into_owned(),
        line,
        in_workspace: in_workspace.is_some(),
    }
}

/// No block is longer: 48 instructions of 15 bytes.
const MAX_BLOCK_BYTES: u32 = 48 * 15;

impl Symbols {
    /// Returns the symbols for processes of `executable`, which was built from the package at
    /// `package_root`.
    pub fn for_package(executable: &Path, package_root: &Path) -> Symbols {
        let mut ancestors = package_root.ancestors();
        let workspace = ancestors.find(|directory| directory.join("Cargo.lock").exists());
        Symbols {
            workspace: workspace.unwrap_or(package_root).to_owned(),
            ..Symbols::new(executable)
        }
    }

    /// Returns the symbols for processes of `executable`.
    pub fn new(executable: &Path) -> Symbols {
        Symbols {
            workspace: PathBuf::new(),
            // The kernel reports the canonical path.
            executable: executable
                .canonicalize()
                .unwrap_or_else(|_| executable.to_owned()),
            modules: HashMap::new(),
        }
    }

    /// Returns the demangled name of the function that a block of code belongs to. The block starts
    /// at `offset` in the file `module`.
    pub fn name_of(&mut self, module: &str, offset: u64, bytes: u32) -> Option<String> {
        let Module { table, inlined } = self.module(module)?;
        let address = table.address_of(offset)?;
        let end = address.saturating_add(bytes.clamp(1, MAX_BLOCK_BYTES).into());
        let inlined = inlined.as_ref().and_then(|i| i.most_frequent(address..end));
        let mangled = inlined.as_deref().or_else(|| table.symbol_at(address))?;
        Some(demangled(mangled))
    }

    fn module(&mut self, module: &str) -> Option<&Module> {
        let module = match self.modules.entry(module.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(Module::read(Path::new(module))),
        };
        module.as_ref()
    }

    /// Returns the functions that code belongs to, from the enclosing one to the innermost inlined
    /// one outside the standard library; at least one. With `bytes`, the innermost one is that of
    /// [`name_of`](Symbols::name_of); without, the code is one instruction.
    pub fn frames_of(&mut self, module: &str, offset: u64, bytes: Option<u32>) -> Vec<CodeFrame> {
        let workspace = self.workspace.clone();
        let frames = self.module(module).and_then(|Module { table, inlined }| {
            let address = table.address_of(offset)?;
            let end = address.saturating_add(bytes.unwrap_or(1).clamp(1, MAX_BLOCK_BYTES).into());
            let enclosing = table.symbol_at(address).map(demangled);
            let inlined = inlined.as_ref()?.frames_of(address..end);
            let frames = inlined
                .into_iter()
                .enumerate()
                .map(|(depth, frame)| CodeFrame {
                    name: match depth {
                        0 => enclosing.clone(),
                        _ => frame.name.as_deref().map(demangled),
                    },
                    line: frame
                        .line
                        .map(|(file, line)| source_line(&file, line, &workspace)),
                });
            Some(frames.collect::<Vec<_>>())
        });
        frames
            .filter(|frames| !frames.is_empty())
            .unwrap_or_else(|| {
                let name = self.name_of(module, offset, bytes.unwrap_or(1));
                vec![CodeFrame { name, line: None }]
            })
    }

    /// Returns the function and line of the instruction at `offset` in the file `module`.
    pub fn position(&mut self, module: &str, offset: u64) -> CodePosition {
        let frames = self.frames_of(module, offset, None);
        let known = self.module(module).and_then(|Module { table, inlined }| {
            let address = table.address_of(offset)?;
            let inlined = inlined.as_ref()?;
            let last = inlined.frames_at(address).pop()?;
            let path = last.line.map(|(file, _)| file);
            Some((path, inlined.inlined_standard(address)))
        });
        let (path, inlined) = known.unwrap_or_default();
        CodePosition {
            frames,
            path,
            inlined: inlined.as_deref().map(demangled),
        }
    }

    /// Returns the path of the bench executable.
    pub fn executable(&self) -> &str {
        self.executable.to_str().unwrap_or_default()
    }

    /// Returns the path of the file of a line in the workspace.
    pub fn path_of(&self, line: &SourceLine) -> String {
        self.workspace
            .join(&line.file)
            .to_string_lossy()
            .into_owned()
    }

    /// Returns the address of a position in the file `module`, before relocation.
    pub fn address_of(&mut self, module: &str, offset: u64) -> Option<u64> {
        self.module(module)?.table.address_of(offset)
    }

    /// Returns the name of the function that begins at `address` in `module`.
    pub fn starts_at(&mut self, module: &str, address: u64) -> Option<String> {
        let table = &self.module(module)?.table;
        let functions = &table.functions;
        let index = functions
            .binary_search_by_key(&address, |f| f.address)
            .ok()?;
        Some(demangled(&functions[index].name))
    }

    /// Returns code of `module` with its address, if the module is for x86-64 and has that much.
    pub fn x86_code(&mut self, module: &str, offset: u64, bytes: u32) -> Option<(u64, Vec<u8>)> {
        let table = &self.module(module)?.table;
        let address = table.address_of(offset)?;
        let mut code = vec![0; bytes as usize];
        let mut file = table.x86_file.as_ref()?;
        file.seek(SeekFrom::Start(offset)).ok()?;
        let mut read = 0;
        // The last instruction may be shorter than what is read for it.
        while read < code.len() {
            match file.read(&mut code[read..]) {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
        code.truncate(read);
        Some((address, code))
    }

    /// Describes a position in the file `module`.
    pub fn locate(&mut self, module: &str, offset: u64) -> CodeLocation {
        let function = self.name_of(module, offset, 1);
        let known = self.modules.get(module).and_then(Option::as_ref);
        let line = known.and_then(|known| {
            let address = known.table.address_of(offset)?;
            known.inlined.as_ref()?.line_of(address)
        });
        let file_name = module.rsplit('/').next().unwrap_or(module);
        CodeLocation {
            function,
            line: line.map(|(file, line)| source_line(file, line, &self.workspace)),
            position: format!("{file_name}+{offset:#x}"),
        }
    }

    /// Returns a label for `module`; `None` for the bench executable itself.
    pub fn label_of(&self, module: &str) -> Option<String> {
        if module.is_empty() {
            return Some("[anonymous memory]".to_owned());
        }
        if Path::new(module) == self.executable {
            return None;
        }
        let file_name = module.rsplit('/').next().unwrap_or(module);
        Some(visible(file_name).into_owned())
    }
}

impl Module {
    fn read(path: &Path) -> Option<Module> {
        Some(Module {
            table: SymbolTable::read(path)?,
            inlined: InlinedFunctions::read(path),
        })
    }
}

/// The functions of one file.
struct SymbolTable {
    segments: Vec<Segment>,
    /// By address, ascending.
    functions: Vec<FunctionSymbol>,
    /// The file, if its code is for x86-64.
    x86_file: Option<File>,
}

/// A part of the file, and where it is loaded.
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
}

struct FunctionSymbol {
    address: u64,
    bytes: u64,
    name: String,
}

impl SymbolTable {
    fn read(path: &Path) -> Option<SymbolTable> {
        // A bench names the file, and opening a pipe would wait for a writer.
        let path = path.canonicalize().ok()?;
        let opened = stored_file::open(&path, u64::MAX).ok()?.into_inner();
        let x86_file = opened.try_clone().ok();
        // Executables with debug information are large, so read only what is used.
        let cache = ReadCache::new(opened);
        let file = read::File::parse(&cache).ok()?;
        let x86_file = x86_file.filter(|_| file.architecture() == Architecture::X86_64);
        let segments = file.segments().map(|segment| {
            let (offset, bytes) = segment.file_range();
            Segment {
                offset,
                bytes,
                address: segment.address(),
            }
        });
        let segments = segments.collect();
        let all = file.symbols().chain(file.dynamic_symbols());
        let mut functions: Vec<FunctionSymbol> = all
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
            .filter(|symbol| !symbol.is_undefined())
            .filter_map(|symbol| {
                Some(FunctionSymbol {
                    address: symbol.address(),
                    bytes: symbol.size(),
                    name: symbol.name().ok()?.to_owned(),
                })
            })
            .collect();
        // Of several names at one address, always keep the same one, preferably without
        // underscores.
        functions.sort_by(|a, b| {
            let key = |f: &FunctionSymbol| (f.address, f.name.starts_with("__"));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        functions.dedup_by_key(|function| function.address);
        Some(SymbolTable {
            segments,
            functions,
            x86_file,
        })
    }

    /// Returns the address of a file position, before relocation.
    fn address_of(&self, offset: u64) -> Option<u64> {
        let segment = self
            .segments
            .iter()
            .find(|s| (s.offset..s.offset.saturating_add(s.bytes)).contains(&offset))?;
        Some(segment.address.wrapping_add(offset - segment.offset))
    }

    /// Returns the name of the function at an address.
    fn symbol_at(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|f| f.address <= address);
        let function = self.functions[..after].last()?;
        (address - function.address < function.bytes).then_some(&*function.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(functions: &[(u64, u64, &str)]) -> SymbolTable {
        SymbolTable {
            segments: vec![Segment {
                offset: 0x1000,
                bytes: 0x1000,
                address: 0x40_1000,
            }],
            functions: functions
                .iter()
                .map(|&(address, bytes, name)| FunctionSymbol {
                    address,
                    bytes,
                    name: name.to_owned(),
                })
                .collect(),
            x86_file: None,
        }
    }

    /// A bench names the files that its code was loaded from.
    #[cfg(unix)]
    #[test]
    fn pipe_has_no_symbols() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let (done, name) = std::sync::mpsc::channel();
        // Not joined: if it waits for a writer, it ends with this process.
        std::thread::spawn(move || {
            let mut symbols = Symbols::new(Path::new("/nowhere/bench"));
            done.send(symbols.name_of(pipe.to_str().unwrap(), 0x1000, 1))
        });
        let name = name.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(name.expect("it waits for a writer"), None);
    }

    #[test]
    fn symbol_ends_at_its_size() {
        let table = table(&[(0x40_1010, 0x10, "first"), (0x40_1040, 0x10, "second")]);
        let found = [0x100f, 0x1010, 0x101f, 0x1020, 0x104f, 0x1050, 0x2040, 0x10]
            .map(|offset| table.symbol_at(table.address_of(offset)?));
        let (first, second) = (Some("first"), Some("second"));
        assert_eq!(found, [None, first, first, None, second, None, None, None]);
    }

    /// Finds the address of a function of this test through its own executable.
    #[test]
    #[cfg(target_os = "linux")]
    fn this_executable_knows_its_functions() {
        let path = std::env::current_exe().unwrap();
        let cache = ReadCache::new(File::open(&path).unwrap());
        let file = read::File::parse(&cache).unwrap();
        let symbol = file
            .symbols()
            .find(|symbol| {
                let name = symbol.name().unwrap_or_default();
                name.contains("symbols") && name.contains("label_of") && symbol.size() > 0
            })
            .unwrap();
        let segment = file
            .segments()
            .find(|s| (s.address()..s.address() + s.size()).contains(&symbol.address()))
            .unwrap();
        let offset = symbol.address() - segment.address() + segment.file_range().0;
        let mut symbols = Symbols::new(&path);
        let module = path.to_str().unwrap();
        let name = symbols.name_of(module, offset, 1);
        let expected = "topdown_runner::functions::symbols::Symbols::label_of";
        assert_eq!(name.as_deref(), Some(expected));
        assert_eq!(symbols.label_of(module), None);
        assert_eq!(symbols.name_of("/etc/hostname", 0, 1), None);
        assert_eq!(symbols.name_of("/nowhere", 0, 1), None);
    }
}

//! Source text, if the file is the one that was compiled: if the debug information has its digest,
//! or, where that has none, if it is not newer than the executable.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use addr2line::gimli::{
    self, AttributeValue, DebugLineOffset, EndianSlice, RunTimeEndian, SectionId,
};
use md5::{Digest, Md5};
use object::{Object, ObjectSection};
use topdown_explain::listing::WithoutText;
use topdown_run::run_file::stored_file;
use topdown_run::visible::visible;

/// A longer file is not source that somebody wrote.
const MAX_SOURCE_BYTES: u64 = 16 << 20;

/// Digests of the source files of one executable or library, by path; and files that were read.
pub struct SourceTexts {
    digests: HashMap<String, [u8; 16]>,
    built: Option<SystemTime>,
    files: HashMap<String, Result<Vec<String>, WithoutText>>,
}

impl SourceTexts {
    /// Reads the digests of `module`; none if it has none.
    pub fn of_module(module: &Path) -> SourceTexts {
        SourceTexts {
            digests: digests_of(module).unwrap_or_default(),
            built: module.metadata().and_then(|file| file.modified()).ok(),
            files: HashMap::new(),
        }
    }

    /// Returns the lines of `file`.
    pub fn lines(&mut self, file: &str) -> Result<&[String], WithoutText> {
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), self.read(file));
        }
        let lines = self.files[file].as_ref();
        lines.map(Vec::as_slice).map_err(|why| *why)
    }

    /// Returns the text of a line of `file`.
    pub fn line(&mut self, file: &str, line: u32) -> Result<String, WithoutText> {
        let lines = self.lines(file)?;
        let text = lines.get((line as usize).wrapping_sub(1));
        text.cloned().ok_or(WithoutText::Changed)
    }

    fn read(&self, path: &str) -> Result<Vec<String>, WithoutText> {
        let mut content = Vec::new();
        let file = stored_file::open(Path::new(path), MAX_SOURCE_BYTES);
        let mut file = file.map_err(|_| WithoutText::NoFile)?.into_inner();
        let read = file.read_to_end(&mut content);
        read.map_err(|_| WithoutText::NoFile)?;
        let modified = file.metadata().and_then(|file| file.modified()).ok();
        let is_same = match self.digests.get(path) {
            Some(digest) => Md5::digest(&content)[..] == digest[..],
            // So does cargo decide what to compile again.
            None => modified.is_some_and(|at| self.built.is_some_and(|built| at <= built)),
        };
        if !is_same {
            return Err(WithoutText::Changed);
        }
        let text = String::from_utf8_lossy(&content);
        // Tabs would break columns.
        let lines = text.lines().map(|line| line.replace('\t', "    "));
        Ok(lines.map(|line| visible(&line).into_owned()).collect())
    }
}

fn digests_of(module: &Path) -> Option<HashMap<String, [u8; 16]>> {
    let data = std::fs::read(module).ok()?;
    let file = object::read::File::parse(&*data).ok()?;
    let endian = match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let section = |id: SectionId| -> Result<EndianSlice<'_, RunTimeEndian>, gimli::Error> {
        let section = file.section_by_name(id.name());
        let data = section.and_then(|section| section.data().ok());
        Ok(EndianSlice::new(data.unwrap_or_default(), endian))
    };
    let dwarf = gimli::Dwarf::load(section).ok()?;
    let text = |value| match value {
        AttributeValue::String(text) => Some(text),
        AttributeValue::DebugStrRef(at) => dwarf.string(at).ok(),
        AttributeValue::DebugLineStrRef(at) => dwarf.line_string(at).ok(),
        _ => None,
    };
    let text = |value| Some(text(value)?.to_string_lossy().into_owned());
    let mut digests = HashMap::new();
    let mut at = DebugLineOffset(0);
    // One table for each unit, one after the other.
    while let Ok(program) = dwarf.debug_line.program(at, 8, None, None) {
        let header = program.header();
        at.0 += header.unit_length() + usize::from(header.format().initial_length_size());
        if !header.file_has_md5() {
            continue;
        }
        for file in header.file_names() {
            let mut path = header.directory(0).and_then(text).unwrap_or_default();
            if file.directory_index() != 0 {
                push(&mut path, file.directory(header).and_then(text));
            }
            push(&mut path, text(file.path_name()));
            digests.insert(path, *file.md5());
        }
    }
    Some(digests)
}

/// Appends a path, which may be absolute.
fn push(path: &mut String, more: Option<String>) {
    let more = more.unwrap_or_default();
    if more.starts_with('/') {
        *path = more;
        return;
    }
    if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(&more);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;
    use std::time::Duration;

    const SOURCE: &str = "fn main() {\n\tprintln!(\"7\");\n}\n";

    /// rustc writes no digests, not even with DWARF 5: the file of a codegen unit has none.
    #[test]
    fn text_without_digest_is_older_than_the_executable() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("program.rs");
        fs::write(&source, SOURCE).unwrap();
        let program = directory.path().join("program");
        fs::write(&program, "").unwrap();
        let line = |number| {
            let mut texts = SourceTexts::of_module(&program);
            texts.line(source.to_str().unwrap(), number)
        };
        assert_eq!(line(2).as_deref(), Ok("    println!(\"7\");"));
        assert_eq!(line(4), Err(WithoutText::Changed));
        assert_eq!(line(0), Err(WithoutText::Changed));
        let later = SystemTime::now() + Duration::from_secs(100);
        let file = fs::File::options().append(true).open(&source).unwrap();
        file.set_modified(later).unwrap();
        assert_eq!(line(2), Err(WithoutText::Changed));
        fs::remove_file(&source).unwrap();
        assert_eq!(line(2), Err(WithoutText::NoFile));
    }

    /// clang writes digests.
    #[test]
    fn digest_decides_where_there_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("program.c");
        fs::write(&source, SOURCE).unwrap();
        let digest = Md5::digest(SOURCE.as_bytes());
        // GNU as writes the bytes in reverse, LLVM as they are.
        let bytes = digest.iter().rev();
        let digest: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        let assembly = directory.path().join("program.s");
        let folder = directory.path().display();
        let text = format!(
            ".file 0 \"{folder}\" \"program.c\" md5 0x{digest}\n\
             .file 1 \"{folder}\" \"program.c\" md5 0x{digest}\n\
             .text\n.loc 1 2\nnop\n"
        );
        fs::write(&assembly, text).unwrap();
        let library = directory.path().join("program.so");
        let linked = Command::new("cc")
            .args(["-shared", "-nostdlib", "-Wa,--gdwarf-5", "-o"])
            .args([&library, &assembly])
            .status();
        assert!(linked.unwrap().success());
        let line = |text: &str| {
            fs::write(&source, text).unwrap();
            let file = fs::File::options().append(true).open(&source).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(100))
                .unwrap();
            SourceTexts::of_module(&library).line(source.to_str().unwrap(), 2)
        };
        // The source is newer than the library.
        assert_eq!(line(SOURCE).as_deref(), Ok("    println!(\"7\");"));
        assert_eq!(line(&SOURCE.replace('7', "8")), Err(WithoutText::Changed));
    }
}

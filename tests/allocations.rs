//! Allocations are counted exactly, however a program was built and whatever its allocator.
#![cfg(all(target_os = "linux", target_arch = "x86_64", feature = "launches"))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use topdown_run::environment::{ALLOCATIONS, THREADS};
use topdown_skipped::{Need, skip};

const MUSL: &str = "x86_64-unknown-linux-musl";

/// Builds the programs with `flags` from the releases in the repository's lock file, and finds them
/// in `place`.
fn built(flags: &[&str], place: &str) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = repository.join("tests/allocating_programs");
    // The lock file is written beside the manifest: of a copy, so that two tests do not meet.
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    let manifest = std::fs::read_to_string(sources.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace("../..", repository.to_str().unwrap());
    std::fs::write(at("Cargo.toml"), manifest).unwrap();
    std::fs::copy(repository.join("Cargo.lock"), at("Cargo.lock")).unwrap();
    std::fs::create_dir_all(at("src/bin")).unwrap();
    for file in [
        "work.rs",
        "bin/default.rs",
        "bin/counting.rs",
        "bin/arena.rs",
    ] {
        std::fs::copy(sources.join("src").join(file), at("src").join(file)).unwrap();
    }
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).expect("a target directory");
    let output = Command::new(env!("CARGO"))
        .current_dir(directory.path())
        .args(["build", "--offline", "--target-dir"])
        .arg(target)
        .args(flags)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    target.join(place)
}

/// A count for each name.
type Counts = BTreeMap<String, u64>;

/// Returns what a program printed: the model's counts of each work, and the truth if it knows.
fn counts(program: &Path) -> Vec<(String, Counts, Option<Counts>)> {
    let mut program = Command::new(program);
    program.env(THREADS, "own");
    printed(program)
}

fn printed(mut program: Command) -> Vec<(String, Counts, Option<Counts>)> {
    let output = program.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let mut all: Vec<(String, Counts, Option<Counts>)> = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap().to_owned();
        let counts = words.map(|word| {
            let (name, count) = word.split_once('=').unwrap();
            (name.to_owned(), count.parse().unwrap())
        });
        match all.last_mut() {
            Some((_, _, truth)) if name == "truth" => *truth = Some(counts.collect()),
            _ => all.push((name, counts.collect(), None)),
        }
    }
    assert_eq!(all.len(), 13);
    all
}

fn of(
    allocations: [u64; 2],
    reallocations: [u64; 2],
    frees: u64,
    freed_bytes: Option<u64>,
) -> Counts {
    let counts = [
        ("allocations", Some(allocations[0])),
        ("allocated_bytes", Some(allocations[1])),
        ("reallocations", Some(reallocations[0])),
        ("reallocated_bytes", Some(reallocations[1])),
        ("frees", Some(frees)),
        ("freed_bytes", freed_bytes),
    ];
    let known = counts.into_iter();
    known
        .filter_map(|(name, count)| Some((name.to_owned(), count?)))
        .collect()
}

/// `freed_bytes` is unknown where the compiler has inlined Rust's part of a call, and then absent.
fn check(counted: &Counts, expected: &Counts, what: &str) {
    let mut expected = expected.clone();
    if !counted.contains_key("freed_bytes") {
        assert_ne!(expected.get("frees"), Some(&0), "{what}");
        expected.remove("freed_bytes");
    }
    assert_eq!(counted, &expected, "{what}");
}

/// `aligned` is what reallocations of memory aligned to 64 bytes count as: std allocates anew and
/// frees, and where the compiler has inlined that, it is what is seen.
fn check_programs(directory: &Path, aligned: &Counts) {
    let default = counts(&directory.join("default"));
    let counting = counts(&directory.join("counting"));
    for ((name, counts, _), (_, same, truth)) in default.iter().zip(&counting) {
        if name == "reallocated-aligned" {
            check(counts, aligned, name);
            check(same, aligned, name);
        } else if name != "c" {
            let truth = truth.as_ref().unwrap();
            check(same, truth, &format!("counting: {name}"));
            check(counts, truth, &format!("default: {name}"));
        }
    }
    let known = BTreeMap::from([
        ("nothing", of([0, 0], [0, 0], 0, Some(0))),
        ("boxes", of([10, 80], [0, 0], 10, Some(80))),
        ("vector", of([1, 32], [5, 1984], 1, Some(1024))),
        ("zeroed", of([2, 321_000], [0, 0], 2, Some(321_000))),
        (
            "aligned",
            of([4, 3 * 128 + 4096], [0, 0], 4, Some(3 * 128 + 4096)),
        ),
        ("reallocated", of([1, 10], [2, 100_005], 1, Some(5))),
        ("beside", of([11, 112], [5, 1984], 11, Some(1104))),
        ("c", of([4, 100 + 210 + 8 + 640], [1, 800], 4, None)),
    ]);
    for (name, counts, _) in &default {
        if let Some(known) = known.get(name.as_str()) {
            check(counts, known, name);
        }
    }
    // Nothing is better than less than all.
    for (name, counts, _) in counts(&directory.join("arena")) {
        assert_eq!(counts, Counts::new(), "{name}");
    }
}

fn seen_as_such() -> Counts {
    of([1, 10], [2, 100_005], 1, Some(5))
}

/// Removes the table of sections from a copy of a program, and with it all names.
fn stripped(program: &Path) -> tempfile::TempPath {
    const SECTIONS: usize = 60;
    let mut bytes = std::fs::read(program).unwrap();
    bytes[SECTIONS..SECTIONS + 4].fill(0);
    let copy = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&copy, bytes).unwrap();
    let permissions = std::fs::metadata(program).unwrap().permissions();
    std::fs::set_permissions(&copy, permissions).unwrap();
    copy
}

#[test]
fn unoptimised_program_is_counted_correctly() {
    let directory = built(&[], "debug");
    check_programs(&directory, &seen_as_such());
    for (name, counts, _) in counts(&stripped(&directory.join("default"))) {
        assert_eq!(counts, Counts::new(), "{name}: nothing is known");
    }
    let mut unwanted = Command::new(directory.join("default"));
    unwanted.env(ALLOCATIONS, "0");
    for (name, counts, _) in printed(unwanted) {
        assert_eq!(counts, Counts::new(), "{name}: nobody wants to know");
    }
}

#[test]
fn inlined_allocator_is_counted_correctly() {
    let seen_as_what_it_does = of([3, 100_015], [0, 0], 3, None);
    check_programs(&built(&["--release"], "release"), &seen_as_what_it_does);
}

#[test]
fn static_musl_program_is_counted_correctly() {
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", MUSL])
        .output()
        .unwrap();
    if !Path::new(String::from_utf8_lossy(&library.stdout).trim()).is_dir() {
        let why = format!("the standard library for {MUSL} is not installed");
        skip(Need::Musl, why);
        return;
    }
    let directory = built(&["--target", MUSL], &format!("{MUSL}/debug"));
    check_programs(&directory, &seen_as_such());
}

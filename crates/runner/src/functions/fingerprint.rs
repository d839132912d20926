//! Hashes of what an iteration executed, function by function, for comparing two builds.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use topdown_run::code::CodeSlots;
use topdown_run::run_file::{Fingerprint, FunctionFingerprint, Hash};

use super::slots::{FunctionKey, limited};
use super::symbols::Symbols;

/// Number of instructions executed in blocks with the same content, by content.
type Executed = BTreeMap<u64, u64>;

/// Returns the fingerprint of the first samples of `code`; `None` if they are unknown, or if they
/// executed code that is in no file, such as JIT-compiled code.
pub fn fingerprint_of(code: &CodeSlots, symbols: &mut Symbols) -> Option<Fingerprint> {
    let mut by_place: BTreeMap<FunctionKey, Executed> = BTreeMap::new();
    let mut all = Executed::new();
    for &(block, instructions) in &code.first_samples {
        let block = &code.blocks[block as usize];
        let module = &code.modules[block.module as usize];
        let is_of_a_file = module.starts_with('/') && !module.starts_with("/memfd:");
        if !is_of_a_file && module != "[vdso]" {
            return None;
        }
        let name = symbols.name_of(module, block.offset, block.bytes);
        let key = FunctionKey {
            name: name.map(|name| limited(&name)),
            module: symbols.label_of(module),
        };
        for executed in [&mut all, by_place.entry(key).or_default()] {
            let count = executed.entry(block.content).or_default();
            *count = count.saturating_add(instructions);
        }
    }
    let functions = by_place.into_iter().map(|(key, executed)| {
        let code = hash_of(&executed);
        FunctionFingerprint {
            name: key.name,
            module: key.module,
            code,
        }
    });
    (!all.is_empty()).then(|| Fingerprint {
        code: hash_of(&all),
        data: Hash(code.first_samples_data),
        functions: functions.collect(),
    })
}

fn hash_of(executed: &Executed) -> Hash {
    let mut sha256 = Sha256::new();
    for (content, instructions) in executed {
        sha256.update(content.to_le_bytes());
        sha256.update(instructions.to_le_bytes());
    }
    let digest = sha256.finalize();
    let first = digest.first_chunk().expect("a digest has 32 bytes");
    Hash(u64::from_le_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use topdown_run::code::CodeBlock;

    fn code(module: &str, blocks: &[(u64, u64, u64)]) -> CodeSlots {
        CodeSlots {
            modules: vec![module.to_owned()],
            blocks: blocks
                .iter()
                .map(|&(offset, content, _)| CodeBlock {
                    module: 0,
                    offset,
                    bytes: 4,
                    content,
                    call: 0,
                })
                .collect(),
            first_samples: (0..).zip(blocks.iter().map(|b| b.2)).collect(),
            first_samples_data: 7,
            ..CodeSlots::default()
        }
    }

    fn of(module: &str, blocks: &[(u64, u64, u64)]) -> Option<Fingerprint> {
        let mut symbols = Symbols::new(Path::new("/nowhere/bench"));
        fingerprint_of(&code(module, blocks), &mut symbols)
    }

    #[test]
    fn fingerprint_depends_on_counts_not_on_addresses() {
        let here = of("/nowhere/bench", &[(0, 11, 40), (64, 22, 2)]).unwrap();
        let moved = of("/nowhere/bench", &[(512, 22, 2), (256, 11, 40)]).unwrap();
        assert_eq!(here, moved);
        let oftener = of("/nowhere/bench", &[(0, 11, 44), (64, 22, 2)]).unwrap();
        assert_ne!(here.code, oftener.code);
        // The same block in two places equals one block that ran twice as often.
        let twice = of("/nowhere/bench", &[(0, 11, 20), (64, 22, 2), (99, 11, 20)]).unwrap();
        assert_eq!(here, twice);
        let other = of("/nowhere/bench", &[(0, 12, 40), (64, 22, 2)]).unwrap();
        assert_ne!(here.code, other.code);
    }

    #[test]
    fn generated_and_unseen_code_have_no_fingerprint() {
        let blocks = [(0, 11, 40)];
        assert!(of("[vdso]", &blocks).is_some());
        for module in ["", "[heap]", "/memfd:jit (deleted)"] {
            assert_eq!(of(module, &blocks), None, "{module}");
        }
        assert_eq!(of("/nowhere/bench", &[]), None);
    }
}

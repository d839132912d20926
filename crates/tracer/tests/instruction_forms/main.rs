//! Random instructions have the same effect translated as natively: on every general register, the
//! flags, the x87, vector and mask registers, and memory.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod bench;
mod random;

use std::collections::HashSet;

use bench::{Bench, CODE_BYTES};
use random::{
    Random, fill_input, fill_scratch, has_memory_operand, moves_a_pointer, random_instruction,
};
use topdown_tracer::iced_x86::{Code, Instruction, InstructionInfoFactory};
use topdown_tracer::{Block, Config, Consumer, TraceError, Tracer};

struct Nothing;

impl Consumer for Nothing {
    fn block(&mut self, _block: &Block<'_>, _addresses: &[u64]) {}
}

const SNIPPETS: usize = 12_000;

#[test]
fn random_forms_have_the_same_effect_translated() {
    let seed = std::env::var("TOPDOWN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x5eed_1234_5678_9abc);
    println!("seed {seed} (set TOPDOWN_SEED for another)");
    let mut random = Random(seed);
    let bench = Bench::new();
    let mut tracer = Tracer::new(Config::default(), Nothing).unwrap();
    let mut forms: HashSet<Code> = HashSet::new();
    let (mut compared, mut refused) = (0, 0);
    let mut factory = InstructionInfoFactory::new();
    // Where the body begins; the function around it does not depend on it.
    bench.write_code(&[]);
    let code = bench.part(0, CODE_BYTES);
    let load_rsp_to_r15 = 16 * 7;
    let body = bench.address(10 + 7 + 7 + 8 + 6 + 1 + load_rsp_to_r15);
    assert_eq!(
        code[(body - bench.address(0)) as usize..][..2],
        [0x48, 0x89]
    );
    for snippet in 0..SNIPPETS {
        if snippet % 2000 == 1999 {
            // Each snippet's translation stays in the tracer's tables.
            tracer = Tracer::new(Config::default(), Nothing).unwrap();
        }
        let mut bytes = Vec::new();
        let mut instructions = Vec::new();
        let wanted = 1 + random.below(3) as usize;
        while instructions.len() < wanted {
            let at = body + bytes.len() as u64;
            if let Some((more, decoded)) = random_instruction(&bench, &mut random, at) {
                bytes.extend(more);
                instructions.push(decoded);
            }
        }
        let uses_memory = instructions.iter().any(|instruction| {
            has_memory_operand(instruction) || instruction.is_string_instruction()
        });
        let (_, before) = instructions.split_last().expect("at least one");
        if uses_memory
            && before
                .iter()
                .any(|decoded| moves_a_pointer(&mut factory, decoded))
        {
            continue;
        }
        bench.write_code(&bytes);
        fill_input(&bench, &mut random, uses_memory);
        fill_scratch(&bench, snippet as u64 + 1);
        if !bench.call() {
            continue;
        }
        let native = bench.result();
        fill_scratch(&bench, snippet as u64 + 1);
        let (finished, end) = tracer.trace(|| bench.call());
        match end {
            Ok(_) => compared += 1,
            Err(TraceError::Instruction { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        let translated = bench.result();
        let description = || {
            let codes: Vec<Code> = instructions.iter().map(Instruction::code).collect();
            format!("snippet {snippet} {codes:?} {bytes:02x?}")
        };
        assert!(finished, "{} faulted", description());
        let difference = first_difference(&native, &translated);
        assert_eq!(difference, None, "{}", description());
        forms.extend(instructions.iter().map(Instruction::code));
    }
    println!(
        "{compared} snippets of {} forms are equal, {refused} refused",
        forms.len()
    );
    assert!(forms.len() > 500, "{} forms", forms.len());
}

/// Where the states differ, in words.
fn first_difference(
    native: &(Vec<u8>, Vec<u8>),
    translated: &(Vec<u8>, Vec<u8>),
) -> Option<String> {
    for (name, native, translated) in [
        ("state", &native.0, &translated.0),
        ("scratch", &native.1, &translated.1),
    ] {
        let place = native.iter().zip(translated).position(|(a, b)| a != b);
        if let Some(place) = place {
            let word = place & !7;
            return Some(format!(
                "{name} at {word}: {:02x?} natively, {:02x?} translated",
                &native[word..word + 8],
                &translated[word..word + 8]
            ));
        }
    }
    None
}

//! Tests of the guide: the commands it shows are valid for this program, and its links resolve.

pub mod generated;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::Cli;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the Markdown files and workflows of the repository, with their text.
fn documents() -> Vec<(PathBuf, String)> {
    let mut documents = Vec::new();
    add_documents(Path::new(REPOSITORY), &mut documents);
    documents
}

/// Adds what is in `directory` and below it, but for hidden directories and build output.
fn add_documents(directory: &Path, documents: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            add_documents(&path, documents);
        } else if name.ends_with(".md") || name.ends_with(".yml") {
            let text = fs::read_to_string(&path);
            documents.extend(text.ok().map(|text| (path.clone(), text)));
        }
    }
}

/// Extracts what follows `cargo topdown ` in code: to the end of a code span, or else to the end of
/// the command or line.
fn commands(text: &str) -> Vec<String> {
    // Join lines as a shell would.
    let text = text.replace("\\\n", " ");
    let mut commands = Vec::new();
    for (index, _) in text.match_indices("cargo topdown ") {
        let line = &text[text[..index].rfind('\n').map_or(0, |at| at + 1)..];
        let before = &text[..index];
        let rest = &text[index + "cargo topdown ".len()..];
        let is_span = before.ends_with('`');
        let is_line = line
            .trim_start()
            .trim_start_matches("- ")
            .starts_with("cargo topdown ");
        let end = match (is_span, is_line) {
            (true, _) => rest.find('`'),
            (false, true) => rest.find(['\n', '#', ';', '|']),
            (false, false) => continue,
        };
        let command = rest[..end.unwrap_or(rest.len())].replace("…", "");
        commands.push(
            command
                .split(" #")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned(),
        );
    }
    commands
}

fn last_word_is_flag(command: &str) -> bool {
    let last = command.split_whitespace().last();
    last.is_some_and(|word| word.starts_with("--"))
}

#[test]
fn guide_commands_are_valid() {
    let mut understood = 0;
    for (path, text) in documents() {
        for command in commands(&text) {
            let words = command
                .split_whitespace()
                .map(|word| word.trim_matches(['[', ']', '"']))
                .filter(|word| !word.is_empty() && !word.starts_with("2>"))
                .take_while(|word| *word != "||" && *word != "&&" && *word != ">")
                .map(|word| match word {
                    "N" => "1".to_owned(),
                    "SHELL" => "bash".to_owned(),
                    word => word.replace("METRIC=PERCENT", "slots=3%"),
                });
            let line = ["cargo topdown".to_owned()].into_iter().chain(words);
            match Cli::try_parse_from(line) {
                Ok(_) => understood += 1,
                Err(error) => match error.kind() {
                    ErrorKind::DisplayHelp => understood += 1,
                    // The text only mentions a subcommand by name.
                    ErrorKind::MissingRequiredArgument
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {}
                    // The text only mentions a flag by name.
                    ErrorKind::InvalidValue if last_word_is_flag(&command) => {}
                    _ => panic!("{}: `cargo topdown {command}`: {error}", path.display()),
                },
            }
        }
    }
    assert!(understood > 20, "{understood}");
}

/// Returns the anchors that GitHub and mdBook give to the headings of a page.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|title| title.chars().filter(kept).collect::<String>())
        .map(|title| title.replace(' ', "-"))
        .collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    for (path, text) in documents() {
        // GitHub and the registry show what only mdBook understands.
        assert!(!text.contains("{{#"), "{}", path.display());
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|target| !target.is_empty() && !target.contains("://"));
        for target in targets {
            let (name, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = match name {
                "" => path.clone(),
                name => path.parent().unwrap().join(name),
            };
            assert!(file.exists(), "{}: {target}", path.display());
            if !anchor.is_empty() {
                let page = fs::read_to_string(&file).unwrap();
                let is_heading = anchors(&page).iter().any(|known| known == anchor);
                assert!(is_heading, "{}: {target}", path.display());
            }
        }
    }
}

#[test]
fn every_chapter_is_in_the_summary() {
    let docs = Path::new(REPOSITORY).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for folder in ["", "engineering/"] {
        for entry in fs::read_dir(docs.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                let link = format!("]({folder}{name})");
                assert!(summary.contains(&link), "{folder}{name}");
            }
        }
    }
}

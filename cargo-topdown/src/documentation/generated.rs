//! The pages of the guide that are made from the program: the command line from clap, and the
//! settings from their types. `UPDATE_DOCS=1 cargo test -p cargo-topdown generated` writes them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};

use crate::cli::Cli;
use crate::config::{POLICY_KEYS, setting_types};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

/// Says where a page comes from.
const NOTICE: &str = "<!-- Made by the tests of cargo-topdown; do not edit. -->\n";

/// The width of help in the guide.
const WIDTH: usize = 100;

/// Settings whose flag has another name.
const OTHER_FLAGS: [(&str, &str); 3] = [
    ("allocations", "no-allocations"),
    ("fingerprints", "no-fingerprints"),
    ("margins", "margin"),
];

#[track_caller]
fn check(name: &str, text: &str) {
    let path = Path::new(DOCS).join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        current, text,
        "{name} is not current; UPDATE_DOCS=1 writes it"
    );
}

/// The program's command line, without what the environment of a test says.
fn command() -> Command {
    let mut command = Cli::command().term_width(WIDTH);
    command.build();
    command
}

#[test]
fn commands_page_is_generated_from_clap() {
    let mut page = format!("# Commands\n\n{NOTICE}");
    write_commands(command(), &mut page);
    check("commands.md", &page);
}

fn write_commands(command: Command, page: &mut String) {
    for subcommand in command.get_subcommands() {
        if subcommand.is_hide_set() || subcommand.get_name() == "help" {
            continue;
        }
        let name = subcommand.get_bin_name().unwrap_or_default().to_owned();
        let mut shown = subcommand.clone().term_width(WIDTH);
        shown = shown.mut_args(|arg| arg.hide_env_values(true));
        let help = shown.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        writeln!(page, "\n## `{name}`\n\n```text\n{}\n```", lines.join("\n")).unwrap();
        write_commands(shown, page);
    }
}

/// Finds the flag `name` of any subcommand.
fn flag(name: &str) -> Option<Arg> {
    let name = OTHER_FLAGS
        .iter()
        .find(|(setting, _)| *setting == name)
        .map_or(name, |(_, flag)| flag);
    fn find(command: &Command, name: &str) -> Option<Arg> {
        let own = command.get_arguments();
        let own = own.into_iter().find(|arg| arg.get_long() == Some(name));
        own.cloned().or_else(|| {
            let mut below = command.get_subcommands();
            below.find_map(|command| find(command, name))
        })
    }
    find(&command(), name)
}

#[test]
fn settings_page_is_generated_from_types() {
    let mut page = format!(
        "# Settings\n\n\
         {NOTICE}\n\
         Settings are read from `[workspace.metadata.topdown]` in the workspace's Cargo.toml and, \
         for the benches of a package,\n\
         from its `[package.metadata.topdown]`. A flag takes precedence over the variable, the \
         variable over the package's table,\n\
         and that over the workspace's.\n\n\
         ## Measuring\n\n\
         | key | value | flag | variable | meaning |\n\
         |---|---|---|---|---|\n\
         "
    );
    for (key, kind, description) in setting_types() {
        if key != "policy" {
            write_row(&key, &kind, &description, &mut page);
        }
    }
    page.push_str(
        "\n\
         ## Policy\n\n\
         In `[workspace.metadata.topdown.policy]`; `gate`, `margins`, `benchmarks` and `budgets` \
         in `[package.metadata.topdown.policy]`, too.\n\n\
         | key | flag | variable | meaning |\n\
         |---|---|---|---|\n\
         ",
    );
    for (key, description) in POLICY_KEYS {
        write_row(key, "", description, &mut page);
    }
    check("settings.md", &page);
}

fn write_row(key: &str, kind: &str, description: &str, page: &mut String) {
    let arg = flag(key);
    let help = arg.as_ref().and_then(Arg::get_help).map(|h| h.to_string());
    // The type's own words, where they are more than those of a flag that only relates to it.
    let meaning = match (description, help) {
        ("", Some(help)) => help,
        (description, _) => description.to_owned(),
    };
    assert!(
        !meaning.is_empty(),
        "the setting `{key}` has no description"
    );
    let variable = arg.as_ref().and_then(Arg::get_env);
    let variable = variable.map_or(String::new(), |v| format!("`{}`", v.to_string_lossy()));
    let long = arg.as_ref().and_then(Arg::get_long);
    let long = long.map_or(String::new(), |long| format!("`--{long}`"));
    let meaning = meaning.replace('\n', " ").replace('|', "\\|");
    // The words of a choice say more than that it is a string.
    let words = arg.as_ref().map(Arg::get_possible_values);
    let words: Vec<String> = words
        .into_iter()
        .flatten()
        .map(|word| format!("`{}`", word.get_name()))
        .collect();
    let kind = match kind {
        "string" if !words.is_empty() => words.join(", "),
        kind => kind.to_owned(),
    };
    match &*kind {
        "" => writeln!(page, "| `{key}` | {long} | {variable} | {meaning} |"),
        kind => writeln!(
            page,
            "| `{key}` | {kind} | {long} | {variable} | {meaning} |"
        ),
    }
    .unwrap();
}

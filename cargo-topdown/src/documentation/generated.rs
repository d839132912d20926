//! The pages of the guide that are made from the program: the command line from clap, and the
//! settings from their types. `cargo xtask generate` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};

use crate::cli::{CARGO_HEADING, Cli};
use crate::config::{POLICY_KEYS, setting_types};

/// Set by `cargo xtask generate`, to write files instead of comparing them.
pub const GENERATE: &str = "XTASK_GENERATE";

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
    if std::env::var_os(GENERATE).is_some() {
        fs::write(&path, text).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        current, text,
        "{name} is not current; `cargo xtask generate` writes it"
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
    let mut page = format!(
        "# Commands\n\n{NOTICE}\n\
         `--help` of a command says more. Defaults are in brackets. *env*: the variable \
         `CARGO_TOPDOWN_` with the flag's name in\n\
         capitals, and `_` for `-`, does the same as the flag.\n\n\
         Nearly all commands take `--baselines`, `--manifest-path` and `--color`, which \
         [`bench`](#bench) explains. Those with `--json` are in [JSON for programs](schemas.md).\n"
    );
    write_commands(&command(), &mut Explained::new(), &mut page);
    check("commands.md", &page);
}

/// Flags that nearly all commands take.
const COMMON: [&str; 3] = ["`--baselines`", "`--manifest-path`", "`--color`"];

/// The rows of the page so far, with their command and heading.
type Explained = BTreeMap<String, (String, String)>;

/// Writes a section for each subcommand.
fn write_commands(command: &Command, explained: &mut Explained, page: &mut String) {
    for subcommand in command.get_subcommands() {
        if subcommand.is_hide_set() || subcommand.get_name() == "help" {
            continue;
        }
        let name = subcommand.get_bin_name().unwrap_or_default();
        let name = name.trim_start_matches("cargo topdown ");
        let about = subcommand.get_about().map(ToString::to_string);
        writeln!(page, "\n## `{name}`\n\n{}.", about.unwrap_or_default()).unwrap();
        write_arguments(subcommand, name, explained, page);
        write_commands(subcommand, explained, page);
    }
}

/// Writes the arguments of a command as a table; those that an earlier command has, by name, or by
/// their heading if they are all that it has.
fn write_arguments(command: &Command, name: &str, explained: &mut Explained, page: &mut String) {
    let mut tables: Vec<(&str, String)> = Vec::new();
    let mut repeated: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for arg in command.get_arguments().filter(|arg| arg.get_id() != "help") {
        if arg.get_long() == Some("json") && name != "bench" {
            continue;
        }
        let row = format!("| `{}` | {} |\n", shown(arg), meaning(arg));
        if let Some(earlier) = explained.get(&row) {
            let long = arg.get_long().map(|long| format!("`--{long}`"));
            let word = long.unwrap_or_else(|| format!("`{arg}`"));
            repeated.entry(earlier.clone()).or_default().push(word);
            continue;
        }
        let heading = arg.get_help_heading().filter(|_| !arg.is_positional());
        let heading = heading.unwrap_or_default();
        let place = (name.to_owned(), heading.to_owned());
        explained.insert(row.clone(), place);
        match tables.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, rows)) => rows.push_str(&row),
            None => tables.push((heading, row)),
        }
    }
    tables.sort_by_key(|(heading, _)| !heading.is_empty());
    if !tables.is_empty() {
        page.push_str("\n| | |\n|---|---|\n");
    }
    for (heading, rows) in tables {
        if heading == CARGO_HEADING {
            let names = rows.lines().filter_map(|row| row.split("--").nth(1));
            let flags = names.filter_map(|name| name.split([' ', ',', '`']).next());
            let flags: Vec<String> = flags.map(|flag| format!("`--{flag}`")).collect();
            writeln!(
                page,
                "| **{heading}** | As for cargo: {} |",
                flags.join(", ")
            )
            .unwrap();
            continue;
        }
        if !heading.is_empty() {
            writeln!(page, "| **{heading}** | |").unwrap();
        }
        page.push_str(&rows);
    }
    let mut as_for: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (place, mut words) in repeated {
        let all = explained.values().filter(|known| **known == place);
        if all.count() == words.len() && words.len() > 2 && !place.1.is_empty() {
            words = vec![format!("*{}*", place.1)];
        }
        words.retain(|word| !COMMON.contains(&word.as_str()));
        as_for.entry(place.0).or_default().extend(words);
    }
    for (earlier, words) in as_for.iter().filter(|(_, words)| !words.is_empty()) {
        let anchor = earlier.replace(' ', "-");
        let words = words.join(", ");
        writeln!(page, "\nAs for [`{earlier}`](#{anchor}): {words}.").unwrap();
    }
}

/// Returns the flag as the command line has it, with its value and its other names.
fn shown(arg: &Arg) -> String {
    let short = arg.get_short().filter(|_| !arg.is_positional());
    let short = short.map_or(String::new(), |short| format!("-{short}, "));
    let dashes = if arg.is_last_set() { "-- " } else { "" };
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let aliases: String = aliases.iter().map(|a| format!(", --{a}")).collect();
    format!("{dashes}{short}{arg}{aliases}").replace('|', "\\|")
}

/// Returns the short help of an argument, its choices, default and variable.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string);
    let mut text = help.unwrap_or_default().replace('\n', " ");
    let choices = arg.get_possible_values();
    let choices = choices.iter().filter(|choice| choice.get_help().is_some());
    let choices: Vec<String> = choices.map(|c| format!("`{}`", c.get_name())).collect();
    if !choices.is_empty() {
        write!(text, ": {}", choices.join(", ")).unwrap();
    }
    let is_switch = !arg.is_positional() && !arg.get_action().takes_values();
    if let ([default], false) = (arg.get_default_values(), is_switch) {
        write!(text, " [{}]", default.to_string_lossy()).unwrap();
    }
    if arg.is_required_set() && !arg.is_positional() {
        text.push_str(" (required)");
    }
    if let (Some(variable), Some(long)) = (arg.get_env(), arg.get_long()) {
        match variable.to_string_lossy() {
            variable if *variable == variable_of(long) => text.push_str(" *env*"),
            variable => write!(text, " *env* `{variable}`").unwrap(),
        }
    }
    text.replace("[default: ", "[")
        .replace("[default FILE: ", "[")
        .replace('|', "\\|")
}

/// Returns the environment variable of a flag.
fn variable_of(long: &str) -> String {
    format!("CARGO_TOPDOWN_{}", long.to_uppercase().replace('-', "_"))
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
         from its `[package.metadata.topdown]`. The flag takes precedence, then the variable \
         (`CARGO_TOPDOWN_` with the flag's name\n\
         in capitals, and `_` for `-`), the package's table, and the workspace's. [Commands]\
         (commands.md#bench) explains the flags and has the defaults.\n\n\
         ## Measuring\n\n\
         | key | value | flag | beyond its flag |\n\
         |---|---|---|---|\n\
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
         | key | flag | beyond its flag |\n\
         |---|---|---|\n\
         ",
    );
    for (key, description) in POLICY_KEYS {
        write_row(key, "", description, &mut page);
    }
    check("settings.md", &page);
}

fn write_row(key: &str, kind: &str, description: &str, page: &mut String) {
    let arg = flag(key);
    // What a flag does is in its help.
    assert!(
        !description.is_empty() || arg.is_some(),
        "the setting `{key}` has no description"
    );
    if let Some(arg) = &arg {
        let variable = arg.get_env().map(|v| v.to_string_lossy().into_owned());
        assert_eq!(variable, arg.get_long().map(variable_of), "`{key}`");
    }
    let long = arg.as_ref().and_then(Arg::get_long);
    let long = long.map_or(String::new(), |long| format!("`--{long}`"));
    let meaning = description.replace('\n', " ").replace('|', "\\|");
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
        "" => writeln!(page, "| `{key}` | {long} | {meaning} |"),
        kind => writeln!(page, "| `{key}` | {kind} | {long} | {meaning} |"),
    }
    .unwrap();
}

//! Settings with a fixed list of choices, as clap parses them and `--help` lists them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use topdown_run::setting::Setting;

/// Parses one of the choices that users have.
pub fn choices<S: Setting + Send + Sync>() -> impl TypedValueParser<Value = S> {
    let listed = S::CHOICES.iter().map(|choice| {
        // As clap does with doc comments.
        let help = choice.meaning().trim_end_matches('.');
        PossibleValue::new(choice.name()).help(help)
    });
    PossibleValuesParser::new(listed)
        .map(|word| word.parse().expect("clap lets only listed words through"))
}

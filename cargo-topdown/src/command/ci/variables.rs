//! The variables of a step, from action.yml and GitHub's runner.

use std::collections::BTreeMap;

use crate::error::CiError;

/// The variables of a step.
#[derive(Debug)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Returns those of this process.
    pub fn from_process() -> Variables {
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Variables(
            std::env::vars_os()
                .map(|(name, value)| (lossy(name), lossy(value)))
                .collect(),
        )
    }

    #[cfg(test)]
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Variables {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Variables(variables.into_iter().map(owned).collect())
    }

    /// Returns the variables' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the value; empty if it is not set.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns the value unless it is empty.
    pub fn some(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// Returns the value of a variable that is always set.
    ///
    /// # Errors
    /// Returns an error if it is not.
    pub fn required(&self, name: &'static str) -> Result<&str, CiError> {
        self.some(name).ok_or(CiError::Unset(name))
    }

    /// Returns the lines with any text.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let lines = self.text(name).lines();
        let lines = lines.filter(|line| !line.trim().is_empty());
        lines.map(str::to_owned).collect()
    }

    /// Returns the `variable` of the input `name`.
    ///
    /// # Errors
    /// Returns an error if it is neither true nor false.
    pub fn truth(&self, variable: &str, name: &'static str) -> Result<bool, CiError> {
        match self.text(variable) {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(CiError::Input {
                name,
                expected: "true or false",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_unchanged() {
        let text = "--workspace\r\n\n  \n--\n$(touch x) `touch x`; touch x\n\"two words\"\n";
        assert_eq!(
            Variables::of([("X", text)]).lines("X"),
            [
                "--workspace",
                "--",
                "$(touch x) `touch x`; touch x",
                "\"two words\""
            ]
        );
        assert!(Variables::of([]).lines("X").is_empty());
    }

    #[test]
    fn invalid_boolean_is_refused() {
        for (text, value) in [("true", Some(true)), ("false", Some(false))] {
            assert_eq!(Variables::of([("X", text)]).truth("X", "x").ok(), value);
        }
        for text in ["", "maybe", "True", "1"] {
            let error = Variables::of([("X", text)]).truth("X", "x").unwrap_err();
            assert_eq!(error.to_string(), "the input `x` must be true or false");
        }
    }
}

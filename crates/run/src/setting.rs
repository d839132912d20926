//! Settings with a fixed list of choices, and the words for them: the same in flags, manifests,
//! environment variables and messages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::environment;

/// A setting with a fixed list of choices.
pub trait Setting: Copy + Default + FromStr<Err = UnknownChoice> + 'static {
    /// Its name in messages.
    const NAME: &'static str;

    /// The environment variable that passes it to a bench.
    const VARIABLE: &'static str;

    /// The choices available to users.
    const CHOICES: &'static [Self];

    /// The word for this choice.
    fn name(self) -> &'static str;

    /// The effect of this choice, as `--help` prints it.
    fn meaning(self) -> &'static str;

    /// Reads [`VARIABLE`](Setting::VARIABLE); the default if it is not set.
    ///
    /// # Errors
    /// Returns an error if the variable has any other value.
    fn from_environment() -> Result<Self, UnknownChoice> {
        match std::env::var(Self::VARIABLE) {
            Ok(word) => word.parse(),
            Err(_) => Ok(Self::default()),
        }
    }
}

/// A word that is not a choice of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChoice {
    /// The setting.
    pub setting: &'static str,
    /// The word.
    pub word: String,
    /// The available words.
    pub choices: Vec<&'static str>,
}

impl fmt::Display for UnknownChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownChoice { setting, word, .. } = self;
        write!(f, "unknown {setting} `{word}`; choose ")?;
        for (index, choice) in self.choices.iter().enumerate() {
            let separator = match self.choices.len() - index {
                _ if index == 0 => "",
                1 => " or ",
                _ => ", ",
            };
            write!(f, "{separator}{choice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownChoice {}

/// Defines a setting: the enum, its words, and which of them users can choose. The doc comments of
/// the choices are also their text in `--help`.
macro_rules! setting {
    (
        $(#[$attribute:meta])*
        $setting:ident, $title:literal, $variable:ident {
            $($(#[doc = $meaning:literal])* $choice:ident = $word:literal,)*
        }
        internal {
            $($(#[doc = $hidden_meaning:literal])* $hidden:ident = $hidden_word:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[derive(Serialize, Deserialize)]
        pub enum $setting {
            $($(#[doc = $meaning])* #[serde(rename = $word)] $choice,)*
            $($(#[doc = $hidden_meaning])* #[serde(skip)] $hidden,)*
        }

        impl Setting for $setting {
            const NAME: &'static str = $title;
            const VARIABLE: &'static str = environment::$variable;
            const CHOICES: &'static [$setting] = &[$($setting::$choice),*];

            fn name(self) -> &'static str {
                match self {
                    $($setting::$choice => $word,)*
                    $($setting::$hidden => $hidden_word,)*
                }
            }

            #[inline]
            fn meaning(self) -> &'static str {
                match self {
                    $($setting::$choice => concat!($($meaning),*).trim_ascii(),)*
                    $($setting::$hidden => concat!($($hidden_meaning),*).trim_ascii(),)*
                }
            }
        }

        impl Default for $setting {
            fn default() -> $setting {
                $setting::CHOICES[0]
            }
        }

        impl FromStr for $setting {
            type Err = UnknownChoice;

            #[inline]
            fn from_str(word: &str) -> Result<$setting, UnknownChoice> {
                match word {
                    "" => Ok($setting::default()),
                    $($word => Ok($setting::$choice),)*
                    $($hidden_word => Ok($setting::$hidden),)*
                    _ => Err(UnknownChoice {
                        setting: $title,
                        word: word.to_owned(),
                        choices: vec![$($word),*],
                    }),
                }
            }
        }
    };
}

setting! {
    /// Where numbers come from.
    SourceChoice, "source", SOURCE {
        /// The hardware counters, else the model of a core, else the clock.
        Auto = "auto",
        /// Only the hardware counters.
        Hardware = "hardware",
        /// The model of a core, on x86-64 Linux; time is measured in separate launches.
        Model = "model",
        /// The clock.
        Time = "time",
    }
    internal {
        /// The model of a core, else the clock: `cargo topdown` asks for it where `auto` gave the
        /// clock. Otherwise criterion would want far more iterations than the model can
        /// execute, so that `auto` does not choose the model in plain `cargo bench`.
        ModelOrTime = "model-or-time",
        /// The clock, for benchmarks whose slots `cargo topdown` takes in launches on the model.
        TimeBesideModel = "time-beside-model",
    }
}

setting! {
    /// Which hardware counters are used.
    ///
    /// Intel's performance cores since Ice Lake can count TopDown in several ways, whose numbers
    /// are not comparable with each other. PERF_METRICS needs no general counters but is coarse: no
    /// category is more exact than 1/255 of a window, however long. Plain counters are exact to the
    /// event, and the better choice for windows of less than 100 000 slots or effects of less than
    /// half a percent. All other CPUs have only plain counters.
    Counters, "counters", COUNTERS {
        /// PERF_METRICS where the CPU has it, else plain counters.
        Auto = "auto",
        /// Only PERF_METRICS: the register as it is.
        Metrics = "metrics",
        /// PERF_METRICS with the corrections of Intel's metrics, perf's `tma_…`.
        Tma = "tma",
        /// Plain counters: exact, but costlier to read.
        Exact = "exact",
    }
    internal {}
}

setting! {
    /// Which threads' slots count. One thread's slots are never compared with those of all.
    Threads, "threads", THREADS {
        /// Those of the measuring thread; of all threads in benchmarks where others work.
        Auto = "auto",
        /// Those of the measuring thread; work on other threads does not count.
        Own = "own",
        /// Those of all threads of the process.
        All = "all",
    }
    internal {}
}

setting! {
    /// Which core is modelled.
    ModelCore, "model core", MODEL_CORE {
        /// The one nearest to the host's: Zen 4 or Zen 5 on AMD's CPUs, else Golden Cove.
        Nearest = "nearest",
        /// Golden Cove: Intel's Alder Lake and Sapphire Rapids.
        GoldenCove = "golden-cove",
        /// Zen 4: AMD's Raphael and Genoa.
        Zen4 = "zen-4",
        /// Zen 5: AMD's Granite Ridge and Turin.
        Zen5 = "zen-5",
    }
    internal {}
}

setting! {
    /// What determines the number of iterations of samples.
    Sampling, "sampling", SAMPLING {
        /// criterion's plan for the sample size and times that `cargo topdown` sets.
        Planned = "planned",
        /// The same plan, but what a group sets takes precedence, as in plain `cargo bench`.
        Author = "author",
        /// Samples have 1, 2, 4, 8, … iterations: see [`crate::doubling`].
        Doubling = "doubling",
        /// Two samples, of 1 and 2 iterations: what a
        /// [fingerprint](crate::code::CodeSlots::first_samples) takes.
        FirstTwo = "first-two",
    }
    internal {}
}

impl Sampling {
    /// Whether each sample has twice the iterations of the one before.
    pub fn doubles(self) -> bool {
        matches!(self, Sampling::Doubling | Sampling::FirstTwo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_can_be_read<S: Setting + PartialEq + fmt::Debug>() {
        for choice in S::CHOICES {
            assert_eq!(choice.name().parse::<S>().unwrap(), *choice);
            assert!(!choice.meaning().is_empty());
        }
        assert_eq!("".parse::<S>().unwrap(), S::default());
        let error = "magic".parse::<S>().unwrap_err();
        assert_eq!(error.choices.len(), S::CHOICES.len());
    }

    #[test]
    fn known_words_are_read_and_others_refused() {
        words_can_be_read::<SourceChoice>();
        words_can_be_read::<Counters>();
        words_can_be_read::<Threads>();
        words_can_be_read::<ModelCore>();
        words_can_be_read::<Sampling>();
        let error = "exakt".parse::<Counters>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown counters `exakt`; choose auto, metrics, tma or exact"
        );
    }

    #[test]
    fn internal_choices_are_not_offered() {
        let error = "magic".parse::<SourceChoice>().unwrap_err();
        for choice in [SourceChoice::ModelOrTime, SourceChoice::TimeBesideModel] {
            assert_eq!(choice.name().parse(), Ok(choice));
            assert!(!SourceChoice::CHOICES.contains(&choice));
            assert!(!error.choices.contains(&choice.name()));
        }
    }
}

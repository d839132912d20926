//! The subset of nextest's filtersets that applies to benchmarks.
//!
//! `test(~parse) and not package(=slow)` lets the benchmarks through whose names contain `parse`,
//! except those of the package `slow`. What nextest calls a binary is a bench target here, and
//! `tag(…)` is ours: patterns to which the settings give a name.

use std::collections::BTreeMap;

use regex::Regex;
use thiserror::Error;
use topdown_run::run_file::{BenchmarkId, Expression, LeftOut};
use wildmatch::WildMatch;

use crate::pattern::Pattern;

/// The deepest nesting, so that no expression of a run file exhausts the stack.
const MAX_NESTING: usize = 64;

/// The tags that settings define: names of lists of patterns.
pub type Tags = BTreeMap<String, Vec<Pattern>>;

/// Why a text is not a filter expression.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{what}\n  {text}\n  {}^", " ".repeat(text[..*at].chars().count()))]
pub struct ExpressionError {
    /// What is wrong.
    what: String,
    /// The expression.
    text: String,
    /// Where it is wrong, in bytes.
    at: usize,
}

/// A filter expression that was understood.
#[derive(Debug)]
pub struct FilterExpression {
    node: Node,
    stored: Expression,
}

impl FilterExpression {
    /// Understands `text`, whose tags are among `tags`.
    ///
    /// # Errors
    /// Returns an error that shows the place if `text` is not an expression.
    pub fn parse(text: &str, tags: &Tags) -> Result<FilterExpression, ExpressionError> {
        let mut parser = Parser {
            text,
            at: 0,
            nesting: 0,
            tags,
            used: BTreeMap::new(),
        };
        let node = parser.either()?;
        parser.skip_spaces();
        if parser.at < text.len() {
            return Err(parser.error("expected `and`, `or` or the end"));
        }
        Ok(FilterExpression {
            node,
            stored: Expression {
                text: text.to_owned(),
                tags: parser.used,
            },
        })
    }

    /// Understands the expression of a run.
    ///
    /// # Errors
    /// As [`parse`](FilterExpression::parse).
    pub fn from_run(stored: &Expression) -> Result<FilterExpression, ExpressionError> {
        let pattern = |p: &LeftOut| Pattern::within(p.package.as_deref(), &p.pattern);
        let of_tag = |(name, patterns): (&String, &Vec<LeftOut>)| {
            (name.clone(), patterns.iter().map(pattern).collect())
        };
        FilterExpression::parse(&stored.text, &stored.tags.iter().map(of_tag).collect())
    }

    /// Returns the form stored in a run, with the tags that it uses.
    pub fn stored(&self) -> &Expression {
        &self.stored
    }

    /// Returns whether it lets the benchmark through.
    pub fn matches(&self, id: &BenchmarkId) -> bool {
        self.node.matches(id)
    }
}

/// Returns the expression for benchmarks that any of `expressions` lets through, if there are any,
/// and none of `skipped` does: a pattern of a name or id, or without wildcards a part of a name, as
/// libtest has it, or an id. `None` if nothing is restricted.
pub fn text_of(expressions: &[String], skipped: &[String]) -> Option<String> {
    let skips = skipped.iter().map(|pattern| {
        let escaped = pattern.replace('\\', r"\\").replace(')', r"\)");
        if pattern.contains(['*', '?']) {
            format!("not id(#{escaped})")
        } else {
            format!("not (test(~{escaped}) or id(={escaped}))")
        }
    });
    let wanted = match expressions {
        [] => None,
        [one] if skipped.is_empty() => return Some(one.clone()),
        several => {
            let several: Vec<String> = several.iter().map(|one| format!("({one})")).collect();
            Some(match &several[..] {
                [one] => one.clone(),
                several => format!("({})", several.join(" or ")),
            })
        }
    };
    let parts: Vec<String> = wanted.into_iter().chain(skips).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

#[derive(Debug)]
enum Node {
    All,
    None,
    Package(Matcher),
    Target(Matcher),
    /// `package::target`.
    TargetId(Matcher),
    Name(Matcher),
    /// The name, or `package::target::name`.
    Id(Matcher),
    Tag(Vec<Pattern>),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
}

impl Node {
    fn matches(&self, id: &BenchmarkId) -> bool {
        match self {
            Node::All => true,
            Node::None => false,
            Node::Package(matcher) => matcher.matches(&id.package),
            Node::Target(matcher) => matcher.matches(&id.target),
            Node::TargetId(matcher) => matcher.matches(&format!("{}::{}", id.package, id.target)),
            Node::Name(matcher) => matcher.matches(&id.name),
            Node::Id(matcher) => matcher.matches(&id.name) || matcher.matches(&id.to_string()),
            Node::Tag(patterns) => patterns.iter().any(|pattern| pattern.matches(id)),
            Node::Not(node) => !node.matches(id),
            Node::And(a, b) => a.matches(id) && b.matches(id),
            Node::Or(a, b) => a.matches(id) || b.matches(id),
        }
    }
}

/// How a word is compared.
#[derive(Debug)]
enum Matcher {
    /// `=text`
    Equal(String),
    /// `~text`
    Contains(String),
    /// `#text`, with `*` and `?`
    Glob(WildMatch),
    /// `/text/`
    Regex(Regex),
}

impl Matcher {
    fn matches(&self, word: &str) -> bool {
        match self {
            Matcher::Equal(text) => text == word,
            Matcher::Contains(text) => word.contains(text.as_str()),
            Matcher::Glob(glob) => glob.matches(word),
            Matcher::Regex(regex) => regex.is_match(word),
        }
    }
}

/// Reads an expression from left to right.
struct Parser<'a> {
    text: &'a str,
    /// The next byte.
    at: usize,
    nesting: usize,
    tags: &'a Tags,
    /// The tags that were named so far.
    used: BTreeMap<String, Vec<LeftOut>>,
}

impl Parser<'_> {
    fn error(&self, what: impl Into<String>) -> ExpressionError {
        self.error_at(self.at, what)
    }

    fn error_at(&self, at: usize, what: impl Into<String>) -> ExpressionError {
        ExpressionError {
            what: what.into(),
            text: self.text.to_owned(),
            at,
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes one of `symbols`, or of `words` if no letter follows.
    fn takes(&mut self, symbols: &[&str], words: &[&str]) -> bool {
        self.skip_spaces();
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let symbol = symbols
            .iter()
            .find(|symbol| self.rest().starts_with(**symbol));
        let found = symbol.or_else(|| {
            let mut words = words.iter();
            words.find(|word| self.rest().strip_prefix(**word).is_some_and(ends))
        });
        self.at += found.map_or(0, |found| found.len());
        found.is_some()
    }

    fn either(&mut self) -> Result<Node, ExpressionError> {
        let mut node = self.both()?;
        while self.takes(&["|", "+"], &["or"]) {
            node = Node::Or(node.into(), self.both()?.into());
        }
        Ok(node)
    }

    fn both(&mut self) -> Result<Node, ExpressionError> {
        let mut node = self.one()?;
        loop {
            if self.takes(&["&"], &["and"]) {
                node = Node::And(node.into(), self.one()?.into());
            } else if self.takes(&["-"], &[]) {
                let not = Node::Not(self.one()?.into());
                node = Node::And(node.into(), not.into());
            } else {
                return Ok(node);
            }
        }
    }

    fn one(&mut self) -> Result<Node, ExpressionError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.error("it is nested too deeply"));
        }
        let node = if self.takes(&["!"], &["not"]) {
            Node::Not(self.one()?.into())
        } else if self.takes(&["("], &[]) {
            let node = self.either()?;
            self.expect_end()?;
            node
        } else {
            self.predicate()?
        };
        self.nesting -= 1;
        Ok(node)
    }

    fn expect_end(&mut self) -> Result<(), ExpressionError> {
        if self.takes(&[")"], &[]) {
            Ok(())
        } else {
            Err(self.error("expected `)`"))
        }
    }

    fn predicate(&mut self) -> Result<Node, ExpressionError> {
        self.skip_spaces();
        let start = self.at;
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let name = rest[..length].to_owned();
        self.at += length;
        if name.is_empty() || !self.takes(&["("], &[]) {
            let what = "expected `test(…)`, `package(…)`, `binary(…)` or another predicate; to \
                        select by a bare name, use FILTER without -E";
            return Err(self.error_at(start, what));
        }
        let node = match name.as_str() {
            "all" => Node::All,
            "none" => Node::None,
            "package" => Node::Package(self.matcher(glob)?),
            "binary" => Node::Target(self.matcher(glob)?),
            "binary_id" => Node::TargetId(self.matcher(glob)?),
            "test" => Node::Name(self.matcher(Matcher::Contains)?),
            "id" => Node::Id(self.matcher(glob)?),
            "tag" => self.tag()?,
            _ => {
                let what = format!(
                    "unknown predicate `{name}(…)`; the predicates are all, none, package, binary, \
                     binary_id, test, id and tag"
                );
                return Err(self.error_at(start, what));
            }
        };
        self.expect_end()?;
        Ok(node)
    }

    fn tag(&mut self) -> Result<Node, ExpressionError> {
        let start = self.at;
        let name = self.words(')')?;
        let name = name.strip_prefix('=').unwrap_or(&name).trim();
        let Some(patterns) = self.tags.get(name) else {
            let known: Vec<&str> = self.tags.keys().map(String::as_str).collect();
            let known = match known[..] {
                [] => "no tags are defined (`tags` in `[workspace.metadata.topdown]`)".into(),
                _ => format!("the tags are {}", known.join(", ")),
            };
            return Err(self.error_at(start, format!("unknown tag `{name}`; {known}")));
        };
        let stored = patterns.iter().map(Pattern::stored).collect();
        self.used.insert(name.to_owned(), stored);
        Ok(Node::Tag(patterns.clone()))
    }

    /// Reads a matcher; `by_default` makes one of a text without a sign.
    fn matcher(&mut self, by_default: fn(String) -> Matcher) -> Result<Matcher, ExpressionError> {
        self.skip_spaces();
        let start = self.at;
        let made = match self.rest().chars().next() {
            Some('=') => Matcher::Equal as fn(String) -> Matcher,
            Some('~') => Matcher::Contains,
            Some('#') => glob,
            Some('/') => {
                self.at += 1;
                let text = self.words('/')?;
                self.at += 1;
                let regex = Regex::new(&text);
                return regex.map(Matcher::Regex).map_err(|error| {
                    self.error_at(start, format!("not a regular expression: {error}"))
                });
            }
            _ => by_default,
        };
        if self.rest().starts_with(['=', '~', '#']) {
            self.at += 1;
        }
        let text = self.words(')')?;
        match text.trim() {
            "" => Err(self.error_at(start, "expected a name or a pattern")),
            text => Ok(made(text.to_owned())),
        }
    }

    /// Reads up to `end`, which a backslash escapes, as it does itself and `)`. Other backslashes
    /// stay: they belong to regular expressions.
    fn words(&mut self, end: char) -> Result<String, ExpressionError> {
        let mut words = String::new();
        let mut characters = self.rest().char_indices().peekable();
        while let Some((index, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            match (c, next) {
                (c, _) if c == end => {
                    self.at += index;
                    return Ok(words);
                }
                ('\\', Some(next)) if next == end || (end == ')' && next == '\\') => {
                    words.push(next);
                    characters.next();
                }
                // An escaped backslash does not escape what follows it.
                ('\\', Some('\\')) => {
                    words.push_str(r"\\");
                    characters.next();
                }
                _ => words.push(c),
            }
        }
        Err(self.error_at(self.text.len(), format!("expected `{end}`")))
    }
}

fn glob(text: String) -> Matcher {
    Matcher::Glob(WildMatch::new(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(package: &str, target: &str, name: &str) -> BenchmarkId {
        BenchmarkId {
            package: package.to_owned(),
            target: target.to_owned(),
            name: name.to_owned(),
        }
    }

    fn tags() -> Tags {
        let patterns = vec![Pattern::new("sort/*"), Pattern::within(Some("q"), "*")];
        Tags::from([("slow".to_owned(), patterns)])
    }

    /// The names that `text` lets through of four benchmarks.
    fn matched(text: &str) -> Vec<String> {
        let parsed = FilterExpression::parse(text, &tags());
        let expression = parsed.unwrap_or_else(|error| panic!("{error}"));
        // What a run stores means the same.
        let stored = FilterExpression::from_run(expression.stored()).unwrap();
        let all = [
            id("p", "a", "sort/10"),
            id("p", "a", "sort/(b)"),
            id("p", "b", "parse"),
            id("q", "b", "sum"),
        ];
        let matches = |id: &&BenchmarkId| {
            assert_eq!(expression.matches(id), stored.matches(id));
            expression.matches(id)
        };
        all.iter()
            .filter(matches)
            .map(|id| id.name.clone())
            .collect()
    }

    #[test]
    fn predicates_and_matchers_follow_nextest() {
        for (text, names) in [
            ("all()", &["sort/10", "sort/(b)", "parse", "sum"][..]),
            ("none()", &[]),
            ("test(s)", &["sort/10", "sort/(b)", "parse", "sum"]),
            ("test(=sum)", &["sum"]),
            ("test(~ort)", &["sort/10", "sort/(b)"]),
            ("test(#sort/?)", &[]),
            ("test(#sort/1?)", &["sort/10"]),
            (r"test(/^s[a-z]+\/\d+$/)", &["sort/10"]),
            (r"test(=sort/(b\))", &["sort/(b)"]),
            ("package(p)", &["sort/10", "sort/(b)", "parse"]),
            ("binary(b)", &["parse", "sum"]),
            ("binary_id(p::*)", &["sort/10", "sort/(b)", "parse"]),
            ("id(p::a::*)", &["sort/10", "sort/(b)"]),
            ("id(sum)", &["sum"]),
            ("tag(slow)", &["sort/10", "sort/(b)", "sum"]),
        ] {
            assert_eq!(matched(text), names, "{text}");
        }
    }

    #[test]
    fn not_binds_before_and_before_or() {
        for (text, names) in [
            (
                "not package(q) and test(sort) or test(=sum)",
                &["sort/10", "sort/(b)", "sum"][..],
            ),
            ("!package(q) & (test(parse) | test(sum))", &["parse"]),
            ("package(p) - test(sort)", &["parse"]),
            ("test(parse) + test(sum)", &["parse", "sum"]),
            ("not not test(=sum)", &["sum"]),
        ] {
            assert_eq!(matched(text), names, "{text}");
        }
    }

    #[test]
    fn invalid_expression_is_shown() {
        for (text, error) in [
            (
                "sort",
                "expected `test(…)`, `package(…)`, `binary(…)` or another predicate; to select by \
                 a bare name, use FILTER without -E\n  sort\n  ^",
            ),
            (
                "tset(a)",
                "unknown predicate `tset(…)`; the predicates are all, none, package, binary, \
                 binary_id, test, id and tag\n  tset(a)\n  ^",
            ),
            ("test(a", "expected `)`\n  test(a\n        ^"),
            ("test()", "expected a name or a pattern\n  test()\n       ^"),
            (
                "test(a) test(b)",
                "expected `and`, `or` or the end\n  test(a) test(b)\n          ^",
            ),
            ("(test(a)", "expected `)`\n  (test(a)\n          ^"),
            (
                "tag(fast)",
                "unknown tag `fast`; the tags are slow\n  tag(fast)\n      ^",
            ),
            (
                "all() or größe()",
                "unknown predicate `größe(…)`; the predicates are all, none, package, binary, \
                 binary_id, test, id and tag\n  all() or größe()\n           ^",
            ),
        ] {
            let found = FilterExpression::parse(text, &tags()).unwrap_err();
            assert_eq!(found.to_string(), error, "{text}");
        }
        for (text, words) in [
            ("test(/(/)", "unclosed group"),
            (&*"(".repeat(100), "nested too deeply"),
        ] {
            let found = FilterExpression::parse(text, &tags()).unwrap_err();
            assert!(found.to_string().contains(words), "{found}");
        }
    }

    #[test]
    fn flags_become_one_expression() {
        let selection = |expressions: &[&str], skipped: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
            text_of(&owned(expressions), &owned(skipped))
        };
        assert_eq!(selection(&[], &[]), None);
        assert_eq!(selection(&["test(a)"], &[]).unwrap(), "test(a)");
        assert_eq!(
            selection(&["test(a)", "test(b)"], &["x*"]).unwrap(),
            "((test(a)) or (test(b))) and not id(#x*)"
        );
        let skips = selection(&[], &["(b)"]).unwrap();
        assert_eq!(skips, r"not (test(~(b\)) or id(=(b\)))");
        assert_eq!(matched(&skips), ["sort/10", "parse", "sum"]);
    }
}

//! What there is to test in an engine: its functions, operators, types and clauses, and which of them a text uses.
//!
//! Functions come from the installed engine's own catalogue, by the queries of `corpus/features/`. What its profile excludes
//! is no feature: it may not be in a case.

use crate::catalogue;
use crate::compare::Row;
use crate::config::matches_glob;
use crate::sql::lex::{Token, tokens};
use crate::sql::profile::Profile;
use crate::sql::snippet::{SnippetKind, is_allowed};
use crate::sql::types::Value;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use thiserror::Error;

/// Characters kept of what an engine says about a feature.
const TEXT_CHARS_MAX: usize = 300;

/// Where an engine's features are listed: a file of `corpus/features/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureList {
    /// Queries whose rows are a kind, a name, types of arguments with `;` between them, and what the engine says about it.
    pub sql: Vec<String>,
    /// Functions that are not called; `*` stands for any text.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// Operators: marks, or words.
    pub operators: BTreeSet<String>,
    /// Types.
    pub types: BTreeSet<String>,
    /// Clauses and other syntax, as words that follow each other.
    pub clauses: BTreeSet<String>,
    /// Expressions that can stand for an argument of a type.
    pub arguments: BTreeMap<String, Vec<String>>,
}

impl FeatureList {
    /// The shipped list of a dialect.
    pub fn shipped(dialect: &str) -> Result<Self, FeatureError> {
        let text = catalogue::feature_list(dialect).ok_or_else(|| FeatureError::Missing(dialect.to_owned()))?;
        toml::from_str(text)
            .map_err(|source| FeatureError::Form { dialect: dialect.to_owned(), source: Box::new(source) })
    }
}

/// Why nothing is known of a dialect's features.
#[derive(Debug, Error)]
pub enum FeatureError {
    /// Nobody has listed them.
    #[error(
        "there is no list of features of {0}; a file features/{0}.toml in the directory that CAQTUS_CORPUS names can be one"
    )]
    Missing(String),
    /// The list is broken.
    #[error("the list of features of {dialect}")]
    Form {
        /// The dialect.
        dialect: String,
        /// What and where.
        #[source]
        source: Box<toml::de::Error>,
    },
}

/// A kind of feature.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FeatureKind {
    /// A scalar function that depends on its arguments only.
    Function,
    /// An aggregate.
    Aggregate,
    /// A function that needs a window.
    Window,
    /// A function that gives rows.
    Table,
    /// An operator.
    Operator,
    /// A type.
    Type,
    /// Syntax.
    Clause,
}

impl FeatureKind {
    /// Whether it is a function of any kind.
    pub fn is_function(self) -> bool {
        matches!(self, Self::Function | Self::Aggregate | Self::Window | Self::Table)
    }
}

/// What is known of a feature besides its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Its kind; of a function that is of several, the first.
    pub kind: FeatureKind,
    /// The types of the arguments, for each form of a function.
    pub signatures: BTreeSet<Vec<String>>,
    /// What the engine says about it; may be empty.
    pub text: String,
}

/// The features of a build of an engine.
#[derive(Debug, Clone, Default)]
pub struct Features {
    functions: BTreeMap<String, Feature>,
    /// The other kinds.
    others: BTreeMap<(FeatureKind, String), Feature>,
    /// What consists of words, by the first of them.
    phrases: HashMap<String, Vec<Phrase>>,
    /// Operators of marks, the longest first.
    marks: Vec<String>,
}

/// The words of a feature that consists of words, and the feature.
type Phrase = (Vec<String>, Named);

/// A feature's name among those of its kind.
pub type Named = (FeatureKind, String);

impl Features {
    /// Asks an engine. `rows` runs a query; `None` if the engine refuses it.
    pub fn read(profile: &Profile, list: &FeatureList, mut rows: impl FnMut(&str) -> Option<Vec<Row>>) -> Self {
        let mut features = Self::default();
        let catalogue = profile.functions.as_ref();
        let internal: BTreeSet<String> = catalogue
            .and_then(|catalogue| catalogue.internal.as_ref())
            .and_then(|sql| rows(sql))
            .unwrap_or_default()
            .iter()
            .filter_map(|row| row.first().map(text))
            .map(|name| name.to_lowercase())
            .collect();
        let excluded = |name: &str| {
            let patterns = list.excluded.iter().chain(catalogue.iter().flat_map(|catalogue| &catalogue.excluded));
            internal.contains(name) || patterns.into_iter().any(|pattern| matches_glob(pattern, name))
        };
        for row in list.sql.iter().filter_map(|sql| rows(sql)).flatten() {
            let [kind, name, arguments, said] = row.as_slice() else { continue };
            let Ok(kind) = text(kind).parse::<FeatureKind>() else { continue };
            let name = text(name).to_lowercase();
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
            if kind.is_function()
                && (!is_name
                    || excluded(&name)
                    || !is_allowed(
                        &name,
                        profile,
                        if kind == FeatureKind::Function { SnippetKind::Expression } else { SnippetKind::Table },
                    ))
            {
                continue;
            }
            let arguments = text(arguments);
            let signature: Vec<String> =
                if arguments.is_empty() { Vec::new() } else { arguments.split(';').map(str::to_owned).collect() };
            features.add(kind, name, Some(signature), &text(said));
        }
        for (kind, names) in [
            (FeatureKind::Operator, &list.operators),
            (FeatureKind::Type, &list.types),
            (FeatureKind::Clause, &list.clauses),
        ] {
            for name in names {
                let allowed = name.split(' ').all(|word| is_allowed(word, profile, SnippetKind::Table));
                if allowed {
                    features.add(kind, name.clone(), None, "");
                }
            }
        }
        features.index();
        features
    }

    fn add(&mut self, kind: FeatureKind, name: String, signature: Option<Vec<String>>, said: &str) {
        let new = || Feature { kind, signatures: BTreeSet::new(), text: said.chars().take(TEXT_CHARS_MAX).collect() };
        let feature = if kind.is_function() {
            self.functions.entry(name).or_insert_with(new)
        } else {
            self.others.entry((kind, name)).or_insert_with(new)
        };
        feature.signatures.extend(signature);
        if feature.text.is_empty() {
            feature.text = said.chars().take(TEXT_CHARS_MAX).collect();
        }
    }

    fn index(&mut self) {
        for (kind, name) in self.others.keys() {
            if name.starts_with(|c: char| c.is_alphabetic()) {
                let words: Vec<String> = name.split(' ').map(str::to_owned).collect();
                self.phrases.entry(words[0].clone()).or_default().push((words, (*kind, name.clone())));
            } else if *kind == FeatureKind::Operator {
                self.marks.push(name.clone());
            }
        }
        self.marks.sort_by_key(|mark| std::cmp::Reverse(mark.len()));
    }

    /// All of them, in order.
    pub fn all(&self) -> impl Iterator<Item = (Named, &Feature)> {
        let functions = self.functions.iter().map(|(name, feature)| ((feature.kind, name.clone()), feature));
        functions.chain(self.others.iter().map(|(named, feature)| (named.clone(), feature)))
    }

    /// The functions of a kind, by name.
    pub fn functions(&self, kind: FeatureKind) -> impl Iterator<Item = (&String, &Feature)> {
        self.functions.iter().filter(move |(_, feature)| feature.kind == kind)
    }

    /// What a text uses, going by its words and marks.
    pub fn used(&self, sql: &str) -> BTreeSet<Named> {
        let mut used = BTreeSet::new();
        let Ok(all) = tokens(sql) else { return used };
        let dense: Vec<&Token> = all.iter().filter(|token| !matches!(token, Token::Space(_))).collect();
        let lower = |token: &Token| match token {
            Token::Word(word) => Some(word.to_lowercase()),
            _ => None,
        };
        for (at, token) in dense.iter().enumerate() {
            let Some(word) = lower(token) else { continue };
            if dense.get(at + 1) == Some(&&Token::Symbol('('))
                && let Some(feature) = self.functions.get(&word)
            {
                used.insert((feature.kind, word.clone()));
            }
            for (words, named) in self.phrases.get(&word).into_iter().flatten() {
                let follows =
                    |(at, word): (usize, &String)| dense.get(at).and_then(|t| lower(t)).as_ref() == Some(word);
                if (at..).zip(words).all(follows) {
                    used.insert(named.clone());
                }
            }
        }
        let mut marks = String::new();
        for token in all.iter().chain([&Token::Space("")]) {
            match token {
                Token::Symbol(c) if !"()[]{},.".contains(*c) => marks.push(*c),
                _ => self.note_marks(&std::mem::take(&mut marks), &mut used),
            }
        }
        used
    }

    /// The operators of a run of marks, such as `=-`.
    fn note_marks(&self, mut run: &str, used: &mut BTreeSet<Named>) {
        while !run.is_empty() {
            let mark = self.marks.iter().find(|mark| run.starts_with(mark.as_str()));
            if let Some(mark) = mark {
                used.insert((FeatureKind::Operator, mark.clone()));
            }
            let length = mark.map_or_else(|| run.chars().next().map_or(1, char::len_utf8), String::len);
            run = &run[length..];
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;

    fn row(kind: &str, name: &str, arguments: &str) -> Row {
        [kind, name, arguments, ""].map(|text| Value::Text(text.as_bytes().to_vec())).to_vec()
    }

    #[test]
    fn what_the_profile_excludes_is_no_feature_and_words_and_marks_tell_the_rest() {
        let profile = profile("sqlite").expect("shipped");
        let list = FeatureList::shipped("sqlite").expect("shipped");
        let listed = vec![
            row("function", "abs", "any"),
            row("function", "random", ""),
            row("function", "sqlite_offset", "any"),
            row("function", "unknown", "any"),
            row("aggregate", "count", "any"),
            row("window", "rank", ""),
            row("window", "lag", "any"),
        ];
        let features = Features::read(&profile, &list, |sql| sql.contains("function_list").then(|| listed.clone()));
        let names: Vec<&String> = features.functions.keys().collect();
        assert_eq!(names, ["abs", "count", "rank"]);
        let used = features.used(
            "abs(t.c_int)=-1 AND (SELECT count(*) FROM t AS u WHERE u.c_text IS NOT DISTINCT FROM t.c_text || 'rank(')",
        );
        let has = |kind, name: &str| used.contains(&(kind, name.to_owned()));
        assert!(has(FeatureKind::Function, "abs") && has(FeatureKind::Aggregate, "count"), "{used:?}");
        assert!(has(FeatureKind::Operator, "=") && has(FeatureKind::Operator, "-") && has(FeatureKind::Operator, "||"));
        assert!(has(FeatureKind::Operator, "is not distinct from") && has(FeatureKind::Clause, "select"));
        assert!(!has(FeatureKind::Window, "rank") && !has(FeatureKind::Clause, "distinct on"), "{used:?}");
    }
}

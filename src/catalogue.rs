//! What ships inside the binary: oracle classes with their proofs, snippets and dialect profiles from `corpus/`.

use crate::caq::class::{ClassError, ClassText, OracleClass, read_classes};
use crate::caq::proof::{Pair, Record, RecordError, Stale, attach, parse_records};
use crate::config::{CatalogueSource, matches_glob};
use crate::digest::Digest;
use crate::sql::lex::{Token, tokens};
use crate::sql::profile::{Profile, ProfileError};
use crate::sql::snippet::{Snippet, SnippetError, SnippetKind};
use crate::sql::table_snippet::TableSnippet;
use include_dir::{Dir, include_dir};
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use thiserror::Error;

static CORPUS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/corpus");

static KNOWN_SCRIPTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/tests/known-bugs");

/// Dialects and snippets of the user's, which come before those that ship: files below the directory that `CAQTUS_CORPUS`
/// names, laid out as in `corpus/`.
static OWN: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let Some(root) = std::env::var_os("CAQTUS_CORPUS").map(PathBuf::from) else { return BTreeMap::new() };
    let files = ["dialects", "snippets", "features"].into_iter().flat_map(|dir| {
        let entries = std::fs::read_dir(root.join(dir)).into_iter().flatten().flatten();
        entries.filter_map(move |entry| Some((dir, entry.file_name().into_string().ok()?, entry.path())))
    });
    let texts =
        files.filter_map(|(dir, name, path)| Some((format!("{dir}/{name}"), std::fs::read_to_string(path).ok()?)));
    texts.collect()
});

/// Whether the directory that `CAQTUS_CORPUS` names, if it is set, has anything to read; that directory if not.
pub fn check_own() -> Result<(), PathBuf> {
    match std::env::var_os("CAQTUS_CORPUS").map(PathBuf::from) {
        Some(root) if OWN.is_empty() => Err(root),
        _ => Ok(()),
    }
}

fn text(path: &str) -> Option<&'static str> {
    OWN.get(path).map(String::as_str).or_else(|| CORPUS.get_file(path).and_then(|f| f.contents_utf8()))
}

/// The shipped profile of a dialect. One that extends another has its operators unless it has its own.
pub fn profile(dialect: &str) -> Result<Arc<Profile>, ProfileError> {
    let missing = || ProfileError::Missing(dialect.to_owned());
    let own = text(&format!("dialects/{dialect}.toml")).ok_or_else(missing)?;
    let base = Profile::extends(own);
    let base_text = base
        .as_ref()
        .map(|base| text(&format!("dialects/{base}.toml")).ok_or_else(|| ProfileError::Missing(base.clone())));
    let base_text = base_text.transpose()?;
    let operators = |of: &str| text(&format!("dialects/{of}-operators.toml"));
    let operators = operators(dialect).or_else(|| operators(base.as_deref()?)).ok_or_else(missing)?;
    Profile::parse(dialect, own, base_text, operators)
}

/// The shipped list of bugs that releases of an engine have and that were reported or wait for it; empty if there is none.
pub fn known_bugs(engine: &str) -> &'static str {
    CORPUS.get_file(format!("known/{engine}.toml")).and_then(|file| file.contents_utf8()).unwrap_or_default()
}

/// The script with answers that an entry of such a list names.
pub fn known_script(name: &str) -> Option<&'static str> {
    KNOWN_SCRIPTS.get_file(name).and_then(|file| file.contents_utf8())
}

/// The names of the shipped profiles.
pub fn dialects() -> Vec<String> {
    let shipped = CORPUS.get_dir("dialects").map(Dir::files).into_iter().flatten().map(include_dir::File::path);
    let files = shipped.chain(OWN.keys().map(Path::new).filter(|path| path.starts_with("dialects")));
    let names = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let names = names.filter_map(|path| path.file_stem()?.to_str()).filter(|name| !name.ends_with("-operators"));
    names.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Names before a parenthesis in the operators of the shipped profiles, in lower case: the functions that hunts call anyway,
/// and some keywords.
pub fn called_by_profiles() -> Result<BTreeSet<String>, ProfileError> {
    let mut names = BTreeSet::new();
    for dialect in dialects() {
        for operator in &profile(&dialect)?.operators {
            let Ok(all) = tokens(&operator.sql) else { continue };
            let pairs = all.windows(2).filter_map(|pair| match pair {
                [Token::Word(name), Token::Symbol('(')] => Some(name.to_lowercase()),
                _ => None,
            });
            names.extend(pairs);
        }
    }
    Ok(names)
}

/// What every shipped profile guarantees.
pub fn guaranteed_everywhere() -> Result<BTreeSet<Assumption>, ProfileError> {
    let guarantees = dialects().into_iter().map(|name| Ok(profile(&name)?.guarantees.clone()));
    let all: Vec<BTreeSet<Assumption>> = guarantees.collect::<Result<_, ProfileError>>()?;
    Ok(all.into_iter().reduce(|a, b| &a & &b).unwrap_or_default())
}

/// Why classes cannot be loaded.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// A class is broken.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// The recorded proofs are broken.
    #[error("{file} is no file of proofs")]
    Proofs {
        /// The file.
        file: String,
        /// Where, and what is wrong.
        #[source]
        source: RecordError,
    },
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Classes, with what is proven about them.
#[derive(Debug)]
pub struct Catalogue {
    /// The classes, sorted by name.
    pub classes: Vec<OracleClass>,
    /// Recorded proofs that are not about the present text of two members.
    pub stale: Vec<Stale>,
}

/// The shipped catalogue.
pub fn shipped() -> Result<Catalogue, CatalogueError> {
    load(&CatalogueSource::default())
}

/// Classes and proofs from the given files; the shipped ones where none are given. Other classes do not get the shipped
/// proofs.
pub fn load(source: &CatalogueSource) -> Result<Catalogue, CatalogueError> {
    load_matching(source, &[])
}

/// As [`load`], but only the classes whose names match one of the patterns, if there are any; the others are not checked,
/// which takes most of the time.
pub fn load_matching(source: &CatalogueSource, patterns: &[String]) -> Result<Catalogue, CatalogueError> {
    let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| matches_glob(pattern, name));
    let shipped = source.catalogue.is_empty();
    let mut classes = if shipped {
        let files = CORPUS.get_dir("classes").map(Dir::files).into_iter().flatten();
        let texts = files.map(|f| (f.path().display().to_string(), f.contents_utf8().unwrap_or_default().to_owned()));
        merge(texts, &wanted)?
    } else {
        let files = source.catalogue.iter().map(|path| Ok((path.display().to_string(), read(path)?)));
        merge(files.collect::<Result<Vec<_>, CatalogueError>>()?, &wanted)?
    };
    let mut records = match &source.proofs {
        Some(path) => records(&path.display().to_string(), &read(path)?)?,
        None if shipped => records(PROOFS, text(PROOFS).unwrap_or_default())?,
        None => Vec::new(),
    };
    records.retain(|record| Pair::parse(&record.id).is_none_or(|(class, _)| wanted(class)));
    let stale = attach(&mut classes, records);
    Ok(Catalogue { classes, stale })
}

/// Classes that are not in files, with their proofs. `origin` stands for the file in messages.
pub fn assemble(origin: &str, texts: Vec<ClassText>, records: Vec<Record>) -> Result<Catalogue, ClassError> {
    let classes: Result<Vec<OracleClass>, ClassError> =
        texts.into_iter().map(|text| OracleClass::new(origin, text)).collect();
    let mut classes = classes?;
    let stale = attach(&mut classes, records);
    Ok(Catalogue { classes, stale })
}

/// The recorded proofs of the shipped classes.
const PROOFS: &str = "proofs.jsonl";

fn records(file: &str, text: &str) -> Result<Vec<Record>, CatalogueError> {
    parse_records(text).map_err(|source| CatalogueError::Proofs { file: file.to_owned(), source })
}

fn read(path: &Path) -> Result<String, CatalogueError> {
    std::fs::read_to_string(path).map_err(|source| CatalogueError::Read { path: path.display().to_string(), source })
}

/// The wanted classes of some files, checked, by name. No two classes may have the same name.
fn merge(
    files: impl IntoIterator<Item = (String, String)>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<OracleClass>, ClassError> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut classes = Vec::new();
    for (path, text) in files {
        for class in read_classes(&path, &text)? {
            if let Some(other) = seen.insert(class.name.clone(), path.clone()) {
                let message = format!("{other} has a class of the same name");
                return Err(ClassError::Class { file: path, class: class.name, message });
            }
            if wanted(&class.name) {
                classes.push(OracleClass::new(&path, class)?);
            }
        }
    }
    classes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(classes)
}

/// The text of the list of a dialect's features; of the one that it extends if it has none of its own.
pub fn feature_list(dialect: &str) -> Option<&'static str> {
    let of = |dialect: &str| text(&format!("features/{dialect}.toml"));
    of(dialect).or_else(|| of(&Profile::extends(text(&format!("dialects/{dialect}.toml"))?)?))
}

/// A snippet as files have it, an object a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnippetLine {
    /// The expression, or the query.
    pub sql: String,
    /// What it stands for.
    #[serde(default, skip_serializing_if = "is_expression")]
    pub kind: SnippetKind,
    /// Where it is from, in a few words.
    #[serde(default = "by_a_model")]
    pub origin: String,
    /// What it exercises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
}

impl SnippetLine {
    /// What names it in caches and counters.
    pub fn key(&self) -> String {
        let kind = if self.kind == SnippetKind::Table { "table" } else { "expression" };
        Digest::of([kind, &self.sql]).hex(16)
    }
}

/// The origin of snippets that a model wrote.
pub const BY_A_MODEL: &str = "large language model";

/// The origin of snippets that are made from an engine's own catalogue.
pub const BY_THE_CATALOGUE: &str = "engine's catalogue";

fn by_a_model() -> String {
    BY_A_MODEL.to_owned()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_expression(kind: &SnippetKind) -> bool {
    *kind == SnippetKind::Expression
}

/// The shipped snippets of a dialect; if it has none of its own, those of the dialects that it names, or of the one that it
/// extends.
fn snippet_lines(dialect: &str) -> String {
    let of = |dialect: &str| text(&format!("snippets/{dialect}.jsonl"));
    if let Some(own) = of(dialect) {
        return own.to_owned();
    }
    let Ok(profile) = profile(dialect) else { return String::new() };
    let named: Vec<&String> =
        if profile.snippets.is_empty() { profile.extends.iter().collect() } else { profile.snippets.iter().collect() };
    let mut known = BTreeSet::new();
    let lines = named.into_iter().filter_map(|dialect| of(dialect)).flat_map(str::lines);
    // Dialects share some.
    lines.filter(|line| known.insert(*line)).flat_map(|line| [line, "\n"]).collect()
}

/// The shipped snippets of a dialect, as they are written.
pub fn shipped_snippets(dialect: &str) -> Vec<SnippetLine> {
    snippet_lines(dialect).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The dialects that snippets ship for.
pub fn snippet_dialects() -> Vec<&'static str> {
    let files = CORPUS.get_dir("snippets").map(Dir::files).into_iter().flatten();
    files.filter_map(|f| f.path().file_stem()?.to_str()).collect()
}

/// Snippets as a file that [`snippets`] reads.
pub fn print_snippets(snippets: &[SnippetLine]) -> String {
    snippets
        .iter()
        .filter_map(|line| serde_json::to_string(line).ok())
        .flat_map(|line| [line, "\n".to_owned()])
        .collect()
}

/// Snippets that pass the checks by name, and how many were refused for each reason.
#[derive(Debug, Default)]
pub struct Snippets {
    /// Expressions.
    pub expressions: Vec<Snippet>,
    /// Tables.
    pub tables: Vec<TableSnippet>,
    /// Why others may not be used.
    pub refused: BTreeMap<String, usize>,
}

/// The snippets of a dialect that pass the checks by name: those of the file, or the shipped ones.
pub fn snippets(profile: &Profile, file: Option<&Path>) -> Result<Snippets, CatalogueError> {
    let all = match file {
        None => snippet_lines(&profile.name),
        Some(path) => read(path)?,
    };
    let mut snippets = Snippets::default();
    for line in all.lines() {
        let line = serde_json::from_str::<SnippetLine>(line).map_err(|e| SnippetError::Unmappable(e.to_string()));
        let read = line.and_then(|line| match line.kind {
            SnippetKind::Expression => {
                let mut snippet = Snippet::parse(&line.sql, profile)?;
                snippet.origin = line.origin;
                snippet.made_of = vec![snippet.key().into()];
                snippets.expressions.push(snippet);
                Ok(())
            }
            SnippetKind::Table => {
                let mut snippet = TableSnippet::parse(&line.sql, profile)?;
                snippet.origin = line.origin;
                snippets.tables.push(snippet);
                Ok(())
            }
        });
        if let Err(error) = read {
            *snippets.refused.entry(error.to_string()).or_default() += 1;
        }
    }
    Ok(snippets)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many snippets there are for a dialect, and how many of them pass the checks by name.
    fn counts(dialect: &str) -> (usize, usize) {
        let read = snippets(&profile(dialect).expect("shipped"), None).expect("read");
        let accepted = read.expressions.len() + read.tables.len();
        (accepted + read.refused.values().sum::<usize>(), accepted)
    }

    #[test]
    fn a_dialect_that_extends_others_can_use_most_of_their_snippets() {
        for dialect in ["datafusion", "turso"] {
            let (all, accepted) = counts(dialect);
            assert!(all > 500 && 4 * accepted > 3 * all, "{dialect}: {accepted} of {all}");
        }
        // Those of several dialects, without what they share.
        let of = ["postgres", "duckdb", "sqlite"].map(|dialect| counts(dialect).0);
        let all = counts("datafusion").0;
        assert!(all > of[0] + of[1] && all < of.iter().sum(), "{all} of {of:?}");
    }
}

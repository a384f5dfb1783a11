//! A target made ready for testing: connected, probed, with the snippets and classes that hold on it.

use crate::caq::class::OracleClass;
use crate::catalogue::{self, CatalogueError};
use crate::config::{ClassChoice, STATEMENT_LIMITS, matches_glob};
use crate::corpus::snippet::Snippet;
use crate::corpus::validate::{self, SnippetVerdict};
use crate::dbms::Connection;
use crate::dbms::target::{Target, TargetError};
use crate::generate::Capabilities;
use crate::oracle::Oracle;
use crate::oracle::caq::CaqOracle;
use crate::sql::profile::{Profile, ProfileError};
use crate::triage::confirm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why a target cannot be made ready.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The target cannot be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The profile is missing or broken.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The catalogue is broken.
    #[error("the oracle classes cannot be used")]
    Classes(#[from] CatalogueError),
    /// No class has such a name.
    #[error("no class matches {patterns}; `caqtus oracle list` shows the classes")]
    NoClass {
        /// What was asked for.
        patterns: String,
    },
    /// No class is left.
    #[error("no class can be used on {dialect}: {class} {reason}")]
    NoUsableClass {
        /// The target's dialect.
        dialect: String,
        /// One of the classes.
        class: String,
        /// Why it is not used.
        reason: String,
    },
    /// The cache of validated snippets cannot be used.
    #[error("cannot use the cache {path}")]
    Cache {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A target made ready.
pub struct Session {
    /// The connection.
    pub connection: Box<dyn Connection>,
    /// The oracle.
    pub oracle: Arc<dyn Oracle>,
    /// Classes and members that are not used here, and why.
    pub unused: BTreeMap<String, String>,
    /// The dialect.
    pub profile: Arc<Profile>,
    /// The engine's version.
    pub version: String,
    /// The engine's build.
    pub build_id: String,
    /// How many snippets hold.
    pub snippets: usize,
    /// How many members are used that are not proven equivalent to the rest of their class.
    pub assumed: usize,
}

impl Session {
    /// Connects, validates snippets (or reads the cache of an earlier validation) and selects classes. `tick` is called
    /// before each snippet, so that a watcher sees progress.
    pub fn open(
        target: &Target,
        data_dir: &Path,
        choice: &ClassChoice,
        snippet_percent: u32,
        tick: &mut dyn FnMut(),
    ) -> Result<Self, SessionError> {
        let mut connection = target.open(data_dir, STATEMENT_LIMITS)?;
        let profile = catalogue::profile(target.dialect())?;
        let snippets = if snippet_percent > 0 {
            let (snippets, _) = catalogue::snippets(&profile, choice.source.snippets.as_deref())?;
            validated(target, data_dir, connection.as_mut(), &profile, snippets, tick)?
        } else {
            Vec::new()
        };
        let count = snippets.len();
        let foreign_keys = enforces_foreign_keys(connection.as_mut(), &profile);
        let capabilities = Capabilities::probe(profile.clone(), snippets, foreign_keys, |sql| {
            connection.reset().ok()?;
            connection.rows(sql).ok()
        });
        let classes = select(catalogue::load(&choice.source)?.classes, &choice.classes);
        if classes.is_empty() {
            return Err(SessionError::NoClass { patterns: choice.classes.join(", ") });
        }
        let mut built: Vec<String> = Vec::new();
        let assumed = choice.uses_assumed();
        let mut oracle = CaqOracle::new(classes, assumed, capabilities, snippet_percent, |statements, sql| {
            if built != statements {
                built = statements.to_vec();
                if confirm::build(connection.as_mut(), statements).is_err() {
                    return false;
                }
            }
            connection.execute(sql).is_ok()
        });
        if oracle.classes().is_empty() {
            let (class, reason) = oracle.unused.pop_first().unwrap_or_default();
            return Err(SessionError::NoUsableClass { dialect: profile.name.clone(), class, reason });
        }
        let (version, build_id) = (connection.version(), connection.build_id());
        Ok(Self {
            connection,
            unused: std::mem::take(&mut oracle.unused),
            assumed: oracle.assumed(),
            oracle: Arc::new(oracle),
            profile,
            version,
            build_id,
            snippets: count,
        })
    }
}

/// Whether the engine refuses a row that violates a foreign key, as classes with foreign keys assume.
fn enforces_foreign_keys(connection: &mut dyn Connection, profile: &Profile) -> bool {
    let mut statements = profile.start.clone();
    statements.push("CREATE TABLE parent(c INTEGER PRIMARY KEY)".to_owned());
    statements.push("CREATE TABLE child(c INTEGER, FOREIGN KEY(c) REFERENCES parent(c))".to_owned());
    confirm::build(connection, &statements).is_ok()
        && connection.execute("INSERT INTO child(c) VALUES (NULL)").is_ok()
        && connection.execute("INSERT INTO child(c) VALUES (1)").is_err()
}

/// The classes whose names match one of the patterns; all without patterns.
pub fn select(classes: Vec<OracleClass>, patterns: &[String]) -> Vec<OracleClass> {
    let wanted = |class: &OracleClass| patterns.is_empty() || patterns.iter().any(|p| matches_glob(p, &class.name));
    classes.into_iter().filter(wanted).collect()
}

/// Validations of a snippet that may end without a verdict before it is given up: once may have been a kill.
const STARTS_MAX: usize = 2;

/// A line of the cache. A start without a verdict is a validation that did not end.
#[derive(Serialize, Deserialize)]
struct CacheLine {
    snippet: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<SnippetVerdict>,
}

fn cache_path(target: &Target, data_dir: &Path, build_id: &str, snippets: &[Snippet], setup: &[String]) -> PathBuf {
    let mut hash = blake3::Hasher::new();
    let texts = [env!("CARGO_PKG_VERSION"), &target.to_string(), build_id];
    hash.update(&validate::VERSION.to_le_bytes());
    let all = texts.into_iter().chain(setup.iter().map(String::as_str)).chain(snippets.iter().map(|s| s.sql.as_str()));
    for text in all {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    }
    data_dir.join("cache").join(format!("snippets-{}.jsonl", &hash.finalize().to_hex()[..16]))
}

/// The snippets that hold on the target. What is known already is read from the cache; a snippet at which validation
/// ended without a verdict [`STARTS_MAX`] times crashes or stops the engine and is not tried again.
fn validated(
    target: &Target,
    data_dir: &Path,
    connection: &mut dyn Connection,
    profile: &Profile,
    snippets: Vec<Snippet>,
    tick: &mut dyn FnMut(),
) -> Result<Vec<Arc<Snippet>>, SessionError> {
    let setup = validate::setup(profile);
    let path = cache_path(target, data_dir, &connection.build_id(), &snippets, &setup);
    let cache_error = |source| SessionError::Cache { path: path.display().to_string(), source };
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(cache_error)?;
    }
    // Locked until it is complete, so that a second hunt waits for the verdicts rather than making its own.
    let mut file = fs::OpenOptions::new().create(true).read(true).append(true).open(&path).map_err(cache_error)?;
    file.lock().map_err(cache_error)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(cache_error)?;
    let mut verdicts: Vec<Option<SnippetVerdict>> = vec![None; snippets.len()];
    let mut starts = vec![0; snippets.len()];
    for line in text.lines() {
        // A line cut off by a kill does not parse; its snippet was started before.
        let Ok(line) = serde_json::from_str::<CacheLine>(line) else { continue };
        match (verdicts.get_mut(line.snippet), line.verdict) {
            (Some(verdict), Some(known)) => *verdict = Some(known),
            (Some(_), None) => starts[line.snippet] += 1,
            (None, _) => {}
        }
    }
    let mut write = |snippet, verdict| {
        let mut line = serde_json::to_string(&CacheLine { snippet, verdict }).map_err(io::Error::other)?;
        line.push('\n');
        file.write_all(line.as_bytes())
    };
    let mut ready = false;
    for at in 0..snippets.len() {
        if verdicts[at].is_some() || starts[at] >= STARTS_MAX {
            continue;
        }
        if !std::mem::replace(&mut ready, true) {
            confirm::build(connection, &setup).map_err(TargetError::from)?;
        }
        tick();
        write(at, None).map_err(cache_error)?;
        let verdict = validate::validate(connection, &snippets[at]);
        write(at, Some(verdict.clone())).map_err(cache_error)?;
        verdicts[at] = Some(verdict);
    }
    Ok(snippets
        .into_iter()
        .zip(verdicts)
        .filter_map(|(snippet, verdict)| validate::with_verdict(snippet, verdict.as_ref()?))
        .map(Arc::new)
        .collect())
}

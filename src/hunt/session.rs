//! A target made ready for testing: connected, probed, with the snippets and classes that hold on it.

use super::answers::{Acceptance, Probe, ProbeCache, broke, insist};
use super::breakage::{Breakage, broken_kind};
use super::cache::{CacheFile, Places};
use super::guarantees::{self, NotKept};
use super::learned;
use crate::caq::class::OracleClass;
use crate::catalogue::{self, CatalogueError, Snippets};
use crate::config::{
    COMBINATION_ROUNDS, ClassChoice, EXPRESSIONS_MAX, STATEMENT_LIMITS, SnippetChoice, TABLES_MAX, UnsupportedSubquery,
    matches_glob,
};
use crate::corpus::combine::combinations;
use crate::corpus::validate::{self, Parsed, SnippetVerdict};
use crate::corpus::worker::Judge;
use crate::dbms::target::{Target, TargetError};
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::digest::Digest;
use crate::generate::{Capabilities, Corpus, Enforced};
use crate::interpret;
use crate::oracle::{self, Oracles, Registration, Setting};
use crate::rng::{chance, stream};
use crate::sql::profile::{ColumnType, Profile, ProfileError};
use crate::sql::schema::created_table;
use crate::sql::types::{SqlType, Value};
use crate::triage::finding::FindingKind;
use rand::seq::SliceRandom as _;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// The stream by which a campaign draws its snippets.
const WORKING_SET_STREAM: u64 = 0x5E7;

/// The stream by which it combines them.
const COMBINATION_STREAM: u64 = 0x5E8;

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
    #[error("no class can be used on {dialect}: {class}: {reason}")]
    NoUsableClass {
        /// The target's dialect.
        dialect: String,
        /// One of the classes.
        class: String,
        /// Why it is not used.
        reason: String,
    },
    /// The engine cannot be reached any more.
    #[error("{target} cannot be reached any more: {message}")]
    Gone {
        /// The target.
        target: String,
        /// What shows it.
        message: String,
        /// What broke it, if that is known.
        broken: Vec<Breakage>,
        /// Its version.
        version: String,
        /// Its build.
        build_id: String,
    },
    /// The flight recorder cannot be used.
    #[error("cannot use {path}{}", super::if_full(source))]
    Recorder {
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
    /// What the target takes.
    pub capabilities: Arc<Capabilities>,
    /// The oracles.
    pub oracles: Arc<Oracles>,
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
    /// Why snippets do not hold here, and how many for each reason.
    pub refused_snippets: BTreeMap<String, usize>,
    /// What this version was found to have.
    pub probed: Probed,
    /// How many members are used that are not proven equivalent to the rest of their class.
    pub assumed: usize,
    /// What the user should know: a cache that cannot be used.
    pub notes: Vec<String>,
    /// What the profile guarantees and the engine does not keep, with what showed it.
    pub not_kept: NotKept,
    /// What broke the engine meanwhile.
    pub broken: Vec<Breakage>,
}

/// What a version was found to have of what its profile knows.
#[derive(Debug, Clone, Default)]
pub struct Probed {
    /// Operators of the grammar.
    pub operators: usize,
    /// Calls of functions that the engine lists.
    pub functions: usize,
    /// Optimizer switches.
    pub switches: Vec<String>,
    /// Features that are missing.
    pub missing: Vec<String>,
}

impl Session {
    /// Connects, validates snippets (or reads the cache of an earlier validation) and selects classes. `own` is a directory
    /// for caches where the data directory takes none. `tick` is called before each snippet, so that a watcher sees
    /// progress.
    #[expect(clippy::too_many_lines, reason = "one step after another, each with what the ones before gave")]
    pub fn open(
        target: &Target,
        data_dir: &Path,
        own: Option<&Path>,
        choice: &ClassChoice,
        snippets: &SnippetChoice,
        learned: &[UnsupportedSubquery],
        tick: &mut dyn FnMut(),
    ) -> Result<Self, SessionError> {
        let mut connection = target.open(data_dir, STATEMENT_LIMITS)?;
        let profile = catalogue::profile(target.dialect())?;
        let mut broken = Vec::new();
        let mut places = Places::new(data_dir, own);
        let SnippetChoice { percent, may_fail_percent, .. } = *snippets;
        let mut refused_snippets = BTreeMap::new();
        let snippets = if snippets.percent > 0 {
            let all = catalogue::snippets(&profile, choice.source.snippets.as_deref())?;
            let drawn = working_set(all, snippets, &connection.build_id(), &mut refused_snippets);
            let used = validated(
                target,
                &mut places,
                connection.as_mut(),
                &profile,
                (drawn, snippets),
                tick,
                &mut refused_snippets,
                &mut broken,
            );
            match used {
                Ok(used) => used,
                Err(error) => return Err(gone(target, connection.as_ref(), error, broken)),
            }
        } else {
            Corpus::default()
        };
        let validated = snippets.expressions.len() + snippets.tables.len();
        tick();
        let enforced = enforced(connection.as_mut(), &profile);
        let undoes = undoes(connection.as_mut(), &profile);
        let not_kept = guarantees::not_kept(connection.as_mut(), &profile);
        let profile = not_kept
            .assumptions
            .keys()
            .fold(profile, |profile, assumption| Arc::new(profile.without_guarantee(*assumption)));
        tick();
        let mut memory = ProbeCache::open(target, &mut places, connection.as_ref(), &profile);
        interpret::build(connection.as_mut(), &profile.start).map_err(TargetError::from)?;
        let mut ask = |connection: &mut dyn Connection, sql: &str| {
            tick();
            let answer = memory.get_or_probe(&[sql], || {
                let came = insist(connection, &profile.start, |connection| connection.rows(sql))?;
                Ok(match came {
                    Ok(rows) => Probe { rows: Some(rows), broke: None, message: String::new() },
                    Err(error) => Probe { rows: None, broke: broke(&error), message: error.to_string() },
                })
            });
            if let (Some(kind), None) = (answer.broke, &memory.gone) {
                broken.push(Breakage::of_statement(sql, &profile.start, kind, answer.message));
            }
            answer.rows
        };
        let mut capabilities =
            Capabilities::probe(profile.clone(), snippets, enforced, |sql| ask(connection.as_mut(), sql));
        let count = counted(&capabilities, validated, &mut refused_snippets);
        capabilities.undoes = undoes;
        capabilities.without_subqueries = learned::on_build(learned, &connection.build_id());
        let missing: Vec<_> =
            profile.probes.iter().filter(|probe| ask(connection.as_mut(), &probe.sql).is_none()).collect();
        let probed = Probed {
            operators: capabilities.grammar.len(),
            functions: capabilities.functions.len(),
            switches: capabilities.switches.iter().map(|switch| switch.name.clone()).collect(),
            missing: missing.iter().map(|probe| probe.name.clone()).collect(),
        };
        let wanted: Vec<&Registration> =
            oracle::ALL.iter().filter(|oracle| choice.wants(oracle.name, oracle.of_catalogue)).collect();
        let of_catalogue = if wanted.iter().any(|oracle| oracle.of_catalogue) {
            catalogue::load_matching(&choice.source, &choice.classes)?.classes
        } else {
            Vec::new()
        };
        let capabilities = Arc::new(capabilities);
        let mut built: Vec<String> = Vec::new();
        let mut missing_table = None;
        let assumed = choice.uses_assumed();
        let mut accepts = |statements: &[String], sql: &str| {
            if let Some(probe) = missing.iter().find(|probe| probe.may_misread(sql)) {
                return Err(probe.is_missing());
            }
            let texts: Vec<&str> = statements.iter().map(String::as_str).chain([sql]).collect();
            let mut run = |connection: &mut dyn Connection| {
                if built != statements {
                    tick();
                    built.clear();
                    interpret::build(connection, statements)?;
                    built = statements.to_vec();
                    missing_table = first_refused_table(connection, statements);
                }
                match &missing_table {
                    Some(refused) => Ok(Some(refused.clone())),
                    None => connection.execute(sql).map(|()| None).inspect_err(|error| {
                        if error.class.is_finding() || error.class == ErrorClass::ConnectionLost {
                            built.clear();
                        }
                    }),
                }
            };
            let Acceptance { refused, broke } = memory.get_or_probe(&texts, || {
                Ok(match insist(connection.as_mut(), &[], &mut run)? {
                    Ok(refused) => Acceptance { refused, broke: None },
                    Err(error) => Acceptance { refused: Some(error.to_string()), broke: broke(&error) },
                })
            });
            if let (Some(kind), None) = (broke, &memory.gone) {
                let said = refused.clone().unwrap_or_default();
                broken.push(Breakage::of_statement(sql, statements, kind, said));
            }
            refused.map_or(Ok(()), Err)
        };
        let accepted = OnceCell::new();
        let setting = || Setting {
            capabilities: capabilities.clone(),
            catalogue: &of_catalogue,
            accepted: &accepted,
            brought: !choice.source.catalogue.is_empty(),
            assumed,
            patterns: &choice.classes,
            snippet_percent: percent,
            may_fail_percent,
        };
        let opened: Vec<_> = wanted.iter().filter_map(|oracle| (oracle.open)(setting(), &mut accepts)).collect();
        if let Some(error) = memory.gone.take() {
            return Err(gone(target, connection.as_ref(), error, broken));
        }
        if opened.is_empty() {
            return Err(SessionError::NoClass { patterns: choice.classes.join(", ") });
        }
        places.notes.extend(memory.cache.problem.take());
        drop(memory);
        let mut unused: BTreeMap<String, String> = BTreeMap::new();
        // A class that one checks is used, even if one behind it has nothing to do with it.
        let mut used: BTreeSet<&str> = BTreeSet::new();
        for oracle in &opened {
            let left_out = oracle.unused().iter().filter(|(name, _)| !used.contains(name.as_str()));
            unused.extend(left_out.map(|(name, why)| (name.clone(), why.clone())));
            used.extend(oracle.classes());
        }
        drop(used);
        let assumed = opened.iter().map(|oracle| oracle.assumed()).sum();
        let oracles = Oracles::new(opened);
        if oracles.classes().is_empty() {
            let (class, reason) = unused.pop_first().unwrap_or_default();
            return Err(SessionError::NoUsableClass { dialect: profile.name.clone(), class, reason });
        }
        let (version, build_id) = (connection.version(), connection.build_id());
        Ok(Self {
            connection,
            unused,
            assumed,
            capabilities,
            oracles: Arc::new(oracles),
            profile,
            version,
            build_id,
            snippets: count,
            refused_snippets,
            probed,
            notes: places.notes,
            not_kept,
            broken,
        })
    }
}

/// How many snippets are used of those that hold; why the others are not is noted.
fn counted(capabilities: &Capabilities, validated: usize, refused: &mut BTreeMap<String, usize>) -> usize {
    let count = capabilities.corpus.expressions.len() + capabilities.corpus.tables.len();
    if count < validated {
        refused.insert("calls a function that serves the engine only".to_owned(), validated - count);
    }
    count
}

/// That an engine cannot be reached any more that is being made ready.
fn gone(target: &Target, connection: &dyn Connection, error: EngineError, broken: Vec<Breakage>) -> SessionError {
    let (version, build_id) = (connection.version(), connection.build_id());
    SessionError::Gone { target: target.to_string(), message: error.message, broken, version, build_id }
}

/// A short name for texts.
pub(super) fn keyed(texts: &[&str]) -> String {
    Digest::of(texts.iter().copied()).hex(24)
}

/// Why a table of a database that was built is not there.
fn first_refused_table(connection: &mut dyn Connection, statements: &[String]) -> Option<String> {
    statements.iter().find_map(|statement| {
        let name = created_table(statement)?;
        connection.execute(&format!("SELECT 1 FROM {name} WHERE 1 = 0")).err()?;
        Some(match connection.execute(statement) {
            Err(error) => format!("{statement}: {error}"),
            Ok(()) => format!("{statement}: it was not there"),
        })
    })
}

/// The constraints that the engine enforces, as classes that have them assume. What cannot be asked is not enforced.
fn enforced(connection: &mut dyn Connection, profile: &Profile) -> Enforced {
    let int = profile.declared(&ColumnType::Class(SqlType::Int));
    // Whether of statements on new tables the last one is refused, for a reason that is not the machine's, and the others
    // are not.
    let mut refuses = |tables: &[&str], statements: &[&str]| {
        let tables = tables.iter().map(|columns| format!("CREATE TABLE {}", columns.replace("INT", int)));
        let setup: Vec<String> = profile.start.iter().cloned().chain(tables).collect();
        let Some((last, first)) = statements.split_last() else { return false };
        if interpret::build(connection, &setup).is_err() {
            return false;
        }
        first.iter().all(|statement| connection.execute(statement).is_ok())
            && matches!(
                connection.execute(last),
                Err(error) if matches!(error.class, ErrorClass::Data | ErrorClass::Semantic)
            )
    };
    let mut row = |table: &str, rows: &[&str]| {
        let inserts: Vec<String> = rows.iter().map(|row| format!("INSERT INTO c(a, b) VALUES ({row})")).collect();
        refuses(&[table], &inserts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let not_null = row("c(a INT, b INT NOT NULL)", &["1, 1", "1, NULL"]);
    let keys = row("c(a INT PRIMARY KEY, b INT)", &["1, 1", "2, 1", "2, 2"])
        && row("c(a INT, b INT, PRIMARY KEY(a, b))", &["1, 1", "1, 2", "1, 2"])
        && row("c(a INT UNIQUE, b INT)", &["NULL, 1", "NULL, 1", "1, 1", "1, 1"])
        && row("c(a INT, b INT, UNIQUE(a, b))", &["1, NULL", "1, NULL", "1, 1", "1, 1"]);
    let checks = row("c(a INT, b INT CHECK (b > 0))", &["1, NULL", "1, 1", "1, 0"])
        && row("c(a INT, b INT, CHECK (a < b))", &["1, 2", "NULL, 1", "1, 1"]);
    let (one, two) = ("INSERT INTO c(a, b) VALUES (1, 1)", "INSERT INTO c(a, b) VALUES (2, 2)");
    let mut change =
        |column: &str, statement: &str| refuses(&[&format!("c(a INT, b INT {column})")], &[one, two, statement]);
    let family = ["p(a INT PRIMARY KEY)", "c(a INT, b INT, FOREIGN KEY(b) REFERENCES p(a))"];
    let (parent, orphan) = ("INSERT INTO p(a) VALUES (1)", "INSERT INTO c(a, b) VALUES (1, NULL)");
    Enforced {
        not_null: not_null && change("NOT NULL", "UPDATE c SET b = NULL"),
        keys: keys && change("PRIMARY KEY", "UPDATE c SET b = 3") && change("UNIQUE", "UPDATE c SET b = 3"),
        checks: checks && change("CHECK (b > 0)", "UPDATE c SET b = 0"),
        foreign_keys: refuses(&family, &[orphan, "INSERT INTO c(a, b) VALUES (1, 1)"])
            && refuses(&family, &[parent, one, "UPDATE c SET b = 2"])
            && refuses(&family, &[parent, one, "UPDATE p SET a = 2"])
            && refuses(&family, &[parent, one, "DELETE FROM p"]),
    }
}

/// Whether the engine undoes changes of a table, whole and broken off by an error.
fn undoes(connection: &mut dyn Connection, profile: &Profile) -> bool {
    let int = profile.declared(&ColumnType::Class(SqlType::Int));
    let (create, insert) = (format!("CREATE TABLE c(a {int})"), "INSERT INTO c(a) VALUES (1)".to_owned());
    let statements = [profile.start.as_slice(), &[create, insert]].concat();
    if interpret::build(connection, &statements).is_err() {
        return false;
    }
    let mut undone = |last: &str| {
        let began = connection.begin().is_ok();
        let changed =
            ["UPDATE c SET a = a + 1", "INSERT INTO c(a) VALUES (7)"].map(|sql| connection.change(sql).is_ok());
        let _ = connection.change(last);
        began
            && changed == [true, true]
            && connection.roll_back().is_ok()
            && connection.rows("SELECT a FROM c").is_ok_and(|rows| rows == [[Value::Int(1)]])
    };
    undone("DELETE FROM c") && undone("UPDATE nothing SET a = 1")
}

/// Whether a new session with these settings alone keeps what was seen to hold with those of the profile. Foreign keys
/// count where a case has some.
pub fn keeps_its_promises(
    connection: &mut dyn Connection,
    profile: &Profile,
    known: Enforced,
    settings: &[String],
    foreign_keys: bool,
) -> bool {
    let mut profile = profile.clone();
    profile.start = settings.to_vec();
    if connection.renew().is_err() {
        return false;
    }
    let now = enforced(connection, &profile);
    let now = if foreign_keys { now } else { Enforced { foreign_keys: known.foreign_keys, ..now } };
    now == known && guarantees::not_kept(connection, &profile).is_empty()
}

/// The classes whose names match one of the patterns; all without patterns.
pub fn select(classes: Vec<OracleClass>, patterns: &[String]) -> Vec<OracleClass> {
    let wanted = |class: &OracleClass| patterns.is_empty() || patterns.iter().any(|p| matches_glob(p, &class.name));
    classes.into_iter().filter(wanted).collect()
}

/// Validations of a snippet that may end without a verdict before it is given up: once may have been a kill.
pub(super) const STARTS_MAX: usize = 2;

/// A line of the cache. A start without a verdict is a validation that did not end.
#[derive(Serialize, Deserialize)]
struct CacheLine {
    /// The snippet, by its key.
    snippet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<SnippetVerdict>,
}

fn cache_name(target: &Target, build_id: &str, profile: &Profile) -> String {
    let (target, version) = (target.to_string(), validate::VERSION.to_string());
    let setup = validate::setup(profile);
    let texts = [env!("CARGO_PKG_VERSION"), &version, &target, build_id, &profile.digest];
    let all = texts.into_iter().chain(setup.iter().map(String::as_str));
    format!("snippets-{}.jsonl", keyed(&all.collect::<Vec<_>>()))
}

/// Verdicts by the keys of snippets.
pub type Verdicts = HashMap<String, SnippetVerdict>;

/// The verdicts of a cache, and how often each snippet was begun with.
fn read_verdicts(text: &str) -> (Verdicts, HashMap<String, usize>) {
    let (mut verdicts, mut starts) = (Verdicts::new(), HashMap::<String, usize>::new());
    // A line cut off by a kill does not parse; its snippet was started before.
    for CacheLine { snippet, verdict } in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match verdict {
            Some(known) => _ = verdicts.insert(snippet, known),
            None => *starts.entry(snippet).or_default() += 1,
        }
    }
    (verdicts, starts)
}

/// What hunts found of snippets on a build of a target, by the snippets' keys, as far as the cache has it.
pub fn known_verdicts(target: &Target, data_dir: &Path, build_id: &str, profile: &Profile) -> Verdicts {
    let bytes = Places::new(data_dir, None).read(&cache_name(target, build_id, profile));
    read_verdicts(&String::from_utf8_lossy(&bytes)).0
}

/// The snippets of a hunt, of those that there are: the working set.
///
/// A corpus is larger than what a hunt can use in its first minutes, and validating all of it would hold up its first case.
/// So each campaign draws some of it by its seed; what campaigns before it drew is in the cache.
fn working_set(
    snippets: Snippets,
    choice: &SnippetChoice,
    build_id: &str,
    refused: &mut BTreeMap<String, usize>,
) -> Vec<Parsed> {
    let standing = choice.standing.get(build_id);
    let Snippets { expressions, tables, refused: by_name } = snippets;
    for (why, count) in by_name {
        *refused.entry(why).or_default() += count;
    }
    let mut expressions: Vec<Parsed> = expressions.into_iter().map(Parsed::Expression).collect();
    let mut tables: Vec<Parsed> = tables.into_iter().map(Parsed::Table).collect();
    if let Some(seed) = choice.seed {
        for (of, (all, max)) in (0..).zip([(&mut expressions, EXPRESSIONS_MAX), (&mut tables, TABLES_MAX)]) {
            let mut rng = stream(seed, &[WORKING_SET_STREAM, of]);
            // Those of which most cases are void come in less often.
            let share = |snippet: &Parsed| {
                standing.and_then(|standing| standing.get(&key(snippet))).map_or(100, |percent| u32::from(*percent))
            };
            all.retain(|snippet| chance(&mut rng, share(snippet)));
            all.shuffle(&mut rng);
            all.truncate(max);
        }
    }
    expressions.append(&mut tables);
    expressions
}

/// What names a snippet in caches and counters.
pub fn key(snippet: &Parsed) -> String {
    match snippet {
        Parsed::Expression(snippet) => snippet.key(),
        Parsed::Table(snippet) => snippet.key(),
    }
}

/// The snippets of a hunt that hold on the target, and combinations of them that do. The error is that the engine cannot be
/// reached any more.
#[expect(clippy::too_many_arguments, reason = "one caller; two of them are what it adds to")]
fn validated(
    target: &Target,
    places: &mut Places,
    connection: &mut dyn Connection,
    profile: &Profile,
    (drawn, choice): (Vec<Parsed>, &SnippetChoice),
    tick: &mut dyn FnMut(),
    refused: &mut BTreeMap<String, usize>,
    broken: &mut Vec<Breakage>,
) -> Result<Corpus, EngineError> {
    let name = cache_name(target, &connection.build_id(), profile);
    let mut judge = Judge::new(connection, profile);
    let mut corpus = Corpus::default();
    let cache = places.open(&name);
    let mut validation = Validation { judge: &mut judge, profile, tick, refused, broken };
    places.notes.extend(validation.take_in(drawn, cache, &mut corpus)?);
    if let Some(seed) = choice.seed {
        // No two campaigns make the same ones, so a cache for all would grow with each.
        for round in 0..COMBINATION_ROUNDS {
            let mut rng = stream(seed, &[COMBINATION_STREAM, u64::from(round)]);
            let wanted = choice.combinations.div_ceil(COMBINATION_ROUNDS) as usize;
            let made = combinations(&corpus.expressions, wanted, profile, &mut rng);
            let made = made.into_iter().map(|combined| Parsed::Expression(combined.snippet)).collect();
            places.notes.extend(validation.take_in(made, places.open_own(&name), &mut corpus)?);
        }
    }
    Ok(corpus)
}

/// What validates snippets.
struct Validation<'a, 'b> {
    judge: &'a mut Judge<'b>,
    profile: &'a Profile,
    tick: &'a mut dyn FnMut(),
    refused: &'a mut BTreeMap<String, usize>,
    broken: &'a mut Vec<Breakage>,
}

impl Validation<'_, '_> {
    /// Adds the snippets that hold. What is known already is read from the cache; a snippet at which validation ended without
    /// a verdict [`STARTS_MAX`] times crashes or stops the engine and is not tried again. What is wrong with the cache comes
    /// back.
    fn take_in(
        &mut self,
        snippets: Vec<Parsed>,
        mut cache: CacheFile,
        corpus: &mut Corpus,
    ) -> Result<Option<String>, EngineError> {
        let (mut verdicts, starts) = read_verdicts(&cache.text);
        for snippet in snippets {
            let key = key(&snippet);
            if !verdicts.contains_key(&key) && starts.get(&key).is_none_or(|starts| *starts < STARTS_MAX) {
                (self.tick)();
                cache.add(&CacheLine { snippet: key.clone(), verdict: None });
                let verdict = self.judge.of(&snippet)?;
                cache.add(&CacheLine { snippet: key.clone(), verdict: Some(verdict.clone()) });
                verdicts.insert(key.clone(), verdict);
            }
            let verdict = verdicts.get(&key);
            let why = match verdict {
                Some(SnippetVerdict::Refused(why)) => why.split(':').next().unwrap_or(why).to_owned(),
                Some(_) => String::new(),
                None => "ends the engine".to_owned(),
            };
            let broke = match verdict {
                Some(SnippetVerdict::Refused(why)) => broken_kind(why),
                Some(_) => None,
                None => Some((FindingKind::Crash, "")),
            };
            if let Some((kind, said)) = broke {
                self.broken.push(Breakage::of_snippet(self.profile, &snippet, kind, said.to_owned()));
            }
            match verdict.and_then(|verdict| validate::with_verdict(snippet, verdict)) {
                Some(Parsed::Expression(snippet)) => corpus.expressions.push(Arc::new(snippet)),
                Some(Parsed::Table(snippet)) => corpus.tables.push(Arc::new(snippet)),
                None => *self.refused.entry(why).or_default() += 1,
            }
        }
        Ok(cache.problem.take())
    }
}

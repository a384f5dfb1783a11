//! `caqtus corpus coverage`: which features of an engine hunts have reached, and which were never tried.

use super::engine::Engine;
use super::learn::read_features;
use crate::catalogue;
use crate::corpus::features::{FeatureKind, Named};
use crate::hunt::uses::{self, Used};
use crate::store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use utoipa::ToSchema;

/// The features of one kind.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = CoverageOfKind)]
pub struct Kind {
    /// How many there are.
    pub known: usize,
    /// How many were in a case that passed.
    pub used: usize,
    /// How many a snippet of the corpus has, tried or not.
    pub in_corpus: usize,
    /// Those that were in no case that passed.
    pub unused: Vec<String>,
    /// In how many cases that passed each of the others was.
    pub cases: BTreeMap<String, u64>,
    /// Those that no snippet of the corpus has.
    pub not_in_corpus: Vec<String>,
}

/// What of an engine was reached. The last line of `--json` is this object.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Coverage {
    /// The target.
    pub dbms: String,
    /// Its dialect.
    pub dialect: String,
    /// Its version.
    pub version: String,
    /// Functions of all kinds.
    pub functions: Kind,
    /// Scalar functions among them that depend on nothing but their arguments.
    pub scalar_functions: Kind,
    /// Operators.
    pub operators: Kind,
    /// Types.
    pub types: Kind,
    /// Syntax.
    pub clauses: Kind,
    /// Snippets of the corpus by their origin: how many there are, and in how many cases that passed they were.
    #[schema(value_type = Object)]
    pub origins: BTreeMap<String, (usize, u64)>,
}

impl Coverage {
    /// The kinds of features, as they are named in JSON and to people.
    pub fn kinds(&self) -> [(&'static str, &'static str, &Kind); 5] {
        [
            ("functions", "functions", &self.functions),
            ("scalar_functions", "deterministic scalar functions", &self.scalar_functions),
            ("operators", "operators", &self.operators),
            ("types", "types", &self.types),
            ("clauses", "clauses", &self.clauses),
        ]
    }

    /// The numbers of each kind, without names.
    pub fn counts(&self) -> Value {
        let of = |kind: &Kind| json!({ "known": kind.known, "used": kind.used, "in_corpus": kind.in_corpus });
        self.kinds().into_iter().map(|(field, _, kind)| (field.to_owned(), of(kind))).collect()
    }
}

/// What the hunts on a build have reached; of the snippets of the store, or of those that ship.
pub async fn coverage(dbms: &str, data_dir: &Path, store: Option<&Store>) -> anyhow::Result<Coverage> {
    let mut engine = Engine::open(dbms, data_dir).await?;
    let profile = catalogue::profile(engine.dialect())?;
    let features = read_features(&mut engine, &profile).await?;
    let lines = match store {
        Some(store) => store.snippet_list(&profile.name).await?,
        None => catalogue::shipped_snippets(&profile.name),
    };
    let all = uses::read(data_dir, &engine.name());
    let counts = all.get(&engine.build_id).cloned().unwrap_or_default();
    let mut passed: BTreeMap<Named, u64> = BTreeMap::new();
    let mut in_corpus: BTreeSet<Named> = BTreeSet::new();
    let mut origins: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let mut add = |used: BTreeSet<Named>, cases: u64| {
        for named in used.into_iter().filter(|_| cases > 0) {
            *passed.entry(named).or_default() += cases;
        }
    };
    for line in &lines {
        let pass = counts.get(&Used::Snippet(line.key())).map_or(0, |cases| cases.pass);
        let used = features.used(&line.sql);
        in_corpus.extend(used.iter().cloned());
        let of_origin = origins.entry(line.origin.clone()).or_default();
        of_origin.0 += 1;
        of_origin.1 += pass;
        add(used, pass);
    }
    for (used, cases) in &counts {
        match used {
            Used::Operator(sql) => add(features.used(sql), cases.pass),
            Used::Function(name) => add(BTreeSet::from([(FeatureKind::Function, name.clone())]), cases.pass),
            Used::Snippet(_) | Used::Class(_) => {}
        }
    }
    let mut coverage = Coverage {
        dbms: engine.name(),
        dialect: profile.name.clone(),
        version: engine.version.clone(),
        origins,
        ..Coverage::default()
    };
    for (named, _) in features.all() {
        let kinds: Vec<&mut Kind> = match named.0 {
            FeatureKind::Function => vec![&mut coverage.functions, &mut coverage.scalar_functions],
            FeatureKind::Aggregate | FeatureKind::Window | FeatureKind::Table => vec![&mut coverage.functions],
            FeatureKind::Operator => vec![&mut coverage.operators],
            FeatureKind::Type => vec![&mut coverage.types],
            FeatureKind::Clause => vec![&mut coverage.clauses],
        };
        for kind in kinds {
            kind.known += 1;
            match passed.get(&named) {
                Some(cases) => {
                    kind.used += 1;
                    kind.cases.insert(named.1.clone(), *cases);
                }
                None => kind.unused.push(named.1.clone()),
            }
            if in_corpus.contains(&named) {
                kind.in_corpus += 1;
            } else {
                kind.not_in_corpus.push(named.1.clone());
            }
        }
    }
    Ok(coverage)
}

/// Names that the summary for people shows of each kind.
const NAMES_SHOWN: usize = 40;

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.dbms, self.version)?;
        for (_, what, kind) in self.kinds() {
            let Kind { known, used, in_corpus, unused, .. } = kind;
            writeln!(f, "{what}: {used} of {known} were in cases that passed; snippets have {in_corpus}")?;
            if !unused.is_empty() {
                let shown: Vec<&str> = unused.iter().take(NAMES_SHOWN).map(String::as_str).collect();
                let more = unused.len().saturating_sub(NAMES_SHOWN);
                let more = if more > 0 { format!(" and {more} more, which --json lists") } else { String::new() };
                writeln!(f, "  never: {}{more}", shown.join(", "))?;
            }
        }
        for (origin, (count, cases)) in &self.origins {
            writeln!(f, "snippets of origin {origin}: {count}, in {cases} cases that passed")?;
        }
        Ok(())
    }
}

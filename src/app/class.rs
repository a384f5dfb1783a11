//! Oracle classes: what there is, what is proven of it, and a person's decisions about it.

use crate::caq::class::{ClassError, OracleClass, print_classes};
use crate::caq::proof::{Pair, Question, Record, Status, Verdict};
use crate::catalogue::{self, Catalogue, CatalogueError};
use crate::config::{CatalogueSource, matches_glob};
use crate::plan::PlanTree;
use crate::plan::diff::diff;
use crate::sql::profile::ProfileError;
use crate::store::{ClassState, Store, StoreError, StoredClass, reviewed};
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};
use std::path::Path;
use thiserror::Error;

/// Why classes cannot be looked at or decided about.
#[derive(Debug, Error)]
pub enum ClassUseError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Classes or proofs cannot be read.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A class of the store is broken.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A shipped profile cannot be read.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// There is no such class.
    #[error("the store has no class {0}; `caqtus oracle list --store` shows them")]
    Unknown(String),
    /// A class or proof has no written form.
    #[error("cannot write {what} down")]
    Form {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file cannot be written.
    #[error("cannot write {path}")]
    File {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The prover's answers cannot be read.
    #[error(transparent)]
    Input(#[from] io::Error),
    /// A line is no answer.
    #[error("line {line} is no answer of the prover")]
    Answer {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// An answer is about no pair of the classes.
    #[error("there is no pair {0}")]
    NoPair(String),
}

/// Whether a class of the store may be used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Mean similarity of its plans (Argus paper, section 7.6), where they are known.
    pub similarity: Option<f64>,
    /// Its state.
    pub state: ClassState,
    /// Why it is in that state.
    #[serde(skip)]
    pub evidence: Option<Value>,
}

/// Classes with what is proven of them and, of those in the store, whether they may be used.
#[derive(Debug)]
pub struct Classes {
    /// The classes.
    pub catalogue: Catalogue,
    /// By name; of classes in files there is nothing to say.
    pub standing: BTreeMap<String, Standing>,
}

/// The classes of files, or those that ship.
pub fn of_files(source: &CatalogueSource) -> Result<Classes, CatalogueError> {
    Ok(Classes { catalogue: catalogue::load(source)?, standing: BTreeMap::new() })
}

/// The classes of the store that are in a state and match one of the patterns, if there are any.
pub async fn of_store(store: &Store, state: Option<ClassState>, globs: &[String]) -> Result<Classes, ClassUseError> {
    let stored = stored(store, state, globs).await?;
    let standing = stored.iter().map(|s| (s.class.text.name.clone(), standing(s))).collect();
    let records = stored.iter().flat_map(|s| s.class.proofs.iter().map(|p| p.record.clone())).collect();
    let texts = stored.into_iter().map(|s| s.class.text).collect();
    Ok(Classes { catalogue: catalogue::assemble("the store", texts, records)?, standing })
}

fn standing(stored: &StoredClass) -> Standing {
    Standing { similarity: stored.class.similarity, state: stored.state, evidence: stored.evidence.clone() }
}

/// The classes of the store that are in a state and match one of the patterns, if there are any, as they are stored.
pub async fn stored(
    store: &Store,
    state: Option<ClassState>,
    globs: &[String],
) -> Result<Vec<StoredClass>, StoreError> {
    let mut classes = Vec::new();
    for summary in store.class_list(state).await? {
        if (globs.is_empty() || globs.iter().any(|glob| matches_glob(glob, &summary.name)))
            && let Some(class) = store.class_fetch(&summary.name).await?
        {
            classes.push(class);
        }
    }
    Ok(classes)
}

/// What is known of a member: a part of the output contract of `caqtus oracle list --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum MemberStatus {
    /// Proven equivalent to the other proven members.
    Proven {
        /// What the proof takes for granted.
        assumptions: BTreeSet<Assumption>,
        /// The member, from 1, that the proof connects it to; none for the one where the others' proofs end.
        to: Option<usize>,
    },
    /// A database shows that it returns other rows than another member.
    Refuted {
        /// That member, from 1.
        by: usize,
        /// The database.
        reason: String,
    },
    /// Nothing is proven of it.
    Assumed {
        /// Why.
        reason: String,
    },
}

impl From<Status> for MemberStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Proven(proven) => {
                Self::Proven { assumptions: proven.assumptions().clone(), to: proven.to().map(|at| at + 1) }
            }
            Status::Refuted { by, reason } => Self::Refuted { by: by + 1, reason },
            Status::Assumed { reason } => Self::Assumed { reason },
        }
    }
}

/// A class: a line of `caqtus oracle list --json`, which is an output contract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassEntry {
    /// Unique name.
    pub name: String,
    /// Where the class is from.
    pub origin: String,
    /// Why its members are equivalent.
    pub about: String,
    /// The file it was read from.
    pub file: String,
    /// Of a class in the store, whether it may be used.
    #[serde(flatten)]
    pub standing: Option<Standing>,
    /// The dialects it is written for; empty means all.
    pub dialects: Vec<String>,
    /// What the equivalence assumes of an engine beyond the standard's semantics.
    pub assumes: Vec<Assumption>,
    /// Names of its placeholders.
    pub placeholders: Vec<String>,
    /// The queries.
    pub members: Vec<String>,
    /// What is known of each.
    pub statuses: Vec<MemberStatus>,
    /// Members that proofs connect.
    pub proven: usize,
    /// Members of which nothing is proven.
    pub assumed: usize,
    /// Members that a database shows to be wrong.
    pub refuted: usize,
}

impl ClassEntry {
    /// What there is to say of a class.
    pub fn new(class: &OracleClass, standing: Option<&Standing>) -> Self {
        let statuses = class.statuses();
        let refuted = statuses.iter().filter(|status| matches!(status, Status::Refuted { .. })).count();
        let proven = class.proven_count();
        Self {
            name: class.name.clone(),
            origin: class.origin.clone(),
            about: class.about.clone(),
            file: class.file.clone(),
            standing: standing.cloned(),
            dialects: class.dialects.clone(),
            assumes: class.assumes.clone(),
            placeholders: class.names.placeholders.iter().map(|p| p.name.clone()).collect(),
            members: class.members.iter().map(|m| m.sql.clone()).collect(),
            statuses: statuses.into_iter().map(MemberStatus::from).collect(),
            proven,
            assumed: class.members.len() - proven - refuted,
            refuted,
        }
    }
}

/// Sums over classes: the last line of `caqtus oracle list --json`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Classes.
    pub classes: usize,
    /// With two connected members at least.
    pub proven_classes: usize,
    /// Members of all.
    pub members: usize,
    /// Members that proofs connect.
    pub proven: usize,
    /// Members of which nothing is proven.
    pub assumed: usize,
    /// Members that a database shows to be wrong.
    pub refuted: usize,
    /// Recorded proofs about other texts than the present ones.
    pub stale_proofs: usize,
}

impl Totals {
    /// Counts a class.
    pub fn count(&mut self, class: &ClassEntry) {
        self.classes += 1;
        self.proven_classes += usize::from(class.proven > 0);
        self.members += class.members.len();
        self.proven += class.proven;
        self.assumed += class.assumed;
        self.refuted += class.refuted;
    }
}

/// How the plan of a member differs from that of the first one whose plan is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanDifference {
    /// The member that it is compared with, from 1.
    pub from: usize,
    /// The member, from 1.
    pub to: usize,
    /// An operator a line, indented by its depth: with `-` only the first has it, with `+` only the second.
    pub edits: String,
}

/// The plans of a class's members as far as they are known, on the target of its discovery, and how they differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MemberPlans {
    /// By member.
    pub plans: Vec<Option<PlanTree>>,
    /// Against the first known one; nothing where a plan is the same.
    pub differences: Vec<PlanDifference>,
}

impl MemberPlans {
    /// The plans of a class in the store.
    pub fn new(class: &StoredClass) -> Self {
        let plans = class.class.plans.clone();
        let mut known = plans.iter().enumerate().filter_map(|(at, plan)| Some((at + 1, plan.as_ref()?)));
        let Some((from, first)) = known.next() else { return Self { plans, differences: Vec::new() } };
        let other = known.filter(|(_, plan)| *plan != first);
        let differences = other.map(|(to, plan)| PlanDifference { from, to, edits: diff(first, plan) }).collect();
        Self { plans, differences }
    }
}

/// Everything about a class: the output contract of `caqtus oracle show --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassDetail {
    /// What the list says of it.
    #[serde(flatten)]
    pub entry: ClassEntry,
    /// The DDL of its tables.
    pub schema: String,
    /// The placeholders with their constraints as written.
    pub constraints: BTreeMap<String, String>,
    /// What is recorded of pairs of its members, as they are now.
    pub proofs: Vec<Record>,
    /// The members' plans; of classes in files they are not known.
    pub plans: MemberPlans,
    /// Why a class of the store is in its state.
    pub evidence: Option<Value>,
}

impl ClassDetail {
    /// Everything about a class, which may be in the store.
    pub fn new(class: &OracleClass, stored: Option<&StoredClass>) -> Self {
        Self {
            entry: ClassEntry::new(class, stored.map(standing).as_ref()),
            schema: class.ddl.clone(),
            constraints: class.constraints.clone(),
            proofs: class.edges().iter().map(|edge| edge.record().clone()).collect(),
            plans: stored.map(MemberPlans::new).unwrap_or_default(),
            evidence: stored.and_then(|stored| stored.evidence.clone()),
        }
    }
}

/// Everything about a class of the store.
pub async fn detail(store: &Store, name: &str) -> Result<ClassDetail, ClassUseError> {
    let stored = store.class_fetch(name).await?.ok_or_else(|| ClassUseError::Unknown(name.to_owned()))?;
    let records = stored.class.proofs.iter().map(|p| p.record.clone()).collect();
    let catalogue = catalogue::assemble("the store", vec![stored.class.text.clone()], records)?;
    let class = catalogue.classes.first().ok_or_else(|| ClassUseError::Unknown(name.to_owned()))?;
    Ok(ClassDetail::new(class, Some(&stored)))
}

/// Records a person's decision whether a class may be used, and why.
pub async fn review(store: &Store, name: &str, state: ClassState, why: &str) -> Result<(), ClassUseError> {
    let class = store.class_fetch(name).await?.ok_or_else(|| ClassUseError::Unknown(name.to_owned()))?;
    let evidence = reviewed(why, None, class.evidence);
    Ok(store.class_review(name, state, &evidence).await?)
}

/// Classes and their proofs in the form of files, as `caqtus hunt --catalogue FILE --proofs FILE` takes them.
pub fn as_files(stored: &[StoredClass]) -> Result<(String, String), ClassUseError> {
    let form = |what| move |source| ClassUseError::Form { what, source };
    let classes = print_classes(stored.iter().map(|s| s.class.text.clone()).collect());
    let classes = classes.map_err(|error| form("the classes")(error.into()))?;
    let mut proofs = String::new();
    for proof in stored.iter().flat_map(|s| &s.class.proofs) {
        let line = serde_json::to_string(&proof.record).map_err(|error| form("a proof")(error.into()))?;
        proofs.push_str(&line);
        proofs.push('\n');
    }
    Ok((classes, proofs))
}

/// Writes classes and their proofs to two files.
pub fn write(stored: &[StoredClass], classes: &Path, proofs: &Path) -> Result<(), ClassUseError> {
    let texts = as_files(stored)?;
    for (path, text) in [(classes, texts.0), (proofs, texts.1)] {
        std::fs::write(path, text)
            .map_err(|source| ClassUseError::File { path: path.display().to_string(), source })?;
    }
    Ok(())
}

/// Which pairs of members are put to the prover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairChoice {
    /// Each member against the first of its class, which is enough to connect the class if all are proven.
    WithFirst,
    /// Every member against every other.
    All,
    /// Those without a record that would connect what the recorded proofs leave apart.
    Apart,
}

/// Pairs of members for the prover.
pub fn pairs(classes: &[OracleClass], choice: PairChoice) -> Result<Vec<Question<'_>>, ClassUseError> {
    let everywhere = catalogue::guaranteed_everywhere()?;
    let of_class = |class: &OracleClass| match choice {
        PairChoice::Apart => class.apart(&everywhere),
        PairChoice::All => class.pairs(),
        PairChoice::WithFirst => class.pairs().into_iter().filter(|pair| pair.0 == 0).collect(),
    };
    Ok(classes.iter().flat_map(|class| of_class(class).into_iter().filter_map(|pair| class.question(pair))).collect())
}

/// An answer of `caqtus-prover prove --json`, as far as it is recorded.
#[derive(Deserialize)]
struct Answer {
    id: String,
    verdict: Verdict,
    #[serde(default)]
    assumptions: BTreeSet<Assumption>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    witness: Option<Vec<String>>,
}

/// The prover's answers, a line each, as records of proofs. Of several answers about a pair the last one counts.
pub fn records(catalogue: &Catalogue, prover: &str, answers: impl BufRead) -> Result<Vec<Record>, ClassUseError> {
    let classes: BTreeMap<&str, &OracleClass> = catalogue.classes.iter().map(|c| (c.name.as_str(), c)).collect();
    let mut records = BTreeMap::new();
    for (at, line) in answers.lines().enumerate() {
        let answer: Answer =
            serde_json::from_str(&line?).map_err(|source| ClassUseError::Answer { line: at + 1, source })?;
        let question = Pair::parse(&answer.id).and_then(|(class, pair)| classes.get(class)?.question(pair));
        let Some(question) = question else { return Err(ClassUseError::NoPair(answer.id)) };
        let witness = answer.witness.map(|inserts| match inserts.join(" ") {
            none if none.is_empty() => "differs on empty tables".to_owned(),
            inserts => format!("differs after {inserts}"),
        });
        let record = Record {
            hash: question.hash(),
            id: answer.id,
            verdict: answer.verdict,
            assumptions: answer.assumptions,
            reason: answer.reason.or(witness),
            prover: prover.to_owned(),
        };
        records.insert(record.id.clone(), record);
    }
    Ok(records.into_values().collect())
}

//! Classes and candidates into the store.

use super::Progress;
use super::admission::{self, AdmissionError};
use crate::caq::class::{ClassError, OracleClass};
use crate::caq::proof::{Pair, Record, Verdict};
use crate::caq::query::Caq;
use crate::catalogue::{self, SnippetLine};
use crate::clock;
use crate::discover::crosscheck::{CrossCheckError, cross_check};
use crate::discover::pool::{PoolError, ProverPool};
use crate::discover::proposer::Proposer;
use crate::discover::run::{DiscoverError, Discovery, End, Event, run as discover};
use crate::discover::settings::{Asking, Settings};
use crate::discover::summary::Summary;
use crate::discover::trial::TrialTarget;
use crate::plan::sampling::Sampling;
use crate::sql::snippet::SnippetKind;
use crate::store::{CheckedBy, ClassState, NewClass, NewProof, Provenance, PutOutcome, Store, StoreError};
use prover::wire::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::{mpsc, watch};

/// Why an import cannot go on. What was imported until then is in the store.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The prover is missing or does not work.
    #[error(transparent)]
    Prover(#[from] PoolError),
    /// A class cannot be run on the targets.
    #[error(transparent)]
    CrossCheck(#[from] CrossCheckError),
    /// Candidates cannot be decided.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// A class is not taken.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// A class of the store cannot be read.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A class is not in the store any more.
    #[error("there is no class {0} any more")]
    Gone(String),
    /// A class is changed faster than it is proven.
    #[error("class {0} was changed each time before it was proven; ask for a proof again")]
    Changing(String),
    /// Something cannot be written as JSON.
    #[error("what is to be stored cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// A line of candidates is none.
    #[error("{file}, line {line}, has no seed with candidates")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// Where and with what imported classes are proven and run.
#[derive(Debug, Clone)]
pub struct Workshop {
    /// The targets that classes are run on; the first gives the plans.
    pub targets: Vec<String>,
    /// Where installed engines and caches are.
    pub data_dir: PathBuf,
    /// The seed of the fillings.
    pub seed: u64,
    /// Prover processes.
    pub workers: usize,
    /// The prover; none for the one beside this program or in the path.
    pub prover: Option<PathBuf>,
}

/// What is done with classes that come without a verdict of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// They ship with this program: released as they are, with the proofs that are recorded of them.
    Shipped,
    /// The proofs that are recorded of them count; engines check them.
    Recorded,
    /// Each member is proven against the first; engines check them.
    Prove,
}

/// What became of imported classes: the output contract of `caqtus oracle import --json`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Classes that are in the store now.
    pub classes: usize,
    /// Of them, those that were there already.
    pub unchanged: usize,
    /// Of them, those that hunts use.
    pub released: usize,
    /// Of them, those on which an engine disagrees.
    pub quarantined: usize,
    /// Of them, those that no target can use.
    pub drafts: usize,
    /// Pairs of members that the prover refutes.
    pub refuted: usize,
    /// Left out, because another class of the store has the name.
    pub name_taken: usize,
}

/// Stores classes, proves them and runs them on the targets where their trust asks for it. Of classes that do not ship, none
/// is stored unless all are taken ([`admission`]).
pub async fn classes(
    store: &Store,
    classes: &[OracleClass],
    trust: Trust,
    workshop: &Workshop,
    progress: &mut dyn Progress,
) -> Result<Totals, ImportError> {
    if trust != Trust::Shipped {
        admission::check(classes)?;
    }
    let provers = match trust {
        Trust::Shipped | Trust::Recorded => None,
        Trust::Prove => Some(ProverPool::open(workshop.prover.as_deref(), workshop.workers).await?),
    };
    let start = clock::now();
    let mut totals = Totals::default();
    for (at, class) in classes.iter().enumerate() {
        progress.update(&format_args!("{} of {}: {}", at + 1, classes.len(), class.name), start.elapsed());
        let proofs = match &provers {
            None => class.edges().iter().map(|e| NewProof { record: e.record().clone(), certificate: None }).collect(),
            Some(provers) => prove(provers, class).await?,
        };
        totals.note_refuted(&proofs, progress);
        let text = class.text();
        let new = NewClass { plans: vec![None; text.members.len()], text, proofs, similarity: None };
        let state = if trust == Trust::Shipped { ClassState::Released } else { ClassState::Draft };
        let kept = match store.class_put(new, state).await {
            Err(error @ StoreError::NameTaken(_)) => {
                totals.name_taken += 1;
                progress.note(&format!("{error}; that one stays"));
                continue;
            }
            kept => kept?,
        };
        totals.check(store, kept, CheckedBy { who: "command line", job: None }, workshop, progress).await?;
    }
    Ok(totals)
}

/// How often a class that changes while it is proven is proven anew.
const ROUNDS_MAX: usize = 10;

/// Proves the members of a class of the store against the first, anew, and runs it on the targets. What is found counts for
/// the class as it was read; one that somebody changed meanwhile is read again.
pub async fn prove_again(
    store: &Store,
    name: &str,
    by: CheckedBy<'_>,
    workshop: &Workshop,
    progress: &mut dyn Progress,
) -> Result<Totals, ImportError> {
    let provers = ProverPool::open(workshop.prover.as_deref(), workshop.workers).await?;
    for _ in 0..ROUNDS_MAX {
        let Some(stored) = store.class_fetch(name).await? else { return Err(ImportError::Gone(name.to_owned())) };
        let hash = stored.class.hash()?;
        let class = OracleClass::new("the store", stored.class.text)?;
        let proofs = prove(&provers, &class).await?;
        let mut totals = Totals::default();
        totals.note_refuted(&proofs, progress);
        if let Some(kept) = store.class_prove(name, &hash, proofs).await? {
            totals.check(store, kept, by, workshop, progress).await?;
            return Ok(totals);
        }
        progress.note("it was changed meanwhile, and is proven anew");
    }
    Err(ImportError::Changing(name.to_owned()))
}

impl Totals {
    /// Counts what the prover refutes.
    fn note_refuted(&mut self, proofs: &[NewProof], progress: &mut dyn Progress) {
        for refuted in proofs.iter().filter(|p| p.record.verdict == Verdict::Refuted) {
            self.refuted += 1;
            let Record { id, reason, .. } = &refuted.record;
            progress.note(&format!("{id} is refuted: {}", reason.as_deref().unwrap_or_default()));
        }
    }

    /// Runs a class that was stored on the targets, if it is a draft, and counts it.
    async fn check(
        &mut self,
        store: &Store,
        kept: PutOutcome,
        by: CheckedBy<'_>,
        workshop: &Workshop,
        progress: &mut dyn Progress,
    ) -> Result<(), ImportError> {
        let PutOutcome { class, hash, mut state, changed } = kept;
        self.classes += 1;
        self.unchanged += usize::from(!changed);
        let name = &class.text.name;
        if state == ClassState::Draft {
            let Workshop { targets, data_dir, seed, .. } = workshop;
            let records: Vec<Record> = class.proofs.iter().map(|p| p.record.clone()).collect();
            let evidence = cross_check(&class.text, &records, targets, data_dir, *seed).await?;
            let value = serde_json::to_value(&evidence)?;
            // If somebody changed or reviewed it in the meantime, that is what counts.
            if store.class_checked(name, &hash, evidence.state(), &value, by).await? {
                state = evidence.state();
            }
        }
        match state {
            ClassState::Released => self.released += 1,
            ClassState::Quarantined => {
                self.quarantined += 1;
                progress.note(&format!("{name} is quarantined: `caqtus oracle show --store {name}` shows why"));
            }
            ClassState::Draft => self.drafts += 1,
        }
        Ok(())
    }
}

/// Stores the snippets that ship with this program.
pub async fn shipped_snippets(store: &Store, progress: &mut dyn Progress) -> Result<(), StoreError> {
    for dialect in catalogue::snippet_dialects() {
        let new = snippets(store, dialect, &catalogue::shipped_snippets(dialect)).await?;
        progress.note(&format!("{new} new snippets for {dialect}"));
    }
    Ok(())
}

/// Stores snippets of a dialect as files have them; how many are new.
pub async fn snippets(store: &Store, dialect: &str, lines: &[SnippetLine]) -> Result<u64, StoreError> {
    let mut by_origin: BTreeMap<(SnippetKind, &str), Vec<String>> = BTreeMap::new();
    for line in lines {
        by_origin.entry((line.kind, &line.origin)).or_default().push(line.sql.clone());
    }
    let mut new = 0;
    for ((kind, origin), snippets) in by_origin {
        let provenance = Provenance { origin: origin.to_owned(), ..Provenance::default() };
        new += store.snippet_put(dialect, kind, &provenance, &snippets).await?;
    }
    Ok(new)
}

/// Proves each member against the first.
async fn prove(provers: &ProverPool, class: &OracleClass) -> Result<Vec<NewProof>, ImportError> {
    let mut proofs = Vec::new();
    for pair in class.pairs().into_iter().filter(|pair| pair.0 == 0) {
        let Some(question) = class.question(pair) else { continue };
        let caq = Caq {
            schema: question.schema.to_owned(),
            placeholders: question.placeholders.clone(),
            sql: question.q1.to_owned(),
        };
        let answer = provers.decide(&caq, question.q2).await?;
        let witness = answer.witness.map(|inserts| format!("differs after {}", inserts.join(" ")));
        let record = Record {
            id: Pair::id(pair, &class.name),
            hash: question.hash(),
            verdict: match answer.verdict {
                Outcome::Proven => Verdict::Proven,
                Outcome::Refuted => Verdict::Refuted,
                Outcome::Unknown => Verdict::Unknown,
            },
            assumptions: answer.assumptions,
            reason: answer.reason.or(witness),
            prover: provers.version().to_owned(),
        };
        proofs.push(NewProof { record, certificate: answer.certificate.map(serde_json::to_value).transpose()? });
    }
    Ok(proofs)
}

/// A seed with the queries that should be equivalent to it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Option<String>,
    #[serde(flatten)]
    caq: Caq,
    candidates: Vec<String>,
}

/// Decides candidates as a discovery does, with the text of a file in the place of a model: what is proven becomes classes.
/// Importing the same text again goes on where it was stopped.
pub async fn candidates(
    store: &Store,
    file: &str,
    text: &str,
    workshop: &Workshop,
    stop: watch::Receiver<bool>,
    progress: &mut dyn Progress,
) -> Result<(Summary, End), ImportError> {
    let start = clock::now();
    let mut seeds = Vec::new();
    let mut given = BTreeMap::new();
    for (number, (at, line)) in (0..).zip(text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())) {
        let line: Line = serde_json::from_str(line).map_err(|source| ImportError::Line {
            file: file.to_owned(),
            line: at + 1,
            source,
        })?;
        given.insert(number, line.candidates);
        seeds.push((line.id, line.caq));
    }
    let settings = Settings {
        seed: workshop.seed,
        source: format!("candidates {}", &blake3::hash(text.as_bytes()).to_hex()[..16]),
        dbms: workshop.targets.clone(),
        proposer: "a file of candidates".to_owned(),
        asking: Asking {
            model: String::new(),
            temperature: None,
            reasoning_effort: None,
            candidates: 0,
            output_tokens_max: 0,
        },
        prompt_hash: None,
        focus: None,
        sampling: Sampling::Naive,
        examples_max: 0,
        depth_max: 0,
    };
    let provers = ProverPool::open(workshop.prover.as_deref(), workshop.workers).await?;
    let run = store.run_open(&settings.key(), &serde_json::to_value(&settings)?).await?;
    store.seed_put(run.id, 0, &seeds).await?;
    let open = store.seed_list(run.id).await?;
    let discovery = Arc::new(Discovery {
        store: store.clone(),
        run,
        settings,
        proposer: Proposer::Given(given),
        provers,
        targets: workshop.targets.iter().map(|name| TrialTarget::new(name, workshop.data_dir.clone())).collect(),
        data_dir: workshop.data_dir.clone(),
        seeds_in_flight: 2 * workshop.workers,
    });
    let (events, mut heard) = mpsc::unbounded_channel();
    let mut decided = 0;
    let end = {
        let running = discover(&discovery, open, stop, events);
        tokio::pin!(running);
        loop {
            tokio::select! {
                end = &mut running => break end?,
                Some(event) = heard.recv() => {
                    decided += u64::from(matches!(event, Event::Candidate(..)));
                    progress.update(&format_args!("{decided} candidates judged"), start.elapsed());
                }
            }
        }
    };
    Ok((Summary::read(store, discovery.run.id, start.elapsed()).await?, end))
}

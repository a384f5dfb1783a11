//! `caqtus oracle import`: classes and candidates into the store.

use super::progress::{ProgressLine, stop_after};
use super::{Common, FOUND, StoreArgs, printable};
use crate::caq::class::OracleClass;
use crate::caq::proof::{Pair, Record, Verdict};
use crate::caq::query::Caq;
use crate::catalogue;
use crate::clock;
use crate::config::CatalogueSource;
use crate::dbms::target::Target;
use crate::discover::crosscheck::cross_check;
use crate::discover::pool::ProverPool;
use crate::discover::proposer::Proposer;
use crate::discover::run::{Discovery, End, Event, run as discover};
use crate::discover::settings::{Asking, Settings};
use crate::discover::summary::Summary;
use crate::discover::trial::TrialTarget;
use crate::plan::sampling::Sampling;
use crate::store::{ClassState, NewClass, NewProof, Store, StoreError};
use anyhow::{Context as _, bail};
use clap::Args;
use prover::wire::Outcome;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Import classes into the store, or candidates, which are proven first
///
/// Classes come from class files, with the proofs that `caqtus oracle record` wrote; without proofs each member is proven
/// against the first. A class is run on the targets before it is released. Importing the same again changes nothing.
/// Exit status: 0 done, 1 a class is quarantined or a member or candidate refuted, 2 could not run, or a class was left out
/// because the store has another one of its name (a shipped one is left out and said).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  caqtus oracle import --shipped
  caqtus oracle import my-classes.toml --proofs my-proofs.jsonl
  caqtus oracle import --candidates candidates.jsonl --dbms sqlite")]
pub(super) struct ImportArgs {
    /// Class files
    #[arg(required_unless_present_any = ["shipped", "candidates"])]
    files: Vec<PathBuf>,
    /// What is proven about the classes of the files
    #[arg(long, value_name = "FILE", requires = "files")]
    proofs: Option<PathBuf>,
    /// The classes and snippets that ship with this program; the classes are released as they are
    #[arg(long, conflicts_with = "files")]
    shipped: bool,
    /// A file of JSON lines, each with `schema`, `placeholders`, a query `seed` and a list `candidates` of queries that
    /// should be equivalent to it; what is proven becomes classes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "shipped"])]
    candidates: Option<PathBuf>,
    /// The targets that classes are run on; the first gives the plans
    #[arg(long, default_value = "sqlite")]
    dbms: Vec<String>,
    /// The seed of the fillings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Prover processes [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    workers: Option<u16>,
    /// The prover [default: caqtus-prover beside this program or in the path]
    #[arg(long, env = "CAQTUS_PROVER", value_name = "PROGRAM")]
    prover: Option<PathBuf>,
    /// One JSON object with the sums as the last line
    #[arg(long)]
    json: bool,
    /// No progress display
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    common: Common,
}

impl ImportArgs {
    fn workers(&self) -> usize {
        self.workers.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

pub(super) fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    for name in &args.dbms {
        let target: Target = name.parse()?;
        super::open_apart(&target, &args.common)?;
    }
    super::deep_runtime()?.block_on(async {
        let store = args.store.open(&args.common).await?;
        match &args.candidates {
            Some(path) => candidates(args, path, store).await,
            None => classes(args, store).await,
        }
    })
}

#[derive(Debug, Default, serde::Serialize)]
struct Totals {
    classes: usize,
    unchanged: usize,
    released: usize,
    quarantined: usize,
    drafts: usize,
    refuted: usize,
    /// Left out, because another class of the store has the name.
    name_taken: usize,
}

async fn classes(args: &ImportArgs, store: Store) -> anyhow::Result<ExitCode> {
    let source = CatalogueSource { catalogue: args.files.clone(), proofs: args.proofs.clone(), snippets: None };
    let classes = catalogue::load(&source)?.classes;
    let provers = if args.shipped || args.proofs.is_some() {
        None
    } else {
        Some(ProverPool::open(args.prover.as_deref(), args.workers()).await?)
    };
    let mut progress = ProgressLine::new(args.quiet);
    if args.shipped {
        for dialect in catalogue::snippet_dialects() {
            let new = store.snippet_put(dialect, "shipped", &catalogue::shipped_snippets(dialect)).await?;
            progress.note(&format!("{new} new snippets for {dialect}"));
        }
    }
    let start = clock::now();
    let mut totals = Totals::default();
    for (at, class) in classes.iter().enumerate() {
        progress.update(format!("{} of {}: {}", at + 1, classes.len(), class.name), start.elapsed());
        let proofs = match &provers {
            None => class.edges().iter().map(|e| NewProof { record: e.record().clone(), certificate: None }).collect(),
            Some(provers) => prove(provers, class).await?,
        };
        for refuted in proofs.iter().filter(|p| p.record.verdict == Verdict::Refuted) {
            totals.refuted += 1;
            progress.note(&format!(
                "{} is refuted: {}",
                refuted.record.id,
                refuted.record.reason.as_deref().unwrap_or("")
            ));
        }
        let records: Vec<Record> = proofs.iter().map(|p| p.record.clone()).collect();
        let text = class.text();
        let new = NewClass { plans: vec![None; text.members.len()], text: text.clone(), proofs, similarity: None };
        let state = if args.shipped { ClassState::Released } else { ClassState::Draft };
        let kept = match store.class_put(new, state).await {
            Err(error @ StoreError::NameTaken(_)) => {
                totals.name_taken += 1;
                progress.note(&format!("{error}; that one stays"));
                continue;
            }
            kept => kept?,
        };
        totals.classes += 1;
        totals.unchanged += usize::from(!kept.changed);
        let mut state = kept.state;
        if state == ClassState::Draft {
            let evidence = cross_check(&text, &records, &args.dbms, &args.common.data_dir(), args.seed).await?;
            let value = serde_json::to_value(&evidence)?;
            // If somebody changed or judged it in the meantime, that is what counts.
            if store.class_checked(&text.name, &kept.hash, evidence.state(), &value).await? {
                state = evidence.state();
            }
        }
        match state {
            ClassState::Released => totals.released += 1,
            ClassState::Quarantined => {
                totals.quarantined += 1;
                progress.note(&format!("{} is quarantined: `caqtus oracle show --store {0}` shows why", text.name));
            }
            ClassState::Draft => totals.drafts += 1,
        }
    }
    progress.finish();
    store.close().await;
    let Totals { classes, unchanged, released, quarantined, drafts, refuted, name_taken } = totals;
    if args.json {
        println!("{}", serde_json::to_string(&totals)?);
    } else {
        println!(
            "{classes} classes, {unchanged} of them there already: {released} released, {quarantined} quarantined, \
             {drafts} drafts, which no target can use; {refuted} members refuted"
        );
    }
    // Whoever brings classes wants them all in the store; those that ship give way.
    if name_taken > 0 && !args.shipped {
        bail!("{name_taken} classes are left out, because other classes of the store have their names; rename them");
    }
    Ok(ExitCode::from(if quarantined + refuted > 0 { FOUND } else { 0 }))
}

/// Proves each member against the first.
async fn prove(provers: &ProverPool, class: &OracleClass) -> anyhow::Result<Vec<NewProof>> {
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

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Option<String>,
    #[serde(flatten)]
    caq: Caq,
    candidates: Vec<String>,
}

/// Judges candidates as a discovery does, with the file in the place of a model.
async fn candidates(args: &ImportArgs, path: &Path, store: Store) -> anyhow::Result<ExitCode> {
    let start = clock::now();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut seeds = Vec::new();
    let mut given = BTreeMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line)
            .with_context(|| format!("{}, line {}, has no seed with candidates", path.display(), at + 1))?;
        given.insert(u32::try_from(seeds.len())?, line.candidates);
        seeds.push((line.id, line.caq));
    }
    let settings = Settings {
        seed: args.seed,
        source: format!("candidates {}", &blake3::hash(text.as_bytes()).to_hex()[..16]),
        dbms: args.dbms.clone(),
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
    let provers = ProverPool::open(args.prover.as_deref(), args.workers()).await?;
    let run = store.run_open(&settings.key(), &serde_json::to_value(&settings)?).await?;
    store.seed_put(run.id, 0, &seeds).await?;
    let open = store.seed_list(run.id).await?;
    let discovery = Arc::new(Discovery {
        store,
        run,
        settings,
        proposer: Proposer::Given(given),
        provers,
        targets: args.dbms.iter().map(|name| TrialTarget::new(name, args.common.data_dir())).collect(),
        data_dir: args.common.data_dir(),
        seeds_in_flight: 2 * args.workers(),
    });
    let stopped = stop_after(None);
    let mut progress = ProgressLine::new(args.quiet);
    let (events, mut heard) = mpsc::unbounded_channel();
    let mut judged = 0;
    let end = {
        let running = discover(&discovery, open, stopped, events);
        tokio::pin!(running);
        loop {
            tokio::select! {
                end = &mut running => break end,
                Some(event) = heard.recv() => {
                    judged += u64::from(matches!(event, Event::Candidate(..)));
                    progress.update(format!("{judged} candidates judged"), start.elapsed());
                }
            }
        }
    };
    progress.finish();
    let summary = Summary::read(&discovery.store, discovery.run.id, start.elapsed()).await?;
    let discovery = Arc::try_unwrap(discovery).map_err(|_| anyhow::anyhow!("a task is still running"))?;
    discovery.store.close().await;
    let end = end?;
    if args.json {
        println!("{}", serde_json::to_string(&summary)?);
    } else {
        print!("{}", printable(&summary.to_string()));
        if end == End::Stopped {
            println!("stopped; the same command goes on");
        }
    }
    Ok(ExitCode::from(if summary.quarantined > 0 || summary.refuted > 0 { FOUND } else { 0 }))
}

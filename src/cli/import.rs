//! `caqtus oracle import`: classes and candidates into the store.

use super::progress::{ProgressLine, stop_after};
use super::{Common, FOUND, StoreArgs, printable};
use crate::app;
use crate::app::import::{self, Totals, Trust, Workshop};
use crate::catalogue;
use crate::config::CatalogueSource;
use crate::dbms::target::Target;
use crate::discover::run::End;
use crate::store::Store;
use anyhow::{Context as _, bail};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    fn workshop(&self) -> Workshop {
        Workshop {
            targets: self.dbms.clone(),
            data_dir: self.common.data_dir(),
            seed: self.seed,
            workers: self.workers.map_or_else(app::cores, usize::from),
            prover: self.prover.clone(),
        }
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

async fn classes(args: &ImportArgs, store: Store) -> anyhow::Result<ExitCode> {
    let source = CatalogueSource { catalogue: args.files.clone(), proofs: args.proofs.clone(), snippets: None };
    let classes = catalogue::load(&source)?.classes;
    let trust = match (args.shipped, &args.proofs) {
        (true, _) => Trust::Shipped,
        (false, Some(_)) => Trust::Recorded,
        (false, None) => Trust::Prove,
    };
    let mut progress = ProgressLine::new(args.quiet);
    if args.shipped {
        import::shipped_snippets(&store, &mut progress).await?;
    }
    let totals = import::classes(&store, &classes, trust, &args.workshop(), &mut progress).await?;
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

async fn candidates(args: &ImportArgs, path: &Path, store: Store) -> anyhow::Result<ExitCode> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut progress = ProgressLine::new(args.quiet);
    let file = path.display().to_string();
    let done = import::candidates(&store, &file, &text, &args.workshop(), stop_after(None), &mut progress).await;
    progress.finish();
    store.close().await;
    let (summary, end) = done?;
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

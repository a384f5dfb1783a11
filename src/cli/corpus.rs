//! `caqtus corpus`.

use super::discover::ModelArgs;
use super::progress::{ProgressLine, stop_after};
use super::{Common, FOUND, StoreArgs, TARGETS, parse_duration, printable};
use crate::app::corpus::{Environment, LearnRequest, Learner, coverage, learn, shelf};
use crate::catalogue;
use crate::config::file_config;
use crate::store::{SnippetFilter, SnippetRow, Store};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Learn snippets, and see what of an engine they reach
///
/// Snippets are SQL expressions and tables that hunts put into the placeholders of oracle classes. Those that ship are used
/// by every hunt; those of the store by `caqtus hunt --store`. Which of them hold on a target is read back from it.
#[derive(Debug, Args)]
pub(super) struct CorpusArgs {
    #[command(subcommand)]
    command: CorpusCommand,
}

#[derive(Debug, Subcommand)]
enum CorpusCommand {
    Learn(Box<LearnArgs>),
    /// Say which functions, operators, types and clauses of an engine hunts have reached, and which never
    ///
    /// It counts cases that passed, of the hunts on this build that the data directory knows, by what their snippets and
    /// generated expressions have in them. What a dialect's profile keeps out of cases is no feature.
    #[command(after_help = TARGETS)]
    Coverage {
        /// The target
        #[arg(long, value_name = "TARGET", default_value = "sqlite")]
        dbms: String,
        /// Of the snippets of the store rather than of those that ship
        #[arg(long)]
        store: bool,
        /// One JSON object as the last line of standard output
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// List the snippets of the store
    List {
        /// Only those of a dialect
        #[arg(long, value_name = "DIALECT")]
        dialect: Option<String>,
        /// Only those with these words
        #[arg(long, value_name = "WORDS")]
        words: Option<String>,
        /// Only those that hunts do not use
        #[arg(long)]
        disabled: bool,
        /// JSON objects, one a line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Show a snippet of the store: where it is from, and what builds make of it
    Show {
        /// Its number
        id: i64,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Keep a snippet of the store out of hunts, or let it in again
    Disable {
        /// Its number
        id: i64,
        /// Why
        #[arg(long, value_name = "TEXT", required_unless_present = "undo")]
        why: Option<String>,
        /// Let it in again
        #[arg(long, conflicts_with = "why")]
        undo: bool,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Store the snippets of files: JSON lines with `sql`, and `kind` and `origin` where these differ from an expression that a
    /// model wrote
    Import {
        /// The dialect
        #[arg(long, value_name = "DIALECT")]
        dialect: String,
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Write the snippets of the store that hunts may use, as `import` reads them
    Export {
        /// The dialect
        #[arg(long, value_name = "DIALECT")]
        dialect: String,
        /// Only those of an origin
        #[arg(long, value_name = "TEXT")]
        origin: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
}

/// Learn snippets from a model, or make them from the engine's own catalogue of functions or from other snippets
///
/// A model is shown the dialect's table, features of the engine that no snippet uses yet with what the engine itself says of
/// them, and documentation from --documents. What comes back is validated on the target, and what holds is stored. What breaks
/// the engine meanwhile is a finding. Every answer is in the store before it is used: the same command goes on later.
/// Exit status: 0 done or stopped, 1 findings, 2 could not run.
#[derive(Debug, Args)]
#[command(
    after_help = TARGETS,
    after_long_help = format!("{TARGETS}\n\n\
Examples:
  caqtus corpus learn --dbms duckdb@2.0.0 --llm catalogue --expressions 3000
  caqtus corpus learn --dbms duckdb@2.0.0 --llm combinations --expressions 500
  OPENAI_API_KEY=… caqtus corpus learn --dbms postgres --model o4-mini --documents ./manual --budget-usd 1
  caqtus corpus learn --dbms mariadb --model o4-mini --export-batch prompts.jsonl
  caqtus corpus learn --dbms mariadb --model o4-mini --import-batch answers.jsonl
"))]
struct LearnArgs {
    /// The target
    #[arg(long, value_name = "TARGET", default_value = "sqlite")]
    dbms: String,
    /// Who writes: catalogue (nobody: they are made), combinations (nobody: they are made of those of the store), live, batch (the
    /// Batch API), record:DIR or replay:DIR
    ///
    /// Without it, a model if one is configured, and otherwise the engine's catalogue.
    #[arg(long, value_name = "WHO")]
    llm: Option<Learner>,
    /// How many prompts for expressions; with catalogue or combinations, how many valid expressions to make [default: 12, or 2000]
    #[arg(long, value_name = "N")]
    expressions: Option<u32>,
    /// How many prompts for tables; with catalogue, how many tables to make [default: 4, or 400]
    #[arg(long, value_name = "N")]
    tables: Option<u32>,
    /// Expressions that a prompt asks for
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=200))]
    per_prompt: u32,
    /// Tables that a prompt asks for
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=100))]
    tables_per_prompt: u32,
    /// A folder of documentation, as text or Markdown, of which prompts show pieces
    #[arg(long, value_name = "DIR")]
    documents: Option<PathBuf>,
    /// What the model should prefer, in words: 'date and time functions'
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// The seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after this many minutes; the same command goes on later
    #[arg(long, value_name = "MINUTES")]
    max_minutes: Option<u64>,
    #[command(flatten)]
    model: ModelArgs,
    /// Write the prompts that wait for an answer to a file for a batch, and ask nobody
    #[arg(long, value_name = "FILE")]
    export_batch: Option<PathBuf>,
    /// Take answers from files of a batch, in any order; prompts without an answer keep waiting
    #[arg(long, value_name = "FILE")]
    import_batch: Vec<PathBuf>,
    /// How often a batch is asked for its state
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    batch_poll: Duration,
    /// Where findings go
    #[arg(long, value_name = "DIR", default_value = "caqtus-findings")]
    out: PathBuf,
    /// One JSON object as the last line of standard output
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

pub(super) fn run(args: CorpusArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        CorpusCommand::Learn(args) => run_learn(&args),
        CorpusCommand::Coverage { dbms, store, json, server, common } => super::runtime()?.block_on(async {
            let store = if store { Some(server.open(&common).await?) } else { None };
            let reached = coverage(&dbms, &common.data_dir(), store.as_ref()).await;
            if let Some(store) = store {
                store.close().await;
            }
            let reached = reached?;
            if json {
                println!("{}", serde_json::to_string(&reached)?);
            } else {
                print!("{}", printable(&reached.to_string()));
            }
            Ok(ExitCode::SUCCESS)
        }),
        CorpusCommand::List { dialect, words, disabled, json, store, common } => {
            with_store(&store, &common, async |store| {
                let filter =
                    SnippetFilter { dialect, words, disabled: disabled.then_some(true), ..SnippetFilter::default() };
                for row in shelf::list(store, &filter).await? {
                    if json {
                        println!("{}", serde_json::to_string(&row)?);
                    } else {
                        let SnippetRow { id, dialect, kind, sql, origin, disabled, .. } = row;
                        let disabled = disabled.map(|why| format!("  (not used: {why})")).unwrap_or_default();
                        println!("{}", printable(&format!("{id:>6}  {dialect}  {kind}  {origin}  {sql}{disabled}")));
                    }
                }
                Ok(())
            })
        }
        CorpusCommand::Show { id, store, common } => with_store(&store, &common, async |store| {
            println!("{}", serde_json::to_string_pretty(&shelf::show(store, id).await?)?);
            Ok(())
        }),
        CorpusCommand::Disable { id, why, undo: _, store, common } => with_store(&store, &common, async |store| {
            shelf::disable(store, id, why.as_deref(), "command line").await?;
            Ok(())
        }),
        CorpusCommand::Import { dialect, files, store, common } => with_store(&store, &common, async |store| {
            // A dialect that nobody has written a profile for could never use them.
            catalogue::profile(&dialect)?;
            for path in &files {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                let new = shelf::read(store, &dialect, &text).await.with_context(|| path.display().to_string())?;
                println!("{}: {new} new snippets", path.display());
            }
            Ok(())
        }),
        CorpusCommand::Export { dialect, origin, store, common } => with_store(&store, &common, async |store| {
            print!("{}", shelf::write(store, &dialect, origin.as_deref()).await?);
            Ok(())
        }),
    }
}

/// Does something with the store.
fn with_store(
    server: &StoreArgs,
    common: &Common,
    work: impl AsyncFnOnce(&Store) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    super::runtime()?.block_on(async {
        let store = server.open(common).await?;
        let done = work(&store).await;
        store.close().await;
        done.map(|()| ExitCode::SUCCESS)
    })
}

fn run_learn(args: &LearnArgs) -> anyhow::Result<ExitCode> {
    let config = file_config(args.model.config.as_deref())?;
    let made = match (&args.llm, args.model.model.is_some() || config.model.name.is_some()) {
        (Some(learner), _) => !matches!(learner, Learner::Model(_)),
        (None, has_model) => !has_model,
    };
    let (expressions, tables) = if made { (2_000, 400) } else { (12, 4) };
    let (model, budget) = args.model.request();
    let request = LearnRequest {
        dbms: args.dbms.clone(),
        learner: args.llm.clone(),
        expressions: (args.expressions.unwrap_or(expressions), args.per_prompt),
        tables: (args.tables.unwrap_or(tables), args.tables_per_prompt),
        documents: args.documents.clone(),
        focus: args.focus.clone(),
        seed: args.seed,
        model,
        budget,
    };
    let environment = Environment {
        data_dir: args.common.data_dir(),
        out_dir: args.out.clone(),
        config,
        export_batch: args.export_batch.clone(),
        import_batch: args.import_batch.clone(),
        batch_poll: args.batch_poll,
    };
    super::deep_runtime()?.block_on(async {
        let stop = stop_after(args.max_minutes.map(|minutes| Duration::from_secs(60 * minutes)));
        let store = args.store.open(&args.common).await?;
        let mut progress = ProgressLine::new(args.quiet);
        let learned = learn(&request, &environment, &store, &stop, &mut progress).await;
        progress.finish();
        store.close().await;
        let (summary, found) = learned?;
        if args.json {
            println!("{}", serde_json::to_string(&summary)?);
        } else {
            print!("{}", printable(&summary.to_string()));
            for finding in &found {
                println!("  {}  {}", finding.kind, finding.dir);
            }
            if summary.waiting > 0 {
                println!("the prompts that wait: --import-batch FILE takes their answers");
            } else if !summary.done {
                println!("stopped; the same command goes on");
            }
        }
        Ok(ExitCode::from(if found.is_empty() { 0 } else { FOUND }))
    })
}

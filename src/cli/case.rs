//! `caqtus case`.

use super::{ChoiceArgs, Common};
use crate::catalogue;
use crate::config::{CASES_PER_BLOCK, CampaignSpec, SNIPPET_PERCENT};
use crate::dbms::target::Target;
use crate::hunt::executor::Executor;
use crate::hunt::learned;
use crate::hunt::protocol::{ExecutorConfig, WorkerEnvironment};
use crate::triage::report::script;
use clap::Args;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print test cases of a campaign without running them
///
/// A case is a function of the target's version, the seed, the block and its number in the block; a report names all
/// four. The options that choose classes and fillings must be those of the campaign.
#[derive(Debug, Args)]
pub(super) struct CaseArgs {
    /// The target
    #[arg(long, default_value = "sqlite")]
    dbms: String,
    /// The campaign's seed
    #[arg(long)]
    seed: u64,
    /// The block
    #[arg(long, default_value_t = 0)]
    block: u64,
    /// The case in the block [default: all]
    #[arg(long)]
    case: Option<u32>,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Share of placeholders filled from the corpus, as in the campaign
    #[arg(long, value_name = "PERCENT", default_value_t = SNIPPET_PERCENT)]
    snippets: u32,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: CaseArgs) -> anyhow::Result<ExitCode> {
    let target: Target = args.dbms.parse()?;
    super::open_apart(&target, &args.common)?;
    let scratch = super::scratch("case")?;
    let data_dir = args.common.data_dir();
    let spec = CampaignSpec {
        choice: args.choice.choice(),
        snippet_percent: args.snippets,
        learned: Some(learned::read(&data_dir, &target.to_string())),
        ..CampaignSpec::new(target.to_string(), args.seed)
    };
    let environment = WorkerEnvironment {
        known_bugs: None,
        against: None,
        data_dir,
        out_dir: PathBuf::new(),
        known: Vec::new(),
        recorder: scratch.path().join("recorder"),
        time_left_ms: None,
    };
    let mut executor = Executor::new(ExecutorConfig { spec, environment })?;
    let profile = catalogue::profile(target.dialect())?;
    let cases = args.case.map_or(0..CASES_PER_BLOCK, |case| case..case + 1);
    let mut shown: Vec<String> = Vec::new();
    let mut out = std::io::stdout().lock();
    for case in cases {
        let finding = executor.describe(args.block, case, None);
        if case == 0 || shown.is_empty() {
            writeln!(out, "-- class {}", finding.class)?;
        }
        for statement in finding.statements.iter().skip(shown.len()) {
            writeln!(out, "{statement};")?;
        }
        writeln!(out, "-- case {case}")?;
        for (at, query) in finding.queries.iter().enumerate() {
            if let Some(switch) = &query.step.switch {
                writeln!(out, "-- with the optimizer switch {}", switch.name)?;
            }
            if let Some(context) = &query.context {
                writeln!(out, "-- {context}")?;
            }
            write!(out, "{}", script(&finding.queries, at, &profile))?;
        }
        shown.clone_from(&finding.statements);
    }
    Ok(ExitCode::SUCCESS)
}

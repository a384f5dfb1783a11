//! `caqtus hunt`.

use super::progress::{ProgressLine, interrupts};
use super::{
    COULD_NOT_RUN, ChoiceArgs, Common, FOUND, FOUND_AND_BROKEN, StoreArgs, TARGETS, TOO_LITTLE, output, parse_duration,
    printable,
};
use crate::catalogue::{self, print_snippets};
use crate::clock;
use crate::config::{CatalogueSource, ExecutorConfig, FINDINGS_PER_CLASS_MAX, TESTED_CASES_MIN, VOID_PERCENT_MAX};
use crate::dbms::postgres::without_password;
use crate::dbms::target::Target;
use crate::hunt::campaign;
use crate::hunt::protocol::Ready;
use crate::hunt::stats::{LEFT_OUT, Messages, NOT_TRIED, OracleStats, Outcomes, REPLACED, Stats};
use crate::hunt::supervisor::{self, HuntPlan, Progress, Summary};
use crate::store::{CampaignRow, ClassState, Store};
use crate::triage::finding::{Finding, FoundReport, shell_word};
use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Hunt for bugs: run test cases against a target until told to stop
///
/// Each finding becomes a directory below --out with a script for the engine's own shell (repro.sql), a report
/// (report.md) and everything needed to show it again (case.json). Ctrl-C ends the hunt with its summary; a second one
/// ends it at once.
///
/// Exit status: 0 nothing found; 1 bugs found; 2 could not run, or not go on; 3 bugs found, and then it could not go on; 4
/// nothing found, but too little tested (--min-cases, --max-void). Whatever it is, the summary says what was done, and the
/// object of --json has it in `verdict` and `error`.
#[derive(Debug, Args)]
#[command(
    after_help = format!("{TARGETS}\n\nExamples:\n  caqtus hunt --for 10m\n  \
    caqtus hunt --dbms sqlite@3.39.2 --for 2m --workers 2\n  caqtus hunt --dbms postgres --for 10m\n  \
    caqtus hunt --class 'norec-*' --cases 100000 --seed 7 --json")
)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(super) struct HuntArgs {
    /// The target: ENGINE, ENGINE@VERSION, `ENGINE:/path` or `ENGINE://host`, see below [default: sqlite]
    #[arg(long, value_name = "TARGET")]
    dbms: Option<String>,
    /// Stop after this time, reductions included: 90s, 10m, 2h
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,
    /// Stop after this many test cases
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// Cases that must pass or fail; with fewer, a hunt that finds nothing is not clean
    #[arg(long, value_name = "N", default_value_t = TESTED_CASES_MIN)]
    min_cases: u64,
    /// The share of void cases (skipped, warning) above which a hunt that finds nothing is not clean
    #[arg(long, value_name = "PERCENT", default_value_t = VOID_PERCENT_MAX, value_parser = clap::value_parser!(u8).range(0..=100))]
    max_void: u8,
    /// The seed: the same seed on the same version gives the same cases [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Executor processes [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    workers: Option<u16>,
    /// Share of placeholders filled from the snippet corpus rather than generated
    #[arg(long, value_name = "PERCENT", default_value_t = 35, value_parser = clap::value_parser!(u32).range(0..=100))]
    snippets: u32,
    /// Use the released classes and the snippets of the store, and record the campaign and its findings there
    #[arg(long, conflicts_with_all = ["catalogue", "proofs"])]
    store: bool,
    #[command(flatten)]
    server: StoreArgs,
    /// Where findings go
    #[arg(long, value_name = "DIR", default_value = "caqtus-findings")]
    out: PathBuf,
    /// Failures of one class and kind that each executor reduces and reports; further ones are counted
    #[arg(long, value_name = "N", default_value_t = FINDINGS_PER_CLASS_MAX, value_parser = at_least_one)]
    keep: usize,
    /// Go on with the campaign in --out where it stopped, with its target, seed and classes
    #[arg(long, conflicts_with_all = ["seed", "oracles", "classes", "catalogue", "proofs", "assumed", "snippets"])]
    resume: bool,
    /// A statement that still runs after this time, despite the limits inside the engine, is a hang
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    hang_after: Duration,
    /// How long a server named by its URL that ended under the hunt may take to come back
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    wait_for_server: Duration,
    /// One JSON object as the last line of standard output; the summary for people goes to standard error
    #[arg(long)]
    json: bool,
    /// No progress display, and with --json no summary for people
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    common: Common,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("with none, findings would be counted and not shown; 1 is the least".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it is no number".to_owned()),
    }
}

pub(super) fn run(args: HuntArgs) -> anyhow::Result<ExitCode> {
    let (as_json, dbms, seed) = (args.json, without_password(args.dbms.as_deref().unwrap_or("sqlite")), args.seed);
    let result = hunt(args);
    if let (Err(error), true) = (&result, as_json) {
        // It did not begin, which machines read in the same place.
        let nothing = Summary::nothing(&dbms, seed.unwrap_or(0));
        println!("{}", serde_json::to_string(&json(&nothing, "broken", Some(error)))?);
    }
    result
}

fn hunt(args: HuntArgs) -> anyhow::Result<ExitCode> {
    let target: Target = match (&args.dbms, args.resume) {
        (None, true) => campaign::target(&args.out)?.parse()?,
        (named, _) => named.as_deref().unwrap_or("sqlite").parse()?,
    };
    let interrupted = campaign::interrupted(&args.out);
    let runtime = super::runtime()?;
    let mut choice = args.choice.choice();
    let store = if args.store { Some(runtime.block_on(args.server.open(&args.common))?) } else { None };
    if let Some(store) = store.as_ref().filter(|_| !args.resume) {
        choice.source = runtime.block_on(from_store(store, target.dialect(), &args.out))?;
    }
    if choice.source.proofs.is_some() {
        for stale in catalogue::load_matching(&choice.source, &choice.classes)?.stale {
            eprintln!("{}", printable(&stale.to_string()));
        }
    }
    let classes = format!("{:?} {}", choice.classes, choice.assumed);
    let plan = HuntPlan {
        executor: ExecutorConfig {
            dbms: target.to_string(),
            data_dir: args.common.data_dir(),
            out_dir: args.out.clone(),
            seed: args.seed.unwrap_or_else(clock::unix_nanos),
            choice,
            snippet_percent: args.snippets,
            findings_per_class_max: args.keep,
            known: Vec::new(),
            learned: Some(Vec::new()),
            recorder: PathBuf::new(),
            time_left_ms: None,
        },
        workers: args.workers.map_or_else(cores, usize::from),
        time_max: args.time,
        cases_max: args.cases,
        hang_after: args.hang_after,
        return_max: args.wait_for_server,
        resume: args.resume,
    };
    let mut display = Display(ProgressLine::new(args.quiet));
    if interrupted && !args.resume {
        display.note(
            "the last hunt in this directory was cut short; its findings are kept, and --resume goes on with it later",
        );
    }
    let mut summary = runtime.block_on(async { supervisor::hunt(plan, &mut display, interrupts()).await })?;
    display.0.finish();
    let too_little = too_little(&summary.stats.outcomes, args.min_cases, args.max_void);
    let found = !summary.findings.is_empty() || summary.stats.outcomes.fail > 0;
    let ending = |broken: bool| match (broken, found) {
        (true, true) => (FOUND_AND_BROKEN, "bugs-then-broken"),
        (true, false) => (COULD_NOT_RUN, "broken"),
        (false, true) => (FOUND, "bugs"),
        (false, false) if too_little.is_some() => (TOO_LITTLE, "too-little-tested"),
        (false, false) => (0, "clean"),
    };
    let mut error = summary.error.take().map(anyhow::Error::from);
    if let Some(store) = store {
        let recorded =
            runtime.block_on(record(store, &classes, &json(&summary, ending(error.is_some()).1, error.as_ref())));
        error = error.or(recorded.err());
    }
    let (code, verdict) = ending(error.is_some());
    // Before anything is printed: whoever reads that may stop reading.
    output::ends_with(code);
    // Of a hunt that broke before it did anything, the error says it all.
    let text =
        if error.is_none() || found || summary.stats.outcomes.cases() > 0 { text(&summary) } else { String::new() };
    if args.json {
        if !args.quiet {
            eprint!("{text}");
        }
        println!("{}", serde_json::to_string(&json(&summary, verdict, error.as_ref()))?);
    } else {
        print!("{text}");
    }
    if let (TOO_LITTLE, Some(why)) = (code, too_little) {
        super::say(&anyhow!("nothing was found, which means little: {why}"));
    }
    if let Some(error) = error {
        super::say(&error);
    }
    Ok(ExitCode::from(code))
}

/// Why nothing can be concluded from a hunt that found nothing.
fn too_little(outcomes: &Outcomes, min_cases: u64, max_void: u8) -> Option<String> {
    let (tested, void, all) = (outcomes.pass + outcomes.fail, outcomes.skipped + outcomes.warning, outcomes.cases());
    if tested < min_cases {
        return Some(format!("{tested} cases passed or failed, and --min-cases asks for {min_cases}"));
    }
    let too_many = u128::from(void) * 100 > u128::from(all) * u128::from(max_void);
    too_many.then(|| format!("{void} of {all} cases are void, more than the {max_void} % of --max-void"))
}

/// Writes the released classes to files beside the findings: executors need no store, and a campaign that goes on keeps
/// its classes.
async fn from_store(store: &Store, dialect: &str, out: &Path) -> anyhow::Result<CatalogueSource> {
    let released = super::oracle::stored(store, Some(ClassState::Released), &[]).await?;
    if released.is_empty() {
        bail!("the store has no released class; `caqtus discover` finds some, `caqtus oracle import` brings others");
    }
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let (classes, proofs) = (out.join("store-classes.toml"), out.join("store-proofs.jsonl"));
    super::oracle::write_classes(&released, &classes, &proofs)?;
    let snippets = match store.snippet_list(dialect).await?.as_slice() {
        [] => None,
        some => {
            let path = out.join("store-snippets.jsonl");
            std::fs::write(&path, print_snippets(some)).with_context(|| format!("cannot write {}", path.display()))?;
            Some(path)
        }
    };
    Ok(CatalogueSource { catalogue: vec![classes], proofs: Some(proofs), snippets })
}

/// Stores what a campaign did.
async fn record(store: Store, classes: &str, summary: &Json<'_>) -> anyhow::Result<()> {
    let mut findings = Vec::new();
    for found in summary.findings {
        let path = Path::new(&found.dir).join("case.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let finding: Finding =
            serde_json::from_str(&text).with_context(|| format!("{} is no finding", path.display()))?;
        findings.push(finding);
    }
    let key = format!("{} {} {} {classes}", summary.dbms, summary.version, summary.seed);
    let campaign = CampaignRow {
        key: blake3::hash(key.as_bytes()).to_hex()[..16].to_owned(),
        dbms: summary.dbms.to_owned(),
        version: summary.version.to_owned(),
        seed: summary.seed,
        summary: serde_json::to_value(summary)?,
    };
    store.campaign_put(&campaign, &findings).await?;
    store.close().await;
    Ok(())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The output contract: other tools read this.
#[derive(Serialize)]
struct Json<'a> {
    /// `clean`, `bugs`, `broken`, `bugs-then-broken` or `too-little-tested`: the exit status in a word.
    verdict: &'a str,
    /// Why it could not run, or not go on.
    error: Option<String>,
    dbms: &'a str,
    version: &'a str,
    seed: u64,
    seconds: f64,
    cpu_seconds: f64,
    server_cpu_seconds: f64,
    cases: u64,
    /// Cases that are not void.
    tested: u64,
    statements: u64,
    setup_errors: u64,
    outcomes: Counts,
    reasons: &'a std::collections::BTreeMap<String, u64>,
    messages: &'a Messages,
    replaced_databases: u64,
    oracles: &'a std::collections::BTreeMap<String, OracleStats>,
    cases_per_cpu_second: f64,
    engine_share: f64,
    classes: usize,
    assumed_members: usize,
    snippets: usize,
    restarts: u64,
    case_digest: String,
    findings: &'a [FoundReport],
    bugs: Vec<Bug<'a>>,
}

/// Findings that are likely one bug, by the smallest of them.
#[derive(Serialize)]
struct Bug<'a> {
    #[serde(flatten)]
    smallest: &'a FoundReport,
    /// How many there are.
    findings: usize,
}

#[derive(Serialize)]
struct Counts {
    pass: u64,
    skipped: u64,
    warning: u64,
    fail: u64,
}

fn json<'a>(summary: &'a Summary, verdict: &'a str, error: Option<&anyhow::Error>) -> Json<'a> {
    let stats = &summary.stats;
    let Stats { outcomes, messages, replaced, statements, setup_errors, cpu_ns, server_ns, digest, oracles, .. } =
        stats;
    Json {
        verdict,
        error: error.map(|error| format!("{error:#}")),
        dbms: &summary.dbms,
        version: &summary.ready.version,
        seed: summary.seed,
        seconds: summary.elapsed.as_secs_f64(),
        cpu_seconds: Duration::from_nanos(*cpu_ns).as_secs_f64(),
        server_cpu_seconds: Duration::from_nanos(*server_ns).as_secs_f64(),
        cases: outcomes.cases(),
        tested: outcomes.pass + outcomes.fail,
        statements: *statements,
        setup_errors: *setup_errors,
        outcomes: Counts {
            pass: outcomes.pass,
            skipped: outcomes.skipped,
            warning: outcomes.warning,
            fail: outcomes.fail,
        },
        reasons: &outcomes.reasons,
        messages,
        replaced_databases: *replaced,
        oracles,
        cases_per_cpu_second: summary.stats.cases_per_cpu_second(),
        engine_share: summary.stats.engine_share(),
        classes: summary.ready.classes,
        assumed_members: summary.ready.assumed,
        snippets: summary.ready.snippets,
        restarts: summary.restarts,
        case_digest: format!("{digest:016x}"),
        findings: &summary.findings,
        bugs: supervisor::group(&summary.findings)
            .iter()
            .map(|group| Bug { smallest: group[0], findings: group.len() })
            .collect(),
    }
}

/// Lines of a script that the summary shows.
const SCRIPT_LINES_MAX: usize = 40;

/// Messages of the engine shown for one reason.
const MESSAGES_SHOWN_MAX: usize = 3;

/// The summary for people.
fn text(summary: &Summary) -> String {
    let mut out = String::new();
    let Stats { outcomes, messages, replaced, statements, cpu_ns, server_ns, oracles, .. } = &summary.stats;
    let version = &summary.ready.version;
    let space = if version.is_empty() { "" } else { " " };
    let _ = writeln!(out, "{}{space}{version}, seed {}", summary.dbms, summary.seed);
    if summary.ready.assumed > 0 {
        let _ = writeln!(
            out,
            "{} members are assumed to be equivalent to the rest of their class, without a proof: a difference may be \
             the class's fault",
            summary.ready.assumed
        );
    }
    let _ = writeln!(
        out,
        "{} cases, {statements} statements in {:.1} s ({:.1} CPU s{}): {:.0} cases per CPU second, {:.0} % inside the engine",
        outcomes.cases(),
        summary.elapsed.as_secs_f64(),
        Duration::from_nanos(*cpu_ns).as_secs_f64(),
        if *server_ns > 0 {
            format!(", the server {:.1}", Duration::from_nanos(*server_ns).as_secs_f64())
        } else {
            String::new()
        },
        summary.stats.cases_per_cpu_second(),
        summary.stats.engine_share() * 100.0,
    );
    let _ = writeln!(
        out,
        "pass {}, skipped {}, warning {}, fail {}",
        outcomes.pass, outcomes.skipped, outcomes.warning, outcomes.fail
    );
    let said = |out: &mut String, reason: &str| {
        for (message, count) in messages.commonest(reason, MESSAGES_SHOWN_MAX) {
            let _ = writeln!(out, "             {count:>9}  {message}");
        }
    };
    for (reason, count) in &outcomes.reasons {
        let _ = writeln!(out, "  {count:>9}  {reason}");
        said(&mut out, reason);
    }
    for (oracle, OracleStats { cases, queries, refused, fail }) in oracles {
        let _ = writeln!(
            out,
            "{oracle}: {cases} cases, {queries} queries compared, {refused} left out as refused, {fail} failed"
        );
    }
    said(&mut out, LEFT_OUT);
    if *replaced > 0 {
        let _ = writeln!(out, "{replaced} databases replaced, because the engine refused them or most cases on them");
        said(&mut out, REPLACED);
    }
    if !messages.commonest(NOT_TRIED, 1).is_empty() {
        let _ = writeln!(out, "broke the engine before the hunt like others, and not tried again (--keep)");
        said(&mut out, NOT_TRIED);
    }
    bugs(&mut out, summary);
    out
}

/// The bugs found, the smallest script, and what to do with it.
fn bugs(out: &mut String, summary: &Summary) {
    let findings = &summary.findings;
    let groups = supervisor::group(findings);
    let Some(smallest) = groups.iter().map(|group| group[0]).min_by_key(|finding| finding.size) else {
        let _ = match summary.stats.outcomes.fail {
            0 => writeln!(out, "no findings"),
            failed => writeln!(out, "{failed} cases failed, and none of them could be written as a finding"),
        };
        return;
    };
    let _ = writeln!(
        out,
        "\n{} findings of likely {} bugs, told apart by kind and by what makes them vanish:",
        findings.len(),
        groups.len()
    );
    for group in &groups {
        let FoundReport { kind, cause, dir, .. } = group[0];
        let _ = writeln!(out, "  {:>5}  {kind:<14}  {dir}  {cause}", group.len());
    }
    let dir = Path::new(&smallest.dir);
    if let Ok(script) = std::fs::read_to_string(dir.join("repro.sql")) {
        let _ = writeln!(out, "\nThe smallest script, {}:\n", dir.join("repro.sql").display());
        for line in script.lines().take(SCRIPT_LINES_MAX) {
            let _ = writeln!(out, "    {line}");
        }
        if script.lines().count() > SCRIPT_LINES_MAX {
            out.push_str("    …\n");
        }
    }
    let place = shell_word(dir.parent().unwrap_or_else(|| Path::new(".")));
    let _ = writeln!(
        out,
        "\nNext:\n  caqtus bug show {id} --findings {place}                  the report\n  caqtus bug replay {id} --findings \
         {place} --dbms TARGET  whether another version shows it\n  caqtus bug bisect {id} --findings {place} --install     \
         the versions between which it came and went",
        id = smallest.id
    );
}

struct Display(ProgressLine);

impl Progress for Display {
    fn ready(&mut self, ready: &Ready) {
        let Ready { version, classes, snippets, assumed, notes: _ } = ready;
        let assumed = if *assumed > 0 { format!(", {assumed} members without a proof") } else { String::new() };
        self.0.note(&format!("version {version}: {classes} classes{assumed}, {snippets} corpus snippets"));
    }

    fn update(&mut self, stats: &Stats, findings: usize, elapsed: Duration) {
        let outcomes = &stats.outcomes;
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = outcomes.cases() as f64 / elapsed.as_secs_f64().max(0.001);
        let line = format!(
            "{} cases  {rate:.0}/s  engine {:.0} %  pass {}  skipped {}  warning {}  fail {}  findings {findings}",
            outcomes.cases(),
            stats.engine_share() * 100.0,
            outcomes.pass,
            outcomes.skipped,
            outcomes.warning,
            outcomes.fail
        );
        self.0.update(line, elapsed);
    }

    fn note(&mut self, message: &str) {
        self.0.note(message);
    }
}

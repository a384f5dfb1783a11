//! `caqtus hunt`.

use super::progress::{ProgressLine, interrupts};
use super::{
    COULD_NOT_RUN, ChoiceArgs, Common, FOUND, FOUND_AND_BROKEN, StoreArgs, TARGETS, TOO_LITTLE, output, parse_duration,
    printable,
};
use crate::app;
use crate::app::campaign::{self, CampaignJson, CampaignVerdict, Demands, Ended, KnownSources, OfOrigin, of_origins};
use crate::clock;
use crate::config::{
    COMBINATIONS, CampaignLimits, CampaignSpec, FINDINGS_PER_CLASS_MAX, MAY_FAIL_PERCENT, SERVER_STARTS_MAX,
    SNIPPET_PERCENT, TESTED_CASES_MIN, VOID_PERCENT_MAX, millis,
};
use crate::dbms::postgres::without_password;
use crate::dbms::target::Target;
use crate::hunt;
use crate::hunt::gone::Gone;
use crate::hunt::plan::{HuntEnvironment, HuntPlan, Progress, Restart, Summary};
use crate::hunt::protocol::Ready;
use crate::hunt::stats::{GENERATOR, LEFT_OUT, LIMITED, NOT_TRIED, OracleStats, REPLACED, Stats, share};
use crate::hunt::uses::Cases;
use crate::triage::finding::shell_word;
use crate::triage::group::Bug;
use anyhow::{anyhow, bail};
use clap::Args;
use std::collections::BTreeMap;
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
    caqtus hunt --dbms sqlite:/new/libsqlite3.so --against sqlite:/old/libsqlite3.so --for 1h\n  \
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
    #[arg(long, value_name = "PERCENT", default_value_t = SNIPPET_PERCENT, value_parser = clap::value_parser!(u32).range(0..=100))]
    snippets: u32,
    /// Share of these that may be a snippet which fails on some rows, and makes the case void then
    #[arg(long, value_name = "PERCENT", default_value_t = MAY_FAIL_PERCENT, value_parser = clap::value_parser!(u32).range(0..=100))]
    may_fail: u32,
    /// Combinations of snippets, one in the place of a column of another, that the campaign makes and validates
    #[arg(long, value_name = "N", default_value_t = COMBINATIONS, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    combinations: u32,
    /// Use the released classes and the snippets of the store, and record the campaign and its findings there
    #[arg(long, conflicts_with_all = ["catalogue", "proofs"])]
    store: bool,
    #[command(flatten)]
    server: StoreArgs,
    /// Where findings go
    #[arg(long, value_name = "DIR", default_value = "caqtus-findings")]
    out: PathBuf,
    /// Do not report what this list of known bugs covers; may be given several times
    ///
    /// A list is a file like the `known.toml` that `caqtus bug ignore` writes into --out, which is read anyway.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// Report the bugs of current releases too that the list which ships with caqtus covers
    #[arg(long)]
    no_known: bool,
    /// Do not report the bugs of an earlier hunt: a file with what it printed with --json
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Report only what this target does not show: the build or version before
    #[arg(long, value_name = "TARGET")]
    against: Option<String>,
    /// End when so many bugs are found that no list covers, so that one bad night gives one page
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max_bugs: Option<usize>,
    /// Failures of one class and kind, in a row without a new bug, after which each executor looks at ever fewer
    #[arg(long, value_name = "N", default_value_t = FINDINGS_PER_CLASS_MAX, value_parser = at_least_one)]
    keep: usize,
    /// Go on with the campaign in --out where it stopped, with its target, seed and classes
    #[arg(long, conflicts_with_all = ["seed", "oracles", "classes", "catalogue", "proofs", "assumed", "snippets", "may_fail", "combinations"])]
    resume: bool,
    /// A statement that still runs after this time, despite the limits inside the engine, is a hang
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    hang_after: Duration,
    /// How long a server named by its URL that ended under the hunt may take to come back
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    wait_for_server: Duration,
    /// What starts such a server again, for the shell: `systemctl restart mariadb`, `docker restart db`
    ///
    /// It is run when the server ended and is not back by itself after 3 s. Then the server is waited for (--wait-for-server), what
    /// ran last is tried again alone, and the hunt goes on. It may be the server itself or leave it in the background, and
    /// what it starts stays when the hunt ends. Its output is in restart.log in --out.
    #[arg(long, value_name = "CMD")]
    restart_cmd: Option<String>,
    /// How often --restart-cmd may be run in one hunt; then the hunt ends when the server stays away
    #[arg(long, value_name = "N", default_value_t = SERVER_STARTS_MAX, requires = "restart_cmd")]
    restarts_max: u32,
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
        Ok(0) => Err("1 is the least; with none nothing would be shown".to_owned()),
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
        println!("{}", serde_json::to_string(&CampaignJson::not_begun(&nothing, error))?);
    }
    result
}

fn hunt(args: HuntArgs) -> anyhow::Result<ExitCode> {
    let mut spec = match (&args.dbms, args.resume) {
        (None, true) => hunt::campaign::spec(&args.out)?,
        (named, _) => {
            CampaignSpec::new(named.as_deref().unwrap_or("sqlite"), args.seed.unwrap_or_else(clock::unix_nanos))
        }
    };
    let target: Target = spec.dbms.parse()?;
    if let (Some(_), false) = (&args.restart_cmd, target.is_shared()) {
        bail!("--restart-cmd is for a server that is named by its URL; Caqtus itself looks after {target}");
    }
    // Without its password.
    spec.dbms = target.to_string();
    spec.limits = CampaignLimits {
        cases_max: args.cases,
        time_max_ms: args.time.map(millis),
        bugs_max: args.max_bugs,
        findings_per_class_max: args.keep,
        hang_after_ms: millis(args.hang_after),
    };
    let interrupted = hunt::campaign::interrupted(&args.out);
    let runtime = super::runtime()?;
    let store = if args.store { Some(runtime.block_on(args.server.open(&args.common))?) } else { None };
    if !args.resume {
        spec.snippet_percent = args.snippets;
        spec.may_fail_percent = args.may_fail;
        spec.combinations = args.combinations;
        // A hunt that is to be repeated depends on nothing that others came to.
        spec.standing = args.seed.map(|_| BTreeMap::new());
        spec.choice = args.choice.choice();
        if let Some(store) = &store {
            spec.choice.source = runtime.block_on(campaign::released(store, target.dialect(), &args.out))?;
        }
        for stale in campaign::stale_proofs(&spec.choice)? {
            eprintln!("{}", printable(&stale.to_string()));
        }
    }
    let sources =
        KnownSources { files: args.known.clone(), without_shipped: args.no_known, baseline: args.baseline.clone() };
    let environment = HuntEnvironment {
        data_dir: args.common.data_dir(),
        out_dir: args.out.clone(),
        workers: args.workers.map_or_else(app::cores, usize::from),
        server_return_max: args.wait_for_server,
        restart: args.restart_cmd.map(|command| Restart { command, times_max: args.restarts_max }),
        known: campaign::known_bugs(target.dialect(), &sources, &args.out)?,
        watched: campaign::watched_bugs(target.dialect(), &sources, &args.out)?,
        against: args.against.as_deref().map(str::parse::<Target>).transpose()?.map(|target| target.to_string()),
    };
    let plan = HuntPlan { spec, environment, resume: args.resume };
    let mut display = Display(ProgressLine::new(args.quiet));
    if interrupted && !args.resume {
        display.note(
            "the last hunt in this directory was cut short; its findings are kept, and --resume goes on with it later",
        );
    }
    let demands = Demands { cases_min: args.min_cases, void_percent_max: args.max_void };
    let ended = runtime.block_on(async {
        let ended = campaign::run(plan, demands, store.as_ref(), &mut display, interrupts()).await;
        display.0.finish();
        if let Some(store) = store {
            store.close().await;
        }
        ended
    })?;
    let code = match ended.verdict() {
        CampaignVerdict::Clean => 0,
        CampaignVerdict::Bugs => FOUND,
        CampaignVerdict::Broken => COULD_NOT_RUN,
        CampaignVerdict::BugsThenBroken => FOUND_AND_BROKEN,
        CampaignVerdict::TooLittleTested => TOO_LITTLE,
    };
    // Before anything is printed: whoever reads that may stop reading.
    output::ends_with(code);
    let Ended { summary, bugs, too_little, error } = &ended;
    // Of a hunt that broke before it did anything, the error says it all.
    let says_something = error.is_none() || ended.found() || summary.stats.outcomes.cases() > 0;
    let text = if says_something { text(summary, bugs) } else { String::new() };
    if args.json {
        if !args.quiet {
            eprint!("{text}");
        }
        println!("{}", serde_json::to_string(&ended.json())?);
    } else {
        print!("{text}");
    }
    if let (TOO_LITTLE, Some(why)) = (code, too_little) {
        super::say(&anyhow!("nothing was found, which means little: {why}"));
    }
    if let Some(error) = error {
        super::say(error);
    }
    Ok(ExitCode::from(code))
}

/// Lines of a script that the summary shows.
const SCRIPT_LINES_MAX: usize = 40;

/// Messages of the engine shown for one reason.
const MESSAGES_SHOWN_MAX: usize = 3;

/// The summary for people.
fn text(summary: &Summary, found: &[Bug]) -> String {
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
        "{} cases, {statements} statements in {:.1} s ({:.1} CPU s{}): {:.0} cases per CPU second, {:.0} % inside the engine{}",
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
        match summary.stats.failures_share() * 100.0 {
            share if share >= 0.5 => format!(", {share:.0} % of the time on failures"),
            _ => String::new(),
        },
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
    for (oracle, OracleStats { cases, queries, refused, fail, loop_ns }) in oracles {
        let share = share(*loop_ns, summary.stats.loop_ns) * 100.0;
        let _ = writeln!(
            out,
            "{oracle}: {cases} cases, {share:.0} % of the time, {queries} queries compared, {refused} left out as refused, \
             {fail} failed"
        );
    }
    for (origin, OfOrigin { cases, findings, bugs }) in of_origins(summary, found) {
        let Cases { pass, void, fail } = cases;
        let what = if origin == GENERATOR { "no snippets".to_owned() } else { format!("snippets, {origin}") };
        let _ = writeln!(
            out,
            "{what}: {} cases, {:.1} % of them void, {findings} findings of {bugs} bugs",
            pass + void + fail,
            share(void, pass + void + fail) * 100.0
        );
    }
    if !messages.commonest(LEFT_OUT, 1).is_empty() {
        let _ = writeln!(out, "what the engine said to those it refused");
        said(&mut out, LEFT_OUT);
    }
    if *replaced > 0 {
        let _ = writeln!(out, "{replaced} databases replaced, because the engine refused them or most cases on them");
        said(&mut out, REPLACED);
    }
    if !messages.commonest(NOT_TRIED, 1).is_empty() {
        let _ = writeln!(out, "broke the engine before the hunt like others, and not tried again (--keep)");
        said(&mut out, NOT_TRIED);
    }
    if !messages.commonest(LIMITED, 1).is_empty() {
        let _ = writeln!(out, "reductions that reached a limit; their findings may be larger than they need be");
        said(&mut out, LIMITED);
    }
    if summary.server_starts > 0 {
        let _ = writeln!(out, "the server was started again {} times (--restart-cmd)", summary.server_starts);
    }
    gone(&mut out, summary);
    bugs(&mut out, summary, found);
    out
}

/// The known bugs that stopped happening, and what to do about them.
fn gone(out: &mut String, summary: &Summary) {
    let Summary { gone, not_looked_at, ready, .. } = summary;
    if !gone.is_empty() {
        let _ = writeln!(out, "\nknown bugs that do not show any more on {}:", ready.version);
    }
    for Gone { reason, list, evidence, last_seen } in gone {
        let _ = writeln!(out, "  {evidence}, last seen on {last_seen}: {reason}");
        let _ = match list {
            Some(list) => {
                writeln!(out, "      remove its entry from {}, so that it is news if it comes back", shell_word(list))
            }
            None => writeln!(
                out,
                "      it is on the shipped list, which counts up to that version only: nothing is to be done"
            ),
        };
    }
    if *not_looked_at > 0 {
        let _ = writeln!(
            out,
            "of {not_looked_at} known bugs that older versions have it is not known whether {} has them: there was no time, what \
             shows them does not run here, or the server is not ours to end; `caqtus bug replay` tells",
            ready.version
        );
    }
}

/// The bugs found, the smallest script, and what to do with it.
fn bugs(out: &mut String, summary: &Summary, found: &[Bug]) {
    let (known, news): (Vec<&Bug>, Vec<&Bug>) = found.iter().partition(|bug| bug.suppressed.is_some());
    let line = |out: &mut String, bug: &Bug| {
        let Bug { id, kind, cause, dir, findings, suppressed, .. } = bug;
        let _ = writeln!(out, "  {id}  {findings:>4}  {kind:<14}  {}  {cause}", dir.display());
        if let Some(reason) = suppressed {
            let _ = writeln!(out, "                  known: {reason}");
        }
    };
    if !known.is_empty() {
        let findings: usize = known.iter().map(|bug| bug.findings).sum();
        let _ = writeln!(out, "\n{findings} findings of {} bugs that are known:", known.len());
        known.iter().for_each(|bug| line(out, bug));
    }
    let Some(smallest) = news.iter().min_by_key(|bug| bug.size) else {
        let _ = match summary.stats.outcomes.fail {
            _ if !known.is_empty() => writeln!(out, "no bug that is not known"),
            0 => writeln!(out, "no findings"),
            failed => writeln!(out, "{failed} cases failed, and none of them could be written as a finding"),
        };
        return;
    };
    let findings: usize = news.iter().map(|bug| bug.findings).sum();
    let _ = writeln!(
        out,
        "\n{findings} findings of likely {} bugs, told apart by kind and by what they hang on:",
        news.len()
    );
    news.iter().for_each(|bug| line(out, bug));
    if let Ok(script) = std::fs::read_to_string(&smallest.script) {
        let _ = writeln!(out, "\nThe smallest script, {}:\n", smallest.script.display());
        for line in script.lines().take(SCRIPT_LINES_MAX) {
            let _ = writeln!(out, "    {line}");
        }
        if script.lines().count() > SCRIPT_LINES_MAX {
            out.push_str("    …\n");
        }
    }
    let place = shell_word(smallest.dir.parent().unwrap_or_else(|| Path::new(".")));
    let _ = writeln!(
        out,
        "\nNext:\n  caqtus bug show {id} --findings {place}                  the report\n  caqtus bug replay {id} --findings \
         {place} --dbms TARGET  whether another version shows it\n  caqtus bug bisect {id} --findings {place} --install     \
         the versions between which it came and went\n  caqtus bug ignore {id} --findings {place} --reason WHY  report it no \
         more",
        id = smallest.smallest
    );
}

struct Display(ProgressLine);

impl Progress for Display {
    fn ready(&mut self, ready: &Ready) {
        let Ready { version, classes, snippets, assumed, build_id: _, notes: _ } = ready;
        let assumed = if *assumed > 0 { format!(", {assumed} members without a proof") } else { String::new() };
        self.0.say(&format!("version {version}: {classes} classes{assumed}, {snippets} corpus snippets"));
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
        self.0.show(line, elapsed);
    }

    fn note(&mut self, message: &str) {
        self.0.say(message);
    }
}

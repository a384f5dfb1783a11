//! Every limit and default in one place.
//!
//! Each wait on an outside party has a named bound here; reaching it is a counted outcome.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use thiserror::Error;
use wildmatch::WildMatchPattern;

/// Cases on one database between two changes of its rows and indexes.
pub const CASES_PER_EPOCH: u32 = 32;

/// Cases of one block: one database with all its epochs. The unit of work handed to an executor.
pub const CASES_PER_BLOCK: u32 = 96;

/// Bounds for one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementLimits {
    /// Steps of the engine's virtual machine, where it has one.
    pub steps_max: u64,
    /// Milliseconds, where it has none.
    pub time_max_ms: u64,
    /// Rows of a result.
    pub rows_max: u64,
    /// Bytes of one value or statement, where the engine can bound them.
    pub bytes_max: u32,
}

/// Bounds inside the engine. A step is an instruction of its virtual machine.
pub const STATEMENT_LIMITS: StatementLimits =
    StatementLimits { steps_max: 2_000_000, time_max_ms: 2_000, rows_max: 100_000, bytes_max: 1_000_000 };

/// A statement that takes this long, despite the limits inside the engine, is a hang.
pub const HANG_MS: u64 = 10_000;

/// A replay starts an engine and runs many statements: it may take this many times as long.
pub const REPLAY_FACTOR: u32 = 3;

/// An executor that gives no sign of life for this time after its start is stopped.
pub const START_MS: u64 = 120_000;

/// Runs of a case that the reducer may make per finding.
pub const REDUCE_ATTEMPTS_MAX: usize = 1_200;

/// Processes that the reduction of a crash may start, and of a hang, each of which takes as long as a hang is waited for.
pub const REDUCE_CRASH_ATTEMPTS_MAX: usize = 800;
/// See [`REDUCE_CRASH_ATTEMPTS_MAX`].
pub const REDUCE_HANG_ATTEMPTS_MAX: usize = 4;

/// How long the reduction of what ends the engine may take.
pub const REDUCE_CRASH_MS: u64 = 30_000;

/// In how many of a hundred fillings a corpus snippet is taken, unless somebody says otherwise.
pub const SNIPPET_PERCENT: u32 = 35;

/// In how many of a hundred of these the snippet may be one that fails on some rows, unless somebody says otherwise.
pub const MAY_FAIL_PERCENT: u32 = 3;

/// Expressions and tables of the corpus that one campaign draws.
pub const EXPRESSIONS_MAX: usize = 1_000;
/// See [`EXPRESSIONS_MAX`].
pub const TABLES_MAX: usize = 150;

/// Combinations that a campaign makes of the expressions it drew, unless somebody says otherwise.
pub const COMBINATIONS: u32 = 240;
/// Rounds in which combinations are made; those of a round are parts of those of the next.
pub const COMBINATION_ROUNDS: u32 = 2;
/// Bytes of a combination.
pub const COMBINATION_LENGTH_MAX: usize = 240;

/// Failures of one class and kind, in a row without a new bug, after which one executor looks at ever fewer; all are counted.
pub const FINDINGS_PER_CLASS_MAX: usize = 2;

/// Findings of one bug that one executor keeps.
pub const FINDINGS_PER_BUG_MAX: usize = 3;

/// How long an executor that is not needed any more may take to close its engine.
pub const CLOSING_MS: u64 = 2_000;

/// How long one that is still making its engine ready may take beyond that: what it made on a server goes only then.
pub const MAKING_READY_MS: u64 = 10_000;

/// When the time of a hunt is up, executors end by themselves; one whose statement still runs after this is stopped.
pub const DEADLINE_GRACE_MS: u64 = 5_000;

/// The longest duration that an option takes: ten years.
pub const DURATION_MAX_S: u64 = 10 * 365 * 86_400;

/// Cases that must have passed or failed for a hunt without a finding to count as clean.
pub const TESTED_CASES_MIN: u64 = 1;

/// The share of void cases, in percent, above which a hunt without a finding does not count as clean.
pub const VOID_PERCENT_MAX: u8 = 50;

/// How long a server that is not ours and ended under a hunt may take to come back.
pub const SERVER_RETURN_MS: u64 = 60_000;

/// How long such a server may take to come back by itself before a command of the user's starts it.
pub const SERVER_GRACE_MS: u64 = 3_000;

/// How often a command of the user's starts it in one hunt, unless somebody says otherwise.
pub const SERVER_STARTS_MAX: u32 = 20;

/// How long an executor reduces a failure before another runs cases in its place.
pub const STAND_IN_AFTER_MS: u64 = 1_000;

/// How often the state of a campaign is written, for resumption.
pub const STATE_EVERY_MS: u64 = 1_000;

/// A prover process that needs longer for one pair is stopped. Long, so that the prover's own repeatable limits decide.
pub const PROVER_DEADLINE_MS: u64 = 20_000;

/// MiB of memory for one prover process.
pub const PROVER_MEMORY_MIB: u32 = 2048;

/// A target that needs longer to try a candidate has refused it.
pub const TRIAL_MS: u64 = 10_000;

/// Cases that a class must pass on each target before it is released.
pub const CROSS_CHECK_CASES: u64 = 2_000;

/// The longest that these may take on one target.
pub const CROSS_CHECK_MS: u64 = 60_000;

/// Cases that a class is run on, on each engine at hand that is no target, and the longest that they may take.
pub const CROSS_CHECK_OTHER_CASES: u64 = 500;
/// See [`CROSS_CHECK_OTHER_CASES`].
pub const CROSS_CHECK_OTHER_MS: u64 = 15_000;

/// Where classes and their proofs come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueSource {
    /// Class files to use in place of the shipped catalogue.
    pub catalogue: Vec<PathBuf>,
    /// Their recorded proofs.
    #[serde(default)]
    pub proofs: Option<PathBuf>,
    /// Snippets to use in place of the shipped ones: JSON lines with `sql`.
    #[serde(default)]
    pub snippets: Option<PathBuf>,
}

/// Which classes, and which of their members, are used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassChoice {
    /// Where they come from.
    #[serde(flatten)]
    pub source: CatalogueSource,
    /// Names of oracles; empty for all.
    #[serde(default)]
    pub oracles: Vec<String>,
    /// Class name patterns; empty for all.
    pub classes: Vec<String>,
    /// Whether members without a proof are used.
    #[serde(default)]
    pub assumed: bool,
}

impl ClassChoice {
    /// Whether an oracle is used; `of_catalogue` says that its classes are those of the catalogue. Whoever brings classes
    /// wants to see what they do, and by default nothing else.
    pub fn wants(&self, oracle: &str, of_catalogue: bool) -> bool {
        match self.oracles.as_slice() {
            [] => of_catalogue || self.source.catalogue.is_empty(),
            some => some.iter().any(|name| name == oracle),
        }
    }

    /// Whether members without a proof are used. Classes that came without any proofs could not be used otherwise.
    pub fn uses_assumed(&self) -> bool {
        self.assumed || !self.source.catalogue.is_empty() && self.source.proofs.is_none()
    }
}

/// A placeholder of a class whose fillings must have no subquery on a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsupportedSubquery {
    /// The engine's build.
    pub build_id: String,
    /// The class.
    pub class: String,
    /// The position of the placeholder.
    pub placeholder: usize,
    /// What the engine said.
    pub why: String,
}

/// How snippets are used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnippetChoice {
    /// In how many of a hundred fillings one is taken.
    pub percent: u32,
    /// In how many of a hundred of these it may be one that fails on some rows.
    pub may_fail_percent: u32,
    /// The seed by which some are drawn; all are used without it.
    pub seed: Option<u64>,
    /// Combinations that are made of those that are drawn.
    pub combinations: u32,
    /// For each build, in how many of a hundred campaigns those come in, by their keys, whose cases were void too often.
    pub standing: BTreeMap<String, BTreeMap<String, u8>>,
}

/// What a campaign runs. It makes the same cases on every machine that has the engine's version and the files that are named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignSpec {
    /// The target, as the user named it.
    pub dbms: String,
    /// The seed.
    pub seed: u64,
    /// What is tested.
    #[serde(flatten)]
    pub choice: ClassChoice,
    /// In how many of a hundred fillings a corpus snippet is taken.
    pub snippet_percent: u32,
    /// What was known when it began that the target's builds do not take; `None` for campaigns that must not depend on
    /// earlier ones, nor add to what is known.
    #[serde(default)]
    pub learned: Option<Vec<UnsupportedSubquery>>,
    /// What was known when it began of snippets whose cases are void too often on the target's builds, as
    /// [`SnippetChoice::standing`] has it.
    ///
    /// `None` until a campaign begins that goes by it; empty for one that must not.
    #[serde(default)]
    pub standing: Option<BTreeMap<String, BTreeMap<String, u8>>>,
    /// In how many of a hundred fillings with a snippet it may be one that fails on some rows.
    #[serde(default)]
    pub may_fail_percent: u32,
    /// Combinations that it makes of the expressions it draws.
    #[serde(default = "combinations")]
    pub combinations: u32,
    /// When it ends, and what of its findings is kept.
    #[serde(default)]
    pub limits: CampaignLimits,
}

/// For campaigns from before there was a choice.
fn combinations() -> u32 {
    COMBINATIONS
}

impl CampaignSpec {
    /// How its snippets are used.
    pub fn snippets(&self) -> SnippetChoice {
        SnippetChoice {
            percent: self.snippet_percent,
            may_fail_percent: self.may_fail_percent,
            seed: Some(self.seed),
            combinations: self.combinations,
            standing: self.standing.clone().unwrap_or_default(),
        }
    }

    /// Everything that ships, with the usual limits, independent of earlier campaigns.
    pub fn new(dbms: impl Into<String>, seed: u64) -> Self {
        Self {
            dbms: dbms.into(),
            seed,
            choice: ClassChoice::default(),
            snippet_percent: SNIPPET_PERCENT,
            learned: None,
            standing: None,
            may_fail_percent: MAY_FAIL_PERCENT,
            combinations: COMBINATIONS,
            limits: CampaignLimits::default(),
        }
    }
}

/// When a campaign ends, and what of its findings is kept. Nothing of it changes its cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CampaignLimits {
    /// Cases, over all hunts that go on with the campaign.
    pub cases_max: Option<u64>,
    /// Milliseconds of each hunt.
    pub time_max_ms: Option<u64>,
    /// Bugs that no list knows, of each hunt.
    pub bugs_max: Option<usize>,
    /// Failures of one class and kind, in a row without a new bug, after which an executor looks at ever fewer.
    pub findings_per_class_max: usize,
    /// Milliseconds after which a statement that still runs, despite the limits inside the engine, is a hang.
    pub hang_after_ms: u64,
}

impl Default for CampaignLimits {
    fn default() -> Self {
        Self {
            cases_max: None,
            time_max_ms: None,
            bugs_max: None,
            findings_per_class_max: FINDINGS_PER_CLASS_MAX,
            hang_after_ms: HANG_MS,
        }
    }
}

impl CampaignLimits {
    /// The longest that a hunt may take.
    pub fn time_max(&self) -> Option<Duration> {
        self.time_max_ms.map(Duration::from_millis)
    }

    /// After how long a statement is a hang.
    pub fn hang_after(&self) -> Duration {
        Duration::from_millis(self.hang_after_ms)
    }
}

/// A duration in milliseconds, as limits are written down.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The variable that holds a model's key, once it is known.
static KEY_VARIABLE: OnceLock<String> = OnceLock::new();

/// Notes the variable that holds a model's key.
pub fn note_key_variable(name: &str) {
    // The first one counts; there is one per program.
    let _ = KEY_VARIABLE.set(name.to_owned());
}

/// The variable that holds the password of the server under test.
pub const PASSWORD: &str = "CAQTUS_PASSWORD";

/// That password, if it was in a URL. It stays out of files, reports and command lines from there on.
static PASSWORD_GIVEN: OnceLock<String> = OnceLock::new();

/// Notes the password of the server under test.
pub fn note_password(password: &str) {
    // The first one counts; there is one server per program.
    let _ = PASSWORD_GIVEN.set(password.to_owned());
}

/// The password of the server under test.
pub fn password() -> Option<String> {
    PASSWORD_GIVEN.get().cloned().or_else(|| std::env::var(PASSWORD).ok()).filter(|password| !password.is_empty())
}

/// Keeps secrets of the environment from a process that has no use for them: engines run what a model wrote.
pub fn scrub_env(command: &mut Command) {
    for name in
        ["OPENAI_API_KEY", "DATABASE_URL", "PGPASSWORD"].into_iter().chain(KEY_VARIABLE.get().map(String::as_str))
    {
        command.env_remove(name);
    }
}

/// What `caqtus.toml` may say. Options of the command line go before it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FileConfig {
    /// The model that is asked.
    pub model: ModelSection,
    /// Prices in US dollars, by the model's name.
    pub prices: BTreeMap<String, PriceSection>,
    /// What a discovery may cost.
    pub budget: BudgetSection,
}

/// The section `[model]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSection {
    /// Its name.
    pub name: Option<String>,
    /// The endpoint, as in `https://api.openai.com/v1`.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// Its temperature.
    pub temperature: Option<f64>,
    /// Its reasoning effort.
    pub reasoning_effort: Option<String>,
}

/// A section `[prices."model"]`, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSection {
    /// For a million tokens of prompts.
    pub input_per_million: f64,
    /// For a million tokens of answers.
    pub output_per_million: f64,
}

/// The section `[budget]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetSection {
    /// US dollars.
    pub usd: Option<f64>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Calls.
    pub calls: Option<u64>,
}

/// Why `caqtus.toml` cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is not of the expected form.
    #[error("{path} is no configuration")]
    Form {
        /// The file.
        path: String,
        /// Where, and what is wrong.
        #[source]
        source: Box<toml::de::Error>,
    },
}

/// The configuration of a file; of `caqtus.toml` in the working directory, if it is there, when none is named.
pub fn file_config(path: Option<&Path>) -> Result<FileConfig, ConfigError> {
    let default = Path::new("caqtus.toml");
    let path = match path {
        Some(path) => path,
        None if default.exists() => default,
        None => return Ok(FileConfig::default()),
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: name.clone(), source })?;
    toml::from_str(&text).map_err(|source| ConfigError::Form { path: name, source: Box::new(source) })
}

/// The directory for installed engines and caches: `--data-dir`, `$CAQTUS_DATA`, or the user's data directory.
pub fn data_dir(given: Option<PathBuf>) -> PathBuf {
    let from_env = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    given
        .or_else(|| from_env("XDG_DATA_HOME").map(|d| d.join("caqtus")))
        .or_else(|| from_env("HOME").map(|d| d.join(".local/share/caqtus")))
        .unwrap_or_else(|| PathBuf::from(".caqtus"))
}

/// Whether a name matches a pattern in which `*` stands for any text.
pub fn matches_glob(pattern: &str, name: &str) -> bool {
    WildMatchPattern::<'*', '\0'>::new(pattern).matches(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, name, expected) in [
            ("tlp-*", "tlp-where", true),
            ("tlp-*", "norec-tlp-x", false),
            ("*join*", "left-join-on-false", true),
            ("exact", "exact", true),
            ("exact", "exactly", false),
            ("*", "", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
            ("a?", "ab", false),
            // Not in exponential time.
            (&"*a".repeat(30), &"a".repeat(60), true),
            (&format!("{}b", "*a".repeat(30)), &"a".repeat(60), false),
        ] {
            assert_eq!(matches_glob(pattern, name), expected, "{pattern} {name}");
        }
    }
}

//! Outcomes and counters.

use super::uses::Cases;
use crate::sql::error::in_general;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How a test case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every query ran and all results are equal.
    Pass,
    /// The case is void, and why.
    Skipped(String),
    /// The case is void for a reason somebody should look at.
    Warning(String),
    /// The engine gave a wrong answer or broke, confirmed.
    Fail(String),
    /// It did once more, and nobody learns anything from it: the bug is known, or has enough findings.
    Repeated(String),
}

impl Outcome {
    /// Whether the engine is wrong.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Fail(_) | Self::Repeated(_))
    }
}

/// Counts of outcomes, each with its reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Passed cases.
    pub pass: u64,
    /// Void cases.
    pub skipped: u64,
    /// Void cases that somebody should look at.
    pub warning: u64,
    /// Failed cases.
    pub fail: u64,
    /// How often each reason occurred, keyed by outcome and reason.
    pub reasons: BTreeMap<String, u64>,
}

impl Outcomes {
    /// Counts an outcome.
    pub fn count(&mut self, outcome: &Outcome) {
        let (counter, name, reason) = match outcome {
            Outcome::Pass => {
                self.pass += 1;
                return;
            }
            Outcome::Skipped(reason) => (&mut self.skipped, "skipped", reason),
            Outcome::Warning(reason) => (&mut self.warning, "warning", reason),
            Outcome::Fail(reason) | Outcome::Repeated(reason) => (&mut self.fail, "fail", reason),
        };
        *counter += 1;
        *self.reasons.entry(format!("{name}: {reason}")).or_default() += 1;
    }

    /// All cases.
    pub fn cases(&self) -> u64 {
        self.pass + self.skipped + self.warning + self.fail
    }
}

/// Messages counted for one reason; those of others are counted together.
const MESSAGES_MAX: usize = 100;

/// Characters of a message.
const MESSAGE_LENGTH_MAX: usize = 120;

/// What stands for the messages beyond the limit.
const OTHER_MESSAGES: &str = "other messages";

/// The reason under which messages to queries stand without which a case went on.
pub const LEFT_OUT: &str = "left out";

/// The reason under which stands what broke the engine before the hunt and, being like findings, was not run again.
pub const NOT_TRIED: &str = "not tried again";

/// The reason under which limits stand that were reached while findings were reduced.
pub const LIMITED: &str = "reductions cut short";

/// The reason under which messages stand for which a database was replaced.
pub const REPLACED: &str = "replaced";

/// What an engine said where it refused something, by the reason that the refusal counts under. Names and numbers are left
/// out of messages, so that the same one is counted as the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Messages(BTreeMap<String, BTreeMap<String, u64>>);

impl Messages {
    /// Counts a message.
    pub fn count(&mut self, reason: &str, message: &str) {
        let short: String = in_general(message).chars().take(MESSAGE_LENGTH_MAX).collect();
        self.add_one(reason, short, 1);
    }

    fn add_one(&mut self, reason: &str, message: String, count: u64) {
        let counts = self.0.entry(reason.to_owned()).or_default();
        let known = counts.len() < MESSAGES_MAX || counts.contains_key(&message);
        *counts.entry(if known { message } else { OTHER_MESSAGES.to_owned() }).or_default() += count;
    }

    /// Adds what another counted.
    fn add(&mut self, other: &Self) {
        for (reason, counts) in &other.0 {
            for (message, count) in counts {
                self.add_one(reason, message.clone(), *count);
            }
        }
    }

    /// The commonest messages under a reason, with how often each was said.
    pub fn commonest(&self, reason: &str, max: usize) -> Vec<(&str, u64)> {
        let counts = self.0.get(reason).into_iter().flatten();
        let mut all: Vec<(&str, u64)> = counts.map(|(message, count)| (message.as_str(), *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all.truncate(max);
        all
    }
}

/// What was done for one oracle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleStats {
    /// Cases whose database was made.
    pub cases: u64,
    /// Queries of theirs whose results were compared.
    pub queries: u64,
    /// Queries without which a case went on, because the engine refused them.
    #[serde(default)]
    pub refused: u64,
    /// Findings confirmed, written or not.
    pub fail: u64,
    /// Time of the loop, but for cases that failed, in nanoseconds.
    #[serde(default)]
    pub loop_ns: u64,
}

impl OracleStats {
    /// Adds what another did.
    pub fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.queries += other.queries;
        self.refused += other.refused;
        self.fail += other.fail;
        self.loop_ns += other.loop_ns;
    }
}

/// What an executor did, or several of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Outcomes of cases.
    pub outcomes: Outcomes,
    /// What the engine said to what it refused; keyed as the reasons of outcomes are.
    #[serde(default)]
    pub messages: Messages,
    /// Databases that were replaced, because the engine refused them or most cases on them.
    #[serde(default)]
    pub replaced: u64,
    /// Statements run, set-up included.
    pub statements: u64,
    /// Set-up statements that failed; they are left out of the database, and of reproductions.
    pub setup_errors: u64,
    /// Time inside the engine's own calls, in nanoseconds.
    pub engine_ns: u64,
    /// Time of the whole loop, in nanoseconds of the same clock.
    pub loop_ns: u64,
    /// Of that, time spent on cases that failed: repeated, reduced, looked into. Engine calls there count only here.
    #[serde(default)]
    pub failures_ns: u64,
    /// CPU time of the process, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of a server of our own, in nanoseconds; 0 where the engine is inside the process, or not ours.
    #[serde(default)]
    pub server_ns: u64,
    /// What each oracle did.
    #[serde(default)]
    pub oracles: BTreeMap<String, OracleStats>,
    /// What became of the cases that have snippets of each origin, and of those that have none ([`GENERATOR`]).
    #[serde(default)]
    pub origins: BTreeMap<String, Cases>,
    /// The sum of a hash of every case's statements, the same for the same cases in any order.
    pub digest: u64,
    /// The plans that were met.
    #[serde(default)]
    pub plans: Plans,
}

/// What stands for an origin where a case has no snippet.
pub const GENERATOR: &str = "generator";

/// Plans that are told apart in one campaign; beyond them, other ones are not counted.
pub const PLANS_MAX: usize = 50_000;

/// The plans by which an engine runs queries, of those cases whose plan was asked for. When hardly any is new, a campaign
/// does what it has done before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plans {
    /// How many queries an engine was asked for.
    pub read: u64,
    /// Hashes of those that differ.
    pub different: BTreeSet<u64>,
}

impl Plans {
    /// Counts a plan, by its hash.
    pub fn note(&mut self, plan: u64) {
        self.read += 1;
        self.add_one(plan);
    }

    fn add_one(&mut self, plan: u64) {
        if self.different.len() < PLANS_MAX {
            self.different.insert(plan);
        }
    }

    /// Adds what another met.
    fn add(&mut self, other: &Self) {
        self.read += other.read;
        other.different.iter().for_each(|plan| self.add_one(*plan));
    }
}

impl Stats {
    /// Adds what another did.
    pub fn add(&mut self, other: &Self) {
        let (a, b) = (&mut self.outcomes, &other.outcomes);
        a.pass += b.pass;
        a.skipped += b.skipped;
        a.warning += b.warning;
        a.fail += b.fail;
        for (reason, count) in &b.reasons {
            *a.reasons.entry(reason.clone()).or_default() += count;
        }
        self.messages.add(&other.messages);
        self.replaced += other.replaced;
        self.statements += other.statements;
        self.setup_errors += other.setup_errors;
        self.engine_ns += other.engine_ns;
        self.loop_ns += other.loop_ns;
        self.failures_ns += other.failures_ns;
        self.cpu_ns += other.cpu_ns;
        self.server_ns += other.server_ns;
        for (name, other) in &other.oracles {
            self.oracles.entry(name.clone()).or_default().add(other);
        }
        for (origin, cases) in &other.origins {
            self.note_origin(origin, *cases);
        }
        self.digest = self.digest.wrapping_add(other.digest);
        self.plans.add(&other.plans);
    }

    /// Counts a case for the origin of what it is made of.
    pub fn note_origin(&mut self, origin: &str, cases: Cases) {
        match self.origins.get_mut(origin) {
            Some(known) => known.add(cases),
            None => _ = self.origins.insert(origin.to_owned(), cases),
        }
    }

    /// The share of the loop's time spent inside the engine, from 0 to 1, but for cases that failed.
    pub fn engine_share(&self) -> f64 {
        share(self.engine_ns, self.loop_ns.saturating_sub(self.failures_ns))
    }

    /// The share of the loop's time spent on cases that failed, from 0 to 1.
    pub fn failures_share(&self) -> f64 {
        share(self.failures_ns, self.loop_ns)
    }

    /// Cases per second of CPU time, a server's included.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn cases_per_cpu_second(&self) -> f64 {
        let all = self.cpu_ns + self.server_ns;
        if all == 0 { 0.0 } else { self.outcomes.cases() as f64 * 1e9 / all as f64 }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
/// A part of a whole, from 0 to 1; of nothing, 0.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_on_failures_is_not_of_the_loop_that_the_engine_has_a_share_of() {
        let mut stats = Stats { engine_ns: 30, loop_ns: 100, failures_ns: 40, ..Stats::default() };
        stats.add(&stats.clone());
        let is = |share: f64, expect: f64| (share - expect).abs() < 1e-9;
        assert!(is(stats.engine_share(), 0.5) && is(stats.failures_share(), 0.4), "{stats:?}");
        assert!(Stats::default().engine_share().abs() < f64::EPSILON);
    }

    #[test]
    fn a_plan_is_new_once_up_to_a_limit() {
        let mut all = Plans::default();
        for plans in [[1, 2, 1], [2, 3, 3]] {
            let mut of_one = Plans::default();
            plans.into_iter().for_each(|plan| of_one.note(plan));
            all.add(&of_one);
        }
        assert_eq!((all.read, all.different.len()), (6, 3));
        (0..PLANS_MAX as u64 + 9).for_each(|plan| all.note(plan));
        assert_eq!((all.read, all.different.len()), (PLANS_MAX as u64 + 15, PLANS_MAX));
    }

    #[test]
    fn messages_are_counted_as_the_same_but_for_names_up_to_a_limit() {
        let mut messages = Messages::default();
        for table in ["\"a\"", "\"b\"", "'c1'"] {
            messages.count("refused", &format!("there is no table {table}\nat character 7"));
        }
        messages.count("refused", "no");
        assert_eq!(messages.commonest("refused", 1), [("there is no table at character", 3)]);
        let mut more = Messages::default();
        for at in 0..3 * MESSAGES_MAX {
            more.count("refused", &"x".repeat(at + 1));
        }
        messages.add(&more);
        let all = messages.commonest("refused", usize::MAX);
        assert_eq!(all.iter().map(|(_, count)| count).sum::<u64>(), 4 + 3 * MESSAGES_MAX as u64);
        assert!(all.len() <= MESSAGES_MAX + 1 && all[0].0 == OTHER_MESSAGES, "{all:?}");
    }
}

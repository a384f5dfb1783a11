//! What a bench found, in numbers.

use std::collections::BTreeMap;

use prover::wire::{Answer, Outcome};
use serde::{Deserialize, Serialize};

use super::rows::Tag;
use crate::display::Tally;
use crate::pairs::Expected;

/// A pair, decided.
pub(super) struct Done {
    pub(super) tag: Tag,
    pub(super) answer: Answer,
}

/// How much of a suite must be decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Floor {
    /// Pairs that are `eq`.
    #[serde(default)]
    proven: usize,
    /// Pairs that are `neq`.
    #[serde(default)]
    refuted: usize,
}

/// Everything there is to say.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Not every pair was decided.
    pub(super) stopped: bool,
    /// Verdicts that contradict what is known: nothing matters more.
    pub(super) wrong: Vec<Row>,
    /// Pairs proven or refuted on which engines disagree, and proofs that a database contradicted: to be looked at.
    pub(super) suspicious: Vec<Row>,
    /// What is below the floor, in words.
    pub(super) below_floor: Vec<String>,
    /// In order of name; with more than one, all of them together come last.
    pub(super) suites: Vec<Suite>,
}

/// A pair that is mentioned.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    pub(super) suite: String,
    pub(super) id: String,
    pub(super) expected: Expected,
    pub(super) verdict: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// The numbers of a suite.
#[derive(Debug, Serialize)]
pub(super) struct Suite {
    #[serde(rename = "suite")]
    pub(super) name: String,
    pub(super) pairs: usize,
    pub(super) labels: Vec<Label>,
    pub(super) ms_median: f64,
    pub(super) ms_p95: f64,
    pub(super) features: Vec<Feature>,
    pub(super) reasons: Vec<Reason>,
}

/// The verdicts on the pairs with one label.
#[derive(Debug, Serialize)]
pub(super) struct Label {
    pub(super) expected: Expected,
    #[serde(flatten)]
    pub(super) tally: Tally,
}

/// How many of the `eq` pairs that use something are proven.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Feature {
    #[serde(rename = "feature")]
    pub(super) name: &'static str,
    pub(super) eq: usize,
    pub(super) proven: usize,
}

/// Why pairs are unknown.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Reason {
    #[serde(rename = "reason")]
    pub(super) text: String,
    pub(super) count: usize,
    pub(super) examples: Vec<String>,
}

/// Ids given for a reason.
const EXAMPLES_MAX: usize = 5;

/// The name of all suites together.
pub(super) const ALL: &str = "all suites";

impl Report {
    /// Counts.
    pub(super) fn new(done: &[Done], floor: &BTreeMap<String, Floor>, stopped: bool) -> Self {
        let mut by_suite: BTreeMap<&str, Vec<&Done>> = BTreeMap::new();
        done.iter().for_each(|d| by_suite.entry(&d.tag.suite).or_default().push(d));
        let mut suites: Vec<Suite> = by_suite.iter().map(|(name, done)| Suite::new(name, done)).collect();
        let below_floor = floor.iter().flat_map(|(name, floor)| below(name, *floor, &suites)).collect();
        if suites.len() > 1 {
            suites.push(Suite::new(ALL, &done.iter().collect::<Vec<_>>()));
        }
        let rows = |which: fn(&Done) -> bool| done.iter().filter(|d| which(d)).map(Row::new).collect();
        Self { stopped, wrong: rows(is_wrong), suspicious: rows(is_suspicious), below_floor, suites }
    }

    /// Whether the prover may stay as it is.
    pub(super) fn is_good(&self) -> bool {
        self.wrong.is_empty() && self.below_floor.is_empty()
    }
}

fn is_wrong(done: &Done) -> bool {
    done.tag.expected.contradicts(done.answer.verdict)
}

fn is_suspicious(done: &Done) -> bool {
    let disputed = done.tag.disputed && done.answer.verdict != Outcome::Unknown;
    disputed || done.answer.reason.as_ref().is_some_and(|reason| reason.contains("PROVER BUG"))
}

fn below(name: &str, floor: Floor, suites: &[Suite]) -> Vec<String> {
    let suite = suites.iter().find(|suite| suite.name == name);
    let tally = |expected| suite.and_then(|s| s.labels.iter().find(|l| l.expected == expected)).map(|l| l.tally);
    let proven = tally(Expected::Eq).unwrap_or_default().proven;
    let refuted = tally(Expected::Neq).unwrap_or_default().refuted;
    [("proven", proven, floor.proven), ("refuted", refuted, floor.refuted)]
        .into_iter()
        .filter(|(_, have, least)| have < least)
        .map(|(what, have, least)| format!("{name}: {have} {what}, at least {least} expected"))
        .collect()
}

impl Row {
    fn new(done: &Done) -> Self {
        Self {
            suite: done.tag.suite.clone(),
            id: done.answer.id.clone(),
            expected: done.tag.expected,
            verdict: done.answer.verdict,
            reason: done.answer.reason.clone(),
        }
    }
}

impl Suite {
    fn new(name: &str, done: &[&Done]) -> Self {
        let mut labels: BTreeMap<Expected, Tally> = BTreeMap::new();
        let mut features: BTreeMap<&'static str, Tally> = BTreeMap::new();
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Done { tag, answer } in done {
            labels.entry(tag.expected).or_default().add(answer.verdict);
            if tag.expected == Expected::Eq {
                tag.features.iter().for_each(|f| features.entry(f).or_default().add(answer.verdict));
            }
            if let Some(reason) = &answer.reason {
                reasons.entry(reason).or_default().push(&answer.id);
            }
        }
        let mut features: Vec<Feature> = features
            .into_iter()
            .map(|(name, tally)| Feature { name, eq: tally.total(), proven: tally.proven })
            .collect();
        features.sort_by_key(|f| std::cmp::Reverse(f.eq));
        let mut reasons: Vec<Reason> = reasons
            .into_iter()
            .map(|(text, ids)| Reason {
                text: text.to_owned(),
                count: ids.len(),
                examples: ids.into_iter().take(EXAMPLES_MAX).map(str::to_owned).collect(),
            })
            .collect();
        reasons.sort_by_key(|r| std::cmp::Reverse(r.count));
        let mut ms: Vec<f64> = done.iter().map(|d| d.answer.ms).collect();
        ms.sort_by(f64::total_cmp);
        Self {
            name: name.to_owned(),
            pairs: done.len(),
            labels: labels.into_iter().map(|(expected, tally)| Label { expected, tally }).collect(),
            ms_median: percentile(&ms, 50),
            ms_p95: percentile(&ms, 95),
            features,
            reasons,
        }
    }
}

/// The smallest of the sorted numbers that at least so many percent of them do not exceed.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A pair of a suite `s`.
    pub(in super::super) fn done(id: &str, expected: Expected, verdict: Outcome) -> Done {
        let tag = Tag { suite: "s".to_owned(), expected, disputed: false, features: vec!["CASE"] };
        let mut answer = Answer::unknown(id, "no proof found: x");
        answer.ms = 2.0;
        answer.verdict = verdict;
        if verdict != Outcome::Unknown {
            answer.reason = None;
        }
        Done { tag, answer }
    }

    #[test]
    fn wrong_is_what_contradicts_its_label() {
        let mut all = Vec::new();
        for expected in [Expected::Eq, Expected::Neq, Expected::Unknown] {
            for verdict in [Outcome::Proven, Outcome::Refuted, Outcome::Unknown] {
                all.push(done(&format!("{expected} {verdict}"), expected, verdict));
            }
        }
        let report = Report::new(&all, &BTreeMap::new(), false);
        let ids: Vec<_> = report.wrong.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["eq refuted", "neq proven"]);
        assert!(!report.is_good());
        assert!(report.suspicious.is_empty());
    }

    #[test]
    fn a_decided_dispute_and_a_contradicted_proof_are_suspicious() {
        let mut disputed = done("disputed", Expected::Unknown, Outcome::Proven);
        disputed.tag.disputed = true;
        let mut conflict = done("conflict", Expected::Eq, Outcome::Unknown);
        conflict.answer.reason = Some(prover::Reason::Conflict("x".to_owned()).to_string());
        let report = Report::new(&[disputed, conflict], &BTreeMap::new(), false);
        assert_eq!(report.suspicious.len(), 2);
        assert!(report.is_good());
    }

    #[test]
    fn a_suite_is_counted() {
        let mut all: Vec<Done> = (0..7).map(|n| done(&n.to_string(), Expected::Eq, Outcome::Unknown)).collect();
        all.push(done("p", Expected::Eq, Outcome::Proven));
        all.push(done("r", Expected::Neq, Outcome::Refuted));
        all[8].answer.ms = 90.0;
        let report = Report::new(&all, &BTreeMap::new(), false);
        let [suite] = report.suites.as_slice() else { panic!("one suite") };
        assert_eq!(suite.labels[0].tally, Tally { proven: 1, refuted: 0, unknown: 7 });
        assert_eq!(suite.labels[1].tally, Tally { proven: 0, refuted: 1, unknown: 0 });
        assert_eq!(suite.features, [Feature { name: "CASE", eq: 8, proven: 1 }]);
        assert_eq!((suite.reasons[0].count, suite.reasons[0].examples.len()), (7, EXAMPLES_MAX));
        assert_eq!((suite.ms_median, suite.ms_p95), (2.0, 90.0));
    }

    #[test]
    fn less_than_the_floor_is_a_failure() {
        let all = [done("p", Expected::Eq, Outcome::Proven), done("r", Expected::Neq, Outcome::Refuted)];
        let check = |floor: &str| {
            let floor = serde_json::from_str(floor).expect("a floor");
            Report::new(&all, &floor, false).below_floor
        };
        assert!(check(r#"{"s":{"proven":1,"refuted":1}}"#).is_empty());
        assert_eq!(check(r#"{"s":{"proven":2}}"#), ["s: 1 proven, at least 2 expected"]);
        assert_eq!(check(r#"{"s":{"refuted":5},"gone":{"proven":1}}"#).len(), 2);
    }
}

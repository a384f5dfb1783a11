//! The bookkeeping of Algorithm 1 (Argus paper, section 5): which candidates are equal, which failed, and when to stop.

use crate::sql::print::parse_query;
use crate::store::{CandidateRow, CandidateVerdict};
use std::collections::BTreeSet;

/// Failures in a row after which a seed is given up, at first; it grows by one with each success.
pub const STOP_THRESHOLD: u32 = 3;

/// The search for equivalents of one seed.
#[derive(Debug, Clone)]
pub struct Search {
    stop_threshold: u32,
    fail_count: u32,
    count: u32,
    max_depth: u32,
    /// Proven equivalent and accepted by the target.
    pub equal: Vec<CandidateRow>,
    /// The others, in order; a text that was proposed twice is there once.
    pub fail: Vec<CandidateRow>,
    seen: BTreeSet<String>,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Too many failures in a row.
    Failures,
    /// As many candidates as a seed may have.
    Depth,
}

impl Ended {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failures => "stop threshold reached",
            Self::Depth => "maximum depth reached",
        }
    }
}

impl Search {
    /// The search for equivalents of a query, with at most `max_depth` candidates.
    pub fn new(seed: &str, max_depth: u32) -> Self {
        Self {
            stop_threshold: STOP_THRESHOLD,
            fail_count: 0,
            count: 0,
            max_depth,
            equal: Vec::new(),
            fail: Vec::new(),
            seen: BTreeSet::from([canonical(seed)]),
        }
    }

    /// The search among candidates that are all at hand: it ends when all are judged.
    pub fn unbounded(seed: &str) -> Self {
        Self { stop_threshold: u32::MAX, ..Self::new(seed, u32::MAX) }
    }

    /// Whether a text was proposed before, up to white space and case of keywords. It is noted as proposed.
    pub fn is_new(&mut self, sql: &str) -> bool {
        self.seen.insert(canonical(sql))
    }

    /// The texts that were proposed, in their canonical form.
    pub fn seen(&self) -> &BTreeSet<String> {
        &self.seen
    }

    /// Counts a candidate that was judged.
    pub fn note(&mut self, candidate: CandidateRow) {
        self.seen.insert(canonical(&candidate.sql));
        self.count += 1;
        if candidate.is_equal() {
            self.fail_count = 0;
            self.stop_threshold = self.stop_threshold.saturating_add(1);
            self.equal.push(candidate);
        } else {
            self.fail_count += 1;
            if candidate.verdict != CandidateVerdict::Duplicate {
                self.fail.push(candidate);
            }
        }
    }

    /// Counts an asking that gave no candidate.
    pub fn note_nothing(&mut self) {
        self.count += 1;
        self.fail_count += 1;
    }

    /// How many more candidates it may have.
    pub fn left(&self) -> usize {
        self.max_depth.saturating_sub(self.count) as usize
    }

    /// Whether it is over.
    pub fn ended(&self) -> Option<Ended> {
        if self.fail_count >= self.stop_threshold {
            Some(Ended::Failures)
        } else if self.count >= self.max_depth {
            Some(Ended::Depth)
        } else {
            None
        }
    }
}

/// A text in the form in which two texts of one tree are the same; as it is if it does not parse.
pub fn canonical(sql: &str) -> String {
    match parse_query(sql) {
        Ok(query) => query.to_string(),
        Err(_) => sql.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanTree;
    use std::collections::BTreeMap;

    fn candidate(number: u32, verdict: CandidateVerdict) -> CandidateRow {
        CandidateRow {
            sql: format!("SELECT {number}"),
            rules: Vec::new(),
            verdict,
            reason: None,
            witness: None,
            assumptions: BTreeSet::new(),
            prover: String::new(),
            certificate: None,
            unbound: None,
            refused: BTreeMap::new(),
            plan: Some(PlanTree { label: "QUERY".into(), children: Vec::new() }),
        }
    }

    #[test]
    fn three_failures_in_a_row_end_it_and_each_success_allows_one_more() {
        use CandidateVerdict::{Proven, Refuted, Unknown};
        let mut search = Search::new("SELECT 0", 100);
        for (number, verdict) in (1..).zip([Refuted, Unknown, Proven, Refuted, Refuted, Refuted]) {
            assert_eq!(search.ended(), None, "before {number}");
            search.note(candidate(number, verdict));
        }
        assert_eq!(search.ended(), None, "the threshold is four after a success");
        search.note_nothing();
        assert_eq!(search.ended(), Some(Ended::Failures));
        assert_eq!((search.equal.len(), search.fail.len()), (1, 5));
    }

    #[test]
    fn depth_bounds_the_successes() {
        let mut search = Search::new("SELECT 0", 2);
        search.note(candidate(1, CandidateVerdict::Proven));
        assert_eq!(search.ended(), None);
        search.note(candidate(2, CandidateVerdict::Proven));
        assert_eq!(search.ended(), Some(Ended::Depth));
    }

    #[test]
    fn candidates_at_hand_are_all_judged() {
        let mut search = Search::unbounded("SELECT 0");
        for number in 1..50 {
            search.note(candidate(number, CandidateVerdict::Refuted));
        }
        search.note(candidate(50, CandidateVerdict::Proven));
        assert_eq!((search.ended(), search.equal.len()), (None, 1));
    }

    #[test]
    fn what_the_target_refuses_is_a_failure() {
        let mut search = Search::new("SELECT 0", 9);
        search.note(CandidateRow { plan: None, ..candidate(1, CandidateVerdict::Proven) });
        search.note(CandidateRow { unbound: Some("a window".into()), ..candidate(2, CandidateVerdict::Proven) });
        assert_eq!((search.equal.len(), search.fail.len()), (0, 2));
    }

    #[test]
    fn a_text_counts_once() {
        let mut search = Search::new("SELECT 0", 9);
        assert!(!search.is_new("select  0"));
        assert!(search.is_new("SELECT 1"));
        assert!(!search.is_new("SELECT\n1"));
        assert!(search.is_new("no SQL at  all"));
        assert!(!search.is_new("no SQL  at all"));
    }
}

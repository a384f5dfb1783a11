//! What is proven about the members of a class: recorded verdicts on pairs, and the members that they connect.
//!
//! A verdict is about texts, so each record carries a hash of them; one whose class was edited since counts for nothing.
//! Proofs are edges between members, and what is proven equivalent is a connected component.

use super::class::OracleClass;
use crate::digest::Digest;
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use thiserror::Error;

/// What the prover said about a pair.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// The members are equivalent, under the record's assumptions.
    Proven,
    /// They are not.
    Refuted,
    /// Neither was shown.
    Unknown,
}

/// A line of a proofs file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The pair, as in `class/1~2`.
    pub id: String,
    /// Of the texts that the verdict is about.
    pub hash: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What a proof takes for granted about the engine.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub assumptions: BTreeSet<Assumption>,
    /// Why the pair is unknown, or after which rows it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The prover's version.
    pub prover: String,
}

/// Two members of a class, by position from 0; the first is the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair(pub usize, pub usize);

impl Pair {
    /// The name of the pair in a class. Members count from 1 there, as in everything that people read.
    pub fn id(self, class: &str) -> String {
        format!("{class}/{}~{}", self.0 + 1, self.1 + 1)
    }

    /// The class and the pair of a name.
    pub fn parse(id: &str) -> Option<(&str, Self)> {
        let (class, members) = id.rsplit_once('/')?;
        let (a, b) = members.split_once('~')?;
        let position = |n: &str| n.parse::<usize>().ok()?.checked_sub(1);
        let (a, b) = (position(a)?, position(b)?);
        (a < b).then_some((class, Self(a, b)))
    }
}

/// What is put to the prover: a line of its file of pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question<'a> {
    /// The pair.
    pub id: String,
    /// The class's DDL.
    pub schema: &'a str,
    /// The placeholders with their constraints.
    pub placeholders: &'a BTreeMap<String, String>,
    /// The first member.
    pub q1: &'a str,
    /// The second.
    pub q2: &'a str,
}

impl Question<'_> {
    /// Of every text but the name.
    pub fn hash(&self) -> String {
        let names = self.placeholders.iter().flat_map(|(name, constraint)| [name.as_str(), constraint.as_str()]);
        Digest::of(names.chain([self.schema, self.q1, self.q2])).hex(32)
    }
}

/// A record that is about the present text of two members: only [`attach`] makes one, which compares their hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pair: Pair,
    record: Record,
}

impl Edge {
    /// The members.
    pub fn pair(&self) -> Pair {
        self.pair
    }

    /// What was recorded.
    pub fn record(&self) -> &Record {
        &self.record
    }

    fn touches(&self, member: usize) -> bool {
        self.pair.0 == member || self.pair.1 == member
    }
}

/// A member that is proven equivalent to the other proven members. It is made here only, from edges, so whatever counts
/// as proven rests on verdicts about the member's present text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    member: usize,
    to: Option<usize>,
    assumptions: BTreeSet<Assumption>,
}

impl Proven {
    fn new(member: usize, edge: Option<&Edge>) -> Self {
        Self {
            member,
            to: edge.map(|e| if e.pair.0 == member { e.pair.1 } else { e.pair.0 }),
            assumptions: edge.map(|e| e.record.assumptions.clone()).unwrap_or_default(),
        }
    }

    /// The member.
    pub fn member(&self) -> usize {
        self.member
    }

    /// The member that its proof connects it to; `None` for the one where the others' proofs end.
    pub fn to(&self) -> Option<usize> {
        self.to
    }

    /// What that proof takes for granted.
    pub fn assumptions(&self) -> &BTreeSet<Assumption> {
        &self.assumptions
    }
}

/// What is known about a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Proven equivalent to the other proven members.
    Proven(Proven),
    /// A database shows that it returns other rows than another member.
    Refuted {
        /// The other member.
        by: usize,
        /// After which rows they differ.
        reason: String,
    },
    /// Its author says that it is equivalent.
    Assumed {
        /// Why there is no proof.
        reason: String,
    },
}

/// A record that counts for nothing, because it is not about the present text of two members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The pair.
    pub id: String,
    /// Why, and what that costs.
    pub why: String,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the recorded proof {} counts for nothing: {}", self.id, self.why)
    }
}

/// The members of a class that are used on a target. Only [`OracleClass::select`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    proven: Vec<Proven>,
    /// The members.
    pub members: Vec<usize>,
    /// Those of them that are not proven equivalent to the rest.
    pub assumed: Vec<usize>,
    /// The others, each with the reason.
    pub off: Vec<(usize, String)>,
}

impl Selection {
    /// Those of the members that are proven equivalent.
    pub fn proven(&self) -> &[Proven] {
        &self.proven
    }
}

impl OracleClass {
    /// A pair as the prover is asked about it; `None` if there are no such members.
    pub fn question(&self, pair: Pair) -> Option<Question<'_>> {
        let member = |at: usize| self.members.get(at).map(|m| m.sql.as_str());
        Some(Question {
            id: pair.id(&self.name),
            schema: &self.ddl,
            placeholders: &self.constraints,
            q1: member(pair.0)?,
            q2: member(pair.1)?,
        })
    }

    /// Every pair of members.
    pub fn pairs(&self) -> Vec<Pair> {
        (1..self.members.len()).flat_map(|b| (0..b).map(move |a| Pair(a, b))).collect()
    }

    /// Where each member is found when the edges that `counts` accepts are followed from the first: the member before it
    /// and the edge; grouped by component.
    fn components(&self, counts: impl Fn(&Edge) -> bool) -> Vec<Vec<(usize, Option<&Edge>)>> {
        let edges: Vec<&Edge> =
            self.edges.iter().filter(|e| e.record.verdict == Verdict::Proven && counts(e)).collect();
        let mut seen = vec![false; self.members.len()];
        let mut components = Vec::new();
        for start in 0..self.members.len() {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let mut component = vec![(start, None)];
            let mut queue = VecDeque::from([start]);
            while let Some(at) = queue.pop_front() {
                for edge in &edges {
                    let next = match edge.pair {
                        Pair(a, b) if a == at => b,
                        Pair(a, b) if b == at => a,
                        Pair(..) => continue,
                    };
                    if !std::mem::replace(&mut seen[next], true) {
                        component.push((next, Some(*edge)));
                        queue.push_back(next);
                    }
                }
            }
            components.push(component);
        }
        components
    }

    /// The members of the largest component, the first of several; none if nothing is connected.
    fn proven(&self, counts: impl Fn(&Edge) -> bool) -> Vec<Proven> {
        let mut largest = Vec::new();
        for component in self.components(counts) {
            if component.len() > largest.len().max(1) {
                largest = component;
            }
        }
        largest.into_iter().map(|(at, edge)| Proven::new(at, edge)).collect()
    }

    /// What is known about each member, whatever the target.
    pub fn statuses(&self) -> Vec<Status> {
        let mut statuses: Vec<Status> = (0..self.members.len()).map(|at| self.unproven(at)).collect();
        for proven in self.proven(|_| true) {
            let at = proven.member;
            statuses[at] = Status::Proven(proven);
        }
        statuses
    }

    /// How many members are proven.
    pub fn proven_count(&self) -> usize {
        self.proven(|_| true).len()
    }

    /// What is known about a member without a proof. If all that is known of two is that they differ, it is known of both.
    fn unproven(&self, at: usize) -> Status {
        let refuted = self.edges.iter().find(|e| e.touches(at) && e.record.verdict == Verdict::Refuted);
        match refuted {
            Some(Edge { pair: Pair(a, b), record }) => Status::Refuted {
                by: if *a == at { *b } else { *a },
                reason: record.reason.clone().unwrap_or_else(|| "they differ".to_owned()),
            },
            None => Status::Assumed { reason: self.reason(at) },
        }
    }

    /// Why a member is not proven: what was recorded first about it.
    fn reason(&self, at: usize) -> String {
        let mut about = self.edges.iter().filter(|e| e.touches(at));
        match about.find_map(|e| e.record.reason.clone()) {
            Some(reason) => reason,
            None if self.edges.iter().any(|e| e.touches(at)) => "not connected with the proven members".to_owned(),
            None => "no proof is recorded for its present text".to_owned(),
        }
    }

    /// Pairs that were not tried yet and would connect what proofs, counting only those that take no more for granted
    /// than `guarantees`, leave apart.
    pub fn apart(&self, guarantees: &BTreeSet<Assumption>) -> Vec<Pair> {
        let mut component = vec![0; self.members.len()];
        for (number, members) in self.components(|e| e.record.assumptions.is_subset(guarantees)).iter().enumerate() {
            members.iter().for_each(|(at, _)| component[*at] = number);
        }
        let tried = |pair: &Pair| self.edges.iter().any(|e| e.pair == *pair);
        self.pairs().into_iter().filter(|p| component[p.0] != component[p.1] && !tried(p)).collect()
    }

    /// The members to use on a target with these guarantees: those that proofs connect there and, if `assumed`, those
    /// about which nothing is known.
    pub fn select(&self, guarantees: &BTreeSet<Assumption>, dialect: &str, assumed: bool) -> Selection {
        let holds = |e: &Edge| e.record.assumptions.is_subset(guarantees);
        let anywhere: BTreeSet<usize> = self.proven(|_| true).iter().map(Proven::member).collect();
        let mut selection =
            Selection { proven: self.proven(holds), members: Vec::new(), assumed: Vec::new(), off: Vec::new() };
        for at in 0..self.members.len() {
            if selection.proven.iter().any(|proven| proven.member == at) {
                selection.members.push(at);
            } else if anywhere.contains(&at) {
                let missing =
                    self.missing(at, guarantees).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                selection.off.push((at, format!("its proof assumes {missing}, which {dialect} does not guarantee")));
            } else if let Status::Refuted { by, reason } = self.unproven(at) {
                selection.off.push((at, format!("refuted by member {}: {reason}", by + 1)));
            } else if assumed {
                selection.members.push(at);
                selection.assumed.push(at);
            } else {
                selection.off.push((at, format!("assumed, not proven: {}", self.reason(at))));
            }
        }
        selection
    }

    /// What the proofs of a member assume and a target does not guarantee; of its class, if the lack is elsewhere.
    fn missing(&self, at: usize, guarantees: &BTreeSet<Assumption>) -> BTreeSet<Assumption> {
        let lacking = |own: bool| -> BTreeSet<Assumption> {
            let edges = self.edges.iter().filter(|e| !own || e.touches(at));
            edges.flat_map(|e| e.record.assumptions.difference(guarantees)).copied().collect()
        };
        let own = lacking(true);
        if own.is_empty() { lacking(false) } else { own }
    }
}

/// Why recorded proofs cannot be used.
#[derive(Debug, Error)]
#[error("line {line} is no record of a proof")]
pub struct RecordError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    #[source]
    pub source: serde_json::Error,
}

/// Reads a proofs file.
pub fn parse_records(text: &str) -> Result<Vec<Record>, RecordError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| serde_json::from_str(line).map_err(|source| RecordError { line: at + 1, source })).collect()
}

/// Gives each class the records about its present members. The others are returned.
pub fn attach(classes: &mut [OracleClass], records: Vec<Record>) -> Vec<Stale> {
    let by_name: BTreeMap<String, usize> = classes.iter().enumerate().map(|(at, c)| (c.name.clone(), at)).collect();
    let mut stale = Vec::new();
    for record in records {
        let place = Pair::parse(&record.id).and_then(|(class, pair)| Some((*by_name.get(class)?, pair)));
        match place {
            Some((at, pair)) if classes[at].question(pair).is_some_and(|q| q.hash() == record.hash) => {
                classes[at].edges.push(Edge { pair, record });
            }
            place => stale.push((record.id, place)),
        }
    }
    for class in classes.iter_mut() {
        class.edges.sort_by_key(|e| e.pair);
    }
    let why = |place: Option<(usize, Pair)>| match place {
        Some((at, pair)) => classes[at].why_stale(pair),
        None => "there is no such class".to_owned(),
    };
    stale.into_iter().map(|(id, place)| Stale { why: why(place), id }).collect()
}

impl OracleClass {
    /// Why a record of a pair does not fit the class any more, as far as the others tell, and what is lost by it.
    fn why_stale(&self, pair: Pair) -> String {
        let count = self.members.len();
        if pair.1 >= count {
            return format!("the class has {count} members");
        }
        let known = |at: usize| self.edges.iter().any(|e| e.touches(at));
        // A record that fits shows that neither the schema nor what it is about was edited.
        let edited = match (known(pair.0), known(pair.1)) {
            (true, true) => format!("member {} or member {} was edited", pair.0 + 1, pair.1 + 1),
            (true, false) => format!("member {} was edited", pair.1 + 1),
            (false, true) => format!("member {} was edited", pair.0 + 1),
            (false, false) if self.edges.is_empty() => {
                format!("the schema, a placeholder, member {} or member {} was edited", pair.0 + 1, pair.1 + 1)
            }
            (false, false) => format!("member {} and member {} were edited", pair.0 + 1, pair.1 + 1),
        };
        let proven: BTreeSet<usize> = self.proven(|_| true).iter().map(Proven::member).collect();
        let lost = [pair.0, pair.1].into_iter().filter(|at| !proven.contains(at));
        let lost: Vec<String> = lost.map(|at| (at + 1).to_string()).collect();
        match lost.as_slice() {
            [] => format!("{edited} since; the other proofs connect both"),
            [one] => format!("{edited} since; member {one} is not used until it is proven again"),
            more => format!("{edited} since; members {} are not used until they are proven again", more.join(" and ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caq::class::parse_classes;

    fn class(members: usize) -> OracleClass {
        let members: Vec<String> = (0..members).map(|n| format!("\"SELECT {n} FROM t\"")).collect();
        let text =
            format!("[[class]]\nname = 'c'\nschema = 'CREATE TABLE t(a INT)'\nmembers = [{}]", members.join(", "));
        parse_classes("f.toml", &text).expect("a class").remove(0)
    }

    fn with(members: usize, edges: &[(&str, Verdict, &[Assumption])]) -> OracleClass {
        let mut classes = [class(members)];
        let records = edges
            .iter()
            .map(|(id, verdict, assumptions)| {
                let (_, pair) = Pair::parse(id).expect("a pair");
                Record {
                    id: (*id).to_owned(),
                    hash: classes[0].question(pair).expect("members").hash(),
                    verdict: *verdict,
                    assumptions: assumptions.iter().copied().collect(),
                    reason: (*verdict == Verdict::Unknown).then(|| "too hard".to_owned()),
                    prover: "1".to_owned(),
                }
            })
            .collect();
        assert!(attach(&mut classes, records).is_empty());
        classes.into_iter().next().expect("the class")
    }

    fn used(class: &OracleClass, guarantees: &[Assumption], assumed: bool) -> Vec<usize> {
        class.select(&guarantees.iter().copied().collect(), "x", assumed).members
    }

    #[test]
    fn names_of_pairs_come_back() {
        assert_eq!(Pair(0, 11).id("a-b"), "a-b/1~12");
        assert_eq!(Pair::parse("a-b/1~12"), Some(("a-b", Pair(0, 11))));
        for bad in ["a", "a/1", "a/0~1", "a/2~1", "a/1~1", "a/x~2"] {
            assert_eq!(Pair::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_record_that_assumes_what_is_no_assumption_is_an_error() {
        let line = |assumption: &str| {
            format!(r#"{{"id":"c/1~2","hash":"","verdict":"proven","assumptions":["{assumption}"],"prover":"1"}}"#)
        };
        assert_eq!(parse_records(&line("exact-sums")).expect("a record").len(), 1);
        let error = parse_records(&format!("\n{}", line("exact-sum"))).expect_err("a slip of the pen");
        let said = format!("{:#}", anyhow::Error::from(error));
        assert!(said.contains("line 2") && said.contains("`exact-sum`") && said.contains("`exact-sums`"), "{said}");
    }

    #[test]
    fn proofs_connect_and_the_largest_component_is_used() {
        use Assumption::ExactSums;
        use Verdict::{Proven, Unknown};
        let class = with(
            6,
            &[("c/1~2", Proven, &[]), ("c/1~3", Unknown, &[]), ("c/3~4", Proven, &[]), ("c/4~5", Proven, &[ExactSums])],
        );
        assert_eq!(class.proven_count(), 3);
        assert_eq!(used(&class, &[ExactSums], false), [2, 3, 4]);
        // Of two components of a size the first.
        assert_eq!(used(&class, &[], false), [0, 1]);
        assert_eq!(used(&class, &[ExactSums], true), [0, 1, 2, 3, 4, 5]);
        // What is proven only under an assumption that fails stays off.
        assert_eq!(used(&class, &[], true), [0, 1, 5]);
        let selection = class.select(&BTreeSet::new(), "x", false);
        assert!(selection.off.iter().any(|(at, why)| *at == 4 && why.contains("exact-sums, which x")), "{selection:?}");
        assert!(matches!(&class.statuses()[5], Status::Assumed { reason } if reason.contains("present text")));
        assert!(matches!(&class.statuses()[4], Status::Proven(p) if p.to == Some(3) && p.assumptions.len() == 1));
        assert!(class.apart(&BTreeSet::from([ExactSums])).iter().all(|p| *p != Pair(0, 2)));
    }

    #[test]
    fn a_class_without_a_proof_is_used_only_on_demand() {
        let class = with(3, &[("c/1~2", Verdict::Unknown, &[]), ("c/1~3", Verdict::Refuted, &[])]);
        assert_eq!((class.proven_count(), used(&class, &[], false)), (0, vec![]));
        // Refuted members stay off even so.
        assert_eq!(used(&class, &[], true), [1]);
        assert_eq!(class.select(&BTreeSet::new(), "x", true).assumed, [1]);
        assert!(matches!(&class.statuses()[1], Status::Assumed { reason } if reason == "too hard"));
        // Which of the two is wrong is not known.
        assert!(matches!(&class.statuses()[0], Status::Refuted { by: 2, .. }));
        assert!(matches!(&class.statuses()[2], Status::Refuted { by: 0, .. }));
    }

    #[test]
    fn a_record_about_another_text_counts_for_nothing() {
        let record = with(2, &[("c/1~2", Verdict::Proven, &[])]).edges.remove(0).record;
        let stale = |classes: &mut [OracleClass]| {
            let stale = attach(classes, vec![record.clone()]);
            assert_eq!((stale.len(), stale[0].id.as_str()), (1, "c/1~2"));
            stale[0].why.clone()
        };
        let mut edited = [class(2)];
        edited[0].members[1].sql.push_str(" WHERE TRUE");
        let unclear = "the schema, a placeholder, member 1 or member 2 was edited since; members 1 and 2 are not used until they \
                       are proven again";
        assert_eq!(stale(&mut edited), unclear);
        let mut other_schema = [class(2)];
        other_schema[0].ddl.push(' ');
        assert_eq!(stale(&mut other_schema), unclear);
        assert_eq!(stale(&mut []), "there is no such class");
    }

    #[test]
    fn a_stale_record_names_the_member_that_was_edited() {
        let proven = Verdict::Proven;
        let edges = with(3, &[("c/1~2", proven, &[]), ("c/1~3", proven, &[])]).edges;
        let records: Vec<Record> = edges.into_iter().map(|e| e.record).collect();
        let mut edited = [class(3)];
        edited[0].members[2].sql.push_str(" WHERE TRUE");
        let stale = attach(&mut edited, records);
        let said: Vec<String> = stale.iter().map(ToString::to_string).collect();
        let expected = "the recorded proof c/1~3 counts for nothing: member 3 was edited since; member 3 is not used until it is \
                        proven again";
        assert_eq!(said, [expected]);
        let third = with(3, &[("c/1~3", proven, &[])]).edges.remove(0).record;
        assert_eq!(attach(&mut [class(2)], vec![third])[0].why, "the class has 2 members");
    }
}

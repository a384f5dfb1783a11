//! What findings of one bug have in common. This is the one place that decides it.
//!
//! Findings with the same fingerprint are taken for one bug, everywhere. Two reports of one bug cost somebody a look; two bugs
//! in one report cost one of them. So a fingerprint names all that experiments showed to matter, and where they could show
//! nothing, the class that met the failure.

use super::cause::EVERYTHING;
use super::finding::{Finding, FindingKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What findings of one bug have in common, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint {
    /// What kind of failure they are.
    pub kind: String,
    /// What makes them vanish, what the engine said, or the class.
    pub cause: String,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.cause)
    }
}

/// Constructs that a case has for many reasons, or in which cores of one bug differ: they count only where there is no other.
const WEAK: [&str; 26] = [
    "aggregate",
    "analyze",
    "between",
    "case",
    "cast",
    "check",
    "cte",
    "encoding",
    "exists",
    "filter",
    "foreign key",
    "is null",
    "is true/false",
    "json",
    "likelihood",
    "materialized",
    "optimizer switch",
    "order by",
    "primary key",
    "reindex",
    "replace",
    "strict",
    "subquery",
    "union",
    "unique",
    "view",
];

/// Constructs of expressions. What broke is cut in few attempts, so that any expression may be left of it.
const EXPRESSIONS: [&str; 5] = ["collate", "glob", "in", "like", "row value"];

/// Constructs that are one and the same to an optimizer.
const SAME: [(&str, &str); 2] = [("right join", "right or full join"), ("full join", "right or full join")];

/// The constructs that tell bugs apart, of those that a finding needs: the first of these lists that has one.
fn telling(needs: &[String], broke: bool) -> String {
    let same =
        |need: &String| SAME.iter().find(|(one, _)| one == need).map_or(need.clone(), |(_, other)| (*other).to_owned());
    let all: BTreeSet<String> = needs.iter().map(same).collect();
    let strong = |need: &&String| !WEAK.contains(&need.as_str());
    let of_clauses = |need: &&String| broke && strong(need) && !EXPRESSIONS.contains(&need.as_str());
    let only = |keep: &dyn Fn(&&String) -> bool| all.iter().filter(keep).map(String::as_str).collect::<Vec<_>>();
    let lists = [only(&of_clauses), only(&strong), only(&|_| true)];
    lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default().join(", ")
}

impl Finding {
    /// What it has in common with other findings of the same bug.
    pub fn fingerprint(&self) -> Fingerprint {
        let switches = self.cause.core.as_ref().map_or(&self.cured_by, |core| &core.switches);
        let mut specific: Vec<&str> = switches.iter().map(String::as_str).collect();
        if specific.iter().any(|name| !EVERYTHING.contains(name)) {
            specific.retain(|name| !EVERYTHING.contains(name));
        }
        let mut parts = Vec::new();
        if self.kind != FindingKind::WrongResult && !self.cause.message.is_empty() {
            parts.push(self.cause.message.clone());
        } else {
            if !specific.is_empty() {
                parts.push(format!("right with {}", specific.join(", ")));
            }
            let broke = self.kind != FindingKind::WrongResult && self.reduced;
            let needs =
                if self.cause.core.is_some() || broke { telling(&self.cause.needs, broke) } else { String::new() };
            if !needs.is_empty() {
                parts.push(format!("needs {needs}"));
            } else if specific.iter().all(|name| EVERYTHING.contains(name)) {
                parts.push(self.class.clone());
            }
        }
        Fingerprint { kind: self.kind.to_string(), cause: parts.join("; ") }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cause::Core;
    use crate::triage::finding::FindingKind;
    use crate::triage::finding::tests::finding;

    fn check(kind: FindingKind, core: Option<&[&str]>, needs: &[&str], expect: &str) {
        let mut one = finding();
        one.kind = kind;
        one.cured_by = vec!["all-optimizations-off".to_owned()];
        one.cause.needs = needs.iter().map(|need| (*need).to_owned()).collect();
        one.cause.core = core.map(|switches| Core {
            statements: Vec::new(),
            before: Vec::new(),
            sql: "SELECT 1".to_owned(),
            reference: "another version".to_owned(),
            switches: switches.iter().map(|name| (*name).to_owned()).collect(),
            left_out: 0,
        });
        assert_eq!(one.fingerprint().cause, expect);
    }

    #[test]
    fn a_fingerprint_names_switches_and_what_is_needed() {
        let wrong = FindingKind::WrongResult;
        let all = "all-optimizations-off";
        check(wrong, None, &["outer join"], "right with all-optimizations-off; c");
        check(
            wrong,
            Some(&[all, "push-down-off"]),
            &["cast", "left join"],
            "right with push-down-off; needs left join",
        );
        check(
            wrong,
            Some(&[all]),
            &["full join", "union"],
            "right with all-optimizations-off; needs right or full join",
        );
        check(wrong, Some(&[]), &["cast", "exists"], "needs cast, exists");
        check(wrong, Some(&[]), &[], "c");
        check(wrong, Some(&["push-down-off"]), &[], "right with push-down-off");
        check(wrong, Some(&[]), &["in", "index", "primary key", "subquery", "unique"], "needs in, index");
        check(
            FindingKind::Crash,
            None,
            &["exists", "glob", "in", "window"],
            "right with all-optimizations-off; needs window",
        );
    }
}

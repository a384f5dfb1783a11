//! What findings of one bug have in common. This is the one place that decides it.
//!
//! Findings with the same fingerprint are taken for one bug, everywhere. Two reports of one bug cost somebody a look; two bugs
//! in one report cost one of them. So a fingerprint names all that experiments showed to matter, and where they could show
//! nothing, what expressions called, or else the class that met the failure.

use super::cause::{EVERYTHING, Fixed};
use super::features::features;
use super::finding::{Finding, FindingKind};
use super::shape::plain;
use crate::sql::lex::{Token, tokens};
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
const WEAK: [&str; 19] = [
    "analyze",
    "between",
    "check",
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
    "primary key",
    "reindex",
    "replace",
    "strict",
    "union",
    "unique",
];

/// What almost every case has: it counts where there is not even one of those.
const WEAKEST: [&str; 7] = ["aggregate", "case", "cast", "cte", "order by", "subquery", "view"];

/// Constructs of expressions. What broke is cut in few attempts, so that any expression may be left of it.
const EXPRESSIONS: [&str; 5] = ["collate", "glob", "in", "like", "row value"];

/// Constructs that are one and the same to an optimizer.
const SAME: [(&str, &str); 2] = [("right join", "right or full join"), ("full join", "right or full join")];

/// Constructs that are one where it is known that one version fixed both.
const ALIKE: [(&str, &str); 2] = [("delete", "update"), ("unique", "index")];

/// Constructs that a case may have by the way, because what reads them could not be cut at once. So may the weak ones.
const BESIDES: [&str; 12] = [
    "distinct",
    "except",
    "group by",
    "having",
    "in",
    "index",
    "intersect",
    "left join",
    "limit",
    "right or full join",
    "window",
    "without rowid",
];

/// The constructs that tell bugs apart, of those that a finding needs: the first of these lists that has one.
fn telling(needs: &[String], broke: bool) -> String {
    let same =
        |need: &String| SAME.iter().find(|(one, _)| one == need).map_or(need.clone(), |(_, other)| (*other).to_owned());
    let all: BTreeSet<String> = needs.iter().map(same).collect();
    let weak = |need: &&String| !WEAKEST.contains(&need.as_str());
    let strong = |need: &&String| weak(need) && !WEAK.contains(&need.as_str());
    let of_clauses = |need: &&String| broke && strong(need) && !EXPRESSIONS.contains(&need.as_str());
    let only = |keep: &dyn Fn(&&String) -> bool| all.iter().filter(keep).map(String::as_str).collect::<Vec<_>>();
    let lists = [only(&of_clauses), only(&strong), only(&weak), only(&|_| true)];
    lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default().join(", ")
}

/// What is written like a function and is none, or says little of what goes wrong.
const COMMON: [&str; 53] = [
    "all",
    "and",
    "any",
    "as",
    "avg",
    "between",
    "binary",
    "by",
    "case",
    "cast",
    "char",
    "coalesce",
    "conflict",
    "count",
    "decimal",
    "distinct",
    "else",
    "enum",
    "except",
    "exists",
    "from",
    "if",
    "ifnull",
    "iif",
    "in",
    "intersect",
    "interval",
    "is",
    "join",
    "like",
    "list",
    "max",
    "min",
    "not",
    "nullif",
    "numeric",
    "nvl",
    "on",
    "or",
    "over",
    "row",
    "select",
    "some",
    "struct",
    "sum",
    "then",
    "total",
    "union",
    "values",
    "varchar",
    "when",
    "where",
    "xor",
];

/// Words behind which a name with parentheses is that of a table.
const NAMING: [&str; 6] = ["as", "into", "recursive", "table", "update", "with"];

/// The functions that expressions call, and whether they compare rows, where that tells something.
fn used(expressions: &[String]) -> String {
    let mut found = BTreeSet::new();
    for text in expressions {
        let Ok(all) = tokens(text) else { continue };
        let dense: Vec<&Token> = all.iter().filter(|token| !matches!(token, Token::Space(_))).collect();
        for at in 0..dense.len() {
            if let [Token::Word(name), Token::Symbol('('), ..] = &dense[at..]
                && !COMMON.iter().any(|common| name.eq_ignore_ascii_case(common))
                && !(at > 0 && NAMING.iter().any(|word| dense[at - 1].is_word(word)))
            {
                found.insert(name.to_ascii_lowercase());
            }
        }
        found.extend(features([text.as_str()]).into_iter().filter(|feature| feature == "row value"));
    }
    found.into_iter().collect::<Vec<_>>().join(", ")
}

/// What is known of a bug beyond the fingerprint of one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traits {
    kind: FindingKind,
    /// Where it was fixed, if that was tried.
    fixed: Option<Fixed>,
    /// Whether one release fixed it.
    in_one_release: bool,
    /// The switches that cure its core.
    switches: BTreeSet<String>,
    /// Those that cure the core or the whole case.
    cures: BTreeSet<String>,
    /// The constructs that tell it apart.
    needs: BTreeSet<String>,
    /// All that it needs.
    all: BTreeSet<String>,
    /// The query of the core, as [`leaves_alike`] has it.
    text: String,
}

/// A [`plain`] query in which a value is written as a name is, and no table has another name.
fn leaves_alike(plain: &str) -> String {
    let names = tokens(plain).unwrap_or_default().into_iter().map(|token| match token {
        Token::Literal("0") => "x".to_owned(),
        other => other.text(),
    });
    names.collect::<String>().replace(" as x", "")
}

/// Bytes that a condition must have to tell a bug from others.
const CONDITION_MIN: usize = 40;

impl Traits {
    /// Whether two findings are likely of one bug, although a fingerprint tells them apart. Of one of them less could be taken
    /// away, or a switch cures one of them only by turning off what came before the bug.
    ///
    /// Two that different versions fixed are not, and of two that one and the same version fixed:
    ///
    /// * all switches that cure the one cure the other, and one needs what the other needs, and joins, groups or the like
    ///   besides, or expressions of another kind where two switches cure both, or
    /// * no switch cures the one, and both need the same, or
    /// * no switch cures either, a release fixed both, and one needs what the other needs, and expressions of another kind besides,
    ///   or joins and the like where that is more than a join, an index or a window, or
    /// * one needs all that the other needs, and the other's condition, which has a subquery, stands in it.
    ///
    /// The more versions were tried, the more this says. Where that is not known, or the newest version has both, the last must
    /// hold and a switch cure both.
    pub fn alike(&self, other: &Self) -> bool {
        if self.kind != other.kind || self.contradicts(other) {
            return false;
        }
        let stands = self.has_condition_of(other) || other.has_condition_of(self);
        match (&self.fixed, &other.fixed) {
            (Some(Fixed { first_good: Some(_), .. }), Some(_)) => stands || self.needs_alike(other),
            _ => stands && !self.cures.is_disjoint(&other.cures),
        }
    }

    /// Whether different versions fixed them.
    pub fn contradicts(&self, other: &Self) -> bool {
        matches!((&self.fixed, &other.fixed), (Some(one), Some(other)) if one != other)
    }

    /// Whether they are not of one bug, even if another one is like both: different versions fixed them, or other switches
    /// cure them.
    pub fn is_apart(&self, other: &Self) -> bool {
        let switched = !self.switches.is_empty() && !other.switches.is_empty();
        self.contradicts(other) || switched && self.switches.is_disjoint(&other.switches)
    }

    /// Whether what two findings need, and the switches that cure them, are alike.
    fn needs_alike(&self, other: &Self) -> bool {
        if self.switches.is_empty() != other.switches.is_empty() {
            return !self.needs.is_empty() && self.needs == other.needs;
        }
        let is_any = |lists: &[&[&str]], need: &String| lists.iter().any(|list| list.contains(&need.as_str()));
        let fits = |few: &BTreeSet<String>, many: &BTreeSet<String>, besides: &dyn Fn(&String) -> bool| {
            few.is_subset(many) && many.difference(few).all(besides)
        };
        let either =
            |one, other, besides: &dyn Fn(&String) -> bool| fits(one, other, besides) || fits(other, one, besides);
        let by_the_way = |need: &String| is_any(&[&WEAK, &WEAKEST, &BESIDES], need);
        // Rows are compared by other code than values.
        let expressions = |need: &String| is_any(&[&EXPRESSIONS], need) && need != "row value";
        if self.needs.is_empty() || other.needs.is_empty() {
            return false;
        }
        // What tells both apart from most.
        let tells = self.needs.intersection(&other.needs).any(|need| !by_the_way(need) && !expressions(need));
        let alike = either(&self.needs, &other.needs, &|need| {
            expressions(need) || tells && (by_the_way(need) || need == "expression index")
        });
        if self.switches.is_empty() {
            return alike && self.in_one_release;
        }
        // All that cure the one cure the other: what only some cure may lie between two bugs.
        let both = self.switches.len() > 1 && self.switches == other.switches;
        (self.switches.is_subset(&other.switches) || other.switches.is_subset(&self.switches))
            && ((tells || both) && alike
                || either(&self.needs, &other.needs, &by_the_way)
                || either(&self.all, &other.all, &by_the_way))
    }

    /// Whether the condition of another one stands in this one, which needs all that the other needs.
    fn has_condition_of(&self, other: &Self) -> bool {
        let condition = other.text.split_once(" where ").map(|(_, condition)| condition);
        let tells = |condition: &&str| condition.len() >= CONDITION_MIN && condition.contains("(select ");
        other.all.is_subset(&self.all) && condition.filter(tells).is_some_and(|condition| self.text.contains(condition))
    }

    /// How many constructs it needs.
    pub fn size(&self) -> usize {
        self.needs.len()
    }

    /// By what they are put in an order, those first that need least.
    pub fn rank(&self) -> impl Ord + '_ {
        (self.needs.len(), &self.needs, &self.switches, &self.all, &self.text)
    }
}

impl Finding {
    /// The switches that cure it: those that turn everything off only if there is no other.
    fn switches(&self) -> Vec<&str> {
        let switches = self.cause.core.as_ref().map_or(&self.cured_by, |core| &core.switches);
        let mut specific: Vec<&str> = switches.iter().map(String::as_str).collect();
        if specific.iter().any(|name| !EVERYTHING.contains(name)) {
            specific.retain(|name| !EVERYTHING.contains(name));
        }
        specific
    }

    /// What can be compared with other findings, where experiments left a core.
    pub fn traits(&self) -> Option<Traits> {
        let core = self.cause.core.as_ref()?;
        let one = |need: &str| ALIKE.iter().find(|(one, _)| *one == need).map_or(need, |(_, other)| *other).to_owned();
        let all: Vec<String> = self.cause.needs.iter().map(|need| one(need)).collect();
        let needs = telling(&all, false).split(", ").filter(|need| !need.is_empty()).map(str::to_owned).collect();
        let all = all.into_iter().collect();
        let only_some =
            |names: &[String]| names.iter().filter(|name| !EVERYTHING.contains(&name.as_str())).cloned().collect();
        let switches: BTreeSet<String> = only_some(&core.switches);
        let cures = switches.union(&only_some(&self.cured_by)).cloned().collect();
        let text = leaves_alike(&plain(core.statements.iter().map(String::as_str), &core.sql));
        let fixed = self.cause.fixed.clone();
        let in_one_release = fixed
            .as_ref()
            .is_some_and(|fixed| fixed.in_one_release(self.dbms.split(['@', ':']).next().unwrap_or_default()));
        Some(Traits { kind: self.kind, fixed, in_one_release, switches, cures, needs, all, text })
    }

    /// What it has in common with other findings of the same bug.
    pub fn fingerprint(&self) -> Fingerprint {
        let specific = self.switches();
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
                let tells = self.reduced && self.kind == FindingKind::WrongResult;
                let used = if tells { used(&self.fillings) } else { String::new() };
                parts.push(if used.is_empty() { self.class.clone() } else { format!("of {used}") });
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
    fn without_an_experiment_a_fingerprint_names_what_expressions_call() {
        let is = |reduced: bool, fillings: &[&str], expect: &str| {
            let mut one = finding();
            (one.kind, one.reduced) = (FindingKind::WrongResult, reduced);
            one.fillings = fillings.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(one.fingerprint().cause, expect, "{fillings:?}");
        };
        is(true, &["JSON_EQUALS(NULL, t.c1)", "CAST(NULL AS CHAR) COLLATE x"], "of json_equals");
        is(true, &["(t.c0, 'a') <> (t.c1, 1)", "0"], "of row value");
        is(true, &["t.c0 NOT LIKE 'x'", "1 IN (2)", "CAST(t.c0 AS VARCHAR(3))"], "c");
        is(true, &["COALESCE(t.c0, 1)", "TRUE", "INSERT INTO t1(c0) VALUES (1)"], "c");
        is(false, &["JSON_EQUALS(NULL, t.c1)"], "c");
        let mut crash = finding();
        (crash.kind, crash.reduced, crash.fillings) = (FindingKind::Crash, true, vec!["f(t.c1)".to_owned()]);
        crash.cause.message.clear();
        assert_eq!(crash.fingerprint().cause, "c");
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
        check(wrong, Some(&[]), &["cast", "exists"], "needs exists");
        check(wrong, Some(&[]), &["cast", "view"], "needs cast, view");
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

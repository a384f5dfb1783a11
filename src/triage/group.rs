//! Bugs: findings that have one fingerprint, or that somebody put together.
//!
//! What people decide is kept beside the findings, by the identifiers of findings: it holds whatever is learned of the bug
//! later.

use super::cause::Fixed;
use super::finding::{Finding, FoundReport};
use super::fingerprint::{Fingerprint, Traits};
use super::known::{KnownBug, known, reason};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file of a directory of findings with what people decided of groups.
const DECISIONS_FILE: &str = "bugs.json";

/// What people decided of groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Decisions {
    /// Findings whose bugs are one, a list for each bug.
    pub merged: Vec<Vec<String>>,
    /// Findings that are a bug of their own.
    pub split: BTreeSet<String>,
}

impl Decisions {
    /// Reads those of a directory of findings; there may be none.
    pub fn read(findings: &Path) -> io::Result<Self> {
        let path = findings.join(DECISIONS_FILE);
        let wrong = |error: &dyn std::fmt::Display| io::Error::other(format!("cannot use {}: {error}", path.display()));
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(wrong(&error)),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| wrong(&error)),
        }
    }

    /// Writes them.
    pub fn write(&self, findings: &Path) -> io::Result<()> {
        let path = findings.join(DECISIONS_FILE);
        let temporary = findings.join(format!(".{DECISIONS_FILE}.new"));
        fs::write(&temporary, serde_json::to_string_pretty(self).map_err(io::Error::other)? + "\n")?;
        fs::rename(temporary, path)
    }

    /// Says that findings are of one bug.
    pub fn merge(&mut self, findings: &[String]) {
        self.merged.push(findings.to_vec());
    }

    /// Says that a finding is a bug of its own.
    pub fn split(&mut self, finding: &str) {
        for together in &mut self.merged {
            together.retain(|one| one != finding);
        }
        self.merged.retain(|together| together.len() > 1);
        self.split.insert(finding.to_owned());
    }
}

/// A bug: the output contract of `bugs` in `caqtus hunt --json`, and of `caqtus bug list --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bug {
    /// Its identifier: the same for the same fingerprint, wherever it is found; that of one of them if it has several.
    pub id: String,
    /// What kind of failure.
    pub kind: String,
    /// The oracles that met it.
    pub oracles: BTreeSet<String>,
    /// The classes that met it.
    pub classes: BTreeSet<String>,
    /// Where the corpus snippets of its smallest finding are from, if that needs some.
    pub origins: BTreeSet<String>,
    /// What it hangs on.
    pub cause: String,
    /// Its fingerprint: kind and cause.
    pub fingerprint: String,
    /// Those of all its findings, which may be more than one if somebody, or a version, showed that they are one bug.
    pub fingerprints: BTreeSet<String>,
    /// How many findings there are of it.
    pub findings: usize,
    /// The script of the smallest.
    pub script: PathBuf,
    /// The directory of the smallest.
    pub dir: PathBuf,
    /// The identifier of the smallest.
    pub smallest: String,
    /// Bytes of its statements and queries.
    pub size: usize,
    /// Why it is not reported, if it is known.
    pub suppressed: Option<String>,
    /// When the first of its findings was written, a day as in 2027-01-31.
    pub first_seen: Option<String>,
    /// When the last was.
    pub last_seen: Option<String>,
    /// Its findings, the smallest first.
    pub members: Vec<String>,
}

/// An identifier of a fingerprint.
pub fn bug_id(fingerprint: &Fingerprint) -> String {
    let mut digest = Digest::default();
    digest.add(&fingerprint.to_string());
    digest.hex(8)
}

/// The identifier of the bug that a finding is alone.
pub fn own_id(finding: &str) -> String {
    finding.chars().take(8).collect()
}

/// Groups findings into bugs: first those that are news, and of these those with most findings. `dated` gives the day on which
/// a directory was written.
pub fn group(
    findings: &[(PathBuf, Finding)],
    decisions: &Decisions,
    (bugs, engine, today): (&[KnownBug], &str, &str),
    dated: &dyn Fn(&Path) -> Option<String>,
) -> Vec<Bug> {
    let mut keys: BTreeMap<&str, String> = BTreeMap::new();
    for (_, finding) in findings {
        let fingerprint = finding.fingerprint();
        let own = decisions.split.contains(&finding.id);
        let id = if own { own_id(&finding.id) } else { bug_id(&fingerprint) };
        keys.insert(&finding.id, id);
    }
    told_apart(findings, decisions, &mut keys);
    brought_together(findings, decisions, &mut keys);
    for together in &decisions.merged {
        let of_these: BTreeSet<String> = together.iter().filter_map(|id| keys.get(id.as_str()).cloned()).collect();
        let Some(into) = together.iter().find_map(|id| keys.get(id.as_str()).cloned()) else { continue };
        keys.values_mut().filter(|key| of_these.contains(*key)).for_each(|key| key.clone_from(&into));
    }
    let why = |finding: &Finding| reason(bugs, engine, finding, today);
    let reasons: BTreeMap<&str, Option<String>> =
        findings.iter().map(|(_, finding)| (finding.id.as_str(), why(finding))).collect();
    let entry = |finding: &Finding| {
        let entry = known(bugs, engine, finding, today)?;
        bugs.iter().position(|bug| std::ptr::eq(bug, entry))
    };
    let entries = findings.iter().map(|(_, finding)| (finding.id.as_str(), entry(finding))).collect();
    of_one_entry(findings, &entries, decisions, &mut keys);
    let mut groups: BTreeMap<&str, Vec<&(PathBuf, Finding)>> = BTreeMap::new();
    for one in findings {
        groups.entry(keys[one.1.id.as_str()].as_str()).or_default().push(one);
    }
    let bug = |(id, mut all): (&str, Vec<&(PathBuf, Finding)>)| {
        all.sort_by_key(|(_, finding)| (finding.size(), &finding.id));
        let (dir, smallest) = all[0];
        let fingerprint = smallest.fingerprint();
        let days: BTreeSet<String> = all.iter().filter_map(|(dir, _)| dated(dir)).collect();
        // One finding that no entry covers is news.
        let reasons: Option<Vec<_>> = all.iter().map(|(_, finding)| reasons[finding.id.as_str()].clone()).collect();
        Bug {
            id: id.to_owned(),
            kind: fingerprint.kind.clone(),
            oracles: all.iter().map(|(_, finding)| finding.oracle.clone()).collect(),
            classes: all.iter().map(|(_, finding)| finding.class.clone()).collect(),
            origins: smallest.origins.iter().cloned().collect(),
            cause: fingerprint.cause.clone(),
            fingerprint: fingerprint.to_string(),
            fingerprints: all.iter().map(|(_, finding)| finding.fingerprint().to_string()).collect(),
            findings: all.len(),
            script: dir.join("repro.sql"),
            dir: dir.clone(),
            smallest: smallest.id.clone(),
            size: smallest.size(),
            suppressed: reasons.and_then(|reasons| reasons.into_iter().next()),
            first_seen: days.first().cloned(),
            last_seen: days.last().cloned(),
            members: all.iter().map(|(_, finding)| finding.id.clone()).collect(),
        }
    };
    let mut all: Vec<Bug> = groups.into_iter().map(bug).collect();
    all.sort_by_key(|bug| (bug.suppressed.is_some(), std::cmp::Reverse(bug.findings), bug.size));
    all
}

/// Tells findings apart that have one fingerprint and were fixed by different versions, as far as that was tried. Those of
/// which it is not known stay with the most.
fn told_apart<'a>(findings: &'a [(PathBuf, Finding)], decisions: &Decisions, keys: &mut BTreeMap<&'a str, String>) {
    let mut fixes: BTreeMap<Fingerprint, BTreeMap<&Fixed, Vec<&'a str>>> = BTreeMap::new();
    for (_, finding) in findings {
        if let Some(fixed) = finding.cause.fixed.as_ref().filter(|_| !decisions.split.contains(&finding.id)) {
            fixes.entry(finding.fingerprint()).or_default().entry(fixed).or_default().push(&finding.id);
        }
    }
    for (fingerprint, of_bug) in fixes {
        let Some(most) = of_bug.values().map(Vec::len).max() else { continue };
        let main = of_bug.iter().find(|(_, ids)| ids.len() == most).map(|(fixed, _)| *fixed);
        for (fixed, ids) in of_bug.iter().filter(|(fixed, _)| Some(**fixed) != main) {
            let Fixed { last_bad, first_good } = fixed;
            let mut digest = Digest::default();
            digest.add(&fingerprint.to_string());
            digest.add(last_bad);
            digest.add(first_good.as_deref().unwrap_or_default());
            let id = digest.hex(8);
            for finding in ids {
                keys.entry(finding).and_modify(|key| key.clone_from(&id));
            }
        }
    }
}

/// Brings findings together that are alike. The bug is that of the one that needs least. Bugs that different versions fixed, or
/// that other switches cure, stay apart, whatever is between them.
fn brought_together<'a>(
    findings: &'a [(PathBuf, Finding)],
    decisions: &Decisions,
    keys: &mut BTreeMap<&'a str, String>,
) {
    let mut all: Vec<(Traits, String)> = Vec::new();
    for (_, finding) in findings.iter().filter(|(_, finding)| !decisions.split.contains(&finding.id)) {
        let one = finding.traits().map(|traits| (traits, keys[finding.id.as_str()].clone()));
        all.extend(one.filter(|one| !all.contains(one)));
    }
    all.sort_by(|(one, a), (other, b)| (one.rank(), a).cmp(&(other.rank(), b)));
    for at in 0..all.len() {
        let from = all[at].1.clone();
        let contradict = |into: &String| {
            let of = |bug| all.iter().filter(move |(_, key)| key == bug);
            of(into).any(|(one, _)| of(&from).any(|(other, _)| one.is_apart(other) && !one.alike(other)))
        };
        let is_one =
            |(traits, into): &&(Traits, String)| *into != from && traits.alike(&all[at].0) && !contradict(into);
        let Some(into) = all[..at].iter().find(is_one).map(|(_, key)| key.clone()) else { continue };
        for key in keys.values_mut().chain(all.iter_mut().map(|(_, key)| key)).filter(|key| **key == from) {
            key.clone_from(&into);
        }
    }
}

/// Brings bugs together of which one and the same entry of a list covers every finding and that no two versions fixed: an
/// entry is one bug, by whoever wrote it. The bug is that of most findings that a version fixed. `entries` has the place of the one that covers a
/// finding.
fn of_one_entry<'a>(
    findings: &'a [(PathBuf, Finding)],
    entries: &BTreeMap<&'a str, Option<usize>>,
    decisions: &Decisions,
    keys: &mut BTreeMap<&'a str, String>,
) {
    let mut groups: BTreeMap<String, Vec<&Finding>> = BTreeMap::new();
    for (_, finding) in findings {
        groups.entry(keys[finding.id.as_str()].clone()).or_default().push(finding);
    }
    // What somebody split off stays alone, as what no entry covers does.
    let entry = |finding: &&Finding| entries[finding.id.as_str()].filter(|_| !decisions.split.contains(&finding.id));
    let mut bugs: Vec<(usize, Option<&Fixed>, usize, String)> = Vec::new();
    for (key, of_group) in groups {
        let of_entries: BTreeSet<Option<usize>> = of_group.iter().map(entry).collect();
        if let (1, Some(Some(entry))) = (of_entries.len(), of_entries.first()) {
            let fixed = of_group.iter().find_map(|finding| finding.cause.fixed.as_ref());
            bugs.push((*entry, fixed, of_group.len(), key));
        }
    }
    // Those of which it is not known where they were fixed come last: they are of whatever is there.
    bugs.sort_by_key(|(entry, fixed, findings, _)| (*entry, fixed.is_none(), std::cmp::Reverse(*findings)));
    let mut kept: Vec<(usize, Option<&Fixed>, String)> = Vec::new();
    for (entry, fixed, _, from) in bugs {
        let is_that =
            |(other, by, _): &&(usize, Option<&Fixed>, String)| *other == entry && (*by == fixed || fixed.is_none());
        match kept.iter().find(is_that) {
            Some((.., into)) => keys.values_mut().filter(|key| **key == from).for_each(|key| key.clone_from(into)),
            None => kept.push((entry, fixed, from)),
        }
    }
}

/// The findings of a hunt that can still be read.
pub fn of_reports(found: &[FoundReport]) -> Vec<(PathBuf, Finding)> {
    let read = |found: &FoundReport| {
        let dir = PathBuf::from(&found.dir);
        super::finding::read(&dir).ok().map(|finding| (dir, finding))
    };
    found.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triage::cause::Core;
    use crate::triage::finding::FindingKind;
    use crate::triage::finding::tests::finding;

    fn four() -> Vec<(PathBuf, Finding)> {
        let one = |class: &str, message: &str| {
            let mut one = finding();
            one.class = class.to_owned();
            one.seal();
            one.cause.message = message.to_owned();
            (PathBuf::from(class), one)
        };
        vec![one("a", "m"), one("b", "m"), one("c", "n"), one("d", "o")]
    }

    fn grouped(findings: &[(PathBuf, Finding)], decisions: &Decisions, known: &[KnownBug]) -> Vec<(Vec<String>, bool)> {
        let groups = group(findings, decisions, (known, "sqlite", "2026-01-01"), &|_| None);
        let classes = |bug: Bug| (bug.classes.into_iter().collect(), bug.suppressed.is_some());
        groups.into_iter().map(classes).collect()
    }

    #[test]
    fn findings_with_one_fingerprint_are_one_bug_unless_somebody_decides() {
        let all = four();
        let is = |decisions: &Decisions, expected: &[&[&str]]| {
            let mut found: Vec<_> = grouped(&all, decisions, &[]).into_iter().map(|(classes, _)| classes).collect();
            found.sort();
            assert_eq!(found, expected.iter().map(|classes| classes.to_vec()).collect::<Vec<_>>());
        };
        let mut decisions = Decisions::default();
        is(&decisions, &[&["a", "b"], &["c"], &["d"]]);
        decisions.merge(&[all[2].1.id.clone(), all[0].1.id.clone()]);
        is(&decisions, &[&["a", "b", "c"], &["d"]]);
        decisions.split(&all[1].1.id);
        is(&decisions, &[&["a", "c"], &["b"], &["d"]]);
        decisions.merge(&[all[1].1.id.clone(), all[3].1.id.clone()]);
        is(&decisions, &[&["a", "c"], &["b", "d"]]);
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(Decisions::read(dir.path()).expect("none"), Decisions::default());
        decisions.write(dir.path()).expect("writes");
        assert_eq!(Decisions::read(dir.path()).expect("reads"), decisions);
    }

    /// A wrong result with a core that switches cure.
    fn cored(name: &str, good: Option<&str>, switches: &[&str], needs: &[&str]) -> (PathBuf, Finding) {
        let mut one = finding();
        (one.kind, one.class) = (FindingKind::WrongResult, name.to_owned());
        one.seal();
        one.cause.needs = needs.iter().map(|need| (*need).to_owned()).collect();
        // Nothing is no version.
        let good = good.map(|good| Some(good.to_owned()).filter(|good| !good.is_empty()));
        one.cause.fixed = good.map(|first_good| Fixed { last_bad: "1".to_owned(), first_good });
        one.cause.core = Some(Core {
            statements: Vec::new(),
            before: Vec::new(),
            sql: String::new(),
            reference: String::new(),
            switches: switches.iter().map(|name| (*name).to_owned()).collect(),
            left_out: 0,
        });
        (PathBuf::from(name), one)
    }

    /// The same, asking whether there is a row in an intersection, within a grouped query if the value is above 1.
    fn asking((path, mut one): (PathBuf, Finding), column: &str, value: u8) -> (PathBuf, Finding) {
        if let Some(core) = &mut one.cause.core {
            core.statements = vec!["CREATE TABLE t1(c0 INT, c1 INT)".to_owned()];
            core.sql = format!(
                "SELECT {column} FROM t1 WHERE EXISTS (SELECT {column} FROM t1 WHERE {value} INTERSECT SELECT {column})"
            );
            if value > 1 {
                core.sql = format!("SELECT s.w FROM ({} GROUP BY t1.c0) AS s", core.sql);
            }
        }
        (path, one)
    }

    #[test]
    fn findings_that_different_versions_fixed_are_different_bugs() {
        let mut all: Vec<_> = [four(), four()].concat();
        all.retain(|(_, finding)| finding.cause.message == "m");
        for (at, (_, finding)) in all.iter_mut().enumerate() {
            finding.id = format!("{at:012}");
            let good = ["2", "2", "3"].get(at).map(|good| (*good).to_owned());
            finding.cause.fixed = good.map(|good| Fixed { last_bad: "1".to_owned(), first_good: Some(good) });
        }
        let sizes: Vec<usize> = group(&all, &Decisions::default(), (&[], "sqlite", "2026-01-01"), &|_| None)
            .iter()
            .map(|bug| bug.findings)
            .collect();
        assert_eq!(sizes, [3, 1], "what was not tried stays with the most");
    }

    #[test]
    fn findings_that_one_version_fixed_are_one_bug_if_they_are_alike() {
        let (flat, other) = (&["flattener-off"][..], &["flattener-off", "push-down-off"][..]);
        let all = [
            cored("a", Some("2"), flat, &["left join"]),
            cored("b", Some("2"), other, &["distinct", "left join"]),
            cored("c", Some("2"), other, &["group by", "left join", "view"]),
            cored("of a row value", Some("2"), flat, &["left join", "row value"]),
            cored("of another switch", Some("2"), &["distinct-off"], &["left join"]),
            cored("of another version", Some("3"), flat, &["left join", "window"]),
            cored("d", Some("2"), &[], &["in", "unique", "update"]),
            cored("e", Some("2"), &["min-max-off"], &["delete", "in", "index"]),
            cored("of no switch", Some("2"), &[], &["in", "update", "window"]),
            cored("not tried", None, flat, &["left join", "window"]),
            cored("of like", Some("2"), flat, &["left join", "like"]),
            cored("needs nothing", Some("2"), &[], &[]),
            cored("nothing by a switch", Some("2"), flat, &[]),
            cored("still there", Some(""), flat, &["intersect"]),
            cored("there too", Some(""), flat, &["group by", "intersect"]),
            asking(
                cored("in a join", Some("2"), &["join-off"], &["aggregate", "exists", "intersect", "union"]),
                "t1.c1",
                7,
            ),
            asking(cored("alone", Some("2"), &["exists-off"], &["exists", "intersect"]), "t1.c0", 1),
        ];
        let mut found: Vec<_> = grouped(&all, &Decisions::default(), &[]).into_iter().map(|(ids, _)| ids).collect();
        found.sort();
        let expected: [&[&str]; 12] = [
            &["a", "b", "c"],
            &["alone", "in a join"],
            &["d", "e"],
            &["needs nothing"],
            &["not tried", "of another version"],
            &["nothing by a switch"],
            &["of a row value"],
            &["of another switch"],
            &["of like"],
            &["of no switch"],
            &["still there"],
            &["there too"],
        ];
        assert_eq!(found, expected.map(<[&str]>::to_vec));
    }

    #[test]
    fn findings_that_no_switch_cures_are_one_bug_if_one_release_fixed_them() {
        let classes = |all: &[(PathBuf, Finding)]| {
            let mut found: Vec<_> = grouped(all, &Decisions::default(), &[]).into_iter().map(|(ids, _)| ids).collect();
            found.sort();
            found
        };
        let of = |name: &str, last_bad: &str, good: &str, needs: &[&str]| {
            let (path, mut one) = cored(name, Some(good), &[], needs);
            one.cause.fixed = Some(Fixed { last_bad: last_bad.to_owned(), first_good: Some(good.to_owned()) });
            (path, one)
        };
        let partial = ["index", "left join", "partial index"];
        let all = [
            of("a", "3.30.1", "3.31.0", &partial),
            of("b", "3.30.1", "3.31.0", &[&partial[..], &["expression index", "in"]].concat()),
            of("of another table", "3.30.1", "3.31.0", &[&partial[..], &["rtree"]].concat()),
            of("of a window", "3.30.1", "3.31.0", &["window"]),
            of("of a window and an expression", "3.30.1", "3.31.0", &["glob", "window"]),
            of("of a window and an index", "3.30.1", "3.31.0", &["index", "window"]),
        ];
        let expected: [&[&str]; 4] = [
            &["a", "b"],
            &["of a window", "of a window and an expression"],
            &["of a window and an index"],
            &["of another table"],
        ];
        assert_eq!(classes(&all), expected.map(<[&str]>::to_vec));
        // The same two switches say more than one.
        let switches = ["flattener-off", "constants-off"];
        for (some, expression, bugs) in
            [(&switches[..], "glob", 1), (&switches[1..], "glob", 2), (&switches[..], "row value", 2)]
        {
            let needs: [&[&str]; 2] = [&["left join"], &["left join", expression]];
            let two = needs.map(|needs| cored(&needs.join(" "), Some("2"), some, needs));
            assert_eq!(classes(&two).len(), bugs);
        }
        // One that they share may come before two bugs, also where a third finding lies between them.
        let some_shared = [
            cored("a", Some("2"), &switches, &["left join"]),
            cored("b", Some("2"), &["flattener-off", "join-off"], &["left join"]),
            cored("c", Some("2"), &["join-off"], &["left join"]),
        ];
        assert_eq!(classes(&some_shared), [vec!["a"], vec!["b", "c"]]);
        // Of releases between which others lie that says less.
        let apart = |last_bad: &str, good: &str| {
            let two = [of("a", last_bad, good, &["window"]), of("b", last_bad, good, &["glob", "window"])];
            classes(&two).len()
        };
        let spans =
            [("3.30.1", "3.30.2"), ("1.5.6", "2.0.0"), ("3.30.1", "3.32.0"), ("1.5.6", "2.1.0"), ("1.0", "3.0")];
        assert_eq!(spans.map(|(last_bad, good)| apart(last_bad, good)), [1, 1, 2, 2, 2]);
        // Whether 1.0.0 is the last one before 2.0.0 is known of engines with known versions.
        let of_duckdb = |last_bad: &str| {
            let mut two = [of("a", last_bad, "2.0.0", &["window"]), of("b", last_bad, "2.0.0", &["glob", "window"])];
            two.iter_mut().for_each(|(_, finding)| finding.dbms = "duckdb@1.0.0".to_owned());
            classes(&two).len()
        };
        assert_eq!(["1.5.6", "1.0.0"].map(of_duckdb), [1, 2]);
        // What they share is no more than an expression.
        let shared =
            [of("a", "3.30.1", "3.31.0", &["like"]), of("b", "3.30.1", "3.31.0", &["group by", "like", "window"])];
        assert_eq!(classes(&shared).len(), 2);
    }

    #[test]
    fn what_is_between_two_bugs_goes_to_one_of_them_whatever_its_name_is() {
        let switches: [(&[&str], &str); 3] = [(&["a-off"], "a"), (&["a-off", "b-off"], "b"), (&["b-off"], "c")];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let of = |at: usize| {
                let (switches, name) = switches[at];
                // The same fingerprint is another key under another message.
                let (path, mut one) = cored(name, Some("2"), switches, &["left join"]);
                one.id = format!("{:012}", order[at]);
                (path, one)
            };
            let all: Vec<_> = order.map(of).into();
            let mut found: Vec<_> = grouped(&all, &Decisions::default(), &[]).into_iter().map(|(ids, _)| ids).collect();
            found.sort();
            assert_eq!(found, [vec!["a", "b"], vec!["c"]], "{order:?}");
        }
    }

    #[test]
    fn findings_with_a_condition_in_common_that_a_switch_cures_are_one_bug_at_once() {
        let needs = &["exists", "intersect"][..];
        let in_a_group = |name: &str, good: Option<&str>, core: &str, cured_by: &str| {
            let (path, mut one) = asking(cored(name, good, &[core], &[needs, &["union"]].concat()), "c1", 2);
            one.cured_by = vec!["all-optimizations-off".to_owned(), cured_by.to_owned()];
            (path, one)
        };
        let all = [
            asking(cored("alone", None, &["exists-off"], needs), "c0", 1),
            in_a_group("grouped", None, "join-off", "exists-off"),
            in_a_group("by another switch", None, "flattener-off", "window-off"),
            asking(cored("needs no union", None, &["exists-off"], &["except"]), "c0", 1),
        ];
        let classes = |all: &[(PathBuf, Finding)]| {
            let mut found: Vec<_> = grouped(all, &Decisions::default(), &[]).into_iter().map(|(ids, _)| ids).collect();
            found.sort();
            found
        };
        assert_eq!(classes(&all), [vec!["alone", "grouped"], vec!["by another switch"], vec!["needs no union"]]);
        // What is between them is alike to both.
        let (path, mut third) = in_a_group("in 3", Some("3"), "third-off", "exists-off");
        third.cause.needs.push("window".to_owned());
        let fixed = [
            asking(cored("in 2", Some("2"), &["exists-off"], needs), "c0", 1),
            in_a_group("not tried", None, "join-off", "exists-off"),
            (path, third),
        ];
        assert_eq!(classes(&fixed), [vec!["in 2", "not tried"], vec!["in 3"]]);
    }

    #[test]
    fn a_bug_is_known_only_if_every_finding_of_it_is() {
        let all = four();
        let entry =
            |class: &str| KnownBug { reason: "r".to_owned(), class: Some(class.to_owned()), ..KnownBug::default() };
        let known = grouped(&all, &Decisions::default(), &[entry("a"), entry("c")]);
        let known: Vec<_> = known.into_iter().filter(|(_, known)| *known).map(|(classes, _)| classes).collect();
        assert_eq!(known, [["c"]]);
    }

    #[test]
    fn what_one_entry_covers_is_one_bug() {
        let all = four();
        let entry = |class: &str, reason: &str| KnownBug {
            reason: reason.to_owned(),
            class: Some(class.to_owned()),
            ..KnownBug::default()
        };
        let of = |decisions: &Decisions, known: &[KnownBug], expected: &[(&[&str], bool)]| {
            let mut found = grouped(&all, decisions, known);
            found.sort();
            let owned = |classes: &[&str]| classes.iter().map(|class| (*class).to_owned()).collect::<Vec<_>>();
            let expected: Vec<_> = expected.iter().map(|(classes, known)| (owned(classes), *known)).collect();
            assert_eq!(found, expected);
        };
        let mut decisions = Decisions::default();
        of(&decisions, &[entry("c | d", "r")], &[(&["a", "b"], false), (&["c", "d"], true)]);
        let mut fixed = all.clone();
        for (at, version) in [(2, "2"), (3, "3")] {
            let first_good = Some(version.to_owned());
            fixed[at].1.cause.fixed = Some(Fixed { last_bad: "1".to_owned(), first_good });
        }
        assert_eq!(grouped(&fixed, &decisions, &[entry("c | d", "r")]).len(), 3, "two versions fixed two bugs");
        // Of those of which that is not known most have been found.
        let (_, mut again) = fixed[0].clone();
        "again".clone_into(&mut again.id);
        fixed.push((PathBuf::from("a"), again));
        let found = grouped(&fixed, &decisions, &[entry("a | b | c | d", "r")]);
        assert_eq!(found.len(), 2, "what was not tried brings none together: {found:?}");
        let two = [entry("c", "r"), entry("d", "r")];
        of(&decisions, &two, &[(&["a", "b"], false), (&["c"], true), (&["d"], true)]);
        of(&decisions, &[entry("a | c", "r")], &[(&["a", "b"], false), (&["c"], true), (&["d"], false)]);
        decisions.split(&all[2].1.id);
        of(&decisions, &[entry("a | b | c | d", "r")], &[(&["a", "b", "d"], true), (&["c"], true)]);
    }
}

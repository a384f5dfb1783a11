//! What a finding hangs on, by experiment.
//!
//! A wrong result has a reference where an optimizer switch makes the queries agree, or where another version of the engine
//! does, or where the reference evaluator knows what a query means: of the query that is wrong, it says what is right. So that query can be cut freely, as long as it still differs from
//! its reference. What is left is the *core*: the constructs that matter and hardly anything else, whatever oracle and class
//! met the bug. It serves to tell bugs apart; what is reported stays the pair that must agree, unless that is long and the
//! evaluator knows what the core must return ([`super::meaning`]).
//!
//! Without a reference, constructs are taken out of the queries that disagree, each alone. That a finding vanishes counts;
//! that it still shows says nothing, for the changed queries may differ by right.

use super::blunt::Blunt;
use super::features::features;
use super::finding::{Finding, FindingQuery};
use super::meaning::{COMPUTED, Tables, settings};
use super::neutral::{NEUTRAL, neutralised};
use super::order::Order;
use crate::compare::{Comparison, Row, compare};
use crate::dbms::Connection;
use crate::dbms::install::{known_versions, version_key};
use crate::interpret::{self, StepResult, Verdict, run};
use crate::program::{Check, Step, Text};
use crate::sql::lex::{Token, tokens};
use crate::sql::profile::{Profile, Switch};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// What was seen of what a finding hangs on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// The position of the query that is wrong, where an experiment shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<usize>,
    /// How that is known, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub known_by: String,
    /// The query that is wrong, with nothing left that does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<Core>,
    /// Constructs without which it vanishes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Constructs of the case without which it still shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shows_without: Vec<String>,
    /// Operators of the plans that only one of the two queries that disagree has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<String>,
    /// The core, or else statements and queries, without names and values.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shape: String,
    /// What the engine said, without names and values.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The last version of those tried in a row from the finding's own on that shows it, and the first that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
    /// Another target on which it shows too, if the hunt had one to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also_on: Option<String>,
}

/// Where a finding was seen to be fixed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fixed {
    /// The last version that shows it.
    pub last_bad: String,
    /// The first after it that does not; none if the newest that was tried still shows it.
    pub first_good: Option<String>,
}

impl Fixed {
    /// Whether it is known to a release: none with another minor version lies between.
    pub(super) fn in_one_release(&self, engine: &str) -> bool {
        let Some(good) = &self.first_good else { return false };
        let minor = |version: &str| {
            let key = version_key(version);
            (key.first().copied().unwrap_or_default(), key.get(1).copied().unwrap_or_default())
        };
        let (last, first) = (minor(&self.last_bad), minor(good));
        if last.0 == first.0 {
            return first.1.checked_sub(last.1).is_some_and(|ahead| ahead <= 1);
        }
        // Only who knows the versions knows which one is the last before the first of the next.
        let known = known_versions(engine);
        let between = |version: &String| last < minor(version) && minor(version) < first;
        let is_next = first.0.checked_sub(last.0) == Some(1) && first.1 == 0;
        is_next && !known.is_empty() && !known.iter().any(between)
    }
}

/// A query that differs from its reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// Statements that make its database.
    pub statements: Vec<String>,
    /// Statements before it, which it looks at the effect of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Its text.
    pub sql: String,
    /// What it is right with: a switch, another version, or the reference evaluator.
    pub reference: String,
    /// The switches with which it is right, each turned alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<String>,
    /// Cuts that were not tried because a limit was reached, at least.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Core {
    /// Its texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().chain(&self.before).map(String::as_str).chain([self.sql.as_str()])
    }
}

/// What it takes to do experiments.
pub struct Laboratory<'a> {
    /// The connection; its database is replaced for each experiment.
    pub connection: &'a mut dyn Connection,
    /// The dialect.
    pub profile: &'a Profile,
    /// Another version of the engine, with its name.
    pub reference: Option<(String, &'a mut dyn Connection)>,
    /// The switches that there are.
    pub switches: Vec<Arc<Switch>>,
    /// Called before each experiment; whether there is time for it.
    pub tick: &'a mut dyn FnMut() -> bool,
}

/// What says what is right.
enum Judge {
    Switch(Arc<Switch>),
    /// The other version.
    Version(String),
    /// The reference evaluator.
    Evaluator,
}

/// The reference evaluator, as reports name it.
const EVALUATOR: &str = "the reference evaluator";

/// Switches that turn everything off. Of a finding that another one cures they say nothing.
pub(super) const EVERYTHING: [&str; 2] = ["all-optimizations-off", "optimizer-off"];

/// Cuts that a core may cost.
const CORE_ATTEMPTS: usize = 600;

impl Laboratory<'_> {
    /// Does the experiments on a wrong result: the switches that cure it, and what else it hangs on.
    pub fn examine(&mut self, finding: &Finding) -> (Vec<String>, Cause) {
        let steps: Vec<Step> = finding.queries.iter().map(|query| query.step.clone()).collect();
        let checks = finding.checks();
        let mut cause = Cause::default();
        let (_, plain) = self.run(&finding.statements, &steps, &checks);
        // With what they were filled with, so that each can be looked at by itself.
        let settled = settled(self.profile, &steps, &plain);
        let (mut cures, mut judge) = (Vec::new(), None);
        let mut resets: HashMap<Vec<String>, bool> = HashMap::new();
        // Those that turn off one thing come first: they say more.
        let mut switches = self.switches.clone();
        switches.sort_by_key(|switch| EVERYTHING.contains(&switch.name.as_str()));
        for switch in switches {
            if self.run_under(&finding.statements, &steps, &switch, &checks).0 != Verdict::Holds {
                continue;
            }
            // What only puts back a setting of the finding's own tells who is wrong, but is not what goes wrong.
            let only_resets = *resets.entry(switch.off.clone()).or_insert_with(|| {
                let statements = [&finding.statements[..], &switch.off].concat();
                !switch.off.is_empty() && self.run(&statements, &steps, &checks).0 == Verdict::Holds
            });
            if !only_resets {
                cures.push(switch.name.clone());
            }
            if judge.is_none() {
                let (_, results) = self.run_under(&finding.statements, &settled, &switch, &[]);
                let changed = changed(&settled, &plain, &results);
                if !changed.is_empty() {
                    let why = format!("its result changes with {}, and then the queries agree", switch.name);
                    judge = Some((Judge::Switch(switch), changed, why));
                }
            }
        }
        // A query that turns one and is compared with what it means is wrong with it.
        if steps.iter().all(|step| step.evaluation.is_none()) {
            cures.extend(steps.iter().filter_map(|step| Some(step.switch.as_ref()?.name.clone())));
        }
        cures.sort();
        cures.dedup();
        if let (None, Some(name)) = (&judge, self.version())
            && let Some(results) = self.on_reference(finding, &steps, &checks, &settled)
        {
            let changed = changed(&settled, &plain, &results);
            let why = format!("{name} returns something else for it, and there the queries agree");
            judge = (!changed.is_empty()).then_some((Judge::Version(name), changed, why));
        }
        if judge.is_none() {
            let wrong: Vec<usize> = (0..settled.len())
                .filter(|at| self.differs_from_its_meaning(&finding.statements, &settled[*at]))
                .collect();
            let why = COMPUTED.to_owned();
            judge = (!wrong.is_empty()).then_some((Judge::Evaluator, wrong, why));
        }
        if let Some((judge, changed, why)) = judge {
            if let [one] = changed.as_slice() {
                (cause.wrong, cause.known_by) = (Some(*one), why);
            }
            let shortest = changed.into_iter().min_by_key(|at| settled[*at].sql.sql().len());
            cause.core = shortest.and_then(|at| self.core(finding, &settled[at], &judge));
        }
        // What the evaluator of the reference computed is right.
        let computed = |at: &&usize| steps[**at].evaluation.is_some();
        let of_check = checks.iter().find(|check| check.steps.iter().any(|at| computed(&at)));
        if let (None, Some(check)) = (cause.wrong, of_check)
            && let Some(at) = check.steps.iter().find(|at| !computed(at))
        {
            (cause.wrong, cause.known_by) = (Some(*at), COMPUTED.to_owned());
        }
        match &cause.core {
            Some(core) => {
                cause.needs = features(core.texts());
                cause.shows_without = finding.features.iter().filter(|f| !cause.needs.contains(f)).cloned().collect();
            }
            None => cause.needs = self.needs(finding, &steps, &checks),
        }
        (cures, cause)
    }

    fn run(&mut self, statements: &[String], steps: &[Step], checks: &[Check]) -> (Verdict, Vec<StepResult>) {
        (self.tick)();
        run(self.connection, self.profile, statements, steps, checks)
    }

    /// Runs steps under a switch. It is turned once, before all of them: what puts it back after each would also put back what
    /// the finding's own statements have set. Steps that turn one themselves do that, so with them it is turned for each.
    fn run_under(
        &mut self,
        statements: &[String],
        steps: &[Step],
        switch: &Arc<Switch>,
        checks: &[Check],
    ) -> (Verdict, Vec<StepResult>) {
        if switch.on.is_empty() || steps.iter().any(|step| step.switch.is_some()) {
            return self.run(statements, &under(steps, switch), checks);
        }
        let came = self.run(&[statements, &switch.on].concat(), steps, checks);
        for statement in &switch.off {
            let _ = self.connection.execute(statement);
        }
        came
    }

    fn version(&self) -> Option<String> {
        self.reference.as_ref().map(|(name, _)| name.clone())
    }

    /// What each query by itself returns on the other version, if the queries agree there.
    fn on_reference(
        &mut self,
        finding: &Finding,
        steps: &[Step],
        checks: &[Check],
        settled: &[Step],
    ) -> Option<Vec<StepResult>> {
        (self.tick)();
        let (_, connection) = self.reference.as_mut()?;
        // On other tables than the finding's they may well agree.
        let failed = interpret::make(*connection, &finding.statements).ok()?;
        if !failed.iter().map(|(at, _)| at).eq(finding.refused.iter().flatten()) {
            return None;
        }
        let (verdict, _) = run(*connection, self.profile, &finding.statements, steps, checks);
        let agree = verdict == Verdict::Holds;
        agree.then(|| run(*connection, self.profile, &finding.statements, settled, &[]).1)
    }

    /// Constructs without which a finding vanishes.
    fn needs(&mut self, finding: &Finding, steps: &[Step], checks: &[Check]) -> Vec<String> {
        let mut needs = Vec::new();
        for construct in NEUTRAL {
            if let Some((statements, steps)) = neutralised(construct, &finding.statements, steps)
                && self.run(&statements, &steps, checks).0 == Verdict::Holds
            {
                needs.push(construct.to_string());
            }
        }
        needs
    }

    /// Cuts the query that is wrong as far as it still differs from its reference.
    fn core(&mut self, finding: &Finding, wrong: &Step, judge: &Judge) -> Option<Core> {
        // A parameter has no text of its own.
        if wrong.texts().any(|text| !text.holes().is_empty()) || !wrong.parameters.is_empty() {
            return None;
        }
        let refused = finding.refused.as_deref().unwrap_or_default();
        let statements = finding.statements.iter().enumerate().filter(|(at, _)| !refused.contains(at));
        let statements = statements.map(|(_, statement)| statement.clone()).collect();
        let mut core = Finding { queries: vec![FindingQuery::from(wrong.clone())], statements, ..finding.clone() };
        let order = Order::of(&core);
        let needed = match judge {
            Judge::Evaluator => settings(&finding.statements, self.profile),
            Judge::Switch(_) | Judge::Version(_) => Vec::new(),
        };
        let mut shows = |candidate: &Finding| {
            let has_all = needed.iter().all(|setting| candidate.statements.contains(setting));
            has_all && order.is_kept(candidate) && self.differs(candidate, judge)
        };
        if !shows(&core) {
            return None;
        }
        // The same condition may be wrong in any statement.
        if let Some(query) = as_query(wrong) {
            let asked = Finding { queries: vec![FindingQuery::from(query)], ..core.clone() };
            if shows(&asked) {
                core = asked;
            }
        }
        let left_out = Blunt { shows: &mut shows, attempts: CORE_ATTEMPTS, left_out: 0 }.reduce(&mut core);
        let statements = core.statements.clone();
        let step = core.queries.pop()?.step;
        let right = self.right(&statements, &step, judge)?;
        let mut switches = Vec::new();
        let mut resets: HashMap<Vec<String>, bool> = HashMap::new();
        for switch in self.switches.clone() {
            let switched = under(std::slice::from_ref(&step), &switch);
            let is_right =
                |rows: Option<Vec<Row>>| rows.is_some_and(|rows| compare(&rows, &right) == Comparison::Equal);
            if !is_right(self.rows(&statements, &switched[0])) {
                continue;
            }
            let only_resets = *resets.entry(switch.off.clone()).or_insert_with(|| {
                let statements = [&statements[..], &switch.off].concat();
                !switch.off.is_empty() && is_right(self.rows(&statements, &step))
            });
            if !only_resets {
                switches.push(switch.name.clone());
            }
        }
        Some(Core {
            statements,
            before: step.before.iter().map(ToString::to_string).collect(),
            sql: step.sql.to_string(),
            reference: match judge {
                Judge::Switch(switch) => switch.name.clone(),
                Judge::Version(name) => name.clone(),
                Judge::Evaluator => EVALUATOR.to_owned(),
            },
            switches,
            left_out,
        })
    }

    fn differs(&mut self, candidate: &Finding, judge: &Judge) -> bool {
        let Some(step) = candidate.queries.first().map(|query| query.step.clone()) else { return false };
        let Some(rows) = self.rows(&candidate.statements, &step) else { return false };
        let right = self.right(&candidate.statements, &step, judge);
        right.is_some_and(|right| compare(&rows, &right) != Comparison::Equal)
    }

    /// What a query returns.
    fn rows(&mut self, statements: &[String], step: &Step) -> Option<Vec<Row>> {
        if !(self.tick)() {
            return None;
        }
        rows(self.connection, self.profile, statements, step)
    }

    /// What it returns where it is right.
    fn right(&mut self, statements: &[String], step: &Step, judge: &Judge) -> Option<Vec<Row>> {
        match judge {
            Judge::Switch(switch) => self.rows(statements, &under(std::slice::from_ref(step), switch)[0]),
            Judge::Version(_) => {
                let (_, connection) = self.reference.as_mut()?;
                rows(*connection, self.profile, statements, step)
            }
            Judge::Evaluator => {
                let (steps, _) = Tables::of(statements, self.profile)?.judged(step, self.profile)?;
                let (_, seen) = self.run(statements, &steps, &[]);
                seen.last()?.rows().map(<[Row]>::to_vec)
            }
        }
    }

    /// Whether checks hold by what a core names as its reference; the evaluator has been asked already.
    pub(super) fn is_right(
        &mut self,
        statements: &[String],
        steps: &[Step],
        checks: &[Check],
        reference: &str,
    ) -> bool {
        if reference == EVALUATOR {
            return true;
        }
        if let Some(switch) = self.switches.iter().find(|switch| switch.name == reference).cloned() {
            return self.run_under(statements, steps, &switch, checks).0 == Verdict::Holds;
        }
        let Some((_, connection)) = self.reference.as_mut() else { return false };
        // On other tables than the engine's own all may be well.
        interpret::make(*connection, statements).is_ok_and(|failed| failed.is_empty())
            && run(*connection, self.profile, statements, steps, checks).0 == Verdict::Holds
    }

    /// Whether a query returns other rows than the reference evaluator computes for it.
    fn differs_from_its_meaning(&mut self, statements: &[String], query: &Step) -> bool {
        let judged = Tables::of(statements, self.profile).and_then(|tables| tables.judged(query, self.profile));
        judged
            .is_some_and(|(steps, check)| matches!(self.run(statements, &steps, &[check]).0, Verdict::Violated { .. }))
    }
}

fn rows(connection: &mut dyn Connection, profile: &Profile, statements: &[String], step: &Step) -> Option<Vec<Row>> {
    let failed = interpret::make(connection, statements).ok()?;
    if !failed.is_empty() {
        return None;
    }
    interpret::rows(connection, profile, step, &|_| None).ok()
}

/// The steps under a switch. Those that turn one themselves keep it.
fn under(steps: &[Step], switch: &Arc<Switch>) -> Vec<Step> {
    let under = |step: &Step| match step.switch {
        Some(_) => step.clone(),
        None => Step { switch: Some(switch.clone()), ..step.clone() },
    };
    steps.iter().map(under).collect()
}

/// The steps with what their holes were filled with, as far as that is known.
fn settled(profile: &Profile, steps: &[Step], results: &[StepResult]) -> Vec<Step> {
    let rows = |at: usize| results.get(at)?.rows();
    let fill = |text: &mut Text| {
        if let Ok(filled) = text.filled(profile, rows) {
            *text = Text::from(filled.into_owned());
        }
    };
    let mut settled = steps.to_vec();
    for step in &mut settled {
        step.before.iter_mut().chain([&mut step.sql]).chain(&mut step.after).for_each(fill);
    }
    settled
}

/// The steps whose rows are others in two runs. Those that turn a switch are not looked at.
fn changed(steps: &[Step], plain: &[StepResult], now: &[StepResult]) -> Vec<usize> {
    let rows = |results: &[StepResult], at: usize| results.get(at).and_then(StepResult::rows).map(<[Row]>::to_vec);
    let is_other = |at: &usize| match (rows(plain, *at), rows(now, *at)) {
        (Some(before), Some(after)) => compare(&before, &after) != Comparison::Equal,
        _ => false,
    };
    (0..steps.len()).filter(|at| steps[*at].switch.is_none()).filter(is_other).collect()
}

/// A query for the rows that an UPDATE or DELETE changes, or that an INSERT inserts, in the place of what it does.
fn as_query(step: &Step) -> Option<Step> {
    let [statement] = step.before.as_slice() else { return None };
    let all = tokens(statement.sql()).ok()?;
    let spell = |tokens: &[Token]| tokens.iter().map(Token::text).collect::<String>();
    let at_top = |word: &str| {
        let mut depth = 0_usize;
        all.iter().position(|token| {
            match token {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.is_word(word)
        })
    };
    let words: Vec<&Token> = all.iter().filter(|token| matches!(token, Token::Word(_))).collect();
    let sql = match words.as_slice() {
        [first, second, ..] if first.is_word("update") => {
            format!("SELECT 1 FROM {} {}", second.text(), spell(&all[at_top("where")?..]))
        }
        [first, second, ..] if first.is_word("delete") && second.is_word("from") => {
            format!("SELECT 1 {}", spell(&all[at_top("from")?..]))
        }
        [first, ..] if first.is_word("insert") => spell(&all[at_top("select")?..]),
        _ => return None,
    };
    Some(Step { switch: step.switch.clone(), ..Step::query(sql) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;
    use crate::program::Relation;
    use crate::triage::finding::FindingKind;
    use crate::triage::finding::tests::finding;

    #[test]
    fn a_switch_that_only_puts_back_what_the_finding_set_is_no_cure() {
        let mut one = finding();
        one.kind = FindingKind::WrongResult;
        // The second query is another one with this setting, which stands for a bug that shows with it only.
        one.statements = vec!["PRAGMA case_sensitive_like = ON".to_owned(), "CREATE TABLE t(a)".to_owned()];
        let queries = ["SELECT 1", "SELECT 'a' LIKE 'A'"];
        one.queries = queries.map(|sql| FindingQuery::from(Step::query(sql))).into();
        one.checks = Some(vec![Check { relation: Relation::EqualBag, steps: vec![0, 1] }]);
        let switch = |name: &str, on: &str, off: &str| {
            let (on, off) = (vec![on.to_owned()], vec![off.to_owned()]);
            Arc::new(Switch { name: name.to_owned(), on, off, ..Switch::default() })
        };
        let (like_off, other) = ("PRAGMA case_sensitive_like = OFF", "PRAGMA cache_size = 100");
        let profile = catalogue::profile("sqlite").expect("shipped");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("linked");
        let mut laboratory = Laboratory {
            connection: &mut connection,
            profile: &profile,
            reference: None,
            switches: vec![
                switch("replaces the setting", like_off, like_off),
                switch("resets it afterwards", other, like_off),
                switch("cures", like_off, other),
                switch("does not", other, other),
            ],
            tick: &mut || true,
        };
        assert_eq!(laboratory.examine(&one).0, ["cures"]);
    }

    #[test]
    fn what_a_statement_changes_is_a_query() {
        let asked = |statement: &str| {
            let step =
                Step { before: vec![statement.to_owned().into()], undone: true, ..Step::query("SELECT * FROM t") };
            as_query(&step).map(|step| (step.sql.to_string(), step.undone, step.before.len()))
        };
        let some = |sql: &str| Some((sql.to_owned(), false, 0));
        assert_eq!(asked("UPDATE t SET a = (SELECT 1 WHERE 1) WHERE a IN (2)"), some("SELECT 1 FROM t WHERE a IN (2)"));
        assert_eq!(asked("DELETE FROM t WHERE a"), some("SELECT 1 FROM t WHERE a"));
        assert_eq!(asked("INSERT INTO t(a) SELECT b FROM u"), some("SELECT b FROM u"));
        assert_eq!(asked("UPDATE t SET a = 1"), None);
        assert_eq!(asked("INSERT INTO t VALUES (1)"), None);
    }
}

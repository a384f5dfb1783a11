//! A case: the query for the next state, and the statement with what is looked at after it.

use super::aside::Seen;
use super::change::{Change, text_of};
use super::look::{Look, Reading, computed, valid};
use super::{Kind, StateDatabase};
use crate::oracle::language::Told;
use crate::oracle::{Case, SharedCase, Use};
use crate::program::{Assumption, Effect, Expected, Meaning, Program, Relation, Step};
use crate::rng::{Rng, chance};
use crate::sql::profile::Typing;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::rc::Rc;
use std::sync::Arc;

/// What the steps of a case are, by their `member`.
const NEXT: usize = 0;
const AFTER: usize = 1;
const VALID: usize = 2;
const SCANNED: usize = 3;
const INDEXED: usize = 4;
const CHOSEN: usize = 5;
const CHANGED: usize = 6;
const RETURNED: usize = 7;
const RETURNING: usize = 8;
const BEFORE: usize = 9;
const FAILED: usize = 10;
const COMPUTED: usize = 11;
const NEXT_ASIDE: usize = 12;
const ASIDE: usize = 13;
const OBSERVED: usize = 14;
const MEANING: usize = 15;
const CONTEXTS: [&str; 16] = [
    "the next state, from the state before",
    "the table afterwards",
    "the next state, as far as it keeps the constraints",
    "rows of the table afterwards, by a scan",
    "rows of the table afterwards, through an index",
    "the number of rows to be changed",
    "the number of rows that were changed",
    "the rows to be returned",
    "the rows that RETURNING gives",
    "the table before",
    "the table after the statement failed",
    "rows of the table afterwards whose generated columns have the values of their expressions",
    "the next state of the table that is changed beside it, from the state before",
    "the table that is changed beside it, afterwards",
    "the rows of a table before",
    "what must be seen, by the reference evaluator",
];

/// Characters that every text column holds.
const TEXT_MAX: usize = 40;

/// A statement and what is looked at after it.
#[derive(Clone)]
pub(super) struct StateCase<'a> {
    kind: Kind,
    change: Change<'a>,
    /// Whether what is looked at is the table that a trigger or a foreign key changes.
    aside: bool,
    look: Look,
    /// What the query means that comes first, where that was looked for and it seems to have a meaning.
    meaning: Option<Arc<Meaning>>,
}

impl<'a> StateCase<'a> {
    /// A case of a kind.
    pub(super) fn draw(on: &'a StateDatabase<'a>, kind: Kind, rng: &mut Rng) -> Self {
        let change = Change::draw(on, kind, rng);
        let aside = kind.has_aside() && chance(rng, 75);
        let at = if aside { change.aside(kind).and_then(|seen| seen.at) } else { Some(change.target) };
        let look = match rng.random_range(0..10) {
            0..4 => at.and_then(|at| Reading::draw(&change, at, rng)).map(Look::Index),
            _ if aside => None,
            4 => change.count().filter(|_| kind != Kind::Failing).map(|_| Look::Count),
            5 => change.returned().filter(|_| kind != Kind::Failing).map(|_| Look::Returning),
            6 => computed(on, change.target).filter(|_| kind != Kind::Failing).map(Look::Generated),
            7 => valid(&change, "").filter(|_| kind != Kind::Failing && !change.collates()).map(|_| Look::Constraints),
            _ => None,
        };
        let mut case = Self { kind, change, aside, look: look.unwrap_or(Look::Rows), meaning: None };
        if let Some(told) = case.judge() {
            case.meaning = told.meaning(&case.evaluated(), on.profile());
        }
        case
    }

    /// What the reference evaluator knows, where it judges.
    fn judge(&self) -> Option<&'a Told> {
        self.change.on.told.as_ref().filter(|_| self.kind != Kind::Failing)
    }

    /// Whether it is to be judged by the reference evaluator and has no meaning for it.
    pub(super) fn lacks_meaning(&self) -> bool {
        self.judge().is_some() && self.meaning.is_none()
    }

    /// The query that comes first, as the evaluator reads it.
    fn evaluated(&self) -> String {
        let change = Change { evaluated: true, ..self.change.clone() };
        let other = Self { change, meaning: None, ..self.clone() };
        other.first(&other.seen()).1
    }

    /// One that looks at all rows.
    pub(super) fn plain(on: &'a StateDatabase<'a>, kind: Kind, rng: &mut Rng) -> Self {
        Self { kind, change: Change::draw(on, kind, rng), aside: kind.has_aside(), look: Look::Rows, meaning: None }
    }

    /// The table that is looked at.
    fn seen(&self) -> Seen {
        let aside = if self.aside { self.change.aside(self.kind) } else { None };
        aside.unwrap_or_else(|| self.change.changed())
    }

    /// The query whose rows the first look must give.
    fn first(&self, seen: &Seen) -> (usize, String) {
        let change = &self.change;
        match self.look {
            _ if self.aside => (NEXT_ASIDE, seen.next.clone()),
            _ if self.kind == Kind::Failing => (BEFORE, format!("SELECT {} FROM {}", change.old(), change.table())),
            Look::Count => (CHOSEN, change.count().unwrap_or_default()),
            Look::Returning => (RETURNED, change.returned().unwrap_or_default()),
            Look::Rows | Look::Index(_) | Look::Constraints | Look::Generated(_) => (NEXT, seen.next.clone()),
        }
    }

    /// Writes the statement, with the rest of a query for its table from FROM on.
    fn write_after(&self, seen: &Seen, from: &str, step: &mut Step) {
        step.before.push(self.change.statement().into());
        step.sql.push_str(&format!("SELECT {} FROM {from}", seen.list()));
        step.undone = true;
        step.effect = Effect::Rows;
        step.failing = self.kind == Kind::Failing;
    }
}

impl<'a> Case<'a> for StateCase<'a> {
    fn program(&self, into: &mut Program) {
        let seen = &self.seen();
        let table = &*seen.table;
        let after = match self.kind {
            Kind::Failing => FAILED,
            _ if self.aside => ASIDE,
            _ => AFTER,
        };
        let (member, first) = self.first(seen);
        into.add_step(member, None).sql.push_str(&first);
        match &self.look {
            Look::Rows => {
                self.write_after(seen, table, into.add_step(after, None));
                into.add_check(Relation::EqualBag, [0, 1]);
            }
            Look::Index(reading) => {
                if reading.filter.is_some() {
                    self.write_after(seen, table, into.add_step(after, None));
                    self.write_after(seen, &reading.from(false), into.add_step(SCANNED, None));
                    into.add_check(Relation::EqualBag, [0, 1]);
                    into.add_check(Relation::EqualBag, [2, 3]);
                } else {
                    self.write_after(seen, &reading.from(false), into.add_step(after, None));
                    into.add_check(Relation::EqualBag, [0, 1, 2]);
                }
                let step = into.add_step(INDEXED, reading.switch.clone());
                self.write_after(seen, &reading.from(true), step);
                // Not every query can be answered through an index.
                step.optional = true;
            }
            Look::Constraints => {
                self.write_after(seen, table, into.add_step(after, None));
                into.add_step(VALID, None).sql.push_str(&valid(&self.change, &first).unwrap_or(first));
                // Whether a state is left that breaks a constraint is seen in the table alone: most statements fail then.
                into.add_check(Relation::EqualBag, [0, 1]);
                into.add_check(Relation::EqualBag, [1, 2]);
            }
            Look::Generated(condition) => {
                self.write_after(seen, table, into.add_step(after, None));
                self.write_after(seen, &format!("{table} WHERE {condition}"), into.add_step(COMPUTED, None));
                into.add_check(Relation::EqualBag, [0, 1, 2]);
            }
            Look::Count => {
                let step = into.add_step(CHANGED, None);
                step.before.push(self.change.statement().into());
                step.undone = true;
                step.effect = Effect::Count;
                into.add_check(Relation::EqualBag, [0, 1]);
            }
            Look::Returning => {
                let step = into.add_step(RETURNING, None);
                let columns: Vec<&str> = self.change.observed().iter().map(|column| &*column.name).collect();
                step.sql.push_str(&format!("{} RETURNING {}", self.change.statement(), columns.join(", ")));
                step.undone = true;
                step.effect = Effect::Rows;
                into.add_check(Relation::EqualBag, [0, 1]);
            }
        }
        if let Some(told) = self.judge() {
            // A query and a statement that are wrong alike agree.
            let tables = told.observe(into, OBSERVED, |_| true);
            let evaluated = into.steps().len();
            let step = into.add_step(MEANING, None);
            step.sql.push_str(&self.evaluated());
            step.evaluation = Some(told.evaluation(tables, self.meaning.clone()));
            into.add_check(Relation::EqualBag, [1, evaluated]);
        }
    }

    fn describe(&self) -> Vec<String> {
        vec![self.change.statement()]
    }

    fn assumptions(&self, _program: &Program, _steps: &[usize]) -> Vec<Assumption> {
        let change = &self.change;
        let seen = self.seen();
        let (_, first) = self.first(&seen);
        let mut assumptions = vec![Assumption {
            text: "the query has the same rows each time".to_owned(),
            sql: first.as_str().into(),
            expected: Expected::Same(first.as_str().into()),
        }];
        if self.kind == Kind::Failing {
            return assumptions;
        }
        let dynamic = change.profile().typing == Typing::Dynamic;
        for (set, relation) in change.values().into_iter().filter(|(set, _)| set.raw && dynamic) {
            let value = text_of(&set.value);
            let (from, count) = match relation {
                Some(relation) => (format!(" FROM {relation}"), format!("(SELECT COUNT(*) FROM {relation})")),
                None => (String::new(), "1".to_owned()),
            };
            assumptions.push(Assumption {
                text: format!("every value is of the column's type: {value}"),
                sql: format!("SELECT ({value}), {count}{from}").into(),
                expected: Expected::Type(set.column.ty),
            });
        }
        // A trigger and a foreign key see what the table has afterwards.
        for Seen { columns, next, .. } in [change.changed(), seen].into_iter().take(1 + usize::from(self.aside)) {
            let texts = columns.iter().filter(|(_, ty)| *ty == Some(SqlType::Text));
            let long: Vec<String> = texts.map(|(name, _)| format!("LENGTH(q.{name}) > {TEXT_MAX}")).collect();
            if !dynamic && !long.is_empty() {
                // Blanks that a column has no room for may be cut off.
                assumptions.push(Assumption {
                    text: "every text has room in its column".to_owned(),
                    sql: format!("SELECT 1 FROM ({next}) AS q WHERE {}", long.join(" OR ")).into(),
                    expected: Expected::NoRows,
                });
            }
        }
        assumptions.extend(change.meets_rows_once());
        if self.kind == Kind::Trigger {
            assumptions.extend(change.triggers_are_there());
        }
        assumptions
    }

    fn parts(&self) -> usize {
        3
    }

    fn smaller(&self, part: usize) -> Vec<SharedCase<'a>> {
        let changes = self.change.smaller(part).into_iter();
        changes.map(|change| Rc::new(Self { change, meaning: None, ..self.clone() }) as SharedCase<'a>).collect()
    }

    fn rests_on_definitions(&self) -> bool {
        // A row that breaks a constraint is right where there is none, and so is one that has the key of another.
        matches!(self.look, Look::Constraints)
            || self.change.kind.needs_key()
            || [Kind::UpsertClauses, Kind::ForeignKey].contains(&self.kind)
    }

    fn context(&self, step: &Step) -> Option<&str> {
        CONTEXTS.get(step.member).copied()
    }

    fn blamed(&self, _steps: &[&Step]) -> Option<&str> {
        Some(self.kind.name())
    }

    fn uses(&self, note: &mut dyn FnMut(Use<'_>)) {
        self.change.nodes().into_iter().for_each(|node| {
            node.operators(&mut |op| note(Use::Operator(&op.sql)));
        });
    }
}

//! A case: the statements that store an operation's results, and the queries over both.

use super::operation::{self, KEY, Operation};
use super::query::{Face, Query, Site};
use super::{EdcDatabase, STORED};
use crate::oracle::expressions::TABLE;
use crate::oracle::{Case, SharedCase, Use};
use crate::program::{Assumption, Expected, Fold, Program, Relation, Step, Text};
use crate::sql::profile::ColumnType;
use crate::sql::types::SqlType;
use std::rc::Rc;
use std::sync::Arc;

/// What the steps of a case are, by their `member`.
const TYPE: usize = 0;
const IN_PLACE: usize = 1;
const RESULTS: usize = 2;
const CONTEXTS: [&str; 3] = ["the type of the operation", "the operation in place", "its results, stored"];

/// How the results come into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// CREATE TABLE AS.
    TableAs,
    /// A column of the type that the engine says, and INSERT.
    Typed,
    /// A generated column of that type, by the position of its template.
    Generated(usize),
}

/// Indexes of the table of results: their columns and predicate.
pub(super) const INDEXES: [&str; 3] = ["(r)", "(r, #K)", "(r) WHERE r IS NOT NULL"];

/// A query over an operation and over its results.
#[derive(Clone)]
pub(super) struct EdcCase<'a> {
    pub(super) on: &'a EdcDatabase<'a>,
    pub(super) operation: Operation,
    /// Columns that the rows of the results have besides.
    pub(super) carried: Vec<Arc<str>>,
    pub(super) way: Way,
    pub(super) index: Option<&'static str>,
    pub(super) query: Query,
}

impl EdcCase<'_> {
    fn site(&self) -> Site<'_> {
        Site { operation: &self.operation, carried: &self.carried }
    }

    /// The statements that make the table of results. The first step gives the type, where one is declared.
    fn store(&self, step: &mut Step) {
        let profile = self.on.oracle.profile();
        let columns = &profile.snippet_table.columns;
        let int = profile.declared(&ColumnType::Class(SqlType::Int));
        let declared = |name: &Arc<str>| {
            let ty = columns.get(&**name).map_or(int, |ty| profile.declared(ty));
            format!("{name} {ty}, ")
        };
        let results = self.operation.query(&self.carried, TABLE);
        let create = format!("CREATE TABLE {STORED}");
        match (self.way, &self.operation) {
            (Way::Generated(at), Operation::Scalar(snippet)) => {
                let mut all: Vec<Arc<str>> = vec![KEY.into()];
                all.extend(snippet.columns.iter().map(|(name, _)| Arc::from(name.as_str())));
                all.extend(
                    self.carried.iter().filter(|name| !snippet.columns.iter().any(|(n, _)| **n == ***name)).cloned(),
                );
                let names = all.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
                let template = &self.on.oracle.capabilities.generated_columns[at];
                let template = template.replace("#E", &operation::rendered(snippet, ""));
                let mut text = Text::from(format!("{create}({}r ", all.iter().map(declared).collect::<String>()));
                let (before, after) = template.split_once("#D").unwrap_or(("", &template));
                text.push_str(before);
                text.push_hole(0, Fold::Name);
                text.push_str(after);
                text.push_str(")");
                step.before.push(text);
                step.before.push(format!("INSERT INTO {STORED}({names}) SELECT {names} FROM {TABLE}").into());
            }
            (Way::Typed, _) => {
                let keys = self.operation.keys();
                let besides = self.carried.iter().filter(|name| !keys.contains(name));
                let all: Vec<Arc<str>> = keys.iter().chain(besides).cloned().collect();
                let names: String = all.iter().flat_map(|name| [name, ", "]).collect();
                let mut text = Text::from(format!("{create}({}r ", all.iter().map(declared).collect::<String>()));
                text.push_hole(0, Fold::Name);
                text.push_str(")");
                step.before.push(text);
                step.before.push(format!("INSERT INTO {STORED}({names}r) {results}").into());
            }
            (Way::TableAs | Way::Generated(_), _) => step.before.push(format!("{create} AS {results}").into()),
        }
        if let Some(index) = self.index {
            let keys = self.operation.keys().join(", ");
            step.before.push(format!("CREATE INDEX t_results ON {STORED}{}", index.replace("#K", &keys)).into());
        }
        step.after.push(format!("DROP TABLE {STORED}").into());
    }
}

impl<'a> Case<'a> for EdcCase<'a> {
    fn program(&self, into: &mut Program) {
        let stored = self.on.oracle.profile().stored.as_ref();
        let mut at = 0;
        if let Some(stored) = stored.filter(|_| self.way != Way::TableAs) {
            let step = into.add_step(TYPE, None);
            let results = self.operation.query(&self.carried, TABLE);
            step.before.push(stored.made.replace("#I", &results).into());
            step.sql.push_str(&stored.ty);
            step.after.push(stored.dropped.as_str().into());
            at = 1;
        }
        let in_place = into.add_step(IN_PLACE, None);
        in_place.sql.push_str(&self.query.write(&self.site(), Face::InPlace));
        let step = into.add_step(RESULTS, None);
        self.store(step);
        step.sql.push_str(&self.query.write(&self.site(), Face::Stored));
        into.add_check(Relation::EqualBag, [at, at + 1]);
    }

    fn describe(&self) -> Vec<String> {
        vec![self.operation.text(TABLE)]
    }

    fn uses(&self, note: &mut dyn FnMut(Use<'_>)) {
        self.operation.uses(note);
    }

    fn assumptions(&self, _program: &Program, _steps: &[usize]) -> Vec<Assumption> {
        let site = self.site();
        let (value, from) = (site.value(Face::InPlace, "q0"), site.from(Face::InPlace, "q0"));
        let text = self.operation.text(TABLE);
        let counted = format!("SELECT {value}, (SELECT COUNT(*) FROM {}) FROM {from}", site.from(Face::InPlace, "q1"));
        let one_value = |text: String, expected| Assumption { text, sql: counted.as_str().into(), expected };
        let mut assumptions =
            vec![one_value(format!("one value per row, the same each time: {text}"), Expected::RowCount)];
        let exact = self.on.oracle.profile().stored.as_ref().is_some_and(|stored| stored.exact);
        if let Some(ty) = self.operation.ty().filter(|_| !exact && self.query.needs_type()) {
            assumptions.push(one_value(format!("a type that a column keeps: {text}"), Expected::Type(ty)));
        }
        let shape = self.query.shape.name();
        for exception in self.on.oracle.profile().context_exceptions.iter().filter(|exception| exception.covers(shape))
        {
            if let Some(changed) = exception.changed(&format!("SELECT 0, {value} FROM {from}")) {
                let text = format!("{shape} keeps the value: {text}");
                assumptions.push(Assumption { text, sql: changed.into(), expected: Expected::NoRows });
            }
        }
        if !matches!(self.operation, Operation::Scalar(_)) {
            let turned = format!("(SELECT * FROM {TABLE} ORDER BY {KEY} DESC LIMIT 1000)");
            assumptions.push(Assumption {
                text: format!("the same results whatever the order of the rows: {text}"),
                sql: self.operation.query(&self.carried, TABLE).into(),
                expected: Expected::Same(self.operation.query(&self.carried, &turned).into()),
            });
        }
        assumptions
    }

    fn parts(&self) -> usize {
        2
    }

    fn smaller(&self, part: usize) -> Vec<SharedCase<'a>> {
        let mut smaller = Vec::new();
        if part == 0 {
            if self.index.is_some() {
                smaller.push(Self { index: None, ..self.clone() });
            }
            smaller.extend(self.query.smaller(self.on).into_iter().map(|query| Self { query, ..self.clone() }));
            for at in 0..self.carried.len() {
                let mut carried = self.carried.clone();
                carried.remove(at);
                if !matches!(self.operation, Operation::Aggregate(_)) {
                    smaller.push(Self { carried, ..self.clone() });
                }
            }
        } else {
            for operation in self.operation.smaller(self.on.oracle) {
                let carried = operation.carried(&self.carried);
                smaller.push(Self { operation, carried, ..self.clone() });
            }
        }
        smaller.into_iter().map(|case| Rc::new(case) as SharedCase<'a>).collect()
    }

    fn left_out(&self, part: usize) -> usize {
        if part == 0 { 0 } else { self.operation.left_out() }
    }

    fn context(&self, step: &Step) -> Option<&str> {
        CONTEXTS.get(step.member).copied()
    }

    fn blamed(&self, _steps: &[&Step]) -> Option<&str> {
        Some(self.query.shape.name())
    }
}

//! The `spec` oracle: a query returns the rows that the prover's reference evaluator computes for it.
//!
//! The evaluator is an executable specification of SQL with bags and NULL. The other oracles compare what an engine says
//! with what it says elsewhere, and miss a fault that is the same everywhere; this one sees it. Its queries are members of
//! classes of the catalogue, proven or not, filled with expressions of the evaluator's language. What dialects define in
//! different ways makes a case void, with the reason.

use super::caq::{CaqDatabase, CaqOracle};
use super::language::{Told, in_language, keep_known};
use super::{Accepts, Case, Oracle, Registration, Setting, SharedCase, TestDatabase};
use crate::caq::instantiation::TableInstantiation;
use crate::generate::TableInfo;
use crate::generate::database::Database;
use crate::program::{Assumption, Meaning, Program, Relation, Step};
use crate::rng::Rng;
use crate::sql::profile::Profile;
use rand::RngExt as _;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Its name.
pub const NAME: &str = "spec";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "a query returns what the reference evaluator computes",
    of_catalogue: true,
    open: |setting, accepts| (!setting.catalogue.is_empty()).then(|| Box::new(Spec::new(&setting, accepts)) as _),
};

/// Cases drawn until one has a meaning.
const DRAWS: usize = 6;

/// What the steps of a case are.
const OBSERVED: &str = "the rows of a table";
const QUERY: &str = "the query";
const MEANING: &str = "what it means, by the reference evaluator";

/// The oracle, for one target.
struct Spec {
    /// Makes the queries.
    queries: CaqOracle,
    profile: Arc<Profile>,
}

impl Spec {
    fn new(setting: &Setting, accepts: Accepts) -> Self {
        let profile = setting.capabilities.profile.clone();
        let capabilities = Arc::new(in_language(&setting.capabilities));
        let setting = Setting { capabilities, snippet_percent: 0, may_fail_percent: 0, ..*setting };
        Self { queries: CaqOracle::new(setting, accepts), profile }
    }
}

impl Oracle for Spec {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A case takes some five times as long as one of `caq`.
    fn share(&self) -> u32 {
        1
    }

    fn classes(&self) -> Vec<&str> {
        self.queries.classes()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        self.queries.unused()
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        Box::new(SpecDatabase::new(self, self.queries.generate(rng)))
    }
}

struct SpecDatabase<'a> {
    oracle: &'a Spec,
    queries: CaqDatabase<'a>,
    /// The tables, without repetitions.
    told: Told,
}

impl<'a> SpecDatabase<'a> {
    fn new(oracle: &'a Spec, mut queries: CaqDatabase<'a>) -> Self {
        queries.database_mut().tables.iter_mut().for_each(keep_known);
        let mut tables: Vec<TableInfo> = queries.database().tables.clone();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables.dedup_by(|a, b| a.name == b.name);
        let told = Told::new(tables, &oracle.profile);
        if told.is_read() {
            narrow(queries.database_mut(), |sql| told.meaning(sql, &oracle.profile).is_some());
        }
        Self { oracle, queries, told }
    }
}

/// Leaves out of a database what cases of it would have no meaning with.
fn narrow(database: &mut Database, has_meaning: impl Fn(&str) -> bool) {
    let Database { tables, table_fills, table_origins, favourites, .. } = database;
    for ((table, fills), origins) in tables.iter().zip(table_fills).zip(table_origins) {
        let is_meant = |fill: &TableInstantiation| match fill {
            TableInstantiation::Name(name) => tables.iter().any(|table| table.name == *name),
            TableInstantiation::Derived(query) | TableInstantiation::Cte { query, .. } => has_meaning(query),
        };
        if fills.is_empty() {
            continue;
        }
        let all = std::mem::take(fills).into_iter().zip(std::mem::take(origins));
        (*fills, *origins) = all.filter(|(fill, _)| is_meant(fill)).unzip();
        if fills.is_empty() {
            fills.push(TableInstantiation::Name(table.name.clone()));
            origins.push(None);
        }
    }
    for (table, favourites) in tables.iter().zip(favourites) {
        favourites.retain(|favourite| {
            let mut sql = "SELECT 1 FROM ".to_owned();
            sql.push_str(&table.name);
            sql.push_str(" AS q WHERE ");
            favourite.render("q", &mut sql);
            has_meaning(&sql)
        });
    }
}

impl TestDatabase for SpecDatabase<'_> {
    fn oracle(&self) -> &'static str {
        NAME
    }

    fn class(&self) -> &str {
        self.queries.class()
    }

    fn may_drop(&self, table: &str, column: &str) -> bool {
        self.queries.may_drop(table, column)
    }

    fn epochs(&self) -> &[Vec<String>] {
        self.queries.epochs()
    }

    fn case<'a>(&'a self, rng: &mut Rng) -> SharedCase<'a> {
        let mut draw = || SpecCase::new(self, self.queries.case(rng), |members| rng.random_range(0..members));
        let mut case = draw();
        for _ in 1..DRAWS {
            if case.meaning.is_some() {
                break;
            }
            case = draw();
        }
        Rc::new(case)
    }
}

/// One of the queries of a case of a class, on what it reads.
struct SpecCase<'a> {
    on: &'a SpecDatabase<'a>,
    queries: SharedCase<'a>,
    /// The query's position among those of the class's case.
    member: usize,
    query: Step,
    /// What it means, if it has a meaning.
    meaning: Option<Arc<Meaning>>,
}

impl<'a> SpecCase<'a> {
    /// Most cases are only looked at once, so what is certain of their meaning is found out where a check is violated.
    fn new(on: &'a SpecDatabase<'a>, queries: SharedCase<'a>, choose: impl FnOnce(usize) -> usize) -> Self {
        let mut program = Program::default();
        queries.program(&mut program);
        let member = choose(program.steps().len().max(1));
        let query = program.steps().get(member).cloned().unwrap_or_default();
        Self::of(on, queries, member, query)
    }

    fn of(on: &'a SpecDatabase<'a>, queries: SharedCase<'a>, member: usize, query: Step) -> Self {
        let meaning = on.told.meaning(query.sql.sql(), &on.oracle.profile);
        Self { on, queries, member, query, meaning }
    }
}

impl<'a> Case<'a> for SpecCase<'a> {
    fn program(&self, into: &mut Program) {
        let reads = |at| self.meaning.as_ref().is_some_and(|meaning| meaning.reads(at));
        // The query comes first: a smaller one may read fewer tables, and keeps its position.
        let observed = into.steps().len();
        let query = into.add_step(self.query.member, self.query.switch.clone());
        query.sql.push_text(&self.query.sql);
        let tables = self.on.told.observe(into, self.query.member, reads);
        let position = into.steps().len();
        let evaluated = into.add_step(self.query.member, None);
        evaluated.sql.push_text(&self.query.sql);
        evaluated.evaluation = Some(self.on.told.evaluation(tables, self.meaning.clone()));
        into.add_check(Relation::EqualBag, [observed, position]);
    }

    fn describe(&self) -> Vec<String> {
        self.queries.describe()
    }

    fn assumptions(&self, program: &Program, steps: &[usize]) -> Vec<Assumption> {
        self.queries.assumptions(program, steps)
    }

    fn parts(&self) -> usize {
        self.queries.parts()
    }

    fn smaller(&self, part: usize) -> Vec<SharedCase<'a>> {
        let with = |queries| {
            let mut smaller = Self::new(self.on, queries, |_| self.member);
            smaller.query.switch.clone_from(&self.query.switch);
            Rc::new(smaller) as SharedCase<'a>
        };
        self.queries.smaller(part).into_iter().map(with).collect()
    }

    /// Without the switch that the query turns.
    fn pairs(&self) -> Vec<SharedCase<'a>> {
        let plain = Step { switch: None, ..self.query.clone() };
        let case = || Rc::new(Self::of(self.on, self.queries.clone(), self.member, plain)) as SharedCase<'a>;
        self.query.switch.is_some().then(case).into_iter().collect()
    }

    fn context(&self, step: &Step) -> Option<&str> {
        Some(match &step.evaluation {
            Some(_) => MEANING,
            None if step.sql == self.query.sql => QUERY,
            None => OBSERVED,
        })
    }

    fn only_subquery(&self) -> Option<usize> {
        self.queries.only_subquery()
    }
}

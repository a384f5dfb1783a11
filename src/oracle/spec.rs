//! The `spec` oracle: a query returns the rows that the prover's reference evaluator computes for it.
//!
//! The evaluator is an executable specification of SQL with bags and NULL. The other oracles compare what an engine says
//! with what it says elsewhere, and miss a fault that is the same everywhere; this one sees it. Its queries are members of
//! classes of the catalogue, proven or not, filled with expressions of the evaluator's language, and generated ones of any
//! shape. What dialects define in different ways makes a case void, with the reason.

use super::caq::{CaqDatabase, CaqOracle};
use super::language::{Told, in_language, keep_known};
use super::{Accepts, Case, GENERATED, Oracle, Registration, Setting, SharedCase, TestDatabase};
use crate::caq::class::{ClassText, MemberText, OracleClass};
use crate::caq::instantiation::TableInstantiation;
use crate::caq::query::Caq;
use crate::generate::database::Database;
use crate::generate::expr::ExprGenerator;
use crate::generate::query::{Feature, Queries};
use crate::generate::seed::{Generator, Options};
use crate::generate::{Capabilities, TableInfo};
use crate::program::{Assumption, Meaning, Program, Relation, Step};
use crate::rng::{Rng, chance};
use crate::sql::cuts::cuts;
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
    open: |setting, accepts| setting.has_queries().then(|| Box::new(Spec::new(&setting, accepts)) as _),
};

/// Cases drawn until one has a meaning.
const DRAWS: usize = 6;

/// In how many of a hundred databases the queries are generated.
const GENERATED_PERCENT: u32 = 50;

/// In how many of a hundred cases of these the query is the seed that the tables were made for.
const SEED_PERCENT: u32 = 15;

/// Seeds drawn for one of whose tables the target enforces all constraints.
const SEEDS: usize = 24;

/// What the steps of a case are.
const OBSERVED: &str = "the rows of a table";
const QUERY: &str = "the query";
const MEANING: &str = "what it means, by the reference evaluator";

/// The oracle, for one target.
struct Spec {
    /// Makes the queries that are members of classes.
    queries: CaqOracle,
    /// Makes tables for generated ones, if they are wanted.
    generator: Option<Generator>,
    /// What the target takes in the language of the evaluator.
    capabilities: Arc<Capabilities>,
    /// What it takes of what generated queries may have.
    takes: Vec<Feature>,
    profile: Arc<Profile>,
}

impl Spec {
    fn new(setting: &Setting, accepts: Accepts) -> Self {
        let profile = setting.capabilities.profile.clone();
        let capabilities = Arc::new(in_language(&setting.capabilities));
        let takes = Feature::PROBES.into_iter().filter(|(_, sql)| accepts(&[], sql).is_ok());
        let takes = takes.map(|(feature, _)| feature).collect();
        let generator = if setting.generates() { Generator::new(0, &Options::default()).ok() } else { None };
        let setting =
            Setting { capabilities: capabilities.clone(), snippet_percent: 0, may_fail_percent: 0, ..*setting };
        Self { queries: CaqOracle::new(setting, accepts), generator, capabilities, takes, profile }
    }

    /// A seed as a class, over whose tables generated queries are.
    fn seed(&self, generator: &Generator, rng: &mut Rng) -> Option<OracleClass> {
        let holds = |class: &OracleClass| {
            !class.names.relations.iter().any(|table| self.capabilities.enforced.lacks(table).is_some())
        };
        let seeds = (0..SEEDS).filter_map(|_| class_of(generator.seed(rng.random()).caq)).find(holds);
        seeds.or_else(|| {
            class_of(Caq {
                schema: "CREATE TABLE t1(c0 INT)".to_owned(),
                placeholders: BTreeMap::new(),
                sql: "SELECT t1.c0 FROM t1".to_owned(),
            })
        })
    }
}

/// A query as a class, which has two members.
fn class_of(caq: Caq) -> Option<OracleClass> {
    let text = ClassText {
        name: GENERATED.to_owned(),
        origin: String::new(),
        about: String::new(),
        schema: caq.schema,
        placeholders: caq.placeholders,
        members: vec![MemberText::Sql(caq.sql.clone()), MemberText::Sql(caq.sql)],
        dialects: Vec::new(),
        assumes: Vec::new(),
    };
    OracleClass::new(NAME, text).ok()
}

impl Oracle for Spec {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A case takes some five times as long as one of `caq`.
    fn share(&self) -> u32 {
        5
    }

    fn classes(&self) -> Vec<&str> {
        let generated = self.generator.as_ref().map(|_| GENERATED);
        self.queries.classes().into_iter().chain(generated).collect()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        self.queries.unused()
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        let has_classes = !self.queries.classes().is_empty();
        if let Some(generator) = &self.generator
            && (!has_classes || chance(rng, GENERATED_PERCENT))
            && let Some(class) = self.seed(generator, rng)
        {
            return Box::new(SpecDatabase::new(self, true, self.queries.generate_for(class, rng)));
        }
        Box::new(SpecDatabase::new(self, false, self.queries.generate(rng)))
    }
}

struct SpecDatabase<'a> {
    oracle: &'a Spec,
    /// Whether queries over its tables are generated.
    generates: bool,
    queries: CaqDatabase<'a>,
    /// The tables, without repetitions.
    told: Told,
}

impl<'a> SpecDatabase<'a> {
    fn new(oracle: &'a Spec, generates: bool, mut queries: CaqDatabase<'a>) -> Self {
        queries.database_mut().tables.iter_mut().for_each(keep_known);
        let mut tables: Vec<TableInfo> = queries.database().tables.clone();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables.dedup_by(|a, b| a.name == b.name);
        let told = Told::new(tables, &oracle.profile);
        if told.is_read() {
            narrow(queries.database_mut(), |sql| told.meaning(sql, &oracle.profile).is_some());
        }
        Self { oracle, generates, queries, told }
    }

    /// Writes a query, the tables that it reads and what it means, which must agree with it.
    fn compare(&self, query: &Step, meaning: Option<&Arc<Meaning>>, into: &mut Program) {
        let reads = |at| meaning.is_some_and(|meaning| meaning.reads(at));
        // The query comes first: a smaller one may read fewer tables, and keeps its position.
        let observed = into.steps().len();
        into.add_step(query.member, query.switch.clone()).sql.push_text(&query.sql);
        let tables = self.told.observe(into, query.member, reads);
        let position = into.steps().len();
        let evaluated = into.add_step(query.member, None);
        evaluated.sql.push_text(&query.sql);
        evaluated.evaluation = Some(self.told.evaluation(tables, meaning.cloned()));
        into.add_check(Relation::EqualBag, [observed, position]);
    }

    /// What a step of a case is, of which this is the query.
    fn context(query: &Step, step: &Step) -> &'static str {
        match &step.evaluation {
            Some(_) => MEANING,
            None if step.sql == query.sql => QUERY,
            None => OBSERVED,
        }
    }

    /// A query over its tables.
    fn generated(&self, rng: &mut Rng) -> GeneratedCase<'_> {
        let database = self.queries.database();
        let Capabilities { grammar, joins, .. } = &*self.oracle.capabilities;
        let queries = Queries {
            expressions: ExprGenerator { grammar, literals: &database.literals, tables: &database.tables },
            joins,
            takes: &self.oracle.takes,
            favourites: &database.favourites,
        };
        let sql = queries.query(rng).unwrap_or_else(|| "SELECT 1 AS c0".to_owned());
        GeneratedCase::new(self, &sql)
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
        if self.generates && !chance(rng, SEED_PERCENT) {
            let mut case = self.generated(rng);
            for _ in 1..DRAWS {
                if case.meaning.is_some() {
                    break;
                }
                case = self.generated(rng);
            }
            return Rc::new(case);
        }
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
        self.on.compare(&self.query, self.meaning.as_ref(), into);
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
        Some(SpecDatabase::context(&self.query, step))
    }

    fn only_subquery(&self) -> Option<usize> {
        self.queries.only_subquery()
    }
}

/// What of a generated query most often decides how it is planned: failures of one shape count as those of one class.
fn shape(sql: &str) -> String {
    let has = |words: &[&'static str]| words.iter().copied().find(|word| sql.contains(word)).unwrap_or_default();
    let join = has(&["FULL JOIN", "RIGHT JOIN", "LEFT JOIN", "USING", "JOIN"]);
    let rest = has(&[" OVER ", " FILTER ", "GROUP BY", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "DISTINCT"]);
    let nested = has(&["EXISTS", "NOT IN (SELECT", "IN (SELECT", "(SELECT"]);
    let parts: Vec<&str> = [join, rest, nested].into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    format!("{GENERATED} {}", parts.join(", ")).trim().to_owned()
}

/// A generated query.
struct GeneratedCase<'a> {
    on: &'a SpecDatabase<'a>,
    shape: String,
    query: Step,
    /// What it means, if it has a meaning.
    meaning: Option<Arc<Meaning>>,
    /// Which of the shorter forms comes first: the one after that by which the query became what it is, for what those
    /// before it leave out was needed.
    first: usize,
}

impl<'a> GeneratedCase<'a> {
    fn new(on: &'a SpecDatabase<'a>, sql: &str) -> Self {
        let meaning = on.told.meaning(sql, &on.oracle.profile);
        Self { on, shape: shape(sql), query: Step::query(sql), meaning, first: 0 }
    }
}

/// Cases of shorter forms of a query, beginning at one of them. Whatever they are, they must return what they mean.
fn shorter<'a>(on: &'a SpecDatabase<'a>, query: &Step, first: usize) -> Box<dyn Iterator<Item = SharedCase<'a>> + 'a> {
    let mut forms: Vec<(usize, String)> = cuts(query.sql.sql()).into_iter().enumerate().collect();
    let first = first.min(forms.len());
    forms.rotate_left(first);
    let member = query.member;
    Box::new(forms.into_iter().filter_map(move |(first, sql)| {
        // What only seems to have a meaning would not be a finding.
        let meaning = Some(on.told.certain_meaning(&sql, &on.oracle.profile)?);
        let query = Step { member, ..Step::query(sql.as_str()) };
        Some(Rc::new(GeneratedCase { on, shape: shape(&sql), query, meaning, first }) as SharedCase<'a>)
    }))
}

impl<'a> Case<'a> for GeneratedCase<'a> {
    fn program(&self, into: &mut Program) {
        self.on.compare(&self.query, self.meaning.as_ref(), into);
    }

    fn describe(&self) -> Vec<String> {
        Vec::new()
    }

    fn assumptions(&self, _program: &Program, _steps: &[usize]) -> Vec<Assumption> {
        Vec::new()
    }

    fn parts(&self) -> usize {
        0
    }

    fn smaller(&self, _part: usize) -> Vec<SharedCase<'a>> {
        Vec::new()
    }

    fn shorter(&self) -> Box<dyn Iterator<Item = SharedCase<'a>> + 'a> {
        shorter(self.on, &self.query, self.first)
    }

    fn context(&self, step: &Step) -> Option<&str> {
        Some(SpecDatabase::context(&self.query, step))
    }

    fn blamed(&self, _steps: &[&Step]) -> Option<&str> {
        Some(&self.shape)
    }
}

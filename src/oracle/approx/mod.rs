//! The `approx` oracle: a query that is mutated returns more rows or fewer, larger values or smaller ones, as the mutation
//! predicts (`ValScope` paper; the relation on sets alone is Pinolo's).
//!
//! [`mutators`] is the table of what may be mutated and what that does where it stands, [`walk`] carries it up to the result.
//! The queries are members of classes, whose placeholders are filled as the `caq` oracle fills them, and generated ones;
//! where a mutation wants a condition of its own, that is one more placeholder. So whether a mutation is right is a question
//! about queries over tables with some more columns, which the reference evaluator answers in the tests of this module.

mod mutators;
#[cfg(test)]
mod tests;
mod walk;

use super::caq::{CaqDatabase, CaqOracle};
use super::{Accepts, Case, Folded, Oracle, Registration, Setting, SharedCase, TestDatabase, Use};
use crate::caq::class::{ClassText, MemberText, OracleClass, read_names};
use crate::caq::names::Names;
use crate::config::matches_glob;
use crate::generate::Capabilities;
use crate::generate::seed::{Generator, Options};
use crate::program::{Assumption, Change, Program, Relation, Step, Trend};
use crate::rng::{Rng, chance, pick};
use crate::sql::lex::tokens;
use crate::sql::print::{parse_query, print_query};
use crate::sql::profile::Profile;
use mutators::Mutation;
use prover::ir::Assumption as Granted;
use prover::lower;
use rand::RngExt as _;
use sqlparser::ast::Query;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use walk::{Rows, Takes, introduced, mutate};

/// Its name.
pub const NAME: &str = "approx";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "a mutated query returns more rows or larger values, or fewer or smaller, as the mutation predicts",
    of_catalogue: true,
    open: |setting, accepts| (!setting.catalogue.is_empty()).then(|| Box::new(Approx::new(setting, accepts)) as _),
};

/// The class of generated queries.
const GENERATED: &str = "generated";

/// In how many of a hundred databases the query is a generated one.
const GENERATED_PERCENT: u32 = 30;

/// Mutated forms of a query on one database, at most, and in one case.
const FORMS: usize = 4;
const FORMS_PER_CASE: usize = 2;

/// Drawings of sites for these, of which some have no direction.
const DRAWINGS: usize = 16;

/// Drawings of a query until one has a form.
const QUERIES: usize = 24;

/// What queries may have and not every target takes, each with a query that shows it. That a target runs a query does not
/// show that it takes it: to MySQL, which has no FULL JOIN, `t1 FULL JOIN t2` is an inner join of a table called FULL.
const PHRASES: [(&str, &str); 8] = [
    (" FULL JOIN ", "SELECT x.a FROM (SELECT 1 AS a) AS x FULL JOIN (SELECT 1 AS a) AS y ON x.a = y.a"),
    (" RIGHT JOIN ", "SELECT x.a FROM (SELECT 1 AS a) AS x RIGHT JOIN (SELECT 1 AS a) AS y ON x.a = y.a"),
    (" FILTER ", "SELECT COUNT(*) FILTER (WHERE TRUE)"),
    (" DISTINCT FROM ", "SELECT 1 IS NOT DISTINCT FROM 2"),
    (" MATERIALIZED ", "WITH x AS MATERIALIZED (SELECT 1 AS a) SELECT x.a FROM x"),
    ("(VALUES ", "SELECT x.a FROM (VALUES (1)) AS x(a)"),
    (" INTERSECT ", "SELECT 1 INTERSECT SELECT 1"),
    (" EXCEPT ", "SELECT 1 EXCEPT SELECT 2"),
];

/// What a dialect need not guarantee, because both queries do the same: an error voids the case, and what is rounded is
/// rounded alike. Averages are compared only where a mutator bounds them.
const GRANTED: [Granted; 4] =
    [Granted::AvgIsExactQuotient, Granted::DoubleSumsIgnoreOrder, Granted::ExactArithmetic, Granted::NoRuntimeError];

/// A query without forms, with which nothing is compared: what is left where no drawing succeeded.
fn without_forms() -> Option<(String, OracleClass, Vec<Form>)> {
    let source = Source {
        name: GENERATED.to_owned(),
        schema: "CREATE TABLE t1(c0 INT)".to_owned(),
        placeholders: [("p1".to_owned(), "Expr(t1: BOOLEAN)".to_owned())].into(),
        sql: "SELECT t1.c0 FROM t1 WHERE t1.p1".to_owned(),
    };
    let (_, names) = read_names(&source.schema, &source.placeholders).ok()?;
    Some((GENERATED.to_owned(), class(&source, &names, &[])?, Vec::new()))
}

/// A query over tables with placeholders.
struct Source {
    /// The class.
    name: String,
    schema: String,
    placeholders: BTreeMap<String, String>,
    sql: String,
}

/// A mutated form of a query.
struct Form {
    sql: String,
    relation: Relation,
    /// Whether the relation goes from it to the query, rather than from the query to it.
    swapped: bool,
    mutations: Vec<Mutation>,
    /// Relations over which it has a condition of its own.
    introduced: BTreeSet<usize>,
}

impl Form {
    /// It in words, as reports name its step.
    fn words(&self) -> String {
        let mutations: Vec<String> = self.mutations.iter().map(ToString::to_string).collect();
        format!("the query after {}", mutations.join(", then "))
    }
}

/// The oracle, for one target.
struct Approx {
    queries: CaqOracle,
    takes: Takes,
    profile: Arc<Profile>,
    capabilities: Arc<Capabilities>,
    /// Members of the catalogue that have a form, by class.
    members: BTreeMap<String, Vec<Arc<Source>>>,
    /// Makes queries, if they are wanted.
    generator: Option<Generator>,
    /// What queries must not have.
    refused: Vec<&'static str>,
    unused: BTreeMap<String, String>,
}

impl Approx {
    fn new(setting: Setting, accepts: Accepts) -> Self {
        let Setting { capabilities, patterns, .. } = &setting;
        let (capabilities, profile) = (capabilities.clone(), capabilities.profile.clone());
        let refuses = |(_, sql): &&(&str, &str)| accepts(&[], sql).is_err();
        let refused: Vec<&str> = PHRASES.iter().filter(refuses).map(|(phrase, _)| *phrase).collect();
        let takes = |phrase: &str| !refused.contains(&phrase);
        let takes = Takes { right_join: takes(" RIGHT JOIN "), full_join: takes(" FULL JOIN ") };
        let generated =
            patterns.is_empty() && !setting.brought || patterns.iter().any(|pattern| matches_glob(pattern, GENERATED));
        let generator = if generated { Generator::new(0, &Options::default()).ok() } else { None };
        let queries = CaqOracle::new(setting, accepts);
        let mut unused = queries.unused().clone();
        let mut members: BTreeMap<String, Vec<Arc<Source>>> = BTreeMap::new();
        for (class, positions) in queries.usable() {
            let source = |at: &usize| Source {
                name: class.name.clone(),
                schema: class.ddl.clone(),
                placeholders: class.constraints.clone(),
                sql: class.members[*at].sql.clone(),
            };
            let with_forms = positions
                .iter()
                .map(source)
                .filter(|source| !has_any(&source.sql, &refused) && has_form(source, &class.names, takes));
            let with_forms: Vec<Arc<Source>> = with_forms.map(Arc::new).collect();
            if with_forms.is_empty() {
                unused.insert(class.name.clone(), "no mutation of its queries has a known direction".to_owned());
            } else {
                members.insert(class.name.clone(), with_forms);
            }
        }
        Self { queries, takes, profile, capabilities, members, generator, refused, unused }
    }

    /// A query.
    fn source(&self, rng: &mut Rng) -> Option<Arc<Source>> {
        if let Some(generator) = &self.generator
            && (chance(rng, GENERATED_PERCENT) || self.members.is_empty())
        {
            let caq = generator.seed(rng.random());
            let (schema, placeholders, sql) = (caq.schema, caq.placeholders, caq.sql);
            if has_any(&sql, &self.refused) {
                return None;
            }
            return Some(Arc::new(Source { name: GENERATED.to_owned(), schema, placeholders, sql }));
        }
        let class = self.members.values().nth(rng.random_range(0..self.members.len().max(1)))?;
        pick(rng, class).cloned()
    }

    /// Forms of a query, with the query as a class.
    fn forms(&self, source: &Source, rng: &mut Rng) -> Option<(OracleClass, Vec<Form>)> {
        let (_, names) = read_names(&source.schema, &source.placeholders).ok()?;
        if names.relations.iter().any(|table| self.capabilities.enforced.lacks(table).is_some()) {
            return None;
        }
        let query = parse_query(&source.sql).ok()?;
        let sites = mutate(&mut query.clone(), &names, self.takes, Vec::new())?.sites;
        let mut forms: Vec<Form> = Vec::new();
        for _ in 0..DRAWINGS {
            if forms.len() == FORMS || sites == 0 {
                break;
            }
            let count = *pick(rng, &[1, 1, 1, 2, 2, 3]).unwrap_or(&1);
            let chosen = (0..count).map(|_| rng.random_range(0..sites)).collect();
            if let Some(form) = form(&query, &names, self.takes, chosen)
                && forms.iter().all(|other| other.sql != form.sql)
                && class(source, &names, &[&form]).is_some_and(|class| means_the_same(&class, &self.profile))
            {
                forms.push(form);
            }
        }
        let class = class(source, &names, &forms.iter().collect::<Vec<_>>())?;
        (!forms.is_empty()).then_some((class, forms))
    }
}

/// A form of a query with mutations at some sites, if it has a direction.
fn form(query: &Query, names: &Names, takes: Takes, chosen: Vec<usize>) -> Option<Form> {
    let mut query = query.clone();
    let walked = mutate(&mut query, names, takes, chosen)?;
    let (relation, swapped) = relation(&walked.rows)?;
    let sql = print_query(&query).ok()?;
    let (mutations, introduced) = (walked.made, walked.introduced);
    (!mutations.is_empty()).then_some(Form { sql, relation, swapped, mutations, introduced })
}

/// What must hold between the results, and whether it goes from the second to the first. `None` where nothing is known.
fn relation(rows: &Rows) -> Option<(Relation, bool)> {
    let columns = rows.changes();
    if rows.extent == Trend::Free || columns.iter().all(|change| *change == Change::FREE) {
        return None;
    }
    let (further, swapped) = (rows.extent != Trend::Same, rows.extent == Trend::Down);
    let relation = match (columns.iter().all(|change| *change == Change::SAME), further) {
        (true, false) => Relation::EqualBag,
        (true, true) => Relation::SubBag,
        (false, further) => {
            let columns = if swapped { columns.into_iter().map(Change::reversed).collect() } else { columns };
            Relation::Approximate { further, columns }
        }
    };
    Some((relation, swapped))
}

/// Whether a query has one of these phrases.
fn has_any(sql: &str, phrases: &[&str]) -> bool {
    let sql = sql.to_ascii_uppercase().replace(" OUTER JOIN ", " JOIN ");
    phrases.iter().any(|phrase| sql.contains(phrase))
}

/// Whether some mutation of a query has a direction.
fn has_form(source: &Source, names: &Names, takes: Takes) -> bool {
    let Ok(query) = parse_query(&source.sql) else { return false };
    let Some(walked) = mutate(&mut query.clone(), names, takes, Vec::new()) else { return false };
    (0..walked.sites).any(|site| form(&query, names, takes, vec![site]).is_some())
}

/// A query and forms of it as a class, of which only the placeholders and demands count.
fn class(source: &Source, names: &Names, forms: &[&Form]) -> Option<OracleClass> {
    let mut placeholders = source.placeholders.clone();
    for relation in forms.iter().flat_map(|form| &form.introduced) {
        placeholders.insert(introduced(*relation), format!("Expr({}: BOOLEAN)", names.relations[*relation].name));
    }
    let queries = || std::iter::once(source.sql.as_str()).chain(forms.iter().map(|form| form.sql.as_str()));
    let mut words = BTreeSet::new();
    for query in queries() {
        words.extend(tokens(query).ok()?.iter().map(|token| token.text().to_ascii_lowercase()));
    }
    // A class has no placeholder that its members do not use, as those that only other members of its use.
    let is_used = |name: &str| words.contains(&name.to_ascii_lowercase());
    placeholders.retain(|name, constraint| constraint.starts_with("Table(") || is_used(name));
    let over: Vec<String> = placeholders.values().cloned().collect();
    placeholders.retain(|name, constraint| {
        !constraint.starts_with("Table(")
            || is_used(name)
            || over.iter().any(|c| c.starts_with(&format!("Expr({name}:")))
    });
    let members = queries().chain(forms.is_empty().then_some(source.sql.as_str()));
    let text = ClassText {
        // Another name than that of the class whose placeholders it has some of.
        name: format!("{NAME} {}", source.name),
        origin: String::new(),
        about: String::new(),
        schema: source.schema.clone(),
        placeholders,
        members: members.map(|sql| MemberText::Sql(sql.to_owned())).collect(),
        dialects: Vec::new(),
        assumes: Vec::new(),
    };
    OracleClass::new(NAME, text).ok()
}

/// Whether the queries of a class mean on the target what they mean to the evaluator, so that what was checked there holds
/// here.
fn means_the_same(class: &OracleClass, profile: &Profile) -> bool {
    let Ok(schema) = lower::schema(&class.ddl, &class.constraints) else { return false };
    let guaranteed = profile.guarantees_for(class.divides());
    let known = |sql: &str| {
        let windows = tokens(sql).is_ok_and(|tokens| tokens.iter().any(|token| token.is_word("over")));
        lower::query(&schema, sql).is_ok_and(|query| {
            query.assumptions.iter().all(|a| guaranteed.contains(a) || (!windows && GRANTED.contains(a)))
        })
    };
    class.members.iter().all(|member| known(&member.sql))
}

impl Oracle for Approx {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A case takes some three times as long as one of `caq`.
    fn share(&self) -> u32 {
        3
    }

    fn classes(&self) -> Vec<&str> {
        let generated = self.generator.as_ref().map(|_| GENERATED);
        self.members.keys().map(String::as_str).chain(generated).collect()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        &self.unused
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        let drawn = (0..QUERIES).find_map(|_| {
            let source = self.source(rng)?;
            let (class, forms) = self.forms(&source, rng)?;
            Some((source.name.clone(), class, forms))
        });
        let Some((class, queries, forms)) = drawn.or_else(without_forms) else {
            unreachable!("the plainest query is a class");
        };
        let contexts = forms.iter().map(Form::words).collect();
        Box::new(ApproxDatabase { class, queries: self.queries.generate_for(queries, rng), forms, contexts })
    }
}

struct ApproxDatabase<'a> {
    class: String,
    /// Fills the query, and after it the forms.
    queries: CaqDatabase<'a>,
    forms: Vec<Form>,
    contexts: Vec<String>,
}

impl TestDatabase for ApproxDatabase<'_> {
    fn oracle(&self) -> &'static str {
        NAME
    }

    fn class(&self) -> &str {
        &self.class
    }

    fn may_drop(&self, table: &str, column: &str) -> bool {
        self.queries.may_drop(table, column)
    }

    fn epochs(&self) -> &[Vec<String>] {
        self.queries.epochs()
    }

    fn case<'a>(&'a self, rng: &mut Rng) -> SharedCase<'a> {
        let mut forms: Vec<usize> = (0..self.forms.len()).collect();
        while forms.len() > FORMS_PER_CASE {
            forms.swap_remove(rng.random_range(0..forms.len()));
        }
        let members: Vec<usize> = std::iter::once(0).chain(forms.iter().map(|at| at + 1)).collect();
        Rc::new(ApproxCase { on: self, queries: self.queries.case_of(&members, rng), forms })
    }
}

/// A query and some of its forms, with the same fillings.
struct ApproxCase<'a> {
    on: &'a ApproxDatabase<'a>,
    queries: SharedCase<'a>,
    /// The forms, in the order of their steps.
    forms: Vec<usize>,
}

impl<'a> ApproxCase<'a> {
    /// The same forms with other fillings.
    fn with(&self, queries: SharedCase<'a>) -> SharedCase<'a> {
        Rc::new(Self { on: self.on, queries, forms: self.forms.clone() })
    }
}

impl<'a> Case<'a> for ApproxCase<'a> {
    fn program(&self, into: &mut Program) {
        self.queries.program(into);
        into.clear_checks();
        for (at, form) in self.forms.iter().enumerate() {
            let Form { relation, swapped, .. } = &self.on.forms[*form];
            into.add_check(relation.clone(), if *swapped { [at + 1, 0] } else { [0, at + 1] });
        }
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
        self.queries.smaller(part).into_iter().map(|queries| self.with(queries)).collect()
    }

    fn folded(&self, part: usize) -> Option<Folded<'a>> {
        let folded = self.queries.folded(part)?;
        Some(Folded { case: self.with(folded.case), ..folded })
    }

    fn context(&self, step: &Step) -> Option<&str> {
        Some(step.member.checked_sub(1).map_or("the query", |form| &self.on.contexts[form]))
    }

    fn uses(&self, note: &mut dyn FnMut(Use<'_>)) {
        self.queries.uses(note);
    }
}

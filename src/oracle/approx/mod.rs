//! The `approx` oracle: a query that is mutated returns more rows or fewer, larger values or smaller ones, as the mutation
//! predicts (`ValScope` paper; the relation on sets alone is Pinolo's).
//!
//! [`mutators`] is the table of what may be mutated and what that does where it stands, [`walk`] carries it up to the result.
//! The queries are members of classes, whose placeholders are filled as the `caq` oracle fills them, and generated ones;
//! where a mutation wants a condition of its own, that is one more placeholder. So whether a mutation is right is a question
//! about queries over tables with some more columns, which the reference evaluator answers in the tests of this module.

mod contents;
mod mutators;
#[cfg(test)]
mod tests;
mod walk;

use super::caq::{CaqDatabase, CaqOracle};
use super::{Accepts, Case, Folded, GENERATED, Oracle, Registration, Setting, SharedCase, TestDatabase, Use};
use crate::caq::class::{ClassText, Member, MemberText, OracleClass, read_names};
use crate::caq::names::Names;
use crate::caq::query::Caq;
use crate::generate::Capabilities;
use crate::generate::seed::{Generator, Options, Seed};
use crate::program::{Assumption, Change, Program, Relation, Step, Trend};
use crate::rng::{Rng, chance, pick};
use crate::sql::print::{parse_query, print_query};
use crate::sql::profile::Profile;
use contents::{Contents, Feature};
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
    open: |setting, accepts| setting.has_queries().then(|| Box::new(Approx::new(setting, accepts)) as _),
};

/// In how many of a hundred databases the query is a generated one.
const GENERATED_PERCENT: u32 = 30;

/// Mutated forms of a query on one database, at most, and in one case.
const FORMS: usize = 4;
const FORMS_PER_CASE: usize = 2;

/// Drawings of sites for these, of which some have no direction.
const DRAWINGS: usize = 16;

/// Drawings of a query until one has a form.
const QUERIES: usize = 24;

/// What a dialect need not guarantee, because both queries do the same: an error voids the case, and what is rounded is
/// rounded alike. Averages are compared only where a mutator bounds them.
const GRANTED: [Granted; 4] =
    [Granted::AvgIsExactQuotient, Granted::DoubleSumsIgnoreOrder, Granted::ExactArithmetic, Granted::NoRuntimeError];

/// A query without forms, with which nothing is compared: what is left where no drawing succeeded.
fn without_forms() -> Option<(String, OracleClass, Vec<Form>)> {
    let caq = Caq {
        schema: "CREATE TABLE t1(c0 INT)".to_owned(),
        placeholders: [("p1".to_owned(), "Expr(t1: BOOLEAN)".to_owned())].into(),
        sql: "SELECT t1.c0 FROM t1 WHERE t1.p1".to_owned(),
    };
    let query = parse_query(&caq.sql).ok()?;
    let source = Source::new(GENERATED, caq, query);
    let (_, names) = read_names(&source.caq.schema, &source.caq.placeholders).ok()?;
    Some((GENERATED.to_owned(), class(&source, &names, &[])?, Vec::new()))
}

/// A query over tables with placeholders.
struct Source {
    /// The class.
    name: String,
    caq: Caq,
    /// Its query.
    query: Query,
    contents: Contents,
}

impl Source {
    fn new(name: &str, caq: Caq, mut query: Query) -> Self {
        let contents = Contents::of(&mut query);
        Self { name: name.to_owned(), caq, query, contents }
    }

    /// A member of a class.
    fn member(class: &OracleClass, member: &Member) -> Option<Self> {
        let (schema, placeholders) = (class.ddl.clone(), class.constraints.clone());
        let query = parse_query(&member.sql).ok()?;
        Some(Self::new(&class.name, Caq { schema, placeholders, sql: member.sql.clone() }, query))
    }

    /// Whether it has something that a target does not take.
    fn has_any(&self, refused: &BTreeSet<Feature>) -> bool {
        !self.contents.features.is_disjoint(refused)
    }
}

/// A mutated form of a query.
struct Form {
    sql: String,
    contents: Contents,
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
    /// The classes of which some member has a form, with their places among those that the queries are from.
    classes: BTreeMap<String, usize>,
    /// Makes queries, if they are wanted.
    generator: Option<Generator>,
    /// What queries must not have.
    refused: BTreeSet<Feature>,
    unused: BTreeMap<String, String>,
}

impl Approx {
    fn new(setting: Setting, accepts: Accepts) -> Self {
        let (capabilities, profile) = (setting.capabilities.clone(), setting.capabilities.profile.clone());
        let refuses = |(_, sql): &(Feature, &str)| accepts(&[], sql).is_err();
        let refused: BTreeSet<Feature> = Feature::PROBES.into_iter().filter(refuses).map(|probe| probe.0).collect();
        let takes = |feature| !refused.contains(&feature);
        let (right_join, full_join) = (takes(Feature::RightJoin), takes(Feature::FullJoin));
        let takes = Takes { right_join, full_join, overflow: !profile.overflow_is_error };
        let generator = if setting.generates() { Generator::new(0, &Options::default()).ok() } else { None };
        let queries = CaqOracle::new(setting, accepts);
        let mut unused = queries.unused().clone();
        let mut classes: BTreeMap<String, usize> = BTreeMap::new();
        for (place, (class, positions)) in queries.usable().enumerate() {
            // One is enough: every process asks this of every class.
            let mut sources = positions.iter().filter_map(|at| Source::member(class, &class.members[*at]));
            if sources.any(|source| !source.has_any(&refused) && has_form(&source.query, &class.names, takes)) {
                classes.insert(class.name.clone(), place);
            } else {
                unused.insert(class.name.clone(), "no mutation of its queries has a known direction".to_owned());
            }
        }
        Self { queries, takes, profile, capabilities, classes, generator, refused, unused }
    }

    /// A query.
    fn source(&self, rng: &mut Rng) -> Option<Source> {
        let source = match &self.generator {
            Some(generator) if chance(rng, GENERATED_PERCENT) || self.classes.is_empty() => {
                let Seed { caq, query, .. } = generator.seed(rng.random());
                Source::new(GENERATED, caq, query)
            }
            _ => {
                let place = self.classes.values().nth(rng.random_range(0..self.classes.len().max(1)))?;
                let (class, positions) = self.queries.usable().nth(*place)?;
                Source::member(class, &class.members[*pick(rng, positions)?])?
            }
        };
        (!source.has_any(&self.refused)).then_some(source)
    }

    /// Forms of a query, with the query as a class.
    fn forms(&self, source: &Source, rng: &mut Rng) -> Option<(OracleClass, Vec<Form>)> {
        let (_, names) = read_names(&source.caq.schema, &source.caq.placeholders).ok()?;
        if names.relations.iter().any(|table| self.capabilities.enforced.lacks(table).is_some()) {
            return None;
        }
        let Source { query, .. } = source;
        let sites = mutate(&mut query.clone(), &names, self.takes, Vec::new())?.sites;
        let mut forms: Vec<Form> = Vec::new();
        for _ in 0..DRAWINGS {
            if forms.len() == FORMS || sites == 0 {
                break;
            }
            let count = *pick(rng, &[1, 1, 1, 2, 2, 3]).unwrap_or(&1);
            let chosen = (0..count).map(|_| rng.random_range(0..sites)).collect();
            if let Some(form) = form(query, &names, self.takes, chosen)
                && forms.iter().all(|other| other.sql != form.sql)
                && class(source, &names, &[&form])
                    .is_some_and(|class| means_the_same(&class, source, &form, &self.profile))
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
    let (mutations, introduced, contents) = (walked.made, walked.introduced, Contents::of(&mut query));
    (!mutations.is_empty()).then_some(Form { sql, contents, relation, swapped, mutations, introduced })
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

/// Whether some mutation of a query has a direction.
fn has_form(query: &Query, names: &Names, takes: Takes) -> bool {
    let Some(walked) = mutate(&mut query.clone(), names, takes, Vec::new()) else { return false };
    (0..walked.sites).any(|site| form(query, names, takes, vec![site]).is_some())
}

/// A query and forms of it as a class, of which only the placeholders and demands count.
fn class(source: &Source, names: &Names, forms: &[&Form]) -> Option<OracleClass> {
    let mut placeholders = source.caq.placeholders.clone();
    for relation in forms.iter().flat_map(|form| &form.introduced) {
        placeholders.insert(introduced(*relation), format!("Expr({}: BOOLEAN)", names.relations[*relation].name));
    }
    // A class has no placeholder that its members do not use, as those that only other members of its use.
    let used = || std::iter::once(&source.contents).chain(forms.iter().map(|form| &form.contents)).map(|c| &c.names);
    let is_table = |constraint: &str| constraint.starts_with("Table(");
    placeholders.retain(|name, constraint| is_table(constraint) || used().any(|names| names.has_column(name)));
    let over: Vec<String> = placeholders.values().cloned().collect();
    placeholders.retain(|name, constraint| {
        !is_table(constraint)
            || used().any(|names| names.has_table(name))
            || over.iter().any(|c| c.starts_with(&format!("Expr({name}:")))
    });
    let queries = std::iter::once(&source.caq.sql).chain(forms.iter().map(|form| &form.sql));
    let members = queries.chain(forms.is_empty().then_some(&source.caq.sql));
    let text = ClassText {
        // Another name than that of the class whose placeholders it has some of.
        name: format!("{NAME} {}", source.name),
        origin: String::new(),
        about: String::new(),
        schema: source.caq.schema.clone(),
        placeholders,
        members: members.cloned().map(MemberText::Sql).collect(),
        dialects: Vec::new(),
        assumes: Vec::new(),
    };
    OracleClass::new(NAME, text).ok()
}

/// Whether a query and a form of it, with their class, mean on the target what they mean to the evaluator, so that what was
/// checked there holds here.
fn means_the_same(class: &OracleClass, source: &Source, form: &Form, profile: &Profile) -> bool {
    let Ok(schema) = lower::schema(&class.ddl, &class.constraints) else { return false };
    let guaranteed = profile.guarantees_for(class.divides());
    let known = |sql: &str, windows: bool| {
        lower::query(&schema, sql).is_ok_and(|query| {
            query.assumptions.iter().all(|a| guaranteed.contains(a) || (!windows && GRANTED.contains(a)))
        })
    };
    known(&source.caq.sql, source.contents.windows) && known(&form.sql, form.contents.windows)
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
        self.classes.keys().map(String::as_str).chain(generated).collect()
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

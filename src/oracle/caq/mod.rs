//! The `caq` oracle: all members of a class return the same bag (Argus paper, section 6, Algorithm 2).

mod case;

use super::shrink::shorter;
use super::{Accepts, Oracle, Registration, Setting, SharedCase, TestDatabase};
use crate::caq::class::OracleClass;
use crate::caq::instantiation::{Instantiation, TableInstantiation};
use crate::caq::names::{PlaceholderKind, PlaceholderRequirement};
use crate::caq::node::{Node, plain_literals};
use crate::caq::proof::Selection;
use crate::generate::database::{Database, Relations, TableOrigin, database, tables};
use crate::generate::expr::{ExprGenerator, ExprSpec};
use crate::generate::{Capabilities, ColumnInfo, TableInfo};
use crate::rng::{Rng, chance, pick, stream};
use crate::sql::operator::Kind;
use crate::sql::profile::{ColumnType, Profile, is_null};
use crate::sql::snippet::Snippet;
use crate::sql::types::SqlType;
use case::CaqCase;
use prover::ir::Assumption;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Its name.
pub const NAME: &str = "caq";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "all members of a proven class return the same rows",
    of_catalogue: true,
    open: |setting, accepts| (!setting.catalogue.is_empty()).then(|| Box::new(CaqOracle::new(setting, accepts)) as _),
};

/// Members of one case. More members of a class than this are drawn from case to case.
const MEMBERS_PER_CASE: usize = 3;

/// Times that tables are generated to find some on which members can be tried: not all that are generated are accepted.
const TABLES_TRIED: u64 = 8;

/// Depth of generated expressions, at most.
const DEPTH_MAX: usize = 3;

/// Shorter forms of a snippet that are tried at a time while a case is made smaller.
const SHORTER_MAX: usize = 80;

/// Tries to find a filling that uses a column where a constant would change the query's meaning.
const CONSTANT_ATTEMPTS: usize = 8;

/// Snippets drawn to find one that does not fail.
const SNIPPET_ATTEMPTS: usize = 4;

/// A class, with what of it can be used on the target.
struct UsableClass {
    class: Arc<OracleClass>,
    /// Positions of the members that are equivalent and that the target accepts.
    members: Vec<usize>,
    /// Positions of those among them whose equivalence is not proven.
    assumed: Vec<usize>,
    /// For each placeholder the snippets that may fill it.
    candidates: Vec<Vec<Arc<Snippet>>>,
    /// Whether the members are equivalent whatever texts are equal.
    collated: bool,
}

/// The oracle, for one target.
pub struct CaqOracle {
    capabilities: Arc<Capabilities>,
    classes: Vec<Arc<UsableClass>>,
    /// In how many of a hundred fillings a corpus snippet is taken rather than a generated expression.
    snippet_percent: u32,
    /// In how many of these it may be one that fails on some rows.
    may_fail_percent: u32,
    /// Classes and members that are not used here, and why.
    unused: BTreeMap<String, String>,
}

impl CaqOracle {
    /// The classes that can run on a target, with the snippets that may fill their placeholders.
    pub(super) fn new(setting: Setting, accepts: Accepts) -> Self {
        let Accepted { classes, unused } = setting.accepted.get_or_init(|| Accepted::new(&setting, accepts));
        let Setting { capabilities, snippet_percent, may_fail_percent, .. } = setting;
        let usable = |(class, members, assumed): &(Arc<OracleClass>, Vec<usize>, Vec<usize>)| {
            let candidates = (0..class.names.placeholders.len()).map(|p| candidates(class, p, &capabilities)).collect();
            let (class, members, assumed) = (class.clone(), members.clone(), assumed.clone());
            let collated = assumed.is_empty() && holds_of_any_collation(&class, &members, &capabilities.profile);
            Arc::new(UsableClass { class, members, assumed, candidates, collated })
        };
        let classes = classes.iter().map(usable).collect();
        Self { capabilities, classes, snippet_percent, may_fail_percent, unused: unused.clone() }
    }
}

/// What of the catalogue a target takes, which several oracles want to know.
#[derive(Debug, Default)]
pub struct Accepted {
    /// Classes, with the positions of the members that are equivalent and that the target accepts, and of those among them whose
    /// equivalence is not proven.
    classes: Vec<(Arc<OracleClass>, Vec<usize>, Vec<usize>)>,
    /// Classes and members that are not used, and why.
    unused: BTreeMap<String, String>,
}

impl Accepted {
    /// Selects the classes that can run on a target: written for its dialect, with assumptions it guarantees, and at
    /// least two members that are equivalent there and that `accepts` (a database's statements and a query) takes.
    /// Members without a proof are used only if `assumed` says so.
    fn new(setting: &Setting, accepts: Accepts) -> Self {
        let Setting { capabilities, catalogue, assumed, .. } = setting;
        let profile = capabilities.profile.clone();
        let mut unused = BTreeMap::new();
        let mut usable = Vec::new();
        // Those on the same tables one after the other, so that these are made once.
        let mut classes: Vec<(usize, OracleClass)> = catalogue.iter().cloned().enumerate().collect();
        classes.sort_by_cached_key(|(_, class)| trial_tables(class, capabilities, 0).0);
        for (place, mut class) in classes {
            if !class.dialects.is_empty() && !class.dialects.iter().any(|dialect| profile.speaks(dialect)) {
                unused.insert(class.name, format!("written for {}", class.dialects.join(", ")));
                continue;
            }
            let guarantees = profile.guarantees_for(class.divides());
            if let Some(missing) = class.assumes.iter().find(|a| !guarantees.contains(*a)) {
                unused.insert(class.name, format!("assumes {missing}, which {} does not guarantee", profile.name));
                continue;
            }
            if let Some(what) = class.names.relations.iter().find_map(|table| capabilities.enforced.lacks(table)) {
                unused.insert(class.name, format!("the target does not enforce {what}"));
                continue;
            }
            let Selection { members: equivalent, mut assumed, off, .. } =
                class.select(&guarantees, &profile.name, *assumed);
            if equivalent.len() < 2 {
                let why = off.into_iter().next().map(|(_, why)| why).unwrap_or_default();
                unused.insert(class.name, why);
                continue;
            }
            name_types(&mut class, &profile);
            let (members, refused) = accepted_members(&class, &equivalent, capabilities, accepts);
            let first = refused.first().map(|(at, why)| format!("; member {}: {why}", at + 1)).unwrap_or_default();
            for (at, why) in off.into_iter().chain(refused) {
                unused.insert(format!("{} member {}", class.name, at + 1), why);
            }
            if members.len() < 2 {
                unused.insert(class.name, format!("fewer than two members are accepted by the target{first}"));
                continue;
            }
            assumed.retain(|at| members.contains(at));
            usable.push((place, (Arc::new(class), members, assumed)));
        }
        usable.sort_by_key(|(place, _)| *place);
        Self { classes: usable.into_iter().map(|(_, class)| class).collect(), unused }
    }
}

/// Gives the types that members cast to the dialect's names.
fn name_types(class: &mut OracleClass, profile: &Profile) {
    for member in &mut class.members {
        member.template = member.template.with_types(|ty| profile.cast_name(ty));
    }
}

/// The tables of a class, and whether its columns of text may have any collation.
fn relations(class: &OracleClass, collated: bool) -> Relations<'_> {
    Relations { all: &class.names.relations, own: class.schema.tables.len(), collated }
}

/// Whether the proofs of these members do not assume that texts are equal only if they are the same.
fn holds_of_any_collation(class: &OracleClass, members: &[usize], profile: &Profile) -> bool {
    let mut guarantees = profile.guarantees_for(class.divides());
    guarantees.remove(&Assumption::TextEqualityIsIdentity);
    let proven = class.select(&guarantees, &profile.name, false).members;
    class.assumes.iter().all(|assumed| guarantees.contains(assumed))
        && members.iter().all(|member| proven.contains(member))
}

/// Statements that make tables on which the members of a class can be tried, and the tables.
fn trial_tables(class: &OracleClass, capabilities: &Capabilities, seed: u64) -> (Vec<String>, Vec<TableInfo>) {
    tables(relations(class, false), capabilities, &mut stream(seed, &[]))
}

/// The members of these that run on the target, on tables without rows, with every expression NULL and every table a
/// plain one, and why the others do not.
fn accepted_members(
    class: &OracleClass,
    members: &[usize],
    capabilities: &Capabilities,
    accepts: Accepts,
) -> (Vec<usize>, Vec<(usize, String)>) {
    let generated = |seed| trial_tables(class, capabilities, seed);
    let all_there = |(statements, tables): &(Vec<String>, Vec<TableInfo>)| {
        let counts: Vec<String> = tables.iter().map(|table| format!("(SELECT COUNT(*) FROM {})", table.name)).collect();
        counts.is_empty() || accepts(statements, &format!("SELECT {}", counts.join(", "))).is_ok()
    };
    let (statements, tables) = (0..TABLES_TRIED).map(generated).find(all_there).unwrap_or_else(|| generated(0));
    let fills: Vec<Instantiation> = class
        .names
        .placeholders
        .iter()
        .map(|p| match p.kind {
            PlaceholderKind::Table { relation } => {
                Instantiation::Table(TableInstantiation::Name(tables[relation].name.clone()))
            }
            PlaceholderKind::Expr { ty, .. } => {
                Instantiation::Generated(Node::Literal(capabilities.profile.null(ty).as_str().into()))
            }
        })
        .collect();
    let mut accepted = Vec::new();
    let mut refused = Vec::new();
    for at in members {
        let member = &class.members[*at];
        let mut sql = String::new();
        member.template.render(&fills, &mut sql);
        match member.switch.as_deref() {
            Some("*") if capabilities.switches.is_empty() => refused.push((*at, "there are no switches".to_owned())),
            Some(name) if name != "*" && capabilities.switch(name).is_none() => {
                refused.push((*at, no_switch(name, capabilities)));
            }
            _ => match accepts(&statements, &sql) {
                Ok(()) => accepted.push(*at),
                Err(why) => refused.push((*at, format!("not accepted by the target: {why}"))),
            },
        }
    }
    (accepted, refused)
}

/// That a switch which a member names is not there, with those that are.
fn no_switch(name: &str, capabilities: &Capabilities) -> String {
    let Profile { name: dialect, switches, .. } = &*capabilities.profile;
    if switches.iter().any(|switch| switch.name == name) {
        return format!("this version has no optimizer switch {name}");
    }
    let known: Vec<&str> = switches.iter().map(|switch| switch.name.as_str()).collect();
    match known.as_slice() {
        [] => format!("{dialect} has no optimizer switches, so none called {name}"),
        some => format!("{dialect} has no optimizer switch {name}; write * for any, or one of {}", some.join(", ")),
    }
}

/// The snippets whose claims meet what the members demand of a placeholder.
fn candidates(class: &OracleClass, placeholder: usize, capabilities: &Capabilities) -> Vec<Arc<Snippet>> {
    let PlaceholderKind::Expr { ty, .. } = class.names.placeholders[placeholder].kind else { return Vec::new() };
    let demand = class.demands[placeholder];
    let fits = |snippet: &&Arc<Snippet>| {
        let type_fits = is_truth_value(demand, ty, &capabilities.profile)
            || match ty {
                SqlType::Boolean => snippet.boolean_valued,
                other => snippet.ty == Some(other),
            };
        type_fits
            && snippet_meets(snippet, demand, class)
            && !(snippet.has_subquery && capabilities.lacks_subqueries(&class.name, placeholder))
    };
    capabilities.corpus.expressions.iter().filter(fits).cloned().collect()
}

/// Whether a snippet's claims meet what the members of a class demand, apart from its type.
fn snippet_meets(snippet: &Snippet, demand: PlaceholderRequirement, class: &OracleClass) -> bool {
    (!demand.null_preserving || snippet.null_preserving)
        && (!demand.no_collation || !snippet.collates)
        && (!demand.no_constant || !snippet.columns.is_empty())
        && snippet.aliases.is_disjoint(&class.aliases)
}

/// Whether any value will do, because only its truth value is taken.
fn is_truth_value(demand: PlaceholderRequirement, ty: SqlType, profile: &Profile) -> bool {
    demand.truth_value_only && ty == SqlType::Boolean && profile.truth_of_any_value
}

impl Oracle for CaqOracle {
    fn name(&self) -> &'static str {
        NAME
    }

    fn share(&self) -> u32 {
        24
    }

    fn classes(&self) -> Vec<&str> {
        self.classes.iter().map(|c| c.class.name.as_str()).collect()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        &self.unused
    }

    fn assumed(&self) -> usize {
        self.classes.iter().map(|c| c.assumed.len()).sum()
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        let class = self.draw(rng);
        let collated = class.collated;
        Box::new(self.on(class, collated, rng))
    }
}

impl CaqOracle {
    fn draw(&self, rng: &mut Rng) -> Arc<UsableClass> {
        self.classes[rng.random_range(0..self.classes.len())].clone()
    }

    /// Makes a database of a random class, whose texts are compared byte by byte.
    pub(super) fn generate(&self, rng: &mut Rng) -> CaqDatabase<'_> {
        self.on(self.draw(rng), false, rng)
    }

    /// Makes a database of a class that was made of another one, all of whose members are taken.
    pub(super) fn generate_for(&self, mut class: OracleClass, rng: &mut Rng) -> CaqDatabase<'_> {
        name_types(&mut class, &self.capabilities.profile);
        let candidates =
            (0..class.names.placeholders.len()).map(|p| candidates(&class, p, &self.capabilities)).collect();
        let members = (0..class.members.len()).collect();
        let (class, assumed) = (Arc::new(class), Vec::new());
        self.on(Arc::new(UsableClass { class, members, assumed, candidates, collated: false }), false, rng)
    }

    fn on(&self, class: Arc<UsableClass>, collated: bool, rng: &mut Rng) -> CaqDatabase<'_> {
        let database = database(relations(&class.class, collated), &self.capabilities, rng);
        CaqDatabase { oracle: self, class, database, collated }
    }

    /// The classes that run on the target, with the positions of the members that do.
    pub(super) fn usable(&self) -> impl Iterator<Item = (&OracleClass, &[usize])> {
        self.classes.iter().map(|class| (&*class.class, class.members.as_slice()))
    }
}

/// A database of a class.
pub(super) struct CaqDatabase<'a> {
    oracle: &'a CaqOracle,
    class: Arc<UsableClass>,
    database: Database,
    /// Whether columns of text may have other collations in it.
    collated: bool,
}

impl CaqDatabase<'_> {
    /// What its cases are made of.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// The same, to be narrowed down.
    pub(super) fn database_mut(&mut self) -> &mut Database {
        &mut self.database
    }

    fn profile(&self) -> &Profile {
        &self.oracle.capabilities.profile
    }

    fn null(&self, ty: SqlType) -> Instantiation {
        Instantiation::Generated(Node::Literal(self.profile().null(ty).as_str().into()))
    }

    /// A case of some of the members, none of which turns a switch.
    pub(super) fn case_of<'a>(&'a self, members: &[usize], rng: &mut Rng) -> SharedCase<'a> {
        let placeholders = 0..self.class.class.names.placeholders.len();
        let fills = placeholders.map(|placeholder| self.fill(placeholder, rng)).collect();
        Rc::new(CaqCase {
            on: self,
            class: self.class.clone(),
            fills,
            members: members.iter().map(|at| (*at, None)).collect(),
        })
    }

    fn fill(&self, placeholder: usize, rng: &mut Rng) -> Instantiation {
        match self.class.class.names.placeholders[placeholder].kind {
            PlaceholderKind::Table { relation } => {
                let fill = pick(rng, &self.database.table_fills[relation]).cloned();
                fill.map_or_else(|| self.null(SqlType::Int), Instantiation::Table)
            }
            PlaceholderKind::Expr { relation, ty } => {
                let demand = self.class.class.demands[placeholder];
                let table = &self.database.tables[relation];
                let subqueries = !self.oracle.capabilities.lacks_subqueries(&self.class.class.name, placeholder);
                let is_truth_value = is_truth_value(demand, ty, self.profile());
                // Favourites are predicates: they have the type wherever that matters.
                let predicate = is_truth_value || (ty == SqlType::Boolean && !self.profile().truth_of_any_value);
                if predicate
                    && chance(rng, 15)
                    && let Some(favourite) = pick(rng, &self.database.favourites[relation])
                    && meets(favourite, demand)
                    && (subqueries || !favourite.has_subquery())
                {
                    return Instantiation::Generated(favourite.clone());
                }
                if chance(rng, self.oracle.snippet_percent)
                    && let Some(snippet) = self.snippet(placeholder, rng)
                    && let Some(columns) = map_columns(snippet, table, is_truth_value, rng)
                {
                    return Instantiation::Snippet { snippet: snippet.clone(), columns, table: table.name.clone() };
                }
                self.generated(table, demand, ty, subqueries, rng)
            }
        }
    }

    /// A snippet for a placeholder. One that fails on some rows makes cases void, so few are taken.
    fn snippet(&self, placeholder: usize, rng: &mut Rng) -> Option<&Arc<Snippet>> {
        let candidates = &self.class.candidates[placeholder];
        let may_fail = chance(rng, self.oracle.may_fail_percent);
        (0..SNIPPET_ATTEMPTS).find_map(|_| pick(rng, candidates).filter(|snippet| may_fail || !snippet.may_fail))
    }

    fn generated(
        &self,
        table: &TableInfo,
        demand: PlaceholderRequirement,
        ty: SqlType,
        subqueries: bool,
        rng: &mut Rng,
    ) -> Instantiation {
        let generator = ExprGenerator {
            grammar: &self.oracle.capabilities.grammar,
            literals: &self.database.literals,
            tables: &self.database.tables,
        };
        let want = ExprSpec {
            kind: if is_truth_value(demand, ty, self.profile()) { Kind::Any } else { Kind::Typed(ty) },
            null_preserving: demand.null_preserving,
            binary: demand.no_collation,
            subqueries,
            depth: rng.random_range(0..=DEPTH_MAX),
        };
        for _ in 0..CONSTANT_ATTEMPTS {
            let node = generator.generate(table, want, rng);
            if meets(&node, demand) {
                return Instantiation::Generated(node);
            }
        }
        // NULL meets every demand: it is no ordinal.
        self.null(ty)
    }

    /// Where the filling of a table placeholder is from, if it is a table snippet.
    fn origin(&self, relation: usize, fill: &TableInstantiation) -> Option<&TableOrigin> {
        let mut fills = self.database.table_fills[relation].iter().zip(&self.database.table_origins[relation]);
        fills.find(|(of, _)| *of == fill)?.1.as_ref()
    }

    /// How many of the following a limit leaves out.
    fn left_out(&self, class: &OracleClass, placeholder: usize, fill: &Instantiation) -> usize {
        let all = match (&class.names.placeholders[placeholder].kind, fill) {
            (PlaceholderKind::Table { relation }, Instantiation::Table(fill))
                if self.origin(*relation, fill).is_none() =>
            {
                fill.smaller(usize::MAX).len()
            }
            (_, Instantiation::Snippet { snippet, .. }) if !snippet.has_subquery => {
                shorter(&snippet.sql, usize::MAX).len()
            }
            _ => 0,
        };
        all.saturating_sub(SHORTER_MAX)
    }

    /// Simpler fillings of a placeholder that keep the constraints that can be seen without an engine.
    fn simpler(&self, class: &OracleClass, placeholder: usize, fill: &Instantiation) -> Vec<Instantiation> {
        let names = &class.names;
        match (&names.placeholders[placeholder].kind, fill) {
            (PlaceholderKind::Table { relation }, Instantiation::Table(fill)) => {
                let plain = &self.database.table_fills[*relation];
                let simple = |f: &&TableInstantiation| matches!((f, fill), (TableInstantiation::Name(a), TableInstantiation::Name(b)) if a == b);
                if plain.first().is_some_and(|f| simple(&f)) {
                    return Vec::new();
                }
                // What a table snippet rests on was seen of it as it is.
                let smaller =
                    if self.origin(*relation, fill).is_none() { fill.smaller(SHORTER_MAX) } else { Vec::new() };
                plain.iter().take(1).cloned().chain(smaller).map(Instantiation::Table).collect()
            }
            (PlaceholderKind::Expr { relation, ty }, fill) => {
                let demand = class.demands[placeholder];
                let mut simpler: Vec<Node> = Vec::new();
                match fill {
                    Instantiation::Generated(node) => simpler.extend(node.smaller(self.profile())),
                    Instantiation::Snippet { columns, .. } => {
                        simpler.extend(columns.iter().map(|name| Node::Column { level: 0, name: name.clone() }));
                    }
                    Instantiation::Table(_) => {}
                }
                if !matches!(fill, Instantiation::Generated(Node::Column { .. } | Node::Literal(_))) {
                    simpler.extend(plain_literals(*ty, self.profile()).into_iter().map(Node::Literal));
                }
                let any = is_truth_value(demand, *ty, self.profile());
                let typed = |node: &Node| match node {
                    Node::Column { level: 0, name } => self.database.tables[*relation]
                        .columns
                        .iter()
                        .any(|c| c.name == *name && (any || (c.ty == Some(*ty) && c.binary))),
                    Node::Literal(text) => any || plain_literals(*ty, self.profile()).contains(text),
                    Node::Operator { op, .. } => any || op.results.contains(&Kind::Typed(*ty)),
                    Node::Column { .. } => false,
                };
                simpler.retain(|node| meets(node, demand) && typed(node));
                let mut simpler: Vec<Instantiation> = simpler.into_iter().map(Instantiation::Generated).collect();
                if let Instantiation::Snippet { snippet, columns, table } = fill {
                    let shorter = self.shorter(snippet, columns).into_iter();
                    let shorter = shorter.filter(|(snippet, _)| snippet_meets(snippet, demand, class));
                    simpler.extend(shorter.map(|(snippet, columns)| Instantiation::Snippet {
                        snippet: Arc::new(snippet),
                        columns,
                        table: table.clone(),
                    }));
                }
                simpler
            }
            (PlaceholderKind::Table { .. }, _) => Vec::new(),
        }
    }
}

impl CaqDatabase<'_> {
    /// Shorter forms of a snippet, with the columns that stand for its own. What the snippet was seen to be is asked of them
    /// again, as of every filling of a case that fails. A subquery is not cut: which of several rows it gives is nobody's.
    fn shorter(&self, snippet: &Snippet, columns: &[Arc<str>]) -> Vec<(Snippet, Vec<Arc<str>>)> {
        if snippet.has_subquery {
            return Vec::new();
        }
        let read = |text: &String| {
            let mut shorter = Snippet::parse(text, self.profile()).ok()?;
            (shorter.ty, shorter.boolean_valued) = (snippet.ty, snippet.boolean_valued);
            (shorter.null_preserving, shorter.may_fail) = (snippet.null_preserving, snippet.may_fail);
            shorter.is_of(snippet);
            let of = |name: &str| columns.get(snippet.columns.iter().position(|(own, _)| own == name)?).cloned();
            let columns: Option<Vec<Arc<str>>> = shorter.columns.iter().map(|(name, _)| of(name)).collect();
            Some((shorter, columns?))
        };
        shorter(&snippet.sql, SHORTER_MAX).iter().filter_map(read).collect()
    }
}

/// Whether a generated expression meets the demands that can be seen in its tree.
fn meets(node: &Node, demand: PlaceholderRequirement) -> bool {
    (!demand.no_collation || !node.collates())
        && (!demand.no_constant || node.uses_own_column() || matches!(node, Node::Literal(text) if is_null(text)))
        && (!demand.null_preserving || node.null_preserving())
}

/// A column of the table for each column of the snippet, of the same type; of any where only truth is taken.
fn map_columns(snippet: &Snippet, table: &TableInfo, any: bool, rng: &mut Rng) -> Option<Vec<Arc<str>>> {
    let pick_one = |(_, ty): &(String, ColumnType), rng: &mut Rng| {
        let fits = |c: &&ColumnInfo| c.is_of(ty) && (c.binary || any);
        let typed: Vec<&ColumnInfo> = table.columns.iter().filter(fits).collect();
        match pick(rng, &typed).copied() {
            Some(column) if !(any && chance(rng, 15)) => Some(column),
            _ if any => pick(rng, &table.columns),
            _ => None,
        }
    };
    snippet.columns.iter().map(|column| pick_one(column, rng).map(|c| c.name.clone())).collect()
}

impl TestDatabase for CaqDatabase<'_> {
    fn oracle(&self) -> &'static str {
        NAME
    }

    fn class(&self) -> &str {
        &self.class.class.name
    }

    fn epochs(&self) -> &[Vec<String>] {
        &self.database.epochs
    }

    fn case<'a>(&'a self, rng: &mut Rng) -> SharedCase<'a> {
        let placeholders = 0..self.class.class.names.placeholders.len();
        let fills = placeholders.map(|placeholder| self.fill(placeholder, rng)).collect();
        let mut members = self.class.members.clone();
        if members.len() > MEMBERS_PER_CASE {
            members.shuffle(rng);
            members.truncate(MEMBERS_PER_CASE);
        }
        let capabilities = &self.oracle.capabilities;
        let mut switched = |at: usize| match self.class.class.members[at].switch.as_deref() {
            None => None,
            Some("*") => pick(rng, &capabilities.switches).cloned(),
            Some(name) => capabilities.switch(name).cloned(),
        };
        let members = members.into_iter().map(|at| (at, switched(at))).collect();
        Rc::new(CaqCase { on: self, class: self.class.clone(), fills, members })
    }
}

#[cfg(test)]
mod tests;

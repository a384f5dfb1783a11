//! The `coddtest` oracle: a query, and the same query with an expression or relation folded to its value (`CODDTest` paper,
//! section 3).
//!
//! A case has three steps. The auxiliary query gives the value of φ, once or for each row of the outer columns that φ
//! names; the original query has φ; the folded one has the value in its place, written anew from the rows of the first
//! step on every run. φ stands in both in the same cast, or where only its truth value is taken, so that the value has
//! the type, affinity and collation that φ has.

mod clause;
mod phi;
mod relation;

use super::{Accepts, Oracle, Registration, Setting, SharedCase, TestDatabase, some_runs};
use crate::caq::instantiation::TableInstantiation;
use crate::caq::node::Node;
use crate::config::matches_glob;
use crate::generate::database::{Database, Relations, database};
use crate::generate::expr::{ExprGenerator, ExprSpec};
use crate::generate::{Capabilities, ColumnInfo, TableInfo};
use crate::rng::{Rng, chance, pick, stream};
use crate::sql::operator::Kind;
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::schema::{Column, Table};
use crate::sql::types::SqlType;
use clause::ClauseCase;
use rand::RngExt as _;
use relation::{Form, RelationCase};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use strum::VariantArray as _;

/// Its name.
pub const NAME: &str = "coddtest";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "a query and the same query with an expression or relation folded to its value agree",
    of_catalogue: false,
    open: |setting, accepts| {
        let any = Place::VARIANTS.iter().any(|place| wanted(setting.patterns, *place));
        any.then(|| Box::new(Coddtest::new(setting, accepts)) as _)
    },
};

/// Where φ stands. A failure counts for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", prefix = "folded-")]
enum Place {
    Where,
    On,
    Having,
    GroupBy,
    OrderBy,
    SelectList,
    Update,
    Delete,
    Insert,
    /// φ is a relation (section 3.4).
    Relation,
}

impl Place {
    fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it is in a statement that changes a table.
    fn changes(self) -> bool {
        matches!(self, Self::Update | Self::Delete | Self::Insert)
    }
}

fn wanted(patterns: &[String], place: Place) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches_glob(pattern, place.name()))
}

/// The oracle, for one target.
struct Coddtest {
    capabilities: Arc<Capabilities>,
    places: Vec<Place>,
    /// The ways to write a relation that the target takes.
    forms: Vec<Form>,
    /// Whether the target has ANY and ALL over subqueries.
    quantified: bool,
    unused: BTreeMap<String, String>,
}

/// The table that INSERT fills.
const SINK: &str = "t_sink";

impl Coddtest {
    fn new(setting: Setting, accepts: Accepts) -> Self {
        let Setting { capabilities, patterns, .. } = setting;
        let quantified = accepts(&capabilities.profile.start, "SELECT 1 = ANY (SELECT 1)").is_ok();
        let capabilities = capabilities.undoable();
        let mut oracle =
            Self { capabilities, places: Vec::new(), forms: Vec::new(), quantified, unused: BTreeMap::new() };
        oracle.forms = Form::ALL.into_iter().filter(|form| form.accepted(&oracle, accepts)).collect();
        for place in Place::VARIANTS.iter().copied().filter(|place| wanted(patterns, *place)) {
            match oracle.accepted(place, accepts) {
                Ok(()) => oracle.places.push(place),
                Err(why) => drop(oracle.unused.insert(place.name().to_owned(), why)),
            }
        }
        oracle
    }

    fn profile(&self) -> &Profile {
        &self.capabilities.profile
    }

    /// Whether some case of a place runs here, or what the target said to the last one tried.
    fn accepted(&self, place: Place, accepts: Accepts) -> Result<(), String> {
        if place.changes() && !self.capabilities.undoes {
            return Err("the target does not undo changes".to_owned());
        }
        if place == Place::Relation && self.forms.len() < 2 {
            return Err("fewer than two ways to write a relation".to_owned());
        }
        some_runs(|seed| {
            let mut rng = stream(seed, &[]);
            let database = CoddDatabase::generate(self, &mut rng);
            let case = database.case_at(place, &mut rng);
            let mut program = crate::program::Program::default();
            case.program(&mut program);
            let step = &program.steps()[1];
            let mut statements = database.database.epochs[0].clone();
            for text in &step.before {
                accepts(&statements, text.sql())?;
                statements.push(text.sql().to_owned());
            }
            accepts(&statements, step.sql.sql())
        })
    }
}

impl Oracle for Coddtest {
    fn name(&self) -> &'static str {
        NAME
    }

    fn share(&self) -> u32 {
        6
    }

    fn classes(&self) -> Vec<&str> {
        self.places.iter().map(|place| place.name()).collect()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        &self.unused
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        Box::new(CoddDatabase::generate(self, rng))
    }
}

/// Columns that an expression may name, each as it is named there.
type Scope = TableInfo;

/// A database, and what cases read.
struct CoddDatabase<'a> {
    oracle: &'a Coddtest,
    database: Database,
    /// How many of the tables are real ones, the first; the others have views and derived tables too.
    own: usize,
}

impl<'a> CoddDatabase<'a> {
    fn generate(oracle: &'a Coddtest, rng: &mut Rng) -> Self {
        let (relations, own) = relations(oracle, rng);
        let relations = Relations { all: &relations, own, collated: false };
        let mut database = database(relations, &oracle.capabilities, rng);
        let profile = oracle.profile();
        let declared = |ty| profile.declared(&ColumnType::Class(ty));
        let (int, text) = (declared(SqlType::Int), declared(SqlType::Text));
        database.epochs[0].push(format!("CREATE TABLE {SINK}(s0 {int}, s1 {text})"));
        Self { oracle, database, own }
    }

    fn profile(&self) -> &Profile {
        self.oracle.profile()
    }

    fn truth(&self) -> Kind {
        self.oracle.capabilities.truth()
    }

    fn node(&self, scope: &Scope, kind: Kind, depth: usize, rng: &mut Rng) -> Node {
        let generator = ExprGenerator {
            grammar: &self.oracle.capabilities.grammar,
            literals: &self.database.literals,
            tables: &self.database.tables,
        };
        // No collation may reach the value: what it is folded to has none.
        let want = ExprSpec { kind, null_preserving: false, binary: true, subqueries: chance(rng, 30), depth };
        generator.generate(scope, want, rng)
    }

    /// A relation to read: as it stands in FROM, its plainest form, and its columns.
    fn relation(&self, rng: &mut Rng) -> (Arc<str>, Arc<str>, Vec<ColumnInfo>) {
        let at = rng.random_range(0..self.database.tables.len());
        let table = &self.database.tables[at];
        let drawn = match pick(rng, &self.database.table_fills[at]) {
            None => table.name.clone(),
            Some(TableInstantiation::Name(name)) => name.clone(),
            Some(TableInstantiation::Derived(query) | TableInstantiation::Cte { query, .. }) => {
                format!("({query})").into()
            }
        };
        (drawn, table.name.clone(), table.columns.clone())
    }

    /// The columns of a relation as expressions name them.
    fn scope_of(&self, columns: &[ColumnInfo], alias: &str) -> Scope {
        let named =
            |column: &ColumnInfo| ColumnInfo { name: format!("{alias}.{}", column.name).into(), ..column.clone() };
        Scope { name: self.database.tables[0].name.clone(), columns: columns.iter().map(named).collect() }
    }

    fn case_at<'c>(&'c self, place: Place, rng: &mut Rng) -> SharedCase<'c> {
        match place {
            Place::Relation => Rc::new(RelationCase::draw(self, rng)),
            place => Rc::new(ClauseCase::draw(self, place, rng)),
        }
    }
}

/// A type for a value that is folded.
fn value_type(rng: &mut Rng) -> SqlType {
    const SHARE: [SqlType; 6] =
        [SqlType::Boolean, SqlType::Boolean, SqlType::Boolean, SqlType::Int, SqlType::Text, SqlType::Real];
    pick(rng, &SHARE).copied().unwrap_or(SqlType::Boolean)
}

/// A type in which equality is identity.
fn comparable_type(rng: &mut Rng) -> SqlType {
    if chance(rng, 60) { SqlType::Int } else { SqlType::Text }
}

/// Whether values of a column are equal only if they are the same, so that they can tell rows apart.
fn comparable(column: &ColumnInfo) -> bool {
    let types = [SqlType::Int, SqlType::Text, SqlType::Boolean];
    column.binary && column.other.is_none() && column.ty.is_some_and(|ty| types.contains(&ty))
}

/// The tables of a database: one to three of its own, and one that is also a view and a query.
fn relations(oracle: &Coddtest, rng: &mut Rng) -> (Vec<Table>, usize) {
    let own = rng.random_range(1..=2);
    let enforced = oracle.capabilities.enforced;
    let table = |name: String, keyed: bool, rng: &mut Rng| {
        let columns: Vec<Column> = (0..rng.random_range(1..=3))
            .map(|at| {
                const TYPES: [SqlType; 6] =
                    [SqlType::Int, SqlType::Int, SqlType::Text, SqlType::Text, SqlType::Boolean, SqlType::Real];
                let ty = pick(rng, &TYPES).copied().unwrap_or(SqlType::Int);
                Column { name: format!("c{at}"), ty, not_null: keyed && enforced.not_null && chance(rng, 10) }
            })
            .collect();
        let key = keyed && enforced.keys && columns[0].ty == SqlType::Int && chance(rng, 25);
        let unique = keyed && enforced.keys && columns.len() > 1 && chance(rng, 15);
        let mut table = Table {
            name,
            columns,
            primary_key: if key { vec![0] } else { Vec::new() },
            unique: if unique { vec![vec![1]] } else { Vec::new() },
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        };
        table.columns[0].not_null |= key;
        table
    };
    let mut all: Vec<Table> = (0..own).map(|at| table(format!("t{}", at + 1), true, rng)).collect();
    all.push(table("v1".to_owned(), false, rng));
    (all, own)
}

impl TestDatabase for CoddDatabase<'_> {
    fn oracle(&self) -> &'static str {
        NAME
    }

    fn class(&self) -> &str {
        NAME
    }

    fn epochs(&self) -> &[Vec<String>] {
        &self.database.epochs
    }

    fn case<'a>(&'a self, rng: &mut Rng) -> SharedCase<'a> {
        let place = pick(rng, &self.oracle.places).copied().unwrap_or(Place::Where);
        self.case_at(place, rng)
    }
}

//! The `state` oracle: a statement that changes a table, and a query that computes over the old state what the table must
//! have afterwards.
//!
//! A case asks the query first, then runs the statement, looks at the table, and undoes it. The same expressions stand in
//! both, an assigned value in a cast to exactly its column's type, so that the assignment converts nothing. What else must
//! hold is looked at in the same way: the table through its indexes, its constraints, the number of changed rows, what
//! RETURNING gives, that a statement which fails has changed nothing, and what triggers and foreign keys do to another table
//! meanwhile.

mod aside;
mod case;
mod change;
mod clauses;
mod draw;
mod look;
mod trigger;

use super::language::{Told, in_language, keep_known};
use super::{Accepts, Case as _, Oracle, Registration, Setting, SharedCase, TestDatabase, some_runs};
use crate::config::matches_glob;
use crate::generate::database::{Database, GeneratedInfo, IndexInfo, Relations, database};
use crate::generate::{Capabilities, ColumnInfo, TableInfo};
use crate::program::Program;
use crate::rng::{Rng, chance, pick, stream};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::schema::{Action, Actions, Column, ForeignKey, Table};
use crate::sql::types::SqlType;
use case::StateCase;
use rand::RngExt as _;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use strum::VariantArray as _;
use trigger::{LOG, LOG_COLUMNS, Trigger};

/// Its name.
pub const NAME: &str = "state";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "a statement that changes a table leaves what a query over the old state says",
    of_catalogue: false,
    open: |setting, accepts| {
        let any = Kind::VARIANTS.iter().any(|kind| wanted(setting.patterns, *kind));
        any.then(|| Box::new(State::new(setting, accepts)) as _)
    },
};

/// What changes the table. A failure counts for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", prefix = "state-")]
enum Kind {
    Update,
    Delete,
    InsertSelect,
    InsertValues,
    /// UPDATE with a joined query.
    UpdateFrom,
    /// DELETE with one.
    DeleteUsing,
    /// INSERT that updates rows with the same key.
    Upsert,
    /// INSERT that leaves out rows whose key is there.
    InsertNew,
    /// INSERT of which several clauses say what is done to rows with the same keys.
    UpsertClauses,
    /// INSERT that removes rows with the same key.
    Replace,
    Merge,
    /// UPDATE or DELETE of rows that others refer to, which the foreign key changes too.
    ForeignKey,
    /// A statement that runs triggers.
    Trigger,
    /// A statement that fails on some row.
    Failing,
}

impl Kind {
    fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it adds rows, of which only the columns that it gives a value are known.
    fn inserts(self) -> bool {
        matches!(self, Self::InsertSelect | Self::InsertValues | Self::Merge | Self::UpsertClauses) || self.needs_key()
    }

    /// Whether it needs a key of one column.
    fn needs_key(self) -> bool {
        matches!(self, Self::Upsert | Self::InsertNew | Self::Replace)
    }

    /// Whether some other table is changed too.
    fn has_aside(self) -> bool {
        matches!(self, Self::ForeignKey | Self::Trigger)
    }

    /// Whether few databases have what it needs.
    fn is_rare(self) -> bool {
        self.has_aside() || self == Self::UpsertClauses
    }

    /// The form of the profile that it needs, if it needs one.
    fn form(self, profile: &Profile) -> Option<&str> {
        let changes = &profile.changes;
        match self {
            Self::UpsertClauses => Some(&changes.upsert_clause),
            Self::Trigger => Some(changes.triggers.made.first().map_or("", String::as_str)),
            Self::UpdateFrom => Some(&changes.update_from),
            Self::DeleteUsing => Some(&changes.delete_using),
            Self::Upsert => Some(&changes.upsert),
            Self::InsertNew => Some(&changes.insert_new),
            Self::Replace => Some(&changes.replace),
            Self::Merge => Some(&changes.merge),
            Self::Update
            | Self::Delete
            | Self::InsertSelect
            | Self::InsertValues
            | Self::ForeignKey
            | Self::Failing => None,
        }
    }
}

fn wanted(patterns: &[String], kind: Kind) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches_glob(pattern, kind.name()))
}

/// The oracle, for one target.
struct State {
    capabilities: Arc<Capabilities>,
    /// Those whose expressions have a meaning for the reference evaluator.
    in_language: Capabilities,
    kinds: Vec<Kind>,
    /// Those that the target takes with RETURNING.
    returning: BTreeSet<Kind>,
    /// Whether SET takes a row of values from a subquery.
    row_values: bool,
    /// Whether a subquery may read the table that is changed, in SET and in WHERE.
    own_in_set: bool,
    own_in_where: bool,
    /// What foreign keys may do here.
    actions: Vec<Action>,
    unused: BTreeMap<String, String>,
}

impl State {
    fn new(setting: Setting, accepts: Accepts) -> Self {
        let Setting { capabilities, patterns, .. } = setting;
        let mut capabilities = Capabilities::clone(&capabilities.undoable());
        // A virtual table rounds what it is given. On a partitioned table of PostgreSQL an UPDATE that moves a row fires the
        // triggers of a DELETE and an INSERT (https://www.postgresql.org/docs/current/trigger-definition.html).
        capabilities.virtual_tables.clear();
        capabilities.partitions.clear();
        let profile = capabilities.profile.clone();
        let int = profile.declared(&ColumnType::Class(SqlType::Int));
        let table = [profile.start.as_slice(), &[format!("CREATE TABLE t(a {int}, b {int})")]].concat();
        let mut takes = |statement: &str| capabilities.undoes && accepts(&table, statement).is_ok();
        let in_order = profile.changes.sets_in_order;
        let mut oracle = Self {
            row_values: takes("UPDATE t SET (a, b) = (SELECT MAX(1), MAX(2))"),
            // What is seen row by row may be seen in the middle.
            own_in_set: !profile.set_sees_changes && !in_order && takes("UPDATE t SET a = (SELECT MAX(a) FROM t)"),
            own_in_where: takes("UPDATE t SET a = 1 WHERE EXISTS (SELECT 1 FROM t AS g WHERE g.b < t.a)")
                && takes("DELETE FROM t WHERE EXISTS (SELECT 1 FROM t AS g WHERE g.b < t.a)"),
            returning: BTreeSet::new(),
            actions: Vec::new(),
            in_language: in_language(&capabilities),
            capabilities: Arc::new(capabilities),
            kinds: Vec::new(),
            unused: BTreeMap::new(),
        };
        oracle.actions = oracle.accepted_actions(accepts);
        for kind in Kind::VARIANTS.iter().copied().filter(|kind| wanted(patterns, *kind)) {
            match oracle.accepted(kind, accepts) {
                Ok(()) => oracle.kinds.push(kind),
                Err(why) => drop(oracle.unused.insert(kind.name().to_owned(), why)),
            }
        }
        for (kind, statement) in [
            (Kind::Update, "UPDATE t SET a = 1 RETURNING a"),
            (Kind::Delete, "DELETE FROM t RETURNING a"),
            (Kind::InsertSelect, "INSERT INTO t(a) SELECT 1 RETURNING a"),
        ] {
            if oracle.capabilities.undoes && accepts(&table, statement).is_ok() {
                oracle.returning.insert(kind);
            }
        }
        oracle
    }

    fn profile(&self) -> &Profile {
        &self.capabilities.profile
    }

    /// Those of the dialect's actions of foreign keys that the target takes, where it keeps foreign keys at all.
    fn accepted_actions(&self, accepts: Accepts) -> Vec<Action> {
        let (profile, enforced) = (self.profile(), self.capabilities.enforced);
        if !(self.capabilities.undoes && enforced.keys && enforced.foreign_keys) {
            return Vec::new();
        }
        let int = profile.declared(&ColumnType::Class(SqlType::Int));
        let parent = [profile.start.as_slice(), &[format!("CREATE TABLE p(a {int} PRIMARY KEY)")]].concat();
        let mut takes = |(at, action): (usize, &Action)| {
            let key = format!("FOREIGN KEY(b) REFERENCES p(a) ON DELETE {action} ON UPDATE {action}");
            accepts(&parent, &format!("CREATE TABLE c{at}(b {int} DEFAULT (1), {key})")).is_ok()
        };
        let actions = profile.changes.actions.iter().enumerate();
        actions.filter(|action| takes(*action)).map(|(_, action)| *action).collect()
    }

    /// Whether some case of a kind runs here, or what the target said to the last one tried.
    fn accepted(&self, kind: Kind, accepts: Accepts) -> Result<(), String> {
        if !self.capabilities.undoes {
            return Err("the target does not undo changes".to_owned());
        }
        if kind.form(self.profile()) == Some("") || (kind == Kind::ForeignKey && self.actions.is_empty()) {
            return Err("the dialect has no such statement".to_owned());
        }
        some_runs(|seed| {
            let mut rng = stream(seed, &[]);
            let mut drawn = (0..DRAWN_MAX).map(|_| StateDatabase::generate(self, &mut rng));
            let Some(database) = drawn.find(|database| database.has(kind)) else {
                return Err("no database for it".to_owned());
            };
            drop(drawn);
            let case = StateCase::plain(&database, kind, &mut rng);
            let mut program = Program::default();
            case.program(&mut program);
            let (statements, triggers) = database.statements();
            triggers.iter().try_for_each(|trigger| accepts(statements, trigger))?;
            for step in program.steps() {
                let mut texts = step.before.iter().chain([&step.sql]);
                let said = texts.try_for_each(|text| accepts(statements, text.sql()));
                // That it must fail says nothing of whether the target takes it.
                if !step.failing {
                    said?;
                }
            }
            Ok(())
        })
    }
}

impl Oracle for State {
    fn name(&self) -> &'static str {
        NAME
    }

    fn share(&self) -> u32 {
        3
    }

    fn classes(&self) -> Vec<&str> {
        self.kinds.iter().map(|kind| kind.name()).collect()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        &self.unused
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        let mut database = StateDatabase::generate(self, rng);
        for _ in 1..DRAWN_MAX {
            if self.kinds.iter().any(|kind| database.has(*kind)) {
                break;
            }
            database = StateDatabase::generate(self, rng);
        }
        Box::new(database)
    }
}

/// Databases in a hundred on which the reference evaluator judges the next state.
const JUDGED_PERCENT: u32 = 10;

/// Cases drawn there until one has a meaning for it.
const DRAWS: usize = 6;

/// Databases drawn until one has what a kind needs.
const DRAWN_MAX: usize = 200;

/// A database, and what cases change.
struct StateDatabase<'a> {
    oracle: &'a State,
    /// The tables as they were asked for, without the columns that the generator adds.
    schema: Vec<Table>,
    database: Database,
    triggers: Vec<Trigger>,
    /// The statements that make them.
    trigger_statements: Vec<String>,
    /// What the reference evaluator is told, where it judges the next state.
    told: Option<Told>,
}

impl<'a> StateDatabase<'a> {
    fn generate(oracle: &'a State, rng: &mut Rng) -> Self {
        let schema = schema(oracle, rng);
        let relations = Relations { all: &schema, own: schema.len(), collated: false };
        let mut database = database(relations, &oracle.capabilities, rng);
        let referred = schema.iter().any(|table| table.foreign_keys.iter().any(acts));
        let logs = !referred && !oracle.profile().changes.triggers.made.is_empty() && chance(rng, 20);
        let mut told = None;
        if chance(rng, JUDGED_PERCENT) {
            database.tables.iter_mut().for_each(keep_known);
            let log = LOG_COLUMNS.map(|(name, ty)| ColumnInfo::typed(name, ty)).to_vec();
            let log = logs.then(|| TableInfo { name: LOG.into(), columns: log });
            told = Some(Told::new(database.tables.iter().cloned().chain(log).collect(), oracle.profile()));
        }
        let (triggers, trigger_statements) = (Vec::new(), Vec::new());
        let mut drawn = Self { oracle, schema, database, triggers, trigger_statements, told };
        if logs {
            drawn.make_triggers(rng);
        }
        drawn
    }

    fn profile(&self) -> &Profile {
        self.oracle.profile()
    }

    /// What expressions are made of.
    fn capabilities(&self) -> &Capabilities {
        if self.told.is_some() { &self.oracle.in_language } else { &self.oracle.capabilities }
    }

    fn table(&self, at: usize) -> &TableInfo {
        &self.database.tables[at]
    }

    /// The statements before the first cases without those that make triggers, and these.
    fn statements(&self) -> (&[String], &[String]) {
        let all = self.database.epochs.first().map_or(&[][..], Vec::as_slice);
        all.split_at(all.len() - self.trigger_statements.len())
    }

    /// The columns of a table as the schema has them: all that INSERT gives a value, and that constraints are on.
    fn own_columns(&self, at: usize) -> &[ColumnInfo] {
        &self.table(at).columns[..self.schema[at].columns.len()]
    }

    /// The indexes of a table.
    fn indexes(&self, at: usize) -> Vec<&IndexInfo> {
        self.database.indexes.iter().filter(|index| index.relation == at).collect()
    }

    /// The generated columns of a table.
    fn generated(&self, at: usize) -> Vec<&GeneratedInfo> {
        self.database.generated.iter().filter(|column| column.relation == at).collect()
    }

    /// The value of a column that INSERT gives none.
    fn absent(&self, at: usize, column: &str) -> String {
        let place = self.schema[at].columns.iter().position(|of| of.name == column).unwrap_or_default();
        let ty = self.table(at).columns.get(place).and_then(|column| column.ty).unwrap_or(SqlType::Int);
        self.database.defaults.get(&(at, place)).map_or_else(|| self.profile().null(ty), |value| format!("({value})"))
    }

    /// Whether rows of a table get numbers of the engine's choice, which may be others each time.
    fn numbers_rows(&self, at: usize) -> bool {
        let generated = self.generated(at);
        let is_number = |column: &&ColumnInfo| !column.given && !generated.iter().any(|of| of.name == column.name);
        self.table(at).columns.iter().any(|column| is_number(&column))
    }

    /// The column that alone is a key of a table, if nothing else is unique there.
    fn only_key(&self, at: usize) -> Option<usize> {
        let table = &self.schema[at];
        let keys = [table.primary_key.clone()].into_iter().chain(table.unique.clone()).filter(|key| !key.is_empty());
        match keys.collect::<Vec<_>>().as_slice() {
            [key] if key.len() == 1 && !self.indexes(at).iter().any(|index| index.unique) => Some(key[0]),
            _ => None,
        }
    }

    /// The columns that are the two keys of a table, if nothing else is unique there.
    fn two_keys(&self, at: usize) -> Option<[usize; 2]> {
        let table = &self.schema[at];
        match (table.primary_key.as_slice(), table.unique.as_slice()) {
            ([one], [other])
                if other.len() == 1 && !other.contains(one) && !self.indexes(at).iter().any(|index| index.unique) =>
            {
                Some([*one, other[0]])
            }
            _ => None,
        }
    }

    /// The table with a foreign key that does something, which refers to the first table.
    fn referring(&self) -> Option<usize> {
        self.schema.iter().position(|table| table.foreign_keys.iter().any(acts))
    }

    /// Whether a table has what a kind needs. What foreign keys do to another table only their own kind expects.
    fn fits(&self, kind: Kind, at: usize) -> bool {
        let is_referred = self.referring().is_some() && at == 0;
        match kind {
            Kind::ForeignKey => is_referred,
            _ if is_referred => false,
            Kind::Trigger => self.triggers.iter().any(|trigger| trigger.table == at),
            Kind::UpsertClauses => self.two_keys(at).is_some() && self.schema[at].columns.len() > 2,
            Kind::Failing => !self.breakable(at).is_empty(),
            kind => !kind.needs_key() || self.only_key(at).is_some(),
        }
    }

    /// Whether some table has what a kind needs.
    fn has(&self, kind: Kind) -> bool {
        (0..self.schema.len()).any(|at| self.fits(kind, at))
    }

    /// A kind that this database has a table for.
    fn draw_kind(&self, rng: &mut Rng) -> Kind {
        let mut kinds: Vec<Kind> = self.oracle.kinds.iter().copied().filter(|kind| self.has(*kind)).collect();
        if kinds.iter().any(|kind| kind.is_rare()) && chance(rng, 50) {
            kinds.retain(|kind| kind.is_rare());
        }
        pick(rng, &kinds).copied().unwrap_or(Kind::Update)
    }
}

/// Whether a foreign key may change the rows of its table, or is said to do nothing.
fn acts(key: &ForeignKey) -> bool {
    key.actions != Actions::default()
}

/// Two tables; the second may refer to the first.
fn schema(oracle: &State, rng: &mut Rng) -> Vec<Table> {
    let enforced = oracle.capabilities.enforced;
    let acting = !oracle.actions.is_empty() && chance(rng, 20);
    let mut tables: Vec<Table> = Vec::new();
    for at in 0..2 {
        let columns: Vec<Column> = (0..rng.random_range(2..=4))
            .map(|column| {
                const TYPES: [SqlType; 6] =
                    [SqlType::Int, SqlType::Int, SqlType::Text, SqlType::Text, SqlType::Boolean, SqlType::Real];
                let ty = if column == 0 { SqlType::Int } else { pick(rng, &TYPES).copied().unwrap_or(SqlType::Int) };
                Column { name: format!("c{column}"), ty, not_null: enforced.not_null && chance(rng, 15) }
            })
            .collect();
        let of_keys = |column: &Column| [SqlType::Int, SqlType::Text].contains(&column.ty);
        let mut table = Table {
            name: format!("t{}", at + 1),
            columns,
            primary_key: Vec::new(),
            unique: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        };
        if enforced.keys {
            match rng.random_range(0..10) {
                0..4 => table.primary_key = vec![0],
                4 => table.primary_key = vec![0, 1],
                _ => {}
            }
            if of_keys(&table.columns[1]) && chance(rng, 25) {
                table.unique.push(vec![1]);
            }
        }
        if acting && (at == 0 || !table.primary_key.is_empty()) {
            table.primary_key = vec![0];
        }
        for column in table.primary_key.clone() {
            table.columns[column].not_null = true;
        }
        if enforced.checks && chance(rng, 20) {
            table.checks.push("c0 <> 1".to_owned());
        }
        let parent = tables.first().filter(|parent: &&Table| parent.primary_key == [0]);
        if acting && parent.is_some() {
            let mut draw = || pick(rng, &oracle.actions).copied().unwrap_or_default();
            let mut actions = Actions { delete: draw(), update: draw() };
            if actions == Actions::default() {
                actions.delete = *oracle.actions.last().unwrap_or(&Action::Cascade);
            }
            table.columns[1] = Column { name: "c1".to_owned(), ty: SqlType::Int, not_null: false };
            table.foreign_keys.push(ForeignKey { columns: vec![1], table: 0, referred: vec![0], actions });
        } else if parent.is_some() && enforced.foreign_keys && chance(rng, 25) {
            let actions = Actions::default();
            table.foreign_keys.push(ForeignKey { columns: vec![0], table: 0, referred: vec![0], actions });
        }
        tables.push(table);
    }
    tables
}

impl TestDatabase for StateDatabase<'_> {
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
        let kind = self.draw_kind(rng);
        let mut case = StateCase::draw(self, kind, rng);
        for _ in 1..DRAWS {
            if !case.lacks_meaning() {
                break;
            }
            case = StateCase::draw(self, kind, rng);
        }
        Rc::new(case)
    }
}

#[cfg(test)]
mod tests;

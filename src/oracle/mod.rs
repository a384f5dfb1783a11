//! What can be checked. An oracle makes databases and cases on them; a case is a [`Program`].
//!
//! Oracles are pure. They say what to run and what must hold; [`crate::interpret`] runs it. To add one: a file here, a line
//! in [`ALL`], and the faults that only it shows in the self-test.

pub mod approx;
pub mod caq;
pub mod coddtest;
pub mod consistency;
pub mod edc;
mod expressions;
mod language;
mod shrink;
pub mod spec;
pub mod state;

use crate::caq::class::OracleClass;
use crate::config::matches_glob;
use crate::generate::Capabilities;
use crate::program::{Assumption, Program, Step};
use crate::rng::Rng;
use crate::sql::snippet::Snippet;
pub use caq::Accepted;
use rand::RngExt as _;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// A case on a database that is there as long as `'a`.
pub trait Case<'a> {
    /// Writes the steps and the checks.
    fn program(&self, into: &mut Program);

    /// What it was made of, as reports show it.
    fn describe(&self) -> Vec<String>;

    /// What a check between these steps of its program rests on.
    fn assumptions(&self, program: &Program, steps: &[usize]) -> Vec<Assumption>;

    /// How many parts it has that become smaller each by itself.
    fn parts(&self) -> usize;

    /// Cases in which a part is smaller by one step and everything else is the same, the most promising first. They have the
    /// same checks, and the same steps but for those of which a check of two steps needs the rows no more.
    fn smaller(&self, part: usize) -> Vec<SharedCase<'a>>;

    /// Cases of shorter texts of its query, the most promising first, where a case of any query has the same check. They are made
    /// when they are asked for.
    fn shorter(&self) -> Box<dyn Iterator<Item = SharedCase<'a>> + 'a> {
        Box::new(std::iter::empty())
    }

    /// How many smaller forms of a part a limit keeps out of [`Case::smaller`].
    fn left_out(&self, _part: usize) -> usize {
        0
    }

    /// Cases of two queries, between which a check of all of them must hold too, the shortest first. What these queries need
    /// the rows of may stand beside them.
    fn pairs(&self) -> Vec<SharedCase<'a>> {
        Vec::new()
    }

    /// Cases of simpler queries, the most promising first. Each counts only if the prover says that its queries are equivalent.
    fn reworded(&self) -> Vec<Reworded<'a>> {
        Vec::new()
    }

    /// How many simpler forms of the queries a limit keeps out of [`Case::reworded`].
    fn rewordings_left_out(&self) -> usize {
        0
    }

    /// The case with what a part computes as rows of a plain table.
    fn folded(&self, _part: usize) -> Option<Folded<'a>> {
        None
    }

    /// Whether it rests on the constraints of tables, so that a table without one is no plainer.
    fn rests_on_definitions(&self) -> bool {
        false
    }

    /// What a step is an instance of, where that is no member of a class.
    fn context(&self, _step: &Step) -> Option<&str> {
        None
    }

    /// The class that a violation between these steps counts for, if it is not the database's. Where two disagree, most
    /// others contradict the last.
    fn blamed(&self, _steps: &[&Step]) -> Option<&str> {
        None
    }

    /// Says what it is made of, so that what becomes of it counts for that.
    fn uses(&self, _note: &mut dyn FnMut(Use<'_>)) {}

    /// The placeholder whose filling has a subquery, where no other one has: if the engine refuses the case, that is why.
    fn only_subquery(&self) -> Option<usize> {
        None
    }
}

/// Cases of one kind that are tried before it counts as one that the target does not take.
const TRIED: u64 = 12;

/// Whether some case of a kind runs, each made from a seed by `run`, or what the target said to the last one.
fn some_runs(mut run: impl FnMut(u64) -> Result<(), String>) -> Result<(), String> {
    let mut said = Err("no case".to_owned());
    for seed in 0..TRIED {
        said = run(seed);
        if said.is_ok() {
            break;
        }
    }
    said
}

/// A case of simpler queries that are equivalent if the prover says so.
pub struct Reworded<'a> {
    /// The case.
    pub case: SharedCase<'a>,
    /// What to ask the prover: a line of its file of pairs.
    pub question: String,
    /// What its proof may take for granted.
    pub guarantees: BTreeSet<prover::ir::Assumption>,
}

/// A case in which something computed became rows of a plain table.
pub struct Folded<'a> {
    /// The case, once the table has them.
    pub case: SharedCase<'a>,
    /// The table.
    pub table: Arc<str>,
    /// The query for the rows.
    pub query: String,
    /// Its columns.
    pub columns: Columns,
}

/// Where rows become rows of a table.
pub enum Columns {
    /// In the place of all that the table has, in these columns.
    All(Vec<Arc<str>>),
    /// In a further column, of one value for each row in the order in which they were inserted.
    Further {
        /// Its name.
        name: String,
        /// Its type in the table's definition.
        declared: String,
    },
}

/// Something that cases are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use<'a> {
    /// A snippet.
    Snippet {
        /// Its key.
        key: &'a str,
        /// Where it is from, or where what it is a part of is from.
        origin: &'a str,
    },
    /// An operator of the dialect's grammar, as its profile writes it.
    Operator(&'a str),
    /// A function of the engine's list.
    Function(&'a str),
}

/// Says of what snippets an expression is made.
fn note_snippet(snippet: &Snippet, note: &mut dyn FnMut(Use<'_>)) {
    snippet.made_of.iter().for_each(|key| note(Use::Snippet { key, origin: &snippet.origin }));
    snippet.calls.iter().for_each(|name| note(Use::Function(name)));
}

/// A case that several hold.
pub type SharedCase<'a> = Rc<dyn Case<'a> + 'a>;

/// A database of one class and the cases on it.
pub trait TestDatabase {
    /// The name of the oracle.
    fn oracle(&self) -> &'static str;

    /// The class.
    fn class(&self) -> &str;

    /// Whether the reducer may take a column out of a table of this name, with its values.
    fn may_drop(&self, table: &str, column: &str) -> bool {
        // The generator names every column that is not the class's after its table.
        column.strip_prefix(table).is_some_and(|rest| rest.starts_with('_'))
    }

    /// Statements before the first cases, and before each further batch of cases.
    fn epochs(&self) -> &[Vec<String>];

    /// Makes a case. The generator alone decides what it is.
    fn case<'a>(&'a self, rng: &mut Rng) -> SharedCase<'a>;
}

/// An oracle, for one target.
pub trait Oracle: Send + Sync {
    /// Its name, as users select it.
    fn name(&self) -> &'static str;

    /// Its share of the databases of a hunt, beside those of other oracles.
    fn share(&self) -> u32;

    /// The classes it checks on this target.
    fn classes(&self) -> Vec<&str>;

    /// Classes and members that are not used here, and why.
    fn unused(&self) -> &BTreeMap<String, String>;

    /// How many members it uses that are not proven equivalent to the rest of their class.
    fn assumed(&self) -> usize {
        0
    }

    /// Makes a database of a random class.
    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a>;
}

/// Says whether the target takes a query on what statements make, or why not.
pub type Accepts<'a> = &'a mut dyn FnMut(&[String], &str) -> Result<(), String>;

/// What an oracle is made for.
pub struct Setting<'a> {
    /// What the target takes.
    pub capabilities: Arc<Capabilities>,
    /// The classes of the catalogue whose names were asked for.
    pub catalogue: &'a [OracleClass],
    /// What of these the target takes, once it is known.
    pub accepted: &'a OnceCell<Accepted>,
    /// Whether the user brought them: then nothing else is checked unless it is asked for.
    pub brought: bool,
    /// Whether members of theirs without a proof are used.
    pub assumed: bool,
    /// Patterns of the names of classes; empty for all.
    pub patterns: &'a [String],
    /// In how many of a hundred places a corpus snippet is taken rather than a generated expression.
    pub snippet_percent: u32,
    /// In how many of a hundred of these it may be one that fails on some rows.
    pub may_fail_percent: u32,
}

/// The class of queries that are generated anew for each database.
const GENERATED: &str = "generated";

impl Setting<'_> {
    /// Whether generated queries were asked for by name.
    fn asks_for_generated(&self) -> bool {
        self.patterns.iter().any(|pattern| matches_glob(pattern, GENERATED))
    }

    /// Whether queries are generated.
    fn generates(&self) -> bool {
        self.patterns.is_empty() && !self.brought || self.asks_for_generated()
    }

    /// Whether there is something for an oracle that takes queries of the catalogue and generated ones.
    fn has_queries(&self) -> bool {
        !self.catalogue.is_empty() || self.asks_for_generated()
    }
}

/// What an oracle is told in tests: the target takes everything and does `more`, and nothing is asked for by name.
#[cfg(test)]
fn test_setting(dialect: &str, more: impl FnOnce(&mut Capabilities)) -> Setting<'static> {
    use crate::generate::{Corpus, Enforced};
    let enforced = Enforced { not_null: true, keys: true, checks: true, foreign_keys: true };
    let rows = |_: &str| Some(vec![vec![crate::sql::types::Value::Int(1)]]);
    let profile = crate::catalogue::profile(dialect).expect("shipped");
    let mut capabilities = Capabilities::probe(profile, Corpus::default(), enforced, rows);
    more(&mut capabilities);
    Setting {
        capabilities: Arc::new(capabilities),
        catalogue: &[],
        accepted: Box::leak(Box::default()),
        brought: false,
        assumed: false,
        patterns: &[],
        snippet_percent: 0,
        may_fail_percent: 0,
    }
}

/// An oracle as it is known to the program.
pub struct Registration {
    /// Its name, as users select it.
    pub name: &'static str,
    /// What it checks, in a line.
    pub about: &'static str,
    /// Whether its classes are those of the catalogue, so that whoever brings classes wants it.
    pub of_catalogue: bool,
    /// Makes it for a target; `None` if no class of its was asked for.
    pub open: fn(Setting, Accepts) -> Option<Box<dyn Oracle>>,
}

/// All oracles.
pub const ALL: [Registration; 7] = [
    caq::REGISTRATION,
    consistency::REGISTRATION,
    coddtest::REGISTRATION,
    edc::REGISTRATION,
    spec::REGISTRATION,
    approx::REGISTRATION,
    state::REGISTRATION,
];

/// The oracles of a hunt. Each database is of one of them, as often as its share says.
pub struct Oracles(Vec<Box<dyn Oracle>>);

impl Oracles {
    /// Those of these that have a class.
    pub fn new(oracles: Vec<Box<dyn Oracle>>) -> Self {
        Self(oracles.into_iter().filter(|oracle| !oracle.classes().is_empty()).collect())
    }

    /// The classes that they check on this target.
    pub fn classes(&self) -> Vec<&str> {
        self.0.iter().flat_map(|oracle| oracle.classes()).collect()
    }

    /// The classes of one of them.
    pub fn classes_of(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|oracle| oracle.name() == name).flat_map(|oracle| oracle.classes()).collect()
    }

    /// Makes a database of a random class of a random oracle; there must be one.
    pub fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        let [first, others @ ..] = self.0.as_slice() else { unreachable!("a hunt has an oracle") };
        let mut drawn = first;
        let mut shares = first.share();
        for oracle in others {
            shares += oracle.share();
            if rng.random_ratio(oracle.share(), shares) {
                drawn = oracle;
            }
        }
        drawn.database(rng)
    }
}

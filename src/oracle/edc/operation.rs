//! The operations: expressions over a row, aggregates over groups of rows, window functions.

use super::Edc;
use crate::generate::Function;
use crate::oracle::expressions::TABLE;
use crate::oracle::{Use, note_snippet, shrink};
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::ColumnType;
#[cfg(test)]
use crate::sql::profile::Profile;
use crate::sql::snippet::Snippet;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// The column of the rows' keys.
pub(super) const KEY: &str = "k";

/// Columns whose values an operation is applied to, at most, as in the paper.
const ARGUMENTS_MAX: usize = 5;

/// Columns by which rows are grouped, at most, as in the paper.
const GROUPS_MAX: usize = 3;

/// Smaller forms of an expression that the reducer tries at once.
const SHORTER_MAX: usize = 80;

/// Window functions of SQL:2003, whether they take a frame, and aggregates that every engine has.
const WINDOWS: [(&str, &[&str], bool); 17] = [
    ("row_number", &[], false),
    ("rank", &[], false),
    ("dense_rank", &[], false),
    ("percent_rank", &[], false),
    ("cume_dist", &[], false),
    ("ntile", &["2"], false),
    ("lag", &["#ANY"], false),
    ("lead", &["#ANY"], false),
    ("lag", &["#ANY", "2"], false),
    ("first_value", &["#ANY"], true),
    ("last_value", &["#ANY"], true),
    ("nth_value", &["#ANY", "2"], true),
    ("count", &["#ANY"], true),
    ("max", &["#ANY"], true),
    ("min", &["#ANY"], true),
    ("sum", &["#INT"], true),
    ("avg", &["#INT"], true),
];

/// Frames that take some of the rows only.
const FRAMES: [&str; 4] = [
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
];

/// What is computed.
#[derive(Clone)]
pub(super) enum Operation {
    /// An expression over a row.
    Scalar(Arc<Snippet>),
    Aggregate(Aggregate),
    Window(Window),
}

/// An aggregate over the rows of a group.
#[derive(Clone)]
pub(super) struct Aggregate {
    call: Call,
    distinct: bool,
    /// Whether it takes the rows in the order of their keys.
    ordered: bool,
    /// The columns of the groups; none for one group of all rows.
    pub(super) groups: Vec<Arc<str>>,
}

/// A window function. Its rows are in the order of their keys, so that there are no ties.
#[derive(Clone)]
pub(super) struct Window {
    call: Call,
    partition: Vec<Arc<str>>,
    descending: bool,
    frame: Option<&'static str>,
}

#[derive(Clone)]
struct Call {
    name: String,
    arguments: Vec<Arc<Snippet>>,
}

impl Call {
    fn text(&self, alias: &str) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(|argument| rendered(argument, alias)).collect();
        arguments.join(", ")
    }

    /// The type of the values, as far as the name tells. The engine is asked where something rests on it.
    fn ty(&self) -> Option<SqlType> {
        match self.name.as_str() {
            "count" | "row_number" | "rank" | "dense_rank" | "ntile" => Some(SqlType::Int),
            "max" | "min" | "lag" | "lead" | "first_value" | "last_value" | "nth_value" => {
                let argument = self.arguments.first()?;
                // A column, and not what is made of one.
                match argument.columns.as_slice() {
                    [(name, ColumnType::Class(ty))] if argument.sql == format!("{TABLE}.{name}") => Some(*ty),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// A snippet over the table that is visible as `alias`; over columns that are not qualified if that is empty.
pub(super) fn rendered(snippet: &Snippet, alias: &str) -> String {
    let columns: Vec<Arc<str>> = snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
    let mut out = String::new();
    snippet.render_with(&columns, TABLE, &mut out, |column, out| {
        if !alias.is_empty() {
            out.push_str(alias);
            out.push('.');
        }
        out.push_str(&columns[column]);
    });
    out
}

/// `columns` of the table that is visible as `alias`, each followed by a comma.
fn listed(columns: &[Arc<str>], alias: &str) -> String {
    columns.iter().fold(String::new(), |mut out, column| {
        // Writing to a string does not fail.
        let _ = write!(out, "{alias}.{column} AS {column}, ");
        out
    })
}

fn names(columns: &[Arc<str>], alias: &str) -> String {
    columns.iter().map(|column| format!("{alias}.{column}")).collect::<Vec<_>>().join(", ")
}

impl Operation {
    /// An expression over a row; nothing if there is none that can be stored.
    pub(super) fn scalar(oracle: &Edc, rng: &mut Rng) -> Option<Self> {
        let expressions = &oracle.expressions;
        let may_fail = chance(rng, oracle.may_fail_percent);
        let snippet = match rng.random_range(0..100) {
            drawn if drawn < oracle.snippet_percent => expressions.of_corpus(may_fail, rng),
            _ if chance(rng, 12) => expressions.cast(rng),
            _ if chance(rng, 55) => expressions.call(rng),
            _ => expressions.generated(rng),
        }?;
        // A column has no COLLATE, and a constant has a type of its own on some engines.
        let fits = !snippet.collates && (1..=ARGUMENTS_MAX).contains(&snippet.columns.len());
        (fits && !snippet.aliases.iter().any(|alias| is_ours(alias))).then_some(Self::Scalar(snippet))
    }

    /// A column by itself, of a class's type.
    pub(super) fn column(oracle: &Edc, rng: &mut Rng) -> Self {
        Self::Scalar(column(oracle, rng))
    }

    /// The number of rows.
    pub(super) fn count(oracle: &Edc, rng: &mut Rng) -> Self {
        let call = Call { name: "count".to_owned(), arguments: vec![column(oracle, rng)] };
        Self::Aggregate(Aggregate { call, distinct: false, ordered: false, groups: Vec::new() })
    }

    /// An aggregate that the target takes.
    pub(super) fn any_aggregate(oracle: &Edc, rng: &mut Rng) -> Option<Self> {
        Self::aggregate(oracle, pick(rng, &oracle.aggregates)?, rng)
    }

    /// An aggregate.
    pub(super) fn aggregate(oracle: &Edc, aggregate: &Function, rng: &mut Rng) -> Option<Self> {
        let arguments = arguments(oracle, aggregate.arguments.iter().map(String::as_str), rng)?;
        let mut groups = oracle.groupable.clone();
        groups.shuffle(rng);
        groups.truncate(rng.random_range(0..=GROUPS_MAX));
        let ordered = oracle.is_ordered(&aggregate.name);
        Some(Self::Aggregate(Aggregate {
            distinct: !ordered && arguments.len() == 1 && chance(rng, 15),
            call: Call { name: aggregate.name.clone(), arguments },
            ordered,
            groups,
        }))
    }

    /// A window function.
    pub(super) fn window(oracle: &Edc, rng: &mut Rng) -> Option<Self> {
        let (name, templates, framed) = pick(rng, &WINDOWS)?;
        let arguments = arguments(oracle, templates.iter().copied(), rng)?;
        let mut partition = oracle.groupable.clone();
        partition.shuffle(rng);
        partition.truncate(rng.random_range(0..=2));
        let frame = if *framed && chance(rng, 50) { pick(rng, &FRAMES).copied() } else { None };
        let call = Call { name: (*name).to_owned(), arguments };
        Some(Self::Window(Window { call, partition, descending: chance(rng, 30), frame }))
    }

    /// An aggregate of one argument.
    #[cfg(test)]
    pub(super) fn test_aggregate(name: &str, argument: &str, groups: &[Arc<str>], profile: &Profile) -> Self {
        let argument = Snippet::parse(argument, profile).expect("a snippet");
        let call = Call { name: name.to_owned(), arguments: vec![Arc::new(argument)] };
        Self::Aggregate(Aggregate { call, distinct: false, ordered: false, groups: groups.to_vec() })
    }

    /// The type of its values, where it is known.
    pub(super) fn ty(&self) -> Option<SqlType> {
        match self {
            Self::Scalar(snippet) => {
                if snippet.boolean_valued {
                    Some(SqlType::Boolean)
                } else {
                    snippet.ty
                }
            }
            Self::Aggregate(Aggregate { call, .. }) | Self::Window(Window { call, .. }) => call.ty(),
        }
    }

    /// Whether a word is in it, given in lower case.
    pub(super) fn has_word(&self, word: &str) -> bool {
        match self {
            Self::Scalar(snippet) => snippet.has_word(word),
            Self::Aggregate(Aggregate { call, .. }) | Self::Window(Window { call, .. }) => {
                call.name == word || call.arguments.iter().any(|argument| argument.has_word(word))
            }
        }
    }

    /// Whether a function in it has a name that starts so, in lower case.
    pub(super) fn has_prefix(&self, prefix: &str) -> bool {
        let starts = |text: &str| text.to_ascii_lowercase().contains(prefix);
        match self {
            Self::Scalar(snippet) => starts(&snippet.sql),
            Self::Aggregate(Aggregate { call, .. }) | Self::Window(Window { call, .. }) => {
                starts(&call.name) || call.arguments.iter().any(|argument| starts(&argument.sql))
            }
        }
    }

    /// The columns that tell its rows apart.
    pub(super) fn keys(&self) -> Vec<Arc<str>> {
        match self {
            Self::Aggregate(Aggregate { groups, .. }) if groups.is_empty() => vec!["g0".into()],
            Self::Aggregate(Aggregate { groups, .. }) => groups.clone(),
            Self::Scalar(_) | Self::Window(_) => vec![KEY.into()],
        }
    }

    /// Columns that its rows have besides: some of these.
    pub(super) fn carried(&self, some: &[Arc<str>]) -> Vec<Arc<str>> {
        match self {
            Self::Aggregate(Aggregate { groups, .. }) => groups.clone(),
            Self::Scalar(_) | Self::Window(_) => some.to_vec(),
        }
    }

    /// It over the table that is visible as `alias`.
    pub(super) fn text(&self, alias: &str) -> String {
        match self {
            Self::Scalar(snippet) => format!("({})", rendered(snippet, alias)),
            Self::Aggregate(Aggregate { call, distinct, ordered, .. }) => {
                let distinct = if *distinct { "DISTINCT " } else { "" };
                let order = if *ordered { format!(" ORDER BY {alias}.{KEY}") } else { String::new() };
                format!("{}({distinct}{}{order})", call.name, call.text(alias))
            }
            Self::Window(Window { call, partition, descending, frame }) => {
                let by = if partition.is_empty() {
                    String::new()
                } else {
                    format!("PARTITION BY {} ", names(partition, alias))
                };
                let descending = if *descending { " DESC" } else { "" };
                let frame = frame.map(|frame| format!(" {frame}")).unwrap_or_default();
                format!("{}({}) OVER ({by}ORDER BY {alias}.{KEY}{descending}{frame})", call.name, call.text(alias))
            }
        }
    }

    /// The query whose rows are stored: keys, what is carried, and the results as `r`, over a form of the table.
    pub(super) fn query(&self, carried: &[Arc<str>], table: &str) -> String {
        let alias = "q";
        let value = self.text(alias);
        match self {
            Self::Aggregate(Aggregate { groups, .. }) if groups.is_empty() => {
                format!("SELECT 0 AS g0, {value} AS r FROM {table} AS {alias}")
            }
            Self::Aggregate(Aggregate { groups, .. }) => {
                let (columns, by) = (listed(groups, alias), names(groups, alias));
                format!("SELECT {columns}{value} AS r FROM {table} AS {alias} GROUP BY {by}")
            }
            Self::Scalar(_) | Self::Window(_) => {
                let columns = listed(&[&[KEY.into()], carried].concat(), alias);
                format!("SELECT {columns}{value} AS r FROM {table} AS {alias}")
            }
        }
    }

    /// How many smaller ones a limit leaves out.
    pub(super) fn left_out(&self) -> usize {
        match self {
            Self::Scalar(snippet) => shrink::shorter(&snippet.sql, usize::MAX).len().saturating_sub(SHORTER_MAX),
            Self::Aggregate(_) | Self::Window(_) => 0,
        }
    }

    /// Smaller ones, the most promising first.
    pub(super) fn smaller(&self, oracle: &Edc) -> Vec<Self> {
        match self {
            Self::Scalar(snippet) => {
                let of = |text: &String| {
                    let mut shorter = oracle.expressions.parse(text)?;
                    // What is claimed is asked again.
                    (shorter.ty, shorter.boolean_valued) = (snippet.ty, snippet.boolean_valued);
                    shorter.is_of(snippet);
                    (!shorter.collates && !shorter.columns.is_empty()).then(|| Self::Scalar(Arc::new(shorter)))
                };
                shrink::shorter(&snippet.sql, SHORTER_MAX).iter().filter_map(of).collect()
            }
            Self::Aggregate(aggregate) => {
                let mut smaller: Vec<Aggregate> =
                    without_each(&aggregate.groups).map(|groups| Aggregate { groups, ..aggregate.clone() }).collect();
                if aggregate.distinct {
                    smaller.push(Aggregate { distinct: false, ..aggregate.clone() });
                }
                smaller.into_iter().map(Self::Aggregate).collect()
            }
            Self::Window(window) => {
                let mut smaller: Vec<Window> =
                    without_each(&window.partition).map(|partition| Window { partition, ..window.clone() }).collect();
                if window.frame.is_some() {
                    smaller.push(Window { frame: None, ..window.clone() });
                }
                if window.descending {
                    smaller.push(Window { descending: false, ..window.clone() });
                }
                smaller.into_iter().map(Self::Window).collect()
            }
        }
    }

    /// Says what it is made of.
    pub(super) fn uses(&self, note: &mut dyn FnMut(Use<'_>)) {
        if let Self::Scalar(snippet) = self {
            note_snippet(snippet, note);
        }
    }
}

/// A column of a class's type, if there is one.
fn column(oracle: &Edc, rng: &mut Rng) -> Arc<Snippet> {
    let name = pick(rng, &oracle.groupable);
    let Some(mut column) = name.and_then(|name| oracle.expressions.parse(&format!("{TABLE}.{name}"))) else {
        return oracle.expressions.column(rng);
    };
    if let Some((_, ColumnType::Class(ty))) = column.columns.first() {
        column.ty = Some(*ty);
    }
    Arc::new(column)
}

/// Whether the queries of a case have this alias.
fn is_ours(alias: &str) -> bool {
    alias.strip_prefix('q').is_some_and(|rest| rest.is_empty() || rest.parse::<u8>().is_ok())
}

/// These without one of them, one after the other.
fn without_each(columns: &[Arc<str>]) -> impl Iterator<Item = Vec<Arc<str>>> + '_ {
    (0..columns.len()).map(|at| {
        let mut fewer = columns.to_vec();
        fewer.remove(at);
        fewer
    })
}

/// Arguments for these positions: a column or a value for a type of the profile, anything else as it is.
fn arguments<'a>(oracle: &Edc, templates: impl Iterator<Item = &'a str>, rng: &mut Rng) -> Option<Vec<Arc<Snippet>>> {
    let mut named = BTreeSet::new();
    let arguments = templates.map(|template| {
        let text =
            if template.contains('#') { oracle.expressions.argument(template, rng)? } else { template.to_owned() };
        let argument = oracle.expressions.parse(&text)?;
        named.extend(argument.columns.iter().map(|(name, _)| name.clone()));
        Some(Arc::new(argument))
    });
    let arguments: Option<Vec<Arc<Snippet>>> = arguments.collect();
    arguments.filter(|_| named.len() <= ARGUMENTS_MAX)
}

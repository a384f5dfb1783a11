//! Conditions on an operation: Algorithm 2 of the paper, and the dialect's own grammar.

use super::EdcDatabase;
use super::operation::{KEY, Operation};
use super::query::{Face, Fidelity, Site};
use crate::caq::node::Node;
use crate::generate::expr::{ExprGenerator, ExprSpec};
use crate::generate::{ColumnInfo, TableInfo, any_type};
use crate::oracle::expressions::TABLE;
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::Typing;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::sync::Arc;

/// A condition on an operation's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Predicate {
    Truth,
    IsNull,
    Compare(&'static str, Operand),
    Between(Operand, Operand),
    In(Vec<Operand>),
    /// A column that is carried beside the operation, compared with a literal.
    Column(Arc<str>, &'static str, Arc<str>),
    /// A generated expression, over columns in which [`OPERATION`] and [`ALIAS`] stand.
    Node(Node),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

/// What the operation is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operand {
    Literal(Arc<str>),
    /// Its own value on the row of a key.
    OfRow(usize),
    /// The greatest of its own values.
    Greatest,
}

/// The operation in the text of a generated expression.
const OPERATION: &str = "#O";

/// What qualifies a column there.
const ALIAS: &str = "#A";

impl Operand {
    fn write(&self, site: &Site, face: Face) -> String {
        match self {
            Self::Literal(literal) => literal.to_string(),
            Self::OfRow(key) => {
                let (value, from) = (site.value(face, "q9"), site.from(face, "q9"));
                format!("(SELECT {value} FROM {from} WHERE q9.{KEY} = {key})")
            }
            Self::Greatest => {
                // Not MAX, which not every type has, and whose type is not always that of its operand.
                let (value, from) = (site.value(face, "q9"), site.from(face, "q9"));
                format!("(SELECT {value} FROM {from} WHERE {value} IS NOT NULL ORDER BY {value} DESC LIMIT 1)")
            }
        }
    }
}

impl Predicate {
    /// The condition where the operation reads `value`, on a row that is visible as `alias`.
    pub(super) fn write(&self, site: &Site, face: Face, value: &str, alias: &str) -> String {
        let operand = |operand: &Operand| operand.write(site, face);
        let inner = |predicate: &Self| predicate.write(site, face, value, alias);
        match self {
            Self::Truth => value.to_owned(),
            Self::IsNull => format!("{value} IS NULL"),
            Self::Compare(op, other) => format!("{value} {op} {}", operand(other)),
            Self::Between(low, high) => format!("{value} BETWEEN {} AND {}", operand(low), operand(high)),
            Self::In(all) => {
                format!("{value} IN ({})", all.iter().map(operand).collect::<Vec<_>>().join(", "))
            }
            Self::Column(column, op, literal) => format!("{alias}.{column} {op} {literal}"),
            Self::Node(node) => {
                let mut text = String::new();
                node.render("", &mut text);
                text.replace(ALIAS, alias).replace(OPERATION, value)
            }
            Self::Not(of) => format!("NOT ({})", inner(of)),
            Self::And(a, b) => format!("({}) AND ({})", inner(a), inner(b)),
            Self::Or(a, b) => format!("({}) OR ({})", inner(a), inner(b)),
        }
    }

    /// Smaller ones, the most promising first.
    pub(super) fn smaller(&self, on: &EdcDatabase) -> Vec<Self> {
        let profile = &on.oracle.capabilities.profile;
        match self {
            Self::Truth | Self::IsNull | Self::Compare(..) | Self::Between(..) | Self::Column(..) => Vec::new(),
            Self::In(all) => (0..all.len())
                .filter(|_| all.len() > 1)
                .map(|at| {
                    let mut fewer = all.clone();
                    fewer.remove(at);
                    Self::In(fewer)
                })
                .collect(),
            Self::Node(node) => node.smaller(profile).into_iter().map(Self::Node).collect(),
            Self::Not(of) => {
                let mut all = vec![(**of).clone()];
                all.extend(of.smaller(on).into_iter().map(|of| Self::Not(Box::new(of))));
                all
            }
            Self::And(a, b) | Self::Or(a, b) => {
                let mut all = vec![(**a).clone(), (**b).clone()];
                let with = |a: &Self, b: &Self| match self {
                    Self::And(..) => Self::And(Box::new(a.clone()), Box::new(b.clone())),
                    _ => Self::Or(Box::new(a.clone()), Box::new(b.clone())),
                };
                all.extend(a.smaller(on).iter().map(|a| with(a, b)));
                all.extend(b.smaller(on).iter().map(|b| with(a, b)));
                all
            }
        }
    }
}

/// Levels of AND, OR and NOT in a condition, at most.
pub(super) const DEPTH_MAX: usize = 2;

const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// Draws conditions.
pub(super) struct Draw<'a> {
    pub(super) on: &'a EdcDatabase<'a>,
    pub(super) site: &'a Site<'a>,
    pub(super) fidelity: Fidelity,
}

impl Draw<'_> {
    /// A condition with at most so many levels.
    pub(super) fn predicate(&self, depth: usize, rng: &mut Rng) -> Predicate {
        if self.fidelity == Fidelity::Values {
            return Predicate::IsNull;
        }
        if depth > 0 && chance(rng, 35) {
            let a = Box::new(self.predicate(depth - 1, rng));
            return match rng.random_range(0..3) {
                0 => Predicate::Not(a),
                1 => Predicate::And(a, Box::new(self.predicate(depth - 1, rng))),
                _ => Predicate::Or(a, Box::new(self.predicate(depth - 1, rng))),
            };
        }
        let drawn = match rng.random_range(0..100) {
            0..20 => self.truth(),
            20..45 => self.node(rng),
            // Beside the operation, and not in its place.
            45..55 if depth < DEPTH_MAX => self.of_column(rng),
            55..65 => Some(Predicate::IsNull),
            65..75 => Some(Predicate::Between(self.operand(rng), self.operand(rng))),
            75..85 => Some(Predicate::In((0..rng.random_range(1..=3)).map(|_| self.operand(rng)).collect())),
            _ => None,
        };
        drawn.unwrap_or_else(|| {
            let op = pick(rng, &COMPARISONS).copied().unwrap_or("=");
            Predicate::Compare(op, self.operand(rng))
        })
    }

    /// Its value as a truth value, where it may be one.
    fn truth(&self) -> Option<Predicate> {
        let any = self.on.oracle.capabilities.profile.truth_of_any_value;
        (any || self.site.operation.ty() == Some(SqlType::Boolean)).then_some(Predicate::Truth)
    }

    fn operand(&self, rng: &mut Rng) -> Operand {
        let profile = &self.on.oracle.capabilities.profile;
        let own = self.site.operation.ty();
        // Where any value is a truth value, any two are compared.
        let ty = match own {
            Some(ty) if !profile.truth_of_any_value || chance(rng, 65) => Some(ty),
            None if !profile.truth_of_any_value => None,
            _ => Some(any_type(rng)).filter(|ty| *ty != SqlType::Blob || profile.typing == Typing::Dynamic).or(own),
        };
        match ty {
            Some(ty) if chance(rng, 70) => Operand::Literal(self.on.literals.operand(Some(ty), 3, rng)),
            _ if matches!(self.site.operation, Operation::Aggregate(_)) || chance(rng, 25) => Operand::Greatest,
            _ => Operand::OfRow(rng.random_range(1..=self.on.rows)),
        }
    }

    /// A comparison of a carried column; nothing if none is carried.
    pub(super) fn of_column(&self, rng: &mut Rng) -> Option<Predicate> {
        let column = pick(rng, self.site.carried)?;
        let ty = self.on.table.columns.iter().find(|other| other.name == *column)?.ty;
        let op = pick(rng, &COMPARISONS).copied()?;
        Some(Predicate::Column(column.clone(), op, self.on.literals.operand(ty, 0, rng)))
    }

    /// An expression of the dialect's grammar over the operation and the carried columns.
    fn node(&self, rng: &mut Rng) -> Option<Predicate> {
        let oracle = self.on.oracle;
        let profile = &oracle.capabilities.profile;
        let operation = self.site.operation;
        // What a JSON function returns is more than its text, which a table does not keep.
        if profile.forbidden.subtype_prefixes.iter().any(|prefix| operation.has_prefix(prefix)) {
            return None;
        }
        let column = |name: String, ty| ColumnInfo { ty, ..ColumnInfo::typed(&name, SqlType::Int) };
        let mut columns = match profile.typing {
            Typing::Static => vec![column(OPERATION.to_owned(), Some(operation.ty()?)); 2],
            Typing::Dynamic => {
                // Of no type, and so of any. A column may have an affinity where its expression has none; with a plus
                // before it neither has one.
                let types = [None, Some(SqlType::Int), Some(SqlType::Text)];
                types.map(|ty| column(format!("(+{OPERATION})"), ty)).to_vec()
            }
        };
        columns.extend(self.site.carried.iter().filter_map(|carried| {
            let info = self.on.table.columns.iter().find(|other| other.name == *carried)?;
            Some(column(format!("{ALIAS}.{carried}"), info.ty))
        }));
        let scope = TableInfo { name: TABLE.into(), columns };
        let generator =
            ExprGenerator { grammar: &oracle.capabilities.grammar, literals: &self.on.literals, tables: &[] };
        let depth = rng.random_range(1..=2);
        let kind = oracle.capabilities.truth();
        // No query, in which a column of the same name could be another.
        let want = ExprSpec { kind, null_preserving: false, binary: true, subqueries: false, depth };
        let node = generator.generate(&scope, want, rng);
        let names_it = node.own_columns().iter().any(|name| name.contains(OPERATION));
        names_it.then_some(Predicate::Node(node))
    }
}

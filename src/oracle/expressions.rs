//! Expressions to evaluate: corpus snippets, two of them combined, generated ones, casts, calls of functions the engine lists.
//!
//! All are texts over the table of the profile's snippets, read as snippets are, so that what is not a function of the
//! row by its names is refused.

use crate::generate::expr::{ExprGenerator, ExprSpec};
use crate::generate::{Capabilities, ColumnInfo, Literals, TableInfo, any_type};
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::snippet::Snippet;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The table whose columns they name.
pub(super) const TABLE: &str = "t";

/// Levels of operators of a generated expression, at most.
const DEPTH_MAX: usize = 3;

/// Where expressions come from.
pub(super) struct Expressions {
    capabilities: Arc<Capabilities>,
    /// Corpus snippets by the type of their values.
    by_type: BTreeMap<SqlType, Vec<Arc<Snippet>>>,
    table: TableInfo,
}

impl Expressions {
    /// Sorts the snippets that hold on a target.
    pub(super) fn new(capabilities: &Arc<Capabilities>) -> Self {
        let mut by_type: BTreeMap<SqlType, Vec<Arc<Snippet>>> = BTreeMap::new();
        for snippet in &capabilities.corpus.expressions {
            let ty = if snippet.boolean_valued { Some(SqlType::Boolean) } else { snippet.ty };
            if let Some(ty) = ty {
                by_type.entry(ty).or_default().push(snippet.clone());
            }
        }
        Self { capabilities: capabilities.clone(), by_type, table: table_info(&capabilities.profile) }
    }

    /// Reads an expression over the table of snippets.
    pub(super) fn parse(&self, text: &str) -> Option<Snippet> {
        Snippet::parse(text, &self.capabilities.profile).ok()
    }

    /// A column.
    pub(super) fn column(&self, rng: &mut Rng) -> Arc<Snippet> {
        let columns: Vec<&String> = self.capabilities.profile.snippet_table.columns.keys().collect();
        let name = pick(rng, &columns).map_or("", |name| name.as_str());
        Arc::new(self.parse(&format!("{TABLE}.{name}")).unwrap_or_else(|| unreachable!("a column of the profile")))
    }

    /// A corpus snippet, or one with another in the place of a column.
    pub(super) fn of_corpus(&self, may_fail: bool, rng: &mut Rng) -> Option<Arc<Snippet>> {
        let outer = pick(rng, &self.capabilities.corpus.expressions).filter(|snippet| may_fail || !snippet.may_fail)?;
        if chance(rng, 60) { Some(outer.clone()) } else { self.combined(outer, rng) }
    }

    fn combined(&self, outer: &Snippet, rng: &mut Rng) -> Option<Arc<Snippet>> {
        let at = if outer.columns.is_empty() { None } else { Some(rng.random_range(0..outer.columns.len())) }?;
        let ColumnType::Class(ty) = outer.columns[at].1 else { return None };
        let inner = pick(rng, self.by_type.get(&ty)?)?;
        outer.with_column(at, inner, &self.capabilities.profile).map(Arc::new)
    }

    /// A call of a function that the engine lists.
    pub(super) fn call(&self, rng: &mut Rng) -> Option<Arc<Snippet>> {
        let function = pick(rng, &self.capabilities.functions)?;
        let arguments: Option<Vec<String>> = function.arguments.iter().map(|part| self.argument(part, rng)).collect();
        let mut call = self.parse(&format!("{}({})", function.name, arguments?.join(", ")))?;
        call.calls = Some(function.name.as_str().into());
        Some(Arc::new(call))
    }

    /// A column or a boundary value in the place of the type that a template names.
    pub(super) fn argument(&self, template: &str, rng: &mut Rng) -> Option<String> {
        let (before, rest) = template.split_once('#')?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let profile = &self.capabilities.profile;
        let columns = profile.snippet_table.columns.iter();
        let of_type = |ty: &ColumnType| name == "ANY" || *ty == ColumnType::from(name.to_owned());
        let columns: Vec<_> = columns.filter(|(_, ty)| of_type(ty)).collect();
        let (column, ty) = *pick(rng, &columns)?;
        let value =
            if chance(rng, 60) { format!("{TABLE}.{column}") } else { pick(rng, profile.literals(ty))?.clone() };
        Some(format!("{before}{value}{after}"))
    }

    /// An expression of the dialect's grammar.
    pub(super) fn generated(&self, rng: &mut Rng) -> Option<Arc<Snippet>> {
        let literals = Literals::draw(&self.capabilities.profile, rng);
        let tables = std::slice::from_ref(&self.table);
        let generator = ExprGenerator { grammar: &self.capabilities.grammar, literals: &literals, tables };
        let kind = if chance(rng, 40) { SqlType::Boolean } else { any_type(rng) };
        let depth = rng.random_range(1..=DEPTH_MAX);
        let want = ExprSpec { kind: Kind::Typed(kind), null_preserving: false, binary: false, subqueries: true, depth };
        let node = generator.generate(&self.table, want, rng);
        let mut text = String::new();
        node.render(TABLE, &mut text);
        let mut snippet = self.parse(&text)?;
        snippet.boolean_valued = kind == SqlType::Boolean;
        snippet.ty = Some(kind);
        Some(Arc::new(snippet))
    }

    /// A column, cast to a type.
    pub(super) fn cast(&self, rng: &mut Rng) -> Option<Arc<Snippet>> {
        let profile = &self.capabilities.profile;
        let columns: Vec<&String> = profile.snippet_table.columns.keys().collect();
        // Where a cast to text needs a collation to be one of a class's type, it has one that nobody asked for.
        let class = SqlType::ALL.into_iter().filter(|ty| profile.cast_collation.is_none() || *ty != SqlType::Text);
        let class = class.map(|ty| (profile.cast_name(ty), (ty != SqlType::Boolean).then_some(ty)));
        let other = profile.other_types.values().map(|other| (other.declared.as_str(), None));
        let types: Vec<(&str, Option<SqlType>)> = class.chain(other).collect();
        let (name, ty) = *pick(rng, &types)?;
        let mut snippet = self.parse(&format!("CAST({TABLE}.{} AS {name})", pick(rng, &columns)?))?;
        snippet.ty = ty;
        Some(Arc::new(snippet))
    }
}

/// What the table looks like to a generator of expressions.
pub(super) fn table_info(profile: &Profile) -> TableInfo {
    let column = |(name, ty): (&String, &ColumnType)| {
        let (ty, other) = match ty {
            ColumnType::Class(ty) => (Some(*ty), None),
            ColumnType::Other(other) => (None, Some(other.clone())),
        };
        ColumnInfo { name: name.as_str().into(), ty, other, binary: true, given: true }
    };
    TableInfo { name: TABLE.into(), columns: profile.snippet_table.columns.iter().map(column).collect() }
}

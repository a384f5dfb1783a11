//! The rows in reach and the names of their columns.

use crate::ir::{Expr, TableId, Type};

use super::{Lowerer, Result, no};

/// One name that stands for a value of a row.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// The table name or alias that may stand before the name.
    pub(super) qualifier: Option<String>,
    /// The name, if it has one.
    pub(super) name: Option<String>,
    /// The value over the row (depth 0).
    pub(super) expr: Expr,
    /// Which table factor it comes from.
    pub(super) relation: usize,
    /// Position in that table factor, for `t.*`.
    pub(super) ordinal: usize,
    /// Whether the name may stand alone: not for the sides of a column merged by USING.
    pub(super) bare: bool,
    /// Whether `*` includes it: not for virtual columns and the sides of merged columns.
    pub(super) star: bool,
    /// A placeholder column.
    pub(super) is_virtual: bool,
    /// The column of a base table that it is, unchanged.
    pub(super) base: Option<(TableId, usize)>,
}

impl Field {
    fn is_named(&self, name: &str) -> bool {
        self.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name))
    }

    fn is_qualified(&self, qualifier: &str) -> bool {
        self.qualifier.as_deref().is_some_and(|q| q.eq_ignore_ascii_case(qualifier))
    }
}

/// A row. Its fields stand in the order of `*`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) fields: Vec<Field>,
    /// A sibling in FROM, out of reach except under LATERAL. It still counts as a scope.
    pub(super) hidden: bool,
}

impl Scope {
    /// The row of a plan whose columns have these names.
    pub(super) fn of_columns(columns: &[(Option<String>, Type)]) -> Self {
        let fields = columns
            .iter()
            .enumerate()
            .map(|(index, (name, ty))| Field {
                qualifier: None,
                name: name.clone(),
                expr: Expr::column(index, ty.clone()),
                relation: 0,
                ordinal: index,
                bare: true,
                star: true,
                is_virtual: false,
                base: None,
            })
            .collect();
        Self { fields, hidden: false }
    }

    /// The field of an unqualified name in this row.
    pub(super) fn bare(&self, name: &str) -> Result<Option<&Field>> {
        let mut found = self.fields.iter().filter(|f| f.bare && f.is_named(name));
        let first = found.next();
        if found.next().is_some() { no(format!("ambiguous column {name}")) } else { Ok(first) }
    }

    /// The field of a qualified name, or `None` if nothing in this row has that qualifier.
    fn qualified(&self, qualifier: &str, name: &str) -> Result<Option<&Field>> {
        let relations = self.relations(qualifier)?;
        if relations.is_none() {
            return Ok(None);
        }
        let mut found = self.fields.iter().filter(|f| f.is_qualified(qualifier) && f.is_named(name));
        match (found.next(), found.next()) {
            (Some(field), None) => Ok(Some(field)),
            (Some(_), Some(_)) => no(format!("ambiguous column {qualifier}.{name}")),
            (None, _) => no(format!("unknown column {qualifier}.{name}")),
        }
    }

    /// Whether the name could mean something in this row.
    fn mentions(&self, qualifier: Option<&str>, name: &str) -> bool {
        self.fields.iter().any(|f| match qualifier {
            Some(qualifier) => f.is_qualified(qualifier),
            None => f.is_named(name),
        })
    }

    /// The table factor of this qualifier.
    pub(super) fn relations(&self, qualifier: &str) -> Result<Option<usize>> {
        let mut found = None;
        for field in self.fields.iter().filter(|f| f.is_qualified(qualifier)) {
            if found.is_some_and(|relation| relation != field.relation) {
                return no(format!("ambiguous table {qualifier}"));
            }
            found = Some(field.relation);
        }
        Ok(found)
    }

    /// Both rows, the right one after `width` columns. The names of `self` come first.
    pub(super) fn join(&self, right: &Self, width: usize) -> Self {
        let mut fields = self.fields.clone();
        fields.extend(right.shifted(width).fields);
        Self { fields, hidden: false }
    }

    /// The same names with `width` columns before the row.
    pub(super) fn shifted(&self, width: usize) -> Self {
        let mut scope = self.clone();
        for field in &mut scope.fields {
            field.expr.map_columns(&mut |column, _| {
                if let Expr::Column { index, .. } = column {
                    *index += width;
                }
            });
        }
        scope
    }
}

/// The expression as seen from `by` scopes further in.
pub(super) fn shift(expr: &Expr, by: usize) -> Expr {
    let mut expr = expr.clone();
    if by > 0 {
        expr.map_columns(&mut |column, scopes| {
            if let Expr::Column { depth, .. } = column
                && *depth >= scopes
            {
                *depth += by;
            }
        });
    }
    expr
}

/// A table factor that is joined later, by what it is called and what its columns are, if that is known.
#[derive(Clone, Debug)]
pub(super) struct Later {
    pub(super) qualifier: Option<String>,
    pub(super) columns: Option<Vec<String>>,
}

impl Later {
    fn mentions(&self, qualifier: Option<&str>, name: &str) -> bool {
        match (qualifier, &self.columns) {
            (Some(qualifier), _) => self.qualifier.as_deref().is_some_and(|q| q.eq_ignore_ascii_case(qualifier)),
            (None, Some(columns)) => columns.iter().any(|column| column.eq_ignore_ascii_case(name)),
            (None, None) => true,
        }
    }
}

impl Lowerer<'_> {
    /// The column of this name in the innermost row that has it.
    pub(super) fn resolve(&self, qualifier: Option<&str>, name: &str) -> Result<Option<Expr>> {
        for (depth, scope) in self.scopes.iter().rev().enumerate() {
            if scope.hidden {
                continue;
            }
            let field = match qualifier {
                Some(qualifier) => scope.qualified(qualifier, name)?,
                None => scope.bare(name)?,
            };
            if let Some(field) = field {
                let level = self.scopes.len() - depth;
                let hidden = self.scopes[level..].iter().filter(|s| s.hidden);
                let skipped = self.shadows.iter().filter(|(at, _)| *at >= level).map(|(_, scope)| scope);
                let mut later = self.later.iter().filter(|(at, _)| *at >= level).flat_map(|(_, later)| later);
                let is_elsewhere = hidden.chain(skipped).any(|scope| scope.mentions(qualifier, name))
                    || later.any(|factor| factor.mentions(qualifier, name));
                if is_elsewhere {
                    return no(format!("column {name}, which engines find in different tables"));
                }
                return Ok(Some(shift(&field.expr, depth)));
            }
        }
        Ok(None)
    }

    /// Whether the innermost row has a column of this name.
    pub(super) fn is_local(&self, name: &str) -> Result<bool> {
        match self.scopes.last() {
            Some(scope) if !scope.hidden => Ok(scope.bare(name)?.is_some()),
            _ => Ok(false),
        }
    }

    /// Whether a table of this name or alias is in reach.
    pub(super) fn is_table_in_reach(&self, name: &str) -> bool {
        self.scopes.iter().any(|s| s.fields.iter().any(|f| f.is_qualified(name)))
    }

    /// A number for a new table factor.
    pub(super) fn new_relation(&mut self) -> usize {
        self.relations += 1;
        self.relations
    }
}

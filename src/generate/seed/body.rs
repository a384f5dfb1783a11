//! The grammar of whole queries: select lists, groups and set operations.

use super::grammar::{Grammar, Output, comparable};
use crate::rng::pick;
use crate::sql::types::SqlType;

/// What a query returns.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    /// Rows as they are.
    Rows,
    /// Rows without duplicates.
    Distinct,
    /// A row per group.
    Groups,
    /// One row about everything.
    Total,
    /// Two or three queries combined.
    Set,
}

impl Grammar<'_> {
    /// Draws a whole query: its text, and its columns under the names that they have as a derived table.
    pub(super) fn body(&mut self, choices: &[(u32, Body)]) -> (String, Vec<Output>) {
        let body = self.weighted(choices);
        let room = self.budget > 0;
        // A scope deeper than the first belongs to a derived table, whose columns need names.
        let named = !self.scopes.is_empty();
        let (text, types) = match body {
            Body::Set if room => self.set_operation(named),
            Body::Distinct if room => self.rows(true, named),
            Body::Groups if room => self.groups(named),
            Body::Total if room => self.total(),
            _ => self.rows(false, named),
        };
        (text, types.into_iter().enumerate().map(|(at, ty)| (output_name(at), ty)).collect())
    }

    fn rows(&mut self, distinct: bool, named: bool) -> (String, Vec<SqlType>) {
        if distinct {
            self.spend();
        }
        self.scoped(|g| {
            let from = g.from(None, &[(42, 1), (45, 2), (13, 3)]);
            let possible: Vec<SqlType> = g.types().into_iter().filter(|&ty| !distinct || comparable(ty)).collect();
            let count = g.weighted(&[(25, 1), (50, 2), (25, 3)]);
            let types: Vec<SqlType> =
                (0..count).map(|_| pick(g.rng, &possible).copied().unwrap_or(SqlType::Int)).collect();
            let mut values: Vec<(String, SqlType)> = Vec::new();
            for ty in types {
                if let Some(value) = g.value(ty).filter(|value| !values.iter().any(|(v, _)| v == value)) {
                    values.push((value, ty));
                }
            }
            if values.is_empty() {
                values.push(("1".to_owned(), SqlType::Int));
            }
            if !distinct && g.has_room() && g.chance(14) {
                values.push(g.scalar(None));
            }
            let filter = g.filter(82);
            let keyword = if distinct { "SELECT DISTINCT" } else { "SELECT" };
            (format!("{keyword} {}{from}{filter}", list(&values, named)), values.into_iter().map(|v| v.1).collect())
        })
    }

    fn filter(&mut self, percent: u32) -> String {
        if self.chance(percent) { format!(" WHERE {}", self.predicate(2).text) } else { String::new() }
    }

    /// Aggregates over everything.
    fn total(&mut self) -> (String, Vec<SqlType>) {
        self.spend();
        self.scoped(|g| {
            let from = g.from(None, &[(45, 1), (42, 2), (13, 3)]);
            let count = g.weighted(&[(55, 1), (45, 2)]);
            let mut values: Vec<(String, SqlType)> = Vec::new();
            for _ in 0..count {
                let aggregate = g.aggregate(None);
                if !values.contains(&aggregate) {
                    values.push(aggregate);
                }
            }
            let filter = g.filter(75);
            (format!("SELECT {}{from}{filter}", list(&values, false)), values.into_iter().map(|v| v.1).collect())
        })
    }

    fn groups(&mut self, named: bool) -> (String, Vec<SqlType>) {
        self.spend();
        self.scoped(|g| {
            let from = g.from(None, &[(50, 1), (40, 2), (10, 3)]);
            let scope = g.scope(0);
            let possible: Vec<SqlType> = g.types().into_iter().filter(|&ty| comparable(ty)).collect();
            let mut keys: Vec<(String, SqlType)> = Vec::new();
            for _ in 0..g.weighted(&[(75, 1), (25, 2)]) {
                let ty = pick(g.rng, &possible).copied().unwrap_or(SqlType::Int);
                if let Some(key) = g.reference(&scope, ty).filter(|key| !keys.iter().any(|k| k.0 == *key)) {
                    keys.push((key, ty));
                }
            }
            let mut values = keys.clone();
            for _ in 0..g.weighted(&[(10, 0), (65, 1), (25, 2)]) {
                let aggregate = g.aggregate(None);
                if !values.contains(&aggregate) {
                    values.push(aggregate);
                }
            }
            if values.is_empty() {
                values.push(g.aggregate(None));
            }
            let filter = g.filter(55);
            let having = if g.chance(32) && g.spend() { format!(" HAVING {}", g.having(&keys)) } else { String::new() };
            let group: Vec<&str> = keys.iter().map(|k| k.0.as_str()).collect();
            let group = if group.is_empty() { String::new() } else { format!(" GROUP BY {}", group.join(", ")) };
            let types = values.iter().map(|v| v.1).collect();
            (format!("SELECT {}{from}{filter}{group}{having}", list(&values, named)), types)
        })
    }

    fn having(&mut self, keys: &[(String, SqlType)]) -> String {
        match (self.weighted(&[(40, 0), (35, 1), (25, 2)]), pick(self.rng, keys)) {
            (2, Some((key, SqlType::Int))) => format!("{key} > {}", self.literal(SqlType::Int)),
            (2, Some((key, _))) => format!("{key} IS NOT NULL"),
            (1, _) => {
                let (aggregate, ty) = self.aggregate(None);
                match ty {
                    SqlType::Int => format!("{aggregate} > {}", self.literal(ty)),
                    _ => format!("{aggregate} IS NOT NULL"),
                }
            }
            _ => format!("COUNT(*) {}", self.weighted(&[(40, "> 1"), (30, "= 1"), (30, "> 2")])),
        }
    }

    fn set_operation(&mut self, named: bool) -> (String, Vec<SqlType>) {
        self.spend();
        let all = u32::from(self.bag_set_operations) * 4;
        let operator = self.weighted(&[
            (28, "UNION"),
            (28, "UNION ALL"),
            (22, "EXCEPT"),
            (18, "INTERSECT"),
            (all, "EXCEPT ALL"),
            (all, "INTERSECT ALL"),
        ]);
        let (first, types, relation) = self.arm(None, None, named);
        let same = relation.filter(|_| self.chance(60));
        let (second, ..) = self.arm(same, Some(&types), false);
        if operator == "UNION ALL" && self.sources_left > 0 && self.chance(15) {
            let (third, ..) = self.arm(relation, Some(&types), false);
            return (format!("{first} {operator} {second} {operator} {third}"), types);
        }
        (format!("{first} {operator} {second}"), types)
    }

    /// One SELECT of a set operation, over a given table first and with given types if there are any.
    fn arm(
        &mut self,
        first: Option<usize>,
        types: Option<&[SqlType]>,
        named: bool,
    ) -> (String, Vec<SqlType>, Option<usize>) {
        self.scoped(|g| {
            let from = g.from(first, &[(78, 1), (22, 2)]);
            let possible: Vec<SqlType> = g.types().into_iter().filter(|&ty| comparable(ty)).collect();
            let count = g.weighted(&[(45, 1), (55, 2)]);
            let types: Vec<SqlType> = types.map_or_else(
                || (0..count).map(|_| pick(g.rng, &possible).copied().unwrap_or(SqlType::Int)).collect(),
                <[SqlType]>::to_vec,
            );
            let scope = g.scope(0);
            let mut values: Vec<(String, SqlType)> = Vec::new();
            for &ty in &types {
                let drawn = g.reference(&scope, ty).filter(|value| !values.iter().any(|(v, _)| v == value));
                values.push((drawn.unwrap_or_else(|| g.literal(ty).to_owned()), ty));
            }
            let filter = g.filter(65);
            let relation = scope.first().and_then(|s| s.relation);
            (format!("SELECT {}{from}{filter}", list(&values, named)), types, relation)
        })
    }
}

/// The name of an output column of a derived table: `w`, `w1`, …
fn output_name(at: usize) -> String {
    if at == 0 { "w".to_owned() } else { format!("w{at}") }
}

/// A select list. A computed value gets a name in any case, a column only for a derived table.
fn list(values: &[(String, SqlType)], named: bool) -> String {
    let item = |(at, (value, _)): (usize, &(String, SqlType))| {
        let computed = value.contains('(') || value.contains(' ');
        if named || computed { format!("{value} AS {}", output_name(at)) } else { value.clone() }
    };
    values.iter().enumerate().map(item).collect::<Vec<_>>().join(", ")
}

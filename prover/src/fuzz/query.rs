//! Random queries as text. Every result column is named `c0`, `c1`, ... and every use of a table has a name of its own.

use super::scalar::{Gen, Ref};
use super::schema::Ty;

/// A query.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) sql: String,
    /// Whether it can stand beside UNION without being wrapped.
    pub(super) simple: bool,
}

impl Text {
    /// The text as a side of a set operation.
    fn side(&self, alias: &str) -> String {
        if self.simple { self.sql.clone() } else { format!("SELECT * FROM ({}) AS {alias}", self.sql) }
    }
}

/// ` WHERE c`, or nothing.
pub(super) fn clause(condition: Option<&str>) -> String {
    condition.map(|c| format!(" WHERE {c}")).unwrap_or_default()
}

/// `x AS c0, y AS c1`.
pub(super) fn items(values: &[impl AsRef<str>]) -> String {
    let named: Vec<String> = values.iter().enumerate().map(|(i, v)| format!("{} AS c{i}", v.as_ref())).collect();
    named.join(", ")
}

impl Gen<'_> {
    /// Types for a result.
    pub(super) fn types(&mut self) -> Vec<Ty> {
        let count = if self.chance(60) { 1 } else { 2 };
        let used: Vec<Ty> = self.schema.tables.iter().flat_map(|t| t.columns.iter().map(|c| c.ty)).collect();
        (0..count).map(|_| self.one(&used)).collect()
    }

    /// A whole query.
    pub(super) fn query(&mut self, types: &[Ty], depth: usize) -> Text {
        let simple = |sql| Text { sql, simple: true };
        let whole = |sql| Text { sql, simple: false };
        if depth == 0 {
            return simple(self.select(types));
        }
        match self.below(40) {
            0..13 => simple(self.select(types)),
            13..17 => simple(self.select(types).replacen("SELECT", "SELECT DISTINCT", 1)),
            17..26 => simple(self.grouped(types)),
            26..32 => {
                let op = self.one(&[
                    "UNION ALL",
                    "UNION ALL",
                    "UNION",
                    "INTERSECT",
                    "EXCEPT",
                    "INTERSECT ALL",
                    "EXCEPT ALL",
                ]);
                let (left, right) = (self.query(types, depth - 1), self.query(types, depth - 1));
                let (a, b) = (self.alias(), self.alias());
                whole(format!("{} {op} {}", left.side(&a), right.side(&b)))
            }
            32 | 33 => {
                let inner = self.query(types, depth - 1).sql;
                let (name, use1) = (self.alias().replace('r', "w"), self.alias());
                let scope = derived(&use1, types);
                let condition = self.chance(50).then(|| self.predicate(&scope, 1));
                let condition = clause(condition.as_deref());
                if self.chance(30) {
                    let use2 = self.alias();
                    return whole(format!(
                        "WITH {name} AS ({inner}) SELECT {use1}.c0 AS c0{} FROM {name} AS {use1}, {name} AS {use2}{condition}",
                        if types.len() > 1 { format!(", {use2}.c1 AS c1") } else { String::new() }
                    ));
                }
                let columns: Vec<String> = scope.into_iter().map(|r| r.text).collect();
                whole(format!("WITH {name} AS ({inner}) SELECT {} FROM {name} AS {use1}{condition}", items(&columns)))
            }
            34 | 35 => {
                let inner = self.query(types, depth - 1).sql;
                let alias = self.alias();
                let scope = derived(&alias, types);
                let condition = self.chance(60).then(|| self.predicate(&scope, 1));
                let columns: Vec<String> = scope.into_iter().map(|r| r.text).collect();
                simple(format!("SELECT {} FROM ({inner}) AS {alias}{}", items(&columns), clause(condition.as_deref())))
            }
            36 => whole(self.values(types)),
            37 => whole(format!("{} LIMIT 0", self.select(types))),
            38 => whole(self.limited(types, depth)),
            _ => simple(self.merged(types).unwrap_or_else(|| self.select(types))),
        }
    }

    /// ORDER BY with LIMIT, of which all that is ordered by is seen, or less.
    fn limited(&mut self, types: &[Ty], depth: usize) -> String {
        let mut inner_types = types.to_vec();
        if self.chance(40) {
            inner_types.extend(self.types());
        }
        let inner = self.query(&inner_types, depth - 1).sql;
        let (alias, outer) = (self.alias(), self.alias());
        let mut order: Vec<String> = (0..inner_types.len()).map(|i| format!("c{i} NULLS FIRST")).collect();
        if self.chance(50) {
            order.truncate(types.len());
        }
        if self.chance(30) {
            order.reverse();
        }
        let n = 1 + self.below(2);
        let offset = if self.chance(20) { " OFFSET 1" } else { "" };
        let first = format!("SELECT * FROM ({inner}) AS {alias} ORDER BY {} LIMIT {n}{offset}", order.join(", "));
        if inner_types.len() == types.len() {
            return first;
        }
        let seen: Vec<String> = (0..types.len()).map(|i| format!("{outer}.c{i}")).collect();
        format!("SELECT {} FROM ({first}) AS {outer}", items(&seen))
    }

    /// SELECT ... FROM ... WHERE.
    fn select(&mut self, types: &[Ty]) -> String {
        let (from, scope) = self.sources(3);
        let values: Vec<String> = types.iter().map(|&ty| self.value(&scope, ty, 1)).collect();
        let condition = self.chance(75).then(|| self.predicate(&scope, 2));
        format!("SELECT {} FROM {from}{}", items(&values), clause(condition.as_deref()))
    }

    /// SELECT ... GROUP BY ... HAVING, or aggregates without groups.
    fn grouped(&mut self, types: &[Ty]) -> String {
        let (from, scope) = self.sources(2);
        let condition = self.chance(45).then(|| self.predicate(&scope, 1));
        let mut keys: Vec<Ref> = Vec::new();
        if self.chance(80) {
            for &ty in types {
                let fitting: Vec<Ref> = scope.iter().filter(|r| r.ty == ty).cloned().collect();
                if !fitting.is_empty() && (ty == Ty::Bool || self.chance(60)) {
                    keys.push(self.one(&fitting));
                }
            }
            if keys.is_empty() {
                keys.push(self.one(&scope));
            }
        }
        let mut known = keys.clone();
        for _ in 0..3 {
            known.push(self.aggregate(&scope));
        }
        let levels = std::mem::replace(&mut self.levels, 0);
        let mut values: Vec<String> = Vec::new();
        for &ty in types {
            let depth = usize::from(self.chance(20));
            values.push(self.value(&known, ty, depth));
        }
        let having = self.chance(25).then(|| self.predicate(&known, 0));
        self.levels = levels;
        let mut names: Vec<String> = keys.into_iter().map(|k| k.text).collect();
        names.dedup();
        let keys = match (names.join(", "), self.below(100)) {
            (keys, _) if keys.is_empty() => keys,
            (keys, 0..6) => format!(" GROUP BY ROLLUP ({keys})"),
            (keys, 6..8) => format!(" GROUP BY GROUPING SETS (({keys}), ())"),
            (keys, _) => format!(" GROUP BY {keys}"),
        };
        // Without groups the query needs an aggregate to be one.
        let one = if keys.is_empty() && !values.iter().any(|v| v.contains('(')) && having.is_none() {
            Some("(COUNT(*) >= 0)".to_owned())
        } else {
            having
        };
        let having = one.map(|h| format!(" HAVING {h}")).unwrap_or_default();
        format!("SELECT {} FROM {from}{}{keys}{having}", items(&values), clause(condition.as_deref()))
    }

    fn values(&mut self, types: &[Ty]) -> String {
        let rows = self.rows(types);
        let names: Vec<String> = (0..types.len()).map(|i| format!("c{i}")).collect();
        let name = self.alias().replace('r', "w");
        format!("WITH {name} ({}) AS (VALUES {rows}) SELECT {} FROM {name}", names.join(", "), names.join(", "))
    }

    fn rows(&mut self, types: &[Ty]) -> String {
        let mut rows = Vec::new();
        for row in 0..=self.below(3) {
            let mut cells = Vec::new();
            for &ty in types {
                cells.push(if row > 0 && self.chance(20) { "NULL".to_owned() } else { self.literal(ty) });
            }
            rows.push(format!("({})", cells.join(", ")));
        }
        rows.join(", ")
    }

    /// A query that names the merged columns of a NATURAL or USING join.
    fn merged(&mut self, types: &[Ty]) -> Option<String> {
        let (left, right) = (self.rel(), self.rel());
        let common: Vec<Ref> = self
            .table(&left)
            .columns
            .iter()
            .filter(|c| self.table(&right).columns.iter().any(|d| d.name == c.name))
            .map(|c| Ref { text: c.name.to_owned(), ty: c.ty })
            .collect();
        if common.is_empty() {
            return None;
        }
        let mut scope = common.clone();
        for rel in [&left, &right] {
            scope.extend(
                self.refs(rel)
                    .into_iter()
                    .filter(|r| !common.iter().any(|c| r.text.ends_with(&format!(".{}", c.text)))),
            );
        }
        let kind = self.one(&["", "LEFT ", "RIGHT ", "FULL "]);
        let join = if self.chance(50) {
            format!("{} NATURAL {kind}JOIN {}", self.from(&left), self.from(&right))
        } else {
            let names: Vec<String> = common.into_iter().map(|c| c.text).collect();
            format!("{} {kind}JOIN {} USING ({})", self.from(&left), self.from(&right), names.join(", "))
        };
        let levels = std::mem::replace(&mut self.levels, 0);
        let values: Vec<String> = types.iter().map(|&ty| self.leaf(&scope, ty)).collect();
        let condition = self.chance(40).then(|| self.predicate(&scope, 0));
        self.levels = levels;
        Some(format!("SELECT {} FROM {join}{}", items(&values), clause(condition.as_deref())))
    }

    /// One thing to select from.
    fn source(&mut self) -> (String, Vec<Ref>) {
        match self.below(100) {
            0..8 => {
                let types = self.types();
                let levels = std::mem::replace(&mut self.levels, 0);
                let depth = usize::from(self.chance(40));
                let inner = self.query(&types, depth).sql;
                self.levels = levels;
                let alias = self.alias();
                (format!("({inner}) AS {alias}"), derived(&alias, &types))
            }
            8..10 => {
                let types = self.types();
                let rows = self.rows(&types);
                let alias = self.alias();
                let names: Vec<String> = (0..types.len()).map(|i| format!("c{i}")).collect();
                (format!("(VALUES {rows}) AS {alias} ({})", names.join(", ")), derived(&alias, &types))
            }
            _ => {
                let rel = self.rel();
                (self.from(&rel), self.refs(&rel))
            }
        }
    }

    /// FROM: one to `most` sources, mostly few.
    pub(super) fn sources(&mut self, most: usize) -> (String, Vec<Ref>) {
        let count = match self.below(100) {
            0..60 => 1,
            60..95 => 2,
            _ => most,
        };
        if count == 2 && self.chance(8) {
            let (left, right) = (self.rel(), self.rel());
            let kind = self.one(&["", "LEFT ", "FULL "]);
            let text = format!("{} NATURAL {kind}JOIN {}", self.from(&left), self.from(&right));
            let scope = self.refs(&left).into_iter().chain(self.refs(&right)).collect();
            return (text, scope);
        }
        let (mut text, mut scope) = self.source();
        for number in 1..count {
            if self.levels > 0 && self.chance(8) {
                text = self.lateral(&text, &mut scope);
                continue;
            }
            let (right, columns) = self.source();
            let equal = self.meet_refs(&scope, &columns).map(|(a, b)| format!("({} = {})", a.text, b.text));
            let all: Vec<Ref> = scope.iter().chain(&columns).cloned().collect();
            let levels = std::mem::replace(&mut self.levels, 0);
            let on = match (&equal, self.below(100)) {
                (Some(equal), 0..70) => equal.clone(),
                (Some(equal), 70..80) => format!("({equal} AND {})", self.predicate(&all, 0)),
                (_, 95..) => "TRUE".to_owned(),
                _ => self.predicate(&all, 0),
            };
            self.levels = levels;
            text = match (self.below(20), equal) {
                (0..8, _) => format!("{text} JOIN {right} ON {on}"),
                (8..13, _) => format!("{text} LEFT JOIN {right} ON {on}"),
                (13 | 14, _) => format!("{text} RIGHT JOIN {right} ON {on}"),
                (15 | 16, Some(equal)) => format!("{text} FULL JOIN {right} ON {equal}"),
                // After a comma, ON could not see what stands before it.
                (17 | 18, _) if number + 1 == count => format!("{text}, {right}"),
                _ => format!("{text} CROSS JOIN {right}"),
            };
            scope = all;
        }
        (text, scope)
    }

    fn lateral(&mut self, left: &str, scope: &mut Vec<Ref>) -> String {
        let rel = self.rel();
        let inner = self.refs(&rel);
        let equal = self.meet_refs(&inner, scope).map(|(a, b)| format!("({} = {})", a.text, b.text));
        let value = if self.chance(40) { self.aggregate(&inner) } else { self.one(&inner) };
        let alias = self.alias();
        let query = format!("SELECT {} AS c0 FROM {}{}", value.text, self.from(&rel), clause(equal.as_deref()));
        scope.push(Ref { text: format!("{alias}.c0"), ty: value.ty });
        match self.below(3) {
            0 => format!("{left} LEFT JOIN LATERAL ({query}) AS {alias} ON TRUE"),
            1 => format!("{left} JOIN LATERAL ({query}) AS {alias} ON TRUE"),
            _ => format!("{left} CROSS JOIN LATERAL ({query}) AS {alias}"),
        }
    }
}

/// What a derived table of these types can be asked for.
pub(super) fn derived(alias: &str, types: &[Ty]) -> Vec<Ref> {
    types.iter().enumerate().map(|(i, &ty)| Ref { text: format!("{alias}.c{i}"), ty }).collect()
}

//! Random scalar expressions as text. Everything compound is in parentheses.

use super::schema::{Schema, Table, Ty};
use super::{Rng, chance, pick};
use rand::RngExt as _;

/// Something a query can refer to: a qualified column, or an aggregate in HAVING.
#[derive(Clone, Debug)]
pub(super) struct Ref {
    pub(super) text: String,
    pub(super) ty: Ty,
}

/// One use of a base table.
#[derive(Clone, Debug)]
pub(super) struct Rel {
    pub(super) table: usize,
    pub(super) alias: String,
}

/// Draws pieces of queries over one schema.
pub(super) struct Gen<'a> {
    pub(super) rng: &'a mut Rng,
    pub(super) schema: &'a Schema,
    /// Number of aliases given.
    next: usize,
    /// How deep subqueries may still nest.
    pub(super) levels: usize,
    /// Whether expressions mix types.
    mixes: bool,
}

impl<'a> Gen<'a> {
    pub(super) fn new(rng: &'a mut Rng, schema: &'a Schema) -> Self {
        Self { rng, schema, next: 0, levels: 2, mixes: false }
    }

    /// One whose expressions mix types.
    pub(super) fn mixed(rng: &'a mut Rng, schema: &'a Schema) -> Self {
        Self { mixes: true, ..Self::new(rng, schema) }
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        chance(self.rng, percent)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n)
    }

    /// How many steps of rewriting make the right side of a pair.
    pub(super) fn steps(&mut self, from_class: bool) -> usize {
        if from_class { self.rng.random_range(0..=2usize) } else { self.rng.random_range(1..=3usize) }
    }

    /// A random element of a slice that is not empty.
    pub(super) fn one<T: Clone>(&mut self, items: &[T]) -> T {
        pick(self.rng, items).clone()
    }

    /// A new correlation name.
    pub(super) fn alias(&mut self) -> String {
        self.next += 1;
        format!("r{}", self.next)
    }

    /// A use of a random table.
    pub(super) fn rel(&mut self) -> Rel {
        let table = self.below(self.schema.tables.len());
        self.rel_of(table)
    }

    pub(super) fn rel_of(&mut self, table: usize) -> Rel {
        Rel { table, alias: self.alias() }
    }

    pub(super) fn table(&self, rel: &Rel) -> &'a Table {
        &self.schema.tables[rel.table]
    }

    /// `t0 AS r1`.
    pub(super) fn from(&self, rel: &Rel) -> String {
        format!("{} AS {}", self.table(rel).name, rel.alias)
    }

    /// Column `index` of a use of a table.
    pub(super) fn at(&self, rel: &Rel, index: usize) -> Ref {
        let column = &self.table(rel).columns[index];
        Ref { text: format!("{}.{}", rel.alias, column.name), ty: column.ty }
    }

    /// All columns of a use of a table.
    pub(super) fn refs(&self, rel: &Rel) -> Vec<Ref> {
        (0..self.table(rel).columns.len()).map(|c| self.at(rel, c)).collect()
    }

    /// Two columns of one type, by index.
    pub(super) fn meet(&mut self, left: &Rel, right: &Rel) -> Option<(usize, usize)> {
        let mut found = Vec::new();
        for (i, a) in self.table(left).columns.iter().enumerate() {
            found.extend(
                self.table(right).columns.iter().enumerate().filter(|(_, b)| b.ty == a.ty).map(|(j, _)| (i, j)),
            );
        }
        if found.is_empty() { None } else { Some(self.one(&found)) }
    }

    /// Two columns of one type from two scopes.
    pub(super) fn meet_refs(&mut self, left: &[Ref], right: &[Ref]) -> Option<(Ref, Ref)> {
        let mut found = Vec::new();
        for a in left {
            found.extend(right.iter().filter(|b| b.ty == a.ty).map(|b| (a.clone(), b.clone())));
        }
        if found.is_empty() { None } else { Some(self.one(&found)) }
    }

    pub(super) fn comparison(&mut self) -> &'static str {
        self.one(&["=", "=", "=", "<>", "<", "<=", ">", ">="])
    }

    /// A constant.
    pub(super) fn literal(&mut self, ty: Ty) -> String {
        let text = match ty {
            // Fractions too: whole numbers and others meet in CASE, UNION and comparisons.
            Ty::Int => self.one(&["0", "1", "1", "2", "2", "3", "(-1)", "1.5", "4294967297"]),
            Ty::Bool => self.one(&["TRUE", "FALSE"]),
            Ty::Text => self.one(&["'x'", "'x'", "'y'", "'z'", "''", "'x and'", "'it''s'"]),
            Ty::Dec => self.one(&["0.50", "1.50", "1.25", "2.00"]),
            Ty::Long => self.one(&["0", "1", "2", "7", "2147483648", "9007199254740993"]),
            Ty::Double => self.one(&["0e0", "1e0", "2.5e0", "0.5", "3"]),
            Ty::Date => self.one(&["DATE '2020-02-29'", "DATE '2020-03-01'"]),
            Ty::Stamp => self.one(&["TIMESTAMP '2020-02-29 00:00:00'", "TIMESTAMP '2020-02-29 12:34:56'"]),
        };
        // The rare ones stay rare.
        if matches!(text, "4294967297" | "'x and'" | "'it''s'") && self.chance(70) {
            return self.literal(ty);
        }
        text.to_owned()
    }

    /// A column of this type, or else a constant.
    pub(super) fn leaf(&mut self, scope: &[Ref], ty: Ty) -> String {
        let fitting: Vec<&Ref> = scope.iter().filter(|r| r.ty == ty).collect();
        if fitting.is_empty() || self.chance(15) { self.literal(ty) } else { self.one(&fitting).text.clone() }
    }

    /// A value of this type.
    pub(super) fn value(&mut self, scope: &[Ref], ty: Ty, depth: usize) -> String {
        if self.mixes && depth > 0 && self.chance(60) {
            return self.converted(scope, ty, depth - 1);
        }
        if depth == 0 || self.chance(55) {
            return self.leaf(scope, ty);
        }
        let below = depth - 1;
        match self.below(10) {
            0..4 if ty.is_number() => {
                let op = self.one(&["+", "+", "-", "*"]);
                format!("({} {op} {})", self.value(scope, ty, below), self.value(scope, ty, below))
            }
            4 if ty == Ty::Bool => self.predicate(scope, below),
            5 | 6 => {
                let condition = self.predicate(scope, below);
                let (yes, no) = (self.value(scope, ty, below), self.value(scope, ty, below));
                match self.below(4) {
                    0 => format!("(CASE WHEN {condition} THEN {yes} END)"),
                    1 => {
                        let second = self.predicate(scope, 0);
                        let other = self.leaf(scope, ty);
                        format!("(CASE WHEN {condition} THEN {yes} WHEN {second} THEN {other} ELSE {no} END)")
                    }
                    _ => format!("(CASE WHEN {condition} THEN {yes} ELSE {no} END)"),
                }
            }
            7 => format!("COALESCE({}, {})", self.value(scope, ty, below), self.leaf(scope, ty)),
            8 => format!("NULLIF({}, {})", self.value(scope, ty, below), self.leaf(scope, ty)),
            9 if self.levels > 0 && ty != Ty::Bool => self.scalar_subquery(scope, ty),
            _ => self.leaf(scope, ty),
        }
    }

    /// A condition.
    pub(super) fn predicate(&mut self, scope: &[Ref], depth: usize) -> String {
        if depth > 0 {
            let below = depth - 1;
            match self.below(12) {
                0 | 1 => return format!("({} AND {})", self.predicate(scope, below), self.predicate(scope, below)),
                2 | 3 => return format!("({} OR {})", self.predicate(scope, below), self.predicate(scope, below)),
                4 => return format!("(NOT {})", self.predicate(scope, below)),
                5 | 6 if self.levels > 0 => return self.subquery_predicate(scope),
                7 => {
                    let tail = self.one(&["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS NULL"]);
                    return format!("({} {tail})", self.predicate(scope, below));
                }
                _ => {}
            }
        }
        self.atom(scope, depth)
    }

    fn atom(&mut self, scope: &[Ref], depth: usize) -> String {
        if self.mixes && self.chance(50) {
            return self.converted(scope, Ty::Bool, depth.min(1));
        }
        let Some(first) = (!scope.is_empty()).then(|| self.one(scope)) else { return "TRUE".to_owned() };
        let (ty, column) = (first.ty, first.text);
        match self.below(18) {
            0 => format!("({column} IS NULL)"),
            1 => format!("({column} IS NOT NULL)"),
            2 => {
                let not = self.one(&["", "NOT "]);
                format!("({column} IS {not}DISTINCT FROM {})", self.leaf(scope, ty))
            }
            3 if ty != Ty::Bool => {
                let not = self.one(&["", "", "NOT "]);
                format!("({column} {not}BETWEEN {} AND {})", self.literal(ty), self.leaf(scope, ty))
            }
            4 | 5 => {
                let not = self.one(&["", "", "NOT "]);
                let mut list = vec![self.literal(ty), self.leaf(scope, ty)];
                if self.chance(25) {
                    list.push("NULL".to_owned());
                }
                format!("({column} {not}IN ({}))", list.join(", "))
            }
            6 => {
                let (p, q) = (self.compare(scope, ty, 0), self.compare(scope, ty, 0));
                let third = self.one(&["TRUE", "FALSE"]);
                let last = if self.chance(50) { format!(" ELSE {third}") } else { String::new() };
                format!("(CASE WHEN {p} THEN {q}{last} END)")
            }
            7..10 if ty == Ty::Bool => match self.below(3) {
                0 => column,
                1 => format!("(NOT {column})"),
                _ => {
                    let tail = self.one(&["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"]);
                    format!("({column} IS {tail})")
                }
            },
            10 if self.chance(10) => self.one(&["TRUE", "FALSE"]).to_owned(),
            11..15 => {
                let op = self.comparison();
                format!("({column} {op} {})", self.literal(ty))
            }
            _ => self.compare(scope, ty, depth.min(1)),
        }
    }

    /// A comparison of two values of a type.
    pub(super) fn compare(&mut self, scope: &[Ref], ty: Ty, depth: usize) -> String {
        let op = self.comparison();
        format!("({} {op} {})", self.value(scope, ty, depth), self.value(scope, ty, depth))
    }

    /// A condition on the rows of `inner`, seen from a subquery of `outer`.
    fn correlation(&mut self, inner: &[Ref], outer: &[Ref]) -> Option<String> {
        let joined = if self.chance(60) { self.meet_refs(inner, outer) } else { None };
        let equal = joined.map(|(a, b)| format!("({} = {})", a.text, b.text));
        let own = self.chance(if equal.is_some() { 25 } else { 60 }).then(|| {
            let both: Vec<Ref> = inner.iter().chain(outer.iter().take(1)).cloned().collect();
            self.predicate(&both, 0)
        });
        match (equal, own) {
            (Some(a), Some(b)) => Some(format!("({a} AND {b})")),
            (a, b) => a.or(b),
        }
    }

    /// A subquery's FROM and WHERE, and what it can select.
    fn inner(&mut self, outer: &[Ref]) -> (String, Vec<Ref>) {
        self.levels -= 1;
        let (mut text, scope) = if self.chance(85) {
            let rel = self.rel();
            (self.from(&rel), self.refs(&rel))
        } else {
            self.sources(2)
        };
        if let Some(condition) = self.correlation(&scope, outer) {
            text = format!("{text} WHERE {condition}");
        }
        self.levels += 1;
        (text, scope)
    }

    fn subquery_predicate(&mut self, scope: &[Ref]) -> String {
        let (from, inner) = self.inner(scope);
        let kind = self.below(10);
        if kind < 3 {
            let not = self.one(&["", "NOT "]);
            let what = if self.chance(50) { "1".to_owned() } else { self.one(&inner).text };
            return format!("({not}EXISTS (SELECT {what} FROM {from}))");
        }
        let column = self.one(&inner);
        let left = self.leaf(scope, column.ty);
        let (column, ty) = (column.text, column.ty);
        match kind {
            3..6 => {
                let not = self.one(&["", "NOT "]);
                format!("({left} {not}IN (SELECT {column} FROM {from}))")
            }
            6 | 7 => {
                let op = self.comparison();
                let all = self.one(&["ANY", "ALL"]);
                format!("({left} {op} {all} (SELECT {column} FROM {from}))")
            }
            _ if ty == Ty::Bool => format!("((SELECT COUNT({column}) FROM {from}) > {})", self.literal(Ty::Int)),
            _ => {
                let op = self.comparison();
                let function = self.one(&["MIN", "MAX"]);
                format!("({left} {op} (SELECT {function}({column}) FROM {from}))")
            }
        }
    }

    fn scalar_subquery(&mut self, scope: &[Ref], ty: Ty) -> String {
        let (from, inner) = self.inner(scope);
        let fitting: Vec<Ref> = inner.iter().filter(|r| r.ty == ty).cloned().collect();
        if fitting.is_empty() {
            let whole = if ty == Ty::Int { "COUNT(*)".to_owned() } else { format!("MIN({})", self.literal(ty)) };
            return format!("(SELECT {whole} FROM {from})");
        }
        let column = self.one(&fitting).text;
        let functions: &[&str] = if ty.is_number() { &["MIN", "MAX", "SUM"] } else { &["MIN", "MAX"] };
        let function = self.one(functions);
        format!("(SELECT {function}({column}) FROM {from})")
    }

    /// An aggregate over the rows of a scope.
    pub(super) fn aggregate(&mut self, scope: &[Ref]) -> Ref {
        let column = self.one(scope);
        let numeric: Vec<Ref> = scope.iter().filter(|r| r.ty.is_number()).cloned().collect();
        let argument = if self.chance(85) || !column.ty.is_number() {
            column.text.clone()
        } else {
            let op = self.one(&["+", "*", "-"]);
            format!("({} {op} {})", column.text, self.leaf(scope, column.ty))
        };
        let distinct = if self.chance(20) { "DISTINCT " } else { "" };
        let (mut text, ty) = match self.below(10) {
            0 | 1 => ("COUNT(*)".to_owned(), Ty::Int),
            2 | 3 => (format!("COUNT({distinct}{argument})"), Ty::Int),
            4 | 5 if !numeric.is_empty() => {
                let number = self.one(&numeric);
                (format!("SUM({distinct}{})", number.text), number.ty)
            }
            6 if !numeric.is_empty() && self.chance(50) => {
                (format!("AVG({distinct}{})", self.one(&numeric).text), Ty::Dec)
            }
            _ if column.ty == Ty::Bool => (format!("COUNT({distinct}{})", column.text), Ty::Int),
            n => (format!("{}({argument})", if n % 2 == 0 { "MIN" } else { "MAX" }), column.ty),
        };
        if self.chance(12) {
            let levels = std::mem::replace(&mut self.levels, 0);
            text = format!("{text} FILTER (WHERE {})", self.predicate(scope, 0));
            self.levels = levels;
        }
        Ref { text, ty }
    }
}

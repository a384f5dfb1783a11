//! The grammar of queries: FROM clauses, select lists, groups, set operations, derived tables.
//!
//! A query is written from left to right, tables before what refers to them. Scopes are a stack, as in
//! [`crate::caq::bind`]: an expression uses the innermost, a correlation the one around it. Names are given once per
//! query where both could be seen, so nothing is ever shadowed.

use super::{schema, weighted};
use crate::rng::{Rng, chance, pick};
use crate::sql::schema::{Schema, Table};
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::collections::{BTreeMap, BTreeSet};

/// An output column or a column in scope: its name and type.
pub(super) type Output = (String, SqlType);

/// A table, derived table or common table expression in a FROM clause.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The name by which its columns are qualified.
    pub(super) alias: String,
    /// Position in [`Grammar::relations`]; only these have expression placeholders.
    pub(super) relation: Option<usize>,
    columns: Vec<Output>,
}

impl Source {
    /// The types of its columns.
    pub(super) fn types(&self) -> Vec<SqlType> {
        self.columns.iter().map(|c| c.1).collect()
    }
}

/// An expression placeholder.
#[derive(Debug)]
struct Placeholder {
    name: String,
    relation: usize,
    ty: SqlType,
}

/// A query and what it uses.
#[derive(Debug)]
pub(super) struct Drawn {
    /// The query.
    pub(super) sql: String,
    /// The placeholders, as a class file has them.
    pub(super) placeholders: BTreeMap<String, String>,
    /// For each table of the schema, whether the query reads it.
    pub(super) used: Vec<bool>,
}

/// The state of one drawing.
pub(super) struct Grammar<'r> {
    pub(super) rng: &'r mut Rng,
    /// The schema's tables, followed by table placeholders.
    relations: Vec<Table>,
    /// How many of the relations are the schema's.
    real: usize,
    used: Vec<bool>,
    placeholders: Vec<Placeholder>,
    placeholders_max: usize,
    /// Features beyond plain selection, filter and inner join that may still be used, and that were.
    budget: usize,
    spent: usize,
    /// Tables that may still be read.
    sources_left: usize,
    scopes: Vec<Vec<Source>>,
    /// Names of sources that are visible somewhere around.
    in_use: Vec<String>,
    ctes: Vec<(Source, String)>,
    /// The names of derived tables and common table expressions.
    derived: Vec<String>,
    bag_set_operations: bool,
}

/// Types whose values can be compared, grouped and made distinct without a doubt: on REAL columns 0.0 and -0.0 are equal
/// and differ.
pub(super) fn comparable(ty: SqlType) -> bool {
    matches!(ty, SqlType::Int | SqlType::Text | SqlType::Boolean)
}

/// A name made of a letter and a number from `first` on, that is neither in use nor a table's or a column's.
pub(super) fn fresh(relations: &[Table], in_use: &[String], letter: &str, first: usize) -> String {
    let taken = |name: &str| {
        in_use.iter().any(|n| n.eq_ignore_ascii_case(name))
            || relations.iter().any(|r| r.name.eq_ignore_ascii_case(name) || r.column(name).is_some())
    };
    let name = |number: usize| if number == 0 { letter.to_owned() } else { format!("{letter}{number}") };
    (first..).map(name).find(|name| !taken(name)).unwrap_or_default()
}

impl<'r> Grammar<'r> {
    pub(super) fn new(schema: &Schema, bag_set_operations: bool, rng: &'r mut Rng) -> Self {
        let real = schema.tables.len();
        Self {
            relations: schema.tables.clone(),
            real,
            used: vec![false; real],
            placeholders: Vec::new(),
            placeholders_max: weighted(rng, &[(10, 1), (35, 2), (35, 3), (20, 4)]),
            budget: weighted(rng, &[(20, 1), (40, 2), (30, 3), (10, 4)]),
            spent: 0,
            sources_left: weighted(rng, &[(5, 1), (25, 2), (45, 3), (25, 4)]),
            scopes: Vec::new(),
            in_use: Vec::new(),
            ctes: Vec::new(),
            derived: Vec::new(),
            bag_set_operations,
            rng,
        }
    }

    /// Draws a query; `None` if it came out without a placeholder, or as nothing but one table and a filter.
    pub(super) fn query(mut self) -> Option<Drawn> {
        let (body, _) = self.body(&[
            (46, Body::Rows),
            (10, Body::Distinct),
            (16, Body::Groups),
            (10, Body::Total),
            (18, Body::Set),
        ]);
        let mut sql = body;
        let mut ctes = String::new();
        // A part that was drawn and not taken may have left behind what it alone needed.
        for (source, text) in self.ctes.iter().rev() {
            if words(&sql).chain(words(&ctes)).any(|word| word == source.alias) {
                ctes = if ctes.is_empty() { text.clone() } else { format!("{text}, {ctes}") };
            }
        }
        if !ctes.is_empty() {
            sql = format!("WITH {ctes} {sql}");
        }
        let named: BTreeSet<&str> = words(&sql).collect();
        let relation = |p: &Placeholder| &self.relations[p.relation].name;
        let expressions =
            self.placeholders.iter().map(|p| (p.name.clone(), format!("Expr({}: {})", relation(p), p.ty)));
        let tables = self.relations[self.real..].iter().map(|table| {
            let columns: Vec<String> = table.columns.iter().map(|c| format!("{} {}", c.name, c.ty)).collect();
            (table.name.clone(), format!("Table({})", columns.join(", ")))
        });
        let placeholders: BTreeMap<String, String> =
            expressions.chain(tables).filter(|(name, _)| named.contains(name.as_str())).collect();
        if placeholders.is_empty() || self.spent == 0 {
            return None;
        }
        let used = self.relations[..self.real].iter().map(|table| named.contains(table.name.as_str())).collect();
        Some(Drawn { placeholders, used, sql })
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        chance(self.rng, percent)
    }

    pub(super) fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        weighted(self.rng, choices)
    }

    /// Takes a feature from the budget; false if none is left.
    pub(super) fn spend(&mut self) -> bool {
        if self.budget == 0 {
            return false;
        }
        self.budget -= 1;
        self.spent += 1;
        true
    }

    /// Notes a feature that is too small for the budget.
    pub(super) fn note(&mut self) {
        self.spent += 1;
    }

    /// Whether another table may be read, and a feature for it used.
    pub(super) fn has_room(&self) -> bool {
        self.budget > 0 && self.sources_left > 0
    }

    /// The sources of the innermost scope, for `outer` = 1 those of the scope around it.
    pub(super) fn scope(&self, outer: usize) -> Vec<Source> {
        self.scopes.iter().rev().nth(outer).cloned().unwrap_or_default()
    }

    /// Draws in a scope of its own, whose names are free again afterwards.
    pub(super) fn scoped<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        let visible = self.in_use.len();
        self.scopes.push(Vec::new());
        let result = draw(self);
        self.scopes.pop();
        self.in_use.truncate(visible);
        result
    }

    // Tables.

    /// Draws a FROM clause into the innermost scope. The first table is `first`, if given.
    pub(super) fn from(&mut self, first: Option<usize>, counts: &[(u32, usize)]) -> String {
        let count = self.weighted(counts);
        let mut text = format!(
            " FROM {}",
            match first {
                Some(relation) => self.table(relation),
                None => self.source(),
            }
        );
        for at in 1..count {
            if self.sources_left == 0 {
                break;
            }
            let left = self.scope(0);
            let source = self.source();
            let right = self.scope(0).split_off(left.len());
            let (kind, outer) = self.weighted(&[
                (54, ("JOIN", false)),
                (22, ("LEFT JOIN", true)),
                (7, ("RIGHT JOIN", true)),
                (6, ("FULL JOIN", true)),
                (6, ("CROSS JOIN", false)),
                (5, (",", false)),
            ]);
            let kind = if outer && !self.spend() { "JOIN" } else { kind };
            match kind {
                // A table after a comma is not visible in the conditions of joins, so a comma stands alone.
                "," if count == 2 && at == 1 => text.push_str(&format!(", {source}")),
                "CROSS JOIN" | "," => text.push_str(&format!(" CROSS JOIN {source}")),
                _ => {
                    let condition = self.join_condition(&left, &right);
                    text.push_str(&format!(" {kind} {source} ON {condition}"));
                }
            }
            self.note();
        }
        text
    }

    /// Draws one source, adds it to the innermost scope and returns how it stands in FROM.
    fn source(&mut self) -> String {
        let nested = self.has_room() && self.scopes.len() <= 2;
        let (derived, cte) = if nested { (11, 12) } else { (0, 0) };
        let again = if self.ctes.is_empty() { 0 } else { 45 };
        let may_be_virtual = self.placeholders_left() > 0 || self.relations.len() > self.real;
        match self.weighted(&[
            (if may_be_virtual { 17 } else { 0 }, Kind::Virtual),
            (derived, Kind::Derived),
            (cte, Kind::Cte),
            (again, Kind::CteAgain),
            (60, Kind::Table),
        ]) {
            Kind::Table => {
                let relation = self.choose();
                self.table(relation)
            }
            Kind::Virtual => {
                let relation = self.choose_virtual();
                self.table(relation)
            }
            Kind::Derived => {
                self.spend();
                let (text, columns) = self.closed();
                let alias = self.derived_name();
                self.add(Source { alias: alias.clone(), relation: None, columns });
                format!("({text}) AS {alias}")
            }
            Kind::Cte => {
                self.spend();
                let (text, columns) = self.closed();
                let name = self.derived_name();
                let kind = if self.chance(35) { "AS MATERIALIZED" } else { "AS" };
                let source = Source { alias: name.clone(), relation: None, columns };
                self.ctes.push((source.clone(), format!("{name} {kind} ({text})")));
                self.add(source);
                name
            }
            Kind::CteAgain => {
                let ctes: Vec<Source> = self.ctes.iter().map(|(source, _)| source.clone()).collect();
                let Some(cte) = pick(self.rng, &ctes).cloned() else { return self.table(0) };
                self.sources_left = self.sources_left.saturating_sub(1);
                // Its name is in use at most as a source beside this one.
                let visible = self.scopes.iter().flatten().any(|s| s.alias == cte.alias);
                let alias = if visible { self.alias() } else { cte.alias.clone() };
                let text = if visible { format!("{} AS {alias}", cte.alias) } else { alias.clone() };
                self.add(Source { alias, ..cte });
                text
            }
        }
    }

    /// A query for a derived table or common table expression: it sees nothing of what is around it, and names its
    /// columns.
    fn closed(&mut self) -> (String, Vec<Output>) {
        // Three levels say that nothing is nested in it again.
        let around = std::mem::replace(&mut self.scopes, vec![Vec::new(); 3]);
        let result = self.body(&[(34, Body::Rows), (16, Body::Distinct), (30, Body::Groups), (20, Body::Set)]);
        self.scopes = around;
        result
    }

    fn add(&mut self, source: Source) {
        self.in_use.push(source.alias.clone());
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(source);
        }
    }

    /// Adds a relation to the innermost scope, under an alias if its name is visible already.
    fn table(&mut self, relation: usize) -> String {
        self.sources_left = self.sources_left.saturating_sub(1);
        if let Some(used) = self.used.get_mut(relation) {
            *used = true;
        }
        let table = &self.relations[relation];
        let name = table.name.clone();
        let columns = table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        if !self.in_use.contains(&name) {
            self.add(Source { alias: name.clone(), relation: Some(relation), columns });
            return name;
        }
        let alias = self.alias();
        self.add(Source { alias: alias.clone(), relation: Some(relation), columns });
        format!("{name} AS {alias}")
    }

    /// One of the schema's tables: one that a foreign key ties to a table in scope, or a new one, or any.
    fn choose(&mut self) -> usize {
        let in_scope: Vec<usize> = self.scopes.iter().flatten().filter_map(|s| s.relation).collect();
        let tied = |a: usize, b: usize| self.relations[a].foreign_keys.iter().any(|k| k.table == b);
        let tied: Vec<usize> =
            (0..self.real).filter(|&a| in_scope.iter().any(|&b| tied(a, b) || b < self.real && tied(b, a))).collect();
        if let Some(&relation) = pick(self.rng, &tied)
            && self.chance(55)
        {
            return relation;
        }
        let new: Vec<usize> = (0..self.real).filter(|&at| !self.used[at]).collect();
        match new.first() {
            Some(&relation) if self.chance(70) => relation,
            _ => self.rng.random_range(0..self.real),
        }
    }

    fn choose_virtual(&mut self) -> usize {
        let known = self.relations.len() - self.real;
        if known > 0 && (self.placeholders_left() == 0 || self.chance(60)) {
            return self.real + self.rng.random_range(0..known);
        }
        let name = fresh(&self.relations, &[], "v", known + 1);
        let table = schema::virtual_table(name, self.rng);
        self.relations.push(table);
        self.relations.len() - 1
    }

    fn alias(&self) -> String {
        let fresh = |letter, first| fresh(&self.relations, &self.in_use, letter, first);
        ["a", "b", "c", "d", "e"].into_iter().find(|l| fresh(l, 0) == *l).map_or_else(|| fresh("a", 1), str::to_owned)
    }

    /// A name for a derived table or common table expression, never the one of another.
    fn derived_name(&mut self) -> String {
        let name = fresh(&self.relations, &self.derived, "s", 0);
        self.derived.push(name.clone());
        name
    }

    /// An equality between the sides, often along a foreign key or a key, and sometimes more.
    fn join_condition(&mut self, left: &[Source], right: &[Source]) -> String {
        let kind = self.weighted(&[(66, 0), (22, 1), (12, 2)]);
        if kind == 2 {
            return self.predicate(1).text;
        }
        match self.equality(left, right) {
            Some(equality) if kind == 0 => equality,
            Some(equality) => format!("{equality} AND {}", self.predicate(0).tight()),
            None => self.predicate(0).text,
        }
    }

    /// An equality between a source of the one side and a source of the other.
    pub(super) fn equality(&mut self, left: &[Source], right: &[Source]) -> Option<String> {
        let keyed = self.keyed(left, right);
        if let Some(equality) = pick(self.rng, &keyed).cloned()
            && self.chance(60)
        {
            return Some(equality);
        }
        let ty = self.weighted(&[(65, SqlType::Int), (30, SqlType::Text), (5, SqlType::Boolean)]);
        let ty = [ty, SqlType::Int, SqlType::Text].into_iter().find(|&ty| self.has(left, ty) && self.has(right, ty))?;
        let l = self.reference(left, ty)?;
        let r = self.reference(right, ty)?;
        Some(format!("{l} = {r}"))
    }

    /// The equalities along foreign keys, and along keys of a table met twice.
    fn keyed(&self, left: &[Source], right: &[Source]) -> Vec<String> {
        let mut all = Vec::new();
        for (l, r) in left.iter().flat_map(|l| right.iter().map(move |r| (l, r))) {
            let (Some(a), Some(b)) = (l.relation, r.relation) else { continue };
            let equal = |x: &Source, at: usize, y: &Source, to: usize| {
                format!("{}.{} = {}.{}", x.alias, x.columns[at].0, y.alias, y.columns[to].0)
            };
            for (from, to, child, parent) in [(a, b, l, r), (b, a, r, l)] {
                let keys = self.relations[from].foreign_keys.iter().filter(|k| k.table == to && to < self.real);
                all.extend(keys.map(|k| equal(child, k.columns[0], parent, k.referred[0])));
            }
            if a == b {
                let table = &self.relations[a];
                let keys = std::iter::once(&table.primary_key).chain(&table.unique).filter(|k| !k.is_empty());
                all.extend(keys.filter(|k| comparable(table.columns[k[0]].ty)).map(|k| equal(r, k[0], l, k[0])));
            }
        }
        all
    }

    // Values.

    fn placeholders_left(&self) -> usize {
        self.placeholders_max.saturating_sub(self.placeholders.len() + self.relations.len() - self.real)
    }

    /// Whether the sources have a column of a type, or may get a placeholder.
    pub(super) fn has(&self, sources: &[Source], ty: SqlType) -> bool {
        let fits = |s: &Source| s.types().contains(&ty) || (s.relation.is_some() && self.placeholders_left() > 0);
        sources.iter().any(fits)
    }

    /// A column or an expression placeholder of a type, if the sources have one.
    pub(super) fn reference(&mut self, sources: &[Source], ty: SqlType) -> Option<String> {
        let columns: Vec<String> = sources
            .iter()
            .flat_map(|s| s.columns.iter().filter(|c| c.1 == ty).map(move |c| format!("{}.{}", s.alias, c.0)))
            .collect();
        let percent = if ty == SqlType::Boolean { 85 } else { 27 };
        let wanted = columns.is_empty() || self.chance(percent);
        let placeholder = if wanted { self.placeholder(sources, ty) } else { None };
        placeholder.or_else(|| pick(self.rng, &columns).cloned())
    }

    /// An expression placeholder over one of the sources: one that is known, or a new one.
    fn placeholder(&mut self, sources: &[Source], ty: SqlType) -> Option<String> {
        if !comparable(ty) {
            return None;
        }
        let bases: Vec<(&str, usize)> = sources.iter().filter_map(|s| Some((s.alias.as_str(), s.relation?))).collect();
        let &(alias, relation) = pick(self.rng, &bases)?;
        let known: Vec<&Placeholder> =
            self.placeholders.iter().filter(|p| p.relation == relation && p.ty == ty).collect();
        let known = pick(self.rng, &known).map(|p| p.name.clone());
        if let Some(name) = &known
            && (self.placeholders_left() == 0 || self.chance(35))
        {
            return Some(format!("{alias}.{name}"));
        }
        if self.placeholders_left() == 0 {
            return None;
        }
        let taken: Vec<String> = self.placeholders.iter().map(|p| p.name.clone()).collect();
        let name = fresh(&self.relations, &taken, "p", 1);
        let text = format!("{alias}.{name}");
        self.placeholders.push(Placeholder { name, relation, ty });
        Some(text)
    }

    /// A literal of a type.
    pub(super) fn literal(&mut self, ty: SqlType) -> &'static str {
        match ty {
            SqlType::Text => self.weighted(&[(60, "'a'"), (40, "'b'")]),
            SqlType::Boolean => self.weighted(&[(60, "TRUE"), (40, "FALSE")]),
            SqlType::Int | SqlType::Real | SqlType::Blob => self.weighted(&[(40, "0"), (40, "1"), (20, "2")]),
        }
    }

    /// A value of a type for a select list: a reference, or an expression over some, or else a literal.
    fn value(&mut self, ty: SqlType) -> String {
        let scope = self.scope(0);
        let Some(reference) = self.reference(&scope, ty) else {
            return if comparable(ty) { self.literal(ty).to_owned() } else { "NULL".to_owned() };
        };
        if !comparable(ty) {
            return reference;
        }
        match self.weighted(&[(86, 0), (6, 1), (8, 2)]) {
            1 if self.spend() => {
                let other = if self.chance(50) { self.reference(&scope, ty) } else { None };
                let other = other.filter(|o| *o != reference).unwrap_or_else(|| self.literal(ty).to_owned());
                format!("COALESCE({reference}, {other})")
            }
            2 if self.spend() => {
                let condition = self.predicate(0).text;
                let other = if self.chance(50) { self.literal(ty).to_owned() } else { "NULL".to_owned() };
                format!("CASE WHEN {condition} THEN {reference} ELSE {other} END")
            }
            _ => reference,
        }
    }

    /// The types that the innermost scope can give values of.
    fn types(&self) -> Vec<SqlType> {
        let mut types: Vec<SqlType> = self.scope(0).iter().flat_map(|s| s.columns.iter().map(|c| c.1)).collect();
        if self.scope(0).iter().any(|s| s.relation.is_some()) && self.placeholders_left() > 0 {
            types.extend([SqlType::Int, SqlType::Text]);
        }
        types
    }

    // Bodies.

    /// Draws a whole query: its text, and its columns under the names that they have as a derived table.
    fn body(&mut self, choices: &[(u32, Body)]) -> (String, Vec<Output>) {
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
                let value = g.value(ty);
                if !values.iter().any(|(v, _)| *v == value) {
                    values.push((value, ty));
                }
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

    /// An aggregate over the innermost scope, of a type if one is wanted, with its type.
    pub(super) fn aggregate(&mut self, ty: Option<SqlType>) -> (String, SqlType) {
        let scope = self.scope(0);
        let any = [SqlType::Int, SqlType::Int, SqlType::Text, SqlType::Boolean];
        let of = pick(self.rng, &any).copied().unwrap_or(SqlType::Int);
        let ordered = ty.unwrap_or(if self.chance(70) { SqlType::Int } else { SqlType::Text });
        let count = |text: String| (text, SqlType::Int);
        if ty.is_none_or(|ty| ty == SqlType::Int) {
            match self.weighted(&[(24, 0), (14, 1), (14, 2), (16, 3), (10, 4), (6, 5), (26, 6)]) {
                1 => {
                    if let Some(value) = self.reference(&scope, of) {
                        return count(format!("COUNT({value})"));
                    }
                }
                2 => {
                    if let Some(value) = self.reference(&scope, of) {
                        return count(format!("COUNT(DISTINCT {value})"));
                    }
                }
                3 => {
                    if let Some(value) = self.reference(&scope, SqlType::Int) {
                        return count(format!("SUM({value})"));
                    }
                }
                4 if self.spend() => {
                    let condition = self.flag().text;
                    return count(format!("SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)"));
                }
                5 if self.spend() => {
                    let condition = self.flag().text;
                    return count(format!("COUNT(CASE WHEN {condition} THEN 1 END)"));
                }
                6 => {}
                _ => return count("COUNT(*)".to_owned()),
            }
        }
        match self.reference(&scope, ordered) {
            Some(value) => (format!("{}({value})", self.weighted(&[(50, "MIN"), (50, "MAX")])), ordered),
            None => count("COUNT(*)".to_owned()),
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

#[derive(Clone, Copy)]
enum Kind {
    Table,
    Virtual,
    Derived,
    Cte,
    CteAgain,
}

#[derive(Clone, Copy)]
enum Body {
    Rows,
    Distinct,
    Groups,
    Total,
    Set,
}

/// The name of an output column of a derived table: `w`, `w1`, …
fn output_name(at: usize) -> String {
    if at == 0 { "w".to_owned() } else { format!("w{at}") }
}

/// The names, keywords and numbers of a text.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// A select list. A computed value gets a name in any case, a column only for a derived table.
fn list(values: &[(String, SqlType)], named: bool) -> String {
    let item = |(at, (value, _)): (usize, &(String, SqlType))| {
        let computed = value.contains('(') || value.contains(' ');
        if named || computed { format!("{value} AS {}", output_name(at)) } else { value.clone() }
    };
    values.iter().enumerate().map(item).collect::<Vec<_>>().join(", ")
}

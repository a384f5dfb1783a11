//! Rows at hand, and the definitions of sums, extremes and EXISTS applied to them.

use super::{
    Cmp, Cx, Defined, Encoder, F, Formula, GENERATIONS_MAX, INSTANCES_MAX, Kind, ROWS_MAX, Rel, Row, S, Sort, Term, V,
    Val, canon, make, simplify, subst,
};
use crate::ir::{Type, Value};
use crate::normal::build::Builder;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

impl Encoder<'_> {
    /// A row that is in a table wherever the guard holds.
    pub(super) fn add_row(&mut self, table: usize, guard: &S, columns: &[V]) {
        if self.closed || !self.known_rows.insert((table, columns.to_vec())) {
            return;
        }
        if self.rows.len() >= ROWS_MAX {
            self.cx.cap("rows of one question");
            return;
        }
        let generation = self.generation;
        self.rows.push(Row { table, guard: guard.clone(), columns: columns.to_vec(), generation });
        let declared = &self.cx.schema.tables[table];
        for (column, value) in declared.columns.iter().zip(columns) {
            if column.not_null && !value.never_null() {
                let null = self.null(value);
                let not_null = Self::not(&null);
                self.imply(guard, &not_null);
            }
        }
        for check in &declared.checks {
            // A check with a subquery is not used, nor one that takes for granted what the schema does not; leaving a
            // fact out is always sound.
            let mut builder = Builder::new(self.cx);
            if let Ok(false_when) = builder.row_condition_false(check, columns)
                && builder.assumptions.is_subset(&self.cx.schema.assumptions)
            {
                let s = self.formula(&make::not(false_when));
                self.imply(guard, &s);
            }
        }
        if generation < GENERATIONS_MAX {
            for foreign in &declared.foreign_keys {
                let parent = &self.cx.schema.tables[foreign.parent];
                let Some(key) = parent.keys.iter().position(|k| same_set(&k.columns, &foreign.parent_columns)) else {
                    continue;
                };
                let at: Vec<V> = parent.keys[key]
                    .columns
                    .iter()
                    .filter_map(|k| foreign.parent_columns.iter().position(|p| p == k))
                    .map(|i| columns[foreign.columns[i]].clone())
                    .collect();
                let given = make::and(at.iter().map(|v| make::not(make::is_null(v))));
                self.generation += 1;
                let given = self.formula(&given);
                let exists = self.formula(&subst::has(foreign.parent, key, at));
                self.generation -= 1;
                let premise = self.join("and", vec![guard.clone(), given]);
                self.imply(&premise, &exists);
            }
        }
    }

    pub(super) fn define(&mut self, kind: Kind, terms: &[Term]) {
        let generation = self.generation;
        if generation < GENERATIONS_MAX {
            self.generation += 1;
            match &kind {
                Kind::Exists(s) => {
                    let witness = self.witness(terms, &|_, _| make::yes());
                    self.imply(s, &witness);
                }
                Kind::Extreme(_, v) => {
                    let null = self.null(v);
                    let not_null = Self::not(&null);
                    let witness = self.witness(terms, &|_, t| make::cmp(Cmp::Eq, &t.out[0], v));
                    self.imply(&not_null, &witness);
                }
                Kind::Scalar(v, some) => {
                    let witness = self.witness(terms, &|_, t| make::same(&t.out[0], v));
                    self.imply(some, &witness);
                    let (null, none) = (self.null(v), Self::not(some));
                    self.imply(&none, &null);
                }
            }
            self.generation -= 1;
        }
        self.defined.push(Defined { kind, terms: terms.to_vec(), generation, done: HashSet::new() });
    }

    /// Some assignment of new constants satisfies one of the terms and what is asked of it.
    pub(super) fn witness(&mut self, terms: &[Term], also: &dyn Fn(&Cx<'_>, &Term) -> F) -> S {
        let mut options = Vec::new();
        for term in terms {
            let term = subst::open(self.cx, term);
            let holds = make::and(term.phi.iter().cloned().chain([make::positive(&term.weight), also(self.cx, &term)]));
            let condition = self.formula(&holds);
            // The new rows exist only if this witness is the one.
            let guard: S = format!("w{}", self.declared.len()).into();
            self.declare(&guard, "", Sort::Bool);
            self.imply(&guard, &condition);
            for (var, rel) in &term.vars {
                if let Rel::Table(table) = rel {
                    let row = self.cx.row(*var, rel);
                    self.add_row(*table, &guard, &row);
                }
            }
            options.push(guard);
        }
        self.join("or", options)
    }

    /// Applies the definitions to the rows at hand until nothing new comes.
    pub(super) fn instantiate(&mut self) {
        loop {
            let before = (self.rows.len(), self.defined.len(), self.assertions.len());
            for i in 0..self.defined.len() {
                self.instantiate_one(i);
            }
            self.total_facts();
            if before == (self.rows.len(), self.defined.len(), self.assertions.len()) {
                return;
            }
        }
    }

    fn instantiate_one(&mut self, index: usize) {
        let terms = self.defined[index].terms.clone();
        let generation = self.defined[index].generation;
        for (t, term) in terms.iter().enumerate() {
            let tables: Option<Vec<usize>> = term
                .vars
                .iter()
                .map(|(_, rel)| match rel {
                    Rel::Table(table) => Some(*table),
                    Rel::Distinct(_) => None,
                })
                .collect();
            // A DISTINCT that could not be flattened has no rows at hand.
            let Some(tables) = tables else { continue };
            let mut choices = vec![vec![t]];
            for table in &tables {
                choices = choices
                    .iter()
                    .flat_map(|chosen| {
                        self.rows.iter().enumerate().filter(|(_, r)| r.table == *table).map(move |(i, _)| {
                            let mut chosen = chosen.clone();
                            chosen.push(i);
                            chosen
                        })
                    })
                    .take(INSTANCES_MAX * 4)
                    .collect();
            }
            for choice in choices {
                if self.defined[index].done.len() >= INSTANCES_MAX {
                    self.cx.cap("instances of one definition");
                    return;
                }
                if self.cx.exhausted() {
                    return;
                }
                let rows: Vec<Row> = choice[1..].iter().map(|i| self.rows[*i].clone()).collect();
                let depth = rows.iter().map(|r| r.generation).max().unwrap_or(0).max(generation);
                if depth > GENERATIONS_MAX || !self.defined[index].done.insert(choice) {
                    continue;
                }
                self.instance(index, term, &rows, depth);
            }
        }
    }

    fn instance(&mut self, index: usize, term: &Term, rows: &[Row], depth: u32) {
        let map = term.vars.iter().zip(rows).map(|((var, _), row)| (*var, row.columns.clone())).collect();
        let term = subst::instantiate(self.cx, term, &map);
        let holds = make::and(term.phi.iter().cloned().chain([make::positive(&term.weight)]));
        if *holds == Formula::False {
            return;
        }
        let before = std::mem::replace(&mut self.generation, depth + 1);
        let mut premise: Vec<S> = rows.iter().map(|r| r.guard.clone()).collect();
        premise.push(self.formula(&holds));
        let premise = self.join("and", premise);
        let conclusion = match &self.defined[index].kind {
            Kind::Exists(s) | Kind::Scalar(_, s) => s.clone(),
            Kind::Extreme(max, v) => {
                let (max, v) = (*max, v.clone());
                let (low, high) = if max { (&term.out[0], &v) } else { (&v, &term.out[0]) };
                // The body leaves out NULLs, so the extreme is not NULL either.
                self.formula(&make::cmp(Cmp::Le, low, high))
            }
        };
        self.imply(&premise, &conclusion);
        self.generation = before;
    }

    /// Counts are not negative; a sum over no rows is 0. Only where EXISTS over the same rows is in question too.
    fn total_facts(&mut self) {
        for mut sum in std::mem::take(&mut self.totals) {
            let v = sum.value.clone();
            let Val::Total(term, ty) = &*v else { continue };
            let counts = make::is_int(&term.out[0], 1);
            let zero = make::int(0);
            if counts && sum.some.is_none() {
                let s = self.formula(&make::cmp(Cmp::Le, &zero, &v));
                self.assert(&s);
            }
            let some = sum.some.get_or_insert_with(|| simplify::exists(self.cx, subst::open(self.cx, term))).clone();
            if !((sum.compared && counts) || self.mentioned(&some)) {
                self.totals.push(sum);
                continue;
            }
            let is_zero = make::cmp(Cmp::Eq, &v, &Rc::new(Val::Lit(Value::int(0), ty.clone())));
            let fact =
                if counts { make::iff(&some, &make::cmp(Cmp::Lt, &zero, &v)) } else { make::or([some, is_zero]) };
            let s = self.formula(&fact);
            self.assert(&s);
        }
    }

    /// Whether every EXISTS of a formula has been met in the question.
    fn mentioned(&self, f: &F) -> bool {
        match &**f {
            Formula::Exists(term) => {
                let shape = canon::shape(std::slice::from_ref(&**term));
                self.shapes.contains_key(&format!("exists {} {}", Type::Boolean, shape.text))
            }
            Formula::And(parts) | Formula::Or(parts) => parts.iter().all(|p| self.mentioned(p)),
            Formula::Not(inner) => self.mentioned(inner),
            _ => true,
        }
    }

    /// A row at hand is the one that its key looks up.
    pub(super) fn key_facts(&mut self) {
        let mut done = 0;
        // Encoding a lookup may bring new rows.
        while done < self.rows.len() {
            let row = self.rows[done].clone();
            done += 1;
            let several = self.rows.iter().filter(|r| r.table == row.table).count() > 1;
            let keys = self.cx.schema.tables[row.table].keys.clone();
            for (k, key) in keys.iter().enumerate() {
                if !several && !self.lookups.contains(&(row.table, k)) {
                    continue;
                }
                let at: Vec<V> = key.columns.iter().map(|c| row.columns[*c].clone()).collect();
                let looked_up = simplify::lookup_row(self.cx, row.table, k, &at);
                let given = make::and(at.iter().map(|v| make::not(make::is_null(v))));
                let equal = make::and(
                    std::iter::once(subst::has(row.table, k, at))
                        .chain(row.columns.iter().zip(&looked_up).map(|(a, b)| make::same(a, b))),
                );
                self.closed = true;
                let (given, equal) = (self.formula(&given), self.formula(&equal));
                self.closed = false;
                let premise = self.join("and", vec![row.guard.clone(), given]);
                self.imply(&premise, &equal);
            }
        }
    }
}

fn same_set(a: &[usize], b: &[usize]) -> bool {
    a.iter().collect::<BTreeSet<_>>() == b.iter().collect::<BTreeSet<_>>()
}

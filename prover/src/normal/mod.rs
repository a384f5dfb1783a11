//! From a plan to its normal form: a sum of terms.

pub(crate) mod aggregate;
pub(crate) mod build;
pub(crate) mod canon;
pub(crate) mod determine;
pub(crate) mod distinct;
#[cfg(test)]
mod laws;
pub(crate) mod make;
#[cfg(test)]
pub(crate) mod meaning;
mod show;
pub(crate) mod simplify;
pub(crate) mod subst;

pub(crate) mod term;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::evidence::Step;
use crate::ir::{Schema, Type};
use term::{Col, F, Formula, Rel, Term, V, Val, Var, wider};

/// What all parts of one proof share.
pub(crate) struct Cx<'a> {
    pub(crate) schema: &'a Schema,
    next: Cell<Var>,
    /// Of two rows that determine each other by keys, which one goes: that of the later table, or of the earlier.
    pub(crate) keep_later: Cell<bool>,
    /// Bounds that were reached, each with how often.
    pub(crate) caps: RefCell<BTreeMap<&'static str, u64>>,
    interned: RefCell<HashMap<(String, Vec<V>), V>>,
    interned_exists: RefCell<HashMap<(String, Vec<V>), F>>,
    /// The tables that variables range over.
    tables: RefCell<HashMap<Var, usize>>,
    work: Cell<u64>,
    work_max: u64,
    /// The rewrites applied so far.
    pub(crate) steps: RefCell<Vec<Step>>,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(schema: &'a Schema, work_max: u64) -> Self {
        Self {
            schema,
            next: Cell::new(1),
            keep_later: Cell::new(false),
            work_max,
            work: Cell::new(0),
            tables: RefCell::default(),
            interned: RefCell::default(),
            interned_exists: RefCell::default(),
            caps: RefCell::default(),
            steps: RefCell::default(),
        }
    }

    /// A variable that occurs nowhere yet.
    pub(crate) fn fresh(&self) -> Var {
        let var = self.next.get();
        self.next.set(var + 1);
        var
    }

    /// The one representative of a sum that is the same up to the names of its variables.
    ///
    /// It gets variables of its own: what it was made from may go on being rewritten, and if a part of that came to be
    /// this very sum, it would be inside a term that binds the same variables.
    pub(crate) fn intern(&self, head: &str, terms: &[Term], make: impl FnOnce(Vec<Term>) -> V) -> V {
        let shape = canon::shape(terms);
        let key = (format!("{head} {}", shape.text), shape.params);
        if let Some(known) = self.interned.borrow().get(&key) {
            return known.clone();
        }
        let made = make(terms.iter().map(|term| subst::open(self, term)).collect());
        self.interned.borrow_mut().entry(key).or_insert(made).clone()
    }

    /// The same for EXISTS.
    pub(crate) fn intern_exists(&self, term: &Term) -> F {
        let shape = canon::shape(std::slice::from_ref(term));
        let key = (shape.text, shape.params);
        if let Some(known) = self.interned_exists.borrow().get(&key) {
            return known.clone();
        }
        let made = Rc::new(Formula::Exists(Rc::new(subst::open(self, term))));
        self.interned_exists.borrow_mut().entry(key).or_insert(made).clone()
    }

    /// Counts one step of work; false once the bound is reached.
    pub(crate) fn spend(&self) -> bool {
        let work = self.work.get() + 1;
        self.work.set(work);
        work < self.work_max
    }

    /// Whether the bound on the work was reached.
    pub(crate) fn exhausted(&self) -> bool {
        self.work.get() >= self.work_max
    }

    /// Counts that a bound was reached.
    pub(crate) fn cap(&self, what: &'static str) {
        *self.caps.borrow_mut().entry(what).or_default() += 1;
    }

    /// Whether a value is a column of a table, and so of the type that is declared.
    pub(crate) fn is_stored(&self, v: &V) -> bool {
        match &**v {
            Val::Col(col) => self.tables.borrow().contains_key(&col.var),
            Val::Lookup { .. } => true,
            _ => false,
        }
    }

    /// Digits in all and after the point that a value can have, if it is a column of a table that says so.
    pub(crate) fn decimal(&self, v: &V) -> Option<(u32, u32)> {
        let (table, column) = match &**v {
            Val::Col(col) => (*self.tables.borrow().get(&col.var)?, col.index),
            Val::Lookup { table, column, .. } => (*table, *column),
            _ => return None,
        };
        self.schema.tables[table].columns[column].decimal
    }

    /// The columns of a variable that ranges over `rel`.
    pub(crate) fn row(&self, var: Var, rel: &Rel) -> Vec<V> {
        let col = |index, ty, not_null| Rc::new(Val::Col(Col { var, index, ty, not_null }));
        match rel {
            Rel::Table(table) => {
                self.tables.borrow_mut().insert(var, *table);
                self.schema.tables[*table]
                    .columns
                    .iter()
                    .enumerate()
                    .map(|(index, c)| col(index, c.ty.clone(), c.not_null))
                    .collect()
            }
            Rel::Distinct(nf) => {
                let width = nf.terms.first().map_or(0, |t| t.out.len());
                (0..width)
                    .map(|index| {
                        let not_null = nf.terms.iter().all(|t| t.out[index].never_null());
                        // Of all the terms: a whole number could not hold what a later one has.
                        let ty = nf.terms.iter().fold(Type::Unknown, |ty, t| wider(&ty, &t.out[index].ty()));
                        col(index, ty, not_null)
                    })
                    .collect()
            }
        }
    }
}

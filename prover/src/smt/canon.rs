//! A name for the shape of a sum: the same text for the same body up to the names of its variables, with everything
//! that does not depend on them abstracted to parameters.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use crate::normal::subst::FreeVars;
use crate::normal::term::{F, Formula, Nf, Rel, Term, V, Val, Var};

/// Shape and parameters.
pub(crate) struct Shape {
    pub(crate) text: String,
    pub(crate) params: Vec<V>,
}

/// The shape of a sum of terms.
pub(crate) fn shape(terms: &[Term]) -> Shape {
    let mut canon = Canon::default();
    for term in terms {
        canon.term(term);
    }
    Shape { text: canon.text, params: canon.params }
}

#[derive(Default)]
struct Canon {
    text: String,
    params: Vec<V>,
    names: HashMap<Var, usize>,
    bound: BTreeSet<Var>,
    free: FreeVars,
}

impl Canon {
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.text.write_fmt(text);
    }

    fn term(&mut self, term: &Term) {
        self.text.push_str("(sum");
        for (var, rel) in &term.vars {
            let name = self.names.len();
            self.names.insert(*var, name);
            self.bound.insert(*var);
            match rel {
                Rel::Table(table) => self.put(format_args!(" x{name}:t{table}")),
                Rel::Distinct(nf) => {
                    self.put(format_args!(" x{name}:"));
                    self.nf("distinct", nf);
                }
            }
        }
        self.text.push('.');
        term.phi.iter().for_each(|f| self.formula(f));
        self.text.push('*');
        self.val(&term.weight);
        self.text.push_str("->");
        term.out.iter().for_each(|v| self.val(v));
        self.text.push(')');
        for (var, _) in &term.vars {
            self.bound.remove(var);
        }
    }

    fn nf(&mut self, head: &str, nf: &Nf) {
        self.put(format_args!("({head}"));
        nf.terms.iter().for_each(|t| self.term(t));
        self.text.push(')');
    }

    fn list(&mut self, head: std::fmt::Arguments<'_>, parts: &[V]) {
        self.text.push('(');
        self.put(head);
        for part in parts {
            self.text.push(' ');
            self.val(part);
        }
        self.text.push(')');
    }

    fn val(&mut self, v: &V) {
        if let Val::Lit(value, ty) = &**v {
            self.put(format_args!(" {value}:{ty}"));
            return;
        }
        if let Val::Null(_) = &**v {
            self.text.push_str(" NULL");
            return;
        }
        if self.free.val(v).is_disjoint(&self.bound) {
            let index = self.params.iter().position(|p| p == v).unwrap_or_else(|| {
                self.params.push(v.clone());
                self.params.len() - 1
            });
            self.put(format_args!(" ?{index}"));
            return;
        }
        match &**v {
            Val::Col(col) => match self.names.get(&col.var).copied() {
                Some(name) => self.put(format_args!(" x{name}.{}", col.index)),
                None => self.put(format_args!(" r{}.{}", col.var, col.index)),
            },
            Val::Lit(..) | Val::Null(_) => {}
            Val::Call { name, args, ty, .. } => self.list(format_args!("call {name:?} {ty}"), args),
            Val::Arith(op, a, b, _) => self.list(format_args!("{op:?}"), &[a.clone(), b.clone()]),
            Val::Case(c, a, b) => {
                self.text.push_str("(case ");
                self.formula(c);
                self.val(a);
                self.val(b);
                self.text.push(')');
            }
            Val::Bool(t, f) => {
                self.text.push_str("(bool ");
                self.formula(t);
                self.formula(f);
                self.text.push(')');
            }
            Val::Total(term, _) => {
                self.text.push_str("(total");
                self.term(term);
                self.text.push(')');
            }
            Val::Extreme(max, nf, _) => self.nf(if *max { "max" } else { "min" }, nf),
            Val::OfBag(name, nf, _) => self.nf(name, nf),
            Val::Scalar(nf, _) => self.nf("scalar", nf),
            Val::Lookup { table, key, at, column, .. } => {
                self.list(format_args!("lookup t{table} k{key} c{column}"), at);
            }
        }
    }

    fn formula(&mut self, f: &F) {
        match &**f {
            Formula::True => self.text.push_str(" true"),
            Formula::False => self.text.push_str(" false"),
            Formula::And(parts) => {
                self.text.push_str("(and");
                parts.iter().for_each(|p| self.formula(p));
                self.text.push(')');
            }
            Formula::Or(parts) => {
                self.text.push_str("(or");
                parts.iter().for_each(|p| self.formula(p));
                self.text.push(')');
            }
            Formula::Not(inner) => {
                self.text.push_str("(not");
                self.formula(inner);
                self.text.push(')');
            }
            Formula::Null(v) => self.list(format_args!("null"), std::slice::from_ref(v)),
            Formula::Truth(v) => self.list(format_args!("truth"), std::slice::from_ref(v)),
            Formula::Cmp(op, a, b) => self.list(format_args!("{op:?}"), &[a.clone(), b.clone()]),
            Formula::Same(a, b) => self.list(format_args!("same"), &[a.clone(), b.clone()]),
            Formula::Exists(term) => {
                self.text.push_str("(exists");
                self.term(term);
                self.text.push(')');
            }
            Formula::Has { table, key, at } => self.list(format_args!("has t{table} k{key}"), at),
        }
    }
}

//! Formulas as SMT-LIB, without quantifiers.
//!
//! A nullable value is a pair of a Boolean (it is NULL) and a value that means nothing where it is NULL. Sums, extremes
//! and EXISTS are uninterpreted functions of what their bodies refer to outside, tied down by instances of their
//! definitions: a true EXISTS has a witness (new constants), and rows at hand that satisfy the body make it true.
//! Every assertion added is a consequence of the meaning of the symbols, so "unsatisfiable" can be relied on, while
//! "satisfiable" means little.

#[cfg(test)]
mod honest;
mod instances;
pub(crate) mod value;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;

use crate::ir::{Type, Value};
use crate::normal::term::{Cmp, F, Formula, Op, Rel, Term, V, Val, Var};
use crate::normal::{Cx, canon, make, simplify, subst};

/// Witnesses of witnesses.
const GENERATIONS_MAX: u32 = 3;
/// Rows in one question.
const ROWS_MAX: usize = 60;
/// Instances of one definition.
const INSTANCES_MAX: usize = 200;
/// Monomials of one expanded product.
const MONOMIALS_MAX: usize = 200;

/// An SMT term.
type S = Rc<str>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Bool,
    Int,
    Real,
}

impl Sort {
    /// Text, dates and the like are embedded in the reals: any countable order is, and nothing but their order is
    /// ever used.
    fn of(ty: &Type) -> Self {
        match ty {
            Type::Boolean => Self::Bool,
            Type::Integer => Self::Int,
            _ => Self::Real,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bool => "Bool",
            Self::Int => "Int",
            Self::Real => "Real",
        }
    }

    fn default(self) -> &'static str {
        match self {
            Self::Bool => "false",
            Self::Int => "0",
            Self::Real => "0.0",
        }
    }
}

/// A nullable value.
#[derive(Clone, Debug)]
struct Cell {
    null: S,
    value: S,
    sort: Sort,
}

/// A row at hand.
#[derive(Clone)]
struct Row {
    table: usize,
    guard: S,
    columns: Vec<V>,
    generation: u32,
}

/// A symbol whose definition quantifies over rows.
struct Defined {
    kind: Kind,
    terms: Vec<Term>,
    generation: u32,
    done: HashSet<Vec<usize>>,
}

enum Kind {
    /// Holds if there is a row.
    Exists(S),
    /// The extreme value of the rows.
    Extreme(bool, V),
    /// The value of some row, NULL if there is none.
    Scalar(V, S),
}

/// A sum whose sign is not yet related to the existence of rows.
struct Sum {
    value: V,
    compared: bool,
    some: Option<F>,
}

/// Builds one script.
pub(crate) struct Encoder<'a> {
    cx: &'a Cx<'a>,
    declarations: String,
    declared: HashSet<String>,
    assertions: Vec<String>,
    cells: HashMap<V, Cell>,
    formulas: HashMap<F, S>,
    shapes: HashMap<String, usize>,
    texts: BTreeMap<(String, Type), S>,
    rows: Vec<Row>,
    known_rows: HashSet<(usize, Vec<V>)>,
    defined: Vec<Defined>,
    lookups: BTreeSet<(usize, usize)>,
    totals: Vec<Sum>,
    generation: u32,
    in_comparison: bool,
    /// No further rows: a looked-up row that is at hand already needs no second name.
    closed: bool,
    /// Aggregates and subqueries met, for the search for equal ones.
    pub(crate) opaque: Vec<V>,
    /// Arithmetic expressions over sums met.
    pub(crate) sums: Vec<V>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(cx: &'a Cx<'a>) -> Self {
        Self {
            cx,
            declarations: String::new(),
            declared: HashSet::new(),
            assertions: Vec::new(),
            cells: HashMap::new(),
            formulas: HashMap::new(),
            shapes: HashMap::new(),
            texts: BTreeMap::new(),
            rows: Vec::new(),
            known_rows: HashSet::new(),
            defined: Vec::new(),
            lookups: BTreeSet::new(),
            totals: Vec::new(),
            generation: 0,
            in_comparison: false,
            closed: false,
            opaque: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Brings an opened variable into scope: its row is in its relation.
    pub(crate) fn open(&mut self, var: Var, rel: &Rel) {
        let row = self.cx.row(var, rel);
        match rel {
            Rel::Table(table) => self.add_row(*table, &"true".into(), &row),
            Rel::Distinct(nf) => {
                let member = self
                    .witness(&nf.terms, &|_, term| make::and(term.out.iter().zip(&row).map(|(a, b)| make::same(a, b))));
                self.assert(&member);
            }
        }
    }

    /// Asserts a formula.
    pub(crate) fn fact(&mut self, f: &F) {
        let s = self.formula(f);
        self.assert(&s);
    }

    fn assert(&mut self, s: &str) {
        if s != "true" {
            self.assertions.push(s.to_owned());
        }
    }

    /// The script, after all definitions have been instantiated.
    pub(crate) fn finish(&mut self) -> String {
        self.instantiate();
        self.key_facts();
        self.text_facts();
        let mut script = String::from("(set-logic ALL)\n");
        script.push_str(&self.declarations);
        for assertion in &self.assertions {
            let _ = writeln!(script, "(assert {assertion})");
        }
        script
    }

    fn declare(&mut self, name: &str, params: &str, sort: Sort) {
        if self.declared.insert(name.to_owned()) {
            let _ = writeln!(self.declarations, "(declare-fun {name} ({params}) {})", sort.name());
        }
    }

    /// A name for a long term, so that scripts do not grow exponentially.
    fn share(&mut self, s: String, sort: Sort) -> S {
        if s.len() < 60 {
            return s.into();
        }
        let name = format!("d{}", self.declared.len());
        self.declared.insert(name.clone());
        let _ = writeln!(self.declarations, "(define-fun {name} () {} {s})", sort.name());
        name.into()
    }

    fn join(&mut self, op: &str, parts: Vec<S>) -> S {
        let (unit, zero) = if op == "and" { ("true", "false") } else { ("false", "true") };
        if parts.iter().any(|p| &**p == zero) {
            return zero.into();
        }
        let parts: Vec<S> = parts.into_iter().filter(|p| &**p != unit).collect();
        match parts.len() {
            0 => unit.into(),
            1 => parts[0].clone(),
            _ => self.share(format!("({op} {})", parts.join(" ")), Sort::Bool),
        }
    }

    fn not(s: &S) -> S {
        match &**s {
            "true" => "false".into(),
            "false" => "true".into(),
            _ => format!("(not {s})").into(),
        }
    }

    fn imply(&mut self, a: &S, b: &S) {
        if &**a == "false" || &**b == "true" {
            return;
        }
        let text = if &**a == "true" { b.to_string() } else { format!("(=> {a} {b})") };
        self.assertions.push(text);
    }

    /// The text of a value in a wider sort.
    fn coerce(cell: &Cell, sort: Sort) -> S {
        match (cell.sort, sort) {
            (a, b) if a == b => cell.value.clone(),
            (Sort::Int, Sort::Real) => format!("(to_real {})", cell.value).into(),
            (Sort::Bool, Sort::Int) => format!("(ite {} 1 0)", cell.value).into(),
            (Sort::Bool, Sort::Real) => format!("(ite {} 1.0 0.0)", cell.value).into(),
            (_, Sort::Bool) => panic!("a number where a truth value is expected"),
            // Cut off, a number would be another one. Better no answer than a wrong one.
            (Sort::Real, Sort::Int) => panic!("a number that need not be whole where a whole one is expected"),
            _ => cell.value.clone(),
        }
    }

    fn wider(a: Sort, b: Sort) -> Sort {
        match (a, b) {
            (Sort::Bool, Sort::Bool) => Sort::Bool,
            (Sort::Real, _) | (_, Sort::Real) => Sort::Real,
            _ => Sort::Int,
        }
    }

    pub(crate) fn formula(&mut self, f: &F) -> S {
        if let Some(s) = self.formulas.get(f) {
            return s.clone();
        }
        self.cx.spend();
        let s = self.formula_new(f);
        self.formulas.insert(f.clone(), s.clone());
        s
    }

    fn formula_new(&mut self, f: &F) -> S {
        match &**f {
            Formula::True => "true".into(),
            Formula::False => "false".into(),
            Formula::And(parts) => {
                let parts = parts.iter().map(|p| self.formula(p)).collect();
                self.join("and", parts)
            }
            Formula::Or(parts) => {
                let parts = parts.iter().map(|p| self.formula(p)).collect();
                self.join("or", parts)
            }
            Formula::Not(inner) => {
                let inner = self.formula(inner);
                Self::not(&inner)
            }
            Formula::Null(v) => self.null(v),
            Formula::Truth(v) => {
                let cell = self.val(v);
                let (value, not_null) = (Self::coerce(&cell, Sort::Bool), Self::not(&cell.null));
                self.join("and", vec![not_null, value])
            }
            Formula::Cmp(op, a, b) => {
                let before = std::mem::replace(&mut self.in_comparison, true);
                let (a, b) = (self.val(a), self.val(b));
                self.in_comparison = before;
                let sort = Self::wider(a.sort, b.sort);
                let (av, bv) = (Self::coerce(&a, sort), Self::coerce(&b, sort));
                let (na, nb) = (Self::not(&a.null), Self::not(&b.null));
                let holds: S = match op {
                    Cmp::Eq => format!("(= {av} {bv})"),
                    Cmp::Ne => format!("(not (= {av} {bv}))"),
                    Cmp::Lt => format!("(< {av} {bv})"),
                    Cmp::Le => format!("(<= {av} {bv})"),
                }
                .into();
                self.join("and", vec![na, nb, holds])
            }
            Formula::Same(a, b) => {
                let (a, b) = (self.val(a), self.val(b));
                let sort = Self::wider(a.sort, b.sort);
                let (av, bv) = (Self::coerce(&a, sort), Self::coerce(&b, sort));
                let both = self.join("and", vec![a.null.clone(), b.null.clone()]);
                let (na, nb) = (Self::not(&a.null), Self::not(&b.null));
                let equal = self.join("and", vec![na, nb, format!("(= {av} {bv})").into()]);
                self.join("or", vec![both, equal])
            }
            Formula::Exists(term) => {
                let s = self.abstracted("exists", std::slice::from_ref(&**term), &Type::Boolean, Sort::Bool);
                self.formulas.insert(f.clone(), s.clone());
                self.define(Kind::Exists(s.clone()), std::slice::from_ref(&**term));
                s
            }
            Formula::Has { table, key, at } => {
                self.lookups.insert((*table, *key));
                let cells: Vec<Cell> = at.iter().map(|a| self.val(a)).collect();
                let known = self.apply(&format!("has{table}_{key}"), &cells, Sort::Bool);
                let mut parts = vec![known];
                for cell in &cells {
                    parts.push(Self::not(&cell.null));
                }
                let s = self.join("and", parts);
                self.formulas.insert(f.clone(), s.clone());
                let row = simplify::lookup_row(self.cx, *table, *key, at);
                self.add_row(*table, &s, &row);
                s
            }
        }
    }

    /// Different text literals are different values; dates in ISO form are in order.
    fn text_facts(&mut self) {
        let texts: Vec<((String, Type), S)> = self.texts.iter().map(|(k, s)| (k.clone(), s.clone())).collect();
        for (i, ((a, ty), name)) in texts.iter().enumerate() {
            for ((b, other), next) in &texts[i + 1..] {
                if ty != other {
                    continue;
                }
                let (x, y) = (Value::Text(a.clone()), Value::Text(b.clone()));
                if make::literals_differ(&x, &y, ty) {
                    // The map is sorted by bytes, which is the order of time for ISO dates.
                    let fact = if *ty == Type::Text {
                        format!("(not (= {name} {next}))")
                    } else {
                        format!("(< {name} {next})")
                    };
                    self.assertions.push(fact);
                }
            }
        }
    }
}

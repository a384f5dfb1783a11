//! Formulas as SMT-LIB, without quantifiers.
//!
//! A nullable value is a pair of a Boolean (it is NULL) and a value that means nothing where it is NULL. Sums, extremes
//! and EXISTS are uninterpreted functions of what their bodies refer to outside, tied down by instances of their
//! definitions: a true EXISTS has a witness (new constants), and rows at hand that satisfy the body make it true.
//! Every assertion added is a consequence of the meaning of the symbols, so "unsatisfiable" can be relied on, while
//! "satisfiable" means little.

mod instances;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::canon;
use crate::ir::{Type, Value};
use crate::normal::term::{Cmp, F, Formula, Op, Rel, Term, V, Val, Var};
use crate::normal::{Cx, make, simplify, subst};

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

    fn literal(&mut self, value: &Value, ty: &Type) -> Cell {
        let sort = Sort::of(ty);
        let null: S = "false".into();
        let text: S = match value {
            Value::Null => return Cell { null: "true".into(), value: sort.default().into(), sort },
            Value::Bool(b) => b.to_string().into(),
            Value::Text(text) => {
                let next = self.texts.len();
                let name: S =
                    self.texts.entry((text.clone(), ty.clone())).or_insert_with(|| format!("s{next}").into()).clone();
                self.declare(&name, "", Sort::Real);
                name
            }
            Value::Double(d) => {
                let rational = BigRational::from_float(*d).unwrap_or_else(BigRational::zero);
                rational_text(&rational, Sort::Real).into()
            }
            _ => {
                let number = value.to_rational().unwrap_or_else(BigRational::zero);
                let sort = if number.is_integer() { sort } else { Sort::Real };
                return Cell { null, value: rational_text(&number, sort).into(), sort };
            }
        };
        Cell { null, value: text, sort }
    }

    fn val(&mut self, v: &V) -> Cell {
        if let Some(cell) = self.cells.get(v) {
            return cell.clone();
        }
        let cell = self.val_new(v);
        self.cells.insert(v.clone(), cell.clone());
        cell
    }

    fn val_new(&mut self, v: &V) -> Cell {
        let ty = v.ty();
        let sort = Sort::of(&ty);
        match &**v {
            Val::Lit(value, ty) => self.literal(value, ty),
            Val::Null(_) => Cell { null: "true".into(), value: sort.default().into(), sort },
            Val::Col(col) => {
                let name = format!("c{}_{}", col.var, col.index);
                self.declare(&name, "", sort);
                let null: S = if col.not_null {
                    "false".into()
                } else {
                    let flag = format!("n{}_{}", col.var, col.index);
                    self.declare(&flag, "", Sort::Bool);
                    flag.into()
                };
                Cell { null, value: name.into(), sort }
            }
            Val::Case(c, a, b) => {
                let (c, a, b) = (self.formula(c), self.val(a), self.val(b));
                let sort = Self::wider(a.sort, b.sort);
                let null = if a.null == b.null {
                    a.null.clone()
                } else {
                    self.share(format!("(ite {c} {} {})", a.null, b.null), Sort::Bool)
                };
                let (av, bv) = (Self::coerce(&a, sort), Self::coerce(&b, sort));
                let value = if av == bv { av } else { self.share(format!("(ite {c} {av} {bv})"), sort) };
                Cell { null, value, sort }
            }
            Val::Bool(t, f) => {
                let (t, f) = (self.formula(t), self.formula(f));
                let (not_t, not_f) = (Self::not(&t), Self::not(&f));
                Cell { null: self.join("and", vec![not_t, not_f]), value: t, sort: Sort::Bool }
            }
            Val::Arith(_, a, b, _) => {
                if has_total(v) && !self.sums.contains(v) {
                    self.sums.push(v.clone());
                }
                let (na, nb) = (self.null(a), self.null(b));
                let null = self.join("or", vec![na, nb]);
                self.polynomial(v, null, sort)
            }
            Val::Call { name, args, strict, .. } => {
                let cells: Vec<Cell> = args.iter().map(|a| self.val(a)).collect();
                let plain = name.split_once('(').map_or(&name[..], |(plain, _)| plain);
                let exact = *strict && EXACTLY_STRICT.contains(&plain);
                let given = self.join("or", cells.iter().map(|c| c.null.clone()).collect());
                let symbol = self.symbol(&format!("call {name} {ty}"));
                let value = self.apply(&format!("f{symbol}"), &cells, sort);
                let null = match (*strict, exact) {
                    (true, true) => given,
                    (strict, _) => {
                        let own = self.apply(&format!("fn{symbol}"), &cells, Sort::Bool);
                        if strict { self.join("or", vec![given, own]) } else { own }
                    }
                };
                Cell { null, value, sort }
            }
            Val::Lookup { table, key, at, column, .. } => {
                self.lookups.insert((*table, *key));
                let cells: Vec<Cell> = at.iter().map(|a| self.val(a)).collect();
                let name = format!("look{table}_{key}_{column}");
                let value = self.apply(&name, &cells, sort);
                let null = self.apply(&format!("{name}n"), &cells, Sort::Bool);
                Cell { null, value, sort }
            }
            Val::Total(term, _) => {
                if !self.sums.contains(v) {
                    self.sums.push(v.clone());
                }
                let value = self.abstracted("total", std::slice::from_ref(&**term), &ty, sort);
                self.totals.push(Sum { value: v.clone(), compared: self.in_comparison, some: None });
                Cell { null: "false".into(), value, sort }
            }
            Val::Extreme(max, nf, _) => {
                self.opaque.push(v.clone());
                let head = if *max { "max" } else { "min" };
                let cell = self.abstracted_nullable(head, &nf.terms, &ty, sort);
                self.cells.insert(v.clone(), cell.clone());
                self.define(Kind::Extreme(*max, v.clone()), &nf.terms);
                cell
            }
            Val::OfBag(name, nf, _) => {
                self.opaque.push(v.clone());
                self.abstracted_nullable(&format!("bag {name}"), &nf.terms, &ty, sort)
            }
            Val::Scalar(nf, _) => {
                self.opaque.push(v.clone());
                let cell = self.abstracted_nullable("scalar", &nf.terms, &ty, sort);
                self.cells.insert(v.clone(), cell.clone());
                let some = format!("some{}", self.declared.len());
                self.declare(&some, "", Sort::Bool);
                self.define(Kind::Scalar(v.clone(), some.into()), &nf.terms);
                cell
            }
        }
    }

    fn null(&mut self, v: &V) -> S {
        self.val(v).null
    }

    fn symbol(&mut self, key: &str) -> usize {
        let next = self.shapes.len();
        *self.shapes.entry(key.to_owned()).or_insert(next)
    }

    /// An uninterpreted function of nullable arguments. The value of a NULL is made the same everywhere, so that two
    /// NULLs are the same argument.
    fn apply(&mut self, name: &str, args: &[Cell], sort: Sort) -> S {
        let mut params = Vec::new();
        let mut actual = Vec::new();
        for arg in args {
            params.push("Bool");
            // Integer arguments are passed as reals: 1 and 1.0 are the same argument.
            let sort = if arg.sort == Sort::Bool { Sort::Bool } else { Sort::Real };
            params.push(sort.name());
            actual.push(arg.null.clone());
            let value = Self::coerce(arg, sort);
            actual.push(match &*arg.null {
                "false" => value,
                "true" => sort.default().into(),
                null => format!("(ite {null} {} {value})", sort.default()).into(),
            });
        }
        // The argument sorts are part of the name.
        let suffix: String = params.iter().map(|p| &p[..1]).collect();
        let name = format!("{name}_{suffix}_{}", &sort.name()[..1]);
        self.declare(&name, &params.join(" "), sort);
        if actual.is_empty() { name.into() } else { self.share(format!("({name} {})", actual.join(" ")), sort) }
    }

    fn abstracted(&mut self, head: &str, terms: &[Term], ty: &Type, sort: Sort) -> S {
        let shape = canon::shape(terms);
        let symbol = self.symbol(&format!("{head} {ty} {}", shape.text));
        let args: Vec<Cell> = shape.params.iter().map(|p| self.val(p)).collect();
        self.apply(&format!("a{symbol}"), &args, sort)
    }

    fn abstracted_nullable(&mut self, head: &str, terms: &[Term], ty: &Type, sort: Sort) -> Cell {
        let value = self.abstracted(head, terms, ty, sort);
        let null = self.abstracted(&format!("{head} null"), terms, ty, Sort::Bool);
        Cell { null, value, sort }
    }

    /// An arithmetic expression, products expanded, so that sums of products compare.
    fn polynomial(&mut self, v: &V, null: S, sort: Sort) -> Cell {
        let Some(polynomial) = expand(v) else {
            self.cx.cap("monomials of one product");
            let cell = Cell { null: "false".into(), value: "0".into(), sort: Sort::Int };
            // Without an expansion the expression is a value of its own.
            let symbol = self.symbol(&format!("large {v:?}"));
            let value = self.apply(&format!("f{symbol}"), &[cell], sort);
            return Cell { null, value, sort };
        };
        let cells: HashMap<V, Cell> = polynomial.keys().flatten().map(|atom| (atom.clone(), self.val(atom))).collect();
        let whole = polynomial.values().all(BigRational::is_integer);
        let sort = cells.values().fold(if whole { sort } else { Sort::Real }, |sort, c| Self::wider(sort, c.sort));
        let mut summands = Vec::new();
        for (atoms, coefficient) in polynomial {
            let number = rational_text(&coefficient, sort);
            let mut product: Option<S> = None;
            for atom in &atoms {
                let value = Self::coerce(&cells[atom], sort);
                product = Some(match product {
                    None => value,
                    Some(before) => {
                        let name = format!("mul{}", sort.name());
                        self.declare(&name, &format!("{0} {0}", sort.name()), sort);
                        self.share(format!("({name} {before} {value})"), sort)
                    }
                });
            }
            summands.push(match product {
                None => number,
                Some(p) if coefficient.is_one() => p.to_string(),
                Some(p) => format!("(* {number} {p})"),
            });
        }
        let value = match summands.len() {
            0 => sort.default().into(),
            1 => self.share(summands.remove(0), sort),
            _ => self.share(format!("(+ {})", summands.join(" ")), sort),
        };
        Cell { null, value, sort }
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

/// Strict functions that are never NULL on arguments that are not.
const EXACTLY_STRICT: &[&str] = &[
    "char_length",
    "character_length",
    "concat_op",
    "ilike",
    "length",
    "like",
    "lower",
    "ltrim",
    "replace",
    "rtrim",
    "trim",
    "upper",
];

/// Whether a sum occurs in an arithmetic expression.
pub(crate) fn has_total(v: &V) -> bool {
    match &**v {
        Val::Total(..) => true,
        Val::Arith(_, a, b, _) => has_total(a) || has_total(b),
        _ => false,
    }
}

/// An arithmetic expression as a sum of products of values that are not arithmetic, where none is NULL.
pub(crate) fn expand(v: &V) -> Option<BTreeMap<Vec<V>, BigRational>> {
    let sum = match &**v {
        Val::Lit(value, _) if value.to_rational().is_some() => BTreeMap::from([(Vec::new(), value.to_rational()?)]),
        Val::Arith(op, a, b, _) => {
            let (mut a, b) = (expand(a)?, expand(b)?);
            match op {
                Op::Add | Op::Sub => {
                    for (atoms, c) in b {
                        let c = if *op == Op::Sub { -c } else { c };
                        *a.entry(atoms).or_insert_with(BigRational::zero) += c;
                    }
                    a
                }
                Op::Mul => {
                    let mut product: BTreeMap<Vec<V>, BigRational> = BTreeMap::new();
                    for (x, c) in &a {
                        for (y, d) in &b {
                            let mut atoms = [x.clone(), y.clone()].concat();
                            atoms.sort();
                            *product.entry(atoms).or_insert_with(BigRational::zero) += c * d;
                        }
                    }
                    product
                }
            }
        }
        _ => BTreeMap::from([(vec![v.clone()], BigRational::one())]),
    };
    let sum: BTreeMap<_, _> = sum.into_iter().filter(|(_, c)| !c.is_zero()).collect();
    (sum.len() <= MONOMIALS_MAX).then_some(sum)
}

fn rational_text(number: &BigRational, sort: Sort) -> String {
    let whole = |n: &BigInt| {
        let digits = if sort == Sort::Int { n.abs().to_string() } else { format!("{}.0", n.abs()) };
        if n.is_negative() { format!("(- {digits})") } else { digits }
    };
    if number.is_integer() {
        whole(number.numer())
    } else {
        format!("(/ {} {}.0)", whole(number.numer()), number.denom())
    }
}

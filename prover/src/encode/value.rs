//! Values as pairs of SMT terms.

use std::collections::{BTreeMap, HashMap};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::{Cell, Encoder, Kind, MONOMIALS_MAX, Op, S, Sort, Sum, Term, Type, V, Val, Value, canon, subst};

impl Encoder<'_> {
    pub(super) fn literal(&mut self, value: &Value, ty: &Type) -> Cell {
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

    pub(super) fn val(&mut self, v: &V) -> Cell {
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
            Val::Call { name, args, ty, strict } => self.call(name, args, ty, *strict),
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

    /// An uninterpreted function, what is known of NULLs, and of sums and products from the other side.
    fn call(&mut self, name: &str, args: &[V], ty: &Type, strict: bool) -> Cell {
        let sort = Sort::of(ty);
        let cells: Vec<Cell> = args.iter().map(|a| self.val(a)).collect();
        let symbol = self.symbol(&format!("call {name} {ty}"));
        let (head, null_head) = (format!("f{symbol}"), format!("fn{symbol}"));
        let value = self.apply(&head, &cells, sort);
        if subst::is_commutative(name) {
            let other: Vec<Cell> = cells.iter().rev().cloned().collect();
            for (head, sort) in [(&head, sort), (&null_head, Sort::Bool)] {
                let (one, other) = (self.apply(head, &cells, sort), self.apply(head, &other, sort));
                self.assert(&format!("(= {one} {other})"));
            }
        }
        let given = self.join("or", cells.iter().map(|c| c.null.clone()).collect());
        let plain = name.split_once('(').map_or(name, |(plain, _)| plain);
        let null = if strict && EXACTLY_STRICT.contains(&plain) {
            given
        } else {
            let own = self.apply(&null_head, &cells, Sort::Bool);
            if strict { self.join("or", vec![given, own]) } else { own }
        };
        Cell { null, value, sort }
    }

    pub(super) fn null(&mut self, v: &V) -> S {
        self.val(v).null
    }

    pub(super) fn symbol(&mut self, key: &str) -> usize {
        let next = self.shapes.len();
        *self.shapes.entry(key.to_owned()).or_insert(next)
    }

    /// An uninterpreted function of nullable arguments. The value of a NULL is made the same everywhere, so that two
    /// NULLs are the same argument.
    pub(super) fn apply(&mut self, name: &str, args: &[Cell], sort: Sort) -> S {
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

    pub(super) fn abstracted(&mut self, head: &str, terms: &[Term], ty: &Type, sort: Sort) -> S {
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

//! A name for the shape of a sum: the same text for the same body up to the names of its variables, with everything
//! that does not depend on them abstracted to parameters.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::make;
use super::subst::FreeVars;
use super::term::{Cmp, F, Formula, Nf, Rel, Term, V, Val, Var};

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

/// Values of one class of equal ones for which all equalities are written out.
const CLASS_MAX: usize = 8;

/// Adds the equalities that follow from others, so that it does not matter which ones a query writes.
fn close_equalities(phi: &mut Vec<F>) {
    let mut classes: Vec<Vec<V>> = Vec::new();
    for f in phi.iter() {
        let Formula::Cmp(Cmp::Eq, a, b) = &**f else { continue };
        let of = |v: &V| classes.iter().position(|class| class.contains(v));
        match (of(a), of(b)) {
            (None, None) => classes.push(vec![a.clone(), b.clone()]),
            (Some(i), None) => classes[i].push(b.clone()),
            (None, Some(j)) => classes[j].push(a.clone()),
            (Some(i), Some(j)) if i != j => {
                let other = classes.swap_remove(i.max(j));
                classes[i.min(j)].extend(other);
            }
            _ => {}
        }
    }
    for class in classes.iter().filter(|class| (3..=CLASS_MAX).contains(&class.len())) {
        for (i, a) in class.iter().enumerate() {
            for b in &class[i + 1..] {
                let equal = make::cmp(Cmp::Eq, a, b);
                if !phi.contains(&equal) {
                    phi.push(equal);
                }
            }
        }
    }
}

#[derive(Default)]
struct Canon {
    text: String,
    params: Vec<V>,
    names: HashMap<Var, String>,
    /// Names given so far. Terms of one sum may bind the same variable, so there can be more of them than variables.
    named: usize,
    bound: BTreeSet<Var>,
    free: FreeVars,
    /// Parameters without their numbers, terms as they stand.
    rough: bool,
}

fn label(rel: &Rel) -> String {
    match rel {
        Rel::Table(table) => format!("t{table}"),
        Rel::Distinct(_) => "distinct".to_owned(),
    }
}

impl Canon {
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.text.write_fmt(text);
    }

    fn term(&mut self, term: &Term) {
        if self.rough {
            self.term_as_it_stands(term);
        } else {
            let term = self.ordered(term);
            self.term_as_it_stands(&term);
        }
    }

    fn term_as_it_stands(&mut self, term: &Term) {
        self.text.push_str("(sum");
        let first = self.named;
        self.named += term.vars.len();
        // All before any relation: one that depends on a variable may stand before it.
        for (i, (var, _)) in term.vars.iter().enumerate() {
            self.names.insert(*var, format!("x{}", first + i));
            let new = self.bound.insert(*var);
            // The inner one would capture what is said of the outer one. Better no answer than a wrong one.
            assert!(new || self.rough, "a variable is bound inside a term that binds it");
        }
        for (i, (_, rel)) in term.vars.iter().enumerate() {
            self.put(format_args!(" x{}:", first + i));
            match rel {
                Rel::Table(table) => self.put(format_args!("t{table}")),
                Rel::Distinct(nf) => self.nf("distinct", nf),
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

    /// The term with its variables and conjuncts in an order that depends on their shapes rather than their names.
    fn ordered(&mut self, term: &Term) -> Term {
        let mut term = term.clone();
        close_equalities(&mut term.phi);
        if term.vars.len() > 1 {
            let mut marked: Vec<(String, (Var, Rel))> = term
                .vars
                .iter()
                .map(|own| {
                    let mut names = self.names.clone();
                    for (var, rel) in &term.vars {
                        let name = if *var == own.0 { "#".to_owned() } else { label(rel) };
                        names.insert(*var, name);
                    }
                    let of_own: Vec<&F> = term.phi.iter().filter(|f| self.free.formula(f).contains(&own.0)).collect();
                    let mut marks: Vec<String> =
                        of_own.into_iter().map(|f| self.rough(&term, &names, |c| c.formula(f))).collect();
                    marks.sort();
                    let outs: Vec<&V> = term.out.iter().filter(|v| self.free.val(v).contains(&own.0)).collect();
                    for v in outs {
                        marks.push(self.rough(&term, &names, |c| c.val(v)));
                    }
                    (format!("{} {}", label(&own.1), marks.join(";")), own.clone())
                })
                .collect();
            // Lateral relations refer to variables before them, whose order must stay.
            if !term.vars.iter().any(|(_, rel)| matches!(rel, Rel::Distinct(_))) {
                marked.sort_by(|a, b| a.0.cmp(&b.0));
            }
            term.vars = marked.into_iter().map(|(_, var)| var).collect();
        }
        if term.phi.len() > 1 {
            let mut names = self.names.clone();
            for (i, (var, _)) in term.vars.iter().enumerate() {
                names.insert(*var, format!("x{}", self.named + i));
            }
            let mut phi: Vec<(String, F)> =
                term.phi.iter().map(|f| (self.rough(&term, &names, |c| c.formula(f)), f.clone())).collect();
            phi.sort_by(|a, b| a.0.cmp(&b.0));
            term.phi = phi.into_iter().map(|(_, f)| f).collect();
        }
        term
    }

    /// What a part of the term looks like, whatever the parameters are.
    fn rough(&self, term: &Term, names: &HashMap<Var, String>, print: impl FnOnce(&mut Self)) -> String {
        let mut canon = Self {
            names: names.clone(),
            named: self.named + term.vars.len(),
            bound: self.bound.clone(),
            rough: true,
            ..Self::default()
        };
        canon.bound.extend(term.vars.iter().map(|(v, _)| *v));
        print(&mut canon);
        canon.text
    }

    /// The parts of a conjunction or disjunction, in an order that depends on their shapes.
    fn parts(&mut self, head: &str, parts: &[F]) {
        self.put(format_args!("({head}"));
        if self.rough {
            parts.iter().for_each(|p| self.formula(p));
        } else {
            let nothing = Term::row(Vec::new());
            let mut keyed: Vec<(String, &F)> =
                parts.iter().map(|p| (self.rough(&nothing, &self.names, |c| c.formula(p)), p)).collect();
            keyed.sort_by(|a, b| a.0.cmp(&b.0));
            keyed.into_iter().for_each(|(_, p)| self.formula(p));
        }
        self.text.push(')');
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

    /// A relation that has no left and right: first the side whose shape comes first.
    fn unordered(&mut self, head: std::fmt::Arguments<'_>, a: &V, b: &V) {
        let nothing = Term::row(Vec::new());
        let [first, second] = [a, b].map(|v| self.rough(&nothing, &self.names, |c| c.val(v)));
        let sides = if second < first { [b, a] } else { [a, b] };
        self.list(head, &sides.map(Clone::clone));
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
            if self.rough {
                self.text.push_str(" ?");
                return;
            }
            let index = self.params.iter().position(|p| p == v).unwrap_or_else(|| {
                self.params.push(v.clone());
                self.params.len() - 1
            });
            self.put(format_args!(" ?{index}"));
            return;
        }
        match &**v {
            Val::Col(col) => match self.names.get(&col.var).cloned() {
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
            // The average of whole numbers is not that of doubles.
            Val::OfBag(name, nf, ty) => self.nf(&format!("{name} {ty}"), nf),
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
                self.parts("and", parts);
            }
            Formula::Or(parts) => {
                self.parts("or", parts);
            }
            Formula::Not(inner) => {
                self.text.push_str("(not");
                self.formula(inner);
                self.text.push(')');
            }
            Formula::Null(v) => self.list(format_args!("null"), std::slice::from_ref(v)),
            Formula::Truth(v) => self.list(format_args!("truth"), std::slice::from_ref(v)),
            Formula::Cmp(op @ (Cmp::Eq | Cmp::Ne), a, b) => self.unordered(format_args!("{op:?}"), a, b),
            Formula::Cmp(op, a, b) => self.list(format_args!("{op:?}"), &[a.clone(), b.clone()]),
            Formula::Same(a, b) => self.unordered(format_args!("same"), a, b),
            Formula::Exists(term) => {
                self.text.push_str("(exists");
                self.term(term);
                self.text.push(')');
            }
            Formula::Has { table, key, at } => self.list(format_args!("has t{table} k{key}"), at),
        }
    }
}

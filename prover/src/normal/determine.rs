//! Which rows are fixed once some values are known: functional dependencies of a term.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Cx;
use super::subst::FreeVars;
use super::term::{Cmp, F, Formula, Rel, Term, V, Val, Var};

/// Whether, in a context where other variables are fixed, no two assignments that satisfy φ agree on `known`.
/// Then the term yields each row of `known` at most once per unit of weight.
pub(crate) fn determines(cx: &Cx<'_>, term: &Term, known: &[V]) -> bool {
    Closure::new(cx, term, known).all_vars()
}

/// Whether, in a context where other variables are fixed, no two assignments that satisfy φ agree on `known` and yield
/// different rows.
pub(crate) fn determines_row(cx: &Cx<'_>, term: &Term, known: &[V]) -> bool {
    let mut closure = Closure::new(cx, term, known);
    term.out.iter().all(|v| closure.knows(v))
}

struct Closure<'a> {
    cx: &'a Cx<'a>,
    term: &'a Term,
    bound: BTreeSet<Var>,
    free: FreeVars,
    vars: BTreeSet<Var>,
    columns: HashSet<(Var, usize)>,
    vals: HashSet<V>,
}

impl<'a> Closure<'a> {
    fn new(cx: &'a Cx<'a>, term: &'a Term, known: &[V]) -> Self {
        let mut closure = Self {
            cx,
            term,
            bound: term.vars.iter().map(|(v, _)| *v).collect(),
            free: FreeVars::default(),
            vars: BTreeSet::new(),
            columns: HashSet::new(),
            vals: HashSet::new(),
        };
        for v in known {
            closure.learn(v);
        }
        closure.run();
        closure
    }

    fn all_vars(&self) -> bool {
        self.bound.iter().all(|v| self.vars.contains(v))
    }

    fn learn(&mut self, v: &V) -> bool {
        match &**v {
            Val::Col(col) => self.columns.insert((col.var, col.index)),
            _ => self.vals.insert(v.clone()),
        }
    }

    /// Whether the value is fixed by what is known.
    fn knows(&mut self, v: &V) -> bool {
        if self.vals.contains(v) {
            return true;
        }
        match &**v {
            Val::Col(col) if self.bound.contains(&col.var) => {
                self.vars.contains(&col.var) || self.columns.contains(&(col.var, col.index))
            }
            Val::Arith(_, a, b, _) => {
                let (a, b) = (a.clone(), b.clone());
                self.knows(&a) && self.knows(&b)
            }
            Val::Call { args, .. } | Val::Lookup { at: args, .. } => args.clone().iter().all(|a| self.knows(a)),
            _ => {
                let free = self.free.val(v);
                free.iter().all(|var| !self.bound.contains(var) || self.vars.contains(var))
            }
        }
    }

    fn run(&mut self) {
        loop {
            let mut changed = false;
            for f in &self.term.phi {
                let (Formula::Cmp(Cmp::Eq, a, b) | Formula::Same(a, b)) = &**f else { continue };
                match (self.knows(a), self.knows(b)) {
                    (true, false) => changed |= self.learn(b),
                    (false, true) => changed |= self.learn(a),
                    _ => {}
                }
            }
            for (var, rel) in &self.term.vars {
                if !self.vars.contains(var) && self.fixed(*var, rel) {
                    self.vars.insert(*var);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn fixed(&self, var: Var, rel: &Rel) -> bool {
        match rel {
            Rel::Table(table) => {
                let table = &self.cx.schema.tables[*table];
                table.keys.iter().any(|key| {
                    key.columns.iter().all(|c| {
                        self.columns.contains(&(var, *c))
                            && (table.columns[*c].not_null || shown_not_null(&self.term.phi, var, *c))
                    })
                })
            }
            Rel::Distinct(_) => (0..self.cx.row(var, rel).len()).all(|c| self.columns.contains(&(var, c))),
        }
    }
}

/// Whether a conjunct can only hold where the column is not NULL.
fn shown_not_null(phi: &[F], var: Var, index: usize) -> bool {
    let is_column = |v: &V| matches!(&**v, Val::Col(col) if col.var == var && col.index == index);
    phi.iter().any(|f| match &**f {
        Formula::Cmp(_, a, b) => is_column(a) || is_column(b),
        Formula::Not(inner) => matches!(&**inner, Formula::Null(v) if is_column(v)),
        Formula::Has { at, .. } => at.iter().any(is_column),
        _ => false,
    })
}

/// For each column of `var`, a value equal to it by a conjunct and free of `var`; `None` where there is none.
/// With `null_safe`, equality may be that of NULLs too. Returns the conjuncts used as well.
pub(crate) fn equal_to(term: &Term, free: &mut FreeVars, var: Var, null_safe: bool) -> HashMap<usize, (V, F)> {
    let mut found: HashMap<usize, (V, F)> = HashMap::new();
    for f in &term.phi {
        let (a, b) = match &**f {
            Formula::Cmp(Cmp::Eq, a, b) => (a, b),
            Formula::Same(a, b) if null_safe => (a, b),
            _ => continue,
        };
        for (column, other) in [(a, b), (b, a)] {
            if let Val::Col(col) = &**column
                && col.var == var
                && !free.val(other).contains(&var)
            {
                // Constants and outer values before other variables' columns: the simplest form wins on both sides.
                let better = found.get(&col.index).is_none_or(|(v, _)| rank(other) < rank(v));
                if better {
                    found.insert(col.index, (other.clone(), f.clone()));
                }
            }
        }
    }
    found
}

fn rank(v: &V) -> u8 {
    match **v {
        Val::Lit(..) | Val::Null(_) => 0,
        Val::Col(_) => 1,
        _ => 2,
    }
}

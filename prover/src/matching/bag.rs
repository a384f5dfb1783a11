//! Equality of bags: terms against terms.

use std::collections::{BTreeMap, HashMap};

use petgraph::algo::isomorphism::subgraph_isomorphisms_iter;
use petgraph::graph::{NodeIndex, UnGraph};

use super::{Context, Prover};
use crate::ir::Type;
use crate::normal::determine::determines;
use crate::normal::simplify::{Mode, simplify};
use crate::normal::subst::{FreeVars, instantiate, open};
use crate::normal::term::{F, Nf, Op, Rel, Term, V, Val, Var};
use crate::normal::{Cx, canon, make};

/// Ways to map the rows of one term to those of another.
const BIJECTIONS_MAX: usize = 24;
/// Summands of one symmetrised comparison.
const INSTANCES_MAX: usize = 72;

impl Prover<'_> {
    /// Whether two sums have the same multiplicity at every row.
    pub(super) fn equal_bag(&mut self, context: &Context, left: &Nf, right: &Nf) -> bool {
        if left == right || (canon_equal(&left.terms, &right.terms)) {
            return true;
        }
        let left = self.drop_empty(context, left);
        let right = self.drop_empty(context, right);
        if left.is_empty() && right.is_empty() {
            return true;
        }
        // The rows of grouped queries are unique, and as sets they need no mapping of DISTINCT rows.
        let grouped =
            |terms: &[Term]| terms.iter().any(|t| t.vars.iter().any(|(_, rel)| matches!(rel, Rel::Distinct(_))));
        if grouped(&left) || grouped(&right) {
            self.equal_determined(context, &left, &right)
                || self.equal_groups(context, &left, &right)
                || self.equal_extended(context, &left, &right)
        } else {
            self.equal_groups(context, &left, &right) || self.equal_determined(context, &left, &right)
        }
    }

    /// Leaves out terms whose condition cannot hold.
    fn drop_empty(&mut self, context: &Context, nf: &Nf) -> Vec<Term> {
        let terms: Vec<Term> = nf.terms.iter().flat_map(|t| simplify(self.cx, open(self.cx, t), Mode::Bag)).collect();
        terms
            .into_iter()
            .filter(|term| {
                let opened = open(self.cx, term);
                let inner = context.with(&opened.vars, &opened.phi);
                let empty = self.obvious(&inner, &make::no(), "a term without rows");
                if empty {
                    self.step("drop an empty term", self.cx.show_term(term), "0".to_owned());
                }
                !empty
            })
            .collect()
    }

    /// Terms over the same relations are compared among themselves.
    fn equal_groups(&mut self, context: &Context, left: &[Term], right: &[Term]) -> bool {
        let mut groups: BTreeMap<Vec<String>, (Vec<Term>, Vec<Term>)> = BTreeMap::new();
        for term in left {
            groups.entry(signature(self.cx, term)).or_default().0.push(term.clone());
        }
        for term in right {
            groups.entry(signature(self.cx, term)).or_default().1.push(term.clone());
        }
        // A group with one empty side would have to sum to nothing, and its terms are not empty.
        if groups.values().any(|(l, r)| l.is_empty() || r.is_empty()) {
            return false;
        }
        groups.into_values().all(|(l, r)| self.equal_group(context, &l, r))
    }

    fn equal_group(&mut self, context: &Context, left: &[Term], mut right: Vec<Term>) -> bool {
        if left.len() == 1 && right.len() == 1 {
            return self.equal_terms(context, &left[0], &right[0])
                || self.equal_symmetrised(context, left, &right)
                || self.equal_determined(context, left, &right);
        }
        if self.equal_symmetrised(context, left, &right) {
            return true;
        }
        if left.len() != right.len() {
            return false;
        }
        for term in left {
            let Some(i) = (0..right.len()).find(|i| self.equal_terms(context, term, &right[*i])) else { return false };
            right.remove(i);
        }
        true
    }

    /// Whether some mapping of rows to rows makes two terms equal.
    pub(super) fn equal_terms(&mut self, context: &Context, left: &Term, right: &Term) -> bool {
        let left = open(self.cx, left);
        for mapping in bijections(self.cx, &left, right) {
            let Some(mapped) = self.mapped(context, &left, right, &mapping) else { continue };
            if self.equal_mapped(context, &left, &mapped) {
                self.step("match terms", self.cx.show_term(&left), self.cx.show_term(right));
                return true;
            }
        }
        false
    }

    /// The right term over the left's rows; `None` if their relations cannot be shown to be the same.
    fn mapped(&mut self, context: &Context, left: &Term, right: &Term, mapping: &[usize]) -> Option<Term> {
        let rows: HashMap<Var, Vec<V>> = right
            .vars
            .iter()
            .zip(mapping)
            .map(|((var, _), i)| (*var, self.cx.row(left.vars[*i].0, &left.vars[*i].1)))
            .collect();
        for ((_, rel), i) in right.vars.iter().zip(mapping) {
            if let (Rel::Distinct(a), Rel::Distinct(b)) = (&left.vars[*i].1, rel) {
                let carrier = Term { vars: vec![(0, Rel::Distinct(b.clone()))], ..Term::row(Vec::new()) };
                let carrier = instantiate(self.cx, &carrier, &rows);
                let Rel::Distinct(b) = &carrier.vars[0].1 else { return None };
                if a != b && !self.equal_set(context, a, b) {
                    return None;
                }
            }
        }
        Some(instantiate(self.cx, right, &rows))
    }

    /// Two terms over the same rows: equivalent conditions, and where they hold the same row and weight.
    fn equal_mapped(&mut self, context: &Context, left: &Term, right: &Term) -> bool {
        let outs = make::and(
            left.out
                .iter()
                .zip(&right.out)
                .map(|(a, b)| make::same(a, b))
                .chain([make::same(&left.weight, &right.weight)]),
        );
        let under_left = context.with(&left.vars, &left.phi);
        self.valid(&under_left, &right.condition(), "the left condition implies the right")
            && self.valid(&under_left, &outs, "the rows agree")
            && self.valid(
                &context.with(&left.vars, &right.phi),
                &left.condition(),
                "the right condition implies the left",
            )
    }

    /// For every choice of rows and every output row, the sum over all ways to hand the rows to the terms agrees. This
    /// proves partitions, which no one-to-one matching does.
    fn equal_symmetrised(&mut self, context: &Context, left: &[Term], right: &[Term]) -> bool {
        let slots = open(self.cx, &left[0]).vars;
        let row: Option<Vec<V>> =
            (0..left[0].out.len()).map(|i| self.free_value(i, left.iter().chain(right))).collect();
        let Some(out) = row else { return false };
        let (Some(l), Some(r)) =
            (self.symmetrised(context, &slots, left, &out), self.symmetrised(context, &slots, right, &out))
        else {
            return false;
        };
        let inner = context.with(&slots, &[]);
        let holds = self.valid(&inner, &make::same(&l, &r), "the summed multiplicities agree for all rows");
        if holds {
            self.step("compare sums of terms", self.cx.show_terms(left), self.cx.show_terms(right));
        }
        holds
    }

    /// A new value, possibly NULL, of a type that has room for what each of the terms has in a column: a whole number
    /// would never equal 1.5, and its row would go uncounted. `None` if there is no such type.
    fn free_value<'t>(&self, index: usize, mut terms: impl Iterator<Item = &'t Term>) -> Option<V> {
        let ty = terms.try_fold(Type::Unknown, |ty, term| ty.unify(&term.out[index].ty()))?;
        let var = self.cx.fresh();
        Some(std::rc::Rc::new(Val::Col(crate::normal::term::Col { var, index, ty, not_null: false })))
    }

    fn symmetrised(&mut self, context: &Context, slots: &[(Var, Rel)], terms: &[Term], out: &[V]) -> Option<V> {
        let mut sum = make::int(0);
        let mut instances = 0;
        for term in terms {
            for mapped in self.all_mapped(context, slots, term)? {
                instances += 1;
                if instances > INSTANCES_MAX {
                    self.cx.cap("summands of a symmetrised comparison");
                    return None;
                }
                let here = make::and(
                    mapped.phi.iter().cloned().chain(mapped.out.iter().zip(out).map(|(a, b)| make::same(a, b))),
                );
                let summand = make::case(&here, mapped.weight, make::int(0));
                sum = make::arith(Op::Add, &sum, &summand, &Type::Integer);
            }
        }
        Some(sum)
    }

    /// The term over the slots' rows in every possible way; `None` if a relation cannot be shown to be a slot's.
    pub(super) fn all_mapped(&mut self, context: &Context, slots: &[(Var, Rel)], term: &Term) -> Option<Vec<Term>> {
        let carrier = Term { vars: slots.to_vec(), ..Term::row(Vec::new()) };
        let all = permutations(self.cx, &carrier, term);
        if all.len() > INSTANCES_MAX {
            self.cx.cap("summands of a symmetrised comparison");
            return None;
        }
        all.iter().map(|mapping| self.mapped(context, &carrier, term, mapping)).collect()
    }

    /// Sums that yield each row at most once are the same bag if they are the same set.
    fn equal_determined(&mut self, context: &Context, left: &[Term], right: &[Term]) -> bool {
        let once = |terms: &[Term]| terms.iter().all(|t| determines(self.cx, t, &t.out));
        if !once(left) || !once(right) {
            return false;
        }
        if !self.disjoint(context, left) || !self.disjoint(context, right) {
            return false;
        }
        let equal = self.covers(context, left, right, true) && self.covers(context, right, left, true);
        if equal {
            self.step("compare as sets of unique rows", self.cx.show_terms(left), self.cx.show_terms(right));
        }
        equal
    }

    /// Whether no two terms yield the same row.
    fn disjoint(&mut self, context: &Context, terms: &[Term]) -> bool {
        for (i, a) in terms.iter().enumerate() {
            for b in &terms[i + 1..] {
                let (a, b) = (open(self.cx, a), open(self.cx, b));
                let vars = [a.vars.clone(), b.vars.clone()].concat();
                let same: Vec<F> = a.out.iter().zip(&b.out).map(|(x, y)| make::same(x, y)).collect();
                let facts = [a.phi.clone(), b.phi.clone(), same].concat();
                if !self.valid(&context.with(&vars, &facts), &make::no(), "two terms share no row") {
                    return false;
                }
            }
        }
        true
    }

    /// Two terms whose output does not fix their DISTINCT rows: adding the rows' columns to the output on both sides,
    /// in some order, makes a stronger claim that fixes them.
    fn equal_extended(&mut self, context: &Context, left: &[Term], right: &[Term]) -> bool {
        let ([l], [r]) = (left, right) else { return false };
        let columns = |t: &Term| -> Vec<V> {
            t.vars
                .iter()
                .filter(|(_, rel)| matches!(rel, Rel::Distinct(_)))
                .flat_map(|(var, rel)| self.cx.row(*var, rel))
                .collect()
        };
        let (lc, rc) = (columns(l), columns(r));
        if lc.is_empty() || lc.len() != rc.len() {
            return false;
        }
        let mut extended = l.clone();
        extended.out.extend(lc.iter().cloned());
        if !determines(self.cx, &extended, &extended.out) {
            return false;
        }
        for order in orders(lc.len()) {
            if lc.iter().zip(&order).any(|(a, i)| a.ty() != rc[*i].ty()) {
                continue;
            }
            let mut other = r.clone();
            other.out.extend(order.iter().map(|i| rc[*i].clone()));
            if determines(self.cx, &other, &other.out)
                && self.equal_determined(context, std::slice::from_ref(&extended), &[other])
            {
                return true;
            }
        }
        false
    }
}

/// All orders of up to four things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    if n > 4 {
        return vec![(0..n).collect()];
    }
    orders(n - 1)
        .into_iter()
        .flat_map(|order| {
            (0..n).rev().map(move |i| {
                let mut order = order.clone();
                order.insert(i, n - 1);
                order
            })
        })
        .collect()
}

fn canon_equal(left: &[Term], right: &[Term]) -> bool {
    let (a, b) = (canon::shape(left), canon::shape(right));
    a.text == b.text && a.params == b.params
}

fn label(cx: &Cx<'_>, var: Var, rel: &Rel) -> String {
    match rel {
        Rel::Table(table) => format!("t{table}"),
        Rel::Distinct(_) => {
            let types: Vec<String> = cx.row(var, rel).iter().map(|v| v.ty().to_string()).collect();
            format!("distinct({})", types.join(","))
        }
    }
}

/// The relations a term sums over, sorted.
pub(super) fn signature(cx: &Cx<'_>, term: &Term) -> Vec<String> {
    let mut labels: Vec<String> = term.vars.iter().map(|(v, rel)| label(cx, *v, rel)).collect();
    labels.sort();
    labels
}

/// Mappings of `right`'s variables to positions in `left`'s, most promising first: those that keep the join graph, then
/// others.
fn bijections(cx: &Cx<'_>, left: &Term, right: &Term) -> Vec<Vec<usize>> {
    let (l, r) = (join_graph(cx, left), join_graph(cx, right));
    let mut alike = |a: &Occurrence, b: &Occurrence| a == b;
    let mut same_joins = |a: &Vec<String>, b: &Vec<String>| a == b;
    let mut found: Vec<Vec<usize>> = subgraph_isomorphisms_iter(&&r, &&l, &mut alike, &mut same_joins)
        .map(|mappings| mappings.take(BIJECTIONS_MAX).collect())
        .unwrap_or_default();
    let labels = |g: &JoinGraph| -> Vec<String> { g.node_weights().map(|o| o.label.clone()).collect() };
    let marks = |g: &JoinGraph| -> Vec<Vec<String>> { g.node_weights().map(|o| o.marks.clone()).collect() };
    let (lm, rm) = (marks(&l), marks(&r));
    let score = |r: usize, l: usize| rm[r].iter().filter(|m| lm[l].contains(m)).count();
    let mut others = Vec::new();
    search(&mut Vec::new(), &labels(&l), &labels(&r), &score, BIJECTIONS_MAX, &mut others);
    others.retain(|mapping| !found.contains(mapping));
    found.extend(others);
    if found.len() >= BIJECTIONS_MAX {
        cx.cap("mappings of rows");
        found.truncate(BIJECTIONS_MAX);
    }
    found
}

/// The relations a term sums over, and which of them its conjuncts join.
type JoinGraph = UnGraph<Occurrence, Vec<String>>;

/// One use of a relation.
#[derive(PartialEq)]
struct Occurrence {
    label: String,
    /// What the term says of this row alone, and where its columns go.
    marks: Vec<String>,
}

fn join_graph(cx: &Cx<'_>, term: &Term) -> JoinGraph {
    let mut graph = JoinGraph::new_undirected();
    let mut free = FreeVars::default();
    let bound: Vec<Var> = term.vars.iter().map(|(v, _)| *v).collect();
    let shown = |vars: &[usize], f: &F| {
        let vars = vars.iter().map(|i| term.vars[*i].clone()).collect();
        canon::shape(&[Term { vars, phi: vec![f.clone()], ..Term::row(Vec::new()) }]).text
    };
    for (var, rel) in &term.vars {
        let mut marks = Vec::new();
        for (i, v) in term.out.iter().enumerate() {
            if let Val::Col(col) = &**v
                && col.var == *var
            {
                marks.push(format!("out {i} {}", col.index));
            }
        }
        graph.add_node(Occurrence { label: label(cx, *var, rel), marks });
    }
    for f in &term.phi {
        let own = free.formula(f);
        let of: Vec<usize> = (0..bound.len()).filter(|i| own.contains(&bound[*i])).collect();
        match of[..] {
            [i] => graph[NodeIndex::new(i)].marks.push(shown(&of, f)),
            [i, j] => {
                let (i, j) = (NodeIndex::new(i), NodeIndex::new(j));
                let edge = graph.find_edge(i, j).unwrap_or_else(|| graph.add_edge(i, j, Vec::new()));
                graph[edge].push(shown(&of, f));
            }
            _ => {}
        }
    }
    graph.node_weights_mut().for_each(|occurrence| occurrence.marks.sort());
    graph.edge_weights_mut().for_each(|joins| joins.sort());
    graph
}

/// All mappings.
fn permutations(cx: &Cx<'_>, left: &Term, right: &Term) -> Vec<Vec<usize>> {
    let labels = |t: &Term| -> Vec<String> { t.vars.iter().map(|(v, rel)| label(cx, *v, rel)).collect() };
    let mut found = Vec::new();
    search(&mut Vec::new(), &labels(left), &labels(right), &|_, _| 0, INSTANCES_MAX + 1, &mut found);
    found
}

fn search(
    chosen: &mut Vec<usize>,
    left: &[String],
    right: &[String],
    score: &dyn Fn(usize, usize) -> usize,
    max: usize,
    found: &mut Vec<Vec<usize>>,
) {
    if found.len() >= max {
        return;
    }
    let r = chosen.len();
    if r == right.len() {
        found.push(chosen.clone());
        return;
    }
    let mut options: Vec<usize> = (0..left.len()).filter(|l| !chosen.contains(l) && left[*l] == right[r]).collect();
    options.sort_by_key(|l| std::cmp::Reverse(score(r, *l)));
    for l in options {
        chosen.push(l);
        search(chosen, left, right, score, max, found);
        chosen.pop();
    }
}

//! Deciding that two normal forms denote the same bag, set or sum, in the context of opened rows and known facts.
//!
//! Every claim comes down to formulas that must hold always, which the solver is asked about one at a time.
//! Aggregates and subqueries are opaque to the solver; where a claim fails, pairs of them are proven equal under the
//! same facts, recursively, and the claim is asked again.

mod bag;
mod set;
mod sums;

use std::collections::{HashMap, HashSet};

use crate::encode::Encoder;
use crate::encode::value::has_total;
use crate::evidence::{Obligation, Step};
use crate::limits::Limits;
use crate::normal::term::{F, Formula, Nf, Op, Rel, V, Val, Var, wider};
use crate::normal::{Cx, aggregate, make};
use crate::smt::{self, Answer};

/// How deep claims about aggregates inside aggregates go.
const DEPTH_MAX: u32 = 5;
/// Pairs of opaque values tried for one claim.
const PAIRS_MAX: usize = 60;
/// Sums among which splits of one into two others are looked for.
const TOTALS_MAX: usize = 6;
/// Questions for one pair of queries.
const QUESTIONS_MAX: usize = 1500;

/// What holds where a claim is made.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    /// Opened variables: rows known to be in their relations.
    pub(crate) scope: Vec<(Var, Rel)>,
    /// Facts about them.
    pub(crate) facts: Vec<F>,
}

impl Context {
    pub(crate) fn with(&self, vars: &[(Var, Rel)], facts: &[F]) -> Self {
        let mut new = self.clone();
        for var in vars {
            if !new.scope.contains(var) {
                new.scope.push(var.clone());
            }
        }
        new.facts.extend(facts.iter().filter(|f| **f != make::yes()).cloned());
        new
    }
}

/// The state of one proof.
pub(crate) struct Prover<'a> {
    pub(crate) cx: &'a Cx<'a>,
    limits: &'a Limits,
    solver: smt::Session,
    /// Solver resource units used.
    pub(crate) rlimit: u64,
    /// What the solver confirmed on the way; claims of failed attempts included.
    pub(crate) obligations: Vec<Obligation>,
    questions: usize,
    depth: u32,
    /// Pairs of values by the context in which they were compared. The rows in scope are part of it: they are known
    /// to exist.
    memo: HashMap<(Context, V, V), bool>,
    /// For each claim on the way, innermost last, the pairs that were tried for it and not shown to be the same.
    failed: Vec<HashSet<(V, V)>>,
    asked: HashMap<String, bool>,
}

impl<'a> Prover<'a> {
    pub(crate) fn new(cx: &'a Cx<'a>, limits: &'a Limits) -> Self {
        Self {
            cx,
            limits,
            solver: smt::Session::default(),
            rlimit: 0,
            obligations: Vec::new(),
            questions: 0,
            depth: 0,
            memo: HashMap::new(),
            failed: Vec::new(),
            asked: HashMap::new(),
        }
    }

    /// Whether two closed sums are the same bag.
    pub(crate) fn prove(&mut self, left: &Nf, right: &Nf) -> bool {
        self.equal_bag(&Context::default(), left, right)
    }

    /// Records a step of the proof.
    fn step(&self, rule: &str, before: String, after: String) {
        self.cx.steps.borrow_mut().push(Step { rule: rule.to_owned(), before, after });
    }

    /// Whether `goal` holds wherever the context's facts do.
    fn valid(&mut self, context: &Context, goal: &F, claim: &str) -> bool {
        if **goal == Formula::True
            || context.facts.contains(goal)
            || context.facts.iter().any(|f| **f == Formula::False)
        {
            return true;
        }
        if self.cx.exhausted() {
            return false;
        }
        self.failed.push(HashSet::new());
        let holds = self.valid_with_aggregates(context, goal, claim);
        self.failed.pop();
        holds
    }

    /// The same, with claims about the aggregates in it.
    fn valid_with_aggregates(&mut self, context: &Context, goal: &F, claim: &str) -> bool {
        let mut found: Vec<F> = Vec::new();
        let mut tried: HashSet<(V, V)> = HashSet::new();
        loop {
            let (holds, opaque, sums) = self.ask(context, &found, goal, claim);
            if holds {
                return true;
            }
            if self.depth >= DEPTH_MAX {
                self.cx.cap("depth of nested aggregates");
                return false;
            }
            // Parts of a conjunction are easier to prove one at a time.
            if let Formula::And(parts) = &**goal
                && found.is_empty()
                && !(opaque.is_empty() && sums.is_empty())
            {
                return parts.iter().all(|part| self.valid(context, part, claim));
            }
            let before = found.len();
            for (a, b) in pairs(&opaque, &sums) {
                if tried.len() >= PAIRS_MAX {
                    self.cx.cap("pairs of aggregates");
                    break;
                }
                let pair = (a.clone(), b.clone());
                // Facts bring the aggregates of surrounding claims along, and what was not shown there is not here.
                if self.failed.iter().any(|failed| failed.contains(&pair)) || !tried.insert(pair.clone()) {
                    continue;
                }
                self.failed.last_mut().map(|failed| failed.insert(pair.clone()));
                if self.same_value(context, &a, &b) {
                    found.push(make::same(&a, &b));
                    self.failed.last_mut().map(|failed| failed.remove(&pair));
                }
            }
            if found.len() == before {
                found.extend(self.splits(context, &sums, &tried));
                tried.extend(sums.iter().map(|v| (v.clone(), v.clone())));
            }
            if found.len() == before {
                return false;
            }
        }
    }

    /// Sums that are two other sums together, as all rows are those that satisfy a condition and those that do not.
    /// Looked for once in a claim, where a total has been marked as tried against itself.
    fn splits(&mut self, context: &Context, sums: &[V], tried: &HashSet<(V, V)>) -> Vec<F> {
        let totals: Vec<&V> = sums.iter().filter(|v| matches!(***v, Val::Total(..))).collect();
        if self.depth > 1
            || totals.len() > TOTALS_MAX
            || totals.iter().any(|v| tried.contains(&((*v).clone(), (*v).clone())))
        {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (i, a) in totals.iter().enumerate() {
            for (j, b) in totals.iter().enumerate() {
                for c in totals.iter().skip(j + 1) {
                    if *a == *b || *a == *c || i == j {
                        continue;
                    }
                    let parts = make::arith(Op::Add, b, c, &wider(&b.ty(), &c.ty()));
                    if self.same_value(context, a, &parts) {
                        found.push(make::same(a, &parts));
                    }
                }
            }
        }
        found
    }

    /// Whether the solver alone sees that `goal` holds.
    fn obvious(&mut self, context: &Context, goal: &F, claim: &str) -> bool {
        context.facts.iter().any(|f| **f == Formula::False) || self.ask(context, &[], goal, claim).0
    }

    /// Puts one question: are the facts and the negated goal unsatisfiable? Also returns the opaque values met.
    fn ask(&mut self, context: &Context, found: &[F], goal: &F, claim: &str) -> (bool, Vec<V>, Vec<V>) {
        let mut encoder = Encoder::new(self.cx);
        for (var, rel) in &context.scope {
            encoder.open(*var, rel);
        }
        context.facts.iter().chain(found).for_each(|f| encoder.fact(f));
        encoder.fact(&make::not(goal.clone()));
        let script = encoder.finish();
        let (opaque, sums) = (encoder.opaque, encoder.sums);
        if let Some(known) = self.asked.get(&script) {
            return (*known, opaque, sums);
        }
        if self.questions >= QUESTIONS_MAX || self.rlimit >= self.limits.rlimit_total || self.cx.exhausted() {
            self.cx.cap("solver questions");
            return (false, opaque, sums);
        }
        self.questions += 1;
        let (answer, used) = self.solver.solve(&script, self.limits.rlimit_per_query);
        self.rlimit += used;
        let holds = answer == Answer::Unsat;
        if let Answer::Unknown(_) = answer {
            self.cx.cap("solver resources for one question");
        }
        if holds {
            self.obligations.push(Obligation { claim: claim.to_owned(), smtlib: script.clone() });
        }
        self.asked.insert(script, holds);
        (holds, opaque, sums)
    }

    /// Whether two opaque values of one kind are the same wherever the facts hold.
    fn same_value(&mut self, context: &Context, a: &V, b: &V) -> bool {
        if a == b {
            return true;
        }
        let key = (context.clone(), a.clone(), b.clone());
        if let Some(known) = self.memo.get(&key) {
            return *known;
        }
        self.memo.insert(key.clone(), false);
        self.depth += 1;
        let same = match (&**a, &**b) {
            (Val::Extreme(_, x, _), Val::Extreme(_, y, _)) | (Val::Scalar(x, _), Val::Scalar(y, _)) => {
                self.equal_set(context, x, y)
            }
            (Val::OfBag(name, x, _), Val::OfBag(_, y, _)) if aggregate::is_of_set(name) => {
                self.equal_set(context, x, y)
            }
            (Val::OfBag(_, x, _), Val::OfBag(_, y, _)) => self.equal_bag(context, x, y),
            _ => self.equal_sums(context, a, b),
        };
        self.depth -= 1;
        if same {
            let [a, b] = [a, b].map(|v| self.cx.show_val(&context.scope, v));
            self.step("equal aggregates", a, b);
        }
        self.memo.insert(key, same);
        same
    }
}

/// Pairs of values that might be the same.
fn pairs(opaque: &[V], sums: &[V]) -> Vec<(V, V)> {
    let mut result = Vec::new();
    let alike = |a: &V, b: &V| match (&**a, &**b) {
        (Val::Extreme(x, ..), Val::Extreme(y, ..)) => x == y,
        // AVG of whole numbers is not that of doubles, even of equal ones.
        (Val::OfBag(x, _, t), Val::OfBag(y, _, u)) => x == y && t == u,
        (Val::Scalar(..), Val::Scalar(..)) => true,
        _ => false,
    };
    for (i, a) in opaque.iter().enumerate() {
        result.extend(opaque[i + 1..].iter().filter(|b| alike(a, b)).map(|b| (a.clone(), b.clone())));
    }
    for (i, a) in sums.iter().enumerate() {
        result.extend(sums[i + 1..].iter().filter(|b| has_total(a) && has_total(b)).map(|b| (a.clone(), b.clone())));
    }
    result
}

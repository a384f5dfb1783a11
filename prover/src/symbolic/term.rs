//! SMT-LIB terms. Every term has a name, so that none is written twice, and constants are folded.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use crate::smt::model::Sort;

/// A constant or the name of a term.
pub(super) type Term = Rc<str>;

/// How many terms a script may have.
const MAX_TERMS: usize = 60_000;

/// The script so far.
#[derive(Default)]
pub(super) struct Terms {
    text: String,
    names: HashMap<String, Term>,
    constants: Vec<(String, Sort)>,
    assertions: Vec<Term>,
}

impl Terms {
    /// The script, unless it has become too large.
    pub(super) fn script(&self) -> Option<String> {
        let mut script = self.text.clone();
        for assertion in &self.assertions {
            writeln!(script, "(assert {assertion})").ok()?;
        }
        (!self.full()).then_some(script)
    }

    /// Whether the bound is reached.
    pub(super) fn full(&self) -> bool {
        self.names.len() > MAX_TERMS
    }

    /// The declared constants.
    pub(super) fn constants(&self) -> &[(String, Sort)] {
        &self.constants
    }

    /// A new unknown.
    pub(super) fn declare(&mut self, name: String, sort: Sort) -> Term {
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "(declare-const {name} {sort:?})");
        let term = Term::from(name.as_str());
        self.constants.push((name, sort));
        term
    }

    /// A name for a term.
    pub(super) fn define(&mut self, sort: Sort, text: String) -> Term {
        if let Some(known) = self.names.get(&text) {
            return known.clone();
        }
        let name = Term::from(format!("n{}", self.names.len()));
        if !self.full() {
            let _ = writeln!(self.text, "(define-fun {name} () {sort:?} {text})");
        }
        self.names.insert(text, name.clone());
        name
    }

    /// Requires a formula.
    pub(super) fn require(&mut self, formula: Term) {
        self.assertions.push(formula);
    }

    /// TRUE or FALSE.
    pub(super) fn bool(value: bool) -> Term {
        Term::from(if value { "true" } else { "false" })
    }

    /// Conjunction.
    pub(super) fn and(&mut self, parts: &[Term]) -> Term {
        self.connective("and", parts, "true", "false")
    }

    /// Disjunction.
    pub(super) fn or(&mut self, parts: &[Term]) -> Term {
        self.connective("or", parts, "false", "true")
    }

    fn connective(&mut self, name: &str, parts: &[Term], neutral: &str, absorbing: &str) -> Term {
        let mut kept: Vec<&Term> = Vec::new();
        for part in parts {
            if &**part == absorbing {
                return Term::from(absorbing);
            }
            if &**part != neutral && !kept.contains(&part) {
                kept.push(part);
            }
        }
        match kept.as_slice() {
            [] => Term::from(neutral),
            [one] => (*one).clone(),
            many => {
                let mut text = format!("({name}");
                many.iter().for_each(|part| {
                    let _ = write!(text, " {part}");
                });
                text.push(')');
                self.define(Sort::Bool, text)
            }
        }
    }

    /// Negation.
    pub(super) fn not(&mut self, part: &Term) -> Term {
        match &**part {
            "true" => Self::bool(false),
            "false" => Self::bool(true),
            _ => self.define(Sort::Bool, format!("(not {part})")),
        }
    }

    /// Implication.
    pub(super) fn implies(&mut self, premise: &Term, conclusion: &Term) -> Term {
        let premise = self.not(premise);
        self.or(&[premise, conclusion.clone()])
    }

    /// If then else.
    pub(super) fn ite(&mut self, condition: &Term, then: &Term, otherwise: &Term, sort: Sort) -> Term {
        match &**condition {
            "true" => then.clone(),
            "false" => otherwise.clone(),
            _ if then == otherwise => then.clone(),
            _ => self.define(sort, format!("(ite {condition} {then} {otherwise})")),
        }
    }

    /// Equality of terms of one sort.
    pub(super) fn equal(&mut self, left: &Term, right: &Term) -> Term {
        if left == right { Self::bool(true) } else { self.define(Sort::Bool, format!("(= {left} {right})")) }
    }

    /// A term of an operator and two operands.
    pub(super) fn apply(&mut self, sort: Sort, operator: &str, left: &Term, right: &Term) -> Term {
        self.define(sort, format!("({operator} {left} {right})"))
    }

    /// A sum.
    pub(super) fn sum(&mut self, sort: Sort, parts: &[Term]) -> Term {
        let zero = if sort == Sort::Real { "0.0" } else { "0" };
        let kept: Vec<&Term> = parts.iter().filter(|part| &***part != zero).collect();
        match kept.as_slice() {
            [] => Term::from(zero),
            [one] => (*one).clone(),
            many => {
                let mut text = "(+".to_owned();
                many.iter().for_each(|part| {
                    let _ = write!(text, " {part}");
                });
                text.push(')');
                self.define(sort, text)
            }
        }
    }

    /// How many of the formulas hold.
    pub(super) fn count(&mut self, formulas: &[Term]) -> Term {
        let (one, zero) = (Term::from("1"), Term::from("0"));
        let parts: Vec<Term> = formulas.iter().map(|f| self.ite(f, &one, &zero, Sort::Int)).collect();
        self.sum(Sort::Int, &parts)
    }
}

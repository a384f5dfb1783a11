//! The part of a case's program that a failure is of.

use crate::interpret::Verdict;
use crate::program::{Check, Program, Step};

/// A part of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Positions of its steps, with those whose rows they need.
    pub steps: Vec<usize>,
    /// Position of the check that is violated, and of the two steps between which it is.
    pub violated: Option<(usize, (usize, usize))>,
}

impl Part {
    /// No step.
    pub fn none() -> Self {
        Self { steps: Vec::new(), violated: None }
    }

    /// The two queries of a program that has no others.
    pub(super) fn pair() -> Self {
        Self { steps: vec![0, 1], violated: Some((0, (0, 1))) }
    }

    /// The part that a verdict speaks of.
    pub fn of(program: &Program, verdict: &Verdict) -> Self {
        let (involved, violated) = match verdict {
            Verdict::Violated { check, pair } => (vec![pair.0, pair.1], Some((*check, *pair))),
            Verdict::Broken { step, .. } => (step.iter().copied().collect(), None),
            Verdict::Holds | Verdict::Void(_) => ((0..program.steps().len()).collect(), None),
        };
        Self { steps: program.with_sources(&involved), violated }
    }

    /// Positions of the steps that are to blame.
    pub fn involved(&self) -> Vec<usize> {
        match self.violated {
            Some((_, pair)) => vec![pair.0, pair.1],
            None => self.steps.last().copied().into_iter().collect(),
        }
    }

    /// The same part of the program of a smaller case, which may have fewer steps: what it does not read any more, it does not
    /// observe. A check of two steps has them wherever they are. A query that broke the engine keeps its position.
    #[must_use]
    pub fn within(&self, program: &Program) -> Self {
        let Some((check, _)) = self.violated else {
            let steps = self.steps.iter().copied().filter(|at| *at < program.steps().len());
            return Self { steps: steps.collect(), violated: None };
        };
        match program.checks().get(check).map(|check| check.steps.as_slice()) {
            Some([one, other]) => {
                Self { steps: program.with_sources(&[*one, *other]), violated: Some((check, (*one, *other))) }
            }
            Some(_) if self.steps.iter().all(|at| *at < program.steps().len()) => self.clone(),
            _ => Self::none(),
        }
    }

    /// The steps and checks of it as a program of their own; the part is one of this program.
    pub fn cut(&self, program: &Program) -> (Vec<Step>, Vec<Check>) {
        let steps = self.steps.iter().map(|at| program.steps()[*at].moved(&self.steps)).collect();
        let check = self.violated.map(|(check, pair)| {
            let of_pair = Check { steps: vec![pair.0, pair.1], ..program.checks()[check].clone() };
            of_pair.moved(&self.steps)
        });
        (steps, check.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Fold, Relation};

    /// A query, what it reads, and a step that is made of that, which the first must agree with.
    fn program(tables: usize) -> Program {
        let mut program = Program::default();
        program.add_step(0, None);
        for _ in 0..tables {
            program.add_step(0, None);
        }
        let last = program.add_step(0, None);
        for table in 0..tables {
            last.sql.push_hole(table + 1, Fold::Truth);
        }
        program.add_check(Relation::EqualBag, [0, tables + 1]);
        program
    }

    #[test]
    fn a_part_is_that_of_a_smaller_case_too_which_reads_less() {
        let whole = program(2);
        let part = Part::of(&whole, &Verdict::Violated { check: 0, pair: (0, 3) });
        assert_eq!(part.within(&whole), part);
        let smaller = program(1);
        let within = part.within(&smaller);
        assert_eq!((&within.steps, within.violated), (&vec![1, 0, 2], Some((0, (0, 2)))));
        let (steps, checks) = within.cut(&smaller);
        assert_eq!((steps.len(), checks.len()), (3, 1));
        // A query that broke the engine keeps its position; one that is not there breaks nothing.
        let broken = |steps: Vec<usize>| Part { steps, violated: None }.within(&smaller).steps;
        assert_eq!((broken(vec![0]), broken(vec![3])), (vec![0], vec![]));
        // Of a case without the check nothing is left.
        let mut none = program(1);
        none.clear_checks();
        assert_eq!(part.within(&none), Part::none());
    }
}

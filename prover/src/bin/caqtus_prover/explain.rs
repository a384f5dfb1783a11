//! A proof to be read.

use std::fmt::Write as _;

use prover::evidence::{Obligation, Step};
use prover::{Certificate, Pair};
use serde_json::Value;

use crate::display::count;
use crate::solver;

/// Columns of a terminal that a formula takes.
const WIDTH: usize = 100;

/// The whole proof.
pub(crate) fn proof(certificate: &Certificate) -> String {
    let Certificate { pair: of, prover, solver: z3, limits: _, assumptions, steps, obligations, trials } = certificate;
    let mut text = String::from("\nThe proof\n\n");
    if let Some(of) = of {
        text.push_str(&pair(of));
    }
    text.push_str("\nTaken for granted:\n");
    for assumption in assumptions {
        let _ = writeln!(text, "  {assumption}: {}", assumption.meaning());
    }
    if assumptions.is_empty() {
        text.push_str("  nothing\n");
    }
    text.push_str(&self::steps(steps));
    text.push_str(&claims(obligations));
    let _ = writeln!(text, "\nBoth queries returned the same rows on {}.", count(*trials as usize, "random database"));
    let _ = writeln!(text, "Made by caqtus-prover {prover} with Z3 {}.", solver::number(z3));
    text
}

/// The queries and their schema.
pub(crate) fn pair(pair: &Pair) -> String {
    let mut text = String::new();
    for (what, value) in [("Schema", &pair.schema), ("Left query", &pair.q1), ("Right query", &pair.q2)] {
        let value = match value {
            Value::String(sql) => sql.trim().to_owned(),
            plan => plan.to_string(),
        };
        let _ = writeln!(text, "{what}:\n  {}", value.replace('\n', "\n  "));
    }
    if !pair.placeholders.is_empty() {
        text.push_str("Placeholders:\n");
        pair.placeholders.iter().for_each(|(name, kind)| _ = writeln!(text, "  {name} = {kind}"));
    }
    if !pair.functions.is_empty() {
        text.push_str("Functions:\n");
        pair.functions.iter().for_each(|name| _ = writeln!(text, "  {name}"));
    }
    text
}

fn steps(steps: &[Step]) -> String {
    let mut text = String::from(
        "\nSteps, where `t x where C: (row) × n` is, for each row x of t for which C holds, the row n times:\n",
    );
    for (number, Step { rule, before, after }) in (1..).zip(steps) {
        let _ = writeln!(text, "{number:>3}. {rule}");
        // Which of the formulas are the same needs no second look at them.
        if before == after {
            continue;
        }
        for (mark, formula) in [(" ", before), (if before.is_empty() { " " } else { "=" }, after)] {
            let mut mark = mark;
            for line in formula.lines() {
                wrap(&mut text, mark, line);
                mark = " ";
            }
        }
    }
    text
}

/// Writes a formula in lines of a good width, where possible.
fn wrap(text: &mut String, mark: &str, formula: &str) {
    let mut line = format!("       {mark}");
    for word in formula.split(' ') {
        // Never in front of the first word, however long.
        if line.chars().count() + word.chars().count() >= WIDTH && !line.ends_with("  ") && !line.ends_with('=') {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(12);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

/// What the solver showed, each kind of claim once.
fn claims(obligations: &[Obligation]) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for Obligation { claim, .. } in obligations {
        match kinds.iter_mut().find(|(kind, _)| kind == claim) {
            Some((_, times)) => *times += 1,
            None => kinds.push((claim, 1)),
        }
    }
    if kinds.is_empty() {
        return "\nNothing had to be asked of the solver.\n".to_owned();
    }
    let mut text = format!("\nConfirmed by the solver: {}\n", count(obligations.len(), "claim"));
    for (kind, times) in kinds {
        let _ = writeln!(text, "  {times:>3} × {kind}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_shows_the_pair_steps_claims_and_assumptions() {
        let step =
            |before: &str| Step { rule: "split".to_owned(), before: before.to_owned(), after: "b\nc".to_owned() };
        let claim = || Obligation { claim: "the condition is implied".to_owned(), smtlib: String::new() };
        let pair = Pair {
            schema: "CREATE TABLE t(a INT)".into(),
            q1: "SELECT a\nFROM t".into(),
            q2: serde_json::json!({"scan": 0}),
            placeholders: [("p1".to_owned(), "Expr(t: INT)".to_owned())].into(),
            functions: ["area".to_owned()].into(),
        };
        let text = proof(&Certificate {
            pair: Some(pair),
            prover: "1".to_owned(),
            solver: "Z3 5.4".to_owned(),
            limits: prover::Limits::default(),
            assumptions: [prover::ir::Assumption::ExactArithmetic].into(),
            steps: vec![step(""), step("a"), step("b\nc")],
            obligations: vec![claim(), claim()],
            trials: 200,
        });
        for part in [
            "Left query:\n  SELECT a\n  FROM t\n",
            "Right query:\n  {\"scan\":0}\n",
            "  p1 = Expr(t: INT)\n",
            "  exact-arithmetic: ",
            "  1. split\n         b\n         c\n",
            "  2. split\n         a\n       = b\n         c\n",
            "  3. split\n\n",
            "with Z3 5.4.",
            "Confirmed by the solver: 2 claims\n    2 × the condition is implied\n",
            " on 200 random databases.\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn long_formulas_are_wrapped() {
        let formula = format!("{} {}", "x".repeat(200), "abcd ".repeat(40).trim());
        let mut text = String::new();
        wrap(&mut text, "=", &formula);
        assert!(text.starts_with("       = xxx") && text.lines().skip(1).all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().skip(1).collect::<Vec<_>>(), formula.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn a_proof_may_need_no_solver() {
        assert!(claims(&[]).contains("Nothing"));
    }
}

//! Asks a solver that knows nothing but the script.

use std::cell::{Cell, OnceCell};

use z3::{Config, Context, Params, SatResult, Solver, Tactic, with_z3_config, with_z3_context};

/// The version of the library linked, as it calls itself.
pub fn version() -> &'static str {
    z3::full_version()
}

/// What a solver says to a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The assertions contradict each other.
    Unsat,
    /// They do not.
    Sat,
    /// Why there is no answer.
    Unknown(String),
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsat => f.write_str("unsat"),
            Self::Sat => f.write_str("sat"),
            Self::Unknown(reason) => write!(f, "unknown: {reason}"),
        }
    }
}

/// Whether a script's assertions contradict each other, by a fresh Z3 that may use so many resource units.
///
/// The script may declare, define and assert, nothing else: no command could then take an assertion back, or add one
/// that the script does not show.
pub fn unsat(script: &str, rlimit: u32) -> Answer {
    match countable(script) {
        // With all that Z3 does by default, which is not what the proof was found with.
        Ok(count) => with_z3_config(&Config::new(), || answer(&Solver::new(), script, count, rlimit).0),
        Err(reason) => Answer::Unknown(reason),
    }
}

/// Bytes of a script beyond which Z3 is not asked: it spends minutes on simplifying such a script, which its resource
/// units do not count, and has hardly ever an answer in the end.
const SCRIPT_BYTES_MAX: usize = 256 << 10;

/// Solvers for the questions of one proof.
///
/// Starting Z3 takes longer than most questions, so they share its tables of symbols and expressions, but no assertion:
/// each question gets a solver of its own. The answers follow from the questions asked and their order.
#[derive(Default)]
pub struct Session {
    context: OnceCell<Context>,
}

thread_local! {
    /// Where a new context passes from the only place that makes one to the only place that wants it.
    static MADE: Cell<Option<Context>> = const { Cell::new(None) };
}

impl Session {
    fn context(&self) -> &Context {
        self.context.get_or_init(|| {
            with_z3_config(&Config::new(), || MADE.set(Some(Context::thread_local())));
            MADE.take().unwrap_or_else(Context::thread_local)
        })
    }

    /// The answer, and the resource units it took.
    pub fn solve(&self, script: &str, rlimit: u32) -> (Answer, u64) {
        match countable(script) {
            Ok(count) => with_z3_context(self.context(), || {
                // The core alone: what the default puts before it costs more than it saves on questions this small.
                answer(&Tactic::new("smt").solver(), script, count, rlimit)
            }),
            Err(reason) => (Answer::Unknown(reason), 0),
        }
    }
}

/// What a new solver says to a script with so many assertions.
fn answer(solver: &Solver, script: &str, assertions: usize, rlimit: u32) -> (Answer, u64) {
    let mut params = Params::new();
    params.set_u32("rlimit", rlimit);
    params.set_u32("random_seed", 0);
    solver.set_params(&params);
    let before = units(solver);
    solver.from_string(script);
    // A script that Z3 cannot read leaves the solver without it and says nothing.
    if solver.get_assertions().len() != assertions {
        return (Answer::Unknown("Z3 cannot read the script".to_owned()), 0);
    }
    let answer = match solver.check() {
        SatResult::Unsat => Answer::Unsat,
        SatResult::Sat => Answer::Sat,
        SatResult::Unknown => Answer::Unknown(solver.get_reason_unknown().unwrap_or_default()),
    };
    (answer, units(solver).saturating_sub(before))
}

/// The resource units used so far in the solver's context.
fn units(solver: &Solver) -> u64 {
    match solver.get_statistics().value("rlimit count") {
        Some(z3::StatisticsValue::UInt(n)) => u64::from(n),
        _ => 0,
    }
}

/// How many assertions a script has, unless it is too long or has what it may not have.
fn countable(script: &str) -> Result<usize, String> {
    if script.len() > SCRIPT_BYTES_MAX { Err("the script is too long".to_owned()) } else { assertions(script) }
}

/// Commands that a script may have.
const COMMANDS: [&str; 10] = [
    "assert",
    "declare-const",
    "declare-datatype",
    "declare-datatypes",
    "declare-fun",
    "declare-sort",
    "define-fun",
    "define-sort",
    "set-info",
    "set-logic",
];

/// How many assertions a script has, if it has only the commands above.
fn assertions(script: &str) -> Result<usize, String> {
    let mut count = 0;
    let mut depth = 0_usize;
    let mut at = 0;
    let bytes = script.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        // Everything that starts or ends something in SMT-LIB is ASCII, so bytes will do.
        match byte {
            0 => return Err("a NUL in the script".to_owned()),
            b';' => at = past(bytes, at, b'\n').unwrap_or(bytes.len()),
            // A quote within a string is written twice, which reads as two strings here: all the same.
            b'"' | b'|' => at = past(bytes, at, byte).ok_or("an open string or name in the script")?,
            b'(' if depth == 0 => {
                let word = script[at..].trim_start().split(|c: char| c.is_whitespace() || "()|\";".contains(c)).next();
                let word = word.unwrap_or_default();
                if !COMMANDS.contains(&word) {
                    return Err(format!("a command that a script may not have: `{word}`"));
                }
                count += usize::from(word == "assert");
                depth = 1;
            }
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1).ok_or("a parenthesis too many in the script")?,
            byte if depth == 0 && !byte.is_ascii_whitespace() => return Err("text between commands".to_owned()),
            _ => {}
        }
    }
    if depth == 0 { Ok(count) } else { Err("a parenthesis missing in the script".to_owned()) }
}

/// The position after the next such byte.
fn past(bytes: &[u8], from: usize, byte: u8) -> Option<usize> {
    bytes[from..].iter().position(|b| *b == byte).map(|n| from + n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RLIMIT: u32 = 1_000_000;

    #[test]
    fn the_three_answers() {
        assert_eq!(unsat("(declare-const x Int)(assert (> x 1))(assert (< x 1))", RLIMIT), Answer::Unsat);
        assert_eq!(unsat("(declare-const x Int)(assert (> x 1))", RLIMIT), Answer::Sat);
        assert_eq!(unsat("", RLIMIT), Answer::Sat);
        let hard = "(set-logic ALL)(declare-fun f (Int) Int)
            (assert (forall ((x Int)) (= (f (+ x 1)) (* (f x) (f x)))))(assert (distinct (f 0) (f 100) 0))";
        assert!(matches!(unsat(hard, 10_000), Answer::Unknown(_)));
    }

    #[test]
    fn the_forms_of_obligations() {
        let script = "(set-info :status unsat) ; (assert true)
            (set-logic ALL)(declare-sort Text 0)(declare-fun f (Text) Real)(declare-const |a (b| Text)
            (declare-const s String)(assert (= s \"(check-sat) \"\" ;\"))
            (define-fun g ((x Int)) Real (ite (> x 0) (to_real x) 0.0))
            (assert (let ((y (f |a (b|))) (and (> y (g 3)) (< y 3.0))))";
        assert_eq!(unsat(script, RLIMIT), Answer::Unsat);
        // Assertions are counted, also those that say nothing or say it twice.
        assert_eq!(unsat("(assert true)(assert true)(assert (and true (not false)))", RLIMIT), Answer::Sat);
    }

    #[test]
    fn what_is_too_long_is_not_asked() {
        let script = |padding: usize| format!("(assert false);{}", "x".repeat(padding));
        assert_eq!(unsat(&script(1000), RLIMIT), Answer::Unsat);
        assert!(matches!(unsat(&script(SCRIPT_BYTES_MAX), RLIMIT), Answer::Unknown(_)));
    }

    #[test]
    fn what_is_no_plain_script_confirms_nothing() {
        for script in [
            "(assert false",
            "(assert false))",
            "(assert false)(reset)",
            "(push 1)(assert false)",
            "(assert false) x",
            "(declare-const x Int)(assert false)(assert (> y 1))",
            "(assert false)\0",
            "(assert \"",
            "(set-option :rlimit 1)(assert false)",
            "( (assert false))",
        ] {
            assert!(matches!(unsat(script, RLIMIT), Answer::Unknown(_)), "{script}");
        }
    }
}

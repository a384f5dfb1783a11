//! Asks a solver that knows nothing but the script.

use z3::{Config, Params, SatResult, Solver, with_z3_config};

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
    solve(script, rlimit).0
}

/// Bytes of a script beyond which Z3 is not asked: it spends minutes on simplifying such a script, which its resource
/// units do not count, and has hardly ever an answer in the end.
const SCRIPT_BYTES_MAX: usize = 256 << 10;

/// The answer, and the resource units it took.
pub fn solve(script: &str, rlimit: u32) -> (Answer, u64) {
    if script.len() > SCRIPT_BYTES_MAX {
        return (Answer::Unknown("the script is too long".to_owned()), 0);
    }
    let assertions = match assertions(script) {
        Ok(count) => count,
        Err(reason) => return (Answer::Unknown(reason), 0),
    };
    with_z3_config(&Config::new(), || {
        let solver = Solver::new();
        let mut params = Params::new();
        params.set_u32("rlimit", rlimit);
        params.set_u32("random_seed", 0);
        solver.set_params(&params);
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
        let used = match solver.get_statistics().value("rlimit count") {
            Some(z3::StatisticsValue::UInt(n)) => u64::from(n),
            _ => 0,
        };
        (answer, used)
    })
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

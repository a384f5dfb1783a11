//! Which Z3 is linked, and whether it will do.

use std::sync::LazyLock;

/// The oldest Z3 whose answers and limits can be relied on; 4.8.12, for one, hangs when it reaches a limit.
const OLDEST: [u32; 3] = [4, 13, 3];

/// The version of the program and of the solver in it, for `--version`.
pub(crate) fn program_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| format!("{} (Z3 {})", env!("CARGO_PKG_VERSION"), version()));
    &VERSION
}

/// The version of the solver, as in `5.4.0`.
pub(crate) fn version() -> &'static str {
    number(prover::smt::version())
}

/// Fails with a message for the user when the solver is too old.
pub(crate) fn usable() -> Result<(), String> {
    judge(prover::smt::version())
}

/// The number in `Z3 5.4.0.0 build hashcode ...`.
pub(crate) fn number(full: &str) -> &str {
    full.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(full)
}

fn judge(full: &str) -> Result<(), String> {
    let parts: Vec<u32> = number(full).split('.').map_while(|part| part.parse().ok()).collect();
    if parts.len() >= 2 && parts.as_slice() >= OLDEST.as_slice() {
        return Ok(());
    }
    let [major, minor, patch] = OLDEST;
    Err(format!(
        "the Z3 found at run time is version {}; {major}.{minor}.{patch} or newer is needed. Run `make z3` and build \
         again, or let LD_LIBRARY_PATH name the directory of a newer libz3",
        number(full)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_solvers_are_refused() {
        for good in ["Z3 5.4.0.0", "Z3 4.13.3", "Z3 4.13.3.0 build hashcode 1", "Z3 4.14.0", "Z3 4.20"] {
            assert_eq!(judge(good), Ok(()), "{good}");
        }
        for bad in ["Z3 4.13.2.9", "Z3 4.8.12.0", "Z3 3.99.99", "Z3", "", "Z3 five"] {
            assert!(judge(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_linked_solver_will_do() {
        assert_eq!(usable(), Ok(()));
        assert!(program_version().contains(version()));
    }
}

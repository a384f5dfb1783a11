//! Running test cases against a target.
//!
//! The [`supervisor`] starts one child process per core, hands out blocks of cases and gathers reports. The
//! [`executor`] is the loop inside a child: generate, run, compare, in one thread with no message per query. Before
//! every statement it notes in its [`recorder`] what runs, so that after a crash or a kill the supervisor knows the case.
//! A case is a function of the seed, the block and its number in the block, so it can be made again by anybody; what is
//! found must come again ([`replay`]) in a process of its own, as [`scripts`] with answers do. [`block`] numbers databases.

mod answers;
pub mod block;
pub mod breakage;
pub mod cache;
pub mod campaign;
pub mod error;
mod examine;
pub mod executor;
pub mod gone;
pub mod guarantees;
pub mod learned;
pub mod lines;
mod outage;
pub mod plan;
mod postmortem;
pub mod probe;
pub mod process;
pub mod protocol;
pub mod prover;
mod raw;
pub mod recorder;
pub mod replay;
mod restart;
mod run;
pub mod scripts;
pub mod session;
pub mod stats;
pub mod supervisor;
pub mod uses;
mod watch;

use std::io;

/// What to add to a message about a file: a full disk is nothing that the engine did.
pub fn if_full(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": the disk is full; make room, or name another place with --out or --data-dir"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write as _;

    #[test]
    fn a_full_disk_is_called_so() {
        let mut full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let error = full.write_all(b"x").expect_err("is full");
        assert!(if_full(&error).contains("the disk is full"), "{error}");
        assert_eq!(if_full(&io::Error::other("something else")), "");
    }
}

//! Running test cases against a target.
//!
//! The [`supervisor`] starts one child process per core, hands out blocks of cases and gathers reports. The
//! [`executor`] is the loop inside a child: generate, run, compare, in one thread with no message per query. Before
//! every statement it notes in its [`recorder`] what runs, so that after a crash or a kill the supervisor knows the case.
//! A case is a function of the seed, the block and its number in the block, so it can be made again by anybody; what is
//! found must come [`again`] in a process of its own. [`block`] numbers databases.

mod again;
pub mod block;
pub mod cache;
pub mod campaign;
pub mod executor;
pub mod guarantees;
pub mod learned;
pub mod process;
pub mod protocol;
pub mod recorder;
pub mod session;
pub mod stats;
pub mod supervisor;

//! Caqtus finds logic bugs in database systems: queries that silently return wrong results.
//!
//! `ARCHITECTURE.md` is the map. Lower modules never know upper ones:
//!
//! ```text
//! cli
//!  └─ hunt, triage
//!       └─ dbms                                        the outside world, behind a trait
//!            └─ oracle, generate, caq, corpus, compare, sql     pure
//! ```

pub mod caq;
pub mod catalogue;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod config;
pub mod corpus;
pub mod dbms;
pub mod generate;
pub mod hunt;
pub mod oracle;
pub mod rng;
pub mod sql;
pub mod triage;

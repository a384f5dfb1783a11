//! Caqtus finds logic bugs in database systems: queries that silently return wrong results.
//!
//! `ARCHITECTURE.md` is the map. Lower modules never know upper ones, nor those beside them; `tests/layers.rs` keeps it so:
//!
//! ```text
//! cli
//!  └─ api
//!       └─ app
//!            └─ discover
//!                 └─ hunt, store
//!                      └─ triage
//!                           └─ interpret, corpus
//!                                └─ dbms, oracle
//!                                     └─ catalogue, generate, plan, program, llm, server
//!                                          └─ caq, compare
//!                                               └─ sql, config, clock, rng
//! ```

pub mod api;
pub mod app;
pub mod caq;
pub mod catalogue;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod config;
pub mod corpus;
pub mod dbms;
pub mod digest;
pub mod discover;
pub mod generate;
pub mod hunt;
pub mod interpret;
pub mod llm;
pub mod oracle;
pub mod plan;
pub mod program;
pub mod rng;
pub mod server;
pub mod sql;
pub mod store;
pub mod triage;

//! SQL as data: types and values, schemas, dialect profiles, snippets, text that is printed once and read back.
//!
//! Everything here is pure. Nothing in this module knows a database driver, a clock or a file.

pub mod cuts;
pub mod error;
pub mod from;
pub mod lex;
pub mod operator;
pub mod partial;
pub mod print;
pub mod profile;
pub mod schema;
pub mod snippet;
mod substitutes;
pub mod table_snippet;
pub mod tree;
pub mod types;

//! Constrained abstract queries and oracle classes.
//!
//! A CAQ is a SELECT over a schema in which some columns and tables are placeholders (Argus paper, section 4). A class
//! is a schema, a placeholder map and two or more CAQs that return the same bag of rows for every admissible filling.
//!
//! [`class`] reads classes from their TOML form, [`bind`] resolves every name of a member, expands `*` and computes
//! what each placeholder must satisfy ([`names`]), [`template`] is the compiled member with slots, and [`fill`] puts fillings into
//! slots: snippets, tables, and generated expressions ([`node`]). [`proof`] says which members are proven equivalent, [`functions`] what they call, [`simpler`] makes members smaller. Binding and printing happen once per class; a case costs string appends only.
//!
//! Invariant: a template is printed from a tree, checked by reading it back, and has its expression slots inside
//! parentheses and its table slots at a table's place. A filling is closed ([`crate::sql::lex`]), so a filled query is
//! the tree of the template with the filling's tree at the slots.

pub mod bind;
pub mod class;
mod collation;
pub mod functions;
pub mod instantiation;
pub mod names;
pub mod node;
pub mod proof;
pub mod query;
pub mod simpler;
pub mod simpler_table;
pub mod template;

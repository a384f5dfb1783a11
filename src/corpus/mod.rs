//! The corpus: SQL snippets that are put into placeholders.
//!
//! Snippets come from a model ([`prompt`] says what it is asked) or are made from the engine's own catalogue ([`synthesis`]).
//! [`combine`] makes some of two others. [`features`] is what there is to test in an engine, and what a snippet uses of it. [`validate`] checks each claim about a
//! snippet on the engine that is installed, and [`worker`] does so in a process of its own. Nothing is trusted because of who
//! wrote it.

pub mod combine;
pub mod features;
pub mod prompt;
pub mod synthesis;
pub mod validate;
pub mod worker;

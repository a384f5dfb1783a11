//! The corpus: SQL snippets that are put into placeholders.
//!
//! [`snippet`] is the form of a snippet and [`validate`] checks each claim about it on the engine that is installed.
//! Nothing is trusted because of who wrote it.

pub mod snippet;
pub mod validate;

//! The corpus: SQL snippets that are put into placeholders.
//!
//! [`validate`] checks each claim about a snippet ([`crate::sql::snippet`]) on the engine that is installed. Nothing is
//! trusted because of who wrote it.

pub mod validate;

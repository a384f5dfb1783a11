//! Discovery of oracle classes (Argus paper, section 5): seeds, candidates, proofs.
//!
//! [`run`] is Algorithm 1: for each seed it asks a [`proposer`] (a model, or the rewrite [`rules`]) for equivalents, has
//! the [`pool`] of provers decide them and the target try them ([`trial`]), and keeps what is proven. [`search`] is the
//! bookkeeping, [`prompt`] what a model is told, [`crosscheck`] the last test before a class is released, [`batch`] the
//! exchange of prompts and answers through files.
//!
//! Invariant: a candidate is text until the prover's verdict on it is read in [`run`]; only from there it comes into a
//! class. Invariant: a step is in the store before the next one begins, so that a discovery goes on where it stopped,
//! and what it does is decided by its settings and the answers, not by when it was stopped.

pub mod batch;
pub mod crosscheck;
pub mod pool;
pub mod prompt;
pub mod proposer;
pub mod rules;
pub mod run;
pub mod search;
pub mod settings;
pub mod summary;
pub mod trial;

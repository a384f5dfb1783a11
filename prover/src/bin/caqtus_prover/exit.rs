//! What the program's exit status says.

/// Every pair is proven, every obligation confirmed, every row right.
pub(crate) const GOOD: u8 = 0;
/// A pair is refuted, an obligation not confirmed, a row wrong.
pub(crate) const BAD: u8 = 1;
/// A pair is unknown and none refuted.
pub(crate) const OPEN: u8 = 2;
/// The command could not run.
pub(crate) const COULD_NOT_RUN: u8 = 3;
/// Stopped by Ctrl-C, as a shell reports it.
pub(crate) const INTERRUPTED: u8 = 130;

//! The only place of the program that reads a clock; the library reads none.

use std::time::Instant;

/// A monotonic instant.
#[expect(clippy::disallowed_methods, reason = "this is the module that time comes from")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since then, to the microsecond.
pub(crate) fn ms_since(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

//! The only place that reads clocks, so that everything else can be repeated.

#![allow(clippy::disallowed_methods)]

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A monotonic instant.
pub fn now() -> Instant {
    Instant::now()
}

/// CPU time of this process so far, user and system, all threads.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Nanoseconds since 1970; the default seed when a user gives none.
pub fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

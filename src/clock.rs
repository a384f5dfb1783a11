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

/// Today's date, UTC, as in 2026-01-31.
pub fn today() -> String {
    date(SystemTime::now())
}

/// The date of a moment, UTC, as in 2026-01-31.
pub fn date(at: SystemTime) -> String {
    let days = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    let (mut year, mut left) = (1970, days);
    let length = |year: u64| {
        if year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400) { 366 } else { 365 }
    };
    while left >= length(year) {
        left -= length(year);
        year += 1;
    }
    let february = length(year) - 337;
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (789, "1972-02-29"),
            (790, "1972-03-01"),
            (11_016, "2000-02-29"),
            (20_818, "2026-12-31"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(days * 86_400 + 86_399)), expected);
        }
    }
}

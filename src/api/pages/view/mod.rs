//! What templates draw: values made of the store's rows and nothing else, each file with tests of its own.

pub(super) mod chart;
pub(super) mod evidence;
pub(super) mod finding;
pub(super) mod plan;
pub(super) mod proof;
pub(super) mod span;
pub(super) mod sql;
pub(super) mod verdict;
pub(super) mod witness;

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202F}');
        }
        out.push(digit);
    }
    out
}

/// A time of the store (RFC 3339, UTC) as people read it.
pub(super) fn moment(text: &str) -> String {
    match text.split_once('T') {
        Some((day, time)) => format!("{day} {} UTC", time.get(..5).unwrap_or(time)),
        None => text.to_owned(),
    }
}

/// Seconds in the largest units that say enough.
pub(super) fn duration(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is at least 0, and saturates")]
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_for_people() {
        assert_eq!([grouped(0), grouped(999), grouped(1_234_567)], ["0", "999", "1\u{202F}234\u{202F}567"]);
        assert_eq!(moment("2026-11-23T02:31:04.123Z"), "2026-11-23 02:31 UTC");
        assert_eq!([duration(0.4), duration(61.0), duration(7_260.0)], ["0 s", "1 min 1 s", "2 h 1 min"]);
    }
}

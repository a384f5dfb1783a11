//! Frames of window functions.

/// A frame of rows or peers. Both bounds are inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// ROWS instead of RANGE.
    pub rows: bool,
    /// The first row.
    pub start: Bound,
    /// The last row.
    pub end: Bound,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// That of the partition.
    Unbounded,
    /// So many rows before the present one, or so much less than it has with RANGE.
    Preceding(i64),
    /// The present row, or its peers with RANGE.
    Current,
    /// So many rows after the present one, or so much more.
    Following(i64),
}

impl Frame {
    /// Reads one in lower case: `rows between 1 preceding and current row`, `range unbounded preceding`.
    pub fn parse(text: &str) -> Option<Self> {
        let (unit, rest) = text.trim().split_once(' ')?;
        let rows = match unit {
            "rows" => true,
            "range" => false,
            _ => return None,
        };
        let (start, end) = match rest.trim().strip_prefix("between ") {
            Some(bounds) => bounds.split_once(" and ")?,
            None => (rest, "current row"),
        };
        Some(Self { rows, start: bound(start.trim(), true)?, end: bound(end.trim(), false)? })
    }
}

fn bound(text: &str, start: bool) -> Option<Bound> {
    let distance = |n: &str| n.trim().parse().ok().filter(|n: &i64| (0..=1_000_000).contains(n));
    match text {
        "current row" => Some(Bound::Current),
        "unbounded preceding" => start.then_some(Bound::Unbounded),
        "unbounded following" => (!start).then_some(Bound::Unbounded),
        _ => match text.rsplit_once(' ')? {
            (n, "preceding") => Some(Bound::Preceding(distance(n)?)),
            (n, "following") => Some(Bound::Following(distance(n)?)),
            _ => None,
        },
    }
}

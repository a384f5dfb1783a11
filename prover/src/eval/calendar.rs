//! Dates that move by days and months, where the large engines agree.

use crate::civil;
use crate::ir::{Expr, Type, Value};

use super::is_date;

/// How far a date moves: first the months, then the days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    months: i64,
    days: i64,
}

/// What a function that moves a date counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Days { back: bool },
    Months,
}

/// The distance and the moved expression of a call that moves a date or timestamp by a constant interval. An interval by
/// itself has no meaning here: engines differ on whether a month is 30 days when they compare two.
pub(super) fn shift<'e>(name: &str, args: &'e [Expr]) -> Option<(Shift, &'e Expr)> {
    let [first, second] = args else { return None };
    let (moved, by, back, is_operator) = match name {
        "date_add_op" => (first, second, false, true),
        "add_date_op" => (second, first, false, true),
        "date_sub_op" => (first, second, true, true),
        "date_add" | "adddate" => (first, second, false, false),
        "date_sub" | "subdate" => (first, second, true, false),
        _ => return None,
    };
    // The functions make a date of a timestamp in some engines.
    let fits = match moved.ty() {
        Type::Date => true,
        Type::Timestamp => is_operator,
        _ => false,
    };
    let Shift { months, days } = interval(by).filter(|_| fits)?;
    Some((if back { Shift { months: -months, days: -days } } else { Shift { months, days } }, moved))
}

/// `interval '3' month`, `interval 3 month` and `interval '3 months'`. After a quoted number alone, a unit that is not
/// the standard's, such as `week`, is a name to PostgreSQL, and the number counts seconds.
fn interval(expr: &Expr) -> Option<Shift> {
    let Expr::Call { name, args, .. } = expr else { return None };
    let text = |arg: &'_ Expr| if let Expr::Literal(Value::Text(t), _) = arg { Some(t.to_lowercase()) } else { None };
    let texts = args.iter().map(text).collect::<Option<Vec<_>>>().filter(|_| name == "interval")?;
    let (amount, unit) = match texts.as_slice() {
        [amount, unit] => (amount.as_str(), unit.as_str()),
        [both] => both.trim().split_once(' ')?,
        _ => return None,
    };
    let amount: i64 = amount.trim().parse().ok().filter(|n: &i64| n.abs() <= MOST)?;
    let unit = unit.trim();
    Some(match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => Shift { months: 0, days: amount },
        "week" if texts.len() == 1 => Shift { months: 0, days: 7 * amount },
        "month" => Shift { months: amount, days: 0 },
        "year" => Shift { months: 12 * amount, days: 0 },
        _ => return None,
    })
}

/// More leads out of the years that engines share.
const MOST: i64 = 4_000_000;

impl Shift {
    /// The moved date or timestamp. A day that the month does not have becomes its last.
    pub(super) fn apply(self, text: &str) -> Option<String> {
        let (date, time) = text.split_at_checked(10)?;
        if !is_date(date) || !(time.is_empty() || time.starts_with(' ')) {
            return None;
        }
        let (months, day) = split(date)?;
        let first = first_day(months + self.months)?;
        let length = first_day(months + self.months + 1)? - first;
        let moved = civil::date(first + day.min(length) - 1 + self.days);
        is_date(&moved).then(|| format!("{moved}{time}"))
    }
}

impl Unit {
    /// What a function with a date and a count counts.
    pub(super) fn of_function(name: &str) -> Option<Self> {
        Some(match name {
            "date_add" | "adddate" => Self::Days { back: false },
            "date_sub" | "subdate" => Self::Days { back: true },
            "add_months" => Self::Months,
            _ => return None,
        })
    }

    pub(super) fn moved(self, date: &str, count: i64) -> Option<String> {
        if date.len() != 10 || count.abs() > MOST {
            return None;
        }
        let shift = match self {
            Self::Days { back } => Shift { months: 0, days: if back { -count } else { count } },
            Self::Months => Shift { months: count, days: 0 },
        };
        let moved = shift.apply(date)?;
        // Some engines keep the last day of a month the last one.
        let is_open = self == Self::Months && is_last_day(date)? && !is_last_day(&moved)?;
        (!is_open).then_some(moved)
    }
}

/// The months since the beginning of year 0 and the day of the month.
fn split(date: &str) -> Option<(i64, i64)> {
    let part = |range: std::ops::Range<usize>| date.get(range)?.parse::<i64>().ok();
    Some((part(0..4)? * 12 + part(5..7)? - 1, part(8..10)?))
}

fn first_day(months: i64) -> Option<i64> {
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    // The year after the last one is needed to know how long its December is.
    (1..=10_000).contains(&year).then(|| civil::days(&format!("{year:04}-{month:02}-01"))).flatten()
}

fn is_last_day(date: &str) -> Option<bool> {
    let (months, day) = split(date)?;
    Some(first_day(months + 1)? - first_day(months)? == day)
}

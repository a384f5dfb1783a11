//! Numbers for texts, dates and times, in the order of their bytes.
//!
//! Every literal of the queries has a fixed number with a gap before and after it; the numbers in between stand for
//! fresh texts that sort there.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;
use num_traits::ToPrimitive;

use crate::ir::Type;

/// The distance between the numbers of two neighbouring literals.
const GAP: i64 = 100;

/// The literals of each type.
#[derive(Default)]
pub(super) struct Codes {
    literals: BTreeMap<Type, BTreeSet<String>>,
}

/// Whether values of the type are written as texts.
fn is_textual(ty: &Type) -> bool {
    !matches!(ty, Type::Boolean | Type::Integer | Type::Decimal | Type::Double | Type::Unknown)
}

impl Codes {
    /// Notes a literal.
    pub(super) fn add(&mut self, ty: &Type, text: &str) {
        self.literals.entry(ty.clone()).or_default().insert(text.to_owned());
    }

    fn of(&self, ty: &Type) -> Vec<&str> {
        self.literals.get(ty).into_iter().flatten().map(String::as_str).collect()
    }

    /// The number of a literal.
    pub(super) fn code(&self, ty: &Type, text: &str) -> Option<i64> {
        let position = self.of(ty).iter().position(|literal| *literal == text)?;
        Some((i64::try_from(position).ok()? + 1) * GAP)
    }

    /// The end of the range of numbers, which begins after 0; `None` for types that are not written as texts.
    pub(super) fn end(&self, ty: &Type) -> Option<i64> {
        let count = i64::try_from(self.of(ty).len()).ok()?;
        is_textual(ty).then_some((count + 1) * GAP)
    }

    /// The text that a number stands for.
    pub(super) fn text(&self, ty: &Type, code: &BigRational) -> Option<String> {
        let code = code.to_integer().to_i64()?;
        let literals = self.of(ty);
        let below = usize::try_from(code / GAP).ok()?;
        let offset = code % GAP;
        let before = below.checked_sub(1).and_then(|index| literals.get(index)).copied();
        if offset == 0 {
            return before.map(str::to_owned);
        }
        let after = literals.get(below).copied();
        let found = candidates(ty, before.unwrap_or_default(), offset)
            .into_iter()
            .find(|text| before.is_none_or(|b| b < text.as_str()) && after.is_none_or(|a| text.as_str() < a));
        // Without a text that fits, one that does not is as good: the evaluator decides.
        Some(found.unwrap_or_else(|| format!("{}\u{1}{offset:02}", before.unwrap_or_default())))
    }
}

/// Texts that sort closely after another one, the preferred first, ordered among themselves by the offset.
fn candidates(ty: &Type, before: &str, offset: i64) -> Vec<String> {
    let (month, day) = (1 + offset / 28, 1 + offset % 28);
    match ty {
        Type::Date | Type::Timestamp => {
            let time = if *ty == Type::Date { "" } else { " 00:00:00" };
            let year: i64 = before.get(..4).and_then(|year| year.parse().ok()).unwrap_or(2000);
            // The year after the literal, its own year, and one before all others.
            [year + 1, year, 1000].iter().map(|year| format!("{year:04}-{month:02}-{day:02}{time}")).collect()
        }
        Type::Time => {
            let hour: i64 = before.get(..2).and_then(|hour| hour.parse().ok()).unwrap_or(0);
            [hour + 1, hour]
                .iter()
                .map(|hour| format!("{hour:02}:{:02}:{:02}", 10 + offset / 60, offset % 60))
                .collect()
        }
        _ => vec![format!("{before}{offset:02}"), format!("{before} {offset:02}"), format!("{before}!{offset:02}")],
    }
}

//! Numbers for texts, dates and times, in the order of their bytes.
//!
//! Every literal of the queries has a fixed number with a gap before and after it; the numbers in between stand for
//! fresh texts that sort there.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;
use num_traits::ToPrimitive;

use crate::civil;
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

    /// The ranges of numbers, ends excluded, that stand for nothing: there is no day between two days.
    pub(super) fn holes(&self, ty: &Type) -> Vec<(i64, i64)> {
        if *ty != Type::Date {
            return Vec::new();
        }
        let days: Vec<Option<i64>> = self.of(ty).into_iter().map(civil::days).collect();
        let mut holes = Vec::new();
        let mut start = GAP;
        for pair in days.windows(2) {
            let between = pair[0].zip(pair[1]).map_or(0, |(a, b)| b - a - 1);
            holes.push((start + between.min(GAP - 1), start + GAP));
            start += GAP;
        }
        holes
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
        let fits = |text: &String| before.is_none_or(|b| b < text.as_str()) && after.is_none_or(|a| text.as_str() < a);
        candidates(ty, before, after, offset).into_iter().find(fits)
    }
}

/// Texts that sort between two others, the preferred first, ordered among themselves by the offset.
fn candidates(ty: &Type, before: Option<&str>, after: Option<&str>, offset: i64) -> Vec<String> {
    match ty {
        Type::Date => {
            let day = match (before.and_then(civil::days), after.and_then(civil::days)) {
                (Some(before), _) => before + offset,
                (None, Some(after)) => after - GAP + offset,
                (None, None) => 10_957 + offset,
            };
            vec![civil::date(day)]
        }
        Type::Timestamp => {
            let day = before.and_then(|text| civil::days(text.get(..10)?)).unwrap_or(10_956);
            let early = after.and_then(|text| civil::days(text.get(..10)?)).unwrap_or(10_956) - GAP;
            [day, early].iter().map(|day| format!("{} 00:00:00", civil::date(day + offset))).collect()
        }
        Type::Time => {
            let hour: i64 = before.and_then(|text| text.get(..2)?.parse().ok()).unwrap_or(0);
            let minutes = |hour: &i64| format!("{hour:02}:{:02}:{:02}", 10 + offset / 60, offset % 60);
            [hour + 1, hour].iter().map(minutes).collect()
        }
        _ => {
            let before = before.unwrap_or_default();
            ["", " ", "!", "\u{1}"].iter().map(|infix| format!("{before}{infix}{offset:02}")).collect()
        }
    }
}

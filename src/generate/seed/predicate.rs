//! The grammar of conditions: comparisons, three-valued logic, and subqueries.

use super::grammar::{Grammar, Source};
use crate::rng::pick;
use crate::sql::types::SqlType;

/// How a condition reads without parentheses, and what it needs them for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    /// A column, a call or an EXISTS: nowhere.
    Atom,
    /// A comparison, a test or a NOT: under NOT and before IS.
    Single,
    /// AND, OR and BETWEEN: under everything.
    Loose,
}

/// A condition.
#[derive(Debug, Clone)]
pub(super) struct Predicate {
    /// The text.
    pub(super) text: String,
    binding: Binding,
}

impl Predicate {
    fn new(text: String, binding: Binding) -> Self {
        Self { text, binding }
    }

    /// As an operand of AND and OR.
    pub(super) fn tight(self) -> String {
        if self.binding == Binding::Loose { format!("({})", self.text) } else { self.text }
    }

    /// As the operand of NOT and IS.
    fn operand(self) -> String {
        if self.binding == Binding::Atom { self.text } else { format!("({})", self.text) }
    }
}

#[derive(Clone, Copy)]
enum Leaf {
    Flag,
    Compare,
    NullTest,
    TruthTest,
    Distinct,
    Between,
    InList,
    Case,
    Coalesce,
    Subquery,
    Junction,
    Not,
}

impl Grammar<'_> {
    /// A condition over the innermost scope, with junctions nested to a depth and subqueries as the budget allows.
    pub(super) fn predicate(&mut self, depth: u32) -> Predicate {
        let subquery = if depth > 0 && self.has_room() { 64 } else { 0 };
        let junction = if depth > 0 { 22 } else { 0 };
        let leaf = self.weighted(&[
            (42, Leaf::Flag),
            (16, Leaf::Compare),
            (7, Leaf::NullTest),
            (7, Leaf::TruthTest),
            (6, Leaf::Distinct),
            (5, Leaf::Between),
            (5, Leaf::InList),
            (3, Leaf::Case),
            (4, Leaf::Coalesce),
            (4, Leaf::Not),
            (junction, Leaf::Junction),
            (subquery, Leaf::Subquery),
        ]);
        self.leaf(leaf, depth).unwrap_or_else(|| self.flag())
    }

    /// A truth value: a placeholder or a column, or a comparison where neither is to be had.
    pub(super) fn flag(&mut self) -> Predicate {
        let scope = self.scope(0);
        if let Some(flag) = self.reference(&scope, SqlType::Boolean) {
            return Predicate::new(flag, Binding::Atom);
        }
        let otherwise = self.compare(&scope).or_else(|| self.null_test(&scope));
        otherwise.unwrap_or_else(|| Predicate::new("TRUE".to_owned(), Binding::Atom))
    }

    fn leaf(&mut self, leaf: Leaf, depth: u32) -> Option<Predicate> {
        let scope = self.scope(0);
        let single = |text: String| Some(Predicate::new(text, Binding::Single));
        match leaf {
            Leaf::Flag => None,
            Leaf::Compare => self.compare(&scope),
            Leaf::NullTest => self.null_test(&scope),
            Leaf::TruthTest => {
                let operand = self.simple(&scope).operand();
                let test = self.weighted(&[
                    (30, "IS TRUE"),
                    (30, "IS NOT TRUE"),
                    (15, "IS FALSE"),
                    (15, "IS NOT FALSE"),
                    (10, "IS NULL"),
                ]);
                self.note();
                single(format!("{operand} {test}"))
            }
            Leaf::Distinct => {
                let (left, ty) = self.any(&scope)?;
                let right = self.other(&scope, ty, &left);
                let test = self.weighted(&[(40, "IS DISTINCT FROM"), (60, "IS NOT DISTINCT FROM")]);
                self.note();
                single(format!("{left} {test} {right}"))
            }
            Leaf::Between => {
                let value = self.reference(&scope, SqlType::Int)?;
                let not = if self.chance(20) { "NOT " } else { "" };
                let high = self.weighted(&[(60, "2"), (40, "1")]);
                Some(Predicate::new(format!("{value} {not}BETWEEN 0 AND {high}"), Binding::Loose))
            }
            Leaf::InList => {
                let ty = self.weighted(&[(65, SqlType::Int), (35, SqlType::Text)]);
                let value = self.reference(&scope, ty)?;
                let not = if self.chance(25) { "NOT " } else { "" };
                let items = match ty {
                    SqlType::Text => "'a', 'b'",
                    _ => self.weighted(&[(60, "0, 1"), (25, "1, 2"), (15, "0, 1, 2")]),
                };
                single(format!("{value} {not}IN ({items})"))
            }
            Leaf::Case => {
                if !self.spend() {
                    return None;
                }
                let (condition, then) = (self.simple(&scope).text, self.simple(&scope).text);
                let otherwise = self.simple(&scope).text;
                Some(Predicate::new(format!("CASE WHEN {condition} THEN {then} ELSE {otherwise} END"), Binding::Atom))
            }
            Leaf::Coalesce => {
                self.note();
                let (flag, fallback) = (self.flag().text, self.literal(SqlType::Boolean));
                Some(Predicate::new(format!("COALESCE({flag}, {fallback})"), Binding::Atom))
            }
            Leaf::Not => {
                let inner = if depth > 0 { self.predicate(depth - 1) } else { self.simple(&scope) };
                // NOT NOT is for the rewriting to find.
                if inner.text.starts_with("NOT ") {
                    return Some(inner);
                }
                single(format!("NOT {}", inner.operand()))
            }
            Leaf::Junction => {
                let operator = self.weighted(&[(62, "AND"), (38, "OR")]);
                let left = self.predicate(depth.saturating_sub(1)).tight();
                let right = self.predicate(depth.saturating_sub(1)).tight();
                // The same condition twice reads as a mistake.
                if left == right {
                    return None;
                }
                self.note();
                Some(Predicate::new(format!("{left} {operator} {right}"), Binding::Loose))
            }
            Leaf::Subquery => Some(self.subquery()),
        }
    }

    /// A truth value or a comparison.
    fn simple(&mut self, scope: &[Source]) -> Predicate {
        let comparison = if self.chance(40) { self.compare(scope) } else { None };
        comparison.unwrap_or_else(|| self.flag())
    }

    fn comparable_type(&mut self) -> SqlType {
        self.weighted(&[(60, SqlType::Int), (32, SqlType::Text), (8, SqlType::Boolean)])
    }

    /// A reference of any comparable type that the scope has.
    fn any(&mut self, scope: &[Source]) -> Option<(String, SqlType)> {
        let ty = self.comparable_type();
        [ty, SqlType::Int, SqlType::Text, SqlType::Boolean]
            .into_iter()
            .find_map(|ty| Some((self.reference(scope, ty)?, ty)))
    }

    /// Something of a type to compare a reference with.
    fn other(&mut self, scope: &[Source], ty: SqlType, reference: &str) -> String {
        let other = if self.chance(50) { self.reference(scope, ty) } else { None };
        other.filter(|o| o != reference).unwrap_or_else(|| self.literal(ty).to_owned())
    }

    fn compare(&mut self, scope: &[Source]) -> Option<Predicate> {
        let (left, ty) = self.any(scope)?;
        let right = self.other(scope, ty, &left);
        let operator = match ty {
            SqlType::Int => self.weighted(&[(38, "="), (12, "<>"), (12, "<"), (18, ">"), (10, "<="), (10, ">=")]),
            SqlType::Boolean => self.weighted(&[(80, "="), (20, "<>")]),
            _ => self.weighted(&[(75, "="), (25, "<>")]),
        };
        Some(Predicate::new(format!("{left} {operator} {right}"), Binding::Single))
    }

    fn null_test(&mut self, scope: &[Source]) -> Option<Predicate> {
        let source = pick(self.rng, scope).cloned()?;
        let mut types = source.types();
        types.push(SqlType::Int);
        let ty = pick(self.rng, &types).copied()?;
        let value = self.reference(&[source], ty)?;
        let test = self.weighted(&[(50, "IS NULL"), (50, "IS NOT NULL")]);
        Some(Predicate::new(format!("{value} {test}"), Binding::Single))
    }

    // Subqueries.

    fn subquery(&mut self) -> Predicate {
        match self.weighted(&[(44, 0), (34, 1), (22, 2)]) {
            0 => self.exists(),
            1 => self.in_subquery(),
            _ => self.scalar_comparison(),
        }
    }

    /// The FROM and WHERE of a subquery, correlated in so many of a hundred draws.
    fn inner(&mut self, correlated: u32) -> String {
        let from = self.from(None, &[(82, 1), (18, 2)]);
        let correlation = if self.chance(correlated) { self.correlation() } else { None };
        let condition = if correlation.is_none() || self.chance(55) { Some(self.predicate(0)) } else { None };
        match (correlation, condition) {
            (Some(correlation), Some(condition)) => format!("{from} WHERE {correlation} AND {}", condition.tight()),
            (Some(correlation), None) => format!("{from} WHERE {correlation}"),
            (None, Some(condition)) if self.chance(80) => format!("{from} WHERE {}", condition.text),
            _ => from,
        }
    }

    fn correlation(&mut self) -> Option<String> {
        let (inner, outer) = (self.scope(0), self.scope(1));
        if self.chance(10) {
            let (left, right) = (self.reference(&inner, SqlType::Int)?, self.reference(&outer, SqlType::Int)?);
            return Some(format!("{left} {} {right}", self.weighted(&[(50, ">"), (50, "<")])));
        }
        self.equality(&outer, &inner).map(|text| match text.split_once(" = ") {
            // The inner side first, as a person would write.
            Some((left, right)) if outer.iter().any(|s| left.starts_with(&format!("{}.", s.alias))) => {
                format!("{right} = {left}")
            }
            _ => text,
        })
    }

    fn exists(&mut self) -> Predicate {
        self.spend();
        let body = self.scoped(|g| g.inner(80));
        let (not, binding) = if self.chance(42) { ("NOT ", Binding::Single) } else { ("", Binding::Atom) };
        Predicate::new(format!("{not}EXISTS (SELECT 1{body})"), binding)
    }

    fn in_subquery(&mut self) -> Predicate {
        self.spend();
        let preferred = self.comparable_type();
        let (left, text) = self.scoped(|g| {
            let body = g.inner(22);
            let (inner, outer) = (g.scope(0), g.scope(1));
            let types = [preferred, SqlType::Int, SqlType::Text, SqlType::Boolean];
            let fits = |ty: &SqlType| g.has(&inner, *ty) && g.has(&outer, *ty);
            let ty = types.into_iter().find(fits).unwrap_or(preferred);
            let mut value = |sources: &[Source]| g.reference(sources, ty).unwrap_or_else(|| g.literal(ty).to_owned());
            (value(&outer), format!("SELECT {}{body}", value(&inner)))
        });
        let not = if self.chance(35) { "NOT " } else { "" };
        Predicate::new(format!("{left} {not}IN ({text})"), Binding::Single)
    }

    /// A subquery of one row, and its type.
    pub(super) fn scalar(&mut self, ty: Option<SqlType>) -> (String, SqlType) {
        self.spend();
        self.scoped(|g| {
            let body = g.inner(72);
            let (aggregate, ty) = g.aggregate(ty);
            (format!("(SELECT {aggregate}{body})"), ty)
        })
    }

    fn scalar_comparison(&mut self) -> Predicate {
        let scope = self.scope(0);
        if self.chance(65)
            && let Some((value, ty)) = self.any(&scope).filter(|(_, ty)| *ty != SqlType::Boolean)
        {
            let (scalar, of) = self.scalar(Some(ty));
            let text = match ty {
                // The subquery had no text and became a count.
                _ if of != ty => format!("{scalar} > 0"),
                SqlType::Int => format!("{value} {} {scalar}", self.weighted(&[(60, "="), (20, "<"), (20, ">=")])),
                _ => format!("{value} = {scalar}"),
            };
            return Predicate::new(text, Binding::Single);
        }
        let (scalar, ty) = self.scalar(None);
        let text = match ty {
            SqlType::Int => format!("{scalar} {}", self.weighted(&[(50, "> 0"), (25, "= 0"), (25, "= 1")])),
            _ => format!("{scalar} IS NOT NULL"),
        };
        Predicate::new(text, Binding::Single)
    }
}

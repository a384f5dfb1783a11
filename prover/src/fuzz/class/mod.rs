//! Classes of texts: for one rule, several ways to say the same and several near misses, the classic wrong ones among
//! them. Nothing trusts the division; it only sets how often a pair is likely to be equivalent.

#![expect(clippy::many_single_char_names, reason = "the texts are easier to read with short holes")]
#![expect(clippy::unnecessary_wraps, reason = "all rules have one type")]

mod aggregates;
mod filters;
mod joins;
mod limits;
mod sets;
mod subqueries;

use super::query::{clause, items};
use super::scalar::{Gen, Ref};

/// What one rule offers.
pub(super) struct Class {
    /// Meant to be equivalent.
    pub(super) same: Vec<String>,
    /// Meant to differ from those.
    pub(super) near: Vec<String>,
}

type Rule = fn(&mut Gen) -> Option<Class>;

/// Two texts of one random class.
pub(super) fn pair(g: &mut Gen) -> (String, String) {
    let families: [&[Rule]; 6] =
        [filters::RULES, joins::RULES, subqueries::RULES, aggregates::RULES, sets::RULES, limits::RULES];
    let rules: Vec<Rule> = families.concat();
    loop {
        let rule = g.one(&rules);
        // A rule that needs a key, a reference or a number passes on schemas without one.
        if let Some(mut class) = rule(g)
            && !class.same.is_empty()
        {
            let left = class.same.swap_remove(g.below(class.same.len()));
            let wanted_same = g.chance(56);
            let others =
                if class.near.is_empty() || (wanted_same && !class.same.is_empty()) { class.same } else { class.near };
            if !others.is_empty() {
                let right = g.one(&others);
                return if g.chance(25) { (right, left) } else { (left, right) };
            }
        }
    }
}

/// FROM and what it shows, with an optional WHERE, as most rules start.
pub(super) struct Base {
    from: String,
    scope: Vec<Ref>,
    condition: Option<String>,
}

impl Base {
    fn new(g: &mut Gen) -> Self {
        let levels = std::mem::replace(&mut g.levels, 0);
        let (from, scope) = g.sources(2);
        g.levels = levels;
        let condition = g.chance(30).then(|| g.predicate(&scope, 0));
        Self { from, scope, condition }
    }

    /// SELECT `what` with a further condition.
    fn select(&self, what: &str, extra: Option<&str>) -> String {
        let all = match (&self.condition, extra) {
            (Some(a), Some(b)) => Some(format!("{a} AND {b}")),
            (a, b) => a.as_deref().or(b).map(str::to_owned),
        };
        format!("SELECT {what} FROM {}{}", self.from, clause(all.as_deref()))
    }

    /// One or two columns as a result.
    fn columns(&self, g: &mut Gen) -> String {
        let count = 1 + usize::from(g.chance(35));
        let chosen: Vec<String> = (0..count).map(|_| g.one(&self.scope).text).collect();
        items(&chosen)
    }
}

//! Combinations: an expression of the corpus in the place of a column of another one (Argus paper, section 6.1), or two of them
//! joined by an operator.
//!
//! What is known of two snippets says little of one made of both, so a combination is validated like any other snippet.

use crate::config::{COMBINATION_GROWTH_PERCENT, COMBINATION_JOINS_PERCENT, COMBINATION_LENGTH_MAX};
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::snippet::{COMBINATION, Snippet};
use crate::sql::types::SqlType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Tries for each combination that is wanted.
const ATTEMPTS: usize = 4;

/// Draws until one suits.
const DRAWS_MAX: usize = 40;

/// What joins two conditions.
const OF_CONDITIONS: [&str; 3] = ["(#0) AND (#1)", "(#0) OR (#1)", "CASE WHEN #0 THEN #1 ELSE FALSE END"];
/// What joins a condition and a value.
const OF_CONDITION_AND_VALUE: [&str; 1] = ["CASE WHEN #0 THEN #1 END"];
/// What joins two values of one type.
const OF_VALUES: [&str; 5] =
    ["COALESCE(#0, #1)", "NULLIF(#0, #1)", "(#0) = (#1)", "(#0) < (#1)", "(#0) IS DISTINCT FROM (#1)"];

/// A combination.
#[derive(Debug)]
pub struct Combined {
    /// The snippet, of which nothing is known yet.
    pub snippet: Snippet,
    /// What it is made of: the outer one and the inner one.
    pub parents: [Arc<Snippet>; 2],
}

/// Makes up to `wanted` combinations of expressions that hold, each of another text, all different from the given ones. What
/// fails on some rows is no part of any: its cases are void too often as it is.
pub fn combinations(of: &[Arc<Snippet>], wanted: usize, profile: &Profile, rng: &mut Rng) -> Vec<Combined> {
    let parts: Vec<&Arc<Snippet>> =
        of.iter().filter(|snippet| !snippet.may_fail && !snippet.columns.is_empty()).collect();
    let mut by_type: BTreeMap<SqlType, Vec<&Arc<Snippet>>> = BTreeMap::new();
    for inner in &parts {
        if let Some(ty) = type_of(inner) {
            by_type.entry(ty).or_default().push(inner);
        }
    }
    // A column of a type that some snippet has.
    let places: Vec<(&Arc<Snippet>, usize, SqlType)> = parts
        .iter()
        .flat_map(|outer| (0..outer.columns.len()).map(move |at| (*outer, at)))
        .filter_map(|(outer, at)| match outer.columns[at].1 {
            ColumnType::Class(ty) if by_type.contains_key(&ty) => Some((outer, at, ty)),
            _ => None,
        })
        .collect();
    let mut known: BTreeSet<String> = of.iter().map(|snippet| snippet.sql.clone()).collect();
    let mut made = Vec::new();
    for _ in 0..wanted * ATTEMPTS {
        if made.len() == wanted {
            break;
        }
        let (outer, inner, combined) = if chance(rng, COMBINATION_JOINS_PERCENT) {
            let Some(inner) = common(&parts, |part| part, rng) else { break };
            let Some((outer, text)) = joined_with(inner, &parts, rng) else { continue };
            (outer, inner, Snippet::joined(text, [outer, inner], profile))
        } else {
            let Some(&(outer, at, ty)) = common(&places, |(outer, ..)| outer, rng) else { continue };
            let Some(inner) = by_type.get(&ty).and_then(|all| common(all, |inner| inner, rng)) else { continue };
            (outer, inner, outer.with_column(at, inner, profile))
        };
        let combined = combined.filter(|c| c.sql.len() <= COMBINATION_LENGTH_MAX && known.insert(c.sql.clone()));
        made.extend(combined.map(|snippet| Combined { snippet, parents: [outer.clone(), (*inner).clone()] }));
    }
    made
}

/// The type of the columns whose place it can take.
fn type_of(snippet: &Snippet) -> Option<SqlType> {
    if snippet.boolean_valued { Some(SqlType::Boolean) } else { snippet.ty }
}

/// What a snippet can be joined with, and how: a text with places for both.
fn joined_with<'a>(
    inner: &Snippet,
    of: &[&'a Arc<Snippet>],
    rng: &mut Rng,
) -> Option<(&'a Arc<Snippet>, &'static str)> {
    let with_condition = inner.boolean_valued || chance(rng, 50);
    let texts: &[&str] = match (inner.boolean_valued, with_condition) {
        (true, _) => &OF_CONDITIONS,
        (false, true) => &OF_CONDITION_AND_VALUE,
        (false, false) => &OF_VALUES,
    };
    let fits = |part: &Snippet| {
        if with_condition { part.boolean_valued } else { type_of(part).is_some() && type_of(part) == type_of(inner) }
    };
    let outer = (0..DRAWS_MAX).find_map(|_| common(of, |part| part, rng).filter(|part| fits(part)))?;
    Some((outer, pick(rng, texts)?))
}

/// One of several: mostly a combination, so that they grow, and one that tables are likely to have the columns of.
fn common<'a, T>(of: &'a [T], snippet: impl Fn(&T) -> &Arc<Snippet>, rng: &mut Rng) -> Option<&'a T> {
    if !chance(rng, COMBINATION_GROWTH_PERCENT) {
        return pick(rng, of);
    }
    let drawn: Vec<&T> = (0..DRAWS_MAX).filter_map(|_| pick(rng, of)).filter(|part| is_common(snippet(part))).collect();
    let combination = drawn.iter().find(|part| snippet(part).origin == COMBINATION);
    combination.or(drawn.first()).copied().or_else(|| pick(rng, of))
}

/// Whether a table of any class is likely to have its columns.
fn is_common(snippet: &Snippet) -> bool {
    snippet.columns.iter().all(|(_, ty)| matches!(ty, ColumnType::Class(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::rng::stream;

    fn snippet(sql: &str, ty: SqlType, may_fail: bool) -> Arc<Snippet> {
        let mut snippet = Snippet::parse(sql, &profile("sqlite").expect("shipped")).expect(sql);
        (snippet.ty, snippet.may_fail) = (Some(ty), may_fail);
        snippet.made_of = vec![snippet.key().into()];
        Arc::new(snippet)
    }

    #[test]
    fn a_column_gives_way_to_a_snippet_of_its_type() {
        let profile = profile("sqlite").expect("shipped");
        let of = [
            snippet("abs(t.c_int)", SqlType::Int, false),
            snippet("upper(t.c_text)", SqlType::Text, false),
            snippet("length(t.c_text) + (SELECT count(*) FROM t AS u WHERE u.c_text = t.c_text)", SqlType::Int, false),
            snippet("json(t.c_text)", SqlType::Text, true),
            snippet("'a'", SqlType::Text, false),
        ];
        let made = combinations(&of, 200, &profile, &mut stream(1, &[]));
        let made_of = |sql: &str| {
            let combined = made.iter().find(|made| made.snippet.sql == sql).expect(sql);
            combined.parents.each_ref().map(|parent| parent.sql.as_str())
        };
        assert_eq!(made_of("abs((abs(t.c_int)))"), ["abs(t.c_int)"; 2]);
        let outer = "length(t.c_text) + (SELECT count(*) FROM t AS u WHERE u.c_text = t.c_text)";
        let inner = "upper(t.c_text)";
        let both = "length((upper(t.c_text))) + (SELECT count(*) FROM t AS u WHERE u.c_text = (upper(t.c_text)))";
        assert_eq!(made_of(both), [outer, inner]);
        let made: Vec<Snippet> = made.into_iter().map(|combined| combined.snippet).collect();
        let texts: BTreeSet<&str> = made.iter().map(|snippet| snippet.sql.as_str()).collect();
        assert_eq!(texts.len(), made.len(), "each once");
        assert!(texts.contains("upper((upper(t.c_text)))"), "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("json") || text.contains("'a'")), "{texts:?}");
        let one = made.iter().find(|snippet| snippet.sql == "upper((upper(t.c_text)))").expect("made");
        assert_eq!((one.made_of.len(), one.ty, one.null_preserving), (2, None, false), "nothing is claimed of it");
        assert!(made.iter().all(|snippet| snippet.sql.len() <= COMBINATION_LENGTH_MAX));
    }

    #[test]
    fn two_are_joined_and_grow() {
        let profile = profile("sqlite").expect("shipped");
        let condition = |sql: &str| {
            let mut condition = Snippet::clone(&snippet(sql, SqlType::Int, false));
            condition.boolean_valued = true;
            Arc::new(condition)
        };
        let values = [snippet("abs(t.c_int)", SqlType::Int, false), snippet("-t.c_int", SqlType::Int, false)];
        let conditions = [condition("t.c_int > 1"), condition("t.c_text LIKE 'a%'")];
        let of: Vec<Arc<Snippet>> = values.into_iter().chain(conditions).collect();
        let made = combinations(&of, 400, &profile, &mut stream(1, &[]));
        let texts: BTreeSet<&str> = made.iter().map(|made| made.snippet.sql.as_str()).collect();
        for wanted in [
            "(t.c_int > 1) AND (t.c_text LIKE 'a%')",
            "CASE WHEN t.c_text LIKE 'a%' THEN -t.c_int END",
            "COALESCE(abs(t.c_int), -t.c_int)",
        ] {
            assert!(texts.contains(wanted), "{wanted}: {texts:?}");
        }
        // A condition is joined with conditions and with what they choose; a value decides nothing.
        assert!(
            !texts.iter().any(|text| text.contains("WHEN abs") || text.contains("(abs(t.c_int)) AND")),
            "{texts:?}"
        );
        let mut all = of;
        let mut longest = 0;
        for round in 0..3 {
            let made = combinations(&all, 40, &profile, &mut stream(2, &[round]));
            // As validation says of what holds.
            let held = made.into_iter().map(|mut made| {
                made.snippet.ty = Some(SqlType::Int);
                Arc::new(made.snippet)
            });
            all.extend(held);
            let max = all.iter().map(|snippet| snippet.sql.len()).max().expect("some");
            assert!(max > longest, "round {round}");
            longest = max;
        }
        assert!(longest > 100 && longest <= COMBINATION_LENGTH_MAX, "{longest}");
    }
}

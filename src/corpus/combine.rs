//! Combinations: an expression of the corpus in the place of a column of another one (Argus paper, section 6.1).
//!
//! What is known of two snippets says little of one made of both, so a combination is validated like any other snippet.

use crate::config::COMBINATION_LENGTH_MAX;
use crate::rng::{Rng, pick};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::snippet::Snippet;
use crate::sql::types::SqlType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Tries for each combination that is wanted.
const ATTEMPTS: usize = 4;

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
    let parts: Vec<&Arc<Snippet>> = of.iter().filter(|snippet| !snippet.may_fail).collect();
    let mut by_type: BTreeMap<SqlType, Vec<&Arc<Snippet>>> = BTreeMap::new();
    for inner in &parts {
        let ty = if inner.boolean_valued { Some(SqlType::Boolean) } else { inner.ty };
        if let (Some(ty), false) = (ty, inner.columns.is_empty()) {
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
        let Some(&(outer, at, ty)) = pick(rng, &places) else { break };
        let Some(inner) = by_type.get(&ty).and_then(|all| pick(rng, all)) else { continue };
        let combined = outer.with_column(at, inner, profile);
        let combined = combined.filter(|c| c.sql.len() <= COMBINATION_LENGTH_MAX && known.insert(c.sql.clone()));
        made.extend(combined.map(|snippet| Combined { snippet, parents: [outer.clone(), (*inner).clone()] }));
    }
    made
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
        let made = combinations(&of, 40, &profile, &mut stream(1, &[]));
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
}

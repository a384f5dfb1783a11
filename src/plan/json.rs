//! What the readers of plans in JSON share: the text as a value, and how many parts a condition in it has.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::PlanTree;

/// A value in JSON. Objects keep the order of their entries and entries of the same name, which engines write too.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    /// Null or a number: nothing that a label is made of.
    Other,
    Flag(bool),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The value that `text` is. Not one that is nested more than 127 deep, the limit of `serde_json`.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The entries of an object.
    pub(super) fn entries(&self) -> &[(String, Json)] {
        if let Self::Object(entries) = self { entries } else { &[] }
    }

    /// The first entry called `name` of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.entries().iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text that it is.
    pub(super) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The text that is called `name` in an object.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Self::as_text)
    }

    /// Whether `name` is there in an object and true.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(&Self::Flag(true))
    }

    /// The list that is called `name` in an object; empty if there is none.
    pub(super) fn list(&self, name: &str) -> &[Json] {
        if let Some(Self::List(list)) = self.get(name) { list } else { &[] }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Json::Object(entries))
    }
}

/// The tree of the plans that were found: the only one, or a root for several; a leaf that says so if there is none.
pub(super) fn root(mut plans: Vec<PlanTree>) -> PlanTree {
    match plans.len() {
        0 => PlanTree::leaf("UNREADABLE"),
        1 => plans.remove(0),
        _ => PlanTree { label: "QUERY".into(), children: plans },
    }
}

/// The label of an operator that says nothing of itself.
pub(super) const NAMELESS: &str = "?";

/// A label: its words, then in parentheses what is known of the operator besides.
pub(super) fn label(words: &[&str], details: &[String]) -> String {
    match (words.join(" "), details.join(", ")) {
        (words, details) if words.is_empty() && details.is_empty() => NAMELESS.into(),
        (words, details) if words.is_empty() || details.is_empty() => words + &details,
        (words, details) => format!("{words} ({details})"),
    }
}

/// `text` with a question mark for every string and quoted name. In strings the quote is doubled; if the engine also
/// escapes it by a `backslash`, that has to be said.
pub(super) fn unquoted(text: &str, backslash: bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(quote) = chars.next() {
        if !matches!(quote, '\'' | '"' | '`') {
            plain.push(quote);
            continue;
        }
        plain.push('?');
        while let Some(c) = chars.next() {
            if c == quote {
                break;
            }
            if c == '\\' && quote == '\'' && backslash {
                chars.next();
            }
        }
    }
    plain
}

/// How many conditions `plain`, a text without quotes, connects by AND at its outermost level.
pub(super) fn conjuncts(plain: &str) -> usize {
    let tokens = outermost(plain);
    let count = |word: &str| tokens.iter().filter(|token| token.eq_ignore_ascii_case(word)).count();
    1 + count("and").saturating_sub(count("between"))
}

/// The parts of `plain`, a text without quotes, that commas separate outside of all parentheses.
pub(super) fn items(plain: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let separates = |c: char| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        c == ',' && depth == 0
    };
    plain.split(separates).map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// The words and signs of `plain` that stand in the fewest parentheses; what is in CASE stands in some.
fn outermost(plain: &str) -> Vec<&str> {
    let (mut depth, mut least, mut found) = (0, i32::MAX, Vec::new());
    let mut rest = plain;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (token, after) = rest.split_at(if word == 0 { first.len_utf8() } else { word });
        rest = after;
        let is = |word: &str| token.eq_ignore_ascii_case(word);
        match first {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if is("end") => depth -= 1,
            _ if first.is_whitespace() || depth > least => {}
            _ => {
                if depth < least {
                    found.clear();
                }
                least = depth;
                found.push(token);
            }
        }
        depth += i32::from(is("case"));
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::diff;

    /// The lines of `tree`, each indented by two more than its parent.
    pub(in crate::plan) fn lines(tree: &PlanTree) -> Vec<String> {
        diff::diff(tree, tree).lines().map(|line| line[2..].to_string()).collect()
    }

    /// Texts in JSON: objects with the names of `names` at all depths, and values that may be any of them.
    pub(in crate::plan) fn texts(names: &'static [&'static str]) -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            Just("null".to_string()),
            Just("true".to_string()),
            Just("7".to_string()),
            prop_oneof![prop::sample::select(names).prop_map(str::to_string), "['\"`\\\\()a, ]{0,6}", "\\PC{0,4}"]
                .prop_map(|text| serde_json::Value::from(text).to_string()),
        ];
        scalar.prop_recursive(5, 40, 5, move |inner| {
            let entry =
                (prop::sample::select(names), inner.clone()).prop_map(|(name, value)| format!("{name:?}:{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(|list| format!("[{}]", list.join(","))),
                prop::collection::vec(entry, 0..6).prop_map(|entries| format!("{{{}}}", entries.join(","))),
            ]
        })
    }

    #[test]
    fn an_object_keeps_its_order_and_entries_of_the_same_name() {
        let json = Json::read(r#"{"b":1,"a":"x","b":[true,null,-2.5]}"#).unwrap();
        let names: Vec<_> = json.entries().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        assert_eq!((json.text("a"), json.get("b"), json.list("b").len()), (Some("x"), Some(&Json::Other), 0));
        assert_eq!(Json::read("{"), None);
    }

    #[test]
    fn conditions_are_counted_at_the_outermost_level() {
        let count = |text: &str| conjuncts(&unquoted(text, true));
        assert_eq!(count("(c0 = 1)"), 1);
        assert_eq!(count("((c1 > 2) AND (c2 ~~ 'x%'::text) AND ((c1 < 5) OR (c2 IS NULL)))"), 3);
        assert_eq!(count("(a and b) or c"), 1);
        assert_eq!(count("(a and b) = (c and d)"), 1);
        assert_eq!(count("t1.c0 between 1 and 5 and t1.c2 = 'y3'"), 2);
        assert_eq!(count("case when a and b then 1 else 0 end and c"), 2);
        assert_eq!(count(r"t.c2 = 'x and y' and t.c2 <> 'it\'s and ''that'' and'"), 2);
        assert_eq!(count(r#"(("a and b" = 1) and (`c and d` = 2))"#), 2);
        assert_eq!(conjuncts(&unquoted(r"c0 = 'a\' AND c1 = 'b'", false)), 2);
    }

    #[test]
    fn lists_are_separated_outside_of_parentheses() {
        assert_eq!(items("t.a desc, f(b, c), [1, 2)"), ["t.a desc", "f(b, c)", "[1, 2)"]);
        assert!(items(" ").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_has_parts(text in "(AND |case |end |[(),'\"`\\\\]|\\PC){0,12}", backslash in any::<bool>()) {
            let plain = unquoted(&text, backslash);
            prop_assert!(conjuncts(&plain) >= 1);
            prop_assert!(items(&plain).len() <= 1 + plain.matches(',').count());
        }
    }
}

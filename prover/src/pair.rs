//! A pair of queries as it is given: texts, or plans in JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "solver")]
use crate::{
    evidence::Reason,
    ir::{Query, Schema},
    lower, qed,
};

/// Two queries over one schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// CREATE TABLE statements, or the array of tables of a QED plan.
    pub schema: Value,
    /// The left query: SQL text, or a QED plan.
    pub q1: Value,
    /// The right query, in the same form.
    pub q2: Value,
    /// What the virtual columns and tables are, as in `p1` → `Expr(t1: INT)`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub placeholders: BTreeMap<String, String>,
    /// Functions that the prover does not know and that are declared to be deterministic ones of values.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub functions: BTreeSet<String>,
}

#[cfg(feature = "solver")]
impl Pair {
    /// The plans of both queries and the schema they are over.
    pub fn read(&self) -> Result<(Schema, Query, Query), Reason> {
        match (&self.schema, &self.q1, &self.q2) {
            (Value::String(ddl), Value::String(left), Value::String(right)) => self.read_texts(ddl, left, right),
            (Value::Array(_), Value::Object(_), Value::Object(_)) => {
                qed::obligation(&self.schema, &self.q1, &self.q2).map_err(|e| Reason::Unsupported(e.0))
            }
            _ => Err(Reason::Unsupported("mixture of SQL text and plans".to_owned())),
        }
    }

    fn read_texts(&self, ddl: &str, left: &str, right: &str) -> Result<(Schema, Query, Query), Reason> {
        let unsupported = |e: lower::Unsupported| Reason::Unsupported(e.0);
        let mut schema = lower::schema(ddl, &self.placeholders).map_err(unsupported)?;
        schema.functions = self.functions.iter().map(|name| name.to_lowercase()).collect();
        let left = lower::query(&schema, left).map_err(unsupported)?;
        let right = lower::query(&schema, right).map_err(unsupported)?;
        Ok((schema, left, right))
    }
}

#[cfg(all(test, feature = "solver"))]
mod tests {
    use super::*;
    use serde_json::json;

    fn pair(schema: Value, q1: Value, q2: Value) -> Pair {
        Pair { schema, q1, q2, ..Pair::default() }
    }

    #[test]
    fn texts_and_plans_are_read() {
        let text = pair(json!("CREATE TABLE t(a INT)"), json!("SELECT a FROM t"), json!("SELECT a, a FROM t"));
        let (schema, left, right) = text.read().expect("plans");
        assert_eq!((schema.tables.len(), left.visible, right.visible), (1, 1, 2));
        let table = json!({
            "name": "T", "fields": ["A"], "types": ["INTEGER"], "nullable": [true], "key": [], "guaranteed": []
        });
        let plans = pair(json!([table]), json!({"scan": 0}), json!({"scan": 0}));
        assert_eq!(plans.read().expect("plans").1.visible, 1);
    }

    #[test]
    fn texts_and_plans_do_not_mix() {
        for mixed in [
            pair(json!("CREATE TABLE t(a INT)"), json!("SELECT a FROM t"), json!({"scan": 0})),
            pair(json!([]), json!("SELECT 1"), json!("SELECT 1")),
            Pair::default(),
        ] {
            assert!(matches!(mixed.read(), Err(Reason::Unsupported(_))), "{mixed:?}");
        }
    }
}

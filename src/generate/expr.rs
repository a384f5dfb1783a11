//! Typed expressions of bounded depth from the dialect's operator grammar.
//!
//! Two kinds of request. *Typed*: every value must have the type, so only operators that promise it are used, and for
//! text nothing that carries a collation. *Any*: the value's type is irrelevant, because only its truth value is taken
//! or because the operator above fixes the type of its own result.

use super::{ColumnInfo, Literals, TableInfo, any_type};
use crate::caq::node::{Inner, Node};
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::{Kind, OpPiece, Operator};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::types::{SqlType, Value};
use rand::RngExt as _;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What is asked of an expression.
#[derive(Debug, Clone, Copy)]
pub struct ExprSpec {
    /// The type of every value, or any.
    pub kind: Kind,
    /// NULL whenever the columns of the own table are.
    pub null_preserving: bool,
    /// No collation may reach the value: no collated column, no COLLATE.
    pub binary: bool,
    /// Subqueries are allowed.
    pub subqueries: bool,
    /// Levels of operators.
    pub depth: usize,
}

/// The operators of a dialect, by the type of their results.
#[derive(Debug, Clone)]
pub struct Grammar {
    by_result: HashMap<Kind, Vec<Arc<Operator>>>,
}

impl Grammar {
    /// How many operators there are.
    pub fn len(&self) -> usize {
        let all: HashSet<*const Operator> = self.by_result.values().flatten().map(Arc::as_ptr).collect();
        all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_result.is_empty()
    }

    /// The operators that others become, each asked once.
    #[must_use]
    pub fn rewritten(&self, becomes: impl Fn(&Operator) -> Vec<Operator>) -> Self {
        let mut asked = HashSet::new();
        let each = self.by_result.values().flatten().filter(|op| asked.insert(Arc::as_ptr(op)));
        let mut all: Vec<Operator> = each.flat_map(|op| becomes(op)).collect();
        // The order in a map is not the same twice, and that of peers decides what is drawn.
        all.sort_by(|a, b| (&a.sql, format!("{:?}", a.operands)).cmp(&(&b.sql, format!("{:?}", b.operands))));
        Self::new(all)
    }

    /// Sorts the operators of a profile that the engine knows.
    pub fn new(operators: impl IntoIterator<Item = Operator>) -> Self {
        let mut by_result: HashMap<Kind, Vec<Arc<Operator>>> = HashMap::new();
        for operator in operators {
            let operator = Arc::new(operator);
            for result in &operator.results {
                let peers = by_result.entry(*result).or_default();
                peers.extend(std::iter::repeat_n(&operator, operator.weight as usize).cloned());
            }
        }
        Self { by_result }
    }
}

/// Generates expressions over one table, with subqueries over all tables.
pub struct ExprGenerator<'a> {
    /// The operators.
    pub grammar: &'a Grammar,
    /// Literals.
    pub literals: &'a Literals,
    /// Tables that subqueries may read.
    pub tables: &'a [TableInfo],
}

/// Operators by which an index is searched: for values, and for a range.
const SEARCHED_VALUES: [&str; 2] = ["$1 = $2", "$1 IN ($2, $3)"];
const SEARCHED_RANGES: [&str; 5] = ["$1 < $2", "$1 <= $2", "$1 > $2", "$1 >= $2", "$1 BETWEEN $2 AND $3"];

/// Operators tried before a leaf is taken instead.
const ATTEMPTS: usize = 6;

impl ExprGenerator<'_> {
    /// An expression over the columns of a table.
    pub fn generate(&self, own: &TableInfo, want: ExprSpec, rng: &mut Rng) -> Node {
        self.node(&[own], want, rng)
    }

    fn node(&self, scopes: &[&TableInfo], want: ExprSpec, rng: &mut Rng) -> Node {
        if want.depth == 0 || chance(rng, 15) {
            return self.leaf(scopes, want, rng);
        }
        let kind = match want.kind {
            // A claim-free value is a value of some type, or comes from an operator that claims none.
            Kind::Any if chance(rng, 75) || !self.grammar.by_result.contains_key(&Kind::Any) => {
                Kind::Typed(any_type(rng))
            }
            other => other,
        };
        let peers = self.grammar.by_result.get(&kind).map(Vec::as_slice).unwrap_or_default();
        for _ in 0..ATTEMPTS {
            let Some(op) = pick(rng, peers) else { break };
            if (want.null_preserving && !op.strict)
                || (want.binary && op.collates)
                || (!want.subqueries && op.has_query())
                || (op.has_subquery() && (scopes.len() > 2 || self.tables.is_empty()))
            {
                continue;
            }
            let inner = if op.has_subquery() { self.inner(op, scopes.len(), rng) } else { None };
            if op.has_subquery() && inner.is_none() {
                continue;
            }
            return self.operator(op, inner, scopes, ExprSpec { kind, ..want }, rng);
        }
        self.leaf(scopes, want, rng)
    }

    /// A table and a column for an operator's subquery; `None` if the table has no column of the type it needs.
    fn inner(&self, op: &Operator, level: usize, rng: &mut Rng) -> Option<(&TableInfo, Inner)> {
        let table = pick(rng, self.tables)?;
        let fits = |c: &&ColumnInfo| {
            op.pieces.iter().all(|piece| match piece {
                OpPiece::Column(Some(ty)) => c.ty == Some(*ty) && c.binary,
                _ => true,
            })
        };
        let columns: Vec<&ColumnInfo> = table.columns.iter().filter(fits).collect();
        let column = pick(rng, &columns)?.name.clone();
        Some((table, Inner { level, table: table.name.clone(), column }))
    }

    fn operator(
        &self,
        op: &Arc<Operator>,
        inner: Option<(&TableInfo, Inner)>,
        scopes: &[&TableInfo],
        want: ExprSpec,
        rng: &mut Rng,
    ) -> Node {
        let (inner_table, inner) = inner.unzip();
        let inner_scopes: Vec<&TableInfo> = scopes.iter().copied().chain(inner_table).collect();
        // One operand carries the NULL; the others are free.
        let carrier = rng.random_range(0..op.operands.len().max(1));
        let operands = op.operands.iter().enumerate().map(|(at, operand)| {
            let kind = match operand {
                Kind::Same => want.kind,
                other => *other,
            };
            let inside = op.inner[at] && inner_table.is_some();
            let want = ExprSpec {
                kind,
                null_preserving: want.null_preserving && at == carrier,
                depth: want.depth - 1,
                ..want
            };
            self.node(if inside { &inner_scopes } else { scopes }, want, rng)
        });
        let operands = operands.collect();
        Node::Operator { op: op.clone(), operands, inner }
    }

    /// A condition that a search of an index with these keys can begin with: each of them is compared with values, those
    /// before the last mostly for equality. `None` where the grammar has none.
    pub fn search(&self, keys: &[&ColumnInfo], rng: &mut Rng) -> Option<Node> {
        let truths = self.grammar.by_result.get(&Kind::Typed(SqlType::Boolean))?;
        let fits = |operand: &Kind, ty: Option<SqlType>| match operand {
            Kind::Typed(typed) => ty == Some(*typed),
            Kind::Any | Kind::Same => true,
        };
        let one_of = |texts: &[&str], ty: Option<SqlType>, rng: &mut Rng| {
            let fitting = |op: &&Arc<Operator>| {
                texts.contains(&op.sql.as_str()) && op.operands.iter().all(|operand| fits(operand, ty))
            };
            pick(rng, &truths.iter().filter(fitting).collect::<Vec<_>>()).map(|op| Arc::clone(op))
        };
        let mut condition: Option<Node> = None;
        for (at, key) in keys.iter().enumerate() {
            let is_last = at + 1 == keys.len();
            let texts = if is_last && chance(rng, 60) { &SEARCHED_RANGES[..] } else { &SEARCHED_VALUES[..] };
            let op = one_of(texts, key.ty, rng)?;
            let operands = op.operands.iter().enumerate().map(|(operand, _)| match operand {
                0 => Node::Column { level: 0, name: key.name.clone() },
                _ => Node::Literal(self.literals.of_column(key, 3, rng)),
            });
            let compared = Node::Operator { operands: operands.collect(), op: op.clone(), inner: None };
            condition = Some(match condition {
                None => compared,
                Some(before) => {
                    let op = one_of(&["$1 AND $2"], Some(SqlType::Boolean), rng)?;
                    Node::Operator { op, operands: vec![before, compared], inner: None }
                }
            });
        }
        condition
    }

    fn leaf(&self, scopes: &[&TableInfo], want: ExprSpec, rng: &mut Rng) -> Node {
        let fits = |column: &ColumnInfo| {
            (column.binary || !want.binary)
                && match want.kind {
                    Kind::Typed(ty) => column.ty == Some(ty),
                    Kind::Any | Kind::Same => true,
                }
        };
        if want.null_preserving || chance(rng, 70) {
            // The innermost table is the most interesting one, except where NULL must come from the own table.
            let level = if want.null_preserving || chance(rng, 30) { 0 } else { scopes.len() - 1 };
            let columns: Vec<&ColumnInfo> = scopes[level].columns.iter().filter(|c| fits(c)).collect();
            if let Some(column) = pick(rng, &columns) {
                return Node::Column { level, name: column.name.clone() };
            }
        }
        if want.null_preserving {
            let ty = if let Kind::Typed(ty) = want.kind { Some(ty) } else { None };
            return Node::Literal(self.literals.operand(ty, 100, rng));
        }
        Node::Literal(match want.kind {
            Kind::Typed(ty) => self.literals.operand(Some(ty), 5, rng),
            Kind::Any | Kind::Same => self.literals.operand(None, 5, rng),
        })
    }
}

/// The operators of a profile that an engine accepts, each strict only where it is on this engine. `value` runs a query
/// without tables and returns its single value; `None` if the engine does not accept it.
pub fn known_operators(profile: &Profile, mut value: impl FnMut(&str) -> Option<Value>) -> Vec<Operator> {
    let literal = |ty| profile.literals(&ColumnType::Class(ty)).first().cloned().unwrap_or_default();
    let mut value_with_null = |op: &Operator, null: Option<usize>| {
        let column = op.pieces.iter().find_map(|piece| if let OpPiece::Column(ty) = piece { *ty } else { None });
        let table = format!("(SELECT {} AS c)", literal(column.unwrap_or(SqlType::Int)));
        let inner = op.has_subquery().then(|| Inner { level: 1, table: table.as_str().into(), column: "c".into() });
        let operands = op.operands.iter().enumerate().map(|(at, kind)| {
            let ty = match (kind, op.results.first()) {
                (Kind::Typed(ty), _) | (Kind::Same, Some(Kind::Typed(ty))) => *ty,
                _ => SqlType::Int,
            };
            Node::Literal(if null == Some(at) { profile.null(ty) } else { literal(ty) }.as_str().into())
        });
        let operands = operands.collect();
        let mut sql = "SELECT ".to_owned();
        Node::Operator { op: Arc::new(op.clone()), operands, inner }.render("", &mut sql);
        value(&sql)
    };
    let mut known = Vec::new();
    for op in &profile.operators {
        if value_with_null(op, None).is_none() {
            continue;
        }
        let mut op = op.clone();
        op.strict &= (0..op.operands.len()).all(|at| value_with_null(&op, Some(at)) == Some(Value::Null));
        known.push(op);
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::Connection as _;
    use crate::dbms::sqlite::Sqlite;
    use crate::rng::stream;

    fn table() -> TableInfo {
        let column = |name: &str, ty, binary| ColumnInfo { name: name.into(), ty, other: None, binary, given: true };
        TableInfo {
            name: "t1".into(),
            columns: vec![
                column("c0", Some(SqlType::Int), true),
                column("c1", Some(SqlType::Text), true),
                column("x", None, true),
                column("n", Some(SqlType::Text), false),
            ],
        }
    }

    /// Gives `check` the text of an expression for each of many seeds.
    fn for_seeds(want: ExprSpec, mut check: impl FnMut(&Node, &str)) {
        let profile = profile("sqlite").expect("the shipped profile");
        let grammar = Grammar::new(profile.operators.clone());
        let tables = [table()];
        for seed in 0..2000 {
            let mut rng = stream(seed, &[]);
            let literals = Literals::draw(&profile, &mut rng);
            let generator = ExprGenerator { grammar: &grammar, literals: &literals, tables: &tables };
            let node = generator.generate(&tables[0], want, &mut rng);
            let mut text = String::new();
            node.render("a", &mut text);
            check(&node, &text);
        }
    }

    const FREE: ExprSpec =
        ExprSpec { kind: Kind::Any, null_preserving: false, binary: false, subqueries: true, depth: 3 };

    #[test]
    fn the_demands_hold_on_every_tree() {
        for_seeds(ExprSpec { null_preserving: true, ..FREE }, |node, text| assert!(node.null_preserving(), "{text}"));
        for_seeds(ExprSpec { kind: Kind::Typed(SqlType::Text), binary: true, ..FREE }, |node, text| {
            assert!(!node.collates() && !text.contains("COLLATE") && !text.contains("a.n"), "{text}");
        });
        for_seeds(ExprSpec { subqueries: false, ..FREE }, |_, text| assert!(!text.contains("FROM t1"), "{text}"));
    }

    /// An aggregate of nothing but outer columns, in its condition too, belongs to the query around it.
    #[test]
    fn no_operator_makes_an_aggregate_of_the_query_around_it() {
        let profile = profile("sqlite").expect("the shipped profile");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("linked");
        connection.execute("CREATE TABLE t1(c0 INT, c1 TEXT)").expect("makes a table");
        let mut subqueries = 0;
        for op in profile.operators.iter().filter(|op| op.has_subquery()) {
            let mut sql = op.sql.replace("#T", "t1").replace("#A", "q").replace("#S", "c1");
            for column in ["#N", "#I", "$1", "$2", "$3"] {
                sql = sql.replace(column, if column.starts_with('$') { "a.c0" } else { "c0" });
            }
            let sql = format!("SELECT {sql} FROM t1 AS a WHERE 1 = 0");
            let rows = connection.rows(&sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert!(rows.is_empty(), "{sql}");
            subqueries += 1;
        }
        assert!(subqueries > 30, "{subqueries}");
    }

    #[test]
    fn a_search_compares_each_key() {
        for dialect in ["sqlite", "duckdb", "postgres", "mariadb", "mysql"] {
            let profile = profile(dialect).expect("shipped");
            let grammar = Grammar::new(profile.operators.clone());
            let table = table();
            let keys: Vec<&ColumnInfo> = table.columns.iter().take(2).collect();
            let mut texts = HashSet::new();
            for seed in 0..200 {
                let mut rng = stream(seed, &[]);
                let literals = Literals::draw(&profile, &mut rng);
                let generator = ExprGenerator { grammar: &grammar, literals: &literals, tables: &[] };
                let search = generator.search(&keys, &mut rng).expect("has the operators");
                assert_eq!(search.own_columns(), ["c0".into(), "c1".into()], "{dialect}");
                search.operators(&mut |op| {
                    texts.insert(op.sql.clone());
                });
            }
            let has = |op: &str| texts.contains(op);
            assert!(SEARCHED_VALUES.iter().all(|op| has(op)), "{dialect}: {texts:?}");
            let ranges = SEARCHED_RANGES.iter().filter(|op| has(op)).count();
            assert!(ranges > 2 && has("$1 AND $2"), "{dialect}: {texts:?}");
        }
    }

    #[test]
    fn an_operator_is_strict_only_where_the_engine_says_so() {
        let profile = profile("sqlite").expect("the shipped profile");
        let strict = |value: Value| {
            let known = known_operators(&profile, |_| Some(value.clone()));
            known.iter().any(|op| op.strict && !op.operands.is_empty())
        };
        assert!(strict(Value::Null));
        assert!(!strict(Value::Int(0)));
    }

    #[test]
    fn text_is_closed_and_has_no_comment() {
        for_seeds(FREE, |_, text| {
            crate::sql::lex::tokens(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        });
    }
}

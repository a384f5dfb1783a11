//! What a normal form means on a concrete database, worked out by trying all rows: the check of every rewrite rule.
//!
//! Written from the definitions in [`term`](super::term) and from nothing else. Slow, and only for tests.

use std::collections::{BTreeSet, HashMap};

use num_rational::BigRational;
use num_traits::Zero as _;

use super::subst::FreeVars;
use super::term::{Formula, Nf, Op, Rel, Term, Val, Var};
use crate::eval::{self, Database, Row};
use crate::ir::{ArithmeticOp, CompareOp, Expr, Schema, Type, Value};

/// Why there is no meaning to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Blank {
    /// A function that is nothing but a name.
    Opaque(String),
    /// A quotient by zero.
    RuntimeError,
    /// Too many rows were tried.
    TooLong,
}

/// The rows of the variables.
pub(crate) type Rows = HashMap<Var, Row>;

pub(crate) struct Meaning<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) db: &'a Database,
    /// Steps left.
    pub(crate) fuel: std::cell::Cell<u64>,
}

type Answer<T> = Result<T, Blank>;

impl Meaning<'_> {
    /// The bag of rows of a sum.
    pub(crate) fn bag(&self, nf: &Nf, rows: &Rows) -> Answer<Vec<Row>> {
        let mut bag = Vec::new();
        for term in &nf.terms {
            self.each(term, rows, &mut |rows, weight| {
                let row: Row = term.out.iter().map(|v| self.value(v, rows)).collect::<Answer<_>>()?;
                (0..weight).for_each(|_| bag.push(row.clone()));
                Ok(true)
            })?;
        }
        Ok(bag)
    }

    fn burn(&self) -> Answer<()> {
        let left = self.fuel.get().checked_sub(1).ok_or(Blank::TooLong)?;
        self.fuel.set(left);
        Ok(())
    }

    /// Calls `f` on every assignment that satisfies φ, with the weight, until it returns false.
    pub(crate) fn each(&self, term: &Term, rows: &Rows, f: &mut dyn FnMut(&Rows, u64) -> Answer<bool>) -> Answer<bool> {
        let mut rows = rows.clone();
        for (var, _) in &term.vars {
            assert!(!rows.contains_key(var), "variable {var} is bound twice");
        }
        let todo: Vec<&(Var, Rel)> = term.vars.iter().collect();
        self.assign(term, &todo, &mut rows, f)
    }

    fn assign(
        &self,
        term: &Term,
        todo: &[&(Var, Rel)],
        rows: &mut Rows,
        f: &mut dyn FnMut(&Rows, u64) -> Answer<bool>,
    ) -> Answer<bool> {
        self.burn()?;
        if todo.is_empty() {
            for part in &term.phi {
                if !self.formula(part, rows)? {
                    return Ok(true);
                }
            }
            let weight = self.value(&term.weight, rows)?;
            let Value::Int(weight) = weight else { panic!("the weight is {weight}") };
            let weight = u64::try_from(weight).expect("a weight is not negative");
            return if weight == 0 { Ok(true) } else { f(rows, weight) };
        }
        // A relation may depend on other variables of the term, in whatever order they are listed.
        let ready = |rel: &Rel| match rel {
            Rel::Table(_) => true,
            Rel::Distinct(nf) => FreeVars::default().nf(nf).iter().all(|v| todo.iter().all(|(other, _)| other != v)),
        };
        let next = todo.iter().position(|(_, rel)| ready(rel)).expect("a relation depends on itself");
        let (var, rel) = todo[next];
        let rest: Vec<&(Var, Rel)> = todo.iter().filter(|(other, _)| other != var).copied().collect();
        for row in self.relation(rel, rows)? {
            rows.insert(*var, row);
            let on = self.assign(term, &rest, rows, f)?;
            rows.remove(var);
            if !on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows that a variable ranges over.
    pub(crate) fn relation(&self, rel: &Rel, rows: &Rows) -> Answer<Vec<Row>> {
        match rel {
            Rel::Table(table) => Ok(self.db.tables[*table].clone()),
            Rel::Distinct(nf) => {
                let distinct: BTreeSet<Row> = self.bag(nf, rows)?.into_iter().collect();
                Ok(distinct.into_iter().collect())
            }
        }
    }

    pub(crate) fn formula(&self, f: &Formula, rows: &Rows) -> Answer<bool> {
        self.burn()?;
        Ok(match f {
            Formula::True => true,
            Formula::False => false,
            Formula::And(parts) => {
                for part in parts {
                    if !self.formula(part, rows)? {
                        return Ok(false);
                    }
                }
                true
            }
            Formula::Or(parts) => {
                for part in parts {
                    if self.formula(part, rows)? {
                        return Ok(true);
                    }
                }
                false
            }
            Formula::Not(inner) => !self.formula(inner, rows)?,
            Formula::Null(v) => self.value(v, rows)?.is_null(),
            Formula::Cmp(op, a, b) => {
                let op = match op {
                    super::term::Cmp::Eq => CompareOp::Eq,
                    super::term::Cmp::Ne => CompareOp::Ne,
                    super::term::Cmp::Lt => CompareOp::Lt,
                    super::term::Cmp::Le => CompareOp::Le,
                };
                self.value(a, rows)?.compare(&self.value(b, rows)?).is_some_and(|order| op.holds(order))
            }
            Formula::Same(a, b) => self.value(a, rows)? == self.value(b, rows)?,
            Formula::Truth(v) => self.value(v, rows)? == Value::Bool(true),
            Formula::Exists(term) => !self.each(term, rows, &mut |_, _| Ok(false))?,
            Formula::Has { table, key, at } => {
                let at: Row = at.iter().map(|v| self.value(v, rows)).collect::<Answer<_>>()?;
                self.find(*table, *key, &at).is_some()
            }
        })
    }

    fn find(&self, table: usize, key: usize, at: &[Value]) -> Option<&Row> {
        let columns = &self.schema.tables[table].keys[key].columns;
        let fits = |row: &&Row| columns.iter().zip(at).all(|(c, v)| !v.is_null() && row[*c] == *v);
        self.db.tables[table].iter().find(fits)
    }

    pub(crate) fn value(&self, v: &Val, rows: &Rows) -> Answer<Value> {
        self.burn()?;
        Ok(match v {
            Val::Col(col) => {
                let row = rows.get(&col.var).unwrap_or_else(|| panic!("variable {} is free", col.var));
                let value = row[col.index].clone();
                assert!(!(col.not_null && value.is_null()), "a column is NULL that is said never to be");
                value
            }
            Val::Lit(value, _) => value.clone(),
            Val::Null(_) => Value::Null,
            Val::Call { name, args, ty, strict } => {
                let args: Row = args.iter().map(|a| self.value(a, rows)).collect::<Answer<_>>()?;
                if *strict && args.iter().any(Value::is_null) { Value::Null } else { call(name, args, ty)? }
            }
            Val::Arith(op, a, b, _) => match (self.value(a, rows)?.to_rational(), self.value(b, rows)?.to_rational()) {
                (Some(a), Some(b)) => Value::number(match op {
                    Op::Add => a + b,
                    Op::Sub => a - b,
                    Op::Mul => a * b,
                }),
                _ => Value::Null,
            },
            Val::Case(c, a, b) => return self.value(if self.formula(c, rows)? { a } else { b }, rows),
            Val::Bool(t, f) => {
                let (t, f) = (self.formula(t, rows)?, self.formula(f, rows)?);
                assert!(!(t && f), "true and false at once");
                if t || f { Value::Bool(t) } else { Value::Null }
            }
            Val::Total(term, _) => {
                let mut sum = BigRational::zero();
                self.each(term, rows, &mut |rows, weight| {
                    let value = self.value(&term.out[0], rows)?;
                    let value = value.to_rational().expect("a summand is never NULL");
                    sum += value * BigRational::from_integer(weight.into());
                    Ok(true)
                })?;
                Value::number(sum)
            }
            Val::Extreme(max, nf, _) => {
                let mut values: Row = self.bag(nf, rows)?.into_iter().map(|mut row| row.remove(0)).collect();
                values.retain(|v| !v.is_null());
                values.sort();
                if *max { values.pop() } else { values.into_iter().next() }.unwrap_or(Value::Null)
            }
            Val::OfBag(name, nf, ty) => {
                let values: Row = self.bag(nf, rows)?.into_iter().map(|mut row| row.remove(0)).collect();
                if name != "avg" || *ty != Type::Decimal {
                    return Err(Blank::Opaque(name.clone()));
                }
                let numbers: Vec<BigRational> = values.iter().filter_map(Value::to_rational).collect();
                match numbers.len() {
                    0 => Value::Null,
                    n => Value::number(numbers.iter().sum::<BigRational>() / BigRational::from_integer(n.into())),
                }
            }
            // More than one row is an error, so which one is taken has no meaning.
            Val::Scalar(nf, _) => self.bag(nf, rows)?.into_iter().next().map_or(Value::Null, |mut row| row.remove(0)),
            Val::Lookup { table, key, at, column, ty } => {
                let at: Row = at.iter().map(|v| self.value(v, rows)).collect::<Answer<_>>()?;
                // Without a row it means nothing, so something is returned that nobody can have counted on.
                self.find(*table, *key, &at).map_or_else(|| nonsense(ty), |row| row[*column].clone())
            }
        })
    }
}

fn nonsense(ty: &Type) -> Value {
    match ty {
        Type::Boolean => Value::Bool(true),
        Type::Integer | Type::Decimal | Type::Double => Value::int(987_654),
        _ => Value::Text("nonsense".to_owned()),
    }
}

fn call(name: &str, args: Row, ty: &Type) -> Answer<Value> {
    let literal = |v: Value| {
        let ty = match &v {
            Value::Bool(_) => Type::Boolean,
            Value::Text(_) => Type::Text,
            Value::Double(_) => Type::Double,
            Value::Int(_) if *ty != Type::Decimal => Type::Integer,
            Value::Int(_) | Value::Number(_) => Type::Decimal,
            Value::Null => Type::Unknown,
        };
        Expr::Literal(v, ty)
    };
    let name = name.split_once(' ').map_or(name, |(plain, _)| plain);
    if matches!(name, "DIV" | "REM") {
        if args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        if args[1] == Value::int(0) {
            return Err(Blank::RuntimeError);
        }
    }
    let name = name.split_once('(').map_or(name, |(plain, _)| plain);
    let mut parts: Vec<Expr> = args.into_iter().map(literal).collect();
    let expr = match (name, parts.len()) {
        ("DIV" | "REM", 2) => {
            let (b, a) = (parts.pop().expect("two"), parts.pop().expect("two"));
            let op = if name == "DIV" { ArithmeticOp::Div } else { ArithmeticOp::Rem };
            Expr::Arithmetic(op, Box::new(a), Box::new(b), ty.clone())
        }
        _ => Expr::Call { name: name.to_owned(), args: parts, ty: ty.clone() },
    };
    eval::constant(&expr).ok_or_else(|| Blank::Opaque(name.to_owned()))
}

mod tests {
    use std::cell::Cell;

    use rand::SeedableRng as _;

    use super::*;
    use crate::fuzz::{self, Rng};
    use crate::ir::Query;
    use crate::normal::Cx;
    use crate::normal::build::Builder;
    use crate::normal::simplify::{Mode, simplify_all};
    use crate::refute::{self, Shape};
    use crate::{decide, lower};

    /// Sums of the same rows, as sets if asked.
    #[track_caller]
    fn agree(form: &Answer<Vec<Row>>, rows: &[Row], set: bool, what: &str) -> bool {
        let Ok(form) = form else { return false };
        let same = if set {
            form.iter().collect::<BTreeSet<_>>() == rows.iter().collect::<BTreeSet<_>>()
        } else {
            eval::same_bag(form, rows)
        };
        assert!(same, "{what}\nthe normal form means {form:?}\nthe query means {rows:?}");
        true
    }

    /// Compares all normal forms of a query with what it returns on some databases; how often that could be done.
    fn check(schema: &Schema, query: &Query, rng: &mut Rng, what: &str) -> u32 {
        let plan = decide::visible(query);
        let cx = Cx::new(schema, u64::MAX);
        let mut forms = Vec::new();
        for keep_later in [false, true] {
            cx.keep_later.set(keep_later);
            let Ok(form) = Builder::new(&cx).query(&plan) else { continue };
            assert!(FreeVars::default().nf(&form).is_empty(), "{what}\na variable is free in its normal form");
            let set = simplify_all(&cx, form.clone(), Mode::Set);
            forms.extend([(form, false), (set, true)]);
        }
        let mut compared = 0;
        for _ in 0..4 {
            let shape = Shape { rows: 3, ..Shape::random(rng, 2) };
            let Some(db) = refute::random_database(schema, [query, query], rng, &shape) else { continue };
            let Ok(outcome) = eval::evaluate(query, &db, 0, 50_000) else { continue };
            if !outcome.opaque.is_empty() {
                continue;
            }
            for (form, set) in &forms {
                let meaning = Meaning { schema, db: &db, fuel: Cell::new(30_000) };
                let text = format!("{what}\non {:?}", db.tables);
                compared += u32::from(agree(&meaning.bag(form, &Rows::new()), &outcome.rows, *set, &text));
            }
        }
        compared
    }

    fn read(ddl: &str) -> Schema {
        lower::schema(ddl, &std::collections::BTreeMap::new()).expect(ddl)
    }

    #[test]
    fn a_normal_form_means_what_its_query_returns() {
        let pairs: u64 = std::env::var("NORMAL_FORM_PAIRS").ok().and_then(|n| n.parse().ok()).unwrap_or(250);
        let first: u64 = std::env::var("NORMAL_FORM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        let mut compared = 0;
        for seed in first..first + pairs {
            let mut rng = Rng::seed_from_u64(seed);
            let case = fuzz::case(seed);
            let schema = read(&case.ddl);
            for text in [&case.left, &case.right] {
                let Ok(query) = lower::query(&schema, text) else { continue };
                compared += check(&schema, &query, &mut rng, &format!("pair {seed}: {}\n{text}", case.ddl));
            }
        }
        assert!(compared > u32::try_from(pairs).expect("few") * 8, "only {compared} could be compared");
    }

    #[test]
    fn normal_forms_of_special_queries() {
        let schema = read(
            "CREATE TABLE t(a INT NOT NULL, b INT); CREATE TABLE u(b INT NOT NULL, c INT NOT NULL);
             CREATE TABLE k(a INT PRIMARY KEY, b INT UNIQUE, c INT); CREATE TABLE o(c INT)",
        );
        for text in [
            "SELECT DISTINCT z.b FROM (SELECT DISTINCT a FROM t) AS x, \
             LATERAL (SELECT DISTINCT b FROM u WHERE u.c = x.a) AS z WHERE x.a = z.b",
            "SELECT z.b FROM (SELECT DISTINCT a FROM t) AS x, \
             LATERAL (SELECT b FROM u WHERE u.c = x.a GROUP BY b) AS z WHERE x.a = z.b",
            "SELECT x.c, z.b FROM k AS x, LATERAL (SELECT DISTINCT b FROM u WHERE u.c = x.c) AS z WHERE x.a = z.b",
            "SELECT DISTINCT x.c FROM k AS x, LATERAL (SELECT DISTINCT b FROM u WHERE u.c = x.c) AS z WHERE x.a = z.b",
            "SELECT (SELECT SUM(x) FROM (SELECT o.c AS x FROM t WHERE t.b = o.c UNION ALL SELECT b FROM u) AS s) FROM o",
            "SELECT x.c FROM k AS x JOIN k AS y ON x.a = y.b AND y.a = x.b",
            "SELECT b FROM k GROUP BY b",
            "SELECT b, COUNT(*) FROM k GROUP BY b",
            "SELECT c, SUM(b) FROM k GROUP BY c HAVING COUNT(b) > 1",
            "SELECT a FROM t EXCEPT ALL SELECT b FROM u",
            "SELECT a FROM t INTERSECT ALL SELECT b FROM u",
            "SELECT COUNT(*) FROM (SELECT a FROM t INTERSECT ALL SELECT b FROM u) AS s",
            "SELECT b FROM t ORDER BY b NULLS FIRST LIMIT 2",
            "SELECT b FROM t ORDER BY b DESC NULLS LAST LIMIT 2 OFFSET 1",
            "SELECT b FROM t ORDER BY b NULLS FIRST OFFSET 1",
            "SELECT b FROM (SELECT a, b FROM t ORDER BY b NULLS FIRST LIMIT 1) AS s",
            "SELECT b FROM t WHERE b = 1 LIMIT 2",
            "SELECT COUNT(*) FROM (SELECT a FROM t LIMIT 2) AS s",
            "SELECT o.c FROM o WHERE EXISTS (SELECT 1 FROM t WHERE t.b = o.c LIMIT 3 OFFSET 1)",
            "SELECT a FROM t UNION ALL SELECT c FROM o ORDER BY 1 NULLS FIRST LIMIT 3",
            "SELECT x.a, z.c FROM k AS x LEFT JOIN k AS z ON x.b = z.a ORDER BY x.a LIMIT 2",
            "SELECT a, RANK() OVER (PARTITION BY c ORDER BY b DESC NULLS LAST) FROM k",
            "SELECT a, SUM(b) OVER (PARTITION BY c ORDER BY b NULLS FIRST) FROM k",
        ] {
            let query = lower::query(&schema, text).expect(text);
            let mut compared = 0;
            for seed in 0..20 {
                compared += check(&schema, &query, &mut Rng::seed_from_u64(seed), text);
            }
            assert!(compared > 0, "{text}");
        }
    }
}

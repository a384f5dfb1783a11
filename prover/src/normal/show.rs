//! Sums of terms written for people, with the names of tables and columns: the formulas of a proof's steps.
//!
//! `person x0, visit x1 where x0.id = x1.person: (x0.name, x1.day) × x1.n` is a term: for each choice of rows for which
//! the condition holds, the row in parentheses, so many times. What is in braces is a sum too. Rows that a claim is
//! about, bound nowhere in it, are called `r` and a number.

use std::collections::HashMap;
use std::fmt::Write;

use super::Cx;
use super::term::{Cmp, Formula, Nf, Op, Rel, Term, V, Val, Var};
use crate::ir::TableId;

impl Cx<'_> {
    /// A term.
    pub(crate) fn show_term(&self, term: &Term) -> String {
        self.show_terms(std::slice::from_ref(term))
    }

    /// A sum; each term on a line of its own.
    pub(crate) fn show_terms(&self, terms: &[Term]) -> String {
        let mut show = Show { cx: self, text: String::new(), rows: HashMap::new(), named: 0 };
        show.sum(terms, "\n+ ");
        show.text
    }

    /// A value in which the rows `scope` may occur.
    pub(crate) fn show_val(&self, scope: &[(Var, Rel)], value: &V) -> String {
        let mut show = Show { cx: self, text: String::new(), rows: HashMap::new(), named: 0 };
        for (var, rel) in scope {
            show.rows.insert(*var, (format!("r{var}"), table(rel)));
        }
        show.val(value);
        show.text
    }
}

fn table(rel: &Rel) -> Option<TableId> {
    match rel {
        Rel::Table(table) => Some(*table),
        Rel::Distinct(_) => None,
    }
}

/// A text being written.
struct Show<'a> {
    cx: &'a Cx<'a>,
    text: String,
    /// What each row is called, and the table that it is of.
    rows: HashMap<Var, (String, Option<TableId>)>,
    /// How many rows have got a name.
    named: usize,
}

impl Show<'_> {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn list<T>(&mut self, parts: &[T], between: &str, mut each: impl FnMut(&mut Self, &T)) {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.put(between);
            }
            each(self, part);
        }
    }

    fn sum(&mut self, terms: &[Term], between: &str) {
        match terms {
            [] => self.put("no rows"),
            terms => self.list(terms, between, Self::term),
        }
    }

    fn braces(&mut self, head: &str, nf: &Nf) {
        self.put(head);
        self.put("{");
        self.sum(&nf.terms, " + ");
        self.put("}");
    }

    /// The rows and the condition of a term.
    fn term_head(&mut self, term: &Term) {
        if term.vars.is_empty() {
            self.put("one row");
        }
        for (i, (var, rel)) in term.vars.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            match rel {
                Rel::Table(table) => self.put(&self.cx.schema.tables[*table].name),
                Rel::Distinct(nf) => self.braces("distinct ", nf),
            }
            let name = format!("x{}", self.named);
            self.named += 1;
            let _ = write!(self.text, " {name}");
            self.rows.insert(*var, (name, table(rel)));
        }
        if !term.phi.is_empty() {
            self.put(" where ");
            self.list(&term.phi, " and ", |show, part| show.formula(part, true));
        }
    }

    fn term(&mut self, term: &Term) {
        self.term_head(term);
        self.put(": (");
        self.list(&term.out, ", ", Self::val);
        self.put(")");
        self.weight(&term.weight);
    }

    fn weight(&mut self, weight: &V) {
        if !matches!(&**weight, Val::Lit(value, _) if value.to_string() == "1") {
            self.put(" × ");
            self.val(weight);
        }
    }

    fn column(&mut self, row: &str, table: Option<TableId>, index: usize) {
        let column = table.and_then(|table| self.cx.schema.tables[table].columns.get(index));
        let _ = match column {
            Some(column) => write!(self.text, "{row}.{}", column.name),
            None => write!(self.text, "{row}.{}", index + 1),
        };
    }

    /// The names of a key's columns.
    fn key(&mut self, table: TableId, key: usize) {
        let table = &self.cx.schema.tables[table];
        let columns = table.keys.get(key).map(|key| key.columns.as_slice()).unwrap_or_default();
        let names: Vec<&str> = columns.iter().map(|i| table.columns[*i].name.as_str()).collect();
        let _ = write!(self.text, "({})", names.join(", "));
    }

    fn val(&mut self, value: &V) {
        match &**value {
            Val::Col(col) => {
                let (name, table) = self.rows.get(&col.var).cloned().unwrap_or_else(|| (format!("r{}", col.var), None));
                self.column(&name, table, col.index);
            }
            Val::Lit(value, _) => _ = write!(self.text, "{value}"),
            Val::Null(_) => self.put("NULL"),
            Val::Call { name, args, .. } => {
                let _ = write!(self.text, "{name}(");
                self.list(args, ", ", Self::val);
                self.put(")");
            }
            Val::Arith(op, a, b, _) => {
                self.put("(");
                self.val(a);
                self.put(match op {
                    Op::Add => " + ",
                    Op::Sub => " - ",
                    Op::Mul => " * ",
                });
                self.val(b);
                self.put(")");
            }
            Val::Case(condition, a, b) => {
                self.put("(if ");
                self.formula(condition, false);
                self.put(" then ");
                self.val(a);
                self.put(" else ");
                self.val(b);
                self.put(")");
            }
            Val::Bool(is_true, is_false) => {
                self.put("(TRUE if ");
                self.formula(is_true, false);
                self.put(", FALSE if ");
                self.formula(is_false, false);
                self.put(")");
            }
            Val::Total(term, _) => {
                self.put("sum{");
                self.term(term);
                self.put("}");
            }
            Val::Extreme(true, nf, _) => self.braces("max", nf),
            Val::Extreme(false, nf, _) => self.braces("min", nf),
            Val::OfBag(name, nf, _) => self.braces(name, nf),
            Val::Scalar(nf, _) => self.braces("only", nf),
            Val::Lookup { table, key, at, column, .. } => {
                let name = self.cx.schema.tables[*table].name.clone();
                self.put(&name);
                self.at(*table, *key, at);
                self.column("", Some(*table), *column);
            }
        }
    }

    /// `[(key) = (values)]`.
    fn at(&mut self, table: TableId, key: usize, at: &[V]) {
        self.put("[");
        self.key(table, key);
        self.put(" = (");
        self.list(at, ", ", Self::val);
        self.put(")]");
    }

    /// `tight` where an OR would need parentheses.
    fn formula(&mut self, formula: &Formula, tight: bool) {
        match formula {
            Formula::True => self.put("TRUE"),
            Formula::False => self.put("FALSE"),
            Formula::And(parts) => self.list(parts, " and ", |show, part| show.formula(part, true)),
            Formula::Or(parts) => {
                self.put(if tight { "(" } else { "" });
                self.list(parts, " or ", |show, part| show.formula(part, true));
                self.put(if tight { ")" } else { "" });
            }
            Formula::Not(inner) => {
                self.put("not (");
                self.formula(inner, false);
                self.put(")");
            }
            Formula::Null(value) => {
                self.val(value);
                self.put(" is NULL");
            }
            Formula::Truth(value) => self.val(value),
            Formula::Cmp(op, a, b) => {
                self.val(a);
                self.put(match op {
                    Cmp::Eq => " = ",
                    Cmp::Ne => " <> ",
                    Cmp::Lt => " < ",
                    Cmp::Le => " <= ",
                });
                self.val(b);
            }
            Formula::Same(a, b) => {
                self.val(a);
                self.put(" is ");
                self.val(b);
            }
            Formula::Exists(term) => {
                self.put("exists{");
                self.term_head(term);
                self.weight(&term.weight);
                self.put("}");
            }
            Formula::Has { table, key, at } => {
                let name = self.cx.schema.tables[*table].name.clone();
                let _ = write!(self.text, "exists {name}");
                self.at(*table, *key, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use super::*;
    use crate::ir::{Schema, Type, Value};
    use crate::normal::term::{Col, F};

    fn schema() -> Schema {
        let ddl = "CREATE TABLE ship(id INT PRIMARY KEY, name TEXT); CREATE TABLE visit(ship INT, tons INT)";
        crate::lower::schema(ddl, &BTreeMap::new()).expect("a schema")
    }

    fn column(var: Var, index: usize) -> V {
        Rc::new(Val::Col(Col { var, index, ty: Type::Integer, not_null: false }))
    }

    fn number(number: i64) -> V {
        Rc::new(Val::Lit(Value::Int(number), Type::Integer))
    }

    fn term(vars: Vec<(Var, Rel)>, phi: Vec<F>, out: V) -> Term {
        Term { vars, phi, weight: number(1), out: vec![out] }
    }

    #[test]
    fn terms_have_the_names_of_the_schema() {
        let schema = schema();
        let cx = Cx::new(&schema, u64::MAX);
        let heavy: F = Rc::new(Formula::Cmp(Cmp::Lt, number(5), column(7, 1)));
        let visits = term(vec![(7, Rel::Table(1))], vec![heavy], column(7, 0));
        let has = Rc::new(Formula::Has { table: 0, key: 0, at: vec![column(9, 0)] });
        let or = Rc::new(Formula::Or(vec![has, Rc::new(Formula::Null(column(8, 1)))]));
        let same = Rc::new(Formula::Same(column(8, 0), column(9, 0)));
        let distinct = Rel::Distinct(Rc::new(Nf { terms: vec![visits.clone()] }));
        let name = Val::Lookup { table: 0, key: 0, at: vec![column(9, 0)], column: 1, ty: Type::Text };
        let joined =
            Term { weight: number(2), ..term(vec![(8, Rel::Table(0)), (9, distinct)], vec![same, or], Rc::new(name)) };
        assert_eq!(
            cx.show_terms(&[visits, joined]),
            "visit x0 where 5 < x0.tons: (x0.ship)\n\
             + ship x1, distinct {visit x2 where 5 < x2.tons: (x2.ship)} x3 where x1.id is x3.1 \
             and (exists ship[(id) = (x3.1)] or x1.name is NULL): (ship[(id) = (x3.1)].name) × 2"
        );
        assert_eq!(cx.show_terms(&[]), "no rows");
        assert_eq!(cx.show_terms(&[term(Vec::new(), Vec::new(), number(3))]), "one row: (3)");
    }

    #[test]
    fn values_name_the_rows_they_are_about() {
        let schema = schema();
        let cx = Cx::new(&schema, u64::MAX);
        let same = Rc::new(Formula::Cmp(Cmp::Eq, column(2, 0), column(1, 0)));
        let sum = Val::Total(Rc::new(term(vec![(2, Rel::Table(1))], vec![same], column(2, 1))), Type::Integer);
        let shown =
            cx.show_val(&[(1, Rel::Table(0))], &Rc::new(Val::Arith(Op::Add, Rc::new(sum), number(1), Type::Integer)));
        assert_eq!(shown, "(sum{visit x0 where x0.ship = r1.id: (x0.tons)} + 1)");
    }
}

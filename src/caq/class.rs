//! Oracle classes and their TOML form.

use super::bind::{BindError, bind};
use super::names::{Names, Placeholder, PlaceholderKind, PlaceholderRequirement};
use super::proof::Edge;
use super::template::Template;
use crate::sql::lex::{Token, tokens};
use crate::sql::schema::{Schema, SchemaError, parse_columns, parse_schema};
use crate::sql::types::SqlType;
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use thiserror::Error;

/// A schema, placeholders, and members that return the same bag of rows for every admissible filling.
#[derive(Debug, Clone)]
pub struct OracleClass {
    /// Unique name.
    pub name: String,
    /// Where the class is from.
    pub origin: String,
    /// Why its members are equivalent, in one sentence.
    pub about: String,
    /// The file it was read from.
    pub file: String,
    /// The DDL as written.
    pub ddl: String,
    /// The placeholders' constraints as written.
    pub constraints: BTreeMap<String, String>,
    pub(super) edges: Vec<Edge>,
    /// The tables of the class.
    pub schema: Schema,
    /// The schema's tables, the table placeholders as further relations, and the placeholders.
    pub names: Names,
    /// What the members demand of each placeholder's filling, in the order of the placeholders.
    pub demands: Vec<PlaceholderRequirement>,
    /// The members; at least two.
    pub members: Vec<Member>,
    /// The dialects the class is written for; empty means all.
    pub dialects: Vec<String>,
    /// What the equivalence assumes of an engine beyond the standard's semantics.
    pub assumes: Vec<Assumption>,
    /// Aliases that members introduce, in lower case: a snippet that uses one of them cannot be filled in.
    pub aliases: BTreeSet<String>,
}

/// One query of a class.
#[derive(Debug, Clone)]
pub struct Member {
    /// As written in the class.
    pub sql: String,
    /// Compiled.
    pub template: Template,
    /// Which optimizer switch of the dialect is flipped while it runs: a name, or `*` for any.
    pub switch: Option<String>,
}

/// Why a class file cannot be used. The message names file, class, member and position.
#[derive(Debug, Error)]
pub enum ClassError {
    /// The file is no TOML of the expected form.
    #[error("{file} is not a class file")]
    Toml {
        /// The file.
        file: String,
        /// What and where.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A class is wrong apart from its members.
    #[error("{file}, class {class}: {message}")]
    Class {
        /// The file.
        file: String,
        /// The class.
        class: String,
        /// What is wrong.
        message: String,
    },
    /// The schema of a class is wrong.
    #[error("{file}, class {class}, schema")]
    Schema {
        /// The file.
        file: String,
        /// The class.
        class: String,
        /// What is wrong.
        #[source]
        source: SchemaError,
    },
    /// A member of a class is wrong.
    #[error("{file}, class {class}, member {member}")]
    Member {
        /// The file.
        file: String,
        /// The class.
        class: String,
        /// Position of the member, from 1.
        member: usize,
        /// What is wrong, and where in the member.
        #[source]
        source: BindError,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    class: Vec<ClassText>,
}

/// A class as it is written, unchecked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassText {
    /// Unique name.
    pub name: String,
    /// Where the class is from.
    #[serde(default)]
    pub origin: String,
    /// Why its members are equivalent, in one sentence.
    #[serde(default)]
    pub about: String,
    /// The DDL.
    pub schema: String,
    /// The placeholders' constraints.
    #[serde(default)]
    pub placeholders: BTreeMap<String, String>,
    /// The members.
    pub members: Vec<MemberText>,
    /// The dialects the class is written for; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialects: Vec<String>,
    /// What the equivalence assumes of an engine beyond the standard's semantics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<Assumption>,
}

/// A member as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MemberText {
    /// A query.
    Sql(String),
    /// A query that runs with an optimizer switch flipped.
    Switched {
        /// The query.
        sql: String,
        /// The switch by name, or `*` for any.
        switch: String,
    },
}

impl MemberText {
    /// The query.
    pub fn sql(&self) -> &str {
        match self {
            Self::Sql(sql) | Self::Switched { sql, .. } => sql,
        }
    }

    /// The switch.
    pub fn switch(&self) -> Option<&str> {
        match self {
            Self::Sql(_) => None,
            Self::Switched { switch, .. } => Some(switch),
        }
    }
}

/// Reads a class file, unchecked.
pub fn read_classes(file: &str, text: &str) -> Result<Vec<ClassText>, ClassError> {
    let File { class } =
        toml::from_str(text).map_err(|source| ClassError::Toml { file: file.to_owned(), source: Box::new(source) })?;
    Ok(class)
}

/// Reads a class file and checks its classes.
pub fn parse_classes(file: &str, text: &str) -> Result<Vec<OracleClass>, ClassError> {
    read_classes(file, text)?.into_iter().map(|class| OracleClass::new(file, class)).collect()
}

/// Writes a class file.
pub fn print_classes(classes: Vec<ClassText>) -> Result<String, toml::ser::Error> {
    toml::to_string_pretty(&File { class: classes })
}

/// The tables and names that a schema and placeholders make, or what is wrong with them.
fn names(schema: &Schema, constraints: &BTreeMap<String, String>) -> Result<Names, NamesError> {
    let fault = |message: String| Err(NamesError::Fault(message));
    let mut names = Names { relations: schema.tables.clone(), placeholders: Vec::new() };
    // Table placeholders first, because expression placeholders may be over them.
    for (name, constraint) in constraints {
        if let Some(columns) = constraint.strip_prefix("Table(").and_then(|c| c.strip_suffix(')')) {
            let table = parse_columns(name, columns)?;
            if names.relations.iter().any(|r| r.name.eq_ignore_ascii_case(name)) {
                return fault(format!("placeholder {name} has the name of a table"));
            }
            if !table.primary_key.is_empty() || !table.unique.is_empty() || table.columns.iter().any(|c| c.not_null) {
                return fault(format!("placeholder {name}: a table placeholder has no constraints"));
            }
            names.relations.push(table);
            let relation = names.relations.len() - 1;
            names.placeholders.push(Placeholder { name: name.clone(), kind: PlaceholderKind::Table { relation } });
        }
    }
    for (name, constraint) in constraints {
        if constraint.starts_with("Table(") {
            continue;
        }
        let inner = constraint.strip_prefix("Expr(").and_then(|c| c.strip_suffix(')'));
        let Some((table, ty)) = inner.and_then(|c| c.split_once(':')) else {
            return fault(format!(
                "placeholder {name} is `{constraint}`; write `Expr(table: TYPE)` or `Table(col TYPE, …)`"
            ));
        };
        let table = table.trim();
        let Some(relation) = names.relations.iter().position(|r| r.name.eq_ignore_ascii_case(table)) else {
            return fault(format!("placeholder {name} is over {table}, which is no table"));
        };
        let Some(ty) = SqlType::parse(ty) else {
            return fault(format!("placeholder {name}: no type {}", ty.trim()));
        };
        if names.relations.iter().any(|r| r.column(name).is_some()) {
            return fault(format!("placeholder {name} has the name of a real column"));
        }
        names.placeholders.push(Placeholder { name: name.clone(), kind: PlaceholderKind::Expr { relation, ty } });
    }
    Ok(names)
}

/// Why a schema and placeholders cannot be used.
#[derive(Debug, Error)]
pub enum NamesError {
    /// The schema, or the columns of a table placeholder.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A placeholder.
    #[error("{0}")]
    Fault(String),
}

/// The schema and the names of a CAQ.
pub fn read_names(ddl: &str, placeholders: &BTreeMap<String, String>) -> Result<(Schema, Names), NamesError> {
    let schema = parse_schema(ddl)?;
    let names = names(&schema, placeholders)?;
    Ok((schema, names))
}

impl OracleClass {
    /// The types of the columns of each table placeholder.
    pub fn table_shapes(&self) -> Vec<Vec<SqlType>> {
        let relations = self.names.placeholders.iter().filter_map(|placeholder| match placeholder.kind {
            PlaceholderKind::Table { relation } => Some(&self.names.relations[relation]),
            PlaceholderKind::Expr { .. } => None,
        });
        relations.map(|table| table.columns.iter().map(|column| column.ty).collect()).collect()
    }

    /// Checks a class. The file is named in errors.
    pub fn new(file: &str, text: ClassText) -> Result<Self, ClassError> {
        let class_error =
            |message: String| ClassError::Class { file: file.to_owned(), class: text.name.clone(), message };
        let (schema, names) = read_names(&text.schema, &text.placeholders).map_err(|error| match error {
            NamesError::Schema(source) => {
                ClassError::Schema { file: file.to_owned(), class: text.name.clone(), source }
            }
            NamesError::Fault(message) => class_error(message),
        })?;
        let mut members = Vec::new();
        let mut demands = vec![PlaceholderRequirement::default(); names.placeholders.len()];
        let mut used = vec![false; names.placeholders.len()];
        let mut aliases = BTreeSet::new();
        for (at, member) in text.members.iter().enumerate() {
            let sql = member.sql();
            let bound = bind(sql, &names).map_err(|source| ClassError::Member {
                file: file.to_owned(),
                class: text.name.clone(),
                member: at + 1,
                source,
            })?;
            for (placeholder, demand) in bound.demands.iter().enumerate() {
                used[placeholder] |= bound.uses[placeholder];
                demands[placeholder] = demands[placeholder].and(*demand);
            }
            aliases.extend(bound.aliases);
            let switch = member.switch().map(str::to_owned);
            members.push(Member { sql: sql.to_owned(), template: bound.template, switch });
        }
        if members.len() < 2 {
            return Err(class_error("a class needs at least two members".to_owned()));
        }
        let table_over = |relation: usize| {
            names
                .placeholders
                .iter()
                .any(|p| matches!(p.kind, PlaceholderKind::Expr { relation: over, .. } if over == relation))
        };
        for (placeholder, used) in names.placeholders.iter().zip(&used) {
            if let PlaceholderKind::Table { relation } = placeholder.kind
                && table_over(relation)
            {
                continue;
            }
            if !used {
                return Err(class_error(format!("placeholder {} is used by no member", placeholder.name)));
            }
        }
        Ok(Self {
            name: text.name,
            origin: text.origin,
            about: text.about,
            file: file.to_owned(),
            ddl: text.schema,
            constraints: text.placeholders,
            edges: Vec::new(),
            schema,
            names,
            demands,
            members,
            dialects: text.dialects,
            assumes: text.assumes,
            aliases,
        })
    }

    /// The class with other texts in the place of two members, of which no proof speaks yet. It is about these two: what
    /// others demand of fillings does not count. With it, which placeholders they use.
    pub fn with_texts(&self, texts: [(usize, String); 2]) -> Result<(Self, Vec<bool>), BindError> {
        let mut class = self.clone();
        let mut used = vec![false; self.names.placeholders.len()];
        class.edges.clear();
        class.aliases.clear();
        class.demands.fill(PlaceholderRequirement::default());
        for (at, sql) in texts {
            let bound = bind(&sql, &self.names)?;
            for (demand, of_text) in class.demands.iter_mut().zip(&bound.demands) {
                *demand = demand.and(*of_text);
            }
            used.iter_mut().zip(&bound.uses).for_each(|(used, uses)| *used |= uses);
            class.aliases.extend(bound.aliases);
            class.members[at] = Member { sql, template: bound.template, switch: None };
        }
        Ok((class, used))
    }

    /// What the prover said about pairs of members in their present text, sorted.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Whether a member divides, by an operator or within an average: a sum may be divided otherwise than what was summed.
    pub fn divides(&self) -> bool {
        let divides = |token: &Token| match token {
            Token::Symbol('/' | '%') => true,
            Token::Word(word) => ["div", "mod", "avg"].contains(&word.to_ascii_lowercase().as_str()),
            _ => false,
        };
        // What cannot be read may divide.
        self.members.iter().any(|member| tokens(&member.sql).map_or(true, |tokens| tokens.iter().any(divides)))
    }

    /// The class as it is written.
    pub fn text(&self) -> ClassText {
        let member = |m: &Member| match &m.switch {
            None => MemberText::Sql(m.sql.clone()),
            Some(switch) => MemberText::Switched { sql: m.sql.clone(), switch: switch.clone() },
        };
        ClassText {
            name: self.name.clone(),
            origin: self.origin.clone(),
            about: self.about.clone(),
            schema: self.ddl.clone(),
            placeholders: self.constraints.clone(),
            members: self.members.iter().map(member).collect(),
            dialects: self.dialects.clone(),
            assumes: self.assumes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"
[[class]]
name = "c"
schema = "CREATE TABLE t1(c0 INT, c1 TEXT); CREATE TABLE t2(c0 INT)"
placeholders = { p1 = "Expr(t2: INT)", q1 = "Expr(t1: BOOLEAN)", v1 = "Table(c0 INT)", w1 = "Expr(v1: BOOLEAN)" }
"#;

    fn class(members: &[&str]) -> Result<OracleClass, ClassError> {
        let members: Vec<String> = members.iter().map(|m| format!("{m:?}")).collect();
        let text = format!("{HEAD}members = [{}]", members.join(", "));
        parse_classes("f.toml", &text).map(|mut classes| classes.remove(0))
    }

    /// Binds one query beside one that uses every placeholder harmlessly.
    fn with(member: &str) -> Result<OracleClass, ClassError> {
        class(&["SELECT 1 FROM t2, t1, v1 WHERE t2.p1 IS NULL AND t1.q1 AND v1.w1", member])
    }

    fn chain(error: &dyn std::error::Error) -> String {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }

    #[test]
    fn a_class_assumes_only_what_is_an_assumption() {
        let with = |assumption: &str| {
            let text = "[[class]]\nname = 'c'\nschema = 'CREATE TABLE t(a INT)'\nmembers = ['SELECT 1 FROM t', 'SELECT 1 FROM t']";
            parse_classes("f.toml", &format!("{text}\nassumes = ['{assumption}']"))
                .map(|mut classes| classes.remove(0).assumes)
        };
        assert_eq!(with("exact-sums").expect("a class"), [Assumption::ExactSums]);
        let said = chain(&with("exact-sum").expect_err("a slip of the pen"));
        assert!(["f.toml", "`exact-sum`", "`exact-sums`"].iter().all(|part| said.contains(part)), "{said}");
    }

    #[test]
    fn star_stands_for_real_columns_only() {
        let class = with("SELECT * FROM t1 LEFT JOIN t2 ON t1.q1").expect("binds");
        let mut text = String::new();
        let fills = vec![
            crate::caq::instantiation::Instantiation::Table(
                crate::caq::instantiation::TableInstantiation::Name("t2".into())
            );
            class.names.placeholders.len()
        ];
        class.members[1].template.render(&fills, &mut text);
        assert_eq!(text, "SELECT t1.c0, t1.c1, t2.c0 FROM t1 LEFT JOIN t2 ON (NULL)");
    }

    #[test]
    fn null_preservation_is_demanded_only_above_a_padding_join() {
        let demand = |sql: &str, name: &str| {
            let class = with(sql).expect("binds");
            let at = class.names.placeholders.iter().position(|p| p.name == name).expect("a placeholder");
            class.demands[at].null_preserving
        };
        for (sql, name, demanded) in [
            ("SELECT t2.p1 FROM t1 LEFT JOIN t2 ON FALSE", "p1", true),
            ("SELECT t1.c0 FROM t1 LEFT JOIN t2 ON t2.p1 = t1.c0", "p1", false),
            ("SELECT t1.c0 FROM t1 LEFT JOIN t2 ON t2.p1 = t1.c0 WHERE t1.q1", "q1", false),
            ("SELECT t2.c0 FROM t1 RIGHT JOIN t2 ON t1.q1 WHERE t1.q1", "q1", true),
            ("SELECT t2.c0 FROM t1 FULL JOIN t2 ON TRUE WHERE t2.p1 > 0", "p1", true),
            // The second join's condition sees rows that the first one padded.
            ("SELECT 1 FROM t1 LEFT JOIN t2 ON TRUE LEFT JOIN t1 AS a ON t2.p1 = a.c0", "p1", true),
            // Inside a derived table the value is computed before the padding.
            ("SELECT s.w FROM t1 LEFT JOIN (SELECT t2.p1 AS w FROM t2) AS s ON FALSE", "p1", false),
            (
                "SELECT 1 FROM t1 LEFT JOIN t2 ON TRUE WHERE EXISTS (SELECT 1 FROM t1 AS a WHERE a.c0 = t2.p1)",
                "p1",
                true,
            ),
            ("SELECT 1 FROM t1 JOIN (t2 LEFT JOIN t1 AS b ON TRUE) ON b.q1", "q1", true),
        ] {
            assert_eq!(demand(sql, name), demanded, "{sql}");
        }
    }

    #[test]
    fn truth_values_are_told_from_values() {
        let truth = |sql: &str| {
            let class = with(sql).expect("binds");
            let at = class.names.placeholders.iter().position(|p| p.name == "q1").expect("q1");
            class.demands[at].truth_value_only
        };
        assert!(truth("SELECT 1 FROM t1 WHERE (NOT t1.q1) OR ((t1.q1)) IS NULL"));
        assert!(truth("SELECT COUNT(CASE WHEN t1.q1 THEN 1 END) FROM t1"));
        assert!(!truth("SELECT t1.q1 FROM t1"));
        assert!(!truth("SELECT 1 FROM t1 WHERE t1.q1 = TRUE"));
        assert!(!truth("SELECT COUNT(t1.q1) FROM t1 WHERE t1.q1"));
    }

    #[test]
    fn a_collation_must_not_reach_a_comparison_of_the_member() {
        let refused = |sql: &str| {
            let class = with(sql).expect("binds");
            let at = class.names.placeholders.iter().position(|p| p.name == "q1").expect("q1");
            class.demands[at].no_collation
        };
        for sql in [
            "SELECT t1.c0 FROM t1 WHERE (t1.q1 OR NOT t1.q1) IS TRUE",
            "SELECT COUNT(CASE WHEN t1.q1 THEN 1 END) FROM t1",
            "SELECT DISTINCT (t1.q1) IS TRUE AS b FROM t1",
            "SELECT SUM(CASE WHEN t1.q1 THEN 1 ELSE 0 END) AS n FROM t1",
            "SELECT t1.c0 FROM t1 WHERE CASE WHEN t1.q1 THEN t1.c0 ELSE NULL END",
        ] {
            assert!(!refused(sql), "{sql}");
        }
        for sql in [
            "SELECT DISTINCT CASE WHEN t1.q1 THEN t1.c1 ELSE t1.c1 END AS d FROM t1",
            "SELECT t1.c0 FROM t1 WHERE t1.c1 = CASE WHEN t1.q1 OR FALSE THEN t1.c1 END",
            "SELECT MAX(CASE WHEN t1.q1 THEN t1.c1 END) AS m FROM t1",
            "SELECT COUNT(*) FROM t1 GROUP BY CASE WHEN (t1.q1) IS NULL THEN t1.c1 ELSE t1.c1 END",
            "SELECT t1.q1 FROM t1",
        ] {
            assert!(refused(sql), "{sql}");
        }
    }

    #[test]
    fn a_whole_group_by_item_must_not_be_constant() {
        let class = with("SELECT COUNT(*) FROM t2 GROUP BY t2.p1").expect("binds");
        let at = class.names.placeholders.iter().position(|p| p.name == "p1").expect("p1");
        assert!(class.demands[at].no_constant);
    }

    #[test]
    fn errors_name_file_class_member_and_position() {
        for (sql, parts) in [
            ("SELECT t1.c9 FROM t1", vec!["f.toml", "class c", "member 2", "no column c9", "column 11"]),
            ("SELECT x.c0 FROM t1", vec!["member 2", "no table or alias x"]),
            ("SELECT p1 FROM t2", vec!["qualify the placeholder p1"]),
            ("SELECT c0 FROM t2", vec!["qualify c0"]),
            ("SELECT t2.c0 FROM t2 WHERE t2.c0 IN ((t2.p1))", vec!["only item of an IN list"]),
            ("SELECT t1.c0 FROM t1, t2 AS a RIGHT JOIN t2 ON a.c0 = t2.c0", vec!["after a comma"]),
            ("SELECT t1.p1 FROM t1", vec!["no column p1"]),
            ("SELECT t1.c0 FROM t1 WHERE", vec!["does not parse", "Expected"]),
            ("SELECT * FROM t3", vec!["no table t3"]),
            ("SELECT a.c0 FROM t1 AS t2, t2 AS a", vec!["already the name of a table"]),
            (
                "SELECT s.z FROM (SELECT t1.c0 AS z FROM t1) AS s NATURAL JOIN t2",
                vec!["NATURAL", "without a common column"],
            ),
            // Further columns of a table would be compared too.
            ("SELECT t2.c0 FROM t2 NATURAL JOIN t2 AS a", vec!["NATURAL", "with itself"]),
            ("SELECT t2.c0 FROM t2 JOIN t2 AS a ON a.c0 = t2.c0 JOIN t1 USING (c0)", vec!["more than once"]),
            ("SELECT t2.c0 FROM t2 JOIN t1 USING (c0) WHERE EXISTS (SELECT c0 FROM t1 AS b)", vec!["qualify c0"]),
            ("SELECT t1.c0 FROM t2, t2 AS a JOIN t1 USING (c0)", vec!["beside a comma"]),
            ("SELECT * FROM t2 JOIN t1 USING (c0)", vec!["* over USING"]),
            ("SELECT t1.c0 FROM t1 NATURAL JOIN (SELECT t2.c0, (t2.p1) FROM t2) AS s", vec!["without a name"]),
            ("SELECT - t2.c0 AS c0 FROM t2 JOIN t1 USING (c0)", vec!["the merged column"]),
            ("SELECT sq1.c0 FROM t1 AS sq1", vec!["reserved"]),
            ("SELECT t1.c0 FROM t1 FETCH FIRST 1 ROWS ONLY", vec!["unsupported"]),
            ("DELETE FROM t1", vec!["expected one query"]),
        ] {
            let error = with(sql).expect_err(sql);
            let text = chain(&error);
            for part in parts {
                assert!(text.contains(part), "{sql}: `{text}` does not say `{part}`");
            }
        }
    }

    #[test]
    fn classes_that_test_nothing_are_refused() {
        assert!(class(&["SELECT 1 FROM t2 WHERE t2.p1 IS NULL"]).is_err(), "one member");
        assert!(class(&["SELECT 1 FROM t1", "SELECT 1 FROM t1"]).is_err(), "unused placeholders");
        assert!(parse_classes("f.toml", "[[class]]\nname = 'c'\nfoo = 1").is_err(), "unknown field");
    }
}

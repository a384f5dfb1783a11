//! Oracle classes and their TOML form.

use super::bind::{BindError, bind};
use super::names::{Demand, Names, Placeholder, PlaceholderKind};
use super::proof::Edge;
use super::template::Template;
use crate::sql::schema::{Schema, SchemaError, parse_columns, parse_schema};
use crate::sql::types::SqlType;
use serde::Deserialize;
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
    /// What the prover said about pairs of members in their present text, sorted.
    pub edges: Vec<Edge>,
    /// The tables of the class.
    pub schema: Schema,
    /// The schema's tables, the table placeholders as further relations, and the placeholders.
    pub names: Names,
    /// What the members demand of each placeholder's filling, in the order of the placeholders.
    pub demands: Vec<Demand>,
    /// The members; at least two.
    pub members: Vec<Member>,
    /// The dialects the class is written for; empty means all.
    pub dialects: Vec<String>,
    /// What the equivalence assumes of an engine beyond the standard's semantics.
    pub assumes: Vec<String>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    class: Vec<RawClass>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClass {
    name: String,
    #[serde(default)]
    origin: String,
    #[serde(default)]
    about: String,
    schema: String,
    #[serde(default)]
    placeholders: BTreeMap<String, String>,
    members: Vec<RawMember>,
    #[serde(default)]
    dialects: Vec<String>,
    #[serde(default)]
    assumes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawMember {
    Sql(String),
    Switched { sql: String, switch: String },
}

/// Reads a class file.
pub fn parse_classes(file: &str, text: &str) -> Result<Vec<OracleClass>, ClassError> {
    let raw: RawFile =
        toml::from_str(text).map_err(|source| ClassError::Toml { file: file.to_owned(), source: Box::new(source) })?;
    raw.class.into_iter().map(|class| check(file, class)).collect()
}

fn check(file: &str, raw: RawClass) -> Result<OracleClass, ClassError> {
    let class_error = |message: String| ClassError::Class { file: file.to_owned(), class: raw.name.clone(), message };
    let schema_error =
        |source: SchemaError| ClassError::Schema { file: file.to_owned(), class: raw.name.clone(), source };
    let schema = parse_schema(&raw.schema).map_err(schema_error)?;
    let mut names = Names { relations: schema.tables.clone(), placeholders: Vec::new() };
    // Table placeholders first, because expression placeholders may be over them.
    for (name, constraint) in &raw.placeholders {
        if let Some(columns) = constraint.strip_prefix("Table(").and_then(|c| c.strip_suffix(')')) {
            let table = parse_columns(name, columns).map_err(schema_error)?;
            if names.relations.iter().any(|r| r.name.eq_ignore_ascii_case(name)) {
                return Err(class_error(format!("placeholder {name} has the name of a table")));
            }
            if !table.primary_key.is_empty() || !table.unique.is_empty() || table.columns.iter().any(|c| c.not_null) {
                return Err(class_error(format!("placeholder {name}: a table placeholder has no constraints")));
            }
            names.relations.push(table);
            let relation = names.relations.len() - 1;
            names.placeholders.push(Placeholder { name: name.clone(), kind: PlaceholderKind::Table { relation } });
        }
    }
    for (name, constraint) in &raw.placeholders {
        if constraint.starts_with("Table(") {
            continue;
        }
        let (table, ty) = constraint
            .strip_prefix("Expr(")
            .and_then(|c| c.strip_suffix(')'))
            .and_then(|c| c.split_once(':'))
            .ok_or_else(|| {
                class_error(format!(
                    "placeholder {name} is `{constraint}`; write `Expr(table: TYPE)` or `Table(col TYPE, …)`"
                ))
            })?;
        let relation =
            names.relations.iter().position(|r| r.name.eq_ignore_ascii_case(table.trim())).ok_or_else(|| {
                class_error(format!("placeholder {name} is over {}, which is no table", table.trim()))
            })?;
        let ty = SqlType::parse(ty).ok_or_else(|| class_error(format!("placeholder {name}: no type {}", ty.trim())))?;
        if names.relations.iter().any(|r| r.column(name).is_some()) {
            return Err(class_error(format!("placeholder {name} has the name of a real column")));
        }
        names.placeholders.push(Placeholder { name: name.clone(), kind: PlaceholderKind::Expr { relation, ty } });
    }

    let mut members = Vec::new();
    let mut demands = vec![Demand::default(); names.placeholders.len()];
    let mut used = vec![false; names.placeholders.len()];
    let mut aliases = BTreeSet::new();
    for (at, member) in raw.members.iter().enumerate() {
        let (sql, switch) = match member {
            RawMember::Sql(sql) => (sql, None),
            RawMember::Switched { sql, switch } => (sql, Some(switch.clone())),
        };
        let bound = bind(sql, &names).map_err(|source| ClassError::Member {
            file: file.to_owned(),
            class: raw.name.clone(),
            member: at + 1,
            source,
        })?;
        for (placeholder, demand) in bound.demands.iter().enumerate() {
            used[placeholder] |= bound.uses[placeholder];
            demands[placeholder] = demands[placeholder].and(*demand);
        }
        aliases.extend(bound.aliases);
        members.push(Member { sql: sql.clone(), template: bound.template, switch });
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
    Ok(OracleClass {
        name: raw.name,
        origin: raw.origin,
        about: raw.about,
        file: file.to_owned(),
        ddl: raw.schema,
        constraints: raw.placeholders,
        edges: Vec::new(),
        schema,
        names,
        demands,
        members,
        dialects: raw.dialects,
        assumes: raw.assumes,
        aliases,
    })
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
    fn star_stands_for_real_columns_only() {
        let class = with("SELECT * FROM t1 LEFT JOIN t2 ON t1.q1").expect("binds");
        let mut text = String::new();
        let fills = vec![
            crate::caq::fill::Fill::Table(crate::caq::fill::TableFill::Name("t2".into()));
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
            ("SELECT s.c0 FROM (SELECT t1.c0 FROM t1) AS s NATURAL JOIN t2", vec!["NATURAL"]),
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

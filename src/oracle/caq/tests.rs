use super::*;
use crate::catalogue::{profile, shipped};
use crate::oracle::test_setting;

/// The names of columns that are of type TEXT in all tables that have them.
fn texts(class: &OracleClass) -> Vec<&str> {
    let columns = || class.names.relations.iter().flat_map(|table| &table.columns);
    let of_text = columns().filter(|c| c.ty == SqlType::Text).map(|c| c.name.as_str());
    of_text.filter(|name| columns().filter(|c| c.name == *name).all(|c| c.ty == SqlType::Text)).collect()
}

/// Whether a column stands beside a comparison in a query.
fn is_compared(sql: &str, column: &str) -> bool {
    const COMPARISONS: [&str; 10] = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT", "IN (", "BETWEEN", "LIKE"];
    COMPARISONS.iter().any(|op| sql.contains(&format!(".{column} {op}")))
        || COMPARISONS[..6].iter().any(|op| {
            sql.split(&format!(" {op} ")).skip(1).any(|after| {
                let word: String = after.chars().take_while(|c| c.is_alphanumeric() || "._".contains(*c)).collect();
                word.ends_with(&format!(".{column}"))
            })
        })
}

#[test]
fn only_classes_that_compare_no_texts_have_other_collations() {
    let profile = profile("sqlite").expect("shipped");
    let guarantees = profile.guarantees_for(false);
    let (mut collated, mut compared) = (0, 0);
    for class in &shipped().expect("shipped").classes {
        let texts = texts(class);
        let members = class.select(&guarantees, &profile.name, false).members;
        if texts.is_empty() || members.len() < 2 {
            continue;
        }
        let sql = || members.iter().map(|at| class.members[*at].sql.as_str());
        let compares = texts.iter().any(|column| sql().any(|sql| is_compared(sql, column)));
        let holds = holds_of_any_collation(class, &members, &profile);
        assert!(!(compares && holds), "{}", class.name);
        collated += usize::from(holds);
        compared += usize::from(compares);
    }
    assert!(collated > 50 && compared > 5, "{collated} classes may have other collations, {compared} compare texts");
}

#[test]
fn keys_keep_their_collation() {
    let setting = test_setting("sqlite", |_| {});
    let class = |schema: &str| {
        let text =
            format!("[[class]]\nname = 'c'\nschema = '{schema}'\nmembers = ['SELECT t.c FROM t', 'SELECT t.c FROM t']");
        crate::caq::class::parse_classes("c.toml", &text).expect("a class").remove(0)
    };
    let made = |schema: &str, collated: bool| {
        let class = class(schema);
        let tables = |seed| tables(relations(&class, collated), &setting.capabilities, &mut stream(seed, &[]));
        let all = (0..200).map(tables);
        // The class's columns come before those that are added, which have collations anyway.
        all.filter(|(statements, tables)| {
            let create = statements.iter().find(|sql| sql.starts_with("CREATE TABLE t(")).map_or("", String::as_str);
            let own = create.split(", t_").next().unwrap_or_default();
            let other = ["COLLATE NOCASE", "COLLATE RTRIM"].iter().any(|collation| own.contains(collation));
            assert_eq!(other, !tables[0].columns[0].binary, "{create}");
            other
        })
        .count()
    };
    assert!(made("CREATE TABLE t(c TEXT)", true) > 5);
    assert_eq!(made("CREATE TABLE t(c TEXT)", false), 0);
    assert_eq!(made("CREATE TABLE t(c TEXT UNIQUE)", true), 0);
    assert_eq!(made("CREATE TABLE t(c TEXT, PRIMARY KEY(c))", true), 0);
    assert_eq!(made("CREATE TABLE t(c INT)", true), 0);
}

//! No shipped class disagrees with itself on the linked SQLite, and every class can run there or says why not.

use crate::support::Caqtus;
use caqtus::caq::instantiation::{Instantiation, TableInstantiation};
use caqtus::caq::node::Node;
use caqtus::sql::print::parse_query;

#[test]
fn a_fixed_campaign_over_the_whole_catalogue_is_silent() {
    let caqtus = Caqtus::new();
    let words =
        ["--oracle", "caq", "--oracle", "consistency", "--seed", "2", "--cases", "30000", "--assumed", "--out", "out"];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!(code, 0, "{json}");
    assert_eq!(json["outcomes"]["fail"], 0);
    assert!(json["outcomes"]["pass"].as_u64() > Some(29_000), "{json}");
    assert!(json["classes"].as_u64() > Some(150), "{json}");
}

#[test]
fn tables_that_refer_to_each_other_can_be_made() {
    let caqtus = Caqtus::new();
    let words = ["--oracle", "caq", "--seed", "1", "--cases", "12000", "--class", "d-6374837e85e3", "--out", "out"];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!(code, 0, "{json}");
    assert_eq!(json["replaced_databases"], 0, "{json}");
}

#[test]
fn classes_are_unused_only_for_their_dialect_or_their_proofs() {
    let caqtus = Caqtus::new();
    let output = caqtus.run(&["dbms", "check"]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("not used: lateral"), "{stdout}");
    let classes = caqtus::catalogue::shipped().expect("the shipped catalogue").classes;
    for line in stdout.lines().filter(|l| l.starts_with("not used")) {
        let reasons = [
            "written for",
            "assumed, not proven",
            "which sqlite does not guarantee",
            "the dialect has no such statement",
        ];
        let known = reasons.iter().any(|reason| line.contains(reason));
        // Discovered classes have members for several dialects; SQLite lacks just these constructs.
        let lacking = || {
            let (name, rest) = line.strip_prefix("not used: ")?.split_once(" member ")?;
            let (number, _) = rest.split_once(": not accepted")?;
            let class = classes.iter().find(|c| c.name == name && c.origin.starts_with("discovered"))?;
            let sql = &class.members.get(number.parse::<usize>().ok()? - 1)?.sql;
            ["LATERAL", "EXCEPT ALL", "ANY (", "ALL ("].into_iter().find(|construct| sql.contains(construct))
        };
        assert!(known || lacking().is_some(), "{line}");
    }
}

#[test]
fn filled_members_read_back() {
    for class in caqtus::catalogue::shipped().expect("the shipped catalogue").classes {
        let fills: Vec<Instantiation> = class
            .names
            .placeholders
            .iter()
            .enumerate()
            .map(|(at, p)| match p.kind {
                caqtus::caq::names::PlaceholderKind::Table { .. } if at % 2 == 0 => {
                    Instantiation::Table(TableInstantiation::Cte {
                        name: "filled".into(),
                        query: "SELECT 1 AS c0".to_owned(),
                    })
                }
                caqtus::caq::names::PlaceholderKind::Table { .. } => {
                    Instantiation::Table(TableInstantiation::Derived("SELECT 1 AS c0".to_owned()))
                }
                caqtus::caq::names::PlaceholderKind::Expr { .. } => {
                    Instantiation::Generated(Node::Column { level: 0, name: "filled".into() })
                }
            })
            .collect();
        for member in &class.members {
            let mut text = String::new();
            member.template.render(&fills, &mut text);
            let query = parse_query(&text).unwrap_or_else(|e| panic!("{}: {text}: {e}", class.name));
            assert_eq!(query.to_string(), text, "{}", class.name);
        }
    }
}

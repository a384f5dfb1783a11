//! What a wrong result hangs on, by experiment: the optimizer switches that make it vanish, each turned alone.

use super::confirm::{Replay, Run, replay};
use crate::dbms::Connection;
use crate::sql::profile::Switch;

/// The names of the switches under which the queries agree, on a database made afresh for each. A finding whose own
/// queries turn switches hangs on these.
///
/// `tick` is called before each experiment.
pub fn cured_by<'a>(
    connection: &mut dyn Connection,
    statements: &[String],
    queries: &[Run],
    switches: impl IntoIterator<Item = &'a Switch>,
    tick: &mut dyn FnMut(),
) -> Vec<String> {
    let own: Vec<String> = queries.iter().filter_map(|query| Some(query.switch?.name.clone())).collect();
    if !own.is_empty() {
        return own;
    }
    let mut cures = |switch: &&Switch| {
        tick();
        let switched: Vec<Run> = queries.iter().map(|query| Run { switch: Some(*switch), ..*query }).collect();
        replay(connection, statements, &switched) == Replay::Equal
    };
    switches.into_iter().filter(|switch| cures(switch)).map(|switch| switch.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;

    fn run(sql: &str) -> Run<'_> {
        Run { sql, switch: None, before: &[], after: &[], parameters: &[], optional: false }
    }

    #[test]
    fn the_switch_that_cures_is_named() {
        // tests/known-bugs/sqlite-null-column-of-a-view-used-twice.sql. When the linked SQLite has it no more, another one.
        let statements = ["CREATE VIEW v AS SELECT 1 AS x, 'a' AS y UNION ALL SELECT 2, NULL".to_owned()];
        let one = "SELECT l.x, r.y FROM v AS l JOIN v AS r ON l.x = r.x";
        let other = format!("{one} WHERE l.y IS l.y");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let profile = catalogue::profile("sqlite").expect("a profile");
        let queries = [run(one), run(&other)];
        let cures = cured_by(&mut connection, &statements, &queries, &profile.switches, &mut || {});
        assert_eq!(cures, ["all-optimizations-off"]);
        // The switch that is part of the case needs no experiment.
        let queries = [run(one), Run { switch: profile.switches.first(), ..run(one) }];
        assert_eq!(cured_by(&mut connection, &statements, &queries, [], &mut || {}), ["all-optimizations-off"]);
    }

    #[test]
    fn what_never_agrees_has_no_cure() {
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let profile = catalogue::profile("sqlite").expect("a profile");
        let statements = ["CREATE TABLE t(a INT)".to_owned(), "INSERT INTO t VALUES (1)".to_owned()];
        let mut tried = 0;
        let queries = [run("SELECT a FROM t"), run("SELECT 2")];
        let cures = cured_by(&mut connection, &statements, &queries, &profile.switches, &mut || tried += 1);
        assert!(cures.is_empty() && tried == profile.switches.len() && tried > 5, "{cures:?} {tried}");
    }
}

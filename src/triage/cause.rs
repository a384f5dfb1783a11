//! What a wrong result hangs on, by experiment: the optimizer switches that make it vanish, each turned alone.

use crate::dbms::Connection;
use crate::interpret::{Verdict, run};
use crate::program::{Check, Step};
use crate::sql::profile::{Profile, Switch};
use std::sync::Arc;

/// The names of the switches under which the queries agree, on a database made afresh for each. A finding whose own
/// queries turn switches hangs on these.
///
/// `tick` is called before each experiment.
pub fn cured_by<'a>(
    connection: &mut dyn Connection,
    profile: &Profile,
    statements: &[String],
    (steps, checks): (&[Step], &[Check]),
    switches: impl IntoIterator<Item = &'a Arc<Switch>>,
    tick: &mut dyn FnMut(),
) -> Vec<String> {
    let own: Vec<String> = steps.iter().filter_map(|step| Some(step.switch.as_ref()?.name.clone())).collect();
    if !own.is_empty() {
        return own;
    }
    let mut cures = |switch: &&Arc<Switch>| {
        tick();
        let switched: Vec<Step> =
            steps.iter().map(|step| Step { switch: Some((*switch).clone()), ..step.clone() }).collect();
        run(connection, profile, statements, &switched, checks).0 == Verdict::Holds
    };
    switches.into_iter().filter(|switch| cures(switch)).map(|switch| switch.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;
    use crate::program::Relation;

    fn all_equal(steps: &[Step]) -> [Check; 1] {
        [Check { relation: Relation::EqualBag, steps: (0..steps.len()).collect() }]
    }

    #[test]
    fn the_switch_that_cures_is_named() {
        // tests/known-bugs/sqlite-null-column-of-a-view-used-twice.slt. When the linked SQLite has it no more, another one.
        let statements = ["CREATE VIEW v AS SELECT 1 AS x, 'a' AS y UNION ALL SELECT 2, NULL".to_owned()];
        let one = "SELECT l.x, r.y FROM v AS l JOIN v AS r ON l.x = r.x";
        let other = format!("{one} WHERE l.y IS l.y");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let profile = catalogue::profile("sqlite").expect("a profile");
        let switches: Vec<Arc<Switch>> = profile.switches.iter().cloned().map(Arc::new).collect();
        let steps = [Step::query(one), Step::query(other)];
        let case = (&steps[..], &all_equal(&steps)[..]);
        let cures = cured_by(&mut connection, &profile, &statements, case, &switches, &mut || {});
        assert_eq!(cures, ["all-optimizations-off"]);
        // The switch that is part of the case needs no experiment.
        let steps = [Step::query(one), Step { switch: switches.first().cloned(), ..Step::query(one) }];
        let case = (&steps[..], &all_equal(&steps)[..]);
        let cures = cured_by(&mut connection, &profile, &statements, case, [], &mut || {});
        assert_eq!(cures, ["all-optimizations-off"]);
    }

    #[test]
    fn what_never_agrees_has_no_cure() {
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let profile = catalogue::profile("sqlite").expect("a profile");
        let statements = ["CREATE TABLE t(a INT)".to_owned(), "INSERT INTO t VALUES (1)".to_owned()];
        let mut tried = 0;
        let steps = [Step::query("SELECT a FROM t"), Step::query("SELECT 2")];
        let switches: Vec<Arc<Switch>> = profile.switches.iter().cloned().map(Arc::new).collect();
        let case = (&steps[..], &all_equal(&steps)[..]);
        let cures = cured_by(&mut connection, &profile, &statements, case, &switches, &mut || tried += 1);
        assert!(cures.is_empty() && tried == profile.switches.len() && tried > 5, "{cures:?} {tried}");
    }
}

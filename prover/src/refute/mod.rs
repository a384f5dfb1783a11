//! Looks for a small database on which two queries return different bags of rows.

mod constraints;
mod generate;
mod minimise;
mod pool;
mod print;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::eval::{Database, Limits, Outcome, Prepared, same_bag};
use crate::evidence::Witness;
use crate::ir::{Query, Schema};

use constraints::Constraints;
pub use constraints::satisfies;
use generate::Generator;
pub use generate::{Shape, random_database};

/// A number of rows that databases have by chance.
const SMALL: usize = 3;

/// One database in so many is made to reach a number that the queries count up to.
const TALL_EVERY: u32 = 3;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// A database on which the queries differ whatever the functions mean that the evaluator does not know.
    Differs(Witness),
    /// No difference in `trials` databases; on `void` others one of the queries had no result.
    Agrees {
        /// Databases on which both queries had a result.
        trials: u32,
        /// Databases on which one had not.
        void: u32,
    },
    /// The only differences rest on arbitrary meanings given to these functions, casts, aggregates or checks.
    OnlyOpaque(BTreeSet<String>),
}

/// Compares two queries of the same width on the empty database and then on random ones until `trials` have a result
/// or three times as many were tried. Equal arguments give equal results.
pub fn search(schema: &Schema, left: &Query, right: &Query, seed: u64, trials: u32, fuel: u64) -> Search {
    let Ok(pair) = Pair::new(schema, left, right, fuel) else { return Search::Agrees { trials: 0, void: trials } };
    let generator = Generator::new(schema, [left, right]);
    // Those that small tables reach anyway need no others.
    let thresholds: Vec<usize> = generator.thresholds().into_iter().filter(|n| *n >= SMALL).collect();
    let mut opaque = BTreeSet::new();
    let (mut done, mut void, mut wanted) = (0, 0, trials);
    for trial in 0..trials.saturating_mul(3) {
        if done >= wanted {
            break;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(trial.into());
        let db = if trial == 0 {
            generator.empty()
        } else {
            let mut shape = Shape::random(&mut rng, generator.tables_read());
            if trial % TALL_EVERY == 0
                && let Some(threshold) = thresholds.choose(&mut rng)
            {
                shape = shape.tall(*threshold);
            }
            generator.database(&mut rng, &shape)
        };
        let meaning = seed ^ u64::from(trial).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let Some([left, right]) = pair.outcomes(&db, meaning) else {
            void += 1;
            continue;
        };
        done += 1;
        if same_bag(&left.rows, &right.rows) {
            continue;
        }
        if left.opaque.is_empty() && right.opaque.is_empty() && !pair.constraints.uncertain(&db) {
            return Search::Differs(minimise::witness(&pair, db, meaning));
        }
        // A difference that does not rest on an arbitrary meaning is worth a longer search.
        wanted = trials.saturating_mul(2);
        opaque.extend(left.opaque);
        opaque.extend(right.opaque);
        if pair.constraints.uncertain(&db) {
            opaque.insert("check".to_owned());
        }
    }
    if opaque.is_empty() { Search::Agrees { trials: done, void } } else { Search::OnlyOpaque(opaque) }
}

/// How many numbers that the queries count rows up to, or cut at, no random database has that many rows for.
pub fn out_of_reach(schema: &Schema, left: &Query, right: &Query) -> u64 {
    pool::Pools::new(schema, [left, right]).out_of_reach
}

/// The minimised witness if the queries differ on a database that satisfies the schema.
pub fn confirm(schema: &Schema, left: &Query, right: &Query, db: Database, fuel: u64) -> Option<Witness> {
    let pair = Pair::new(schema, left, right, fuel).ok()?;
    pair.differ(&db, 0)?;
    Some(minimise::witness(&pair, db, 0))
}

/// Both queries, ready to run.
struct Pair<'s> {
    queries: [Prepared; 2],
    constraints: Constraints<'s>,
    limits: Limits,
}

impl<'s> Pair<'s> {
    fn new(schema: &'s Schema, left: &Query, right: &Query, fuel: u64) -> Result<Self, crate::eval::EvalError> {
        let queries = [Prepared::new(left)?, Prepared::new(right)?];
        Ok(Self { queries, constraints: Constraints::new(schema), limits: Limits { fuel } })
    }

    /// The results of both queries, if both have one.
    fn outcomes(&self, db: &Database, meaning: u64) -> Option<[Outcome; 2]> {
        let [left, right] = &self.queries;
        let left = left.run(db, meaning, self.limits).ok()?;
        let right = right.run(db, meaning, self.limits).ok()?;
        Some([left, right])
    }

    /// The results, if `db` satisfies the schema and they differ whatever unknown functions mean.
    fn differ(&self, db: &Database, meaning: u64) -> Option<[Outcome; 2]> {
        if !self.constraints.satisfied(db) || self.constraints.uncertain(db) {
            return None;
        }
        let [left, right] = self.outcomes(db, meaning)?;
        let differ = left.opaque.is_empty() && right.opaque.is_empty() && !same_bag(&left.rows, &right.rows);
        differ.then_some([left, right])
    }
}

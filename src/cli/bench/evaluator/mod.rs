//! `caqtus bench evaluator`: the prover's evaluator, which is its specification, against engines, on expressions.
//!
//! Expressions grow: an operand is a column, a literal, or an expression on which evaluator and engine agreed in value and
//! type. So whatever they disagree on is due to the outermost operator. What the prover takes for granted of an expression
//! and the dialect's profile does not guarantee covers a disagreement: no class runs on such an engine. Nothing else does.

mod engine;
mod forms;
mod report;

use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::rng::{Rng, chance, pick, stream};
use crate::sql::lex::{Token, tokens};
use crate::sql::profile::Profile;
use crate::sql::types::Value as Cell;
use engine::{Answer, Engine, fits, table};
use prover::eval::{Database, EvalError, Limits, Prepared, Row};
use prover::ir::{Assumption, Schema, Type, Value};
use prover::lower;
use rand::RngExt as _;
pub(super) use report::Report;
use report::{Disagreement, Kind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// Rows that expressions are evaluated on.
const ROWS: usize = 32;

/// Expressions in one statement, where nothing is known against them.
const BATCH: usize = 100;

/// Expressions in one statement of which an engine was not asked anything alike before: many fail.
const FRESH_BATCH: usize = 4;

/// Statements between two rows.
const BATCHES_PER_ROW: usize = 6;

/// Operands kept of a kind, for each row.
const POOL: usize = 32;

/// Refusals after which a form is not tried any more with operands of the same kinds.
const REFUSALS_MAX: u32 = 3;

/// Refusals after which a form that was never taken is hardly tried any more.
const FORM_REFUSALS_MAX: u32 = 30;

/// The longest expression.
const LENGTH_MAX: usize = 400;

/// Assumptions that the evaluator raises no error.
const ABOUT_ERRORS: [Assumption; 2] = [Assumption::NoRuntimeError, Assumption::ScalarSubqueryAtMostOneRow];

/// Steps of the evaluator for one expression.
const FUEL: u64 = 20_000;

/// Draws in a row that gave no new expression, after which there are none left.
const DRAWS_MAX: usize = 200_000;

/// Where an operand comes from, as far as engines may care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Class {
    Column,
    Literal,
    Compound,
}

/// What operands are alike in: their type for the prover, their type for the engine, where they come from, and whether
/// the evaluator knows their value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Slot {
    claimed: Type,
    named: Arc<str>,
    class: Class,
    known: bool,
}

/// A form with operands of some kinds.
type Signature = (usize, Vec<Slot>);

/// An expression that was read, with what the evaluator says of it on the present row.
struct Candidate {
    text: String,
    /// `None` for a column or a literal.
    signature: Option<Signature>,
    class: Class,
    claimed: Type,
    /// `None` where it rests on what has no meaning in the evaluator.
    value: Option<Value>,
    /// The run-time error that it is, if it is one.
    raises: Option<String>,
    assumptions: BTreeSet<Assumption>,
}

/// What is known of a form with operands of some kinds.
#[derive(Default)]
struct Seen {
    taken: bool,
    refusals: u32,
}

/// Expressions on which the two sides agreed on one row, by kind.
#[derive(Default)]
struct Pool {
    slots: Vec<Slot>,
    texts: HashMap<Slot, Vec<String>>,
}

impl Pool {
    fn add(&mut self, slot: Slot, text: String, rng: &mut Rng) {
        let texts = self.texts.entry(slot.clone()).or_insert_with(|| {
            self.slots.push(slot);
            Vec::new()
        });
        if texts.len() < POOL {
            texts.push(text);
        } else if let Some(old) = texts.get_mut(rng.random_range(0..POOL)) {
            *old = text;
        }
    }
}

/// The comparison on one engine.
struct Check {
    engine: Engine,
    profile: Arc<Profile>,
    schema: Schema,
    rng: Rng,
    forms: Vec<String>,
    seen: HashMap<Signature, Seen>,
    /// What the engine takes, by form.
    taken: Vec<Vec<Vec<Slot>>>,
    /// How often the engine refused a form.
    refusals: Vec<u32>,
    tried: HashSet<u64>,
    report: Report,
}

/// Compares on one engine, on about so many expressions.
pub(super) fn check(
    target: &str,
    connection: Box<dyn Connection>,
    profile: Arc<Profile>,
    expressions: u64,
    seed: u64,
) -> anyhow::Result<Report> {
    check_forms(target, connection, profile, forms::forms(), expressions, seed)
}

fn check_forms(
    target: &str,
    connection: Box<dyn Connection>,
    profile: Arc<Profile>,
    forms: Vec<String>,
    expressions: u64,
    seed: u64,
) -> anyhow::Result<Report> {
    let schema = lower::schema(&table(profile.wire), &BTreeMap::new())?;
    let engine = Engine::new(connection, profile.clone())?;
    let report = Report::new(target, engine.version());
    let mut check = Check {
        engine,
        profile,
        schema,
        rng: stream(seed, &[]),
        seen: HashMap::new(),
        taken: vec![Vec::new(); forms.len()],
        refusals: vec![0; forms.len()],
        forms,
        tried: HashSet::new(),
        report,
    };
    check.run(expressions)?;
    check.report.signatures = check.taken.iter().map(Vec::len).sum();
    check.report.close();
    Ok(check.report)
}

impl Check {
    fn run(&mut self, expressions: u64) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        while self.report.expressions < expressions {
            let at = if rows.len() < ROWS { rows.len() } else { self.rng.random_range(0..ROWS) };
            if at == rows.len() {
                let literals = self.literals();
                let row = self.row(&literals)?;
                self.engine.load(&literals)?;
                let mut pool = Pool::default();
                self.leaves(&mut pool, &row)?;
                rows.push((literals, row, pool));
            } else if let Some((literals, ..)) = rows.get(at) {
                self.engine.load(literals)?;
            }
            let Some((_, row, pool)) = rows.get_mut(at) else { break };
            for _ in 0..BATCHES_PER_ROW {
                if !self.batch(pool, row)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The literals of a random row.
    fn literals(&mut self) -> Vec<String> {
        let values = forms::COLUMNS.iter().map(|(_, _, values)| pick(&mut self.rng, values).copied());
        values.map(|value| value.unwrap_or("NULL").to_owned()).collect()
    }

    /// The row as the evaluator has it.
    fn row(&self, literals: &[String]) -> anyhow::Result<Row> {
        let value = |(literal, (_, ty, _)): (&String, &(&str, &str, &[&str]))| -> anyhow::Result<Value> {
            let text = literal.trim_matches('\'');
            Ok(match *ty {
                _ if literal == "NULL" => Value::Null,
                "DOUBLE PRECISION" => Value::Double(text.parse()?),
                "DECIMAL(10, 2)" => self.constant(literal)?,
                "BOOLEAN" => Value::Bool(literal == "TRUE"),
                "INTEGER" | "BIGINT" => Value::Int(text.parse()?),
                _ => Value::Text(text.to_owned()),
            })
        };
        literals.iter().zip(forms::COLUMNS).map(value).collect()
    }

    fn constant(&self, literal: &str) -> anyhow::Result<Value> {
        let query = lower::query(&self.schema, &format!("SELECT {literal}"))?;
        let rows = Prepared::new(&query)?.run(&Database { tables: vec![Vec::new()] }, 0, Limits { fuel: FUEL })?.rows;
        Ok(rows.into_iter().flatten().next().unwrap_or(Value::Null))
    }

    /// Puts the columns and literals that both sides have into the pool.
    fn leaves(&mut self, pool: &mut Pool, row: &Row) -> Result<(), EngineError> {
        let columns = forms::COLUMNS.iter().map(|(name, ..)| (*name, Class::Column));
        let literals = forms::LITERALS.iter().map(|literal| (*literal, Class::Literal));
        for (text, class) in columns.chain(literals) {
            if let Some(candidate) = self.predict(text.to_owned(), None, class, row) {
                self.send(vec![candidate], pool)?;
            }
        }
        Ok(())
    }

    /// One statement of expressions alike to what the engine takes, and a few of others. `false` if there are no new
    /// expressions.
    fn batch(&mut self, pool: &mut Pool, row: &Row) -> Result<bool, EngineError> {
        let (mut known, mut fresh, mut raising) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..DRAWS_MAX {
            if known.len() >= BATCH || fresh.len() >= BATCH {
                break;
            }
            let Some(candidate) = self.propose(pool, row) else { continue };
            let is_known = candidate.signature.as_ref().is_none_or(|s| self.seen.get(s).is_some_and(|s| s.taken));
            if candidate.raises.is_some() {
                raising.push(candidate);
            } else if is_known {
                known.push(candidate);
            } else {
                fresh.push(candidate);
            }
        }
        let any = !known.is_empty() || !fresh.is_empty();
        self.send(known, pool)?;
        while !fresh.is_empty() {
            let rest = fresh.split_off(fresh.len().min(FRESH_BATCH));
            self.send(std::mem::replace(&mut fresh, rest), pool)?;
        }
        // Each ends the statement that it is in.
        for candidate in raising {
            self.send(vec![candidate], pool)?;
        }
        Ok(any)
    }

    /// A new expression, if it is read and nothing is known against it.
    fn propose(&mut self, pool: &Pool, row: &Row) -> Option<Candidate> {
        let at = self.rng.random_range(0..self.forms.len());
        let arity = forms::arity(&self.forms[at]);
        let known = chance(&mut self.rng, 65).then(|| pick(&mut self.rng, &self.taken[at]).cloned()).flatten();
        let slots = match known {
            Some(slots) => slots,
            None => (0..arity).map(|_| pick(&mut self.rng, &pool.slots).cloned()).collect::<Option<Vec<_>>>()?,
        };
        let signature = (at, slots);
        if self.seen.get(&signature).is_some_and(|seen| !seen.taken && seen.refusals >= REFUSALS_MAX) {
            return None;
        }
        // What the engine does not have at all.
        if self.taken[at].is_empty() && self.refusals[at] >= FORM_REFUSALS_MAX && !chance(&mut self.rng, 1) {
            return None;
        }
        let mut text = self.forms[at].clone();
        for (number, slot) in signature.1.iter().enumerate() {
            let operand = pick(&mut self.rng, pool.texts.get(slot)?)?;
            text = text.replace(&format!("${}", number + 1), operand);
        }
        if !self.forms[at].starts_with("(SELECT") {
            text = format!("({text})");
        }
        let mut hash = DefaultHasher::new();
        (&text, row).hash(&mut hash);
        if text.len() > LENGTH_MAX || !self.tried.insert(hash.finish()) {
            return None;
        }
        let candidate = self.predict(text, Some(signature.clone()), Class::Compound, row);
        if candidate.is_none() {
            self.report.not_read += 1;
            self.seen.entry(signature).or_default().refusals += 1;
        }
        candidate
    }

    /// What the evaluator says. `None` if the prover does not read it.
    fn predict(&self, text: String, signature: Option<Signature>, class: Class, row: &Row) -> Option<Candidate> {
        let query = lower::query(&self.schema, &format!("SELECT {text} FROM t")).ok()?;
        let claimed = query.plan.types().into_iter().next()?;
        let database = Database { tables: vec![vec![row.clone()]] };
        let (mut value, mut raises) = (None, None);
        match Prepared::new(&query).and_then(|prepared| prepared.run(&database, 1, Limits { fuel: FUEL })) {
            // As a text it is a date's or a timestamp's; the prover compares it with its like only.
            Ok(_) if claimed == Type::Moment => {}
            Ok(outcome) if outcome.opaque.is_empty() => value = outcome.rows.into_iter().flatten().next(),
            // An arbitrary meaning says nothing.
            Ok(_) | Err(EvalError::OutOfFuel | EvalError::NotDeterministic(_) | EvalError::Unsupported(_)) => {}
            Err(error @ (EvalError::DivisionByZero | EvalError::ScalarSubqueryRows | EvalError::Cast(_))) => {
                // Of an operand without a value it says nothing either.
                let known = signature.iter().flat_map(|(_, slots)| slots).all(|slot| slot.known);
                raises = known.then(|| error.to_string());
            }
        }
        Some(Candidate { text, signature, class, claimed, value, raises, assumptions: query.assumptions })
    }

    /// Asks the engine and judges.
    fn send(&mut self, candidates: Vec<Candidate>, pool: &mut Pool) -> Result<(), EngineError> {
        let texts: Vec<&str> = candidates.iter().map(|candidate| candidate.text.as_str()).collect();
        let answers = self.engine.answers(&texts)?;
        for (candidate, answer) in candidates.into_iter().zip(answers) {
            let refused = |error: &EngineError| matches!(error.class, ErrorClass::Semantic | ErrorClass::Unsupported);
            if let Some(signature) = &candidate.signature {
                let seen = self.seen.entry(signature.clone()).or_default();
                match &answer {
                    Err(error) if refused(error) => {
                        seen.refusals += 1;
                        self.refusals[signature.0] += 1;
                    }
                    Err(_) => {}
                    Ok(_) => {
                        if !std::mem::replace(&mut seen.taken, true) {
                            self.taken[signature.0].push(signature.1.clone());
                        }
                    }
                }
            }
            match answer {
                Ok(answer) => self.settle(candidate, answer, pool),
                Err(error) if error.class.is_finding() => {
                    self.report.broken.insert(candidate.text, error.to_string());
                }
                Err(error) if refused(&error) => self.report.refused += 1,
                // An error voids a case.
                Err(error) => {
                    self.report.expressions += u64::from(candidate.raises.is_some());
                    self.report.raised += 1;
                    *self.report.errors.entry(error.class.to_string()).or_default() += 1;
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self, candidate: Candidate, answer: Answer, pool: &mut Pool) {
        let Candidate { text, signature, class, claimed, value, raises, assumptions } = candidate;
        self.report.expressions += 1;
        let booleans_are_numbers = self.profile.guarantees.contains(&Assumption::BooleanIsOneOrZero);
        let agrees = value.as_ref().map(|value| same(value, &answer.value, booleans_are_numbers));
        let fits = fits(&claimed, &answer.ty, &self.profile);
        self.report.values += u64::from(agrees.is_some());
        self.report.types += u64::from(fits.is_some());
        let kind = match (&raises, agrees, fits) {
            (Some(_), ..) => Kind::Error,
            (_, Some(false), _) => Kind::Value,
            (_, _, Some(false)) => Kind::Type,
            _ => {
                pool.add(Slot { claimed, named: answer.ty, class, known: value.is_some() }, text, &mut self.rng);
                return;
            }
        };
        if class == Class::Column {
            *self.report.unfit_columns.entry(format!("{claimed} as {}", answer.ty)).or_default() += 1;
            return;
        }
        let (form, operands) = signature.map_or((text.clone(), Vec::new()), |(form, slots)| {
            (self.forms[form].clone(), slots.into_iter().map(|slot| slot.claimed.to_string()).collect())
        });
        let divides = text.contains(['/', '%']) || ["MOD(", "AVG("].iter().any(|name| text.contains(name));
        let guaranteed = self.profile.guarantees_for(divides);
        let covered_by: BTreeSet<Assumption> = assumptions.difference(&guaranteed).copied().collect();
        // Where the evaluator raises no error, an assumption that there is none holds, and explains nothing.
        let explained = kind == Kind::Error || !covered_by.iter().all(|assumption| ABOUT_ERRORS.contains(assumption));
        let predicted = raises.or_else(|| value.map(|value| value.to_string())).unwrap_or_else(|| "?".to_owned());
        self.report.add(
            (kind, form, operands, covered_by, explained),
            Disagreement {
                row: named(&text, self.engine.row()),
                expression: text,
                evaluator: predicted,
                evaluator_type: claimed.to_string(),
                engine: answer.value.to_string(),
                engine_type: answer.ty.to_string(),
            },
        );
    }
}

/// The columns that an expression names, with the literals of a row.
fn named(expression: &str, row: &[String]) -> BTreeMap<&'static str, String> {
    let tokens = tokens(expression).unwrap_or_default();
    let words: HashSet<&str> =
        tokens.iter().filter_map(|token| if let Token::Word(word) = token { Some(*word) } else { None }).collect();
    let columns = forms::COLUMNS.iter().map(|(name, ..)| *name).zip(row);
    columns.filter(|(name, _)| words.contains(name)).map(|(name, literal)| (name, literal.clone())).collect()
}

/// Whether the two are the same value. Numbers are, whatever their type, up to the rounding of doubles.
fn same(value: &Value, cell: &Cell, booleans_are_numbers: bool) -> bool {
    match (value, cell) {
        (Value::Null, Cell::Null) => true,
        (Value::Bool(a), Cell::Bool(b)) => a == b,
        (Value::Bool(a), Cell::Int(b)) => booleans_are_numbers && i64::from(*a) == *b,
        (Value::Int(_) | Value::Number(_) | Value::Double(_), Cell::Int(b)) => {
            prover::eval::same_bag(&[vec![value.clone()]], &[vec![Value::Int(*b)]])
        }
        (Value::Int(_) | Value::Number(_) | Value::Double(_), Cell::Real(b)) => {
            prover::eval::same_bag(&[vec![value.clone()]], &[vec![Value::Double(*b)]])
        }
        (Value::Text(a), Cell::Text(b)) => a.as_bytes() == b.as_slice(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::compare;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;

    /// SQLite with one word of every query replaced.
    struct Wrong(Sqlite, &'static str, &'static str);

    impl Connection for Wrong {
        fn version(&self) -> String {
            self.0.version()
        }

        fn build_id(&self) -> String {
            self.0.build_id()
        }

        fn reset(&mut self) -> Result<(), EngineError> {
            self.0.reset()
        }

        fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
            self.0.execute(sql)
        }

        fn rows(&mut self, sql: &str) -> Result<Vec<compare::Row>, EngineError> {
            self.0.rows(&sql.replace(self.1, self.2))
        }
    }

    const FORMS: [&str; 6] = ["UPPER($1)", "LOWER($1)", "$1 || $2", "$1 = $2", "$1 / $2", "(SELECT SUM($1) FROM t)"];

    /// What is found with these forms: uncovered and covered causes.
    fn found(wrong: &'static str, right: &'static str) -> (Vec<report::Group>, Vec<report::Group>) {
        let sqlite = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let forms = FORMS.map(str::to_owned).to_vec();
        let profile = profile("sqlite").expect("shipped");
        let report = check_forms("sqlite", Box::new(Wrong(sqlite, wrong, right)), profile, forms, 400, 1);
        let report = report.expect("runs");
        assert!(report.expressions >= 400 && report.values >= 250 && report.signatures >= 20, "{report}");
        report.into_groups()
    }

    #[test]
    fn a_wrong_value_is_found_and_is_its_operator_s() {
        let (open, _) = found("UPPER(", "LOWER(");
        let [group] = open.as_slice() else { panic!("{open:?}") };
        assert_eq!((group.form.as_str(), group.on), ("UPPER($1)", Kind::Value));
        assert!(group.count > 3 && group.covered_by.is_empty(), "{group}");
        let example = &group.example;
        assert_eq!(
            (example.evaluator.to_lowercase(), example.evaluator != example.engine),
            (example.engine.clone(), true)
        );
    }

    #[test]
    fn a_wrong_type_is_found() {
        let (open, _) = found("SUM(", "TOTAL(");
        assert!(
            open.iter().any(|g| g.on == Kind::Type && g.operands == ["INTEGER"] && g.form.contains("SUM")),
            "{open:?}"
        );
        assert!(open.iter().all(|group| group.form.contains("SUM")), "{open:?}");
    }

    #[test]
    fn what_is_assumed_and_not_guaranteed_covers() {
        let (open, covered) = found("nothing", "nothing");
        assert!(open.is_empty(), "{open:?}");
        // The evaluator says that it is an error.
        let by_zero = covered.iter().find(|g| g.form == "$1 / $2" && g.on == Kind::Error).expect("a division by zero");
        assert!(by_zero.explained && by_zero.covered_by.contains(&Assumption::NoRuntimeError), "{by_zero}");
    }
}

//! Trying candidates on a target: does it take the query, and what is its plan (Argus paper, section 5.2: `D ⊨ q'`).
//!
//! The target runs in a process of its own (`caqtus execute --trials`, hidden), because a query that a model wrote may
//! crash an engine or never end; that costs the candidate then, not the discovery.

use crate::caq::class::read_names;
use crate::caq::names::PlaceholderKind;
use crate::caq::query::Caq;
use crate::compare::Row;
use crate::config::TRIAL_MS;
use crate::dbms::{Connection, EngineError};
use crate::hunt::lines::JsonLines;
use crate::hunt::process::own_program;
use crate::plan::{self, PlanTree};
use crate::sql::profile::Profile;
use crate::sql::schema::statements;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Child;
use tokio::sync::Mutex;

/// A query to try over a schema; its own text is not used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trial {
    /// The schema, and a query over it.
    pub caq: Caq,
    /// Candidates, each of them.
    pub sql: String,
}

/// What a target did with a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrialOutcome {
    /// It ran.
    Accepted {
        /// Its plan; a single node where the dialect's plans are not read.
        plan: PlanTree,
    },
    /// It did not.
    Refused {
        /// What the target said.
        why: String,
    },
}

/// Makes the CAQ's tables on an empty database, placeholders as columns and tables, as the prover sees them (section
/// 5.1, Listing 3), and runs the query.
pub fn try_query(connection: &mut dyn Connection, profile: &Profile, trial: &Trial) -> TrialOutcome {
    match run(connection, profile, trial) {
        Ok(plan) => TrialOutcome::Accepted { plan },
        Err(why) => TrialOutcome::Refused { why },
    }
}

fn run(connection: &mut dyn Connection, profile: &Profile, trial: &Trial) -> Result<PlanTree, String> {
    let text = |error: EngineError| error.to_string();
    let statements = tables(profile, &trial.caq)?;
    connection.reset().map_err(text)?;
    for statement in profile.start.iter().chain(&statements) {
        connection.execute(statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    connection.execute(&trial.sql).map_err(text)?;
    let rows: Vec<Row> = connection.rows(&plan::explain(profile, &trial.sql)).map_err(text)?;
    Ok(plan::read(profile.wire, &rows))
}

/// The statements that make the tables of a CAQ.
fn tables(profile: &Profile, caq: &Caq) -> Result<Vec<String>, String> {
    let (_, names) = read_names(&caq.schema, &caq.placeholders).map_err(|error| error.to_string())?;
    let type_name = |ty| profile.types.get(&ty).and_then(|names| names.first()).cloned().unwrap_or_default();
    let mut statements = statements(&caq.schema).map_err(|error| error.to_string())?;
    let table_placeholders = names.placeholders.iter().filter_map(|p| match p.kind {
        PlaceholderKind::Table { relation } => Some(&names.relations[relation]),
        PlaceholderKind::Expr { .. } => None,
    });
    statements.extend(table_placeholders.map(|table| {
        let columns: Vec<String> = table.columns.iter().map(|c| format!("{} {}", c.name, type_name(c.ty))).collect();
        format!("CREATE TABLE {}({})", table.name, columns.join(", "))
    }));
    for placeholder in &names.placeholders {
        if let PlaceholderKind::Expr { relation, ty } = placeholder.kind {
            let table = &names.relations[relation].name;
            statements.push(format!("ALTER TABLE {table} ADD COLUMN {} {}", placeholder.name, type_name(ty)));
        }
    }
    Ok(statements)
}

/// A target that queries are tried on, in a process that is started when it is needed.
#[derive(Debug)]
pub struct TrialTarget {
    /// Its name, as the user gave it.
    pub name: String,
    data_dir: PathBuf,
    process: Mutex<Option<Process>>,
}

#[derive(Debug)]
struct Process {
    /// Killed on drop.
    _child: Child,
    lines: JsonLines,
}

impl TrialTarget {
    /// A target by its name.
    pub fn new(name: &str, data_dir: PathBuf) -> Self {
        Self { name: name.to_owned(), data_dir, process: Mutex::new(None) }
    }

    /// Tries a query. A target that crashes or takes too long has refused it.
    pub async fn try_query(&self, trial: &Trial) -> io::Result<TrialOutcome> {
        let mut slot = self.process.lock().await;
        let mut process = match slot.take() {
            Some(process) => process,
            None => self.start()?,
        };
        let refused = |why: &str| Ok(TrialOutcome::Refused { why: why.to_owned() });
        match tokio::time::timeout(Duration::from_millis(TRIAL_MS), process.ask(trial)).await {
            Ok(Ok(Some(tried))) => {
                *slot = Some(process);
                Ok(tried)
            }
            Ok(Ok(None) | Err(_)) => refused("the engine crashed"),
            Err(_) => refused("the engine did not come to an end"),
        }
    }

    fn start(&self) -> io::Result<Process> {
        let mut command = own_program().map_err(io::Error::other)?;
        command.args(["execute", "--trials", "--dbms", &self.name, "--data-dir"]).arg(&self.data_dir);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).process_group(0);
        let mut child = command.spawn()?;
        let lines = JsonLines::new(&mut child)?;
        Ok(Process { _child: child, lines })
    }
}

impl Process {
    async fn ask(&mut self, trial: &Trial) -> io::Result<Option<TrialOutcome>> {
        self.lines.send(trial).await?;
        self.lines.next().await
    }
}

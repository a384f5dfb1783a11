//! A target on which snippets are judged, in a process of its own: one that a snippet ends costs that snippet.

use crate::compare::Row;
use crate::config::{HANG_MS, START_MS};
use crate::corpus::validate::{Candidate, SnippetVerdict};
use crate::corpus::worker::{Order, Said};
use crate::dbms::target::{Target, TargetError};
use crate::hunt::breakage::broken_kind;
use crate::hunt::error::HuntError;
use crate::hunt::lines::JsonLines;
use crate::hunt::process::own_program;
use crate::triage::finding::FindingKind;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use thiserror::Error;
use tokio::process::Child;

/// Snippets handed over at a time.
const CHUNK: usize = 256;

/// Why nothing can be judged.
#[derive(Debug, Error)]
pub enum EngineFault {
    /// There is no such target.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The process cannot be started.
    #[error("the process that tries snippets on {target} cannot be started or spoken with")]
    Process {
        /// The target.
        target: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The program cannot be found.
    #[error(transparent)]
    Program(#[from] HuntError),
    /// The target cannot be opened.
    #[error("{0}")]
    Refused(String),
    /// It ends before it can be asked anything.
    #[error(
        "{0} ends its process, or stands still, before anything is asked of it; `caqtus dbms check {0}` may say more"
    )]
    Broken(String),
}

/// What became of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: SnippetVerdict,
    /// How it broke the engine, if it did, with what the engine said.
    pub broke: Option<(FindingKind, String)>,
}

struct Process {
    /// Killed on drop.
    _child: Child,
    lines: JsonLines,
}

/// The target.
pub struct Engine {
    target: Target,
    data_dir: PathBuf,
    process: Option<Process>,
    /// The engine's version.
    pub version: String,
    /// What tells its builds apart.
    pub build_id: String,
}

impl Engine {
    /// Opens a target.
    pub async fn open(name: &str, data_dir: &Path) -> Result<Self, EngineFault> {
        let mut engine = Self {
            target: name.parse()?,
            data_dir: data_dir.to_owned(),
            process: None,
            version: String::new(),
            build_id: String::new(),
        };
        engine.start().await?;
        Ok(engine)
    }

    /// The dialect.
    pub fn dialect(&self) -> &str {
        self.target.dialect()
    }

    /// The target, as reports name it.
    pub fn name(&self) -> String {
        self.target.to_string()
    }

    fn fault(&self, source: io::Error) -> EngineFault {
        EngineFault::Process { target: self.target.to_string(), source }
    }

    async fn start(&mut self) -> Result<(), EngineFault> {
        if self.process.is_some() {
            return Ok(());
        }
        let mut command = own_program()?;
        command.args(["execute", "--corpus", "--dbms", &self.target.to_string(), "--data-dir"]).arg(&self.data_dir);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).process_group(0);
        let mut child = command.spawn().map_err(|e| self.fault(e))?;
        let lines = JsonLines::new(&mut child).map_err(|e| self.fault(e))?;
        let mut process = Process { _child: child, lines };
        let said = tokio::time::timeout(Duration::from_millis(START_MS), process.lines.next()).await;
        match said {
            Ok(Ok(Some(Said::Open { version, build_id }))) => {
                (self.version, self.build_id) = (version, build_id);
                self.process = Some(process);
                Ok(())
            }
            Ok(Ok(Some(Said::Refused { message }))) => Err(EngineFault::Refused(message)),
            _ => Err(EngineFault::Broken(self.target.to_string())),
        }
    }

    /// What the process says next. Without an answer there is no process any more: it ended, or was stopped because it
    /// stood still.
    async fn hear(&mut self) -> Result<Said, FindingKind> {
        let Some(process) = self.process.as_mut() else { return Err(FindingKind::Crash) };
        match tokio::time::timeout(Duration::from_millis(HANG_MS), process.lines.next()).await {
            Ok(Ok(Some(said))) => Ok(said),
            Ok(_) => {
                self.process = None;
                Err(FindingKind::Crash)
            }
            Err(_) => {
                self.process = None;
                Err(FindingKind::Hang)
            }
        }
    }

    async fn tell(&mut self, order: &Order) -> Result<(), EngineFault> {
        self.start().await?;
        let Some(process) = self.process.as_mut() else { return Ok(()) };
        let told = process.lines.send(order).await;
        told.map_err(|e| self.fault(e))
    }

    /// The rows of a query of the engine's catalogue; `None` if the engine refuses it.
    pub async fn rows(&mut self, sql: &str) -> Result<Option<Vec<Row>>, EngineFault> {
        self.tell(&Order::Rows(sql.to_owned())).await?;
        match self.hear().await {
            Ok(Said::Rows(rows)) => Ok(rows),
            _ => Err(EngineFault::Broken(self.target.to_string())),
        }
    }

    /// Judges snippets, in order. One that ends the process twice, or stops it, is refused: it breaks the engine. `tick` is
    /// told how many are judged.
    pub async fn judge(
        &mut self,
        candidates: &[Candidate],
        mut tick: impl FnMut(usize),
    ) -> Result<Vec<Judged>, EngineFault> {
        let mut judged: Vec<Judged> = Vec::new();
        // How often the next one broke the engine: once may have been a kill from outside, or the one before.
        let mut broke = 0;
        while judged.len() < candidates.len() {
            let end = candidates.len().min(judged.len() + if broke > 0 { 1 } else { CHUNK });
            let chunk = &candidates[judged.len()..end];
            self.tell(&Order::Validate(chunk.to_vec())).await?;
            for _ in chunk {
                match self.hear().await {
                    Ok(Said::Verdict(verdict)) => {
                        let kind = match &verdict {
                            SnippetVerdict::Refused(why) => {
                                broken_kind(why).map(|(kind, said)| (kind, said.to_owned()))
                            }
                            _ => None,
                        };
                        judged.push(Judged { verdict, broke: kind });
                        broke = 0;
                    }
                    Ok(_) => return Err(EngineFault::Broken(self.target.to_string())),
                    Err(kind) => {
                        broke += 1;
                        if broke == 2 {
                            let verdict = SnippetVerdict::Refused("ends the engine".to_owned());
                            judged.push(Judged { verdict, broke: Some((kind, String::new())) });
                            broke = 0;
                        }
                        break;
                    }
                }
            }
            tick(judged.len());
        }
        Ok(judged)
    }
}

//! A pool of prover processes. The prover links Z3 and may crash or get stuck; a process costs one pair then.

use crate::config::PROVER_DEADLINE_MS;
use crate::hunt::prover::{PROGRAM, command, find};
use futures::{SinkExt as _, StreamExt as _};
use prover::Pair;
use prover::wire::{Answer, FRAME_BYTES_MAX, Request, Task};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

use crate::caq::query::Caq;

/// Why pairs cannot be decided.
#[derive(Debug, Error)]
pub enum PoolError {
    /// There is no prover.
    #[error(
        "discovery needs the prover, and there is no program {PROGRAM} beside this one or in the path: build it with \
         `make prover`, or name it with --prover"
    )]
    Missing,
    /// It does not start.
    #[error("the prover {program} does not work; `{program} --version` shows why")]
    Start {
        /// The program.
        program: String,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
}

/// The pool.
#[derive(Debug)]
pub struct ProverPool {
    program: PathBuf,
    /// What records name as the prover.
    version: String,
    idle: Mutex<Vec<Process>>,
    asked: AtomicU64,
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: FramedWrite<ChildStdin, LengthDelimitedCodec>,
    output: FramedRead<ChildStdout, LengthDelimitedCodec>,
}

impl ProverPool {
    /// A pool of at most `workers` processes of the program, which is looked for beside this one and in the path.
    pub async fn open(program: Option<&Path>, workers: usize) -> Result<Self, PoolError> {
        let program = program.map(Path::to_path_buf).or_else(find).ok_or(PoolError::Missing)?;
        let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output().await;
        let version = match output {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(start_error(&program, io::Error::other(said)));
            }
            Err(source) => return Err(start_error(&program, source)),
        };
        Ok(Self {
            program,
            version,
            idle: Mutex::default(),
            asked: AtomicU64::new(0),
            permits: Arc::new(Semaphore::new(workers.max(1))),
        })
    }

    /// The prover's name and version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Decides whether two queries over one schema are equivalent. What goes wrong is a verdict unknown, with the reason;
    /// what can go wrong because the machine was busy is tried a second time.
    pub async fn decide(&self, caq: &Caq, candidate: &str) -> Result<Answer, PoolError> {
        let (first, again) = self.once(caq, candidate).await?;
        if again { Ok(self.once(caq, candidate).await?.0) } else { Ok(first) }
    }

    /// An answer, and whether it is one that another try may change.
    async fn once(&self, caq: &Caq, candidate: &str) -> Result<(Answer, bool), PoolError> {
        let text = |text: &str| Value::String(text.to_owned());
        let pair = Pair {
            schema: text(&caq.schema),
            q1: text(&caq.sql),
            q2: text(candidate),
            placeholders: caq.placeholders.clone(),
            ..Pair::default()
        };
        // An answer about another pair would be the worst of mistakes.
        let id = self.asked.fetch_add(1, Ordering::Relaxed).to_string();
        let request = Request { id: id.clone(), pair, limits: None, task: Task::Decide, certificate: true };
        let _permit =
            self.permits.acquire().await.map_err(|error| start_error(&self.program, io::Error::other(error)))?;
        let idle = self.idle.lock().await.pop();
        let mut process = match idle {
            Some(process) => process,
            None => self.start()?,
        };
        let deadline = Duration::from_millis(PROVER_DEADLINE_MS);
        match tokio::time::timeout(deadline, process.ask(&request)).await {
            Ok(Ok(answer)) if answer.id == id => {
                self.idle.lock().await.push(process);
                Ok((answer, false))
            }
            // A process that is dropped is killed.
            Ok(Ok(other)) => Ok((Answer::crashed(&id, &format!("answered {} in place of {id}", other.id)), true)),
            Ok(Err(error)) => Ok((Answer::crashed(&id, &error.to_string()), true)),
            Err(_) => Ok((Answer::deadline(&id), true)),
        }
    }

    fn start(&self) -> Result<Process, PoolError> {
        let mut command = Command::from(command(&self.program));
        // In a process group of its own: Ctrl-C is for the program, which lets what is begun come to its end.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).process_group(0);
        let mut child = command.spawn().map_err(|source| start_error(&self.program, source))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => {
                // As `prover::wire` has it: the length as four little-endian bytes, then so many bytes of JSON.
                let frames = || {
                    let mut codec = LengthDelimitedCodec::builder();
                    codec.little_endian().length_field_type::<u32>().max_frame_length(FRAME_BYTES_MAX as usize);
                    codec.new_codec()
                };
                let (input, output) = (FramedWrite::new(input, frames()), FramedRead::new(output, frames()));
                Ok(Process { child, input, output })
            }
            _ => Err(start_error(&self.program, io::Error::other("no pipes"))),
        }
    }
}

impl Process {
    async fn ask(&mut self, request: &Request) -> io::Result<Answer> {
        self.input.send(serde_json::to_vec(request)?.as_slice()).await?;
        match self.output.next().await {
            Some(answer) => Ok(serde_json::from_slice(&answer?)?),
            None => Err(io::Error::other(self.child.wait().await?.to_string())),
        }
    }
}

fn start_error(program: &Path, source: io::Error) -> PoolError {
    PoolError::Start { program: program.display().to_string(), source }
}

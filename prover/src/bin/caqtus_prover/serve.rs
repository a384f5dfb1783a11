//! `caqtus-prover serve`: decides the pairs it reads from standard input.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use prover::Verdict;
use prover::wire::{Answer, FrameError, Request, Task, read_frame, write_frame};

use crate::args::{Faults, MemoryArgs};
use crate::exit::{COULD_NOT_RUN, GOOD};
use crate::{audit, clock, memory};

/// Decide pairs read from standard input, for another program
///
/// A request is a frame: its length as four little-endian bytes, then that many bytes of JSON (at most 16 MiB) with
/// `id`, `schema` (CREATE TABLE text, or the tables of a QED plan), `q1`, `q2`, and optionally `placeholders`,
/// `limits`, `task` (`decide`, `refute`, `audit` or `auditdiffering`) and `certificate` (true to get the proof). The answer is a frame with the
/// object that `prove --json` prints. A frame that holds no request is answered too, with the verdict unknown.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example, in Python:
  worker = subprocess.Popen(['caqtus-prover', 'serve'], stdin=PIPE, stdout=PIPE)
  request = json.dumps({'id': '1', 'schema': ddl, 'q1': left, 'q2': right}).encode()
  worker.stdin.write(struct.pack('<I', len(request)) + request); worker.stdin.flush()
  answer = json.loads(worker.stdout.read(struct.unpack('<I', worker.stdout.read(4))[0]))")]
pub(crate) struct ServeArgs {
    /// End when the input ends, even in the middle of a pair: no worker outlives the program that started it
    #[arg(long)]
    pub(crate) end_with_input: bool,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    faults: Faults,
}

/// Deeply nested queries are read and rewritten by recursion; the memory is only taken when used.
const STACK_BYTES: usize = 256 << 20;

/// Where the panic hook leaves what happened.
static PANIC: Mutex<String> = Mutex::new(String::new());

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<u8> {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = format!("{}{place}", message(info.payload()));
    }));
    memory::limit(args.memory.bytes())?;
    let mut requests = read_ahead(args.end_with_input);
    loop {
        let faults = args.faults.clone();
        let server = std::thread::Builder::new().stack_size(STACK_BYTES);
        let server = server.spawn(move || (serve(&requests, &faults), requests))?;
        let (result, rest) = server.join().map_err(|panic| anyhow::anyhow!("{}", message(&*panic)))?;
        match result? {
            Served::All(status) => return Ok(status),
            Served::UntilPanic => requests = rest,
        }
    }
}

/// How far a thread came.
enum Served {
    /// To the end, with this exit status.
    All(u8),
    /// To a pair on which the prover panicked. The solver's state belongs to the thread and is left as it was then, so
    /// another thread goes on.
    UntilPanic,
}

/// Reads requests in a thread of its own, so that the end of the input is seen while a pair is worked on.
fn read_ahead(end_with_input: bool) -> Receiver<Result<Request, FrameError>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let request = match read_frame(&mut input) {
                Ok(None) => break,
                Ok(Some(request)) => Ok(request),
                Err(error) => Err(error),
            };
            let over = request.as_ref().is_err_and(|error| !error.is_recoverable());
            if sender.send(request).is_err() || over {
                return;
            }
        }
        if end_with_input {
            // An ordinary exit would take the solver's memory away under a thread that is still solving.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    });
    receiver
}

fn serve(requests: &Receiver<Result<Request, FrameError>>, faults: &Faults) -> Result<Served, FrameError> {
    let mut output = io::stdout().lock();
    for request in requests {
        match request {
            Ok(request) => {
                let (answer, panicked) = answer(&request, faults);
                match write_frame(&mut output, &answer) {
                    // A certificate can be too much for a frame; the verdict never is.
                    Err(FrameError::TooLong(_)) => write_frame(&mut output, &Answer { certificate: None, ..answer })?,
                    result => result?,
                }
                if panicked {
                    return Ok(Served::UntilPanic);
                }
            }
            Err(error) => {
                write_frame(&mut output, &Answer::malformed(&error))?;
                if !error.is_recoverable() {
                    return Ok(Served::All(COULD_NOT_RUN));
                }
            }
        }
    }
    Ok(Served::All(GOOD))
}

/// Decides one pair; a panic costs the pair only. Whether there was one.
fn answer(request: &Request, faults: &Faults) -> (Answer, bool) {
    let start = clock::now();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        misbehave(request, faults);
        decide(request)
    }));
    let panicked = caught.is_err();
    let mut answer = caught.unwrap_or_else(|_| {
        let what = std::mem::take(&mut *PANIC.lock().unwrap_or_else(PoisonError::into_inner));
        Answer::crashed(&request.id, &what.replace('\n', " "))
    });
    answer.ms = clock::ms_since(start);
    (answer, panicked)
}

fn decide(request: &Request) -> Answer {
    let (schema, left, right) = match request.pair.read() {
        Ok(plans) => plans,
        Err(reason) => return Answer::unknown(&request.id, reason.to_string()),
    };
    let limits = request.limits.clone().unwrap_or_default();
    let mut report = match request.task {
        Task::Decide => prover::decide(&schema, &left, &right, &limits),
        Task::Refute => prover::refute_only(&schema, &left, &right, &limits),
        Task::Audit => return audit::audit(&request.id, &schema, &left, &right, &limits, true),
        Task::AuditDiffering => return audit::audit(&request.id, &schema, &left, &right, &limits, false),
    };
    if let Verdict::Proven(certificate) = &mut report.verdict {
        certificate.pair = Some(request.pair.clone());
    }
    Answer::new(&request.id, report, request.certificate)
}

/// Does what the test aids ask for.
fn misbehave(request: &Request, faults: &Faults) {
    let is = |id: &Option<String>| id.as_ref() == Some(&request.id);
    assert!(!is(&faults.panic), "asked to panic on `{}`", request.id);
    if is(&faults.crash) {
        eprintln!("asked to crash on `{}`", request.id);
        std::process::abort();
    }
    while is(&faults.hang) {
        std::thread::park();
    }
    if is(&faults.memory) {
        memory::exhaust();
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

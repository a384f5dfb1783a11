//! One line of progress on a terminal, a line now and then elsewhere; and Ctrl-C.

use super::output;
use crate::app::Progress;
use crate::clock;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// How often progress is printed where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The line.
pub(super) struct ProgressLine {
    bar: ProgressBar,
    plain: bool,
    quiet: bool,
    printed: Instant,
}

impl ProgressLine {
    pub(super) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target =
            if quiet || !terminal { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {msg}") {
            bar.set_style(style);
        }
        Self { bar, plain: !terminal, quiet, printed: clock::now() }
    }

    /// Shows where things stand.
    pub(super) fn show(&mut self, line: String, elapsed: Duration) {
        self.bar.tick();
        if self.plain && !self.quiet && self.printed.elapsed() >= PLAIN_EVERY {
            self.printed = clock::now();
            eprintln!("{:.0} s  {line}", elapsed.as_secs_f64());
        }
        self.bar.set_message(line);
    }

    /// Says something that stays.
    pub(super) fn say(&mut self, message: &str) {
        if self.quiet {
            return;
        }
        if self.plain {
            eprintln!("{message}");
        } else {
            self.bar.suspend(|| eprintln!("{message}"));
        }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for ProgressLine {
    fn update(&mut self, state: &dyn Display, elapsed: Duration) {
        // Nobody sees it.
        if !self.quiet {
            self.show(state.to_string(), elapsed);
        }
    }

    fn note(&mut self, message: &str) {
        self.say(message);
    }
}

/// Receives the first Ctrl-C or SIGTERM, or that nobody reads the messages any more. A second one ends the program at once: processes that it started see their
/// pipes close, and what was found until then is stored.
pub(super) fn interrupts() -> mpsc::Receiver<()> {
    let (stop, stopped) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut terminate = signal(SignalKind::terminate()).ok();
        loop {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                () = output::unread() => {}
                Some(()) = async { match &mut terminate { Some(t) => t.recv().await, None => None } } => {}
            }
            if stop.try_send(()).is_err() {
                std::process::exit(i32::from(super::COULD_NOT_RUN));
            }
        }
    });
    stopped
}

/// Becomes true at Ctrl-C, at SIGTERM, or after some time.
pub(super) fn stop_after(limit: Option<Duration>) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let mut interrupts = interrupts();
        let timer = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupts.recv() => {}
            () = timer => {}
        }
        // Nobody listens when it is over already.
        let _ = stop.send(true);
        // Kept, so that a second interrupt is heard.
        std::future::pending::<()>().await;
    });
    stopped
}

//! What the program prints.
//!
//! The macros here stand in place of the standard library's in all of `cli`: those panic when nobody reads any more, as
//! after `caqtus dbms list --known | head`. Output that nobody reads ends the program, quietly; messages that nobody reads
//! are dropped, and what runs until Ctrl-C stops as if it were pressed. This is about the program's own two streams alone:
//! writing to a process or a server that is gone is an error as ever.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::Notify;

macro_rules! println {
    ($($arg:tt)*) => { $crate::cli::output::print(format_args!("{}\n", format_args!($($arg)*))) };
}

macro_rules! print {
    ($($arg:tt)*) => { $crate::cli::output::print(format_args!($($arg)*)) };
}

macro_rules! eprintln {
    ($($arg:tt)*) => { $crate::cli::output::note(format_args!("{}\n", format_args!($($arg)*))) };
}

macro_rules! eprint {
    ($($arg:tt)*) => { $crate::cli::output::note(format_args!($($arg)*)) };
}

/// The status of a program whose output is not read to its end.
static UNREAD_STATUS: AtomicU8 = AtomicU8::new(0);

/// Told when messages are not read any more.
static UNREAD: Notify = Notify::const_new();

/// Says what the program ends with, for whoever does not read what is printed from here on.
pub(super) fn ends_with(status: u8) {
    UNREAD_STATUS.store(status, Ordering::Relaxed);
}

/// What a program ends with whose output is not read to its end.
pub fn unread_status() -> u8 {
    UNREAD_STATUS.load(Ordering::Relaxed)
}

/// Prints to standard output; ends the program if that is impossible.
pub(super) fn print(text: Arguments<'_>) {
    let Err(error) = io::stdout().lock().write_fmt(text) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        // Whoever read it has seen enough.
        std::process::exit(i32::from(unread_status()));
    }
    note(format_args!("caqtus: cannot write to standard output: {error}\n"));
    std::process::exit(i32::from(super::COULD_NOT_RUN));
}

/// Prints to standard error. A message that cannot be printed is no reason to end in the middle of something.
pub(super) fn note(text: Arguments<'_>) {
    static ONCE: Once = Once::new();
    if io::stderr().lock().write_fmt(text).is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        // A second time would be a second Ctrl-C.
        ONCE.call_once(|| UNREAD.notify_one());
    }
}

/// Waits until messages are not read any more.
pub(super) async fn unread() {
    UNREAD.notified().await;
}

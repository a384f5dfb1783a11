//! The flight recorder: a small file in memory that says what an executor is running.
//!
//! It is memory-mapped, so noting a statement costs a store, and the supervisor can read it after the executor died.

use memmap2::MmapMut;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Where an executor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The block.
    pub block: u64,
    /// The case in the block.
    pub case: u64,
    /// The statement of the case, or a set-up statement from [`SETUP`] on.
    pub statement: u64,
    /// Counts notes, so that the same position at two times can be told apart.
    pub tick: u64,
}

/// Added to the number of a set-up statement.
pub const SETUP: u64 = 1 << 32;

/// The block noted while an executor starts.
pub const NO_BLOCK: u64 = u64::MAX;

const LENGTH: usize = 32;

/// The writing end, in the executor.
pub struct Recorder {
    map: MmapMut,
    tick: u64,
}

impl Recorder {
    /// Creates the file, or opens the one that is there.
    #[allow(unsafe_code)]
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < LENGTH as u64 {
            // Written, not only given its length: on a full disk, a store to a page that it has no room for is a SIGBUS.
            file.write_all(&[0; LENGTH])?;
        }
        // SAFETY: the file is this executor's own and keeps its length; the supervisor only reads it, and a torn read
        // gives it a wrong position of a case that it then cannot confirm, never undefined behaviour here.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Self { map, tick: 0 })
    }

    /// Notes what runs next.
    pub fn note(&mut self, block: u64, case: u64, statement: u64) {
        self.tick += 1;
        for (at, value) in [block, case, statement, self.tick].into_iter().enumerate() {
            self.map[at * 8..at * 8 + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// Reads what an executor noted last; `None` if it noted nothing.
pub fn read(path: &Path) -> io::Result<Option<Position>> {
    use std::io::Read as _;
    let mut bytes = [0; LENGTH];
    File::open(path)?.read_exact(&mut bytes)?;
    let word = |at: usize| bytes[at * 8..at * 8 + 8].iter().rev().fold(0, |acc, b| (acc << 8) | u64::from(*b));
    let position = Position { block: word(0), case: word(1), statement: word(2), tick: word(3) };
    Ok((position.tick > 0).then_some(position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_note_can_be_read_while_the_writer_lives() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recorder");
        let mut recorder = Recorder::create(&path).expect("creates");
        assert_eq!(read(&path).expect("reads"), None);
        recorder.note(1, 2, SETUP + 3);
        recorder.note(7, 8, 9);
        assert_eq!(read(&path).expect("reads"), Some(Position { block: 7, case: 8, statement: 9, tick: 2 }));
    }
}

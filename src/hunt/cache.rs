//! Files that keep what is slow to find out about a build of an engine, as lines of JSON that are only added to.
//!
//! A cache is a convenience: what it cannot hold is found out again. One that cannot be written is kept in a directory of
//! the hunt's own, so that executors share it and a question that ends the engine is not asked for ever; and where there
//! is none, in memory. Either is said.

use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Where cache files are.
#[derive(Debug, Clone)]
pub struct Places {
    /// For all hunts.
    shared: PathBuf,
    /// For this one, where the shared one cannot be written.
    own: Option<PathBuf>,
    /// What could not be used, and why.
    pub notes: Vec<String>,
}

/// A cache file. Locked until it is dropped, so that a second hunt waits rather than finds out the same.
#[derive(Debug)]
pub(super) struct CacheFile {
    /// None once it cannot be written.
    file: Option<File>,
    path: PathBuf,
    /// What it held when it was opened. Lines that were cut off by a kill, or damaged, do not parse.
    pub(super) text: String,
    /// What went wrong with it meanwhile.
    pub(super) problem: Option<String>,
}

impl Places {
    /// In the data directory, or in a directory of the hunt's own.
    pub fn new(data_dir: &Path, own: Option<&Path>) -> Self {
        Self { shared: data_dir.join("cache"), own: own.map(Path::to_owned), notes: Vec::new() }
    }

    /// What a file for all hunts holds now; nothing if it is not there.
    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.shared.join(name)).unwrap_or_default()
    }

    /// Opens a file of this hunt alone, making it if it is not there.
    pub(super) fn open_own(&self, name: &str) -> CacheFile {
        let path = self.own.as_deref().unwrap_or(Path::new("")).join(name);
        let opened = self.own.as_ref().and_then(|_| open(&path).ok());
        let (file, text) = opened.map_or((None, String::new()), |(file, text)| (Some(file), text));
        CacheFile { file, path, text, problem: None }
    }

    /// Opens a file, making it if it is not there.
    pub(super) fn open(&mut self, name: &str) -> CacheFile {
        let path = self.shared.join(name);
        // What cannot be written may still be read.
        let readable = fs::read(&path).unwrap_or_default();
        let error = match open(&path) {
            Ok((file, text)) => return CacheFile { file: Some(file), path, text, problem: None },
            Err(error) => error,
        };
        let own = self.own.as_ref().map(|own| own.join(name));
        let opened = own.and_then(|own| open(&own).ok());
        let mut text = String::from_utf8_lossy(&readable).into_owned();
        let (file, kept) = match opened {
            Some((file, more)) => {
                text.push('\n');
                text.push_str(&more);
                (Some(file), "for this hunt only")
            }
            None => (None, "in memory only"),
        };
        // The others in the directory are as unusable; one line is enough.
        if self.notes.is_empty() {
            self.notes.push(format!(
                "the cache {} cannot be written ({error}): what is found out about the target is kept {kept}",
                path.display()
            ));
        }
        CacheFile { file, path, text, problem: None }
    }
}

impl CacheFile {
    /// Adds a line. If that fails, nothing more is added.
    pub(super) fn add(&mut self, line: &impl Serialize) {
        let Some(file) = self.file.as_mut() else { return };
        let mut text = serde_json::to_string(line).unwrap_or_default();
        text.push('\n');
        if let Err(error) = file.write_all(text.as_bytes()) {
            self.file = None;
            self.problem = Some(format!("the cache {} is not written any more: {error}", self.path.display()));
        }
    }
}

fn open(path: &Path) -> io::Result<(File, String)> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    // A file system without locks is used without: then two hunts may find out the same.
    let _ = file.lock();
    let bytes = fs::read(path)?;
    if bytes.last().is_some_and(|last| *last != b'\n') {
        // What follows a line that was cut off is a line of its own.
        file.write_all(b"\n")?;
    }
    Ok((file, String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_read_as_far_as_it_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut places = Places::new(dir.path(), None);
        drop(places.open("a"));
        fs::write(dir.path().join("cache/a"), b"1\n\xff\xfe\n{\"cut").expect("writes");
        let mut file = places.open("a");
        file.add(&2);
        drop(file);
        let text = places.open("a").text;
        assert!(text.starts_with("1\n") && text.ends_with("\n2\n"), "{text:?}");
        assert!(places.notes.is_empty());
    }

    #[test]
    fn where_nothing_can_be_written_the_hunt_has_its_own_or_does_without() {
        let dir = tempfile::tempdir().expect("a directory");
        // A file in the place of the directory, which even root cannot write into.
        fs::write(dir.path().join("cache"), "").expect("writes");
        let own = dir.path().join("own");
        let mut places = Places::new(dir.path(), Some(&own));
        places.open("a").add(&1);
        assert_eq!(places.open("a").text, "\n1\n");
        let mut places = Places::new(dir.path(), None);
        let mut file = places.open("a");
        file.add(&1);
        assert!(file.text.is_empty() && file.problem.is_none());
        assert!(places.notes.len() == 1 && places.notes[0].contains("in memory"), "{:?}", places.notes);
    }
}

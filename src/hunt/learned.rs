//! What builds of a target turned out not to take while they were hunted on: fillings with a subquery, in some places of
//! some classes. What is tried at the start is a member with NULLs, which does not show this.
//!
//! Kept in the data directory, per target. A campaign goes by what was known when it began, so that its cases do not
//! depend on the order in which they run.

use crate::config::UnsupportedSubquery;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Refusals without a single success after which the next campaign does without.
const REFUSALS_MIN: u32 = 12;

fn path(data_dir: &Path, dbms: &str) -> PathBuf {
    let name = blake3::hash(dbms.as_bytes()).to_hex();
    data_dir.join("cache").join(format!("learned-{}.jsonl", &name[..24]))
}

/// What is known about all builds of a target.
pub fn read(data_dir: &Path, dbms: &str) -> Vec<UnsupportedSubquery> {
    let text = fs::read(path(data_dir, dbms)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut seen = BTreeSet::new();
    let all = text.lines().filter_map(|line| serde_json::from_str::<UnsupportedSubquery>(line).ok());
    all.filter(|l| seen.insert((l.build_id.clone(), l.class.clone(), l.placeholder))).collect()
}

/// Adds to it.
pub fn append(data_dir: &Path, dbms: &str, learned: &UnsupportedSubquery) -> io::Result<()> {
    let path = path(data_dir, dbms);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut line = serde_json::to_string(learned)?;
    line.push('\n');
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

/// The placeholders that are known on a build.
pub fn on_build(learned: &[UnsupportedSubquery], build_id: &str) -> BTreeSet<(String, usize)> {
    let here = learned.iter().filter(|learned| learned.build_id == build_id);
    here.map(|learned| (learned.class.clone(), learned.placeholder)).collect()
}

/// Counts what becomes of fillings with a subquery.
#[derive(Debug, Default)]
pub struct Learning {
    /// Cases that were refused; `None` once one ran.
    refusals: HashMap<(String, usize), Option<u32>>,
}

impl Learning {
    /// Notes a case in which one filling alone has a subquery. Whether that is enough to know that it is refused.
    pub fn note(&mut self, class: &str, placeholder: usize, refused: bool) -> bool {
        let count = self.refusals.entry((class.to_owned(), placeholder)).or_insert(Some(0));
        match count {
            Some(refusals) if refused => {
                *refusals += 1;
                *refusals == REFUSALS_MIN
            }
            _ if refused => false,
            count => {
                *count = None;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_success_outweighs_refusals() {
        let mut learning = Learning::default();
        let notes = |learning: &mut Learning, class: &str| (0..20).filter(|_| learning.note(class, 0, true)).count();
        assert_eq!(notes(&mut learning, "never"), 1);
        assert!(!learning.note("sometimes", 0, false));
        assert_eq!(notes(&mut learning, "sometimes"), 0);
    }

    #[test]
    fn builds_are_told_apart() {
        let data = tempfile::tempdir().expect("a directory");
        assert!(read(data.path(), "duckdb").is_empty());
        for build_id in ["a", "b"] {
            let (class, why) = (format!("class-{build_id}"), "it said so".to_owned());
            let learned = UnsupportedSubquery { build_id: build_id.to_owned(), class, placeholder: 1, why };
            append(data.path(), "duckdb", &learned).expect("writes");
        }
        let known = read(data.path(), "duckdb");
        assert_eq!(on_build(&known, "a"), BTreeSet::from([("class-a".to_owned(), 1)]));
        assert!(read(data.path(), "duckdb@1.4.5").is_empty());
    }
}

//! What campaigns used and what became of it: for each build of a target how many cases with a snippet, an operator of the
//! grammar or a function of the engine's list, or of a class, passed, and how many were void.
//!
//! Kept in the data directory, per target. A campaign goes by what was known when it began: a snippet whose cases are void too
//! often comes into fewer campaigns, as a Beta posterior over its cases says.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// What may be counted, and by which name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Used {
    /// A snippet, by its key.
    Snippet(String),
    /// An operator of the dialect's grammar, as its profile writes it.
    Operator(String),
    /// A function of the engine's list.
    Function(String),
    /// A class, by name.
    Class(String),
}

/// What became of cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cases {
    /// They passed.
    pub pass: u64,
    /// They were void.
    pub void: u64,
    /// They failed.
    pub fail: u64,
}

impl Cases {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.pass += other.pass;
        self.void += other.void;
        self.fail += other.fail;
    }

    /// The mean of the Beta posterior of a case not being void, from a uniform prior.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn posterior_mean(self) -> f64 {
        let good = (self.pass + self.fail) as f64;
        (1.0 + good) / (2.0 + good + self.void as f64)
    }
}

/// Counts of an executor that were not reported yet. Names are looked up without making them anew.
#[derive(Debug, Default)]
pub struct Tally {
    snippets: HashMap<String, Cases>,
    operators: HashMap<String, Cases>,
    functions: HashMap<String, Cases>,
    classes: HashMap<String, Cases>,
}

/// Adds to the counts of a name.
fn add_to(counts: &mut HashMap<String, Cases>, name: &str, cases: Cases) {
    match counts.get_mut(name) {
        Some(known) => known.add(cases),
        None => _ = counts.insert(name.to_owned(), cases),
    }
}

impl Tally {
    /// Counts a case for what it used.
    pub fn note(&mut self, used: crate::oracle::Use<'_>, cases: Cases) {
        use crate::oracle::Use;
        let (counts, name) = match used {
            Use::Snippet { key, .. } => (&mut self.snippets, key),
            Use::Operator(name) => (&mut self.operators, name),
            Use::Function(name) => (&mut self.functions, name),
        };
        add_to(counts, name, cases);
    }

    /// Counts a case for its class.
    pub fn note_class(&mut self, class: &str, cases: Cases) {
        add_to(&mut self.classes, class, cases);
    }

    /// What was counted since the last time.
    pub fn take(&mut self) -> Vec<(Used, Cases)> {
        let Self { snippets, operators, functions, classes } = std::mem::take(self);
        let snippets = snippets.into_iter().map(|(name, cases)| (Used::Snippet(name), cases));
        let operators = operators.into_iter().map(|(name, cases)| (Used::Operator(name), cases));
        let functions = functions.into_iter().map(|(name, cases)| (Used::Function(name), cases));
        let classes = classes.into_iter().map(|(name, cases)| (Used::Class(name), cases));
        snippets.chain(operators).chain(functions).chain(classes).collect()
    }
}

/// Counts by build.
pub type Uses = BTreeMap<String, BTreeMap<Used, Cases>>;

#[derive(Serialize, Deserialize)]
struct Line {
    build_id: String,
    #[serde(flatten)]
    used: Used,
    #[serde(flatten)]
    cases: Cases,
}

fn path(data_dir: &Path, dbms: &str) -> PathBuf {
    let name = blake3::hash(dbms.as_bytes()).to_hex();
    data_dir.join("cache").join(format!("used-{}.jsonl", &name[..24]))
}

fn parse(text: &str) -> Uses {
    let mut uses = Uses::new();
    for Line { build_id, used, cases } in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        uses.entry(build_id).or_default().entry(used).or_default().add(cases);
    }
    uses
}

/// What is known of all builds of a target.
pub fn read(data_dir: &Path, dbms: &str) -> Uses {
    parse(&String::from_utf8_lossy(&fs::read(path(data_dir, dbms)).unwrap_or_default()))
}

/// Adds to it.
pub fn add(data_dir: &Path, dbms: &str, new: &Uses) -> io::Result<()> {
    let path = path(data_dir, dbms);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
    // A file system without locks is used without: then counts of one of two hunts may be lost.
    let _ = file.lock();
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let mut uses = parse(&String::from_utf8_lossy(&text));
    for (build_id, counts) in new {
        for (used, cases) in counts {
            uses.entry(build_id.clone()).or_default().entry(used.clone()).or_default().add(*cases);
        }
    }
    let mut out = String::new();
    for (build_id, counts) in uses {
        for (used, cases) in counts {
            out.push_str(&serde_json::to_string(&Line { build_id: build_id.clone(), used, cases })?);
            out.push('\n');
        }
    }
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(out.as_bytes())
}

/// A snippet of which at least this share of the cases runs is as good as any.
const STANDING_MIN: f64 = 0.8;

/// For each build the snippets that are to come in less often, with the share of campaigns, in percent: the square of the
/// posterior mean, so that a snippet whose cases never run is soon gone.
pub fn standing(uses: &Uses) -> BTreeMap<String, BTreeMap<String, u8>> {
    let of_build = |counts: &BTreeMap<Used, Cases>| {
        let bad = counts.iter().filter_map(|(used, cases)| {
            let Used::Snippet(key) = used else { return None };
            let mean = cases.posterior_mean();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
            (mean < STANDING_MIN && cases.void > 3).then(|| (key.clone(), (100.0 * mean * mean) as u8))
        });
        bad.collect::<BTreeMap<_, _>>()
    };
    uses.iter()
        .map(|(build_id, counts)| (build_id.clone(), of_build(counts)))
        .filter(|(_, bad)| !bad.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_what_is_void_too_often_fades() {
        let data = tempfile::tempdir().expect("a directory");
        let mut tally = Tally::default();
        let (pass, void) = (Cases { pass: 1, ..Cases::default() }, Cases { void: 1, ..Cases::default() });
        for _ in 0..20 {
            tally.note(crate::oracle::Use::Snippet { key: "good", origin: "" }, pass);
            tally.note(crate::oracle::Use::Snippet { key: "bad", origin: "" }, void);
            tally.note(crate::oracle::Use::Operator("#1 + #2"), pass);
        }
        let counts: BTreeMap<Used, Cases> = tally.take().into_iter().collect();
        assert!(tally.take().is_empty());
        let uses = Uses::from([("build".to_owned(), counts)]);
        add(data.path(), "sqlite", &uses).expect("writes");
        add(data.path(), "sqlite", &uses).expect("writes");
        let known = read(data.path(), "sqlite");
        assert_eq!(known["build"][&Used::Snippet("good".into())], Cases { pass: 40, void: 0, fail: 0 });
        assert_eq!(known["build"][&Used::Operator("#1 + #2".into())].pass, 40);
        let standing = standing(&known);
        assert_eq!(standing["build"].keys().collect::<Vec<_>>(), ["bad"]);
        assert!(standing["build"]["bad"] < 2, "{standing:?}");
        assert!(read(data.path(), "duckdb").is_empty());
    }
}

//! Scripts with answers, in the manner of sqllogictest: what must come, and what a wrong version gives instead.
//!
//! `tests/known-bugs/README.md` describes the form. A script is text of our own, so what it does not say exactly is an
//! error, never guessed. Values are written as they are printed everywhere else, and read back from that.

use crate::compare::{Comparison, Row, compare};
use crate::dbms::install::version_key;
use crate::dbms::{EngineError, ErrorClass};
use crate::sql::types::Value;
use std::fs;
use std::io;
use std::path::Path;
use thiserror::Error;

/// What the names of files with scripts end with.
pub const EXTENSION: &str = "slt";

/// What a block did: the rows of a query, none of a statement.
pub type Outcome = Result<Vec<Row>, EngineError>;

/// Why a script cannot be used.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file has not the form.
    #[error("{path}:{line}: {what}")]
    Form {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
}

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The keys of the header with what they say, in order.
    pub header: Vec<(String, String)>,
    /// Statements and queries, in order.
    pub blocks: Vec<Block>,
}

/// A statement or a query with its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Where it begins, from 1.
    pub line: usize,
    /// Whether it is a query.
    pub is_query: bool,
    /// Its text.
    pub sql: String,
    /// What must come.
    pub expected: Answer,
    /// What a wrong version gives; nothing where all versions give what must come. The first that a version is named in counts,
    /// or that names none.
    pub actual: Vec<(Option<Versions>, Answer)>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The statement runs.
    Done,
    /// These rows, in any order.
    Rows(Vec<Row>),
    /// An error of this class whose message has this in it.
    Fails(ErrorClass, String),
}

/// Versions of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Versions(Vec<(String, String)>);

/// What a script's answers say of a version.
#[derive(Debug, Clone, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// They are those of a wrong version.
    Shows,
    /// They are those that must come.
    Right,
    /// They are neither.
    Other {
        /// The block's line.
        line: usize,
        /// What came, a line for each row.
        gave: Vec<String>,
    },
    /// A statement or a query does not run, so nothing can be said.
    Void {
        /// The block's line.
        line: usize,
        /// Why.
        why: String,
    },
}

/// Every class of errors that engines report.
const CLASSES: [ErrorClass; 8] = [
    ErrorClass::Semantic,
    ErrorClass::Data,
    ErrorClass::Limit,
    ErrorClass::Unsupported,
    ErrorClass::Internal,
    ErrorClass::ConnectionLost,
    ErrorClass::Crash,
    ErrorClass::Hang,
];

impl Script {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.display().to_string(), source })?;
        Self::parse(&text).map_err(|(line, what)| ScriptError::Form { path: path.display().to_string(), line, what })
    }

    /// Reads a text; or the line that is wrong, from 1, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let lines: Vec<&str> = text.lines().collect();
        let mut header: Vec<(String, String)> = Vec::new();
        let mut at = 0;
        while let Some(line) = lines.get(at).and_then(|line| line.strip_prefix("# ")) {
            if let (Some(more), Some((_, value))) = (line.strip_prefix("  "), header.last_mut()) {
                value.push(' ');
                value.push_str(more.trim());
            } else {
                let no_key = || (at + 1, "the header is of lines `# key: value`".to_owned());
                let (key, value) = line.split_once(": ").ok_or_else(no_key)?;
                if header.iter().any(|(known, _)| known == key) {
                    return Err((at + 1, format!("`{key}` stands in the header twice")));
                }
                header.push((key.to_owned(), value.trim().to_owned()));
            }
            at += 1;
        }
        let mut blocks = Vec::new();
        while at < lines.len() {
            let end = lines[at..].iter().position(|line| line.is_empty()).map_or(lines.len(), |length| at + length);
            if end > at {
                blocks.push(block(&lines[at..end], at + 1)?);
            }
            at = end + 1;
        }
        let script = Self { header, blocks };
        script.check().map_err(|what| (1, what))?;
        Ok(script)
    }

    /// What must hold of a whole script.
    fn check(&self) -> Result<(), String> {
        for key in ["title", "engine", "wrong", "right"] {
            self.get(key).ok_or(format!("the header has no `{key}`"))?;
        }
        let (wrong, right) = (self.versions("wrong")?, self.versions("right")?);
        if wrong == Versions::default() {
            return Err("`wrong` names no version".to_owned());
        }
        if let Some(both) = wrong.ends().chain(right.ends()).find(|v| wrong.contains(v) && right.contains(v)) {
            return Err(format!("{both} is named as wrong and as right"));
        }
        if self.blocks.iter().all(|block| block.actual.is_empty()) {
            return Err("no block has an actual answer beside the expected one".to_owned());
        }
        Ok(())
    }

    /// What the header says under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.header.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The engine's name, as in a target.
    pub fn engine(&self) -> &str {
        self.get("engine").unwrap_or_default()
    }

    /// The versions that the header names under a key.
    pub fn versions(&self, key: &str) -> Result<Versions, String> {
        Versions::parse(self.get(key).unwrap_or_default()).map_err(|what| format!("`{key}`: {what}"))
    }

    /// What the answers say of the version that gave them. There are fewer of them than blocks where one ended the engine.
    pub fn verdict(&self, version: &str, outcomes: &[Outcome]) -> Verdict {
        let (mut is_right, mut shows) = (true, true);
        let mut line = self.blocks.first().map_or(1, |block| block.line);
        for (block, outcome) in self.blocks.iter().zip(outcomes) {
            line = block.line;
            let right = block.expected.fits(outcome);
            let wrong = block.actual_on(version).fits(outcome);
            if !right && !wrong {
                return match outcome {
                    Err(error) if !error.class.is_finding() => Verdict::Void { line, why: gave(outcome).join(" ") },
                    _ => Verdict::Other { line, gave: gave(outcome) },
                };
            }
            is_right &= right;
            shows &= wrong;
        }
        let gave = |what: &str| Verdict::Other { line, gave: vec![what.to_owned()] };
        match (is_right, shows) {
            (true, _) if outcomes.len() == self.blocks.len() => Verdict::Right,
            (false, true) => Verdict::Shows,
            (true, _) => gave("the last answer: nothing ran behind it"),
            (false, false) => gave("some answers as they must be, some as on wrong versions"),
        }
    }
}

impl Block {
    /// What a wrong version gives, if this is one.
    fn actual_on(&self, version: &str) -> &Answer {
        let counts = |versions: &Option<Versions>| versions.as_ref().is_none_or(|versions| versions.contains(version));
        self.actual.iter().find(|(versions, _)| counts(versions)).map_or(&self.expected, |(_, answer)| answer)
    }
}

impl Answer {
    /// Whether two answers fit the same outcomes.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rows(rows), Self::Rows(others)) => compare(rows, others) == Comparison::Equal,
            _ => self == other,
        }
    }

    /// Whether this is what came.
    pub fn fits(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Done, Ok(_)) => true,
            (Self::Rows(rows), Ok(came)) => compare(rows, came) == Comparison::Equal,
            (Self::Fails(class, text), Err(error)) => error.class == *class && error.message.contains(text.as_str()),
            _ => false,
        }
    }
}

/// What came, as an answer is written.
pub fn gave(outcome: &Outcome) -> Vec<String> {
    match outcome {
        Ok(rows) if rows.is_empty() => vec!["no rows".to_owned()],
        Ok(rows) => rows.iter().map(|row| row.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ")).collect(),
        Err(error) => vec![format!("{}: {}", error.class, error.message.replace('\n', " "))],
    }
}

impl Versions {
    /// Reads `A to B, C (what else there is to say)`, or `none` and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let list = text.split(" (").next().unwrap_or_default();
        if list.split(' ').next() == Some("none") {
            return Ok(Self::default());
        }
        let version = |text: &str| {
            let is_one = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(' ');
            if is_one { Ok(text.to_owned()) } else { Err(format!("`{text}` is no version")) }
        };
        let span = |text: &str| {
            let (first, last) = text.split_once(" to ").unwrap_or((text, text));
            Ok((version(first)?, version(last)?))
        };
        list.split(", ").map(span).collect::<Result<_, String>>().map(Self)
    }

    /// Whether a version is one of them.
    pub fn contains(&self, version: &str) -> bool {
        let key = version_key(version);
        self.0.iter().any(|(first, last)| {
            first == version || last == version || (version_key(first) < key && key < version_key(last))
        })
    }

    /// The newest that is named.
    pub fn newest(&self) -> Option<&str> {
        self.ends().max_by_key(|version| version_key(version))
    }

    /// The versions that are named.
    pub fn ends(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|(first, last)| [first.as_str(), last.as_str()])
    }
}

/// Reads the lines of a block, the first of which has this number.
fn block(lines: &[&str], first: usize) -> Result<Block, (usize, String)> {
    let at = |offset: usize, what: &str| (first + offset, what.to_owned());
    let end = lines.iter().position(|line| line.starts_with("----")).unwrap_or(lines.len());
    let sql = lines.get(1..end).unwrap_or_default().join("\n");
    let is_query = match lines[0] {
        "query" => true,
        "statement" | "statement ok" => false,
        _ => return Err(at(0, "a block begins with `statement ok`, `statement` or `query`")),
    };
    if sql.is_empty() {
        return Err(at(0, "there is no SQL"));
    }
    let mut block = Block { line: first, is_query, sql, expected: Answer::Done, actual: Vec::new() };
    if lines[0] == "statement ok" {
        return if end == lines.len() { Ok(block) } else { Err(at(end, "`statement ok` has no other answers")) };
    }
    let (mut start, mut expected) = (end, None);
    while start < lines.len() {
        let end = lines[start + 1..].iter().position(|line| line.starts_with("----"));
        let end = end.map_or(lines.len(), |length| start + 1 + length);
        let answer =
            answer(&lines[start + 1..end], is_query).map_err(|(offset, what)| at(start + 1 + offset, &what))?;
        match (lines[start], &expected) {
            ("----", None) if end == lines.len() && is_query => expected = Some(answer),
            ("---- expected", None) => expected = Some(answer),
            (label, Some(right)) if label.starts_with("---- actual") => {
                let versions = match label.strip_prefix("---- actual on ") {
                    Some(versions) => Some(Versions::parse(versions).map_err(|what| at(start, &what))?),
                    None if label == "---- actual" => None,
                    None => return Err(at(start, "write `---- actual` or `---- actual on VERSIONS`")),
                };
                if answer.is(right) {
                    return Err(at(start, "the actual answer is the expected one"));
                }
                block.actual.push((versions, answer));
            }
            _ => return Err(at(start, "answers are one `----`, or one `---- expected` and then `---- actual`")),
        }
        start = end;
    }
    // A statement that merely runs is a `statement ok`.
    let is_whole = is_query || !block.actual.is_empty();
    block.expected = expected.filter(|_| is_whole).ok_or_else(|| at(0, "there is no answer"))?;
    Ok(block)
}

/// Reads an answer; or the line that is wrong, from 0, and what is wrong with it.
fn answer(lines: &[&str], is_query: bool) -> Result<Answer, (usize, String)> {
    let fails = |line: &&str| {
        let named = |class: ErrorClass| line.strip_prefix(&class.to_string()).map(|rest| (class, rest));
        let (class, rest) = CLASSES.into_iter().find_map(named)?;
        let text = if rest.is_empty() { Some("") } else { rest.strip_prefix(": ") };
        text.map(|text| Answer::Fails(class, text.to_owned()))
    };
    if let [line] = lines
        && let Some(answer) = fails(line)
    {
        return Ok(answer);
    }
    if !is_query {
        let is_done = matches!(lines, ["ok"]);
        return if is_done {
            Ok(Answer::Done)
        } else {
            Err((0, "a statement's answer is `ok` or an error".to_owned()))
        };
    }
    let rows =
        lines.iter().enumerate().map(|(at, line)| row(line).ok_or((at, format!("`{line}` is no row of values"))));
    Ok(Answer::Rows(rows.collect::<Result<_, _>>()?))
}

/// Reads values as they are printed, between which stands a bar.
fn row(line: &str) -> Option<Row> {
    let mut rest = line;
    let mut row = Vec::new();
    loop {
        let (value, after) = value(rest)?;
        row.push(value);
        match after.strip_prefix(" | ") {
            Some(next) => rest = next,
            None => return after.is_empty().then_some(row),
        }
    }
}

/// Reads the value that a text begins with, and what is behind it.
fn value(text: &str) -> Option<(Value, &str)> {
    if let Some(rest) = text.strip_prefix("CAST(x'") {
        let (digits, rest) = rest.split_once("' AS TEXT)")?;
        return Some((Value::Text(bytes(digits)?), rest));
    }
    if let Some(rest) = text.strip_prefix("x'") {
        let (digits, rest) = rest.split_once('\'')?;
        return Some((Value::Blob(bytes(digits)?), rest));
    }
    if let Some(mut rest) = text.strip_prefix('\'') {
        let mut content = String::new();
        loop {
            let (part, after) = rest.split_once('\'')?;
            content.push_str(part);
            match after.strip_prefix('\'') {
                Some(more) => {
                    content.push('\'');
                    rest = more;
                }
                None => return Some((Value::Text(content.into_bytes()), after)),
            }
        }
    }
    let end = text.find(" | ").unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let value = match word {
        "NULL" => Value::Null,
        "TRUE" => Value::Bool(true),
        "FALSE" => Value::Bool(false),
        "9e999" => Value::Real(f64::INFINITY),
        "-9e999" => Value::Real(f64::NEG_INFINITY),
        "NaN" => Value::Real(f64::NAN),
        _ => {
            let is_number = word.bytes().all(|b| b.is_ascii_digit() || b"+-.e".contains(&b));
            let int = word.parse().ok().map(Value::Int);
            int.or_else(|| word.parse().ok().filter(|_| is_number).map(Value::Real))?
        }
    };
    Some((value, rest))
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = (0..digits.len()).step_by(2).map(|at| digits.get(at..at + 2));
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "# title: two\n#   lines\n# engine: sqlite\n# wrong: 1.1 to 1.10, 3.0\n# right: 2.0 (no 1.0)\n\n";

    fn parse(blocks: &str) -> Script {
        Script::parse(&format!("{HEADER}{blocks}")).unwrap_or_else(|(line, what)| panic!("{line}: {what}\n{blocks}"))
    }

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    fn error(class: ErrorClass, message: &str) -> Outcome {
        Err(EngineError::new(class, message))
    }

    const CASE: &str = "statement ok\nCREATE TABLE t(a\n  INT)\n\nquery\nSELECT 1\n----\n1\n\n\
        query\nSELECT 'a'\n---- expected\n'a'\nNULL\n---- actual on 1.1 to 1.2\n---- actual\ncrash: signal 11\n";

    #[test]
    fn a_script_is_read() {
        let script = parse(CASE);
        assert_eq!((script.get("title"), script.engine()), (Some("two lines"), "sqlite"));
        assert_eq!(script.blocks[0].sql, "CREATE TABLE t(a\n  INT)");
        assert_eq!(script.blocks[1].expected, Answer::Rows(vec![vec![Value::Int(1)]]));
        assert_eq!(script.blocks[2].line, 16);
        assert_eq!(script.blocks[2].actual_on("1.2"), &Answer::Rows(Vec::new()));
        assert_eq!(script.blocks[2].actual_on("3.0"), &Answer::Fails(ErrorClass::Crash, "signal 11".to_owned()));
        let versions = script.versions("wrong").expect("versions");
        for (version, is_one) in
            [("1.1", true), ("1.2.7", true), ("1.10", true), ("1.11", false), ("2.0", false), ("3.0", true)]
        {
            assert_eq!(versions.contains(version), is_one, "{version}");
        }
    }

    #[test]
    fn every_value_is_read_as_it_is_printed() {
        let values = vec![
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Real(-0.5),
            Value::Real(1e300),
            Value::Real(f64::NEG_INFINITY),
            text("it's | ''"),
            text(""),
            Value::Text(vec![0xff, 0]),
            Value::Blob(vec![0, 0xab]),
        ];
        assert_eq!(row(&gave(&Ok(vec![values.clone()]))[0]), Some(values));
        for no_row in ["", "a", "'a", "1 |", "1|2", "x'0'", "x'0g'", "1 2", "inf", "'a' 1"] {
            assert_eq!(row(no_row), None, "{no_row}");
        }
    }

    #[test]
    fn answers_decide() {
        let script = parse(CASE);
        let (done, one) = (Ok(Vec::new()), Ok(vec![vec![Value::Int(1)]]));
        let verdict = |version: &str, last: Outcome| script.verdict(version, &[done.clone(), one.clone(), last]);
        let right: Outcome = Ok(vec![vec![Value::Null], vec![text("a")]]);
        assert_eq!(verdict("1.2", right.clone()), Verdict::Right, "in any order");
        assert_eq!(verdict("1.2", done.clone()), Verdict::Shows);
        assert_eq!(verdict("3.0", done.clone()).to_string(), "other", "it is the answer of other versions");
        assert_eq!(verdict("3.0", error(ErrorClass::Crash, "by signal 11: SEGV")), Verdict::Shows);
        assert_eq!(verdict("3.0", error(ErrorClass::Crash, "by signal 6: ABRT")).to_string(), "other");
        assert_eq!(verdict("3.0", error(ErrorClass::Internal, "by signal 11")).to_string(), "other");
        assert_eq!(verdict("3.0", error(ErrorClass::Semantic, "no such thing")).to_string(), "void");
        assert_eq!(verdict("3.0", Ok(vec![vec![text("a")]])).to_string(), "other");
        let void = script.verdict("3.0", &[error(ErrorClass::Semantic, "no such thing")]);
        assert_eq!(void, Verdict::Void { line: 7, why: "semantic error: no such thing".to_owned() });
        let crash = script.verdict("3.0", &[done.clone(), error(ErrorClass::Crash, "by signal 11")]);
        assert_eq!(crash.to_string(), "other", "it came before it was due");
        assert_eq!(script.verdict("3.0", &[done, one]).to_string(), "other", "answers are missing");
    }

    #[test]
    fn what_is_not_said_exactly_is_refused() {
        let two = "query\nSELECT 1\n---- expected\n1\n---- actual\n2\n";
        let wrong = [
            ("select 1\n", 7, "a block begins"),
            ("query\n----\n1\n", 7, "no SQL"),
            ("query\nSELECT 1\n", 7, "no answer"),
            ("query\nSELECT 1\n----\na\n", 10, "no row"),
            ("query\nSELECT 1\n---- expected\n1\n---- actual\n1\n", 11, "is the expected one"),
            ("query\nSELECT 1\n---- expected\n1\n---- actual\nTRUE\n", 11, "is the expected one"),
            ("query\nSELECT 1\n---- actual\n1\n", 9, "answers are"),
            ("query\nSELECT 1\n---- expected\n1\n---- actually\n2\n", 11, "actual on VERSIONS"),
            ("query\nSELECT 1\n---- expected\n1\n---- actual on all\n2\n", 11, "is no version"),
            ("statement ok\nBEGIN\n----\nok\n", 9, "no other answers"),
            ("statement\nBEGIN\n---- expected\n1\n---- actual\ncrash\n", 10, "a statement's answer"),
            ("query\nSELECT 1\n----\n1\n", 1, "no block has an actual answer"),
        ];
        assert!(Script::parse(&format!("{HEADER}{two}")).is_ok());
        for (blocks, line, what) in wrong {
            let (at, said) = Script::parse(&format!("{HEADER}{blocks}")).expect_err(blocks);
            assert!(at == line && said.contains(what), "{blocks}: {at}: {said}");
        }
        for (from, to) in
            [("# engine: sqlite\n", ""), ("2.0 (", "1.5 ("), ("1.1 to 1.10, 3.0", "none"), ("2.0 (", "2.0 and (")]
        {
            assert!(Script::parse(&format!("{HEADER}{two}").replace(from, to)).is_err(), "{from} {to}");
        }
    }
}

//! What a model is asked for snippets (Argus paper, section 6.1): the default table, sampled documentation of features, and
//! the rules that snippets keep. And what is found in its answer.

use super::features::{Feature, Features, Named};
use crate::llm::template::{PromptError, Template, data, fenced};
use crate::llm::{Message, PromptSource};
use crate::rng::Rng;
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::snippet::{SnippetKind, is_allowed};
use crate::sql::table_snippet::{bare, definitions};
use crate::sql::types::SqlType;
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

/// Features that one prompt names.
const FEATURES: usize = 24;

/// Pieces of the user's documentation in one prompt.
const DOCUMENTS: usize = 3;

/// Bytes of a piece of documentation.
const PIECE_BYTES_MAX: usize = 1_500;

/// Words with one beginning, such as `pg_`, beyond which only the beginning is named.
const FAMILY: usize = 8;

/// Snippets that one answer may have; what comes after them is dropped and counted.
pub const SNIPPETS_MAX: usize = 400;

/// Bytes of one snippet.
pub const SNIPPET_BYTES_MAX: usize = 2_000;

/// A feature, or a piece of documentation, as a prompt shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is about.
    pub name: String,
    /// The documentation; may be empty.
    pub text: String,
}

/// What is asked.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The dialect.
    pub profile: &'a Profile,
    /// The engine's version.
    pub version: &'a str,
    /// Expressions or tables.
    pub kind: SnippetKind,
    /// How many.
    pub wanted: u32,
    /// What they should use.
    pub pieces: &'a [Piece],
    /// For tables: the types of their columns.
    pub shapes: &'a [Vec<SqlType>],
    /// Snippets that are known.
    pub known: &'a [String],
    /// What the user wants preferred.
    pub focus: Option<&'a str>,
}

/// The prompts for expressions and for tables.
#[derive(Debug, Clone)]
pub struct Prompts {
    expressions: Template,
    tables: Template,
}

impl Prompts {
    /// The shipped ones.
    pub fn shipped() -> Result<Self, PromptError> {
        Ok(Self {
            expressions: Template::parse("expressions", include_str!("../../prompts/expressions.md"))?,
            tables: Template::parse("tables", include_str!("../../prompts/tables.md"))?,
        })
    }

    fn of(&self, kind: SnippetKind) -> &Template {
        match kind {
            SnippetKind::Expression => &self.expressions,
            SnippetKind::Table => &self.tables,
        }
    }

    /// Where the text of a prompt comes from.
    pub fn source(&self, kind: SnippetKind) -> &PromptSource {
        &self.of(kind).source
    }

    /// The messages of an asking.
    pub fn fill(&self, ask: &Ask<'_>) -> Result<Vec<Message>, PromptError> {
        let table = &ask.profile.snippet_table;
        let columns: Vec<String> =
            table.columns.iter().map(|(name, ty)| format!("  {name} {}", bare(ask.profile.declared(ty)))).collect();
        let pieces: Vec<_> = ask
            .pieces
            .iter()
            .map(|piece| minijinja::context! { name => data(&piece.name), text => data(&piece.text) })
            .collect();
        let shape = |types: &Vec<SqlType>| {
            let columns = (1..)
                .zip(types)
                .map(|(at, ty)| format!("y{at} {}", bare(ask.profile.declared(&ColumnType::Class(*ty)))));
            columns.collect::<Vec<_>>().join(", ")
        };
        self.of(ask.kind).fill(&minijinja::context! {
            dialect => ask.profile.name.as_str(),
            version => ask.version,
            table => fenced(&format!("CREATE TABLE {}(\n{}\n)", table.name, columns.join(",\n"))),
            tables => definitions(ask.profile),
            name => table.name.as_str(),
            column => table.columns.keys().next(),
            forbidden => forbidden(ask.profile, ask.kind),
            wanted => ask.wanted,
            pieces,
            shapes => ask.shapes.iter().map(shape).collect::<Vec<_>>(),
            known => ask.known.iter().map(|sql| data(sql)).collect::<Vec<_>>(),
            focus => ask.focus.map(data),
        })
    }
}

/// The words that keep a snippet out, large families of them by their beginning.
fn forbidden(profile: &Profile, kind: SnippetKind) -> String {
    let words: Vec<&String> = profile.forbidden.words.iter().filter(|word| !is_allowed(word, profile, kind)).collect();
    let family = |word: &str| word.split_once('_').map(|(start, _)| format!("{start}_*"));
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    words.iter().filter_map(|word| family(word)).for_each(|family| *sizes.entry(family).or_default() += 1);
    let large = |word: &String| {
        family(word).filter(|family| sizes[family] > FAMILY && family != "date_*" && family != "json_*")
    };
    let shown: BTreeSet<String> = words.into_iter().map(|word| large(word).unwrap_or_else(|| word.clone())).collect();
    shown.into_iter().collect::<Vec<_>>().join(", ")
}

/// The schema of answers: `{"snippets": ["…"]}`.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "snippets": { "type": "array", "items": { "type": "string" } } },
        "required": ["snippets"],
        "additionalProperties": false,
    })
}

/// The snippets of an answer, and how many were dropped, too long or too many. An answer that was cut off gives those that
/// are whole.
pub fn snippets(text: &str) -> (Vec<String>, u32) {
    let text = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    let start = text
        .find("\"snippets\"")
        .and_then(|at| Some(at + text[at..].find('[')? + 1))
        .or_else(|| Some(text.find('[')? + 1));
    let mut rest = start.map_or("", |start| &text[start..]);
    let (mut kept, mut dropped) = (Vec::new(), 0);
    // One string after the other, because the end of the list may be missing.
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if !rest.starts_with('"') {
            break;
        }
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let Some(Ok(string)) = strings.next() else { break };
        rest = &rest[strings.byte_offset()..];
        let sql = string.trim().trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        if sql.len() > SNIPPET_BYTES_MAX || kept.len() == SNIPPETS_MAX {
            dropped += 1;
        } else if !sql.is_empty() {
            kept.push(sql.to_owned());
        }
    }
    (kept, dropped)
}

/// What a prompt is to be about: features that nothing covers yet, then others, and pieces of documentation that speak of
/// them. `covered` gets what was chosen.
pub fn choose(
    features: &Features,
    kind: SnippetKind,
    documents: &[Piece],
    covered: &mut BTreeSet<Named>,
    rng: &mut Rng,
) -> Vec<Piece> {
    use super::features::FeatureKind::{Aggregate, Clause, Function, Operator, Table, Type, Window};
    let wanted = |named: &Named| match kind {
        SnippetKind::Expression => matches!(named.0, Function | Operator | Type | Aggregate),
        SnippetKind::Table => matches!(named.0, Clause | Window | Table | Aggregate),
    };
    let mut all: Vec<(Named, &Feature)> = features.all().filter(|(named, _)| wanted(named)).collect();
    all.shuffle(rng);
    // What an operator does can be had without a model.
    all.sort_by_key(|(named, feature)| (feature.text.starts_with("implementation of"), covered.contains(named)));
    all.truncate(FEATURES);
    let mut pieces = Vec::new();
    for (named, feature) in &all {
        let what: &str = named.0.into();
        let forms: Vec<String> =
            feature.signatures.iter().take(4).map(|s| format!("{}({})", named.1, s.join(", "))).collect();
        let name = if named.0.is_function() && feature.signatures.iter().any(|s| !s.iter().all(|ty| ty == "any")) {
            forms.join(", ")
        } else {
            format!("{what} {}", named.1)
        };
        pieces.push(Piece { name, text: feature.text.split_whitespace().collect::<Vec<_>>().join(" ") });
    }
    let speaks = |piece: &&Piece| {
        let text = piece.text.to_lowercase();
        all.iter().any(|(named, _)| text.contains(&named.1))
    };
    let mut fitting: Vec<&Piece> = documents.iter().filter(speaks).collect();
    fitting.shuffle(rng);
    pieces.extend(fitting.into_iter().take(DOCUMENTS).cloned());
    covered.extend(all.into_iter().map(|(named, _)| named));
    pieces
}

/// The texts and Markdown files of a folder, cut at headings and empty lines into pieces.
pub fn documents(dir: &Path) -> io::Result<Vec<Piece>> {
    let mut paths: Vec<_> = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    let mut pieces = Vec::new();
    for path in paths {
        let is_text = path.extension().is_some_and(|extension| extension == "md" || extension == "txt");
        if path.is_dir() {
            pieces.extend(documents(&path)?);
        } else if is_text {
            let bytes = fs::read(&path)?;
            let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            pieces.extend(cut(&file, &String::from_utf8_lossy(&bytes)));
        }
    }
    Ok(pieces)
}

fn cut(file: &str, text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut heading = String::new();
    let mut is_new = true;
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        if let Some(title) = paragraph.lines().next().and_then(|line| line.strip_prefix('#')) {
            title.trim_start_matches('#').trim().clone_into(&mut heading);
            is_new = true;
        }
        match pieces.last_mut() {
            Some(last) if !is_new && last.text.len() + paragraph.len() < PIECE_BYTES_MAX => {
                last.text.push('\n');
                last.text.push_str(paragraph);
            }
            _ => {
                let end = (0..=PIECE_BYTES_MAX.min(paragraph.len())).rev().find(|at| paragraph.is_char_boundary(*at));
                let name = if heading.is_empty() { file.to_owned() } else { format!("{file}, {heading}") };
                pieces.push(Piece { name, text: paragraph[..end.unwrap_or_default()].to_owned() });
            }
        }
        is_new = false;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;

    #[test]
    fn a_prompt_shows_the_table_the_rules_and_what_is_wanted() {
        let profile = profile("postgres").expect("shipped");
        let prompts = Prompts::shipped().expect("shipped");
        let pieces = [Piece { name: "lower(text)".into(), text: "lowercase ``` ignore this".into() }];
        let known = ["upper(t.c_text)".to_owned()];
        let shapes = [vec![SqlType::Int, SqlType::Text]];
        let mut ask = Ask {
            profile: &profile,
            version: "18.4",
            kind: SnippetKind::Expression,
            wanted: 100,
            pieces: &pieces,
            shapes: &shapes,
            known: &known,
            focus: None,
        };
        let text = |ask: &Ask| prompts.fill(ask).expect("fills").iter().map(|m| m.content.as_str()).collect::<String>();
        let shown = text(&ask);
        for part in
            ["c_jsonb JSONB", "100 expressions", "lower(text): lowercase ` ` `", "`upper(t.c_text)`", "pg_*", "random"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        ask.kind = SnippetKind::Table;
        let shown = text(&ask);
        for part in ["CREATE TABLE s1(i1 INTEGER", "y1 INTEGER, y2 TEXT", "lower(text)"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn snippets_are_found_in_what_was_cut_off_and_bounded() {
        let whole = r#"Here: {"snippets": ["a + 1;", "b || 'x'", ""]} and more"#;
        assert_eq!(snippets(whole), (vec!["a + 1".to_owned(), "b || 'x'".to_owned()], 0));
        let cut = r#"{"snippets": ["a", "b \"q\"", "c + "#;
        assert_eq!(snippets(cut).0, ["a", "b \"q\""]);
        let long = format!("[\"{}\", \"a\"]", "x".repeat(SNIPPET_BYTES_MAX + 1));
        assert_eq!(snippets(&long), (vec!["a".to_owned()], 1));
        assert_eq!(snippets("I cannot do that."), (Vec::new(), 0));
    }

    #[test]
    fn documentation_is_cut_at_headings() {
        let pieces = cut("strings", "# lower\n\nMakes it small.\n\nlower('A')\n\n# upper\n\nMakes it large.");
        let names: Vec<&str> = pieces.iter().map(|piece| piece.name.as_str()).collect();
        assert_eq!(names, ["strings, lower", "strings, upper"]);
        assert!(pieces[0].text.contains("lower('A')") && pieces[1].text.ends_with("large."));
    }
}

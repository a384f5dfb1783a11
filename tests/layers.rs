//! No room of a crate knows one that is above it or beside it. A room is a file or folder at the root of the crate; what
//! it knows is what its `use` lines and its paths through `crate` and `super` name, outside of tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A crate: where its rooms stand, and what is still to be put right.
struct Crate {
    /// The folder of its root file, in the repository.
    folder: &'static str,
    /// From the ground up. Rooms of one layer do not know each other.
    layers: &'static [&'static [&'static str]],
    /// Arrows that are there and should not be: each goes when its room does without. A new one does not come in.
    allowed: &'static [(&'static str, &'static str)],
}

const PROVER: Crate = Crate {
    folder: "prover/src",
    layers: &[
        &["civil", "evidence", "ir", "limits", "walk"],
        &["eval", "fuzz", "lower", "qed", "smt"],
        &["normal", "pair", "refute", "symbolic"],
        &["cert", "encode"],
        &["matching", "report"],
        &["decide", "wire"],
        &["disprove"],
    ],
    allowed: &[],
};

const PROVER_PROGRAM: Crate = Crate {
    folder: "prover/src/bin/caqtus_prover",
    layers: &[
        &["args", "audit", "clock", "exit", "memory", "second", "solver"],
        &["completions", "display", "man", "serve", "worker"],
        &["explain", "pool"],
        &["pairs"],
        &["bench", "fuzz", "prove"],
        &["check", "refute"],
    ],
    allowed: &[],
};

const PROGRAM: Crate = Crate {
    folder: "src",
    layers: &[
        &["clock", "digest"],
        &["config", "rng", "sql"],
        &["caq", "compare"],
        &["catalogue", "generate", "llm", "plan", "program", "server"],
        &["dbms", "oracle"],
        &["corpus", "interpret"],
        &["triage"],
        &["hunt", "store"],
        &["discover"],
        &["app"],
        &["api"],
        &["cli"],
    ],
    allowed: &[],
};

/// Where the paths stand that lead out of a room: file and line.
type Arrows = BTreeMap<(String, String), String>;

impl Crate {
    /// Every source file by its path in the crate.
    fn files(&self) -> Vec<(String, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.folder);
        let mut files = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder of sources") {
                let path = entry.expect("an entry").path();
                let name = path.strip_prefix(&root).expect("below the root").display().to_string();
                if path.is_dir() && name != "bin" {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    files.push((name, std::fs::read_to_string(&path).expect("a source file")));
                }
            }
        }
        files
    }

    /// What is wrong, in words.
    fn problems(&self, files: &[(String, String)]) -> Vec<String> {
        let mut layer_of = BTreeMap::new();
        for (layer, rooms) in self.layers.iter().enumerate() {
            rooms.iter().for_each(|room| _ = layer_of.insert((*room).to_owned(), layer));
        }
        let rooms: BTreeSet<String> = files.iter().filter_map(|(path, _)| modules(path).into_iter().next()).collect();
        let mut problems = Vec::new();
        let known: BTreeSet<String> = layer_of.keys().cloned().collect();
        problems.extend(rooms.difference(&known).map(|room| format!("the room {room} is in no layer")));
        problems.extend(known.difference(&rooms).map(|room| format!("there is no room {room}")));
        let arrows = arrows(files);
        for ((from, to), place) in &arrows {
            let down = match (layer_of.get(from), layer_of.get(to)) {
                (Some(from), Some(to)) => to < from,
                // The root stands above its rooms: what it re-exports is in one of them, which can be named.
                _ => false,
            };
            let allowed = self.allowed.contains(&(from.as_str(), to.as_str()));
            match (down, allowed) {
                (false, false) => problems.push(format!("{place}: {from} may not know {to}, which is not below it")),
                (true, true) => problems.push(format!("{from} may know {to}: it needs no allowance")),
                _ => {}
            }
        }
        for (from, to) in self.allowed {
            if !arrows.contains_key(&((*from).to_owned(), (*to).to_owned())) {
                problems.push(format!("{from} does without {to}: delete the allowance"));
            }
        }
        problems
    }
}

/// The path of a file's module: empty for the root.
fn modules(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_root = parts.len() == 1 && ["lib", "main"].contains(&parts[0].as_str());
    if is_root || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// The arrows between the rooms of a crate. The root has none: it stands above all.
fn arrows(files: &[(String, String)]) -> Arrows {
    let read: Vec<(Vec<String>, &String, Vec<Token>)> =
        files.iter().map(|(path, text)| (modules(path), path, tokens(text))).collect();
    let tests: Vec<Vec<String>> = read.iter().flat_map(|(module, _, tokens)| test_files(module, tokens)).collect();
    let mut arrows = Arrows::new();
    for (module, path, tokens) in &read {
        let Some(room) = module.first() else { continue };
        if tests.iter().any(|test| module.starts_with(test)) {
            continue;
        }
        for (to, line) in leads_to(module, &without_tests(tokens).0) {
            if to != *room {
                arrows.entry((room.clone(), to)).or_insert_with(|| format!("{path}:{line}"));
            }
        }
    }
    arrows
}

/// A word, `::`, or a mark, and its line.
type Token = (String, usize);

/// The code of a file, without comments and texts.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens: Vec<Token> = Vec::new();
    let (mut i, mut line) = (0, 1);
    while i < chars.len() {
        let start = i;
        match at(i) {
            '/' if at(i + 1) == '/' => {
                while i < chars.len() && at(i) != '\n' {
                    i += 1;
                }
            }
            '/' if at(i + 1) == '*' => {
                let mut depth = 0;
                loop {
                    match (at(i), at(i + 1)) {
                        ('/', '*') => (depth, i) = (depth + 1, i + 2),
                        ('*', '/') => (depth, i) = (depth - 1, i + 2),
                        _ => i += 1,
                    }
                    if depth == 0 || i >= chars.len() {
                        break;
                    }
                }
            }
            '"' => i = after_text(&chars, i),
            // A character, or the name of a lifetime.
            '\'' if at(i + 1) == '\\' => {
                i += 3;
                while i < chars.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            }
            '\'' if at(i + 2) == '\'' => i += 3,
            c if is_word(c) => {
                while is_word(at(i)) {
                    i += 1;
                }
                let word: String = chars[start..i].iter().collect();
                let hashes = chars[i..].iter().take_while(|c| **c == '#').count();
                if ["r", "br", "cr"].contains(&word.as_str()) && at(i + hashes) == '"' {
                    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                    i += hashes + 1;
                    while i < chars.len() && !chars[i..].starts_with(&end) {
                        i += 1;
                    }
                    i += end.len();
                } else {
                    tokens.push((word, line));
                }
            }
            ':' if at(i + 1) == ':' => {
                tokens.push(("::".to_owned(), line));
                i += 2;
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push((c.to_string(), line));
                }
                i += 1;
            }
        }
        line += chars[start..i.min(chars.len())].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

/// The position after a text in double quotes.
fn after_text(chars: &[char], start: usize) -> usize {
    let mut i = start + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// The position after the group of brackets that starts here.
fn after_group(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (i, (text, _)) in tokens.iter().enumerate().skip(start) {
        match text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// The code without what is compiled for tests only, and the names of the modules in files of their own among that.
fn without_tests(all: &[Token]) -> (Vec<Token>, Vec<String>) {
    let text = |i: usize| all.get(i).map_or("", |(text, _)| text.as_str());
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut i = 0;
    while i < all.len() {
        let head: String = (i..i + 7).map(text).collect();
        if !(head.starts_with("#[cfg(test)]") || head.starts_with("#[cfg(all(test")) {
            kept.push(all[i].clone());
            i += 1;
            continue;
        }
        // This attribute and those after it, then the item: up to a semicolon, or a block with what closes a list.
        while text(i) == "#" {
            i = after_group(all, i + 1);
        }
        let start = i;
        while i < all.len() {
            match text(i) {
                ";" => {
                    i += 1;
                    break;
                }
                "{" => {
                    i = after_group(all, i);
                    i += usize::from(text(i) == ";");
                    break;
                }
                "(" | "[" => i = after_group(all, i),
                _ => i += 1,
            }
        }
        let item: Vec<&str> = (start..i).map(text).collect();
        if let [.., "mod", name, ";"] = item.as_slice() {
            files.push((*name).to_owned());
        }
    }
    (kept, files)
}

/// The modules that are compiled for tests only, each in a file of its own.
fn test_files(module: &[String], tokens: &[Token]) -> Vec<Vec<String>> {
    let names = without_tests(tokens).1;
    names.into_iter().map(|name| module.iter().cloned().chain([name]).collect()).collect()
}

/// The rooms that the paths in a module's code lead to through the root, each with the line.
fn leads_to(module: &[String], tokens: &[Token]) -> Vec<(String, usize)> {
    let text = |i: usize| tokens.get(i).map_or("", |(text, _)| text.as_str());
    let mut found = Vec::new();
    // Modules within the file, by the depth of their braces.
    let (mut inner, mut depth) = (Vec::new(), 0_usize);
    let mut i = 0;
    while i < tokens.len() {
        let line = tokens[i].1;
        match text(i) {
            "{" => {
                depth += 1;
                if i >= 2 && text(i - 2) == "mod" {
                    inner.push(depth);
                }
            }
            "}" => {
                inner.pop_if(|at| *at == depth);
                depth = depth.saturating_sub(1);
            }
            start @ ("crate" | "super") if text(i + 1) == "::" => {
                let mut left = if start == "crate" { 0 } else { module.len() + inner.len() - 1 };
                i += 2;
                while start == "super" && text(i) == "super" && text(i + 1) == "::" {
                    left = left.saturating_sub(1);
                    i += 2;
                }
                if left == 0 {
                    found.extend(first_names(tokens, i).into_iter().map(|name| (name, line)));
                }
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    found
}

/// The first names of what is named here: one, or those of a list.
fn first_names(tokens: &[Token], start: usize) -> Vec<String> {
    let text = |i: usize| tokens.get(i).map_or("", |(text, _)| text.as_str());
    if text(start) != "{" {
        return vec![text(start).to_owned()];
    }
    let end = after_group(tokens, start) - 1;
    let mut names = Vec::new();
    let mut i = start + 1;
    while i < end {
        names.push(text(i).to_owned());
        while i < end && text(i) != "," {
            i = if text(i) == "{" { after_group(tokens, i) } else { i + 1 };
        }
        i += 1;
    }
    names
}

fn check(of: &Crate) {
    let problems = of.problems(&of.files());
    assert!(problems.is_empty(), "{}:\n{}", of.folder, problems.join("\n"));
}

#[test]
fn the_prover_has_layers() {
    check(&PROVER);
    check(&PROVER_PROGRAM);
}

#[test]
fn the_program_has_layers() {
    check(&PROGRAM);
}

fn problems(allowed: &'static [(&str, &str)], files: &[(&str, &str)]) -> Vec<String> {
    let layers: &[&[&str]] = &[&["low", "beside"], &["high"]];
    let files: Vec<(String, String)> = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
    Crate { folder: "", layers, allowed }.problems(&files)
}

#[test]
fn arrows_up_and_sideways_are_found() {
    for (place, text) in [
        ("low.rs", "\nuse crate::high::Thing;"),
        ("low.rs", "\nuse crate::{low, high};"),
        ("low.rs", "\nuse crate::{low::{a, b}, high::{c}};"),
        ("low.rs", "\nfn f() { let x = 'x'; crate::high::f() }"),
        ("low.rs", "\nuse super::high;"),
        ("low/deep.rs", "\nuse super::super::high;"),
        ("low/deep.rs", "\nmod inner { use super::super::super::high; }"),
        ("low/mod.rs", "\npub(in crate::high) fn f() {}"),
        ("low.rs", "#[cfg(not(test))]\nuse crate::high::Thing;"),
        ("low.rs", "#[cfg(test)] use a::{b}; const C: char = '\"';\nuse crate::high::Thing;"),
    ] {
        let found = problems(&[], &[(place, text), ("beside.rs", ""), ("high/mod.rs", "use crate::{low, beside};")]);
        assert_eq!(found, [format!("{place}:2: low may not know high, which is not below it")], "{text}");
    }
    let found = problems(&[], &[("low.rs", "use crate::beside;"), ("beside.rs", ""), ("high.rs", "use crate::Low;")]);
    assert_eq!(found.len(), 2, "a neighbour, and the root: {found:?}");
    let found = problems(&[], &[("low.rs", ""), ("new.rs", ""), ("high.rs", "")]);
    assert_eq!(found, ["the room new is in no layer", "there is no room beside"]);
}

#[test]
fn what_is_no_code_or_for_tests_only_is_no_arrow() {
    for text in [
        "// use crate::high;\n/* crate::high /* */ crate::high */",
        "const A: &str = \"crate::high \\\" crate::high\"; const B: &str = r#\"\" crate::high\"#;",
        "#[cfg(test)]\nmod tests { use crate::high; mod more { use crate::high; } }",
        "#[cfg(all(test, feature = \"x\"))]\n#[expect(unused)]\nmod tests { use crate::high; }",
        "#[cfg(test)]\nuse crate::high::{self, Thing};",
        "#[cfg(test)]\npub(crate) fn f(a: [u8; 2]) -> u8 { crate::high::f() }",
        "use super::low::other; mod inner { use super::high; }",
    ] {
        assert_eq!(problems(&[], &[("low.rs", text), ("beside.rs", ""), ("high.rs", "")]), [""; 0], "{text}");
    }
    let files = [
        ("low/mod.rs", "#[cfg(test)]\nmod t;"),
        ("low/t/a.rs", "use crate::high;"),
        ("beside.rs", ""),
        ("high.rs", ""),
    ];
    assert_eq!(problems(&[], &files), [""; 0]);
}

#[test]
fn an_allowance_goes_with_its_arrow() {
    let files = |low: &'static str| [("low.rs", low), ("beside.rs", ""), ("high.rs", "use crate::low;")];
    assert_eq!(problems(&[("low", "high")], &files("use crate::high;")), [""; 0]);
    let delete = ["low does without high: delete the allowance"];
    assert_eq!(problems(&[("low", "high")], &files("")), delete);
    assert_eq!(problems(&[("high", "low")], &files("")), ["high may know low: it needs no allowance"]);
}

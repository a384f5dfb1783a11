//! A dump's text, cut into statements.

/// The statements of a dump, without comments, commands of a client and rows of COPY. Whatever the text is, it is cut
/// somehow; what a cut at a wrong place leaves does not parse and is left out by name.
pub(super) fn statements(text: &str) -> Vec<String> {
    // Only MySQL's dumps quote names so, and only there a backslash hides a quote.
    let backslashes = text.contains('`');
    let mut cutter = Cutter { rest: text, statement: String::new(), statements: Vec::new(), end: ";".to_owned() };
    while !cutter.rest.is_empty() {
        cutter.step(backslashes);
    }
    cutter.finish();
    cutter.statements
}

struct Cutter<'a> {
    rest: &'a str,
    statement: String,
    statements: Vec<String>,
    /// What ends a statement.
    end: String,
}

impl Cutter<'_> {
    /// Moves past some bytes and returns them.
    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn line(&self) -> usize {
        self.rest.find('\n').map_or(self.rest.len(), |at| at + 1)
    }

    fn step(&mut self, backslashes: bool) {
        let rest = self.rest;
        let fresh = self.statement.trim().is_empty();
        if rest.starts_with("--") || fresh && (rest.starts_with('\\') || rest.starts_with('#')) {
            self.take(self.line());
            self.statement.push('\n');
        } else if fresh && rest.get(..10).is_some_and(|word| word.eq_ignore_ascii_case("delimiter ")) {
            let line = self.take(self.line());
            let end = line["delimiter ".len()..].trim();
            self.end = if end.is_empty() { ";".to_owned() } else { end.to_owned() };
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            self.take(end);
            self.statement.push(' ');
        } else if rest.starts_with(self.end.as_str()) {
            let end = self.end.len();
            self.take(end);
            if self.is_open_trigger() { self.statement.push(';') } else { self.finish() }
        } else if let Some(quote) = rest.chars().next().filter(|c| ['\'', '"', '`'].contains(c)) {
            let end = quoted(rest, quote, backslashes);
            let text = self.take(end).to_owned();
            self.statement.push_str(&text);
        } else if let Some(end) = dollar_quoted(rest).filter(|_| !backslashes) {
            let text = self.take(end).to_owned();
            self.statement.push_str(&text);
        } else {
            let next = rest.chars().next().map_or(1, char::len_utf8);
            let text = self.take(next).to_owned();
            self.statement.push_str(&text);
        }
    }

    /// Whether the statement is a trigger whose body goes on.
    fn is_open_trigger(&self) -> bool {
        let words: Vec<String> = self.statement.split_whitespace().map(str::to_ascii_uppercase).collect();
        words.first().is_some_and(|word| word == "CREATE")
            && words.iter().take(4).any(|word| word == "TRIGGER")
            && words.iter().any(|word| word == "BEGIN")
            && words.last().is_none_or(|word| word != "END")
    }

    fn finish(&mut self) {
        let statement = std::mem::take(&mut self.statement);
        let statement = statement.trim();
        if statement.is_empty() {
            return;
        }
        let words: Vec<String> = statement.split_whitespace().map(str::to_ascii_uppercase).collect();
        if words[0] == "COPY" && words.windows(2).any(|pair| pair[0] == "FROM" && pair[1] == "STDIN") {
            while !self.rest.is_empty() && self.take(self.line()).trim_end() != "\\." {}
        }
        self.statements.push(statement.to_owned());
    }
}

/// The length of a text in quotes at the start.
fn quoted(text: &str, quote: char, backslashes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && backslashes {
            chars.next();
        } else if c == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return at + 1;
            }
        }
    }
    text.len()
}

/// The length of a text between `$$` or `$tag$` at the start.
fn dollar_quoted(text: &str) -> Option<usize> {
    let tag = text.strip_prefix('$')?.split('$').next()?;
    if !tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let mark = format!("${tag}$");
    let body = text.strip_prefix(mark.as_str())?;
    Some(body.find(&mark).map_or(text.len(), |at| at + 2 * mark.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(statements(text), expected, "{text}");
    }

    #[test]
    fn statements_end_where_they_end() {
        check("SELECT 1; -- a; b\nSELECT /* ; */ 2", &["SELECT 1", "SELECT   2"]);
        check("SELECT 'a;''b;', \"x;\"; S", &["SELECT 'a;''b;', \"x;\"", "S"]);
        check(
            "F AS $$ a; b $$ LANGUAGE x; G AS $b$ ; $$ ; $b$; H",
            &["F AS $$ a; b $$ LANGUAGE x", "G AS $b$ ; $$ ; $b$", "H"],
        );
        check("COPY t (a) FROM stdin;\n1;\t'\n\\.\n\nSELECT 1;", &["COPY t (a) FROM stdin", "SELECT 1"]);
        check("\\connect x\n\\restrict y;z\nSELECT 'C:\\';SELECT 2", &["SELECT 'C:\\'", "SELECT 2"]);
        check("INSERT INTO `t` VALUES ('it\\'s;'); S", &["INSERT INTO `t` VALUES ('it\\'s;')", "S"]);
        check("DELIMITER ;;\nCREATE X BEGIN a; END;;\nDELIMITER ;\nS;", &["CREATE X BEGIN a; END", "S"]);
        let trigger = "CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET a = 1; DELETE FROM t; END";
        check(&format!("{trigger}; CREATE TABLE t(a)"), &[trigger, "CREATE TABLE t(a)"]);
        check("'never closed; SELECT 1", &["'never closed; SELECT 1"]);
    }
}

//! A report as text, for a terminal or in Markdown.

use std::fmt::Write as _;

use prover::wire::Outcome;

use super::report::{Report, Row, Suite};

/// Bytes of a reason that are shown.
const REASON_CHARS_MAX: usize = 160;

/// A block of a report.
enum Block {
    /// A heading.
    Heading(String),
    /// A line.
    Line(String),
    /// Headers, then rows; the first column is text, so is the last of a row longer than `numbers` + 1.
    Table { headers: Vec<&'static str>, numbers: usize, rows: Vec<Vec<String>> },
}

/// For a terminal.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for block in blocks(report) {
        match block {
            Block::Heading(heading) => _ = writeln!(text, "{heading}\n{}", "=".repeat(heading.chars().count())),
            Block::Line(line) => _ = writeln!(text, "{line}\n"),
            Block::Table { headers, numbers, rows } => {
                let headers: Vec<String> = headers.into_iter().map(str::to_owned).collect();
                let width = |column: usize| {
                    let cells = std::iter::once(&headers).chain(&rows);
                    cells.map(|cells| cells[column].chars().count()).max().unwrap_or_default()
                };
                let widths: Vec<usize> = (0..headers.len()).map(width).collect();
                for cells in std::iter::once(&headers).chain(&rows) {
                    let mut line = String::from(" ");
                    for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                        let _ = if (1..=numbers).contains(&column) {
                            write!(line, " {cell:>width$} ")
                        } else {
                            write!(line, " {cell:<width$} ")
                        };
                    }
                    let _ = writeln!(text, "{}", line.trim_end());
                }
                text.push('\n');
            }
        }
    }
    text
}

/// In Markdown.
pub(super) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    for block in blocks(report) {
        match block {
            Block::Heading(heading) => _ = write!(text, "\n## {heading}\n\n"),
            Block::Line(line) => _ = write!(text, "{}\n\n", escape(&line)),
            Block::Table { headers, numbers, rows } => {
                let rule: String =
                    (0..headers.len()).map(|c| if (1..=numbers).contains(&c) { "---:|" } else { "---|" }).collect();
                let _ = writeln!(text, "| {} |\n|{rule}", headers.join(" | "));
                for cells in rows {
                    let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
                    let _ = writeln!(text, "| {} |", cells.join(" | "));
                }
                text.push('\n');
            }
        }
    }
    text.trim_start().to_owned()
}

/// Text that Markdown would not take for markup.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "|\\`*_<>[]#".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn blocks(report: &Report) -> Vec<Block> {
    let mut blocks = Vec::new();
    let heading = |text: &str| Block::Heading(text.to_owned());
    if report.stopped {
        blocks.push(Block::Line("STOPPED before the end: the numbers are of a part.".to_owned()));
    }
    if !report.wrong.is_empty() {
        blocks.push(Block::Heading(format!("WRONG VERDICTS: {}", report.wrong.len())));
        blocks.push(mentions(&report.wrong));
    }
    if !report.below_floor.is_empty() {
        blocks.push(heading("BELOW THE FLOOR"));
        blocks.extend(report.below_floor.iter().cloned().map(Block::Line));
    }
    if !report.suspicious.is_empty() {
        blocks.push(heading("To be looked at: engines disagree, or a proof was contradicted"));
        blocks.push(mentions(&report.suspicious));
    }
    for suite in &report.suites {
        blocks.push(Block::Heading(format!("{}: {} pairs", suite.name, suite.pairs)));
        blocks.push(verdicts(suite));
        blocks.push(Block::Line(format!("median {:.1} ms, 95th percentile {:.1} ms", suite.ms_median, suite.ms_p95)));
        if !suite.features.is_empty() {
            let rows = suite.features.iter();
            let rows =
                rows.map(|f| vec![f.name.to_owned(), f.eq.to_string(), f.proven.to_string(), rate(f.proven, f.eq)]);
            let headers = vec!["feature", "eq", "proven", "rate"];
            blocks.push(Block::Table { headers, numbers: 3, rows: rows.collect() });
        }
        if !suite.reasons.is_empty() {
            let rows = suite.reasons.iter();
            let rows = rows.map(|r| vec![shorten(&r.text), r.count.to_string(), r.examples.join(" ")]).collect();
            blocks.push(Block::Table { headers: vec!["unknown because", "pairs", "such as"], numbers: 1, rows });
        }
    }
    let total = match report.wrong.len() {
        0 => "no wrong verdict".to_owned(),
        wrong => format!("{wrong} WRONG, listed first"),
    };
    blocks.push(Block::Line(total));
    blocks
}

fn mentions(rows: &[Row]) -> Block {
    let rows = rows.iter().map(|row| {
        let verdict = match (row.verdict, &row.reason) {
            (Outcome::Unknown, Some(reason)) => shorten(reason),
            (verdict, _) => verdict.to_string().to_uppercase(),
        };
        vec![row.id.clone(), row.suite.clone(), row.expected.to_string(), verdict]
    });
    Block::Table { headers: vec!["id", "suite", "expected", "verdict"], numbers: 0, rows: rows.collect() }
}

fn verdicts(suite: &Suite) -> Block {
    let rows = suite.labels.iter().map(|label| {
        let (tally, total) = (label.tally, label.tally.total());
        let mut row = vec![label.expected.to_string(), total.to_string()];
        for count in [tally.proven, tally.refuted, tally.unknown] {
            row.extend([count.to_string(), rate(count, total)]);
        }
        row
    });
    let headers = vec!["expected", "pairs", "proven", "", "refuted", "", "unknown", ""];
    Block::Table { headers, numbers: 7, rows: rows.collect() }
}

/// A share in percent, rounded down, so that 100 % means all.
fn rate(part: usize, whole: usize) -> String {
    let tenths = part * 1000 / whole.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn shorten(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(REASON_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::report::tests::done;
    use super::*;
    use crate::pairs::Expected;

    #[test]
    fn wrong_verdicts_come_first() {
        let mut all: Vec<_> = (0..9)
            .map(|n| done(&format!("e{n}"), Expected::Eq, if n < 6 { Outcome::Proven } else { Outcome::Unknown }))
            .collect();
        all[7].answer.reason = Some("a | b".to_owned());
        all.push(done("bad_one", Expected::Neq, Outcome::Proven));
        let report = Report::new(&all, &BTreeMap::new(), false);
        let text = text(&report);
        assert!(text.starts_with("WRONG VERDICTS: 1\n"), "{text}");
        for part in ["bad_one", "eq            9       6   66.6 %", "median 2.0 ms", "e6 e8", "1 WRONG"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let markdown = markdown(&report);
        assert!(markdown.starts_with("## WRONG VERDICTS: 1\n\n| id | suite |"), "{markdown}");
        for part in ["| bad\\_one | s | neq | PROVEN |", "| eq | 9 | 6 | 66.6 % |", "a \\| b"] {
            assert!(markdown.contains(part), "{part} in\n{markdown}");
        }
    }

    #[test]
    fn a_rate_is_never_flattered() {
        assert_eq!(rate(999, 1000), "99.9 %");
        assert_eq!(rate(9999, 10000), "99.9 %");
        assert_eq!((rate(2, 2), rate(0, 0)), ("100.0 %".to_owned(), "0.0 %".to_owned()));
    }
}

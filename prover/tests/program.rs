//! The program as its users meet it: arguments in, output and exit status out.

#![cfg(feature = "solver")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use prover::Certificate;
use prover::evidence::Obligation;
use prover::wire::{Answer, Outcome, read_frame, write_frame};
use serde_json::{Value, json};

/// Exit statuses.
const UNKNOWN: i32 = 2;
const COULD_NOT_RUN: i32 = 3;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caqtus-prover"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    program(arguments).stdin(Stdio::null()).output().expect("the program runs")
}

fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = program(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // It may stop reading early, which is its right.
    let writer = std::thread::spawn(move || _ = pipe.write_all(&input));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("written");
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn check_status(output: &Output, expected: i32) {
    assert_eq!(output.status.code(), Some(expected), "{}{}", stdout(output), stderr(output));
}

fn answers(output: &Output) -> Vec<Answer> {
    stdout(output).lines().map(|line| serde_json::from_str(line).expect("an answer")).collect()
}

#[track_caller]
fn reason_of<'a>(answers: &'a [Answer], id: &str) -> &'a str {
    reason(answers.iter().find(|answer| answer.id == id).unwrap_or_else(|| panic!("no answer to {id}")))
}

fn reason(answer: &Answer) -> &str {
    answer.reason.as_deref().unwrap_or_default()
}

/// A directory with files in it.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    files.iter().for_each(|(name, text)| std::fs::write(dir.path().join(name), text).expect("written"));
    dir
}

fn path(dir: &tempfile::TempDir, name: &str) -> String {
    dir.path().join(name).display().to_string()
}

const SCHEMA: &str = "CREATE TABLE t(a INT, b INT NOT NULL);";

fn pair(id: &str) -> Value {
    json!({"id": id, "schema": SCHEMA, "q1": "SELECT a FROM t", "q2": "SELECT a FROM t"})
}

/// A file of pairs with these ids.
fn pairs(ids: &[&str]) -> String {
    ids.iter().flat_map(|id| [pair(id).to_string(), "\n".to_owned()]).collect()
}

mod command_line {
    use super::*;

    #[test]
    fn the_version_names_the_solver() {
        let output = run(&["--version"]);
        check_status(&output, 0);
        let text = stdout(&output);
        assert!(text.starts_with("caqtus-prover ") && text.contains("(Z3 "), "{text}");
    }

    #[test]
    fn help_teaches() {
        let output = run(&["--help"]);
        check_status(&output, 0);
        assert!(stdout(&output).contains("caqtus-prover prove --schema"));
    }

    #[test]
    fn what_cannot_run_has_a_status_of_its_own() {
        let dir = directory(&[("s.sql", SCHEMA), ("empty.jsonl", "\n"), ("floor.json", "[]")]);
        let schema = path(&dir, "s.sql");
        let (empty, floor, here) = (path(&dir, "empty.jsonl"), path(&dir, "floor.json"), path(&dir, ""));
        for arguments in [
            &["conjure"][..],
            &["prove"],
            &["prove", "--schema", &schema],
            &["prove", "--schema", &schema, "--left", "SELECT 1"],
            &["prove", "--schema", "/nonexistent", "--left", "SELECT 1", "--right", "SELECT 1"],
            &["prove", "--schema", &schema, "--left", "@/nonexistent", "--right", "SELECT 1"],
            &["prove", "--schema", &schema, "--left", "SELECT 1", "--right", "SELECT 1", "--placeholder", "p1"],
            &["prove", "--schema", &schema, "--left", "SELECT 1", "--right", "SELECT 1", "--deadline", "0"],
            &["prove", "--pairs", "/nonexistent"],
            &["prove", "--pairs", &empty],
            &["prove", "--pairs", &empty, "--left", "SELECT 1"],
            &["prove", "--pairs", &empty, "--workers", "0"],
            &["prove", "--pairs", &empty, "--memory", "1"],
            &["prove", "--pairs", &empty, "--trials", "0"],
            &["refute", "--schema", &schema],
            &["check", "/nonexistent"],
            &["check", &schema],
            &["bench", "/nonexistent"],
            &["bench", &here],
            &["bench", &here, "--floor", &floor],
        ] {
            let output = run(arguments);
            check_status(&output, COULD_NOT_RUN);
            assert!(!stderr(&output).is_empty() && output.stdout.is_empty(), "{arguments:?}");
        }
    }
}

mod pairs_in_workers {
    use super::*;

    #[test]
    fn a_crash_a_panic_and_an_endless_search_cost_one_pair_each() {
        let ids = ["a", "crash", "b", "panic", "c", "hang", "d", "huge"];
        let faults = [
            "--crash-on",
            "crash",
            "--panic-on",
            "panic",
            "--hang-on",
            "hang",
            "--exhaust-on",
            "huge",
            "--memory",
            "600",
        ];
        for workers in ["1", "3"] {
            let arguments = ["prove", "--pairs", "-", "--json", "--deadline", "2", "--workers", workers];
            let output = run_with_input(&[&arguments[..], &faults].concat(), pairs(&ids).as_bytes());
            check_status(&output, UNKNOWN);
            let answers = answers(&output);
            assert_eq!(answers.len(), ids.len());
            let crashed = reason_of(&answers, "crash");
            assert_eq!(crashed, "prover crashed: signal 6 (asked to crash on `crash`)");
            let panicked = reason_of(&answers, "panic");
            assert!(panicked.starts_with("prover crashed: asked to panic on `panic` at "), "{panicked}");
            assert_eq!(reason_of(&answers, "hang"), "limit reached: deadline");
            if cfg!(target_os = "linux") {
                let exhausted = reason_of(&answers, "huge");
                assert_eq!(exhausted, "limit reached: it takes more than 600 MiB of memory (--memory allows more)");
            }
            let slow: Vec<_> = answers.iter().filter(|a| a.ms >= 2000.0).map(|a| a.id.as_str()).collect();
            assert_eq!(slow, ["hang"]);
            for id in ["a", "b", "c", "d"] {
                let reason = reason_of(&answers, id);
                assert!(!reason.contains("crashed") && !reason.contains("deadline"), "{id}: {reason}");
            }
        }
    }

    #[test]
    fn the_order_of_the_pairs_is_kept_on_demand() {
        let order = |more: &[&str]| -> Vec<String> {
            let arguments =
                ["prove", "--pairs", "-", "--json", "--deadline", "2", "--workers", "2", "--hang-on", "slow"];
            let output = run_with_input(&[&arguments, more].concat(), pairs(&["slow", "x", "y"]).as_bytes());
            answers(&output).into_iter().map(|answer| answer.id).collect()
        };
        assert_eq!(order(&["--ordered"]), ["slow", "x", "y"]);
        assert_eq!(order(&[]), ["x", "y", "slow"]);
    }

    #[test]
    fn what_is_no_pair_costs_no_other() {
        let huge = json!({"id": "huge", "schema": SCHEMA, "q1": "x".repeat(17 << 20), "q2": ""});
        let lost = json!({"id": "lost", "schema": "lost.sql", "q1": "", "q2": ""});
        let mut text = format!("{huge}\n{lost}\nno JSON\n").into_bytes();
        text.extend(b"\xff\xfe\n");
        text.extend(pairs(&["good"]).into_bytes());
        let dir = directory(&[]);
        std::fs::write(dir.path().join("p.jsonl"), text).expect("written");
        let output = run(&["prove", "--pairs", &path(&dir, "p.jsonl"), "--json"]);
        let answers = answers(&output);
        assert_eq!(answers.len(), 5);
        assert!(reason_of(&answers, "huge").starts_with("limit reached: a frame of "));
        for id in ["lost", "line 3", "line 4"] {
            assert!(reason_of(&answers, id).starts_with("unreadable: "), "{id}");
        }
        assert!(!reason_of(&answers, "good").contains("crashed"));
    }

    #[test]
    fn text_has_a_line_per_pair() {
        let output = run_with_input(&["prove", "--pairs", "-", "--crash-on", "x"], pairs(&["x"]).as_bytes());
        let text = stdout(&output);
        assert!(text.starts_with("unknown ") && text.contains(" ms  x  prover crashed: "), "{text}");
        assert!(stderr(&output).contains("1 pair: 0 proven, 0 refuted, 1 unknown in "));
    }
}

/// What is left when the program is ended from outside. Its workers are looked up in Linux's `/proc`.
#[cfg(target_os = "linux")]
mod ended_from_outside {
    use super::*;
    use std::io::Read as _;
    use std::process::Child;
    use std::time::Duration;

    /// The program with a worker that is stuck on a pair.
    fn stuck() -> (Child, Vec<String>) {
        let arguments = ["prove", "--pairs", "-", "--deadline", "600", "--workers", "1", "--hang-on", "stuck"];
        let mut command = program(&arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // The input stays open: it is also to end while more could come.
        child.stdin.as_mut().expect("a pipe").write_all(pairs(&["x", "stuck"]).as_bytes()).expect("written");
        let mut first = [0; 1];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut first).expect("the first answer");
        // Any of its threads may have started the worker.
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("tasks");
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
        let children = children.collect::<Vec<_>>().join(" ");
        let workers: Vec<String> = children.split_whitespace().map(str::to_owned).collect();
        assert_eq!(workers.len(), 1, "one worker");
        (child, workers)
    }

    fn is_alive(process: &String) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // One that ended but that nobody has waited for yet is gone too.
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    }

    fn check_gone(workers: &[String]) {
        for _ in 0..100 {
            if !workers.iter().any(is_alive) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("a worker lives on");
    }

    #[test]
    fn ctrl_c_ends_the_workers_and_prints_a_summary() {
        let (mut child, workers) = stuck();
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        assert!(status.success());
        let input = child.stdin.take();
        let output = child.wait_with_output().expect("it ends");
        drop(input);
        check_status(&output, 130);
        assert!(stderr(&output).contains("stopped after 1 pair: "), "{}", stderr(&output));
        check_gone(&workers);
    }

    #[test]
    fn no_worker_outlives_the_program() {
        let (mut child, workers) = stuck();
        child.kill().expect("killed");
        child.wait().expect("gone");
        check_gone(&workers);
    }
}

mod serving {
    use super::*;

    fn serve(input: &[u8], more: &[&str]) -> (ExitStatus, Vec<Answer>) {
        let output = run_with_input(&[&["serve"], more].concat(), input);
        let mut frames = output.stdout.as_slice();
        let answers = std::iter::from_fn(|| read_frame(&mut frames).expect("a frame")).collect();
        (output.status, answers)
    }

    fn frame(value: &Value) -> Vec<u8> {
        let mut frame = Vec::new();
        write_frame(&mut frame, value).expect("a frame");
        frame
    }

    #[test]
    fn requests_are_answered_in_order() {
        let input = [frame(&pair("1")), frame(&pair("2")), frame(&pair("3"))].concat();
        let (status, answers) = serve(&input, &["--panic-on", "2"]);
        assert!(status.success());
        assert_eq!(answers.iter().map(|a| a.id.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert!(reason(&answers[1]).starts_with("prover crashed: "));
    }

    #[test]
    fn a_frame_without_sense_is_answered_and_the_next_too() {
        let wrong_limits = json!({"id": "x", "schema": "", "q1": "", "q2": "", "limits": 1});
        for nonsense in [json!(3), json!({"id": "half"}), wrong_limits] {
            let (status, answers) = serve(&[frame(&nonsense), frame(&pair("good"))].concat(), &[]);
            assert!(status.success(), "{nonsense}");
            assert_eq!(answers[0].id, nonsense["id"].as_str().unwrap_or_default());
            assert_eq!(answers[0].verdict, Outcome::Unknown);
            assert!(reason(&answers[0]).starts_with("malformed request: "), "{}", reason(&answers[0]));
            assert_eq!(answers[1].id, "good");
        }
        let no_text = vec![2, 0, 0, 0, 0xff, 0xfe];
        let (status, answers) = serve(&[no_text, frame(&pair("good"))].concat(), &[]);
        assert!(status.success());
        assert_eq!(answers.len(), 2);
    }

    #[test]
    fn what_is_no_frame_ends_the_conversation_with_an_answer() {
        // Too long, broken off in the length, broken off in the text.
        for input in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![1, 0], vec![9, 0, 0, 0, b'{']] {
            let (status, answers) = serve(&[frame(&pair("good")), input.clone()].concat(), &[]);
            assert_eq!(status.code(), Some(COULD_NOT_RUN), "{input:?}");
            assert_eq!(answers.len(), 2, "{input:?}");
            assert!(reason(&answers[1]).starts_with("malformed request: a frame "), "{}", reason(&answers[1]));
        }
    }

    #[test]
    fn queries_and_plans_do_not_mix() {
        let mixed = json!({"id": "1", "schema": SCHEMA, "q1": "SELECT a FROM t", "q2": {"scan": 0}});
        let (_, answers) = serve(&frame(&mixed), &[]);
        assert!(reason(&answers[0]).starts_with("unsupported "), "{}", reason(&answers[0]));
    }
}

mod certificates {
    use super::*;

    fn certificate(scripts: &[&str]) -> String {
        let claim = |(number, smtlib): (usize, &&str)| {
            let (claim, smtlib) = (format!("claim {number}"), (*smtlib).to_owned());
            Obligation { claim, smtlib }
        };
        let certificate = Certificate {
            pair: None,
            prover: "0".to_owned(),
            solver: "Z3".to_owned(),
            limits: prover::Limits::default(),
            assumptions: [prover::ir::Assumption::ExactArithmetic].into(),
            steps: Vec::new(),
            obligations: scripts.iter().enumerate().map(claim).collect(),
            trials: 0,
        };
        serde_json::to_string(&certificate).expect("JSON")
    }

    const HOLDS: &str = "(set-logic ALL)(declare-fun f (Int) Int)(declare-const x Int)(declare-const y Int)\
        (assert (= x y))(assert (distinct (f x) (let ((z (f y))) (ite (> z 0) z (f y)))))";
    const TAMPERED: &str = "(set-logic ALL)(declare-fun f (Int) Int)(declare-const x Int)(declare-const y Int)\
        (assert (distinct (f x) (f y)))";

    /// Status and JSON of a check without the second solver.
    fn check(scripts: &[&str]) -> (Option<i32>, Value) {
        let input = certificate(scripts);
        let output =
            run_with_input(&["check", "-", "--claims-only", "--json", "--cvc5", "/nonexistent"], input.as_bytes());
        (output.status.code(), serde_json::from_str(&stdout(&output)).expect("JSON"))
    }

    #[test]
    fn what_holds_is_confirmed() {
        let (status, report) = check(&[HOLDS, HOLDS]);
        assert_eq!((status, &report["valid"]), (Some(0), &json!(true)));
        let line = json!({"claim": "claim 1", "confirmed": true, "z3": "unsat", "cvc5": null});
        assert_eq!(report["obligations"][1], line);
    }

    #[test]
    fn what_was_tampered_with_is_not() {
        for tampered in [TAMPERED, "", "(assert false", "(assert false)(exit)", "(assert (= z 0))(assert false)"] {
            let (status, report) = check(&[HOLDS, tampered, HOLDS]);
            assert_eq!((status, &report["valid"]), (Some(1), &json!(false)), "{tampered}");
            let confirmed: Vec<_> = (0..3).map(|n| report["obligations"][n]["confirmed"] == true).collect();
            assert_eq!(confirmed, [true, false, true], "{tampered}");
        }
    }

    #[test]
    fn a_certificate_without_a_pair_certifies_nothing() {
        let input = certificate(&[HOLDS]);
        let output = run_with_input(&["check", "-", "--cvc5", "/nonexistent"], input.as_bytes());
        check_status(&output, 1);
        assert!(stdout(&output).contains("names no pair"), "{}", stdout(&output));
    }

    #[test]
    fn the_absence_of_the_second_solver_is_said() {
        let input = certificate(&[HOLDS]);
        let output = run_with_input(&["check", "-", "--claims-only", "--cvc5", "/nonexistent"], input.as_bytes());
        check_status(&output, 0);
        assert!(stdout(&output).contains("Second solver: NOT PRESENT"), "{}", stdout(&output));
        let output =
            run_with_input(&["check", "-", "--claims-only", "--both", "--cvc5", "/nonexistent"], input.as_bytes());
        check_status(&output, 1);
    }

    /// A stand-in for cvc5 that does the same with every script.
    #[cfg(unix)]
    fn second_solver(dir: &tempfile::TempDir, does: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let file = dir.path().join("solver");
        let version = "if [ \"$1\" = --version ]; then echo This is cvc5 version 9.9; exit; fi";
        std::fs::write(&file, format!("#!/bin/sh\n{version}\ncat > /dev/null\n{does}\n")).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("executable");
        file.display().to_string()
    }

    #[test]
    #[cfg(unix)]
    fn a_second_solver_is_asked_and_may_contradict() {
        let input = certificate(&[HOLDS]);
        for (does, status, status_both) in
            [("echo unsat", 0, 0), ("echo sat", 1, 1), ("echo unknown", 0, 1), ("kill $$", 0, 1)]
        {
            let dir = directory(&[]);
            let solver = second_solver(&dir, does);
            let output = run_with_input(&["check", "-", "--claims-only", "--cvc5", &solver], input.as_bytes());
            check_status(&output, status);
            assert!(stdout(&output).contains("Second solver: cvc5 9.9"), "{}", stdout(&output));
            let output =
                run_with_input(&["check", "-", "--claims-only", "--both", "--cvc5", &solver], input.as_bytes());
            check_status(&output, status_both);
        }
    }

    #[test]
    fn the_real_second_solver_agrees_where_it_is_installed() {
        if Command::new("cvc5").arg("--version").output().is_err() {
            return;
        }
        let output =
            run_with_input(&["check", "-", "--claims-only", "--both", "--json"], certificate(&[HOLDS]).as_bytes());
        check_status(&output, 0);
        let output = run_with_input(&["check", "-", "--claims-only", "--json"], certificate(&[TAMPERED]).as_bytes());
        let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let line = json!({"claim": "claim 0", "confirmed": false, "z3": "sat", "cvc5": "sat"});
        assert_eq!(report["obligations"][0], line);
    }
}

mod benches {
    use super::*;

    #[test]
    fn reasons_and_times_are_counted() {
        let dir = directory(&[("s.jsonl", &pairs(&["x", "y"]))]);
        let table = path(&dir, "table.md");
        let output = run(&["bench", &path(&dir, ""), "--json", "--table", &table, "--crash-on", "x"]);
        check_status(&output, 0);
        let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let suite = &report["suites"][0];
        assert_eq!((&suite["suite"], &suite["pairs"]), (&json!("s"), &json!(2)));
        let reasons = suite["reasons"].as_array().expect("reasons");
        let crash = |r: &&Value| r["reason"].as_str().is_some_and(|text| text.starts_with("prover crashed: signal 6"));
        assert_eq!(reasons.iter().find(crash).expect("the crash")["examples"], json!(["x"]));
        assert!(std::fs::read_to_string(Path::new(&table)).expect("a table").starts_with("## s: 2 pairs"));
    }

    #[test]
    fn less_than_the_floor_fails() {
        let dir = directory(&[("s.jsonl", &pairs(&["x"]))]);
        let floor = path(&dir, "floor.json");
        std::fs::write(&floor, r#"{"s": {"proven": 1}}"#).expect("written");
        let here = path(&dir, "");
        let arguments = ["bench", &here, "--floor", &floor, "--crash-on", "x"];
        let output = run(&arguments);
        check_status(&output, 1);
        assert!(stdout(&output).contains("s: 0 proven, at least 1 expected"), "{}", stdout(&output));
        std::fs::write(&floor, r#"{"s": {"proven": 0}}"#).expect("written");
        check_status(&run(&arguments), 0);
    }
}

/// Whoever stops reading, as `| head` does, ends a command without a word of it; messages that nobody reads change nothing.
mod unread {
    use super::*;

    const PAIR: &str =
        r#"{"id": "a", "schema": "CREATE TABLE t(a INT)", "q1": "SELECT a FROM t", "q2": "SELECT a FROM t"}"#;

    /// A pipe whose reader is gone.
    fn nobody() -> Stdio {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        writer.into()
    }

    /// A file of pairs.
    fn pairs() -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        for _ in 0..20 {
            writeln!(file, "{PAIR}").expect("written");
        }
        file
    }

    #[test]
    fn output() {
        let file = pairs();
        let path = file.path().to_str().expect("a path");
        for arguments in [
            &["--help"][..],
            &["help", "prove"],
            &["prove", "--pairs", path, "--json"],
            &["prove", "--pairs", path],
            &["fuzz", "--for", "2s"],
            &["bench", path],
        ] {
            let output = program(arguments).stdin(Stdio::null()).stdout(nobody()).output().expect("the program runs");
            let said = stderr(&output);
            assert!(!said.contains("panicked") && !said.contains("roken pipe"), "{arguments:?}: {said}");
            assert!(matches!(output.status.code(), Some(0 | COULD_NOT_RUN)), "{arguments:?}: {}", output.status);
        }
    }

    #[test]
    fn messages() {
        let file = pairs();
        let path = file.path().to_str().expect("a path");
        let mut command = program(&["prove", "--pairs", path, "--json"]);
        let output = command.stdin(Stdio::null()).stderr(nobody()).output().expect("the program runs");
        check_status(&output, 0);
        assert_eq!(answers(&output).len(), 20);
        let wrong = program(&["prove", "--pairs", "/nonexistent"]).stderr(nobody()).output().expect("the program runs");
        check_status(&wrong, COULD_NOT_RUN);
    }
}

#[test]
fn packages_get_completions_and_a_manual_page_for_every_command() {
    for (shell, start) in [("bash", "_caqtus__prover() {"), ("zsh", "#compdef caqtus-prover")] {
        let output = run(&["completions", shell]);
        check_status(&output, 0);
        let script = stdout(&output);
        assert!(script.starts_with(start) && script.contains("--certificate"), "{script}");
        assert!(!script.contains("__man") && !script.contains("subcommand man"), "{shell}");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let pages = dir.path().join("pages");
    check_status(&run(&["man", pages.to_str().expect("text")]), 0);
    let mut names: Vec<String> = std::fs::read_dir(&pages)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let commands = ["-bench", "-check", "-completions", "-fuzz", "-prove", "-refute", "-serve", ""];
    assert_eq!(names, commands.map(|command| format!("caqtus-prover{command}.1")));
    check_status(&run(&["man", "/dev/null/pages"]), COULD_NOT_RUN);
}

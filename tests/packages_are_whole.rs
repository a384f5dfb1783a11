//! What a package installs beside the programs: completions that complete, and a manual page for every command.

use crate::support::Caqtus;
use caqtus::cli::Cli;
use clap::{Command, CommandFactory as _};
use std::collections::BTreeSet;

/// Commands that nobody is shown.
const HIDDEN: [&str; 2] = ["execute", "man"];

fn printed(caqtus: &Caqtus, words: &[&str]) -> String {
    let output = caqtus.run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// What bash offers after some words, of which the last is not complete.
fn offered(caqtus: &Caqtus, words: &[&str]) -> BTreeSet<String> {
    std::fs::write(caqtus.path("caqtus.bash"), printed(caqtus, &["completions", "bash"])).expect("writes");
    let script = r#"source ./caqtus.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _caqtus caqtus "${!#}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = std::process::Command::new("bash");
    bash.args(["-euc", script, "bash", "caqtus"]).args(words).current_dir(caqtus.dir.path());
    let output = bash.output().expect("bash starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let caqtus = Caqtus::new();
    let commands = offered(&caqtus, &[""]);
    let shown = Cli::command();
    for command in shown.get_subcommands().filter(|command| !command.is_hide_set()) {
        assert!(commands.contains(command.get_name()), "{}: {commands:?}", command.get_name());
    }
    assert!(HIDDEN.iter().all(|hidden| !commands.contains(*hidden)), "{commands:?}");
    assert_eq!(offered(&caqtus, &["bug", "repl"]), BTreeSet::from(["replay".to_owned()]));
    assert_eq!(offered(&caqtus, &["hunt", "--wait-f"]), BTreeSet::from(["--wait-for-server".to_owned()]));
    assert_eq!(offered(&caqtus, &["hunt", "--oracle", "cod"]), BTreeSet::from(["coddtest".to_owned()]));
}

#[test]
fn other_shells_have_completions_too() {
    let caqtus = Caqtus::new();
    for (shell, start) in [("zsh", "#compdef caqtus"), ("fish", "# Print an optspec")] {
        let script = printed(&caqtus, &["completions", shell]);
        assert!(script.starts_with(start), "{shell}: {script}");
        for word in ["hunt", "bisect", "coddtest", "wait-for-server"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(!script.contains("__execute") && !script.contains("subcommand execute"), "{shell}");
    }
}

/// The names of the pages of a command and of what is below it.
fn pages(command: &Command, name: &str, found: &mut BTreeSet<String>) {
    found.insert(format!("{name}.1"));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages(below, &format!("{name}-{}", below.get_name()), found);
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let caqtus = Caqtus::new();
    printed(&caqtus, &["man", "pages/of/this"]);
    let mut expected = BTreeSet::new();
    pages(&Cli::command(), "caqtus", &mut expected);
    let entries = std::fs::read_dir(caqtus.path("pages/of/this")).expect("a directory");
    let written: BTreeSet<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(written, expected);
    assert!(expected.contains("caqtus-bug-replay.1"));
    let page = std::fs::read_to_string(caqtus.path("pages/of/this/caqtus-hunt.1")).expect("a page");
    for part in [".TH", ".SH NAME", ".SH OPTIONS", "caqtus hunt \\-\\-for 10m"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let output = caqtus.run(&["man", "/dev/null/pages"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("/dev/null/pages"), "{said}");
}

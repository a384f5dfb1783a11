//! What a package installs beside the programs: completions that complete, a manual page for every command, and files for
//! containers and services whose commands this program has.

use crate::support::{Caqtus, kill};
use caqtus::cli::Cli;
use clap::{Command, CommandFactory as _, Parser as _};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

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

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The words of every line that starts with a key and goes on with a list in the form of JSON.
fn lists(text: &str, key: &str) -> Vec<Vec<String>> {
    let lists = text.lines().filter_map(|line| line.trim_start().strip_prefix(key));
    lists.map(|list| serde_json::from_str(list).unwrap_or_else(|error| panic!("{list}: {error}"))).collect()
}

fn check_command(words: impl IntoIterator<Item = String>) {
    let words: Vec<String> = ["caqtus".to_owned()].into_iter().chain(words).collect();
    if let Err(error) = Cli::try_parse_from(&words) {
        panic!("{words:?}: {error}");
    }
}

#[test]
fn containers_run_commands_that_there_are() {
    let commands = lists(&file("docker-compose.yml"), "command: ");
    assert!(commands.len() >= 8, "the service, the import, and a worker for each engine: {commands:?}");
    commands.into_iter().for_each(check_command);
    let image = file("packaging/Dockerfile");
    assert_eq!(lists(&image, "ENTRYPOINT "), [["caqtus"]]);
    let default: Vec<String> = image.lines().filter(|line| line.starts_with("CMD ")).map(str::to_owned).collect();
    assert_eq!(default.len(), 1);
    lists(&default[0], "CMD ").into_iter().for_each(check_command);
}

#[test]
fn the_unit_starts_a_command_that_there_is() {
    let unit = file("packaging/caqtus.service");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=caqtus ")).expect("a command");
    let set = unit.lines().filter_map(|line| line.strip_prefix("Environment=")).flat_map(str::split_whitespace);
    let mut start = start.to_owned();
    for (name, value) in set.filter_map(|setting| setting.split_once('=')) {
        start = start.replace(&format!("${{{name}}}"), value);
    }
    assert!(!start.contains('$'), "{start}");
    check_command(start.split_whitespace().map(str::to_owned));
}

#[test]
fn systemd_is_told_when_requests_are_answered() {
    let caqtus = Caqtus::new();
    let socket = caqtus.path("notify");
    let told = UnixDatagram::bind(&socket).expect("a socket");
    told.set_read_timeout(Some(Duration::from_mins(2))).expect("a time");
    let mut service = caqtus.command(&["serve", "--listen", "127.0.0.1:0"]);
    service.env("NOTIFY_SOCKET", &socket).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut service = service.spawn().expect("starts");
    let mut message = [0; 256];
    let length = told.recv(&mut message);
    let mut line = String::new();
    let mut stdout = BufReader::new(service.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("listening on http://").expect("an address");
    let answers = TcpStream::connect(address).is_ok();
    kill("-TERM", service.id());
    let status = service.wait().expect("ends");
    assert_eq!(length.map(|length| &message[..length]).expect("it is told"), b"READY=1\n");
    assert!(answers && status.success(), "{answers} {status}");
}

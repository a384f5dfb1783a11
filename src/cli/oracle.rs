//! `caqtus oracle`.

use crate::caq::class::OracleClass;
use crate::catalogue;
use crate::hunt::session::select;
use anyhow::bail;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Look at the catalogue of oracle classes
#[derive(Debug, Args)]
pub(super) struct OracleArgs {
    #[command(subcommand)]
    command: OracleCommand,
}

#[derive(Debug, Subcommand)]
enum OracleCommand {
    /// List the classes
    List {
        /// Only classes whose name matches; * stands for any text
        globs: Vec<String>,
        /// JSON, for machines
        #[arg(long)]
        json: bool,
    },
    /// Print one class
    Show {
        /// Its name
        name: String,
    },
}

pub(super) fn run(args: OracleArgs) -> anyhow::Result<ExitCode> {
    let classes = catalogue::classes()?;
    match args.command {
        OracleCommand::List { globs, json } => {
            for class in select(classes, &globs) {
                if json {
                    println!("{}", json_line(&class));
                } else {
                    println!("{:<40} {} members  {}", class.name, class.members.len(), class.about);
                }
            }
        }
        OracleCommand::Show { name } => {
            let Some(class) = classes.into_iter().find(|c| c.name == name) else {
                bail!("there is no class {name}; `caqtus oracle list` shows them");
            };
            show(&class);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn json_line(class: &OracleClass) -> serde_json::Value {
    let placeholders: Vec<&str> = class.names.placeholders.iter().map(|p| p.name.as_str()).collect();
    let members: Vec<&str> = class.members.iter().map(|m| m.sql.as_str()).collect();
    serde_json::json!({
        "name": class.name, "origin": class.origin, "about": class.about, "file": class.file,
        "dialects": class.dialects, "assumes": class.assumes, "placeholders": placeholders, "members": members,
    })
}

fn show(class: &OracleClass) {
    println!("{} ({}, {})", class.name, class.origin, class.file);
    println!("{}", class.about);
    for (placeholder, demand) in class.names.placeholders.iter().zip(&class.demands) {
        let mut notes = Vec::new();
        if demand.null_preserving {
            notes.push("must be NULL on a padded row");
        }
        if demand.truth_value_only {
            notes.push("only its truth value is used");
        }
        println!("placeholder {}: {:?} {}", placeholder.name, placeholder.kind, notes.join(", "));
    }
    for (at, member) in class.members.iter().enumerate() {
        let switch = member.switch.as_ref().map(|s| format!(" (optimizer switch {s})")).unwrap_or_default();
        println!("member {}{switch}:\n  {}", at + 1, member.sql);
    }
}

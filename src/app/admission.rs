//! What is demanded of a class that somebody brings, before it is stored: texts that can be stored and shown, and no
//! function that nobody knows.
//!
//! Members without a proof are used by who asks for it (`caqtus hunt --assumed`), and servers have functions that read files
//! and reach outside. So there is a list of what may be called, not of what may not.

use crate::caq::class::{ClassError, ClassText, OracleClass};
use crate::caq::functions::functions;
use crate::catalogue;
use crate::sql::profile::ProfileError;
use prover::lower::knows_function;
use std::collections::BTreeSet;
use thiserror::Error;

/// Characters of a name, of an origin, and of other words.
const WORD_MAX: usize = 200;

/// Characters of any other text.
const TEXT_MAX: usize = 100_000;

/// Characters of a reason.
const ABOUT_MAX: usize = 20_000;

/// Members, placeholders or dialects.
const ITEMS_MAX: usize = 500;

/// Why a class is not taken.
#[derive(Debug, Error)]
pub enum AdmissionError {
    /// It is none.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A text of it cannot be kept.
    #[error("class {class}: {what} {why}")]
    Text {
        /// Its name, shortened.
        class: String,
        /// Which text.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// It calls what nobody knows.
    #[error(
        "class {class} calls {function}, which neither the prover nor a dialect's profile knows; it could read files or reach \
         outside. Write the class without it, or hunt with its file on the machine itself (--catalogue)"
    )]
    Function {
        /// Its name.
        class: String,
        /// The function.
        function: String,
    },
    /// A shipped profile is broken.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// Reads classes that somebody brings, all or none. The file is named in errors.
pub fn admit(file: &str, texts: Vec<ClassText>) -> Result<Vec<OracleClass>, AdmissionError> {
    let known = catalogue::called_by_profiles()?;
    let classes = texts.into_iter().map(|text| {
        check_texts(&text)?;
        let class = OracleClass::new(file, text)?;
        check_functions(&class, &known)?;
        Ok(class)
    });
    classes.collect()
}

/// The same for classes that were read.
pub fn check(classes: &[OracleClass]) -> Result<(), AdmissionError> {
    let known = catalogue::called_by_profiles()?;
    classes.iter().try_for_each(|class| {
        check_texts(&class.text())?;
        check_functions(class, &known)
    })
}

fn check_functions(class: &OracleClass, known: &BTreeSet<String>) -> Result<(), AdmissionError> {
    match functions(class).into_iter().find(|name| !knows_function(name) && !known.contains(name)) {
        None => Ok(()),
        Some(function) => Err(AdmissionError::Function { class: class.name.clone(), function }),
    }
}

fn check_texts(text: &ClassText) -> Result<(), AdmissionError> {
    let ClassText { name, origin, about, schema, placeholders, members, dialects, assumes: _ } = text;
    let fault = |what, why: String| {
        let class = name.chars().filter(|c| !c.is_control()).take(WORD_MAX).collect();
        Err(AdmissionError::Text { class, what, why })
    };
    if name.trim().is_empty() || name.contains('/') {
        return fault("its name", "is empty or has a `/`".to_owned());
    }
    if [placeholders.len(), members.len(), dialects.len()].into_iter().any(|items| items > ITEMS_MAX) {
        return fault("it", format!("has more than {ITEMS_MAX} members, placeholders or dialects"));
    }
    let words = [("its name", name), ("its origin", origin)].into_iter();
    let words = words.chain(dialects.iter().map(|dialect| ("a dialect", dialect)));
    let words = words.chain(placeholders.keys().map(|name| ("the name of a placeholder", name)));
    let words = words.map(|(what, text)| (what, text.as_str()));
    let words = words.chain(members.iter().filter_map(|member| Some(("a switch", member.switch()?))));
    let words = words.map(|(what, text)| (what, text, WORD_MAX, false));
    let constraints = placeholders.values().map(|text| ("a placeholder", text.as_str(), ABOUT_MAX, true));
    let queries = members.iter().map(|member| ("a member", member.sql(), TEXT_MAX, true));
    let texts = [("its reason", about.as_str(), ABOUT_MAX, true), ("its schema", schema.as_str(), TEXT_MAX, true)];
    for (what, text, max, lines) in words.chain(constraints).chain(queries).chain(texts) {
        if text.chars().count() > max {
            return fault(what, format!("has more than {max} characters"));
        }
        let control = text.chars().find(|c| c.is_control() && !(lines && matches!(c, '\n' | '\r' | '\t')));
        if let Some(c) = control {
            return fault(what, format!("holds the control character U+{:04X}; leave it out", u32::from(c)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CatalogueSource;

    #[test]
    fn what_ships_is_taken() {
        let shipped = catalogue::load(&CatalogueSource::default()).expect("the shipped classes").classes;
        assert!(shipped.len() > 100);
        check(&shipped).unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn no_shipped_profile_calls_what_reaches_outside() {
        let known = catalogue::called_by_profiles().expect("profiles");
        assert!(known.contains("coalesce") && known.contains("length"), "{known:?}");
        for name in [
            "lo_export",
            "lo_import",
            "pg_read_file",
            "pg_sleep",
            "load_file",
            "load_extension",
            "readfile",
            "read_csv",
        ] {
            assert!(!known.contains(name) && !knows_function(name), "{name}");
        }
    }
}

//! From a failed check to a report: confirm, reduce, write down.

pub mod bisect;
pub mod cause;
pub mod confirm;
pub mod features;
pub mod finding;
pub mod reduce;
pub mod report;
pub mod script;
mod sqllogictest;
pub mod symptom;

//! From a failed check to a report: confirm, reduce, write down.

pub mod bisect;
pub mod blunt;
pub mod cause;
pub mod confirm;
pub mod export;
pub mod features;
pub mod finding;
pub mod fingerprint;
pub mod group;
pub mod known;
mod neutral;
pub mod reduce;
pub mod report;
mod rows;
pub mod script;
pub mod shape;
pub mod sqllogictest;
pub mod symptom;

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
pub mod limits;
pub mod meaning;
mod neutral;
mod order;
pub mod part;
pub mod plain;
pub mod reduce;
pub mod regression;
pub mod report;
mod rows;
pub mod script;
pub mod selfcheck;
pub mod shape;
mod sqllogictest;
pub mod symptom;

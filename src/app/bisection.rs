//! Findings on other versions: between which versions, or builds of the user's own, they came and went.

use super::finding::{FindingUseError, ReplayState, replay_in};
use super::{Progress, engine};
use crate::catalogue;
use crate::config::STATEMENT_LIMITS;
use crate::dbms::Connection as _;
use crate::dbms::install::{EngineStore, known_versions, version_key};
use crate::dbms::sqlite::Sqlite;
use crate::dbms::target::Target;
use crate::sql::profile::Wire;
use crate::triage::bisect::{Bisection, LeftOut, Seen, VersionSearch};
use crate::triage::cause::Fixed;
use crate::triage::finding::Finding;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is looked at for where a finding came and went.
#[derive(Debug, Clone, Copy)]
pub enum Among<'a> {
    /// The versions that are here.
    Installed,
    /// All that are known; those that are needed are installed.
    Known,
    /// Builds of the user's: in the order given, oldest first, or what is in one directory, by the versions that they report.
    Builds(&'a [PathBuf]),
}

/// What a target does with the finding in a directory.
pub async fn seen_on(dir: &Path, finding: &Finding, target: &Target, data_dir: &Path) -> Result<Seen, FindingUseError> {
    Ok(match replay_in(dir, finding, target, data_dir).await?.state() {
        ReplayState::Shows => Seen::Shows,
        ReplayState::Agrees => Seen::Agrees,
        ReplayState::Void => Seen::Void,
    })
}

/// An installed version, or one that is to be.
pub fn version_of(engine: &str, version: &str) -> Target {
    Target::Version { dialect: engine.to_owned(), version: version.to_owned() }
}

/// The versions of an engine that are here, oldest first.
pub fn versions_here(engine: &str, data_dir: &Path) -> Result<Vec<String>, FindingUseError> {
    let mut versions = EngineStore::new(data_dir).versions(engine);
    if engine == "sqlite" {
        let linked = Sqlite::linked(STATEMENT_LIMITS)?.version();
        if !versions.contains(&linked) {
            versions.push(linked);
        }
    }
    versions.sort_by_key(|version| version_key(version));
    Ok(versions)
}

/// Finds the first and the last version that show the finding in a directory, halving.
pub async fn bisect(
    dir: &Path,
    finding: &Finding,
    data_dir: &Path,
    among: Among<'_>,
    progress: &mut dyn Progress,
) -> Result<Bisection, FindingUseError> {
    let target: Target = finding.dbms.parse()?;
    let engine = target.dialect();
    let known = if matches!(among, Among::Known) { known_versions(engine) } else { Vec::new() };
    let mut looking = Looking { dir, finding, data_dir, installable: known.clone(), progress };
    if let Among::Builds(paths) = among {
        return looking.between_builds(engine, &target, paths).await;
    }
    let mut versions = versions_here(engine, data_dir)?;
    versions.extend(known);
    versions.sort_by_key(|version| version_key(version));
    versions.dedup();
    // As it is installed: a package's name and what the engine in it says of itself may differ.
    let own = match &target {
        Target::Version { version, .. } => version,
        _ => &finding.version,
    };
    let named = || (engine.to_owned(), own.clone());
    let Some(bad) = versions.iter().position(|version| version_key(version) == version_key(own)) else {
        let (engine, version) = named();
        return Err(FindingUseError::NotHere { engine, version });
    };
    // What does not show where it was found has no boundary.
    if looking.at(&version_of(engine, &versions[bad])).await? != Seen::Shows {
        let (engine, version) = named();
        return Err(FindingUseError::Gone { engine, version });
    }
    let mut search = VersionSearch::new(&versions, bad);
    while let Some(at) = search.wanted() {
        search.tell(at, looking.at(&version_of(engine, &versions[at])).await?);
    }
    let found = search.end();
    let fixed = Fixed { last_bad: found.last_bad.clone(), first_good: found.first_good.clone() };
    note_fix(dir, finding, Some(fixed), engine)?;
    Ok(found)
}

/// What it takes to look at versions one after the other.
struct Looking<'a> {
    dir: &'a Path,
    finding: &'a Finding,
    data_dir: &'a Path,
    /// Versions that are installed when they are needed.
    installable: Vec<String>,
    progress: &'a mut dyn Progress,
}

impl Looking<'_> {
    /// What a target does with the finding.
    async fn at(&mut self, target: &Target) -> Result<Seen, FindingUseError> {
        let Self { dir, finding, data_dir, .. } = *self;
        if let Target::Version { dialect, version } = target {
            let is_here = || EngineStore::new(data_dir).versions(dialect).contains(version);
            if self.installable.contains(version) && !is_here() {
                engine::install(data_dir, dialect, version, self.progress).await?;
            }
        }
        let seen = seen_on(dir, finding, target, data_dir).await?;
        self.progress.note(&format!("{target}: {seen}"));
        Ok(seen)
    }

    /// The same between builds of the user's. Nothing is noted of where the finding was fixed: what tells bugs apart are
    /// versions that everybody knows.
    async fn between_builds(
        &mut self,
        engine: &str,
        own: &Target,
        paths: &[PathBuf],
    ) -> Result<Bisection, FindingUseError> {
        let (builds, left_out) = match paths {
            [dir] if dir.is_dir() => self.builds_in(engine, dir).await?,
            given => (given.to_vec(), Vec::new()),
        };
        let names: Vec<String> = builds.iter().map(|path| path.display().to_string()).collect();
        let target = |at: usize| Target::Path { dialect: engine.to_owned(), path: absolute(&builds[at]) };
        // Where it was found it shows; else the newest are the likeliest to.
        let found_on = (0..builds.len()).find(|at| target(*at) == *own);
        let mut looked: Vec<(usize, Seen)> = Vec::new();
        for at in found_on.into_iter().chain((0..builds.len()).rev().filter(|at| Some(*at) != found_on)) {
            looked.push((at, self.at(&target(at)).await?));
            if looked.last().is_some_and(|(_, seen)| *seen == Seen::Shows) {
                break;
            }
        }
        let Some((bad, Seen::Shows)) = looked.pop() else { return Err(FindingUseError::Nowhere(builds.len())) };
        let mut search = VersionSearch::new(&names, bad);
        looked.into_iter().for_each(|(at, seen)| search.tell(at, seen));
        while let Some(at) = search.wanted() {
            search.tell(at, self.at(&target(at)).await?);
        }
        Ok(Bisection { left_out, ..search.end() })
    }

    /// The builds in a directory, by the versions that they report and, of one version, by their names; and what cannot be
    /// opened, of which no version is known.
    async fn builds_in(&mut self, engine: &str, dir: &Path) -> Result<(Vec<PathBuf>, Vec<LeftOut>), FindingUseError> {
        let cannot = |source| FindingUseError::Builds { path: dir.display().to_string(), source };
        let profile = catalogue::profile(engine).map_err(crate::dbms::target::TargetError::from)?;
        let library = matches!(profile.wire, Wire::Sqlite | Wire::Duckdb);
        let is_build = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if library { path.is_file() && format!("{name}.").contains(".so.") } else { path.is_dir() }
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(dir).map_err(cannot)? {
            paths.push(entry.map_err(cannot)?.path());
        }
        // A library has several names, of which all but one are links.
        paths.sort_by_key(|path| (path.is_symlink(), path.clone()));
        let mut met = BTreeSet::new();
        paths.retain(|path| is_build(path) && met.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
        if paths.is_empty() {
            let wanted = if library { "a library, NAME.so," } else { "a directory for each build" };
            let (engine, path) = (engine.to_owned(), dir.display().to_string());
            return Err(FindingUseError::NoBuild { engine, path, wanted });
        }
        let (mut builds, mut left_out) = (Vec::new(), Vec::new());
        for path in paths {
            let target = Target::Path { dialect: engine.to_owned(), path: absolute(&path) };
            match engine::open_apart(&target, self.data_dir).await {
                Ok(version) => builds.push((version_key(&version), natural(&path), path)),
                Err(error) => {
                    let (build, why) = (path.display().to_string(), error.to_string());
                    self.progress.note(&format!("{build}: left out: {why}"));
                    left_out.push(LeftOut { build, why });
                }
            }
        }
        builds.sort();
        Ok((builds.into_iter().map(|(.., path)| path).collect(), left_out))
    }
}

/// A path that means the same in another process.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What a path is sorted by, in which numbers count as such: build-9 comes before build-10.
fn natural(path: &Path) -> Vec<(String, u128)> {
    let text = path.display().to_string();
    let mut parts = vec![(String::new(), 0_u128)];
    for c in text.chars() {
        let last = parts.len() - 1;
        match c.to_digit(10) {
            Some(digit) => parts[last].1 = parts[last].1.saturating_mul(10).saturating_add(u128::from(digit)),
            None if parts[last].1 > 0 => parts.push((c.to_string(), 0)),
            None => parts[last].0.push(c),
        }
    }
    parts
}

/// Findings with the versions that show them: a line of `caqtus bug spans --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The versions, oldest first.
    pub versions: Vec<String>,
    /// The SQL features of the findings.
    pub features: Vec<String>,
    /// Their identifiers.
    pub findings: Vec<String>,
    /// Their classes.
    pub classes: Vec<String>,
}

/// Where a finding was fixed, by what versions, oldest first, do with it; nothing if its own version does not show it.
fn fix_of(seen: &[(String, Seen)], own: &str) -> Option<Fixed> {
    let at =
        seen.iter().position(|(version, seen)| version_key(version) == version_key(own) && *seen == Seen::Shows)?;
    let good = seen[at..].iter().position(|(_, seen)| *seen == Seen::Agrees).map(|good| at + good);
    let bad = seen[at..good.unwrap_or(seen.len())].iter().rfind(|(_, seen)| *seen == Seen::Shows)?;
    Some(Fixed { last_bad: bad.0.clone(), first_good: good.map(|good| seen[good].0.clone()) })
}

/// Writes down where a finding was fixed, which tells bugs apart.
fn note_fix(dir: &Path, finding: &Finding, fixed: Option<Fixed>, engine: &str) -> Result<(), FindingUseError> {
    if fixed.is_none() || finding.cause.fixed == fixed {
        return Ok(());
    }
    let mut known = finding.clone();
    known.cause.fixed = fixed;
    let cannot = |source| FindingUseError::Write { dir: dir.display().to_string(), source };
    let profile = catalogue::profile(engine).map_err(|error| cannot(io::Error::other(error)))?;
    known.rewrite(dir, &profile).map_err(cannot)
}

/// Which versions that are here show each finding, by versions and features.
pub async fn spans(findings: &[(PathBuf, Finding)], data_dir: &Path) -> Result<Vec<Span>, FindingUseError> {
    let mut groups: BTreeMap<(Vec<String>, Vec<String>), Vec<&Finding>> = BTreeMap::new();
    for (dir, finding) in findings {
        let target: Target = finding.dbms.parse()?;
        let mut seen = Vec::new();
        for version in versions_here(target.dialect(), data_dir)? {
            let found = seen_on(dir, finding, &version_of(target.dialect(), &version), data_dir).await?;
            seen.push((version, found));
        }
        note_fix(dir, finding, fix_of(&seen, &finding.version), target.dialect())?;
        let showing: Vec<String> =
            seen.into_iter().filter(|(_, seen)| *seen == Seen::Shows).map(|(version, _)| version).collect();
        groups.entry((showing, finding.features.clone())).or_default().push(finding);
    }
    let span = |((versions, features), findings): ((Vec<String>, Vec<String>), Vec<&Finding>)| {
        let mut classes: Vec<String> = findings.iter().map(|f| f.class.clone()).collect();
        classes.dedup();
        Span { versions, features, findings: findings.iter().map(|f| f.id.clone()).collect(), classes }
    };
    Ok(groups.into_iter().map(span).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_one_version_are_in_the_order_of_their_numbers() {
        let mut names = ["b/lib-10.so", "b/lib-9.so", "b/lib-9b.so", "a/x", "b/lib.so"].map(PathBuf::from);
        names.sort_by_key(|path| natural(path));
        assert_eq!(names, ["a/x", "b/lib-9.so", "b/lib-9b.so", "b/lib-10.so", "b/lib.so"].map(PathBuf::from));
    }
}

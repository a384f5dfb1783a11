//! Stands for the SQLite driver of sqlx, which is not used: see `Cargo.toml`.

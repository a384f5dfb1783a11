//! The store: PostgreSQL, the only place that knows its SQL.

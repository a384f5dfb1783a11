//! Files that pages load.

use super::super::extract::Path;
use super::super::problem::{Kind, Problem};
use axum::http::header;
use axum::response::IntoResponse;
use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/api/pages/static");

/// Seconds for which a browser may keep one.
const KEEP: &str = "public, max-age=3600";

/// Changes with the files, so that a browser keeps none that is old.
pub(super) fn version() -> String {
    let mut hash = blake3::Hasher::new();
    FILES.files().for_each(|file| _ = hash.update(file.contents()));
    hash.finalize().to_hex()[..8].to_owned()
}

pub(super) async fn asset(Path(name): Path<String>) -> Result<impl IntoResponse, Problem> {
    let Some(file) = FILES.get_file(&name) else { return Err(Kind::NotFound.problem("there is no such file")) };
    let kind = match file.path().extension().and_then(|extension| extension.to_str()) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        // Licences.
        None => "text/plain; charset=utf-8",
        Some(_) => "application/octet-stream",
    };
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, KEEP)], file.contents()))
}

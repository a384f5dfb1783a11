//! Access to JSON values that refuses what it does not expect.

use serde_json::{Map, Value as Json};

use super::{Unsupported, refuse};

/// An object with no other fields than these: a field that is not known could change the meaning of the others.
pub(super) fn object<'a>(json: &'a Json, fields: &[&str]) -> Result<&'a Map<String, Json>, Unsupported> {
    let Some(object) = json.as_object() else { return refuse("plan that is not an object") };
    match object.keys().find(|key| !fields.contains(&key.as_str())) {
        Some(key) => refuse(format!("field {key}")),
        None => Ok(object),
    }
}

/// A field that must be there.
pub(super) fn field<'a>(object: &'a Map<String, Json>, name: &str) -> Result<&'a Json, Unsupported> {
    object.get(name).map_or_else(|| refuse(format!("plan without {name}")), Ok)
}

/// A list.
pub(super) fn list(json: &Json) -> Result<&[Json], Unsupported> {
    json.as_array().map_or_else(|| refuse("value that is not a list"), |list| Ok(list.as_slice()))
}

/// A text.
pub(super) fn text(json: &Json) -> Result<&str, Unsupported> {
    json.as_str().map_or_else(|| refuse("value that is not a text"), Ok)
}

/// An index.
pub(super) fn index(json: &Json) -> Result<usize, Unsupported> {
    json.as_u64().and_then(|n| usize::try_from(n).ok()).map_or_else(|| refuse("index that is not a whole number"), Ok)
}

//! Configuration files in YAML inside objects: read within bounds, and written again with members that are not known.

use serde_json::Value;

use crate::controller::ReconcileError;

/// Octets of the largest file.
const MOST: usize = 1024 * 1024;

/// Reads a file; an empty one is an object without members.
///
/// # Errors
/// It is too large, or not YAML. The text names `what`, and shows nothing of the file: it may hold secrets.
pub(super) fn read(text: &str, what: &str) -> Result<Value, ReconcileError> {
    if text.len() > MOST {
        return Err(ReconcileError::invalid(format!("{what} has more than {MOST} bytes")));
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_saphyr::from_str(text).map_err(|_| ReconcileError::invalid(format!("{what} is not valid YAML")))
}

/// Writes a file.
///
/// # Errors
/// It has a value that YAML does not have.
pub(super) fn write(value: &Value, what: &str) -> Result<String, ReconcileError> {
    serde_saphyr::to_string(value).map_err(|_| ReconcileError::invalid(format!("{what} cannot be written")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_the_same() {
        let value =
            json!({ "a": { "b": [1, 2.5, "yes", "0123", "", null, "x: y", "#"] }, "time": "5m", "on": true });
        let text = write(&value, "a file").unwrap();
        assert_eq!(read(&text, "a file").unwrap(), value, "{text}");
        assert_eq!(read(" \n", "a file").unwrap(), json!({}));
        assert_eq!(read("a: [", "a file").unwrap_err().to_string(), "a file is not valid YAML");
    }
}

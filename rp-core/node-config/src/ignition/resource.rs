//! Contents inside a config (`data:` URLs) or elsewhere.

use std::fmt;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use super::{IgnitionError, Unknown};

/// The largest contents of a file, in bytes.
pub(super) const MOST_CONTENTS: u64 = 16 << 20;
/// Of the texts that we write (`contract/operator.md` §8.11).
const TEXT: &str = "data:text/plain;charset=utf-8;base64,";

/// Contents by URL.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Resource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
    #[serde(flatten)]
    unknown: Unknown,
}

/// Without the source: it may be, or hold, a secret.
impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("compression", &self.compression).finish_non_exhaustive()
    }
}

impl Resource {
    pub(super) fn from_text(text: &str) -> Self {
        let source = Some(format!("{TEXT}{}", STANDARD.encode(text)));
        Self { source, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.source.is_none() && self.compression.is_none() && self.unknown.is_empty()
    }

    /// The contents of the file of that path.
    pub(super) fn decode(&self, path: &str) -> Result<Vec<u8>, IgnitionError> {
        let path = || path.to_owned();
        let Some(source) = &self.source else { return Ok(Vec::new()) };
        let url = source.strip_prefix("data:").ok_or_else(|| IgnitionError::Remote { path: path() })?;
        let encoding = || IgnitionError::Encoding { path: path() };
        let (kind, data) = url.split_once(',').ok_or_else(encoding)?;
        let raw = match kind.ends_with(";base64") {
            true => STANDARD.decode(data).map_err(|_| encoding())?,
            false => percent_encoding::percent_decode_str(data).collect(),
        };
        match self.compression.as_deref() {
            None | Some("") => Ok(raw),
            Some("gzip") => {
                let mut text = Vec::new();
                let mut bounded = GzDecoder::new(&*raw).take(MOST_CONTENTS + 1);
                bounded.read_to_end(&mut text).map_err(|_| encoding())?;
                match text.len() as u64 > MOST_CONTENTS {
                    true => Err(IgnitionError::Contents { path: path() }),
                    false => Ok(text),
                }
            }
            Some(_) => Err(IgnitionError::Compression { path: path() }),
        }
    }
}

//! Lists in pages: sealed tokens of where the next one begins (`contract/frontend.md` §6.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_api::CloudError;
use rp_documents::Sealed;

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;

/// Items of one page.
pub(crate) const PAGE: u32 = 10;
/// Longest token, in bytes.
const MOST_TOKEN: usize = 4096;

/// A list that goes on after a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PagedList<'a> {
    /// The purpose for which its tokens are sealed: a token of one list is invalid for another.
    pub(crate) place: &'static str,
    /// Prefix of all keys of the list.
    pub(crate) prefix: &'a str,
}

impl PagedList<'_> {
    /// The key after which the call's page begins; `None`: at the start.
    ///
    /// # Errors
    /// 400: the token is not one of ours, or of another list (`contract/frontend.md` "Do better" 9).
    pub(crate) fn after(&self, parts: &FrontendParts, call: &Call) -> Result<Option<String>, CloudError> {
        let Some(token) = call.parameter("$skipToken").filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        let wrong = || CloudError::invalid("$skipToken", "The provided skip token is invalid.");
        let decoded = (token.len() <= MOST_TOKEN).then(|| STANDARD.decode(token).ok()).flatten();
        let sealed = decoded.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)?;
        let plain = parts.keyring.open(&Sealed(sealed), self.place).map_err(|_| wrong())?;
        let key = String::from_utf8(plain.expose().clone()).map_err(|_| wrong())?;
        if key.starts_with(self.prefix) { Ok(Some(key)) } else { Err(wrong()) }
    }

    /// The caller's URL with the token of the page after `last`.
    ///
    /// # Errors
    /// The keyring cannot seal.
    pub(crate) fn next(&self, parts: &FrontendParts, call: &Call, last: &str) -> Result<String, Fault> {
        let token = STANDARD.encode(parts.keyring.seal(last.as_bytes(), self.place)?.0);
        let mut url = call.referer.clone();
        let mut query: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !name.eq_ignore_ascii_case("$skipToken"))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        query.push(("$skipToken".to_owned(), token));
        query.sort();
        url.query_pairs_mut().clear().extend_pairs(query);
        Ok(url.into())
    }
}

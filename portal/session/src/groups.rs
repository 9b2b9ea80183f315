//! Groups that do not fit into a token: asked for where the settings say
//! (`contract/portal.md` "Do better" 5). The address that the token names is not followed: only the configured one is
//! trusted.

use std::sync::Arc;

use http::{HeaderValue, Request, StatusCode, header};
use rp_base::{Secret, chain};
use rp_config::GroupSource;
use serde_json::Value;
use url::Url;

use crate::claims::{ExtraClaims, Groups, MOST};
use crate::provider::{Claims, DiscoveredProvider, Provider, SignInError};

/// Pages of an answer that comes in parts.
const PAGES: usize = 20;

impl Provider {
    /// The groups of an ID token, wherever they stand.
    pub async fn groups_of(&self, claims: &Claims, access: &Secret<String>) -> Result<Groups, SignInError> {
        let named = claims.additional_claims().groups(self.groups_claim());
        if named != Groups::TooMany {
            return Ok(named);
        }
        match &self.config.options.groups_from {
            GroupSource::Token => Ok(Groups::TooMany),
            GroupSource::Userinfo => {
                let known = self.discovered().await?;
                let found = self.person_by_userinfo(&known, access).await?;
                let theirs = found.filter(|(sub, _)| sub == claims.subject().as_str());
                Ok(theirs.map_or(Groups::TooMany, |(_, groups)| groups))
            }
            GroupSource::Address(url) => self.listed(url, access).await,
        }
    }

    /// Subject and groups of the userinfo endpoint (Core §5.3); `None` when there is no such endpoint or it
    /// says nothing of groups.
    pub async fn person_by_userinfo(
        &self,
        known: &Arc<DiscoveredProvider>,
        access: &Secret<String>,
    ) -> Result<Option<(String, Groups)>, SignInError> {
        let Some(url) = &known.userinfo else { return Ok(None) };
        let mut said = self.ask(url, access).await?;
        let Some(sub) = said.get("sub").and_then(Value::as_str).map(str::to_owned) else { return Ok(None) };
        let extra: ExtraClaims = serde_json::from_value(said.take()).unwrap_or_default();
        let claim = self.groups_claim();
        Ok(extra.names_groups(claim).then(|| (sub, extra.groups(claim))))
    }

    /// `["a", …]`, `{"groups": ["a", …]}` or Microsoft Graph's `{"value": ["a", {"id": "b"}, …]}`, the last
    /// page by page within the same origin.
    async fn listed(&self, first: &Url, access: &Secret<String>) -> Result<Groups, SignInError> {
        let (mut found, mut next) = (Vec::new(), Some(first.clone()));
        for _ in 0..PAGES {
            let Some(url) = next.take() else { return Ok(Groups::Named(found)) };
            let page = self.ask(&url, access).await?;
            let list = [Some(&page), page.get("value"), page.get("groups")];
            let list = list.into_iter().flatten().find_map(Value::as_array);
            let list =
                list.ok_or_else(|| SignInError::Away("its list of groups has an unknown form".into()))?;
            let name = |one: &Value| {
                one.as_str().or_else(|| one.get("id").and_then(Value::as_str)).map(str::to_owned)
            };
            found.extend(list.iter().filter_map(name));
            if found.len() > MOST {
                return Ok(Groups::TooMany);
            }
            let more =
                page.get("@odata.nextLink").and_then(Value::as_str).and_then(|text| Url::parse(text).ok());
            next = more.filter(|url| url.origin() == first.origin());
        }
        Ok(if next.is_none() { Groups::Named(found) } else { Groups::TooMany })
    }

    async fn ask(&self, url: &Url, access: &Secret<String>) -> Result<Value, SignInError> {
        let settings = |_| SignInError::Settings("the address of the groups cannot be used".to_owned());
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", access.expose()))
            .map_err(|_| SignInError::Away("its access token is no text".to_owned()))?;
        bearer.set_sensitive(true);
        let request = Request::get(url.as_str())
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/json")
            .body(Vec::new())
            .map_err(settings)?;
        let answer = self.exchange.send(request).await;
        let answer = answer.map_err(|error| SignInError::Away(chain(&error).to_string()))?;
        if answer.status() != StatusCode::OK {
            return Err(SignInError::Away(format!("it answered {} when asked for groups", answer.status())));
        }
        serde_json::from_slice(answer.body())
            .map_err(|_| SignInError::Away("its answer about groups cannot be read".to_owned()))
    }
}

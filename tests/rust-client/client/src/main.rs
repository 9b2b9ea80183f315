//! A client of the portal in Rust, by the generated crate `portal-api`.
//!
//! usage: client URL CA TOKEN CLUSTER. Any deviation is an error.

use std::fmt::Debug;

use anyhow::{bail, ensure};
use portal_api::apis::clusters_api::search_clusters;
use portal_api::apis::configuration::Configuration;
use portal_api::apis::elevations_api::list_elevations;
use portal_api::apis::grants_api::{create_grant, get_grant, list_grants, revoke_grant};
use portal_api::apis::service_api::get_info;
use portal_api::apis::{Error, ResponseContent};
use portal_api::models::{
    self, ClusterColumn, NewGrant, Rights, Side, grant, grant_detail, grant_row, new_grant,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, ca, token, target] = words.as_slice() else { bail!("usage: client URL CA TOKEN CLUSTER") };
    let ca = reqwest::Certificate::from_pem(&std::fs::read(ca)?)?;
    let client = reqwest::Client::builder().add_root_certificate(ca).no_proxy().build()?;
    let portal = |token: &str| Configuration {
        base_path: url.clone(),
        client: client.clone(),
        bearer_access_token: Some(token.to_owned()),
        ..Configuration::default()
    };
    let done = use_portal(&portal(token), target).await?;
    let stranger = portal("nobody");
    let grants = list_grants(&stranger, None, None, None, None, None, None, None, None, None, None).await;
    let stranger = refused(grants, 401)?;
    ensure!(stranger.code == "token_refused", "{stranger:?}");
    println!("{done}");
    Ok(())
}

/// Lists clusters; takes, lists and ends a grant; reads errors.
async fn use_portal(portal: &Configuration, target: &str) -> anyhow::Result<serde_json::Value> {
    get_info(portal).await?;
    let page = search_clusters(
        portal,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        Some(ClusterColumn::Name),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        Some(500),
    )
    .await?;
    ensure!(
        page.items.iter().any(|one| one.resource_id.eq_ignore_ascii_case(target)),
        "{}",
        page.items.len()
    );

    let wanted = NewGrant {
        rights: Some(Some(Rights::Read)),
        life: Some(Some(600)),
        ..NewGrant::new(
            new_grant::Kind::Kubeconfig,
            "story of generated clients".to_owned(),
            target.to_owned(),
        )
    };
    let issued = create_grant(portal, wanted.clone()).await?;
    ensure!(issued.token.is_some() && issued.server.is_some(), "no grant");
    let grant = issued.grant;
    ensure!(grant.state == grant::State::Active && grant.rights == Rights::Read, "{grant:?}");
    ensure!(grant.not_after > grant.created, "{grant:?}");

    let mine = list_grants(portal, Some(true), None, None, None, None, None, None, None, None, None).await?;
    ensure!(mine.items.iter().any(|row| row.id == grant.id), "{mine:?}");
    let ended = revoke_grant(portal, &grant.id, Some("the story ends")).await?;
    ensure!(ended.state == grant_row::State::Revoked, "{ended:?}");
    let detail = get_grant(portal, &grant.id).await?;
    ensure!(detail.state == grant_detail::State::Revoked, "{detail:?}");

    let unknown = refused(get_grant(portal, &"0".repeat(26)).await, 404)?;
    ensure!(unknown.code == "grant_not_found" && unknown.side == Side::You, "{unknown:?}");
    let nowhere = NewGrant { target: "nowhere".to_owned(), ..wanted };
    let wrong = refused(create_grant(portal, nowhere).await, 400)?;
    ensure!(wrong.side == Side::You && !wrong.message.is_empty(), "{wrong:?}");
    let elevations = list_elevations(portal, None, None, Some(5), None, None, None).await?;
    ensure!(elevations.items.len() <= 5, "{elevations:?}");
    Ok(serde_json::json!({ "clusters": page.items.len(), "grant": grant.id }))
}

/// The error of an answer with that status. The generated types of errors have a variant for each status, and reading
/// always takes the first of them: they have the same members.
fn refused<T: Debug, E: Debug>(answer: Result<T, Error<E>>, status: u16) -> anyhow::Result<models::Error> {
    match answer {
        Err(Error::ResponseError(ResponseContent { status: got, content, entity })) if got == status => {
            ensure!(entity.is_some(), "an error of no known type: {content}");
            Ok(serde_json::from_str(&content)?)
        }
        other => bail!("{status} was expected: {other:?}"),
    }
}

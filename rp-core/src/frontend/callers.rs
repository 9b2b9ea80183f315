//! `[rp]` into who may call (`contract/frontend.md` §3).

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, ensure};
use rp_base::chain;
use rp_config::{
    AzureEnvironment, CallerCertificate, Settings, TokenCheck as TokenCheckSettings, TokenPolicy,
};
use rp_frontend::auth::{
    self, ArmCertificates, ArmOptions, CertificateCheck, Mise, NamedClient, TokenCheck, TokenIssuer,
    TokenRules,
};
use rp_frontend::{AdminRole, AllowAll, Authorizer};
use rp_runtime::{Lifecycle, WATCH_PERIOD, Watch};
use url::Url;

use super::Callers;
use crate::{Services, files, reload};

/// Whom the process takes.
///
/// # Errors
/// A certificate cannot be read, or everybody would be taken from another machine.
pub(super) fn authorizer(
    services: &Services,
    life: &Lifecycle,
    callers: Callers,
) -> anyhow::Result<Arc<dyn Authorizer>> {
    let told = &services.settings.rp;
    if callers == Callers::Everybody {
        let address = told.api.listen;
        ensure!(
            address.ip().is_loopback(),
            "rp.listen: {address} is not on loopback, and everybody may call"
        );
        return Ok(Arc::new(AllowAll));
    }
    let admin = told.admin.certificate().map(|admin| named(&admin, &told.admin.admin_certificates, life));
    let admin = admin.transpose().context("rp.admin_ca_file")?;
    if admin.is_none() {
        tracing::warn!("rp.admin_ca_file is not set: nobody calls the admin API");
    }
    Ok(Arc::new(auth::Callers {
        arm: arm(services, life)?,
        admin,
        tokens: tokens(services)?,
        tokens_required: told.tokens.tokens == TokenPolicy::Require,
        clock: Arc::clone(&services.clock),
    }))
}

/// ARM's certificates: published, or by authorities of the settings.
fn arm(services: &Services, life: &Lifecycle) -> anyhow::Result<Arc<dyn CertificateCheck>> {
    let told = &services.settings.rp.arm;
    if let Some(certificate) = told.certificate() {
        return named(&certificate, &[], life).context("rp.arm_ca_file");
    }
    let endpoint = match &told.arm_metadata {
        Some(endpoint) => endpoint.clone(),
        None => published_at(&services.settings)?,
    };
    let options = ArmOptions {
        endpoint,
        ca_pem: told.arm_metadata_ca_file.as_deref().map(files::read).transpose()?,
        refresh: told.arm_refresh,
        clock: Arc::clone(&services.clock),
    };
    let arm = ArmCertificates::new(options).context("rp.arm_metadata_ca_file")?;
    arm.register(&services.registry);
    let (followed, stop) = (Arc::clone(&arm), life.cutting());
    tokio::spawn(async move { stop.run_until_cancelled(followed.follow()).await });
    Ok(arm)
}

/// Where the cloud's ARM publishes.
fn published_at(settings: &Settings) -> anyhow::Result<Url> {
    let text = match settings.azure.environment {
        AzureEnvironment::Public => "https://admin.management.azure.com",
        AzureEnvironment::UsGovernment => "https://admin.management.usgovcloudapi.net",
    };
    Ok(text.parse()?)
}

/// Certificates of authorities, which are read again when their file changes. `more`: further names, with their roles.
fn named(
    told: &CallerCertificate<'_>,
    more: &[(String, String)],
    life: &Lifecycle,
) -> anyhow::Result<Arc<dyn CertificateCheck>> {
    let mut client = NamedClient::new(&files::read(told.ca_file)?, told.common_name)?;
    for (name, role) in more {
        let most: AdminRole = role.parse().map_err(|()| anyhow!("rp.admin_certificates: no role {role}"))?;
        client = client.and(name, most);
    }
    let client = Arc::new(client);
    let (followed, file): (_, PathBuf) = (Arc::clone(&client), told.ca_file.clone());
    reload::follow(life, Watch::new(vec![file.clone()]), WATCH_PERIOD, move || {
        let read = files::read(&file).and_then(|pem| Ok(followed.replace(&pem)?));
        match read {
            Ok(()) => tracing::info!(file = %file.display(), "authorities of callers read again"),
            Err(error) => {
                tracing::error!(error = %chain(&*error), "the old authorities of callers stay in use");
            }
        }
    })?;
    Ok(client)
}

fn tokens(services: &Services) -> anyhow::Result<Option<Arc<dyn TokenCheck>>> {
    let told = &services.settings.rp.tokens;
    let Some(check) = told.check() else { return Ok(None) };
    Ok(Some(match check {
        TokenCheckSettings::Mise { address } => Arc::new(Mise::new(address.clone()).context("rp.mise")?),
        TokenCheckSettings::Own { issuer, audience } => {
            let rules = TokenRules {
                issuer: issuer.as_str().trim_end_matches('/').to_owned(),
                audience: audience.to_owned(),
                applications: told.token_applications.clone(),
                roles: told.token_roles.clone(),
            };
            let ca = told.token_ca_file.as_deref().map(files::read).transpose()?;
            let clock = Arc::clone(&services.clock);
            Arc::new(TokenIssuer::new(rules, ca.as_deref(), clock).context("rp.token_ca_file")?)
        }
    }))
}

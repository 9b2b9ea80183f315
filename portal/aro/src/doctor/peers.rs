//! What the deployment stands on beside this machine: the store and its clock, names, the OpenID provider.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use portal_session::exchange::network_exchange;
use portal_session::provider::{Provider, SignInError};
use rp_base::{Clock, SystemClock};
use rp_config::{Settings, StoreKind};
use rp_core::services::postgres_options;
use rp_database::{Inspection, PostgresStore, SqliteStore};
use url::Url;

use super::{Finding, causes};
use crate::portal_parts;

/// For one name, and for the provider.
const PATIENCE: Duration = Duration::from_secs(10);
/// Replicas whose clocks differ by more disagree about ends by that much: docs/operations/clocks.md.
const CLOCK: Duration = Duration::from_secs(2);
/// As far as sign-ins and tokens are taken.
const CLOCK_MOST: Duration = Duration::from_secs(120);

/// The store, its schema, its clock; and whether it is empty, where that is known.
pub(super) async fn store(settings: &Settings, clock: &dyn Clock) -> (Vec<Finding>, Option<bool>) {
    match &settings.store.kind {
        StoreKind::Sqlite => {
            let place = format!("store.path ({})", settings.store.path.display());
            if !settings.store.path.exists() {
                let found = format!("{place}: made on the first start");
                return (vec![Finding::ok("store", found)], Some(true));
            }
            match SqliteStore::inspect(&settings.store.path).await {
                Ok(found) => (vec![schema(&place, found)], Some(found.steps == 0)),
                Err(error) => {
                    let action = "Run this as the service's user; a newer file needs the newer version; a damaged one, a backup.";
                    (vec![Finding::failed("store", format!("{place}: {}", causes(&error)), action)], None)
                }
            }
        }
        StoreKind::Postgres(postgres) => {
            let options = match postgres_options(postgres) {
                Ok(options) => options,
                Err(error) => {
                    let action = "Correct [store]: the URL, and the files that it names.";
                    return (vec![Finding::failed("store", causes(&error), action)], None);
                }
            };
            let place = format!("store {}", options.place());
            let asked = clock.now();
            match PostgresStore::inspect(&options).await {
                Ok(found) => {
                    let clock = found.now.map(|now| {
                        let off = now.since(clock.now()).max(asked.since(now));
                        store_clock(&place, off)
                    });
                    (std::iter::once(schema(&place, found)).chain(clock).collect(), Some(found.steps == 0))
                }
                Err(error) => {
                    let action = "Is the server there, a primary, of PostgreSQL 14 or newer, and does it take this user and certificate?";
                    (vec![Finding::failed("store", format!("{place}: {}", causes(&error)), action)], None)
                }
            }
        }
    }
}

fn schema(place: &str, found: Inspection) -> Finding {
    let Inspection { steps, known, .. } = found;
    match steps {
        0 => Finding::ok("store", format!("{place}: answers, is empty")),
        _ if steps < known => Finding::warning(
            "store",
            format!("{place}: answers, schema {steps} of {known}"),
            "The first start of this version brings it up; take a backup before.",
        ),
        _ => Finding::ok("store", format!("{place}: answers, schema {steps} of {known}")),
    }
}

/// `off`: by how much the clocks differ beyond the time that the answer took.
fn store_clock(place: &str, off: Duration) -> Finding {
    let found = format!("this machine and {place} differ by {} ms", off.as_millis());
    let action = "Run a time service on both machines: docs/operations/clocks.md.";
    match off {
        _ if off > CLOCK_MOST => Finding::failed("clock", found, action),
        _ if off > CLOCK => Finding::warning("clock", found, action),
        _ => Finding::ok("clock", found),
    }
}

/// Host names that clients use for us resolve from here.
pub(super) async fn names(settings: &Settings) -> Vec<Finding> {
    let host = |url: &Option<Url>| url.as_ref().and_then(Url::host_str).map(str::to_owned);
    let mut hosts: BTreeSet<String> = settings.proxy.hosts.iter().cloned().collect();
    hosts.extend(host(&settings.portal.url));
    if settings.rp.api.enabled {
        hosts.extend(host(&settings.rp.api.url));
    }
    hosts.extend(settings.ssh.host.clone());
    let mut findings = Vec::new();
    for host in hosts {
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let asked = tokio::time::timeout(PATIENCE, tokio::net::lookup_host((name, 443))).await;
        findings.push(match asked {
            Ok(Ok(found)) => {
                let addresses: BTreeSet<String> = found.map(|address| address.ip().to_string()).collect();
                let addresses: Vec<String> = addresses.into_iter().collect();
                Finding::ok("name", format!("{host}: {}", addresses.join(", ")))
            }
            Ok(Err(error)) => unresolved(&host, &error.to_string()),
            Err(_) => unresolved(&host, "no answer within 10 s"),
        });
    }
    findings
}

fn unresolved(host: &str, why: &str) -> Finding {
    let action = "Add a record that leads to the balancer or to this machine; clients may use other resolvers than this machine.";
    Finding::warning("name", format!("{host} does not resolve from here: {why}"), action)
}

/// The provider's discovery document and its keys.
pub(super) async fn provider(settings: &Settings) -> Finding {
    let (Some(oidc), Some(portal)) = (&settings.oidc, &settings.portal.url) else {
        return Finding::skipped("provider", "oidc.issuer or portal.url is not set: nobody signs in here");
    };
    let issuer = oidc.issuer.to_string();
    let wrong = |why: String| {
        Finding::failed(
            "provider",
            format!("{issuer}: {why}"),
            "Correct [oidc], and the files that it names.",
        )
    };
    let config = match portal_parts::oidc(settings) {
        Ok(config) => config,
        Err(error) => return wrong(format!("{error:#}")),
    };
    let exchange = match network_exchange(&config) {
        Ok(exchange) => exchange,
        Err(error) => return wrong(causes(&error)),
    };
    let provider = match Provider::new(config, portal, exchange, Arc::new(SystemClock)) {
        Ok(provider) => provider,
        Err(error) => return wrong(causes(&error)),
    };
    match tokio::time::timeout(PATIENCE, provider.discovered()).await {
        Ok(Ok(found)) => {
            Finding::ok("provider", format!("{issuer}: discovered, {} signing keys", found.keys.len()))
        }
        Ok(Err(error @ SignInError::Clock(_))) => Finding::failed(
            "provider",
            format!("{issuer}: {}", causes(&error)),
            "Run a time service on this machine: docs/operations/clocks.md.",
        ),
        Ok(Err(error)) => {
            let action = "Is the issuer written as the provider's discovery document has it, is it reachable from here, and is its CA in oidc.ca_file?";
            Finding::failed("provider", format!("{issuer}: {}", causes(&error)), action)
        }
        Err(_) => Finding::failed(
            "provider",
            format!("{issuer}: no answer within 10 s"),
            "Open the way from this machine to the provider.",
        ),
    }
}

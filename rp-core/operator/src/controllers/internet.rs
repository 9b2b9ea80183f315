//! Reachability of what the cluster needs on the internet, from the role's own node (`contract/operator.md` §8.4).

mod probe;

use rp_operator_api::conditions::Check;

use self::probe::{Probe, ProxySettings};
use crate::controller::{Outcome, Reconciled, Role, Run};
use crate::kinds::{ObjectName, PROXY};

/// URLs that are tried; the service sets four.
const MOST_URLS: usize = 64;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let check = match run.context.role {
        Role::Master => Check::InternetReachableFromMaster,
        Role::Worker => Check::InternetReachableFromWorker,
    };
    if !run.enabled {
        return Ok(Outcome::unknown(check));
    }
    // A cluster without the kind has no proxy; one whose proxy cannot be read is tried directly, and the answer shows it.
    let proxy = run.api().get(ObjectName::of_cluster(&PROXY, "cluster")).await.ok().flatten();
    let proxy = ProxySettings::of(proxy.as_ref());
    let mut urls = run.cluster.spec.internet_checker.urls.clone();
    urls.sort();
    urls.dedup();
    urls.truncate(MOST_URLS);
    let failures = Probe::default().all(urls, &proxy).await;
    Ok(if failures.is_empty() {
        Outcome::check(check, "True", "CheckDone", "Outgoing connection successful")
    } else {
        let message = failures.join("\n");
        Outcome::check(check, "False", "CheckFailed", &message).retried(message)
    })
}

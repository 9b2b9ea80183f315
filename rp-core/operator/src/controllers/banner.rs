//! A message on the console (`contract/operator.md` §8.3).

use rp_operator_api::Cluster;
use serde_json::{Value, json};

use crate::apply::ensure;
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{CONSOLE_NOTIFICATION, ObjectName};

/// The name of the notification.
pub(super) const NAME: &str = "openshift-aro-sre";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    // Off removes the message (`contract/operator.md` "Do better" 8).
    match notification(run.cluster)?.filter(|_| run.enabled) {
        Some(notification) => drop(ensure(run.api(), &notification, None).await?),
        None => drop(run.api().delete(ObjectName::of_cluster(&CONSOLE_NOTIFICATION, NAME)).await?),
    }
    Ok(Outcome::done())
}

/// The notification of the setting; `None`: there is no message.
pub(super) fn notification(cluster: &Cluster) -> Result<Option<Value>, ReconcileError> {
    match cluster.spec.banner.content.as_str() {
        "" => Ok(None),
        "ContactSupport" => Ok(Some(json!({
            "apiVersion": "console.openshift.io/v1",
            "kind": "ConsoleNotification",
            "metadata": { "name": NAME },
            "spec": {
                "text": format!(
                    "We have noticed an issue regarding your cluster requiring an action on your part. Please contact support with your cluster resource ID: {}",
                    cluster.spec.resource_id
                ),
                "location": "BannerTop",
                "color": "#000",
                "backgroundColor": "#ff0",
            },
        }))),
        other => Err(ReconcileError::invalid(format!("wrong banner setting '{other}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_chooses_the_message() {
        let mut cluster = Cluster::default();
        assert_eq!(notification(&cluster).unwrap(), None);
        cluster.spec.banner.content = "ContactSupport".to_owned();
        cluster.spec.resource_id = "/subscriptions/s".to_owned();
        let text = notification(&cluster).unwrap().unwrap()["spec"]["text"].to_string();
        assert!(text.ends_with("with your cluster resource ID: /subscriptions/s\""), "{text}");
        cluster.spec.banner.content = "Hello".to_owned();
        assert_eq!(notification(&cluster).unwrap_err().to_string(), "wrong banner setting 'Hello'");
    }
}

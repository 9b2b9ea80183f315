//! The members of etcd: which one is broken, its removal, and whether a new one has taken its place.

use std::time::Duration;

use rp_actions::etcd::{NAMESPACE, PODS, broken_member, healthy_members, unready_members};
use rp_base::text::clean;
use rp_kube::ExecRequest;
use rp_openshift::{Pod, Whole};
use serde::Deserialize;

use super::super::nodes::{again, control_plane_nodes, is_etcd_healthy, node_name, unread_is_not_yet};
use super::operator::forget_redeployment;
use crate::context::Context;
use crate::errors::{LONGEST_CAUSE, StepError};
use crate::kube_api::Kube;
use crate::step::ConditionStatus;

/// Limit of one command of etcdctl, and of its output in bytes.
const COMMAND: Duration = Duration::from_secs(30);
const MOST_OUTPUT: usize = 64 << 10;

/// What `etcdctl member list` says.
#[derive(Debug, Deserialize)]
struct MemberList {
    members: Vec<Member>,
}

#[derive(Debug, Deserialize)]
struct Member {
    #[serde(rename = "ID")]
    id: u64,
    /// The node's name; empty: the member has not started.
    #[serde(default)]
    name: String,
}

pub(super) async fn pods(kube: &Kube) -> Result<Vec<Pod<Whole>>, StepError> {
    kube.list(PODS, "").await
}

/// Whether the member of the order's machine is the only one that is broken. What an earlier order left on the operator's
/// object no longer counts then.
pub(super) async fn check(context: &Context) -> Result<(), StepError> {
    again(context, || async {
        let kube = Kube::connect(context)?;
        let node = node_name(context, &kube).await?;
        let masters = control_plane_nodes(&kube).await?;
        let masters: Vec<&str> = masters.iter().map(|master| master.metadata.name.as_str()).collect();
        match broken_member(&pods(&kube).await?, &masters).map_err(StepError::other)? {
            broken if broken == node => forget_redeployment(&kube).await,
            broken => {
                Err(StepError::other(format!("The broken etcd member is on node {broken}, not on {node}.")))
            }
        }
    })
    .await
}

/// Removes the member from etcd. One that is no member any more was removed before.
pub(super) async fn remove(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let node = node_name(context, &kube).await?;
    let pods = pods(&kube).await?;
    let healthy = healthy_members(&pods, &node);
    let [first, ..] = healthy.as_slice() else {
        return Err(StepError::other("No healthy etcd member is left to ask."));
    };
    if let Some(member) = member(context, first, &node).await? {
        let id = format!("{:x}", member.id);
        etcdctl(context, first, &["member", "remove", &id]).await?;
        context.record_line("info", &format!("removed etcd member {id} ({node})"));
    }
    for peer in healthy {
        if member(context, peer, &node).await?.is_some() {
            return Err(StepError::other(format!("Pod {peer} still knows the etcd member {node}.")));
        }
    }
    Ok(())
}

/// The member of that name, as a pod knows it. etcd answers only while it has its quorum.
async fn member(context: &Context, pod: &str, name: &str) -> Result<Option<Member>, StepError> {
    let out = etcdctl(context, pod, &["member", "list", "--write-out=json"]).await?;
    let list: MemberList = serde_json::from_slice(&out)
        .map_err(|error| StepError::other(format!("etcdctl in {pod} gave no list of members: {error}")))?;
    Ok(list.members.into_iter().find(|member| member.name == name))
}

async fn etcdctl(context: &Context, pod: &str, arguments: &[&str]) -> Result<Vec<u8>, StepError> {
    let command: Vec<&str> = [&["etcdctl"], arguments].concat();
    let request = ExecRequest {
        namespace: NAMESPACE,
        pod,
        container: Some("etcdctl"),
        command: &command,
        most: MOST_OUTPUT,
        within: COMMAND,
    };
    let what = || format!("etcdctl {} in {pod}", arguments.join(" "));
    let client = context.kube()?;
    let running = context.env.clusters.exec(&client, request);
    let output = context.unless_stopping(running).await?;
    let output = output.map_err(|error| StepError::Exec { what: what(), error: Box::new(error) })?;
    match output.good {
        true => Ok(output.out),
        false => {
            let told = clean(&String::from_utf8_lossy(&output.err), LONGEST_CAUSE);
            Err(StepError::other(format!("{}: {told}", what())))
        }
    }
}

/// Whether all three members serve again.
pub(super) async fn is_replaced(context: &Context) -> Result<ConditionStatus, StepError> {
    let looked = async {
        match unready_members(&pods(&Kube::connect(context)?).await?) {
            Some(away) => Ok(ConditionStatus::not_yet(away)),
            None => is_etcd_healthy(context).await,
        }
    };
    Ok(unread_is_not_yet(looked.await))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_etcdctl_is_read() {
        // As etcdctl 3.5 and 3.6 write it.
        let text =
            br#"{"header":{"cluster_id":14841639068965178418,"member_id":10276657743932975437,"raft_term":2},
            "members":[{"ID":10276657743932975437,"name":"m-0","peerURLs":["https://10.0.0.1:2380"],
            "clientURLs":["https://10.0.0.1:2379"]},{"ID":7,"peerURLs":["https://10.0.0.2:2380"]}]}"#;
        let list: MemberList = serde_json::from_slice(text).unwrap();
        assert_eq!(format!("{:x}", list.members[0].id), "8e9e05c52164694d");
        assert_eq!((list.members[0].name.as_str(), list.members[1].name.as_str()), ("m-0", ""));
    }
}

//! Values of the document that are chosen once and kept before anything is made by their names
//! (`contract/cluster.md` §6.2).

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use rp_base::{Random, Secret};
use rp_documents::cluster::{ClusterSecret, Install, InstallPhase, Outcome, Shared, Worker};
use rp_documents::{Leased as _, OpenShiftCluster};

use crate::context::Context;
use crate::errors::StepError;
use crate::plan::Phase;

/// No vowels and no characters that look like others, as Kubernetes chooses names.
const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Whether the operator looks after the security groups of the subnets.
const NSG_FLAG: &str = "aro.azuresubnets.nsg.managed";
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxyz0123456789";

/// `length` characters of an alphabet, all as likely.
pub(crate) fn chosen(random: &dyn Random, alphabet: &[u8], length: usize) -> String {
    let fair = 256 - 256 % alphabet.len();
    let mut out = String::with_capacity(length);
    let mut bytes = [0u8; 32];
    while out.len() < length {
        random.fill(&mut bytes);
        let usable = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair);
        out.extend(usable.take(length - out.len()).map(|byte| char::from(alphabet[byte % alphabet.len()])));
    }
    out
}

/// The prefix that a resource's name gives, without the random end.
fn infra_prefix(name: &str) -> String {
    const MOST: usize = 21;
    let mut prefix = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => prefix.push(c),
            _ if prefix.ends_with('-') => {}
            _ => prefix.push('-'),
        }
    }
    prefix.truncate(MOST);
    prefix.trim_end_matches('-').to_owned()
}

/// The prefix of all names: from the cluster's name and five random characters.
pub(crate) async fn ensure_infra_id(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    if !document.properties.infra_id.is_empty() {
        return Ok(());
    }
    let end = chosen(&*context.env.random, SAFE, 5);
    let id = format!("{}-{end}", infra_prefix(document.name()));
    context.patch(move |cluster, by| cluster.properties.infra_id.set(by, id.as_str())).await.map(drop)
}

/// Clusters from before there were prefixes.
pub(crate) async fn fix_infra_id(context: &Context) -> Result<(), StepError> {
    if context.document().properties.infra_id.is_empty() {
        context.patch(|cluster, by| cluster.properties.infra_id.set(by, "aro")).await?;
    }
    Ok(())
}

/// The key of the nodes' user `core`: RSA, for that is what every release's sshd takes; PKCS#1 (RFC 8017 A.1.2).
pub(crate) async fn ensure_ssh_key(context: &Context) -> Result<(), StepError> {
    if ClusterSecret::SshKey.sealed_in(&context.document()).is_some() {
        return Ok(());
    }
    let key =
        tokio::task::spawn_blocking(rsa_key).await.map_err(|error| StepError::other(error.to_string()))??;
    context.set_secret(ClusterSecret::SshKey, key.expose()).await.map(drop)
}

fn rsa_key() -> Result<Secret<Vec<u8>>, StepError> {
    let failed = |_| StepError::other("no key could be made");
    let pair = KeyPair::generate(KeySize::Rsa2048).map_err(failed)?;
    let pkcs8: Pkcs8V1Der<'static> = pair.as_der().map_err(failed)?;
    let inner = pkcs1_of(pkcs8.as_ref()).ok_or_else(|| StepError::other("the key has an unknown form"))?;
    Ok(Secret::new(inner.to_vec()))
}

/// The private key inside of PKCS#8 (RFC 5208): version, algorithm, octets.
pub(crate) fn pkcs1_of(pkcs8: &[u8]) -> Option<&[u8]> {
    let (0x30, inside, _) = der(pkcs8)? else { return None };
    let (0x02, _, rest) = der(inside)? else { return None };
    let (0x30, _, rest) = der(rest)? else { return None };
    let (0x04, key, _) = der(rest)? else { return None };
    Some(key)
}

/// Tag, content and what follows of a DER value.
pub(crate) fn der(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.len() > 4 {
            return None;
        }
        (digits.iter().fold(0usize, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// The end of the storage accounts' names, and the registry's account.
pub(crate) async fn ensure_storage_suffix(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let suffix = match document.storage_suffix() {
        "" => chosen(&*context.env.random, SUFFIX, 10),
        suffix => suffix.to_owned(),
    };
    let account = format!("imageregistry{suffix}");
    let known = &document.properties;
    if *known.storage_suffix == *suffix && *known.image_registry_storage_account_name == *account {
        return Ok(());
    }
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.properties.storage_suffix.set(by, suffix.as_str());
        cluster.properties.image_registry_storage_account_name.set(by, account.as_str());
    };
    context.patch(change).await.map(drop)
}

/// Azure moves larger packets where the subscription may have them.
pub(crate) async fn populate_mtu_size(context: &Context) -> Result<(), StepError> {
    let large = context.has_feature("Microsoft.RedHatOpenShift/MTU3900");
    set_mtu(context, large).await
}

pub(crate) async fn set_mtu(context: &Context, large: bool) -> Result<(), StepError> {
    let size = if large { 3900 } else { 1500 };
    context
        .patch(move |cluster, by| cluster.properties.network_profile.mtu_size.set(by, size))
        .await
        .map(drop)
}

/// Whether the size of packets is known.
pub(crate) fn has_mtu(context: &Context) -> bool {
    *context.document().properties.network_profile.mtu_size > 0
}

/// The operator leaves security groups of the customer's own alone.
pub(crate) async fn ensure_preconfigured_nsg(context: &Context) -> Result<(), StepError> {
    if !context.document().is_nsg_preconfigured() {
        return Ok(());
    }
    let change = |cluster: &mut OpenShiftCluster, by: Worker| {
        let off = Shared::new(by, "false");
        cluster.properties.operator_flags.insert(by, NSG_FLAG, off);
    };
    context.patch(change).await.map(drop)
}

/// Members that older documents do not have.
pub(crate) async fn ensure_defaults(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let mut after = OpenShiftCluster::clone(&document);
    fill_defaults(&mut after, Worker::holding(&document.envelope().lease()));
    if after == *document { Ok(()) } else { context.patch(fill_defaults).await.map(drop) }
}

fn fill_defaults(cluster: &mut OpenShiftCluster, by: Worker) {
    cluster.properties.fill_defaults(by);
    cluster.properties.fill_maintenance_task(by);
    fill_flags(cluster, by);
}

/// A document without any flag gets the whole default set; one that has flags keeps those that it has
/// (`contract/operator.md` §4).
fn fill_flags(cluster: &mut OpenShiftCluster, by: Worker) {
    let properties = &mut cluster.properties;
    if !properties.operator_flags.is_empty() {
        return;
    }
    for (name, value) in rp_api::defaults::operator_flags() {
        properties.operator_flags.insert(by, name, Shared::new(by, value));
    }
    if &*properties.network_profile.preconfigured_nsg == "Enabled" {
        properties.operator_flags.insert(by, NSG_FLAG, Shared::new(by, "false"));
    }
}

/// Says which release did a whole maintenance; the last of its steps.
pub(crate) async fn update_provisioned_by(context: &Context) -> Result<(), StepError> {
    let commit = context.env.commit.clone();
    context.patch(move |cluster, by| cluster.properties.provisioned_by.set(by, &*commit)).await.map(drop)
}

/// The phase that is to run, kept with the instant at which the installation began; `None`: none is left.
///
/// # Errors
/// The store's, or the stored phase is none that we know.
pub(crate) async fn begin_install(context: &Context) -> Result<Option<Phase>, StepError> {
    let document = context.document();
    let install = &document.properties.install;
    if install.is_none() {
        // A name is chosen after this was written: it was taken away again by the last step of all, and the worker was
        // lost before it could say so.
        if !document.properties.infra_id.is_empty() {
            return Ok(None);
        }
        let now = context.env.clock.now();
        let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
            let phase = Outcome::new(by, InstallPhase::Bootstrap.name());
            let install = Install { now: Outcome::new(by, now), phase, ..Install::default() };
            cluster.properties.install.set(by, install);
        };
        context.patch(change).await?;
        return Ok(Some(Phase::Bootstrap));
    }
    match install.phase() {
        Some(InstallPhase::Bootstrap) => Ok(Some(Phase::Bootstrap)),
        Some(InstallPhase::RemoveBootstrap) => Ok(Some(Phase::RemoveBootstrap)),
        None => {
            let stored = serde_json::to_value(&install.phase).unwrap_or_default();
            Err(StepError::other(format!("unrecognised phase InstallPhase({stored})")))
        }
    }
}

/// The bootstrap is over.
pub(crate) async fn incr_install_phase(context: &Context) -> Result<(), StepError> {
    let next = InstallPhase::RemoveBootstrap.name();
    context.patch(move |cluster, by| cluster.properties.install.phase.set(by, next)).await.map(drop)
}

/// The installation is over.
pub(crate) async fn finish_installation(context: &Context) -> Result<(), StepError> {
    context.patch(|cluster, by| cluster.properties.install.set_null(by)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use rp_base::SystemRandom;

    use super::*;

    #[test]
    fn prefixes_follow_the_rule() {
        for (name, prefix) in [
            ("Cluster", "cluster"),
            ("my_cluster..1", "my-cluster-1"),
            ("a-very-long-name-of-a-cluster", "a-very-long-name-of-a"),
            ("twenty-characters-xy-z", "twenty-characters-xy"),
            ("ünï", "-n"),
        ] {
            assert_eq!(infra_prefix(name), prefix, "{name}");
        }
    }

    #[test]
    fn prefixes_are_names_whatever_the_cluster_is_called() {
        proptest::proptest!(|(name in "[-._()a-zA-Z0-9éß]{1,90}")| {
            let prefix = infra_prefix(&name);
            proptest::prop_assert!(prefix.len() <= 21 && !prefix.ends_with('-') && !prefix.contains("--"));
            proptest::prop_assert!(prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        });
    }

    #[test]
    fn chosen_characters_are_of_the_alphabet() {
        let text = chosen(&SystemRandom, SUFFIX, 500);
        assert_eq!(text.len(), 500);
        assert!(text.bytes().all(|byte| SUFFIX.contains(&byte)));
    }

    #[test]
    fn the_key_is_pkcs1() {
        let key = rsa_key().unwrap();
        let (0x30, inside, rest) = der(key.expose()).unwrap() else { panic!("no sequence") };
        let (0x02, version, after) = der(inside).unwrap() else { panic!("no version") };
        let (0x02, modulus, _) = der(after).unwrap() else { panic!("no modulus") };
        assert_eq!((version, rest.len(), modulus.len()), (&[0u8][..], 0, 257));
    }
}

//! The operator that the service deploys into clusters.

use rp_settings::{SecretFile, secret, section, text, texts};

section! {
    /// The operator that the service deploys into clusters (`contract/operator.md` §5).
    "rp" pub struct RpOperator {
        /// Its image; empty: `aro-operator` of `rp.registry_host`, with the version of this software as its tag. A cluster
        /// whose `operatorVersion` is set has that version of the same image.
        operator_image: String = text("").also("ARO_IMAGE"),
        /// JSON as in `.dockerconfigjson`: registries from which the operator may pull beside those of the cluster's own
        /// tokens.
        operator_pull_secret_file: Option<SecretFile> = secret(),
        /// Domains that clusters without a way of their own to the outside reach through the gateway.
        gateway_domains: Vec<String> = texts("").also("GATEWAY_DOMAINS"),
        /// Parent of the domains of the service itself: `telemetry.REGION.DOMAIN` receives telemetry through the gateway.
        parent_domain: String = text("aro.azure.com").also("RP_PARENT_DOMAIN_NAME"),
    }
}

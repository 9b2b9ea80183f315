//! Questions about clusters, which pods in a management cluster answer.

use std::path::PathBuf;
use std::time::Duration;

use rp_settings::check::pair;
use rp_settings::{Reader, SecretFile, count, duration, optional_file, secret, section, text, url};
use url::Url;

/// A credential of a pod is good for an hour, and a pod has a minute to start.
const LONGEST: Duration = Duration::from_mins(55);
const SHORTEST: Duration = Duration::from_secs(10);

section! {
    /// Questions about clusters, which pods in a management cluster answer (`contract/frontend.md` §11.10).
    "rp" pub struct RpInvestigate {
        /// The kubeconfig of the management cluster; empty: no questions are answered.
        investigate_kubeconfig_file: Option<SecretFile> = secret(),
        /// The namespace of the pods there.
        investigate_namespace: String = text("holmes-system"),
        /// The service account of the pods there.
        investigate_service_account: String = text("holmes-investigator"),
        /// The image of the pods, which takes the arguments of HolmesGPT.
        investigate_image: String = text("").also("HOLMES_IMAGE"),
        /// The longest time that a pod runs; from 10s to 55m.
        investigate_timeout: Duration = duration("10m").also_as("HOLMES_DEFAULT_TIMEOUT", seconds),
        /// Pods of this process at a time.
        investigate_at_once: usize = count("20", 1..=64).also("HOLMES_MAX_CONCURRENT"),
        /// The model that a pod asks, as its variable `MODEL`.
        investigate_model: String = text("azure/gpt-5.2").also("HOLMES_MODEL"),
        /// Where that model answers, as its variable `AZURE_API_BASE`; empty: the configuration file says it.
        investigate_model_url: Option<Url> = url().also("HOLMES_AZURE_API_BASE"),
        /// The version of the model's API, as its variable `AZURE_API_VERSION`.
        investigate_model_api_version: String = text("2025-04-01-preview").also("HOLMES_AZURE_API_VERSION"),
        /// The configuration file of a pod, which says what tools it has; no secret may be in it.
        investigate_config_file: Option<PathBuf> = optional_file(),
    }
}

/// The contract's value is a number of seconds.
fn seconds(value: &str) -> String {
    format!("{value}s")
}

/// Names of objects of Kubernetes that are also labels of DNS.
fn is_label(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(good) && !text.starts_with('-') && !text.ends_with('-')
}

pub(super) fn read(r: &mut Reader) -> RpInvestigate {
    let told = RpInvestigate::read(r);
    let image = ("rp.investigate_image", !told.investigate_image.is_empty());
    // An image that is set by the contract's name alone starts nothing.
    if told.investigate_kubeconfig_file.is_some() {
        pair(r, ("rp.investigate_kubeconfig_file", true), image);
    }
    for (key, name) in [
        ("rp.investigate_namespace", &told.investigate_namespace),
        ("rp.investigate_service_account", &told.investigate_service_account),
    ] {
        if !is_label(name) {
            r.mistake(key, "is a name of lower-case letters, digits and hyphens");
        }
    }
    if !(SHORTEST..=LONGEST).contains(&told.investigate_timeout) {
        r.mistake(
            "rp.investigate_timeout",
            "is from 10s to 55m: the credential of a pod is good for an hour",
        );
    }
    told
}

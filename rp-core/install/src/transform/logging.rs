//! What sends the bootstrap machine's journal to the service's logs (`contract/installer.md` §7 step 4).

use std::fmt::Write as _;

use rp_base::Secret;
use rp_node_config::NodeFiles;
use rp_node_config::ignition::{File, Unit};

const MDSD: &str = include_str!("logging/mdsd.service");
const FLUENTBIT: &str = include_str!("logging/fluentbit.service");
const JOURNAL: &str = include_str!("logging/journal.conf");

/// Where logs go, and by what right. Without it nothing is sent.
#[derive(Debug, Clone)]
pub struct BootstrapLogging {
    /// Images of the two programs.
    pub mdsd_image: String,
    pub fluentbit_image: String,
    /// `DiagnosticsProd`.
    pub environment: String,
    pub account: String,
    pub namespace: String,
    pub config_version: String,
    pub region: String,
    pub tenant: String,
    /// Certificate and key, PEM, in one text.
    pub certificate: Secret<String>,
    /// Of the cluster.
    pub resource_id: String,
    pub subscription_id: String,
    pub resource_group: String,
    pub resource_name: String,
}

impl BootstrapLogging {
    pub(super) fn node_files(&self) -> NodeFiles {
        let secret = File::text("/etc/mdsd.d/secret/mdsdcert.pem", 0o600, self.certificate.expose());
        NodeFiles {
            files: vec![
                File::text("/etc/mdsd.d/mdsd.env", 0o644, &self.environment_file()),
                secret,
                File::text("/etc/sysconfig/mdsd", 0o644, &image("MDSDIMAGE", &self.mdsd_image)),
                File::text(
                    "/etc/sysconfig/fluentbit",
                    0o644,
                    &image("FLUENTBITIMAGE", &self.fluentbit_image),
                ),
                File::text("/etc/fluentbit/journal.conf", 0o644, JOURNAL),
            ],
            units: vec![Unit::enabled("mdsd.service", MDSD), Unit::enabled("fluentbit.service", FLUENTBIT)],
        }
    }

    fn environment_file(&self) -> String {
        let pairs = [
            ("MONITORING_GCS_ENVIRONMENT", self.environment.as_str()),
            ("MONITORING_GCS_ACCOUNT", &self.account),
            ("MONITORING_GCS_REGION", &self.region),
            ("MONITORING_GCS_CERT_CERTFILE", "/etc/mdsd.d/secret/mdsdcert.pem"),
            ("MONITORING_GCS_CERT_KEYFILE", "/etc/mdsd.d/secret/mdsdcert.pem"),
            ("MONITORING_GCS_NAMESPACE", &self.namespace),
            ("MONITORING_CONFIG_VERSION", &self.config_version),
            ("MONITORING_USE_GENEVA_CONFIG_SERVICE", "true"),
            ("MONITORING_TENANT", &self.tenant),
            ("MONITORING_ROLE", "cluster"),
            ("MONITORING_ROLE_INSTANCE", "bootstrap"),
            ("RESOURCE_ID", &self.resource_id),
            ("SUBSCRIPTION_ID", &self.subscription_id),
            ("RESOURCE_GROUP", &self.resource_group),
            ("RESOURCE_NAME", &self.resource_name),
        ];
        let mut text = String::new();
        for (name, value) in pairs {
            let _ = writeln!(text, "{name}={}", one_line(value));
        }
        text
    }
}

fn image(name: &str, image: &str) -> String {
    format!("{name}={}\n", one_line(image))
}

/// A value cannot begin a line of its own.
fn one_line(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).collect()
}

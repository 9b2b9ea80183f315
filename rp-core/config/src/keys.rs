//! The one table of every key: its shape, default, contract name and help. The reference page is made of it.

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `http(s)://host[:port]`; `https` unless the host is this machine.
    Url,
    /// An origin: [`Kind::Url`] without a path.
    Origin,
    /// `address:port` to listen on.
    Listen,
    /// `host:port` to dial.
    Dial,
    /// A path; relative ones in a file count from the file's folder.
    File,
    /// As [`Kind::File`]; the value is never shown, for it may be the secret itself, put there by mistake.
    Secret,
    /// `postgres://USER@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?…]` without a password; never shown, for one may be in it.
    Database,
    Duration,
    Count {
        least: u64,
        most: u64,
    },
    Switch,
    Texts,
    Networks,
}

impl Kind {
    /// What would be right.
    pub(crate) fn expects(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Url => "a URL such as \"https://host/path\" (http only for this machine)".to_owned(),
            Self::Origin => {
                "a URL without a path such as \"https://host:8444\" (http only for this machine)".to_owned()
            }
            Self::Listen => "an address to listen on such as \"0.0.0.0:8444\"".to_owned(),
            Self::Dial => "a host and port such as \"host:443\"".to_owned(),
            Self::File | Self::Secret => "the path of a file".to_owned(),
            Self::Database => {
                "a URL such as \"postgres://user@host:5432/database\", without a password".to_owned()
            }
            Self::Duration => "a duration such as \"8h\", \"1h30m\" or \"250ms\"".to_owned(),
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Switch => "true or false".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Networks => "a list of networks such as \"10.0.0.0/8\"".to_owned(),
        }
    }

    pub(crate) const fn is_list(self) -> bool {
        matches!(self, Self::Texts | Self::Networks)
    }
}

/// A setting's name in the contract and the conversion of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contract {
    pub(crate) name: &'static str,
    pub(crate) value: fn(&str) -> String,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// `section.key`.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    /// As written in the environment; empty: none.
    pub(crate) default: &'static str,
    pub(crate) contract: Option<Contract>,
    pub(crate) help: &'static str,
}

impl Key {
    const fn contract(mut self, name: &'static str, value: fn(&str) -> String) -> Self {
        self.contract = Some(Contract { name, value });
        self
    }

    /// `ARO_SECTION__KEY`.
    pub(crate) fn environment(&self) -> String {
        format!("ARO_{}", self.path.replace('.', "__").to_ascii_uppercase())
    }
}

const fn key(path: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Key {
    Key { path, kind, default, contract: None, help }
}

fn same(value: &str) -> String {
    value.to_owned()
}

fn https(host: &str) -> String {
    format!("https://{host}")
}

fn port_443(host: &str) -> String {
    format!("{host}:443")
}

fn on(_: &str) -> String {
    "true".to_owned()
}

fn connect(_: &str) -> String {
    "connect".to_owned()
}

const fn count(least: u64, most: u64) -> Kind {
    Kind::Count { least, most }
}

/// The sections, in the order of the reference, with what they are about.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("listen", "Where the process listens."),
    ("portal", "How browsers reach the portal."),
    ("proxy", "How kubectl and its kind reach the proxy."),
    ("tls", "Certificates of our listeners; read again when they change."),
    ("store", "Where documents are kept."),
    ("keys", "Keys that seal what is secret in the store."),
    ("oidc", "The OpenID Connect provider. Exactly one of a client secret or a key with its certificate."),
    ("roles", "Which of the provider's groups make whom."),
    ("session", "How long people stay signed in, and how often the provider is asked about them."),
    ("access", "Rules for grants."),
    ("elevation", "Rules for more rights for a while."),
    ("robots", "Scripts with a name, a scope and an end."),
    ("imports", "Imported clusters."),
    ("prometheus", "Questions to the Prometheus of clusters."),
    ("monitor", "Looking at every cluster: the defaults are the contract's values."),
    ("backend", "Workers of the resource provider: the defaults are the contract\'s values."),
    ("rp", "The resource provider's API, and who may call it."),
    ("recording", "Recordings of shells, exec and terminals."),
    ("ssh", "Shells on the machines of clusters, for OpenSSH and its kind."),
    ("terminal", "Terminals in the browser."),
    ("audit", "The audit log."),
    ("limits", "Bounds on what clients may use."),
    ("azure", "Where in Azure this runs."),
    ("private_link", "How private addresses of clusters are reached."),
    ("metrics", "The statsd sink; Prometheus reads the admin listener."),
    ("log", "What is logged and how."),
];

/// Every key.
pub(crate) const KEYS: &[Key] = &[
    key(
        "listen.portal",
        Kind::Listen,
        "127.0.0.1:8444",
        "Web listener: portal and API proxy, told apart by host name.",
    ),
    key(
        "listen.admin",
        Kind::Listen,
        "127.0.0.1:6060",
        "Metrics, health, log filter, profiles. No sign-in: keep it on loopback.",
    ),
    key(
        "listen.admin_allow_remote",
        Kind::Switch,
        "false",
        "Lets `listen.admin` be an address that others can reach.",
    ),
    key(
        "listen.proxy_protocol_from",
        Kind::Networks,
        "",
        "Balancers that begin every connection with a PROXY protocol header (version 1 or 2); from others none is read.",
    ),
    key(
        "listen.forwarded_from",
        Kind::Networks,
        "",
        "Proxies whose `X-Forwarded-For` says who sent a request; that of others is ignored.",
    ),
    key(
        "listen.control",
        Kind::File,
        "",
        "Unix socket for the verbs `aro store` and `aro keys`, for our own user only; with SQLite it is beside \
         `store.path`, `.sock` added, unless set here, with PostgreSQL there is none unless set.",
    ),
    key(
        "portal.url",
        Kind::Origin,
        "",
        "The portal's address as browsers see it; also the redirect address of sign-in.",
    )
    .contract("PORTAL_HOSTNAME", https),
    key(
        "portal.runbooks",
        Kind::Texts,
        "",
        "Run-books of cluster operators: NAME=URL each; the name * is for all others, {name} in a URL stands for the \
         operator's name.",
    ),
    key(
        "portal.regions",
        Kind::Texts,
        "",
        "Portals of other regions: NAME=URL each. They go before those that `azure.locations` names.",
    ),
    key(
        "proxy.url",
        Kind::Origin,
        "",
        "The API proxy's address as kubectl sees it; its host name must not be the portal's.",
    ),
    key("proxy.hosts", Kind::Texts, "", "Further host names under which the API proxy answers."),
    key("tls.cert_file", Kind::File, "", "PEM: leaf certificate, then the chain."),
    key("tls.key_file", Kind::Secret, "", "PEM: the leaf's private key."),
    key(
        "tls.ca_file",
        Kind::File,
        "",
        "PEM: the CA that kubeconfigs carry; left out when clients know it already.",
    ),
    key(
        "store.kind",
        Kind::Word(&["sqlite", "postgres"]),
        "sqlite",
        "SQLite for one process, PostgreSQL for any number.",
    ),
    key("store.path", Kind::File, "aro.db", "The SQLite file."),
    key(
        "store.url",
        Kind::Database,
        "",
        "The PostgreSQL database. Several hosts with commas: the one that takes writes is used.",
    ),
    key("store.url_file", Kind::Secret, "", "File with that URL, which may then hold the password."),
    key("store.password_file", Kind::Secret, "", "File with the password."),
    key(
        "store.ca_file",
        Kind::File,
        "",
        "PEM: the only CA to trust for PostgreSQL, in place of the usual ones.",
    ),
    key("store.client_cert_file", Kind::File, "", "PEM: our certificate towards PostgreSQL."),
    key("store.client_key_file", Kind::Secret, "", "PEM: the key of that certificate."),
    key("store.connections", count(6, 500), "12", "Connections of one process to PostgreSQL, at most."),
    key(
        "store.outage",
        Kind::Word(&["refuse", "spool"]),
        "refuse",
        "When the store is away: refuse everything after 5 s and cut streams after 15 s, or let cached grants live on and write the audit log to `audit.spool_file`. An alarm rings either way.",
    ),
    key("keys.keyring_file", Kind::Secret, "keyring.json", "The sealing keys; made on first start."),
    key("oidc.issuer", Kind::Url, "", "The provider's issuer."),
    key("oidc.client_id", Kind::Text, "", "Our client id at the provider.")
        .contract("AZURE_PORTAL_CLIENT_ID", same),
    key("oidc.client_secret_file", Kind::Secret, "", "File with the client secret."),
    key("oidc.client_key_file", Kind::Secret, "", "PEM: RSA key of the client assertion (private_key_jwt)."),
    key(
        "oidc.client_cert_file",
        Kind::File,
        "",
        "PEM: the certificate of that key; its thumbprint is sent along.",
    ),
    key("oidc.scopes", Kind::Texts, "openid,profile", "Scopes to ask for."),
    key(
        "oidc.identity_claim",
        Kind::Text,
        "",
        "The claim of the ID token by which clusters and the audit log know a person, such as `oid` or `sub`, which nobody can change; unset: `preferred_username`, else an `email` that is verified, else `sub`.",
    ),
    key("oidc.groups_claim", Kind::Text, "groups", "The claim of the ID token that lists groups."),
    key(
        "oidc.groups_from",
        Kind::Text,
        "token",
        "Where groups are asked for that do not fit into a token: `token` (nowhere: a page explains), `userinfo`, or a URL that lists them.",
    ),
    key(
        "oidc.api_audience",
        Kind::Text,
        "",
        "The audience of access tokens that applications present to the JSON API; empty: none is taken.",
    ),
    key("oidc.ca_file", Kind::File, "", "PEM: a CA to trust for the provider, beside the system's."),
    key("roles.viewer", Kind::Texts, "", "Groups whose people see lists and pages."),
    key("roles.sre", Kind::Texts, "", "Groups whose people also get read grants.")
        .contract("AZURE_PORTAL_ACCESS_GROUP_IDS", same),
    key("roles.elevated", Kind::Texts, "", "Groups whose people may get write and admin rights.")
        .contract("AZURE_PORTAL_ELEVATED_GROUP_IDS", same),
    key("roles.approver", Kind::Texts, "", "Groups whose people decide on elevations."),
    key("roles.auditor", Kind::Texts, "", "Groups whose people read the audit log and all grants."),
    key("roles.admin", Kind::Texts, "", "Groups whose people import clusters and revoke anything."),
    key("session.idle", Kind::Duration, "1h", "A session that is unused for so long is over."),
    key("session.max_age", Kind::Duration, "12h", "A session is over so long after its sign-in in any case."),
    key(
        "session.revalidate",
        Kind::Duration,
        "5m",
        "The provider is asked about each person at least so often; needs the scope offline_access.",
    ),
    key(
        "session.alarm_after",
        Kind::Duration,
        "30m",
        "People whom the provider has not confirmed for so long are an alarm.",
    ),
    key(
        "session.backchannel_ends_grants",
        Kind::Switch,
        "false",
        "The provider's back-channel logout ends grants too, not sessions alone.",
    ),
    key(
        "access.cli_life",
        Kind::Duration,
        "12h",
        "Life of a sign-in of the command line; at most `access.max_life`.",
    ),
    key("access.default_life", Kind::Duration, "6h", "Life of a grant when nobody asks for another."),
    key("access.max_life", Kind::Duration, "12h", "Longest life of a grant."),
    key("access.min_life", Kind::Duration, "1m", "Shortest life of a grant, an elevation or a robot."),
    key("access.min_reason", count(0, 500), "10", "Fewest characters of a reason."),
    key(
        "access.max_power_life",
        Kind::Duration,
        "6h",
        "Longest life of a grant above read; its rights end with its elevation anyway.",
    ),
    key("access.max_total_life", Kind::Duration, "24h", "Longest life of a grant, extensions included."),
    key(
        "access.renew_life",
        Kind::Duration,
        "15m",
        "Life of the tokens that the exec plug-in of a kubeconfig fetches, at most 15m.",
    ),
    key(
        "access.password_life",
        Kind::Duration,
        "2m",
        "A one-time password for SSH opens a shell within this time of its making, at most 10m.",
    ),
    key(
        "access.fresh_sign_in",
        Kind::Duration,
        "15m",
        "Dangerous actions need a sign-in younger than this: break-glass, approvals, robots, revoking everything.",
    ),
    key("access.max_grants", count(1, 10_000), "100", "Living grants that a person may hold at once."),
    key(
        "access.max_streams",
        count(1, 1_000_000),
        "1000",
        "Watches, followed logs and sessions that a person or a robot may have open at once on one replica.",
    ),
    key(
        "access.max_requests",
        count(1, 1_000_000),
        "500",
        "Other requests to clusters and their Prometheus that a person or a robot may have under way at once on one replica.",
    ),
    key(
        "elevation.self_service",
        Kind::Texts,
        "",
        "Groups whose people elevate without an approver; they also need a group of `roles.elevated`.",
    ),
    key(
        "elevation.self_service_rights",
        Kind::Word(&["write", "admin"]),
        "write",
        "The most rights without an approver.",
    ),
    key("elevation.max_life", Kind::Duration, "4h", "Longest life of an elevation."),
    key(
        "elevation.break_glass",
        Kind::Switch,
        "true",
        "Whether people of `roles.elevated` may elevate without an approver in an emergency: it rings an alarm and is reviewed.",
    ),
    key("robots.max_life", Kind::Duration, "2160h", "Longest life of a robot, 90 days unless set."),
    key(
        "robots.clients",
        Kind::Texts,
        "",
        "Client ids of the provider that are robots, each as `client-id=robot-name`.",
    ),
    key(
        "access.own_networks",
        Kind::Networks,
        "",
        "Our own networks: never dialled for an address that a person entered.",
    ),
    key(
        "imports.allow",
        Kind::Networks,
        "",
        "Networks in which addresses that people enter may lie; empty: none.",
    ),
    key(
        "prometheus.ways",
        Kind::Texts,
        "",
        "Where imported clusters have their Prometheus, when it is not found by itself: `NAME=pod:NAMESPACE/POD:PORT`, `NAME=service:NAMESPACE/SERVICE:PORT` or `NAME=URL` inside `imports.allow`.",
    ),
    key("prometheus.page_time", Kind::Duration, "25s", "Longest query of a page, at most 25s."),
    key("prometheus.tool_time", Kind::Duration, "2m", "Longest query of a tool."),
    key("prometheus.fleet_time", Kind::Duration, "15s", "Longest query of one cluster in a fleet query."),
    key("prometheus.series", count(1, 10_000_000), "50000", "Most series of one answer."),
    key("prometheus.drawn", count(1, 100_000), "1000", "Most series of an answer that is drawn."),
    key(
        "prometheus.answer_bytes",
        count(65_536, 1_099_511_627_776),
        "268435456",
        "Largest answer; it streams, so it is not held in memory.",
    ),
    key("prometheus.per_cluster", count(1, 1000), "8", "Questions to one cluster at once."),
    key("prometheus.parallel", count(1, 10_000), "64", "Clusters of a fleet query at once."),
    key(
        "prometheus.names_bytes",
        count(1_048_576, 17_179_869_184),
        "268435456",
        "Memory for names that completion looks through.",
    ),
    key(
        "monitor.enabled",
        Kind::Switch,
        "true",
        "Whether `aro serve` looks at clusters; `aro monitor` always does.",
    ),
    key("monitor.imported", Kind::Switch, "true", "Whether imported clusters are looked at too."),
    key("monitor.hive", Kind::Switch, "false", "Whether the Hive monitor runs.")
        .contract("ARO_ADOPT_BY_HIVE", on),
    key(
        "monitor.hive_installs",
        Kind::Switch,
        "false",
        "Hive installs clusters: the Hive monitor runs then too.",
    )
    .contract("ARO_INSTALL_VIA_HIVE", on),
    key("monitor.hive_cluster", Kind::Text, "", "Name of the imported cluster that Hive runs in."),
    key(
        "monitor.interval",
        Kind::Duration,
        "60s",
        "From one look at a cluster to the next; a look that is missed is dropped.",
    ),
    key(
        "monitor.start_delay",
        Kind::Duration,
        "60s",
        "The longest wait before the first look at a cluster that became ours; spreads load.",
    ),
    key("monitor.timeout", Kind::Duration, "50s", "Longest look at one cluster."),
    key("monitor.grace", Kind::Duration, "10s", "How long a look may take to end after its time-out."),
    key("monitor.parallel", count(1, 100), "5", "Collectors of one cluster at once."),
    key("monitor.page", count(1, 5000), "500", "Objects of one page of a Kubernetes list."),
    key(
        "monitor.looks",
        count(1, 100_000),
        "1000",
        "Looks of this process at once; what is due beyond waits. `aro serve` runs at most 16 and one for every 40 clusters.",
    ),
    key(
        "monitor.nsg_interval",
        Kind::Duration,
        "10m",
        "From one look at a cluster's network security groups to the next.",
    ),
    key("monitor.drain", Kind::Duration, "60s", "On stop: how long running looks may take to finish."),
    key(
        "monitor.feed_poll",
        Kind::Duration,
        "10s",
        "How often the change feeds are read when nothing wakes them.",
    ),
    key("monitor.feed_page", count(1, 1000), "50", "Documents of one page of a change feed."),
    key("monitor.verify", Kind::Duration, "5m", "How often the caches are compared with the store."),
    key(
        "monitor.bucket_interval",
        Kind::Duration,
        "10s",
        "How often a worker shows that it lives and reads which buckets are its own; at most 45s and 75 % of `worker_ttl`.",
    ),
    key(
        "monitor.worker_ttl",
        Kind::Duration,
        "60s",
        "How long a worker counts as living after it showed so; at most 60s.",
    ),
    key(
        "monitor.lease",
        Kind::Duration,
        "60s",
        "How long a master stays master without renewing; at most 60s.",
    ),
    key(
        "monitor.ready_delay",
        Kind::Duration,
        "120s",
        "A younger process is not ready: a crash loop shows as a gap of the heartbeat.",
    ),
    key(
        "monitor.ready_within",
        Kind::Duration,
        "60s",
        "Buckets and feeds that were read longer ago are not ready.",
    ),
    key(
        "monitor.emit_interval",
        Kind::Duration,
        "60s",
        "Between two emissions of heartbeat and cache sizes.",
    ),
    key(
        "monitor.record_interval",
        Kind::Duration,
        "60s",
        "Between two writes of when the clusters of a bucket were looked at.",
    ),
    key(
        "backend.workers",
        count(1, 10_000),
        "100",
        "Documents that a process works on at once; a tenth is kept for deletions.",
    ),
    key("backend.per_subscription", count(1, 10_000), "50", "Of these, clusters of one subscription."),
    key("backend.lease", Kind::Duration, "60s", "How long a worker that is not heard of keeps a document."),
    key("backend.heartbeat", Kind::Duration, "10s", "Between two renewals of a lease."),
    key("backend.poll", Kind::Duration, "10s", "Between two looks at the store when it tells nothing."),
    key(
        "backend.dequeues",
        count(1, 1000),
        "5",
        "A document that was taken more often without coming further is failed.",
    ),
    key("backend.retry", Kind::Duration, "10s", "The first wait after an error of ours; it doubles."),
    key("backend.retry_most", Kind::Duration, "10m", "The longest such wait."),
    key(
        "backend.drain",
        Kind::Duration,
        "60s",
        "On stop: how long running operations may take to come to the end of their step.",
    ),
    key(
        "rp.enabled",
        Kind::Switch,
        "false",
        "Whether `aro serve` runs the resource provider's API; `aro rp` always does.",
    ),
    key("rp.listen", Kind::Listen, "127.0.0.1:8443", "Where ARM and the admin tool call."),
    key(
        "rp.url",
        Kind::Origin,
        "https://localhost:8443",
        "The API's address in answers to requests without a `Referer`; ARM always sends one.",
    ),
    key("rp.cert_file", Kind::File, "", "PEM: the API's certificate, then the chain; else that of `[tls]`."),
    key("rp.key_file", Kind::Secret, "", "PEM: its private key."),
    key(
        "rp.domain",
        Kind::Text,
        "",
        "The domain of clusters without one of their own, such as `eastus.aroapp.io`.",
    )
    .contract("DOMAIN_NAME", same),
    key("rp.gateway", Kind::Switch, "true", "Whether new clusters reach the outside through the gateway."),
    key(
        "rp.d2s_workers",
        Kind::Switch,
        "false",
        "Workers of new clusters must be of a size with two cores, as in development.",
    ),
    key(
        "rp.subscription",
        Kind::Text,
        "",
        "The resource provider's own subscription; empty: no workers run in this process.",
    ),
    key("rp.tenant", Kind::Text, "", "The directory of that subscription."),
    key("rp.group", Kind::Text, "", "The resource group of its network and DNS zone there."),
    key("rp.gateway_group", Kind::Text, "", "The resource group of the gateway.")
        .contract("GATEWAY_RESOURCEGROUP", same),
    key("rp.endpoint_vnet", Kind::Text, "rp-pe-vnet-001", "The virtual network of private endpoints."),
    key("rp.endpoint_subnet", Kind::Text, "rp-pe-subnet", "The subnet of private endpoints in it."),
    key("rp.registry_id", Kind::Text, "", "The container registry; empty: clusters get no tokens of it.")
        .contract("ACR_RESOURCE_ID", same),
    key("rp.registry_host", Kind::Text, "arosvc.azurecr.io", "The registry's host."),
    key(
        "rp.service_principal",
        Kind::Text,
        "",
        "The object id of the service principal of the application `azure.client_id`.",
    ),
    key(
        "rp.managed_identity",
        Kind::Text,
        "",
        "The machine's identity for the gateway's link services and the issuers' storage; empty: the application.",
    ),
    key(
        "rp.certificate_vault",
        Kind::Url,
        "",
        "The key vault that orders certificates of clusters' API and ingress; empty: none are ordered.",
    ),
    key(
        "rp.certificate_issuer",
        Kind::Text,
        "OneCertV2-PublicCA",
        "The issuer that the vault orders them of.",
    ),
    key(
        "rp.oidc_account",
        Kind::Text,
        "",
        "The storage account of issuers of workload identities; empty: such clusters are refused.",
    )
    .contract("OIDC_STORAGE_ACCOUNT_NAME", same),
    key(
        "rp.oidc_storage",
        Kind::Url,
        "",
        "Where that account's blobs are written; empty: the cloud's address.",
    ),
    key(
        "rp.oidc_endpoint",
        Kind::Text,
        "",
        "Host, and perhaps a path, at which everybody reads what lies in that account.",
    )
    .contract("OIDC_AFD_ENDPOINT", same),
    key(
        "rp.arm_metadata",
        Kind::Origin,
        "",
        "Where ARM publishes the certificates that it calls with; empty: the cloud's address.",
    ),
    key("rp.arm_metadata_ca_file", Kind::File, "", "PEM: a CA to trust for that address beside the host's."),
    key("rp.arm_refresh", Kind::Duration, "1h", "How often they are read again."),
    key(
        "rp.arm_ca_file",
        Kind::File,
        "",
        "PEM: in the place of the published certificates, authorities whose certificates may call as ARM.",
    ),
    key("rp.arm_common_name", Kind::Text, "", "The common name that those certificates must have.")
        .contract("ARM_API_CLIENT_CERT_COMMON_NAME", same),
    key(
        "rp.admin_ca_file",
        Kind::File,
        "",
        "PEM: authorities whose certificates may call the admin API; empty: nobody may.",
    ),
    key("rp.admin_common_name", Kind::Text, "", "The common name that those certificates must have.")
        .contract("ADMIN_API_CLIENT_CERT_COMMON_NAME", same),
    key(
        "rp.admin_readers",
        Kind::Texts,
        "",
        "Persons for whom the admin tool may read, as it names them in `X-Ms-Client-Principal-Name`; `*`: all.",
    ),
    key(
        "rp.admin_operators",
        Kind::Texts,
        "",
        "Persons for whom it may also change clusters, read consoles and take kubeconfigs that read.",
    ),
    key(
        "rp.admin_elevated",
        Kind::Texts,
        "",
        "Persons for whom it may also take all rights and shells; no list set: everybody may do everything.",
    ),
    key(
        "rp.admin_certificates",
        Kind::Texts,
        "",
        "Further common names of those authorities, `NAME=ROLE`: `reader`, `operator` or `elevated` is the most that they may.",
    ),
    key(
        "rp.tokens",
        Kind::Word(&["off", "accept", "require"]),
        "off",
        "Bearer tokens of ARM: not looked at, taken in the place of a certificate, or needed.",
    ),
    key("rp.mise", Kind::Origin, "", "The process that checks tokens; empty: this one does.")
        .contract("MISE_ADDRESS", same),
    key("rp.token_issuer", Kind::Url, "", "Who issues them: an OpenID provider with a configuration."),
    key("rp.token_audience", Kind::Text, "", "For whom they are."),
    key("rp.token_applications", Kind::Texts, "", "The applications that may call (`appid` or `azp`)."),
    key(
        "rp.token_roles",
        Kind::Texts,
        "",
        "One of these roles must be in a token; empty: none is asked for.",
    ),
    key("rp.token_ca_file", Kind::File, "", "PEM: a CA to trust for the issuer beside the host's."),
    key(
        "rp.referers",
        Kind::Texts,
        "",
        "Hosts that a `Referer` may name (`.x`: below x, `*`: any), for addresses in answers; empty: the cloud's ARM and ours.",
    ),
    key("rp.ready_delay", Kind::Duration, "2m", "From the start until the API says that it is ready."),
    key(
        "rp.read_time",
        Kind::Duration,
        "10s",
        "How long the head of a request may take once it has begun, and then its body.",
    ),
    key(
        "rp.poll_after",
        Kind::Duration,
        "10s",
        "What `Retry-After` says of an operation that runs; at least 1s.",
    ),
    key(
        "terminal.grace",
        Kind::Duration,
        "1m",
        "A session waits so long for a browser whose connection broke.",
    ),
    key("terminal.most", count(0, 100_000), "2000", "Sessions of one process at once; 0: none."),
    key(
        "terminal.idle",
        Kind::Duration,
        "30m",
        "A terminal, in the browser or by SSH, ends when nothing was typed for so long; the person is told before.",
    ),
    key(
        "terminal.watch",
        Kind::Switch,
        "false",
        "Whoever is elevated to write on a cluster may look on at the terminals in the browser that others have open there; each sees the other.",
    ),
    key(
        "recording.policy",
        Kind::Word(&["off", "wanted", "required"]),
        "off",
        "Whether shells, exec, attach and terminals are recorded: `wanted` goes on without when it cannot, `required` refuses or cuts.",
    ),
    key(
        "recording.input",
        Kind::Switch,
        "false",
        "Keystrokes are recorded too, also those that are not shown, such as passwords.",
    ),
    key("recording.keep", Kind::Duration, "400d", "Recordings are removed so long after their begin."),
    key(
        "recording.folder",
        Kind::File,
        "",
        "A folder of this machine for recordings, for a single replica; made with mode 0700.",
    ),
    key(
        "recording.blob_url",
        Kind::Url,
        "",
        "The blob endpoint of a storage account for recordings, for any number of replicas.",
    ),
    key("recording.blob_container", Kind::Text, "recordings", "The container; made when there is none."),
    key(
        "recording.blob_tenant",
        Kind::Text,
        "",
        "The tenant in which the identity of `[azure]` writes blobs.",
    ),
    key(
        "recording.blob_sas_file",
        Kind::Secret,
        "",
        "A file with a shared access signature, in the place of the identity of `[azure]`.",
    ),
    key(
        "ssh.listen",
        Kind::Listen,
        "",
        "The SSH listener, such as `0.0.0.0:22`; unset: none in this process.",
    ),
    key(
        "ssh.host",
        Kind::Text,
        "",
        "The name by which SSH clients know it; unset: the host of `portal.url`. Without `ssh.listen` it is that of a listener in another process.",
    ),
    key(
        "ssh.port",
        count(0, 65535),
        "0",
        "The port by which SSH clients know it; 0: that of the listener, 22 where it is in another process.",
    ),
    key(
        "ssh.fips",
        Kind::Switch,
        "false",
        "Only algorithms of FIPS 140-3 on both sides: no Curve25519, ML-KEM, Ed25519 or ChaCha20.",
    ),
    key(
        "ssh.modern_machines",
        Kind::Switch,
        "false",
        "Machines of clusters are offered newer algorithms before those of the contract; not with `ssh.fips`.",
    ),
    key(
        "ssh.key_files",
        Kind::Texts,
        "",
        "PEM: host keys of our own, each in the place of the generated one of its algorithm.",
    ),
    key(
        "ssh.max_connections",
        count(1, 1_000_000),
        "4096",
        "SSH connections at once. Beyond it the oldest one ends that has not signed in; else the new one is turned away with words.",
    ),
    key("ssh.max_per_address", count(1, 1_000_000), "256", "SSH connections at once of one address."),
    key(
        "ssh.max_strangers",
        count(1, 1_000_000),
        "256",
        "SSH connections at once that have not signed in yet; beyond it the oldest of them ends.",
    ),
    key(
        "ssh.max_strangers_per_address",
        count(1, 1_000_000),
        "32",
        "The same, of one address (IPv6: of its /64 network).",
    ),
    key(
        "ssh.connections_per_minute",
        count(0, 1_000_000),
        "600",
        "New SSH connections of one address; 0: no limit. A minute's worth may come at once.",
    ),
    key(
        "ssh.max_channels",
        count(1, 1024),
        "32",
        "Shells, commands and forwarded connections at once of one connection.",
    ),
    key("ssh.login_time", Kind::Duration, "60s", "From the first byte of an SSH connection to its sign-in."),
    key("ssh.tries", count(1, 100), "6", "Passwords that one SSH connection may try."),
    key(
        "ssh.keepalive",
        Kind::Duration,
        "30s",
        "Silence after which a client or a machine is asked whether it is there; the third unanswered question ends it.",
    ),
    key("ssh.connect_time", Kind::Duration, "20s", "For reaching a machine and signing in to it."),
    key(
        "audit.path",
        Kind::File,
        "audit.db",
        "The SQLite file of the audit log. With PostgreSQL the log is kept there, unless this is set.",
    ),
    key(
        "audit.checkpoint_key_file",
        Kind::Secret,
        "audit-key.p8",
        "Ed25519 key that signs checkpoints; made on first start.",
    ),
    key(
        "audit.spool_file",
        Kind::File,
        "audit.spool",
        "Where the audit log goes while the store is away and store.outage is \"spool\".",
    ),
    key("audit.checkpoint_period", Kind::Duration, "60s", "Between checkpoints, at most 60s."),
    key(
        "audit.known_keys",
        Kind::Texts,
        "",
        "Public keys (Base 64, as `aro audit key` prints them) of former keys and of other replicas, whose checkpoints are believed.",
    ),
    key(
        "audit.sinks",
        Kind::Texts,
        "",
        "Copies of the log: `file:`, `syslog+tcp://`, `syslog+tls://`, `syslog+udp://`, `syslog+unix:`, `http(s)://`, each with `#option=value&…`; see docs/operations/audit.md.",
    ),
    key(
        "audit.retention",
        Kind::Duration,
        "",
        "Entries older than this are removed, once every sink has taken them; unset: never.",
    ),
    key(
        "limits.connections",
        count(1, 1_000_000),
        "16384",
        "Connections at once at each web listener. Beyond it the quietest one ends of those that have not signed in; else the new one is closed.",
    ),
    key(
        "limits.per_address",
        count(1, 1_000_000),
        "4096",
        "The same, of one address (IPv6: of its /64 network).",
    ),
    key(
        "limits.strangers",
        count(1, 1_000_000),
        "4096",
        "Connections at once at each web listener whose client has not signed in.",
    ),
    key("limits.strangers_per_address", count(1, 1_000_000), "512", "The same, of one address."),
    key(
        "limits.stranger_answers",
        count(1, 100_000),
        "16",
        "Answers that such a client may leave untaken on one connection; more requests get 503.",
    ),
    key(
        "limits.stranger_time",
        Kind::Duration,
        "60s",
        "How long such a connection may be without a request, and how long an answer may take to be taken in whole.",
    ),
    key(
        "limits.connections_per_minute",
        count(0, 1_000_000),
        "3000",
        "New connections of one address to each web listener; 0: no limit. A minute's worth may come at once.",
    ),
    key(
        "limits.idle",
        Kind::Duration,
        "10m",
        "A connection without a request is asked to leave after so long. On HTTP/1.1 `limits.head` holds too.",
    ),
    key(
        "limits.stalled",
        Kind::Duration,
        "1h",
        "A connection whose client takes nothing of what waits for it is cut after so long.",
    ),
    key(
        "limits.checks_from",
        Kind::Networks,
        "168.63.129.16/32",
        "Networks of a balancer's health checks: 64 of their connections have a place when all others are taken.",
    ),
    key("limits.streams", count(1, 100_000), "250", "HTTP/2: requests at once on a connection."),
    key("limits.handshake", Kind::Duration, "10s", "For a TLS handshake."),
    key("limits.head", Kind::Duration, "2m", "For the head of a request, and idle between two."),
    key("limits.head_bytes", count(4096, 1_048_576), "65536", "Largest head of a request."),
    key(
        "limits.body_bytes",
        count(1024, 1_073_741_824),
        "1048576",
        "Largest body of a request to the portal.",
    ),
    key(
        "limits.sign_in_per_minute",
        count(0, 1_000_000),
        "60",
        "Steps of sign-ins from one address; 0: no limit. A minute's worth may come at once.",
    ),
    key(
        "limits.issue_per_minute",
        count(0, 1_000_000),
        "60",
        "Grants, elevations and robots that one person asks for; 0: no limit.",
    ),
    key(
        "limits.renewals_per_minute",
        count(0, 1_000_000),
        "600",
        "Further tokens and certificates of grants that one person asks for; 0: no limit.",
    ),
    key(
        "limits.misses_per_minute",
        count(0, 1_000_000),
        "120",
        "Tokens and codes from one address that open nothing; 0: no limit.",
    ),
    key(
        "limits.streams_per_minute",
        count(0, 1_000_000),
        "600",
        "Streams opened with one grant; 0: no limit.",
    ),
    key(
        "limits.cluster_requests_per_second",
        count(0, 10_000),
        "50",
        "Requests of this process to one cluster in the long run: pages, metrics and monitor together; 0: no limit.",
    ),
    key(
        "limits.cluster_requests_burst",
        count(1, 100_000),
        "100",
        "Requests to one cluster at once after a rest.",
    ),
    key(
        "limits.watched_clusters",
        count(1, 10_000),
        "300",
        "Clusters that are watched because somebody looks at them.",
    ),
    key(
        "limits.kept_clusters",
        count(0, 10_000),
        "100",
        "Clusters whose last known state is kept after everybody left.",
    ),
    key("limits.live_pages", count(0, 100_000), "2000", "Pages that follow a cluster at once."),
    key(
        "limits.live_pages_per_person",
        count(0, 100_000),
        "20",
        "The same, of one person; beyond, pages ask now and then.",
    ),
    key(
        "limits.leave",
        Kind::Duration,
        "1ms",
        "On stop: how long to go on serving while not ready, so that a balancer sees it first.",
    ),
    key("limits.drain", Kind::Duration, "20s", "On stop: how long open requests may take to finish."),
    key("azure.region", Kind::Text, "", "The region's name.").contract("LOCATION", same),
    key(
        "azure.environment",
        Kind::Word(&["AzurePublicCloud", "AzureUSGovernmentCloud"]),
        "AzurePublicCloud",
        "The cloud.",
    )
    .contract("AZURE_ENVIRONMENT", same),
    key(
        "azure.locations",
        Kind::Texts,
        "",
        "Names of the regions that the portal lists; empty: the cloud's.",
    ),
    key(
        "azure.credential",
        Kind::Word(&["none", "certificate", "managed_identity", "workload_identity"]),
        "none",
        "Who asks Azure about subnets and machines; none: nobody does.",
    ),
    key("azure.client_id", Kind::Text, "", "The application, or which of the machine's identities.")
        .contract("AZURE_FP_CLIENT_ID", same),
    key("azure.client_cert_file", Kind::File, "", "PEM: the application's certificate; read for each token."),
    key("azure.client_key_file", Kind::Secret, "", "PEM: the key of that certificate."),
    key("azure.federated_token_file", Kind::File, "", "The service account's token of a workload identity.")
        .contract("AZURE_FEDERATED_TOKEN_FILE", same),
    key("azure.resource_manager", Kind::Origin, "", "Azure Resource Manager; empty: the cloud's."),
    key("azure.authority", Kind::Origin, "", "Where tokens are issued; empty: the cloud's."),
    key("azure.diagnosis", Kind::Url, "", "AppLens, which diagnoses clusters; empty: the cloud's."),
    key("azure.diagnosis_tenant", Kind::Text, "", "The directory whose tokens it takes."),
    key("azure.diagnosis_scope", Kind::Text, "", "The scope of those tokens; empty: the cloud's."),
    key("azure.ca_file", Kind::File, "", "PEM: a CA to trust for Azure beside the host's."),
    key(
        "private_link.way",
        Kind::Word(&["direct", "connect"]),
        "direct",
        "Dial addresses directly, or through a CONNECT proxy.",
    )
    .contract("PROXY_HOSTNAME", connect),
    key("private_link.address", Kind::Dial, "", "The CONNECT proxy.").contract("PROXY_HOSTNAME", port_443),
    key("private_link.server_name", Kind::Text, "proxy", "The name in the CONNECT proxy's certificate."),
    key(
        "private_link.ca_file",
        Kind::File,
        "",
        "PEM: the only CA, or the certificate itself, to trust for the CONNECT proxy.",
    ),
    key("private_link.client_cert_file", Kind::File, "", "PEM: our certificate towards the CONNECT proxy."),
    key("private_link.client_key_file", Kind::Secret, "", "PEM: the key of that certificate."),
    key("metrics.statsd_socket", Kind::Text, "", "`udp:host:port` or `unix:path`; empty: no statsd.")
        .contract("MDM_STATSD_SOCKET", same),
    key("metrics.statsd_account", Kind::Text, "", "Account on every line.").contract("MDM_ACCOUNT", same),
    key("metrics.statsd_namespace", Kind::Text, "", "Namespace on every line.")
        .contract("MDM_NAMESPACE", same),
    key("metrics.cluster_account", Kind::Text, "", "Account on every line about a cluster.")
        .contract("CLUSTER_MDM_ACCOUNT", same),
    key("metrics.cluster_namespace", Kind::Text, "", "Namespace on every line about a cluster.")
        .contract("CLUSTER_MDM_NAMESPACE", same),
    key(
        "metrics.detail",
        Kind::Word(&["all", "unhealthy", "fleet"]),
        "all",
        "What Prometheus is shown of each cluster: all, what is not as it should be, or sums over the fleet only.",
    ),
    key("metrics.environment", Kind::Text, "", "The dimension `Environment`.").contract("ENVIRONMENT", same),
    key("log.level", Kind::Text, "info", "A level, or a filter such as `info,rp_net=debug`.")
        .contract("ARO_LOG_LEVEL", same),
    key(
        "log.format",
        Kind::Word(&["json", "text"]),
        "json",
        "One JSON object or one line of text per event.",
    ),
];

/// The key of that path.
pub(crate) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The key nearest to a wrong one, when it is near enough to be meant.
pub(crate) fn nearest(wrong: &str) -> Option<&'static str> {
    // Bounded, for the wrong key may be anything.
    let wrong: String = wrong.chars().take(80).collect();
    let last = wrong.rsplit('.').next().unwrap_or_default();
    let rank = |path: &'static str| {
        let name = path.rsplit('.').next().unwrap_or_default();
        let whole = distance(&wrong, path);
        // The right key in the wrong section, or the start of a longer key, is near too.
        let starts = last.len() >= 4 && (name.starts_with(last) || path.starts_with(&wrong));
        let near = if name == last || starts { whole.min(2) } else { whole };
        (near, whole, path)
    };
    let (near, _, path) = KEYS.iter().map(|key| rank(key.path)).min()?;
    (near <= (wrong.len() / 4).max(2)).then_some(path)
}

/// Levenshtein's distance: how many characters to put in, take out or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_was_meant() {
        assert_eq!(nearest("acess.max_life"), Some("access.max_life"));
        assert_eq!(nearest("access.maxlife"), Some("access.max_life"));
        assert_eq!(nearest("oidc.client_secret"), Some("oidc.client_secret_file"));
        assert_eq!(nearest("portal.groups_claim"), Some("oidc.groups_claim"));
        assert_eq!(nearest("something.else_entirely"), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn keys_are_unique_and_in_known_sections() {
        for (at, key) in KEYS.iter().enumerate() {
            assert!(KEYS[at + 1..].iter().all(|other| other.path != key.path), "{}", key.path);
            let (section, _) = key.path.split_once('.').unwrap();
            assert!(SECTIONS.iter().any(|(name, _)| *name == section), "{}", key.path);
        }
    }
}

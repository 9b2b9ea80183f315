//! What the reference says of each verb beside its arguments: examples, which its help shows too, and what `-o json` writes.

/// What a verb writes with `-o json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonAnswer {
    /// The answer of this operation of the JSON API, by its `operationId`.
    Operation(&'static str),
    /// An object with `items`, the rows of all pages of this operation, and `total` where the portal counts them.
    List(&'static str),
    /// An object of the command line's own, in words.
    Own(&'static str),
    /// None: what is written instead.
    Other(&'static str),
}

/// One verb.
#[derive(Debug, Clone, Copy)]
pub struct VerbReference {
    /// Its words after `aro`.
    pub path: &'static str,
    /// Whole command lines.
    pub examples: &'static [&'static str],
    pub json: JsonAnswer,
}

use JsonAnswer::{List, Operation, Other, Own};

const fn verb(path: &'static str, examples: &'static [&'static str], json: JsonAnswer) -> VerbReference {
    VerbReference { path, examples, json }
}

/// The verbs for people.
pub const VERBS: &[VerbReference] = &[
    verb(
        "login",
        &["aro login https://portal.example", "aro login https://lab.example --profile lab --device"],
        Own("`person`, `portal`, `profile`, `not_after`"),
    ),
    verb("logout", &["aro logout", "aro logout --grants"], Operation("signOut")),
    verb(
        "profile list",
        &["aro profile list", "aro profile list -o name"],
        Own("`items`, each with `name`, `used`, `portal`, `person`, `not_after`, `signed_in`"),
    ),
    verb(
        "profile use",
        &["aro profile use lab"],
        Own("`name`, `used`, `portal`, `person`, `not_after`, `signed_in`"),
    ),
    verb("whoami", &["aro whoami", "aro whoami -o json"], Operation("getInfo")),
    verb(
        "clusters",
        &["aro clusters", "aro clusters --state failed,degraded --sort version"],
        List("searchClusters"),
    ),
    verb(
        "clusters list",
        &["aro clusters list harbor", "aro clusters list --version 4.14..4.16 -o name"],
        List("searchClusters"),
    ),
    verb(
        "clusters import",
        &["aro clusters import --kubeconfig lab.kubeconfig --name lab --as-groups cluster-admins"],
        Operation("importCluster"),
    ),
    verb("clusters remove", &["aro clusters remove lab"], Operation("removeImport")),
    verb("clusters imported", &["aro clusters imported"], Operation("listImports")),
    verb("nodes", &["aro nodes harbor", "aro nodes harbor master -o name"], Operation("listClusterNodes")),
    verb(
        "operators",
        &["aro operators harbor", "aro operators harbor etcd -o json"],
        Operation("listClusterOperators"),
    ),
    verb(
        "events",
        &["aro events harbor --warnings", "aro events harbor -n openshift-etcd --watch -o json"],
        Own("`as_of`, `state`, `left_out` and `items`, each an event; with `--watch` one event a line"),
    ),
    verb(
        "logs",
        &[
            "aro logs harbor openshift-etcd/etcd-0 -c etcd --since 5m",
            "aro logs harbor web -n shop -f -o json",
        ],
        Own("an object a line of the log, with `line`"),
    ),
    verb(
        "kubeconfig",
        &[
            "aro kubeconfig harbor --reason 'INC-1234 pods pending' -f harbor.kubeconfig",
            "aro kubeconfig harbor --reason 'INC-1234' --merge",
        ],
        Other("a kubeconfig, as YAML, or as JSON with `-o json`"),
    ),
    verb(
        "kubectl",
        &["aro kubectl harbor --reason 'INC-1234 pods pending' -- get pods -A"],
        Other("what kubectl writes"),
    ),
    verb(
        "ssh",
        &["aro ssh harbor --reason 'INC-1234 disk full'", "aro ssh harbor master-0 -- df -h"],
        Other("what the machine writes"),
    ),
    verb(
        "ssh config",
        &["aro ssh config harbor -f harbor.ssh_config --reason 'rotate logs'"],
        Other("a part of an OpenSSH configuration"),
    ),
    verb(
        "proxy local",
        &[
            "aro proxy local --cluster harbor --cluster quay --reason 'INC-1234 looking around'",
            "aro proxy local --cluster harbor --reason 'INC-1234' --exec k9s --readonly",
        ],
        Own(
            "`kubeconfig`, its path, and `clusters`, each with `name`, `resourceId`, `address`; with `--exec` nothing",
        ),
    ),
    verb("scp", &["aro scp harbor master-0:/var/log/messages ."], Other("what scp writes")),
    verb("serial", &["aro serial harbor master-0 --lines 100 -q panic"], Operation("getSerialConsole")),
    verb(
        "tunnel",
        &[
            "aro tunnel harbor --reason 'look at a route'",
            "aro tunnel harbor --to grafana.apps.example:443 -o json",
        ],
        Own("`address`, `socks`, `http`, `grant`, `destinations`, `not_after`"),
    ),
    verb(
        "console",
        &["aro console harbor --reason 'look at a route'", "aro console harbor --credentials -o json"],
        Operation("getCredentials"),
    ),
    verb(
        "recordings list",
        &["aro recordings list", "aro recordings list 'member is healthy' --cluster harbor"],
        List("listRecordings"),
    ),
    verb("recordings show", &["aro recordings show 3f2a"], Operation("getRecording")),
    verb(
        "recordings play",
        &["aro recordings play 3f2a --speed 4 --start 5m"],
        Other("what the session showed"),
    ),
    verb("recordings download", &["aro recordings download 3f2a session.cast"], Other("an asciicast")),
    verb(
        "grants list",
        &["aro grants list", "aro grants list --all --state active --cluster harbor"],
        List("listGrants"),
    ),
    verb("grants show", &["aro grants show 3f2a"], Operation("getGrant")),
    verb("grants extend", &["aro grants extend 3f2a --life 2h"], Operation("extendGrant")),
    verb(
        "grants revoke",
        &["aro grants revoke 3f2a --why 'work is done'", "aro grants revoke --person me --yes"],
        Operation("revokeGrants"),
    ),
    verb(
        "elevate",
        &["aro elevate --cluster harbor --reason 'INC-1234 node is stuck' --rights admin --life 1h --wait"],
        Operation("requestElevation"),
    ),
    verb(
        "elevations list",
        &["aro elevations list --active", "aro elevations list --waiting -o json"],
        Operation("listElevations"),
    ),
    verb("elevations show", &["aro elevations show 3f2a"], Operation("getElevation")),
    verb(
        "elevations approve",
        &["aro elevations approve 3f2a --why 'as agreed'"],
        Operation("approveElevation"),
    ),
    verb(
        "elevations refuse",
        &["aro elevations refuse 3f2a --why 'ask the owner'"],
        Operation("refuseElevation"),
    ),
    verb("elevations end", &["aro elevations end 3f2a"], Operation("endElevation")),
    verb(
        "elevations review",
        &["aro elevations review 3f2a --note 'node was drained, nothing else'"],
        Operation("reviewElevation"),
    ),
    verb("operations list", &["aro operations list harbor"], Operation("listOperations")),
    verb(
        "operations watch",
        &["aro operations watch harbor", "aro operations watch harbor --operation 3f2a -o json"],
        Own("an object a line, with `event`: `step`, `done`, `line` or `end`"),
    ),
    verb(
        "operator status",
        &["aro operator status harbor", "aro operator status harbor -o json"],
        Operation("getOperator"),
    ),
    verb(
        "operator flags",
        &["aro operator flags harbor --changed", "aro operator flags harbor -o csv"],
        Own("`items`, each a flag as `getOperator` answers it"),
    ),
    verb(
        "operator set",
        &[
            "aro operator set harbor aro.banner.enabled=true --reason 'INC-1234 the customer is to call' --wait",
            "aro operator set harbor --default aro.banner.enabled --reason 'INC-1234 is over'",
        ],
        Operation("setOperatorFlags"),
    ),
    verb(
        "node cordon",
        &["aro node cordon harbor worker-2 --reason 'INC-1234 its disk fails'"],
        Operation("cordonNode"),
    ),
    verb(
        "node uncordon",
        &["aro node uncordon harbor worker-2 --reason 'INC-1234 is over'"],
        Operation("uncordonNode"),
    ),
    verb(
        "node drain",
        &[
            "aro node drain harbor worker-2 --dry-run",
            "aro node drain harbor worker-2 --reason 'INC-1234 its disk fails'",
        ],
        Operation("drainNode"),
    ),
    verb(
        "csr approve",
        &["aro csr approve harbor csr-8b2jx --reason 'INC-1234 a node joins again'"],
        Operation("approveCsr"),
    ),
    verb(
        "csr deny",
        &["aro csr deny harbor csr-8b2jx --reason 'INC-1234 nobody knows this node'"],
        Operation("denyCsr"),
    ),
    verb(
        "pod delete",
        &["aro pod delete harbor openshift-dns dns-default-7xk2p --reason 'INC-1234 it hangs'"],
        Operation("deletePod"),
    ),
    verb(
        "workload restart",
        &["aro workload restart harbor deployment openshift-console console --reason 'INC-1234 it hangs'"],
        Operation("restartWorkload"),
    ),
    verb(
        "workload scale",
        &["aro workload scale harbor deployment openshift-console console 3 --reason 'INC-1234 more load'"],
        Operation("scaleWorkload"),
    ),
    verb("manifests list", &["aro manifests list", "aro manifests list harbor"], Operation("listManifests")),
    verb("manifests tasks", &["aro manifests tasks"], Operation("listMaintenanceTasks")),
    verb("manifests schedules", &["aro manifests schedules"], Operation("listSchedules")),
    verb(
        "manifests order",
        &["aro manifests order harbor 'fix SSH' --reason 'SSH to master-1 times out' --wait"],
        Operation("createManifest"),
    ),
    verb(
        "manifests cancel",
        &[
            "aro manifests cancel harbor 7d1f2a90-5a10-4b6c-9d0c-2b1f6f2f8a11 --why 'the node is drained by hand'",
        ],
        Operation("cancelManifest"),
    ),
    verb(
        "promql",
        &[
            "aro promql 'count(up == 0)' --clusters all",
            "aro promql 'sum(rate(apiserver_request_total[5m]))' --clusters 'state:succeeded version:4.18' --aggregate sum",
            "aro promql up --clusters orchid --range 1h --step 1m -o csv",
        ],
        Own("`resultType` and `result` as Prometheus has them, `failed` clusters, `end`"),
    ),
    verb("robots list", &["aro robots list"], Operation("listRobots")),
    verb(
        "robots create",
        &["aro robots create nightly --clusters harbor --reason 'backs up at night' -f robot.token"],
        Operation("createRobot"),
    ),
    verb(
        "robots rotate",
        &["aro robots rotate nightly --overlap 10m -f robot.token"],
        Operation("rotateRobot"),
    ),
    verb(
        "notifications list",
        &["aro notifications list", "aro notifications list hub -o json"],
        Own(
            "`items`, the destinations as `listNotifications` answers them; of one destination its `notifications`",
        ),
    ),
    verb("notifications test", &["aro notifications test hub"], Operation("testNotifications")),
    verb("robots revoke", &["aro robots revoke nightly --why 'moved away'"], Operation("revokeRobot")),
    verb("audit list", &["aro audit list --person sre --from 2026-11-21"], List("searchAudit")),
    verb(
        "audit export",
        &["aro audit export --from 2026-11-01 -f november.jsonl"],
        Other("an entry a line, as it is stored"),
    ),
    verb(
        "audit report",
        &["aro audit report harbor --from 2026-11-01 --format csv"],
        Operation("reportAccess"),
    ),
];

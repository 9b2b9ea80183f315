//! How calls are named in metrics and errors: by the type of the resource and what is done with it.

use http::Method;

use crate::transport::CallName;

/// Types that have a name of their own in metrics; others are `resources`.
const TYPES: [&str; 32] = [
    "dnszones",
    "denyassignments",
    "deployments",
    "diskencryptionsets",
    "disks",
    "features",
    "federatedidentitycredentials",
    "loadbalancers",
    "locations",
    "locks",
    "natgateways",
    "networkinterfaces",
    "networksecuritygroups",
    "privatednszones",
    "privateendpoints",
    "privatelinkservices",
    "providers",
    "publicipaddresses",
    "registries",
    "resourcegroups",
    "roleassignments",
    "roledefinitions",
    "routetables",
    "skus",
    "storageaccounts",
    "subnets",
    "tokens",
    "usages",
    "userassignedidentities",
    "vaults",
    "virtualmachines",
    "virtualnetworks",
];

/// The name of a call: the last word of its path that is a known type.
pub(crate) fn call_name(method: &Method, path: &str) -> CallName {
    let words = path.rsplit('/').filter_map(|word| {
        let known = TYPES.iter().find(|known| known.eq_ignore_ascii_case(word))?;
        (*known != "providers" || path.rsplit('/').next() == Some(word)).then_some(*known)
    });
    let client = words.into_iter().next().unwrap_or("resources");
    let (operation, shown) = match *method {
        Method::GET => ("get", "get resource"),
        Method::HEAD => ("head", "look for resource"),
        Method::PUT => ("put", "put resource"),
        Method::PATCH => ("patch", "change resource"),
        Method::DELETE => ("delete", "delete resource"),
        _ => ("post", "post to resource"),
    };
    CallName { client, operation, shown }
}

//! Who and what there is in the simulated Azure before the first cluster, by name.

use rp_base::sha256;

/// The resource provider's own subscription.
pub(crate) const OWN: &str = "00000000-0000-4000-8000-0000000000a0";
/// The application as which the resource provider asks.
pub(crate) const CLIENT_ID: &str = "00000000-0000-4000-8000-0000000000de";
/// A customer who has a network, ready for clusters.
pub(crate) const CUSTOMER: &str = "00000000-0000-4000-8000-0000000000c0";
pub(crate) const CUSTOMER_GROUP: &str = "dev";
/// Pairs of subnets of one network, each for one cluster: `master-1` and `worker-1`, and so on.
pub(crate) const PAIRS: usize = 20;
/// The most in all networks together.
pub(crate) const MOST_PAIRS: usize = 2000;
/// The secret of every simulated application: it opens nothing but the stand-in.
pub(crate) const SECRET: &str = "simulated-not-a-secret";

/// The customer's virtual network that has that pair of subnets, from 1.
pub(crate) fn customer_network(pair: usize) -> String {
    match pair.saturating_sub(1) / PAIRS {
        0 => "dev-vnet".to_owned(),
        more => format!("dev-vnet-{}", more + 1),
    }
}

/// The application of a cluster in that pair of subnets, which no other cluster may use.
pub(crate) fn application(pair: usize) -> String {
    let digest = sha256(format!("application {pair}").as_bytes()).to_string();
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

//! The API server's health (`contract/monitor.md` §9.1).

use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::{Metric, cluster};

pub(super) fn healthz(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    code(&cluster::HEALTHZ, "healthz", seen.healthz_code(), told)
}

pub(super) fn ping(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    code(&cluster::PING, "healthz ping", seen.ping_code(), told)
}

fn code(
    metric: &'static Metric,
    endpoint: &'static str,
    code: Option<u16>,
    told: &mut CollectorOutput,
) -> Result<(), CollectError> {
    // Dashboards rely on its presence: code 0 also when it was not requested.
    let code = code.unwrap_or_default();
    told.one(metric, [code.to_string().into()]);
    if code == 200 { Ok(()) } else { Err(CollectError::Unhealthy { endpoint, code }) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{CollectorBench, aro};
    use super::super::{HEALTHZ, PING};

    #[test]
    fn the_code_is_always_told() {
        let fed = CollectorBench::new(aro());
        fed.seen.healthz(200);
        assert_eq!(fed.run(&HEALTHZ), ["apiserver.healthz.code 1 code=200"]);
        let fed = CollectorBench::new(aro());
        fed.seen.healthz(500);
        assert_eq!(
            fed.run(&HEALTHZ),
            ["apiserver.healthz.code 1 code=500", "error fetching APIServer healthz endpoint: status 500"]
        );
    }

    #[test]
    fn no_answer_is_code_0() {
        let fed = CollectorBench::new(aro());
        fed.seen.ping(0);
        assert_eq!(
            fed.run(&PING),
            [
                "apiserver.healthz.ping.code 1 code=0",
                "error fetching APIServer healthz ping endpoint: no answer"
            ]
        );
    }
}

//! The API server's health (`contract/monitor.md` §9.1).

use super::{CollectError, Told};
use crate::names::{Metric, cluster};
use crate::seen::Seen;

pub(super) fn healthz(seen: &Seen, told: &mut Told) -> Result<(), CollectError> {
    code(&cluster::HEALTHZ, "healthz", seen.healthz_code(), told)
}

pub(super) fn ping(seen: &Seen, told: &mut Told) -> Result<(), CollectError> {
    code(&cluster::PING, "healthz ping", seen.ping_code(), told)
}

fn code(
    metric: &'static Metric,
    endpoint: &'static str,
    code: Option<u16>,
    told: &mut Told,
) -> Result<(), CollectError> {
    // Dashboards rely on its presence: not asked is no answer.
    let code = code.unwrap_or_default();
    told.one(metric, [code.to_string().into()]);
    if code == 200 { Ok(()) } else { Err(CollectError::Unhealthy { endpoint, code }) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Fed, aro};
    use super::super::{HEALTHZ, PING};

    #[test]
    fn the_code_is_always_told() {
        let fed = Fed::new(aro());
        fed.seen.healthz(200);
        assert_eq!(fed.run(&HEALTHZ), ["apiserver.healthz.code 1 code=200"]);
        let fed = Fed::new(aro());
        fed.seen.healthz(500);
        assert_eq!(
            fed.run(&HEALTHZ),
            ["apiserver.healthz.code 1 code=500", "error fetching APIServer healthz endpoint: status 500"]
        );
    }

    #[test]
    fn no_answer_is_code_0() {
        let fed = Fed::new(aro());
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

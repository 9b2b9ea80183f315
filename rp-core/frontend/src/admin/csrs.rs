//! Certificate signing requests of a cluster (`contract/frontend.md` §11.1).

use std::time::Duration;

use http::StatusCode;
use rp_actions::{Decision, Mode};

use super::context::{ActionContext, within};
use super::rules;
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

/// Time limit for all requests to the cluster.
const WITHIN: Duration = Duration::from_secs(60);

/// Approves one, or all that are neither approved nor denied.
pub(super) async fn approve(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let name = of.text("csrName");
    if !name.is_empty() {
        rules::write(&rp_actions::csr_resource(), "", name)?;
    }
    within(WITHIN, async {
        let _signal = of.signal();
        let api = of.admin_api().await?;
        let now = of.parts.clock.now();
        let approved = if name.is_empty() {
            rp_actions::approve_all(&api, now).await.map_err(rules::action)?
        } else {
            let decided = rp_actions::decide(&api, name, Decision::Approve, now, Mode::Change).await;
            usize::from(decided.map_err(rules::action)?.changes())
        };
        let mut answer = empty(StatusCode::OK);
        answer.extensions_mut().insert(Change::new("pending", &format!("{approved} approved")));
        Ok(answer)
    })
    .await
}

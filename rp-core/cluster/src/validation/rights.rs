//! Checks rights at Azure, repeated while new rights may not be effective yet (`contract/api.md` §16.2).

use rp_azure::AccessChecks as _;
use serde_json::Value;

use super::subjects::{ResourceKind, Subject, missing};
use crate::context::Context;
use crate::errors::StepError;
use crate::roles::actions;

/// Rounds of checks: at once, and every 30 s for six minutes. The authorization service caches for five.
const ROUNDS: usize = 13;

/// A principal whose rights are checked.
#[derive(Debug)]
pub(crate) struct CheckedPrincipal {
    pub(crate) subject: Subject,
    pub(crate) identity: rp_azure::Subject,
    /// Definitions of the roles that should grant the rights; only their actions are checked. `None`: all actions.
    pub(crate) roles: Option<Vec<Value>>,
}

/// The actions that must be allowed on one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequiredRights {
    pub(crate) on: ResourceKind,
    pub(crate) id: String,
    /// The member of the document that names the resource.
    pub(crate) path: String,
    pub(crate) actions: Vec<String>,
}

impl CheckedPrincipal {
    /// The actions to check on a resource; `None`: this principal needs none.
    pub(crate) fn required_rights(&self, on: ResourceKind, id: &str, path: &str) -> Option<RequiredRights> {
        let meant = |action: &&&str| match &self.roles {
            None => true,
            Some(roles) => roles.iter().any(|role| actions::grants(role, action)),
        };
        let actions: Vec<String> =
            self.subject.actions(on).iter().filter(meant).map(|action| (*action).to_owned()).collect();
        (!actions.is_empty()).then(|| RequiredRights {
            on,
            id: id.to_owned(),
            path: path.to_owned(),
            actions,
        })
    }

    /// Checks until everything is allowed or the time is over; then the first missing right is the error.
    ///
    /// # Errors
    /// 400: rights are missing; or the check failed.
    pub(crate) async fn check(
        &self,
        context: &Context,
        mut open: Vec<RequiredRights>,
    ) -> Result<(), StepError> {
        let (client, location) = (context.customer(), context.document().location());
        for round in 1.. {
            let mut denied = Vec::new();
            for question in open {
                context.check_running()?;
                let actions: Vec<&str> = question.actions.iter().map(String::as_str).collect();
                match client.check_access(&location, &self.identity, &question.id, &actions).await {
                    Ok(decisions) if decisions.iter().all(|decision| decision.allowed) => {}
                    Ok(_) => denied.push((question, None)),
                    Err(error) if error.is_missing() => {
                        return Err(missing(question.on, &question.id, &question.path).into());
                    }
                    Err(error) if error.status == Some(403) => denied.push((question, Some(error.message))),
                    Err(error) => return Err(error.into()),
                }
            }
            let Some((first, original)) = denied.first() else { return Ok(()) };
            if round == ROUNDS {
                let refused = self.subject.refused(first.on, &first.id, &first.path, original.as_deref());
                return Err(refused.into());
            }
            context.waiting(&format!("rights on {}", first.id));
            context.sleep(context.env.periods.authorization_retry).await?;
            open = denied.into_iter().map(|(question, _)| question).collect();
        }
        Ok(())
    }
}

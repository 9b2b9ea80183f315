//! Asking Azure what somebody may do, as long as rights may still be on their way (`contract/api.md` §16.2).

use rp_azure::AccessChecks as _;
use serde_json::Value;

use super::subjects::{Subject, Thing, missing};
use crate::context::Context;
use crate::errors::StepError;
use crate::roles::actions;

/// Rounds of questions: at once, and every 30 s for six minutes. The authorization service keeps what it knows for five.
const ROUNDS: usize = 13;

/// Somebody whose rights are asked for.
#[derive(Debug)]
pub(crate) struct Asker {
    pub(crate) subject: Subject,
    pub(crate) of: rp_azure::Subject,
    /// Definitions of the roles that are meant to give the rights; of others' rights nothing is asked. `None`: all.
    pub(crate) roles: Option<Vec<Value>>,
}

/// One thing, and what must be allowed on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) on: Thing,
    pub(crate) id: String,
    /// The member of the document that names the thing.
    pub(crate) path: String,
    pub(crate) actions: Vec<String>,
}

impl Asker {
    /// What to ask about a thing; `None`: this one has nothing to do with it.
    pub(crate) fn question(&self, on: Thing, id: &str, path: &str) -> Option<Question> {
        let meant = |action: &&&str| match &self.roles {
            None => true,
            Some(roles) => roles.iter().any(|role| actions::grants(role, action)),
        };
        let actions: Vec<String> =
            self.subject.actions(on).iter().filter(meant).map(|action| (*action).to_owned()).collect();
        (!actions.is_empty()).then(|| Question { on, id: id.to_owned(), path: path.to_owned(), actions })
    }

    /// Asks until everything is allowed, or the time is up: then the first that is not is told.
    ///
    /// # Errors
    /// 400: rights are missing; or the answer cannot be had.
    pub(crate) async fn ask(&self, context: &Context, mut open: Vec<Question>) -> Result<(), StepError> {
        let (client, location) = (context.customer(), context.document().location());
        for round in 1.. {
            let mut denied = Vec::new();
            for question in open {
                context.proceed()?;
                let actions: Vec<&str> = question.actions.iter().map(String::as_str).collect();
                match client.check_access(&location, &self.of, &question.id, &actions).await {
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

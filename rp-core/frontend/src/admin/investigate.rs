//! A question about a cluster, answered by a program that only reads (`contract/frontend.md` §11.10). The answer is
//! not trusted: it is cleaned and bounded here, for every provider.

use std::sync::Arc;
use std::time::Duration;

use rp_api::CloudError;
use rp_base::chain;
use rp_base::text::clean;
use rp_investigate::{AnswerText, InvestigateError, Investigation, Investigator, Question, QuestionError};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::context::ActionContext;
use super::failed;
use super::stream::{Gone, Output, Verdict, permit, streamed};
use crate::fault::Fault;
use crate::response::HttpResponse;

/// Longest part of an error's text, in characters.
const MOST_REASON: usize = 2048;
/// Added to the provider's own limit, for what is under way when it is reached.
const MARGIN: Duration = Duration::from_secs(30);

/// Who answers questions about clusters, and how many at a time.
#[derive(Debug, Clone)]
pub struct Investigations {
    investigator: Arc<dyn Investigator>,
    at_once: usize,
    room: Arc<Semaphore>,
}

impl Investigations {
    /// At most `at_once` investigations run in this process.
    pub fn new(investigator: Arc<dyn Investigator>, at_once: usize) -> Self {
        Self { investigator, at_once, room: Arc::new(Semaphore::new(at_once)) }
    }

    /// Permission for one.
    ///
    /// # Errors
    /// 429: as many as may run do.
    fn permit(&self) -> Result<OwnedSemaphorePermit, CloudError> {
        Semaphore::try_acquire_owned(Arc::clone(&self.room)).map_err(|_| {
            let message =
                format!("Too many concurrent investigations ({}). Please try again later.", self.at_once);
            CloudError::new(429, "ThrottlingLimitExceeded", "", message)
        })
    }
}

/// Body of the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InvestigateBody {
    pub(super) question: String,
}

impl InvestigateBody {
    /// The body of a request; nothing of it is checked yet.
    ///
    /// # Errors
    /// 400 `InvalidRequestContent`.
    pub(super) fn parse(body: &[u8]) -> Result<Self, CloudError> {
        serde_json::from_slice(body).map_err(|error| {
            let why = clean(&error.to_string(), 256);
            let message = format!("The request body could not be parsed: {why}.");
            CloudError::bad("InvalidRequestContent", "", message)
        })
    }

    fn checked(&self) -> Result<Question, CloudError> {
        let wrong = |error: QuestionError| CloudError::invalid("question", error.to_string());
        Question::parse(&self.question).map_err(wrong)
    }
}

/// Starts an investigation and passes its answer on as it comes.
pub(super) async fn investigate(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let cluster = of.cluster().await?;
    let question = InvestigateBody::parse(&of.call.body)?.checked()?;
    let investigations = of.parts.admin.investigations.as_ref();
    let investigations = investigations.ok_or_else(|| failed("Holmes investigation is not configured"))?;
    let (room, permit) = (investigations.permit()?, permit(&of.parts.edge)?);
    let investigator = &investigations.investigator;
    let begun = investigator.begin(&cluster.value, &question).await;
    let investigation = begun.map_err(|error| failed(text(&error)))?;
    Ok(streamed("text/plain", investigator.within() + MARGIN, permit, |out| async move {
        let _room = room;
        follow(&out, investigation).await
    }))
}

/// The investigation is closed at its end, and by its drop when the client goes away before.
async fn follow(out: &Output, mut investigation: Box<dyn Investigation>) -> Result<Verdict, Gone> {
    let ended = match copy(out, &mut *investigation).await? {
        Copied::Whole => investigation.end().await,
        Copied::Broken(error) => Err(error),
        Copied::Cut => {
            out.line("\n[answer truncated at 1 MiB]").await?;
            // It is not waited for: nobody reads what it still prints.
            close(investigation).await;
            return Ok(Verdict::Failed);
        }
    };
    let verdict = match ended {
        Ok(()) => Verdict::Good,
        Err(error) => {
            tracing::warn!(error = %chain(&error), "an investigation failed");
            out.line(&format!("\n[investigation failed: {}]", text(&error))).await?;
            Verdict::Failed
        }
    };
    close(investigation).await;
    Ok(verdict)
}

async fn close(investigation: Box<dyn Investigation>) {
    if let Err(error) = investigation.close().await {
        tracing::error!(error = %chain(&error), "an investigation was not cleaned up");
    }
}

/// How much of an answer was passed on.
enum Copied {
    Whole,
    /// It is longer than an answer may be.
    Cut,
    Broken(InvestigateError),
}

async fn copy(out: &Output, investigation: &mut dyn Investigation) -> Result<Copied, Gone> {
    let mut answer = AnswerText::default();
    let copied = loop {
        match investigation.next().await {
            Ok(Some(piece)) => out.write(answer.push(&piece)).await?,
            Ok(None) => break Copied::Whole,
            Err(error) => break Copied::Broken(error),
        }
        if answer.is_cut() {
            break Copied::Cut;
        }
    };
    out.write(answer.finish()).await?;
    Ok(copied)
}

/// An error with its causes, for people: some of it are words of the management cluster.
fn text(error: &InvestigateError) -> String {
    clean(&chain(error).to_string(), MOST_REASON)
}

//! `{RES}/act`: the dialog of an action on an object of a cluster, and the action. A drain answers with what it did and
//! goes on by itself, a few seconds a request, until nothing is left or the person stops it.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::actions::{
    Action, ActionOrder, ActionResult, DrainReport, MOST_REPLICAS, Preview, act, preview,
};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::return_path::return_path;
use portal_session::user::CurrentUser;
use web::{ConfirmChoices, ConfirmField, ConfirmPage, Link, NavItem};

use crate::access_dialog::with_way;
use crate::act_form::ActForm;
use crate::act_words::{drained, pods_of, words};
use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::confirm::{DialogForm, at_field, back_to, change_refused, done, question, refused, why, why_hint};
use crate::frame::frame;

/// How long one request of a drain waits for pods to leave.
const STEP: Duration = Duration::from_secs(8);
/// Requests of a drain that the page sends by itself; then the person is asked whether to go on.
const MOST_ROUNDS: u32 = 60;

/// Asks whether to do it, and why.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let form = ActForm::read(query.unwrap_or_default().as_bytes());
    let action = form.action(0).ok_or_else(Fault::not_found)?;
    let seen = preview(&state, &user, &id, &action).await;
    let page = act_page(&state, &context, &entry, &form, &action, seen.as_ref().ok());
    match seen {
        Ok(_) => answer(&context, StatusCode::OK, &page),
        Err(fault) => refused(&context, page, with_way(fault, &entry, action.rights(), &context.target)),
    }
}

/// Does it.
pub async fn perform(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    body: Bytes,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let form = ActForm::read(&body);
    let replicas = form.replicas.trim().parse::<u32>();
    let action = form.action(replicas.as_ref().copied().unwrap_or_default()).ok_or_else(Fault::not_found)?;
    if matches!(action, Action::Scale { .. }) && replicas.is_err() {
        let mut page = act_page(&state, &context, &entry, &form, &action, None);
        at_field(&mut page, "replicas", &format!("A whole number, 0 to {MOST_REPLICAS}."));
        return answer(&context, StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    let order = ActionOrder { action: action.clone(), reason: form.why.clone(), dry_run: false, wait: STEP };
    match act(&state, &user, &id, order).await {
        Ok(ActionResult { drain: Some(report), .. }) => {
            let page = progress(&state, &context, &entry, &form, &report);
            answer(&context, StatusCode::OK, &page)
        }
        Ok(_) => {
            let back = DialogForm { back: form.back.clone(), ..DialogForm::default() };
            Ok(done(&back, &form.home(&entry), Flash::ActionDone))
        }
        Err(error) => {
            let page = act_page(&state, &context, &entry, &form, &action, None);
            change_refused(&context, page, &form.back, error)
        }
    }
}

/// What is sent along, whatever the action.
fn hidden(form: &ActForm) -> Vec<(String, String)> {
    let all = [
        ("do", &form.action),
        ("kind", &form.kind),
        ("namespace", &form.namespace),
        ("name", &form.name),
        ("from", &form.from),
    ];
    let given = all.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// The dialog of an action, with what is known of its object and what was filled in.
fn act_page(
    state: &PortalState,
    context: &Context,
    entry: &Entry,
    form: &ActForm,
    action: &Action,
    seen: Option<&Preview>,
) -> ConfirmPage {
    let mut form = form.clone();
    if let Some(Preview::Replicas(now)) = seen {
        form.from = now.to_string();
    }
    let said = words(action, &form.kind, entry.id.name());
    let (_, namespace, name) = action.object();
    let mut facts = vec![("Cluster".to_owned(), entry.id.name().to_owned())];
    if !namespace.is_empty() {
        facts.push(("Namespace".to_owned(), namespace.to_owned()));
    }
    facts.push((said.label.to_owned(), name.to_owned()));
    let mut text: Vec<String> = said.text.iter().map(|line| (*line).to_owned()).collect();
    match seen {
        None | Some(Preview::Nothing) => {}
        Some(Preview::Csr(csr)) => facts.extend([
            ("State".to_owned(), csr.state.clone()),
            ("Signer".to_owned(), csr.signer.clone()),
            ("Requested by".to_owned(), csr.requestor.clone()),
            ("Usages".to_owned(), csr.usages.clone()),
        ]),
        Some(Preview::Pod(pod)) => {
            facts.extend([("Phase".to_owned(), pod.phase.clone()), ("Node".to_owned(), pod.node.clone())]);
            facts.push(("Controller".to_owned(), pod.controller.clone()));
            if pod.controller.is_empty() {
                text.push("The pod has no controller: nothing makes it anew.".to_owned());
            }
        }
        Some(Preview::Replicas(now)) => facts.push(("Replicas now".to_owned(), now.to_string())),
        Some(Preview::Drain(report)) => text.extend(drained(report)),
    }
    let replicas = matches!(action, Action::Scale { .. }).then(|| ConfirmField {
        name: "replicas",
        label: "Replicas".to_owned(),
        hint: format!("0 to {MOST_REPLICAS}. Refused when the number has changed meanwhile."),
        value: if form.replicas.is_empty() { form.from.clone() } else { form.replicas.clone() },
        required: true,
        exact: true,
        ..ConfirmField::default()
    });
    ConfirmPage {
        name: "act",
        icon: said.icon,
        title: format!("{} {name}?", said.verb),
        text,
        facts,
        command: said.command,
        action: format!("{}/act", entry.path()),
        hidden: hidden(&form),
        choices: choices(action),
        fields: replicas.into_iter().chain([why(&form.why, true, &why_hint(state))]).collect(),
        kind: if said.harms { "danger" } else { "power" },
        submit: said.verb.to_owned(),
        running: said.running.to_owned(),
        ..question(
            frame(state, context),
            NavItem::Clusters,
            Link::new(said.place, back_to(context, &form.home(entry))),
        )
    }
}

/// How it is done, where there are two ways.
fn choices(action: &Action) -> Option<ConfirmChoices> {
    let (ways, force) = match action {
        Action::Drain { force, .. } => (
            [("evict", "Evict, budgets are honoured"), ("force", "Delete, budgets are not honoured")],
            *force,
        ),
        Action::DeletePod { force, .. } => {
            ([("grace", "With its time to end"), ("force", "At once, without its kubelet")], *force)
        }
        _ => return None,
    };
    let chosen = if force { "force" } else { ways[0].0 };
    Some(ConfirmChoices {
        legend: "How".to_owned(),
        name: "how",
        values: ways.map(|(value, words)| (value.to_owned(), words.to_owned())).into(),
        chosen: chosen.to_owned(),
        error: None,
    })
}

/// The dialog of a drain that has begun.
fn progress(
    state: &PortalState,
    context: &Context,
    entry: &Entry,
    form: &ActForm,
    drain: &DrainReport,
) -> ConfirmPage {
    let (moved, round) = (form.moved + drain.moved.len(), form.round + 1);
    let mut page = ConfirmPage {
        name: "drain-progress",
        icon: if drain.done { "ok" } else { "busy" },
        title: format!("{} {}", if drain.done { "Drained" } else { "Draining" }, form.name),
        facts: vec![
            ("Cluster".to_owned(), entry.id.name().to_owned()),
            ("Node".to_owned(), "cordoned".to_owned()),
            ("Asked to leave".to_owned(), pods_of(moved)),
            ("Still on the node".to_owned(), pods_of(drain.left.len())),
        ],
        text: drained(drain),
        action: format!("{}/act", entry.path()),
        hidden: hidden(form),
        kind: "primary",
        ..question(
            frame(state, context),
            NavItem::Clusters,
            Link::new(
                "Node",
                if form.back.is_empty() { form.home(entry) } else { return_path(Some(&form.back)) },
            ),
        )
    };
    let keep = [
        ("how", form.how.clone()),
        ("why", form.why.clone()),
        ("round", round.to_string()),
        ("moved", moved.to_string()),
    ];
    page.hidden.extend(keep.map(|(name, value)| (name.to_owned(), value)));
    if drain.done {
        page.leave = "Close";
        page.text = vec!["No pod is left that a drain moves. The node stays cordoned.".to_owned()];
    } else {
        page.repeats = round < MOST_ROUNDS;
        page.leave = "Stop";
        page.submit = "Go on".to_owned();
        page.running = "Draining…".to_owned();
        if !page.repeats {
            page.text.push("The page has stopped asking. Go on, or look at what blocks the pods.".to_owned());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_names_an_action() {
        let of = |text: &str| ActForm::read(text.as_bytes()).action(3);
        let drain = of("do=drain&name=worker-1&how=force");
        assert_eq!(drain, Some(Action::Drain { node: "worker-1".to_owned(), force: true }));
        let scale = of("do=scale&kind=deployment&namespace=n&name=w&from=2&replicas=3");
        assert!(matches!(scale, Some(Action::Scale { from: Some(2), to: 3, .. })), "{scale:?}");
        assert_eq!(of("do=restart&kind=job&namespace=n&name=w"), None);
        assert_eq!(of("do=format&name=disk"), None);
    }

    #[test]
    fn a_form_goes_back_to_its_object_with_all_that_it_needs() {
        let form = ActForm::read(b"do=scale&kind=deployment&namespace=n&name=w&from=2&why=x&how=y");
        let sent: Vec<_> = hidden(&form).into_iter().map(|(name, _)| name).collect();
        assert_eq!(sent, ["do", "kind", "namespace", "name", "from"]);
        assert_eq!(choices(&form.action(3).unwrap()).map(|all| all.values.len()), None);
        let drain = ActForm { action: "drain".to_owned(), ..ActForm::default() };
        assert_eq!(choices(&drain.action(0).unwrap()).map(|all| all.chosen).as_deref(), Some("evict"));
    }
}

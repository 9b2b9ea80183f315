//! `{RES}/aro-operator/flag`: the dialog that sets one flag of a cluster's operator.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::operator::{FlagChanges, FlagReport, document_flags, flag_reports, set_flags};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::elevation::require_elevation;
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::user::CurrentUser;
use rp_documents::Rights;
use serde::Deserialize;
use web::{ConfirmChoices, ConfirmField, ConfirmPage, Link, NavItem, Tab};

use crate::access_dialog::with_way;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::confirm::{DialogForm, back_to, change_refused, done, question, refused, why};
use crate::frame::frame;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FlagQuery {
    flag: String,
}

/// What the dialog posts.
#[derive(Debug, Default)]
struct FlagForm {
    flag: String,
    /// [`DEFAULT`], or `=` and the value.
    value: String,
    /// A value that is typed; empty: its default.
    typed: Option<String>,
    why: String,
    back: String,
}

/// The choice of the default. Values stand behind an equals sign, so none can be taken for it.
const DEFAULT: &str = "default";

impl FlagForm {
    fn read(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            let value = value.into_owned();
            match name.as_ref() {
                "flag" => form.flag = value,
                "value" => form.value = value,
                "typed" => form.typed = Some(value),
                "why" => form.why = value,
                "back" => form.back = value,
                _ => {}
            }
        }
        form
    }

    /// What to set; `None`: the default.
    fn wanted(&self) -> Option<String> {
        match &self.typed {
            Some(typed) => Some(typed.trim().to_owned()).filter(|typed| !typed.is_empty()),
            None => self.value.strip_prefix('=').map(str::to_owned),
        }
    }
}

/// Asks for the value of a flag.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(asked): Query<FlagQuery>,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let form = FlagForm { flag: asked.flag, ..FlagForm::default() };
    let page = flag_page(&state, &context, &entry, &form).await?;
    if let Err(fault) = require_elevation(&state.session, &user.caller, &id, Rights::Write).await {
        let fault = with_way(fault, &entry, Rights::Write, &context.target);
        return refused(&context, page, fault);
    }
    answer(&context, StatusCode::OK, &page)
}

/// Sets it.
pub async fn set(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    body: Bytes,
) -> Result<Response, Fault> {
    let form = FlagForm::read(&body);
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let flags = BTreeMap::from([(form.flag.clone(), form.wanted())]);
    match set_flags(&state, &user, &id, FlagChanges { flags, reason: form.why.clone() }).await {
        Ok(_) => {
            let back = DialogForm { back: form.back, ..DialogForm::default() };
            Ok(done(&back, &home(&entry), Flash::FlagSet))
        }
        Err(error) => {
            let page = flag_page(&state, &context, &entry, &form).await?;
            change_refused(&context, page, &form.back, error)
        }
    }
}

fn home(entry: &Entry) -> String {
    format!("{}/{}", entry.path(), Tab::AroOperator.segment())
}

/// The dialog of one flag, with what was entered.
async fn flag_page(
    state: &PortalState,
    context: &Context,
    entry: &Entry,
    form: &FlagForm,
) -> Result<ConfirmPage, Fault> {
    let document =
        document_flags(&state.session.store, &entry.id).await.map_err(|error| Fault::store(&error))?;
    let all = flag_reports(&document.unwrap_or_default(), None);
    let flag = all.into_iter().find(|one| one.name == form.flag).ok_or_else(Fault::not_found)?;
    let (choices, field) = value_of(&flag, form);
    let default = flag.default.as_deref().unwrap_or("worked out by its controller");
    let facts = [
        ("Cluster", entry.id.name().to_owned()),
        ("In the document", flag.document.clone().unwrap_or_else(|| "not set".to_owned())),
        ("Default", if default.is_empty() { "empty".to_owned() } else { default.to_owned() }),
    ];
    let hint = "Goes into the audit log and to the maintenance that writes the flag to the cluster.";
    Ok(ConfirmPage {
        name: "flag",
        icon: "pen",
        title: format!("Set {}", flag.name),
        text: vec![
            flag.about.to_owned(),
            "The value goes into the cluster's document. Maintenance writes it to the cluster when no operation runs."
                .to_owned(),
        ],
        facts: facts.map(|(label, value)| (label.to_owned(), value)).into(),
        command: format!("aro operator set {} {}=VALUE --reason REASON --wait", entry.id.name(), flag.name),
        action: format!("{}/flag", home(entry)),
        hidden: vec![("flag".to_owned(), flag.name.clone())],
        choices,
        fields: field.into_iter().chain([why(&form.why, true, hint)]).collect(),
        kind: "power",
        submit: "Set flag".to_owned(),
        running: "Setting…".to_owned(),
        ..question(
            frame(state, context),
            NavItem::Clusters,
            Link::new("ARO operator", back_to(context, &home(entry))),
        )
    })
}

/// Values to choose from, or a field to type one into.
fn value_of(flag: &FlagReport, form: &FlagForm) -> (Option<ConfirmChoices>, Option<ConfirmField>) {
    let default = match &flag.default {
        Some(value) if !value.is_empty() => format!("Default ({value})"),
        _ => "Default".to_owned(),
    };
    let Some(values) = &flag.values else {
        let field = ConfirmField {
            name: "typed",
            label: "Value".to_owned(),
            hint: format!("Takes {}. Leave it empty for the default.", flag.takes),
            value: form.typed.clone().or_else(|| flag.document.clone()).unwrap_or_default(),
            exact: true,
            ..ConfirmField::default()
        };
        return (None, Some(field));
    };
    let words = |value: &str| if value.is_empty() { "Hands off".to_owned() } else { value.to_owned() };
    let mut all: Vec<(String, String)> =
        values.iter().map(|value| (format!("={value}"), words(value))).collect();
    all.push((DEFAULT.to_owned(), default));
    let chosen = if form.value.is_empty() {
        flag.document.as_ref().map_or_else(|| DEFAULT.to_owned(), |value| format!("={value}"))
    } else {
        form.value.clone()
    };
    let choices =
        ConfirmChoices { legend: "Value".to_owned(), name: "value", values: all, chosen, error: None };
    (Some(choices), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_and_a_typed_value_say_what_to_set() {
        let wanted = |body: &str| FlagForm::read(body.as_bytes()).wanted();
        assert_eq!(wanted("flag=a&value=%3Dtrue").as_deref(), Some("true"));
        assert_eq!(wanted("flag=a&value=%3D").as_deref(), Some(""));
        assert_eq!(wanted("flag=a&value=default"), None);
        assert_eq!(wanted("flag=a&typed=+100m+").as_deref(), Some("100m"));
        assert_eq!(wanted("flag=a&typed="), None);
    }

    #[test]
    fn values_are_offered_where_there_are_few() {
        let all = flag_reports(&BTreeMap::new(), None);
        let offered = |name: &str| {
            let flag = all.iter().find(|flag| flag.name == name).unwrap();
            let (choices, field) = value_of(flag, &FlagForm::default());
            assert_ne!(choices.is_some(), field.is_some(), "{name}");
            choices.map(|choices| choices.values.into_iter().map(|(value, _)| value).collect::<Vec<_>>())
        };
        assert_eq!(offered("aro.banner.enabled").unwrap(), ["=true", "=false", "default"]);
        assert_eq!(offered("aro.etchosts.managed").unwrap(), ["=true", "=false", "=", "default"]);
        assert_eq!(offered("aro.environment"), None);
    }
}

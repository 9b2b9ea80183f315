//! `/imported`: clusters that are not ours; an admin adds and removes them.

use axum::extract::{Form, Path, State};
use axum::response::Response;
use http::StatusCode;
use rp_documents::Role;
use web::{ImportErrors, ImportForm, ImportedPage, ImportedRow, Link, Notice, Place, Tone};

use super::{answer, frame, see_other};
use crate::api::imports::{self, ImportAsk, Refused};
use crate::context::{Context, Ctx};
use crate::fault::Fault;
use crate::index::Snapshot;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// All of them, and the form.
pub(crate) async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
) -> Result<Response, Fault> {
    answer(&context, StatusCode::OK, &shown(&state, &context, &user))
}

fn shown(state: &PortalState, context: &Context, user: &CurrentUser) -> ImportedPage {
    let mut frame = frame(state, context);
    frame.place = Place::Imported;
    ImportedPage {
        clusters: rows(&state.0.index.snapshot()),
        may_import: user.has(Role::Admin),
        networks: state.0.network_names.clone(),
        frame,
        ..ImportedPage::default()
    }
}

fn rows(snapshot: &Snapshot) -> Vec<ImportedRow> {
    let imported = snapshot.entries.iter().filter_map(|entry| Some((entry, entry.imported.as_ref()?)));
    imported
        .map(|(entry, imported)| ImportedRow {
            name: entry.id.name().to_owned(),
            path: entry.path(),
            server: entry.api_url.clone(),
            credential: imported.credential.to_owned(),
            credential_ends: None,
            as_groups: imported.as_groups.clone(),
            state: entry.shown_state(),
            at: imported.at.seconds(),
            by: imported.by.clone(),
            grants: 0,
        })
        .collect()
}

/// Imports what was pasted; 422 with the form when it cannot be used.
pub(crate) async fn create(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Form(form): Form<ImportForm>,
) -> Result<Response, Fault> {
    let groups =
        form.as_groups.split([',', ' ', '\n', '\r']).map(str::trim).filter(|group| !group.is_empty());
    let ask = ImportAsk {
        name: form.name.clone(),
        kubeconfig: form.kubeconfig.clone().into(),
        context: Some(form.context.clone()).filter(|context| !context.is_empty()),
        as_groups: Some(groups.map(str::to_owned).collect()),
    };
    let refused = match imports::import(&state, &user, ask).await {
        Ok(imported) => {
            let mut page = shown(&state, &context, &user);
            page.notice = Some(Notice {
                tone: Tone::Ok,
                lead: format!("{} is imported.", imported.id),
                text: "Its CA and credential are sealed in the store.".to_owned(),
                action: Some(Link::new("Open it", imported.resource_id.key())),
            });
            return answer(&context, StatusCode::OK, &page);
        }
        Err(Refused::Other(fault)) => return Err(fault),
        Err(Refused::Name(why)) => ImportErrors { name: Some(why), ..ImportErrors::default() },
        Err(Refused::Groups(why)) => ImportErrors { as_groups: Some(why), ..ImportErrors::default() },
        Err(Refused::Kubeconfig { message, action, .. }) => {
            ImportErrors { kubeconfig: Some(format!("{message} {action}")), ..ImportErrors::default() }
        }
    };
    let mut page = shown(&state, &context, &user);
    page.errors = refused;
    // The pasted file holds a credential: it is not sent back.
    page.form = ImportForm { kubeconfig: String::new(), ..form };
    answer(&context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// Removes one; its grants open nothing any more.
pub(crate) async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    imports::forget(&state, &user, &name).await?;
    Ok(see_other("/imported"))
}

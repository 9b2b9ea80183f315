//! `/imported`: clusters that are not ours; an admin adds and removes them.

use axum::extract::{Form, Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::import_ssh;
use portal_model::import_ssh::ImportSshError;
use portal_model::imports;
use portal_model::imports::{ImportError, ImportRequest};
use portal_model::index::Snapshot;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_documents::Role;
use web::{ImportForm, ImportedPage, ImportedRow, Link, NavItem, Notice, Tone};

use crate::answer::{answer, see_other};
use crate::frame::frame;

/// All of them, and the form.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
) -> Result<Response, Fault> {
    answer(&context, StatusCode::OK, &imported_page(&state, &context, &user))
}

fn imported_page(state: &PortalState, context: &Context, user: &CurrentUser) -> ImportedPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Imported;
    ImportedPage {
        clusters: rows(&state.model.index.snapshot()),
        may_import: user.has(Role::Admin),
        networks: state.model.clusters.network_names.clone(),
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
pub async fn create(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Form(form): Form<ImportForm>,
) -> Result<Response, Fault> {
    let groups =
        form.as_groups.split([',', ' ', '\n', '\r']).map(str::trim).filter(|group| !group.is_empty());
    let text = form.ssh.trim();
    let ssh = (!text.is_empty()).then(|| import_ssh::read(text)).transpose();
    let ssh = match ssh {
        Ok(ssh) => ssh,
        Err(wrong) => return refuse(&state, &context, &user, form, ImportError::Ssh(wrong)),
    };
    let ask = ImportRequest {
        ssh,
        name: form.name.clone(),
        kubeconfig: form.kubeconfig.clone().into(),
        context: Some(form.context.clone()).filter(|context| !context.is_empty()),
        as_groups: Some(groups.map(str::to_owned).collect()),
        tunnel: portal_model::tunnels::ImportTunnelRequest::default(),
    };
    match imports::import(&state, &user, ask).await {
        Ok(imported) => {
            let mut page = imported_page(&state, &context, &user);
            page.notice = Some(Notice {
                tone: Tone::Ok,
                lead: format!("{} is imported.", imported.id),
                text: "Its CA and credential are sealed in the store.".to_owned(),
                action: Some(Link::new("Open it", imported.resource_id.key())),
            });
            answer(&context, StatusCode::OK, &page)
        }
        Err(refused) => refuse(&state, &context, &user, form, refused),
    }
}

fn refuse(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    form: ImportForm,
    refused: ImportError,
) -> Result<Response, Fault> {
    let mut page = imported_page(state, context, user);
    let errors = &mut page.errors;
    match refused {
        ImportError::Other(fault) => return Err(fault),
        // The form does not ask for a tunnel.
        ImportError::Tunnel(_) | ImportError::Ssh(ImportSshError::Ours) => return Err(Fault::internal()),
        ImportError::Ssh(ImportSshError::Input(why)) => errors.ssh = Some(why),
        ImportError::Name(why) => errors.name = Some(why),
        ImportError::Groups(why) => errors.as_groups = Some(why),
        ImportError::Kubeconfig { message, action, .. } => {
            errors.kubeconfig = Some(format!("{message} {action}"));
        }
    }
    // What was pasted holds credentials: it is not sent back.
    page.form = ImportForm { kubeconfig: String::new(), ssh: String::new(), ..form };
    answer(context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// Removes one; its grants open nothing any more.
pub async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    imports::forget(&state, &user, &name).await?;
    Ok(see_other("/imported"))
}

//! `{RES}/resources…`: kinds, the objects of a kind, one object, all read with the viewer's own access.

mod kind_list;
mod object;
mod object_list;

use axum::response::Response;
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::Context;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use web::{Link, NavItem, Tab};

use crate::frame::frame;
use crate::look::{LookTarget, question};

pub use kind_list::kinds_page;
pub use object::{ObjectPageQuery, object_page};
pub use object_list::objects_page;

/// Caller and cluster: the common inputs of these pages.
struct RequestScope<'a> {
    state: &'a PortalState,
    context: &'a Context,
    user: &'a CurrentUser,
    entry: &'a Entry,
}

impl RequestScope<'_> {
    fn frame(&self) -> web::Frame {
        let mut frame = frame(self.state, self.context);
        frame.place = NavItem::Clusters;
        frame
    }

    async fn ask(&self, what: String, out: Link, revoked: bool) -> Result<Response, Fault> {
        let opens = LookTarget { tab: Tab::Resources, what, out };
        question(self.state, self.context, self.user, self.entry, opens, revoked).await
    }

    async fn active(&self) -> u64 {
        crate::cluster_head::active(self.state, self.user, self.entry).await
    }
}

//! The limit on steps of a sign-in.

use crate::context::Context;
use crate::fault::Fault;
use crate::state::SessionState;

/// Steps of a sign-in are counted by address.
pub fn often(state: &SessionState, context: &Context) -> Result<(), Fault> {
    state.access.rates().sign_in(context.from).map_err(|rp_net::TooOften(wait)| Fault::too_often(wait))
}

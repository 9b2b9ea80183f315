//! The components in every state, on one page of the gallery: what a new page is put together from.

use crate::components::{Condition, EmptyState, LastLook, Meter, MissingPart, Skeleton, Slot};
use crate::filters;
use crate::frame::Frame;
use crate::parts::{Badge, Failure, Notice, Rights, State, Step};

/// Every component in every state.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "states.html")]
pub struct StatesPage {
    /// What is around it.
    pub frame: Frame,
    /// States of clusters.
    pub states: Vec<State>,
    /// Rights.
    pub rights: Vec<Rights>,
    /// Badges of other things.
    pub badges: Vec<Badge>,
    /// Notices of each tone.
    pub notices: Vec<Notice>,
    /// Slots: a name and what is in it.
    pub slots: Vec<(&'static str, Slot)>,
    /// Nothing of several kinds.
    pub blanks: Vec<EmptyState>,
    /// Failures of each side.
    pub failures: Vec<Failure>,
    /// Lines that are awaited.
    pub bones: Skeleton,
    /// Looks.
    pub looks: Vec<LastLook>,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Shares.
    pub meters: Vec<Meter>,
    /// Steps.
    pub steps: Vec<Step>,
    /// What is missing, for the partial state.
    pub missing: Vec<MissingPart>,
}

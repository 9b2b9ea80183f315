//! Which function renders the parts of a live tab.

use web::Tab;

use crate::live::{Fragment, TabInput};
use crate::{objects, operations, workloads};

/// Renders the parts of a tab. Runs a few times a second for each viewer, so it must not send requests.
pub(super) type Fragments = fn(&TabInput<'_>) -> Vec<Fragment>;

/// The function of a tab; `None`: the tab is not live.
pub(super) fn fragments_of(tab: Tab) -> Option<Fragments> {
    let fragments: Fragments = match tab {
        Tab::Overview => |input| objects::fragments(Tab::Overview, input),
        Tab::Operators => |input| objects::fragments(Tab::Operators, input),
        Tab::AroOperator => |input| objects::fragments(Tab::AroOperator, input),
        Tab::Nodes => |input| objects::fragments(Tab::Nodes, input),
        Tab::Machines => |input| objects::fragments(Tab::Machines, input),
        Tab::MachineSets => |input| objects::fragments(Tab::MachineSets, input),
        Tab::ControlPlane => |input| objects::fragments(Tab::ControlPlane, input),
        Tab::Operations => operations::fragments,
        Tab::Pods => workloads::pod_fragments,
        Tab::Workloads => workloads::workload_fragments,
        Tab::Events => workloads::event_fragments,
        _ => return None,
    };
    Some(fragments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_that_follow_kinds_are_those_that_have_parts() {
        for tab in Tab::ALL {
            assert_eq!(fragments_of(tab).is_some(), crate::live::kinds_of(tab).is_some(), "{tab:?}");
        }
    }
}

//! The order to give a control plane another size (`contract/frontend.md` §11.8), which its manifest carries.

use serde::{Deserialize, Serialize};

use crate::Unknown;

/// What is to be done, and what was there before. It is written once, but for `cause`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resize {
    /// The wanted size, as Azure writes it.
    pub vm_size: String,
    /// A stopped machine gives its host back; a size that the host does not offer needs that.
    pub deallocate: bool,
    /// The masters that do not have the size yet, in the order in which they get it.
    pub masters: Vec<MasterResize>,
    /// Why the masters get their sizes back; empty: they do not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Resize {
    /// The step and the node that the stored name of a step means, such as `stop` and `master-1` of `action.stop#2`. The way
    /// there takes the masters in their order, the way back in reverse.
    pub fn step<'a>(&'a self, stored: &'a str) -> (&'a str, &'a str) {
        let (name, number) = stored.split_once('#').unwrap_or((stored, "1"));
        let name = step_name(name);
        let number = number.parse::<usize>().ok();
        let at = match name.starts_with(Self::BACK) {
            true => number.and_then(|number| self.masters.len().checked_sub(number)),
            false => number.and_then(|number| number.checked_sub(1)),
        };
        let node = at.and_then(|at| self.masters.get(at)).map_or("", |master| master.node.as_str());
        (name, node)
    }

    /// What the names of steps of the way back begin with.
    const BACK: &str = "rollback";
}

/// One master as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MasterResize {
    /// The name of its Machine and of its virtual machine.
    pub machine: String,
    pub node: String,
    /// The size that it had, as Azure writes it.
    pub vm_size: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The name of a step without its kind: `stop` of `action.stop`.
pub(super) fn step_name(stored: &str) -> &str {
    stored.split_once('.').map_or(stored, |(_, name)| name)
}

//! The maintenance state that customers see (`contract/api.md` §5, §6).

use super::properties::Properties;
use super::string_enum::string_enum;
use super::writer::{Edge, Worker};

string_enum! {
    /// The maintenance signal.
    pub enum MaintenanceState {
        None = "None",
        /// Announced.
        Pending = "Pending",
        /// Under way, and was announced.
        Planned = "Planned",
        /// Under way, and was not announced.
        Unplanned = "Unplanned",
        CustomerActionNeeded = "CustomerActionNeeded",
    }
}

impl MaintenanceState {
    /// The state that a task sets which changes the signal and nothing else.
    pub fn from_signal(task: &str) -> Option<Self> {
        match task {
            "Pending" => Some(Self::Pending),
            "None" => Some(Self::None),
            "CustomerActionNeeded" => Some(Self::CustomerActionNeeded),
            _ => None,
        }
    }
}

impl Properties {
    /// Carries out a task that only changes the signal; `false`: the task is work.
    pub fn signal_maintenance(&mut self, by: Edge) -> bool {
        let Some(state) = MaintenanceState::from_signal(&self.maintenance_task) else { return false };
        self.maintenance_state.put(Some(state));
        self.maintenance_task.clear(by);
        true
    }

    /// Maintenance begins.
    pub(super) fn begin_maintenance(&mut self) {
        let announced = self.maintenance_state.get() == Some(&MaintenanceState::Pending);
        let state = if announced { MaintenanceState::Planned } else { MaintenanceState::Unplanned };
        self.maintenance_state.put(Some(state));
    }

    /// Maintenance is over.
    pub fn end_maintenance(&mut self, _by: Worker) {
        self.maintenance_state.put(Some(MaintenanceState::None));
    }
}

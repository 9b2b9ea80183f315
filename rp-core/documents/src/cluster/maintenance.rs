//! The maintenance state that customers see (`contract/api.md` §5, §6).

use super::defaults::fill_text;
use super::properties::Properties;
use super::string_enum::string_enum;
use super::writer::{ByBoth, Edge, MayWrite, Worker};

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

string_enum! {
    /// What an administrator can ask for by `properties.maintenanceTask`.
    pub enum MaintenanceTask {
        /// What an update without a task does.
        Everything = "Everything",
        OperatorUpdate = "OperatorUpdate",
        CertificatesRenewal = "CertificatesRenewal",
        SyncClusterObject = "SyncClusterObject",
        MigrateLoadBalancer = "MigrateLoadBalancer",
        /// A signal, as the two that follow.
        Pending = "Pending",
        None = "None",
        CustomerActionNeeded = "CustomerActionNeeded",
    }
}

impl MaintenanceTask {
    /// The state that the task sets, if it changes the signal and nothing else.
    pub const fn signal(self) -> Option<MaintenanceState> {
        match self {
            Self::Pending => Some(MaintenanceState::Pending),
            Self::None => Some(MaintenanceState::None),
            Self::CustomerActionNeeded => Some(MaintenanceState::CustomerActionNeeded),
            Self::Everything
            | Self::OperatorUpdate
            | Self::CertificatesRenewal
            | Self::SyncClusterObject
            | Self::MigrateLoadBalancer => None,
        }
    }
}

impl Properties {
    /// Carries out a task that only changes the signal; `false`: the task is work.
    pub fn signal_maintenance(&mut self, by: Edge) -> bool {
        let task = MaintenanceTask::named(&self.maintenance_task);
        let Some(state) = task.and_then(MaintenanceTask::signal) else { return false };
        self.maintenance_state.put(Some(state));
        self.maintenance_task.clear(by);
        true
    }

    /// An administrators' update without a task does everything.
    pub fn fill_maintenance_task(&mut self, by: impl MayWrite<ByBoth>) {
        fill_text(&mut self.maintenance_task, by, MaintenanceTask::Everything.name());
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

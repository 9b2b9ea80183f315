use super::{kubeconfig, metrics, ssh, tunnel};
use crate::{AccessDialog, Sample};

impl Sample for AccessDialog {
    fn samples() -> Vec<(&'static str, Self)> {
        [metrics::samples(), kubeconfig::samples(), ssh::samples(), tunnel::samples()].concat()
    }
}

use crate::{Sample, kubeconfig, metrics, ssh, tunnel};
use web::AccessDialog;

impl Sample for AccessDialog {
    fn samples() -> Vec<(&'static str, Self)> {
        [metrics::samples(), kubeconfig::samples(), ssh::samples(), tunnel::samples()].concat()
    }
}

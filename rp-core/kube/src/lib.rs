//! Kubernetes clients over the dialer; kubeconfig reading.

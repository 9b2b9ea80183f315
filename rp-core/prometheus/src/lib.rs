//! Reaching and asking a cluster's Prometheus and Alertmanager.

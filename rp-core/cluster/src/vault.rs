//! The vault that orders and keeps a cluster's certificates.

use async_trait::async_trait;
use rp_azure::{CertificateOrder, Vault};
use rp_base::Secret;
use serde_json::Value;

use crate::errors::StepError;

/// Progress of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// None was made.
    None,
    /// In progress; also one that failed and is retried by the vault (`[Status:FailedCanRetry]`).
    InProgress(String),
    /// The secret of that name has it.
    Done,
    /// It failed for good.
    Failed(String),
}

/// Key Vault's certificates, of one vault.
#[async_trait]
pub trait CertificateVault: Send + Sync + std::fmt::Debug + 'static {
    /// Orders a new version by that policy (Key Vault's `CertificatePolicy`).
    ///
    /// # Errors
    /// The vault's.
    async fn order(&self, name: &str, policy: &Value) -> Result<(), StepError>;

    /// Progress of the newest order.
    ///
    /// # Errors
    /// The vault's.
    async fn order_state(&self, name: &str) -> Result<Order, StepError>;

    /// The policy; `None`: there is no such certificate.
    ///
    /// # Errors
    /// The vault's.
    async fn policy(&self, name: &str) -> Result<Option<Value>, StepError>;

    /// Replaces the policy, for the versions to come.
    ///
    /// # Errors
    /// The vault's.
    async fn set_policy(&self, name: &str, policy: &Value) -> Result<(), StepError>;

    /// The newest version's secret: PEM of key and chain. `None`: there is none.
    ///
    /// # Errors
    /// The vault's.
    async fn secret(&self, name: &str) -> Result<Option<Secret<String>>, StepError>;

    /// Deletes the certificate; succeeds when there is none.
    ///
    /// # Errors
    /// The vault's.
    async fn delete(&self, name: &str) -> Result<(), StepError>;
}

#[async_trait]
impl CertificateVault for Vault {
    async fn order(&self, name: &str, policy: &Value) -> Result<(), StepError> {
        Ok(Self::order(self, name, policy).await?)
    }

    async fn order_state(&self, name: &str) -> Result<Order, StepError> {
        Ok(match Self::order_state(self, name).await? {
            CertificateOrder::None => Order::None,
            CertificateOrder::InProgress(seen) => Order::InProgress(seen),
            CertificateOrder::Done => Order::Done,
            CertificateOrder::Failed(why) => Order::Failed(why),
        })
    }

    async fn policy(&self, name: &str) -> Result<Option<Value>, StepError> {
        Ok(Self::policy(self, name).await?)
    }

    async fn set_policy(&self, name: &str, policy: &Value) -> Result<(), StepError> {
        Ok(Self::set_policy(self, name, policy).await?)
    }

    async fn secret(&self, name: &str) -> Result<Option<Secret<String>>, StepError> {
        Ok(Self::secret(self, name).await?.map(|secret| secret.value))
    }

    async fn delete(&self, name: &str) -> Result<(), StepError> {
        Ok(self.delete_certificate(name).await?)
    }
}

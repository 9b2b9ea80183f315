//! Documents of tests, as JSON.

use std::sync::Arc;

use rp_documents::{ClusterDocument, OpenShiftCluster};
use serde_json::{Value, json};

use crate::StepError;
use crate::context::Context;
use crate::document::Document;
use crate::json::set;

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

/// A document from JSON; names that every document has are filled in.
pub(crate) fn document(mut stored: Value) -> Document {
    for (pointer, usual) in
        [("/id", "a"), ("/key", "k"), ("/partitionKey", "p"), ("/openShiftCluster/id", ID)]
    {
        if stored.pointer(pointer).is_none() {
            set(&mut stored, pointer, json!(usual));
        }
    }
    Document::new(Arc::new(typed(stored)))
}

/// A stored document as its type.
pub(crate) fn typed(stored: Value) -> ClusterDocument {
    serde_json::from_value(stored).unwrap()
}

impl Document {
    /// A member of the cluster by pointer; null when it is not there.
    pub(crate) fn at(&self, pointer: &str) -> Value {
        serde_json::to_value(&**self).unwrap().pointer(pointer).cloned().unwrap_or_default()
    }

    /// A text by pointer; empty when it is not there.
    pub(crate) fn text_at(&self, pointer: &str) -> String {
        self.at(pointer).as_str().unwrap_or_default().to_owned()
    }
}

impl Context {
    /// Writes a member of the cluster by pointer.
    pub(crate) async fn set(
        &self,
        pointer: &'static str,
        value: impl Into<Value>,
    ) -> Result<Document, StepError> {
        let value = value.into();
        self.patch(move |cluster: &mut OpenShiftCluster, _| {
            let mut all = serde_json::to_value(&*cluster).unwrap();
            set(&mut all, pointer, value.clone());
            *cluster = serde_json::from_value(all).unwrap();
        })
        .await
    }
}

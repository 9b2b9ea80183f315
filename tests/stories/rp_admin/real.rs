//! Objects of a real kube-apiserver, read over the provider's API.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use reqwest::Method;
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, SystemClock, SystemRandom};
use rp_database::{Draft, SharedStore, in_memory};
use rp_documents::{Collection, ResourceId};
use rp_frontend::{
    AdminParts, AllowAll, ClusterConnector, Edge, FrontendParts, Offers, RoleSet, StoreOffers, router,
};
use rp_net::{
    Credential, Dialer, DialerOptions, Directory, DirectoryError, Endpoint, Networks, PrivateWay, Source,
    Target,
};
use rp_seal::Keyring;
use serde_json::{Value, json};
use tests_kit::{GENEROUS, OpenShift};

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/real";

#[derive(Debug)]
struct SingleTarget(Arc<Target>);

#[async_trait]
impl Directory for SingleTarget {
    async fn find(&self, _: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        Ok(Arc::clone(&self.0))
    }
}

/// The API in front of one API server.
pub(super) struct Api {
    /// Below the cluster's id.
    base: String,
    http: reqwest::Client,
    pub(super) audit: Audit,
    pub(super) store: SharedStore,
}

impl Api {
    /// The API in front of that API server.
    pub(super) async fn over(openshift: &OpenShift) -> Result<Self> {
        let token = Credential::Token(openshift.plane.admin_token().to_owned().into());
        let target = Target {
            id: ResourceId::parse(ID)?,
            source: Source::Aro,
            endpoint: Endpoint::Direct { url: openshift.plane.url().parse()? },
            server_name: "127.0.0.1".to_owned(),
            ca_pem: openshift.plane.authority().pem().to_owned(),
            read: token.clone(),
            admin: token,
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        };
        let dialer = Dialer::new(DialerOptions {
            private: PrivateWay::Direct,
            networks: Networks::new(vec!["127.0.0.0/8".parse()?], Vec::new()),
            keepalive: GENEROUS,
        });
        let store = in_memory(Arc::new(SystemClock));
        let body = json!({"id": "d", "key": ID.to_lowercase(), "partitionKey": "s", "openShiftCluster": {
            "id": ID, "properties": {"provisioningState": "Succeeded", "createdAt": SystemClock.now()}}});
        let draft = Draft {
            id: "d".to_owned(),
            partition: "s".to_owned(),
            unique_key: Some(ID.to_lowercase()),
            body: body.to_string(),
            expires_at: None,
        };
        store.create(Collection::OpenShiftClusters, draft).await?;
        let options = AuditOptions::new(CheckpointKey::generate()?);
        let audit = Audit::start(in_memory(Arc::new(SystemClock)), Arc::new(SystemClock), options).await?;
        let offers: Arc<dyn Offers> = StoreOffers::start(store.clone()).await;
        ensure!(offers.role_sets() == Vec::<RoleSet>::new());
        let parts = FrontendParts {
            store: store.clone(),
            keyring: Keyring::generate(&SystemRandom),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            authorizer: Arc::new(AllowAll),
            offers,
            checks: None,
            region: "eastus".to_owned(),
            domain: "eastus.aroapp.io".to_owned(),
            commit: "commit".to_owned(),
            development_workers: false,
            gateway: true,
            edge: Edge { audit: Some(audit.clone()), ..Edge::default() },
            admin: AdminParts {
                reach: Some(ClusterConnector {
                    directory: Arc::new(SingleTarget(Arc::new(target.fingerprinted()))),
                    dialer,
                }),
                ..AdminParts::default()
            },
            detectors: None,
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}/admin{ID}", listener.local_addr()?);
        let app = router(parts);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { base, http: reqwest::Client::builder().timeout(GENEROUS).build()?, audit, store })
    }

    pub(super) async fn ask(&self, query: &[(&str, &str)]) -> Result<(u16, Value)> {
        let (status, text) = self.send(Method::GET, "kubernetesobjects", query, None).await?;
        Ok((status, serde_json::from_str(&text)?))
    }

    /// A request below the cluster, read to its end.
    pub(super) async fn send(
        &self,
        method: Method,
        suffix: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<(u16, String)> {
        let answer = self.begin(method, suffix, query, body).await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// A request below the cluster, up to the head of its answer.
    pub(super) async fn begin(
        &self,
        method: Method,
        suffix: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<reqwest::Response> {
        let mut url = reqwest::Url::parse(&format!("{}/{suffix}", self.base))?;
        url.query_pairs_mut().extend_pairs(query);
        let request = self.http.request(method, url);
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        Ok(request.send().await?)
    }
}

/// The sentence of a refusal; empty: it is none.
pub(super) fn message(text: &str) -> String {
    let told: Value = serde_json::from_str(text).unwrap_or_default();
    told["error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server_is_read_by_kind_group_and_plural() -> Result<()> {
    let openshift = OpenShift::start().await?;
    let kubectl = openshift.admin();
    let namespace = "openshift-config";
    kubectl.run(&["create", "namespace", namespace]).await?;
    let maps: Vec<Value> = (0..1005)
        .map(|n| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{n:04}"), "namespace": namespace}})
        })
        .collect();
    let some = json!({"apiVersion": "v1", "kind": "List", "items": &maps[..3]}).to_string();
    kubectl.with_input(some.as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
    kubectl
        .ok(&["create", "secret", "generic", "pull-secret", "-n", namespace, "--from-literal=a=b"])
        .await?;

    let api = Api::over(&openshift).await?;
    for kind in ["ConfigMap", "configmaps", "configmap"] {
        let (status, told) = api.ask(&[("kind", kind), ("namespace", namespace), ("name", "m0001")]).await?;
        ensure!(status == 200 && told["metadata"]["name"] == "m0001", "{kind}: {status} {told}");
    }
    for kind in
        ["ClusterOperator", "ClusterOperator.config.openshift.io", "clusteroperators.config.openshift.io"]
    {
        let (status, told) = api.ask(&[("kind", kind)]).await?;
        ensure!(status == 200 && told["kind"] == "ClusterOperatorList", "{kind}: {status} {told}");
    }
    let (status, told) = api.ask(&[("kind", "ClusterRoleBinding.rbac.authorization.k8s.io")]).await?;
    ensure!(
        status == 200 && told["items"].as_array().is_some_and(|items| !items.is_empty()),
        "{status} {told}"
    );
    let (status, told) =
        api.ask(&[("kind", "ConfigMap"), ("namespace", namespace), ("name", "nothing")]).await?;
    let error = &told["error"];
    ensure!(
        status == 404 && error["code"] == "NotFound" && error["target"] == "configmaps/nothing",
        "{told}"
    );
    for kind in ["Secret", "secrets", "Secret."] {
        let (status, told) = api.ask(&[("kind", kind), ("namespace", namespace)]).await?;
        ensure!(
            matches!(status, 400 | 403) && !told.to_string().contains("pull-secret"),
            "{kind}: {status} {told}"
        );
    }
    // A resource without namespaces is not reached by naming one.
    let (status, told) = api.ask(&[("kind", "Namespace"), ("namespace", "openshift-etcd")]).await?;
    ensure!(status == 404, "{status} {told}");

    let rest = json!({"apiVersion": "v1", "kind": "List", "items": &maps[3..]}).to_string();
    kubectl.with_input(rest.as_bytes(), &["apply", "-f", "-", "--server-side"]).await?.ok()?;
    let (status, told) = api.ask(&[("kind", "ConfigMap"), ("namespace", namespace)]).await?;
    let error = &told["error"];
    ensure!(
        status == 500 && error["message"] == "Too many items returned." && error["target"] == "ConfigMap",
        "{told}"
    );
    let list = kubectl.ok(&["get", "--raw", "/api/v1/namespaces/openshift-config/configmaps/m0002"]).await?;
    let same: Value = serde_json::from_str(&list)?;
    let (_, told) = api.ask(&[("kind", "ConfigMap"), ("namespace", namespace), ("name", "m0002")]).await?;
    ensure!(told == same, "{told}");
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "namespace": namespace},
        "data": {"plain": "as it is", "kubeconfig": "clusters: []\ncontexts: []\nusers:\n- user: {token: hush-hush}\n"}});
    kubectl.with_input(held.to_string().as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
    let (_, told) = api.ask(&[("kind", "ConfigMap"), ("namespace", namespace), ("name", "held")]).await?;
    ensure!(told["data"]["plain"] == "as it is" && !told.to_string().contains("hush-hush"), "{told}");
    api.ask(&[]).await.context("it serves on")?;
    Ok(())
}

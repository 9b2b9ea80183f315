//! Blobs of one storage account (Blob service REST API).

use bytes::Bytes;
use http::Method;
use http::header::{HeaderName, HeaderValue};
use rp_base::Secret;
use url::Url;

use crate::arm::HttpRequest;
use crate::client::Client;
use crate::cloud::Audience;
use crate::error::{AzureError, ErrorKind};
use crate::resources::missing;
use crate::transport::{CallName, HttpResponse};

const VERSION: HeaderValue = HeaderValue::from_static("2021-12-02");
const VERSION_NAME: HeaderName = HeaderName::from_static("x-ms-version");
const BLOB_TYPE: HeaderName = HeaderName::from_static("x-ms-blob-type");
const APPEND_AT: HeaderName = HeaderName::from_static("x-ms-blob-condition-appendpos");
const RANGE: HeaderName = HeaderName::from_static("x-ms-range");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// By what right blobs are read and written.
#[derive(Debug, Clone)]
pub enum BlobAccess {
    /// The client's own identity.
    Token,
    /// A shared access signature: the query that ARM gave ([`crate::StorageAccounts::account_sas`]).
    Sas(Secret<String>),
}

/// The blobs of an account, as one identity sees them.
#[derive(Debug, Clone)]
pub struct BlobStore {
    client: Client,
    account: Url,
    access: BlobAccess,
}

impl BlobStore {
    /// Of the account with that blob endpoint, e.g. `https://NAME.blob.core.windows.net`.
    pub const fn new(client: Client, account: Url, access: BlobAccess) -> Self {
        Self { client, account, access }
    }

    /// Writes a whole blob, over what was there.
    ///
    /// # Errors
    /// [`AzureError`]; code `ContainerNotFound` when the container is not there.
    pub async fn put(
        &self,
        container: &str,
        name: &str,
        content: Bytes,
        content_type: &'static str,
    ) -> Result<(), AzureError> {
        let kind = (BLOB_TYPE, HeaderValue::from_static("BlockBlob"));
        let body = Some((HeaderValue::from_static(content_type), content));
        self.ask(("put", "put blob"), Method::PUT, container, Some(name), vec![kind], body).await.map(|_| ())
    }

    /// Writes a whole blob where there is none; `false`: there is one.
    ///
    /// # Errors
    /// [`AzureError`]; code `ContainerNotFound` when the container is not there.
    pub async fn create(
        &self,
        container: &str,
        name: &str,
        content: Bytes,
        content_type: &'static str,
    ) -> Result<bool, AzureError> {
        let headers = vec![
            (BLOB_TYPE, HeaderValue::from_static("BlockBlob")),
            (http::header::IF_NONE_MATCH, HeaderValue::from_static("*")),
        ];
        let body = Some((HeaderValue::from_static(content_type), content));
        let asked = self.ask(("put", "create blob"), Method::PUT, container, Some(name), headers, body).await;
        match asked {
            Err(error) if error.code == "BlobAlreadyExists" => Ok(false),
            made => made.map(|_| true),
        }
    }

    /// A whole blob, up to 16 MiB; `None`: it is not there.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn get(&self, container: &str, name: &str) -> Result<Option<Bytes>, AzureError> {
        let asked = self.ask(("get", "get blob"), Method::GET, container, Some(name), Vec::new(), None).await;
        Ok(missing(asked)?.map(|answer| answer.body))
    }

    /// Whether a blob is there.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn exists(&self, container: &str, name: &str) -> Result<bool, AzureError> {
        let asked =
            self.ask(("head", "look for blob"), Method::HEAD, container, Some(name), Vec::new(), None);
        Ok(missing(asked.await)?.is_some())
    }

    /// Deletes a blob; one that is not there is deleted.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn delete(&self, container: &str, name: &str) -> Result<(), AzureError> {
        let asked =
            self.ask(("delete", "delete blob"), Method::DELETE, container, Some(name), Vec::new(), None);
        missing(asked.await).map(|_| ())
    }

    /// Makes an empty append blob, over what was there.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn create_append(&self, container: &str, name: &str) -> Result<(), AzureError> {
        // Nothing says that the body is empty unless it is said here, and the service insists.
        let headers = vec![
            (BLOB_TYPE, HeaderValue::from_static("AppendBlob")),
            (http::header::CONTENT_LENGTH, HeaderValue::from_static("0")),
        ];
        let body = Some((BYTES, Bytes::new()));
        let asked =
            self.ask(("put", "create append blob"), Method::PUT, container, Some(name), headers, body);
        asked.await.map(|_| ())
    }

    /// Adds a block (at most 4 MiB) to an append blob that is `at` bytes long: a try that is made again, for its
    /// answer got lost, adds nothing twice.
    ///
    /// # Errors
    /// [`AzureError`]; code `AppendPositionConditionNotMet` when the blob has another length.
    pub async fn append(&self, container: &str, name: &str, at: u64, block: Bytes) -> Result<(), AzureError> {
        let shown = "append to blob";
        let mut url = self.url(shown, container, Some(name))?;
        url.query_pairs_mut().append_pair("comp", "appendblock");
        let at = (APPEND_AT, HeaderValue::from(at));
        self.send(("append", shown), Method::PUT, url, vec![at], Some((BYTES, block))).await.map(|_| ())
    }

    /// The length of a blob, bytes; `None`: it is not there.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn length(&self, container: &str, name: &str) -> Result<Option<u64>, AzureError> {
        let shown = "look for blob";
        let asked = self.ask(("head", shown), Method::HEAD, container, Some(name), Vec::new(), None);
        let Some(answer) = missing(asked.await)? else { return Ok(None) };
        let length = answer.headers.get(http::header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        let length = length.and_then(|length| length.parse().ok());
        length.map(Some).ok_or_else(|| AzureError::new(shown, ErrorKind::Malformed, "it names no length"))
    }

    /// A part of a blob: at most `most` bytes (up to 16 MiB) from `from` on; empty at its end. `None`: it is not there.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn part(
        &self,
        container: &str,
        name: &str,
        from: u64,
        most: u64,
    ) -> Result<Option<Bytes>, AzureError> {
        let last = from.saturating_add(most.max(1)) - 1;
        let range = HeaderValue::from_str(&format!("bytes={from}-{last}"))
            .map_err(|_| AzureError::new("get blob", ErrorKind::Request, "this is no range"))?;
        let asked =
            self.ask(("get", "get blob"), Method::GET, container, Some(name), vec![(RANGE, range)], None);
        match asked.await {
            // Nothing is there from there on.
            Err(error) if error.status == Some(416) => Ok(Some(Bytes::new())),
            asked => Ok(missing(asked)?.map(|answer| answer.body)),
        }
    }

    /// Creates a container; one that is there is as good.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn create_container(&self, container: &str) -> Result<(), AzureError> {
        let nothing = Some((HeaderValue::from_static("application/octet-stream"), Bytes::new()));
        let asked =
            self.ask(("put", "create container"), Method::PUT, container, None, Vec::new(), nothing).await;
        match asked {
            Err(error) if error.code != "ContainerAlreadyExists" => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes a container with its blobs; one that is not there is deleted.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn delete_container(&self, container: &str) -> Result<(), AzureError> {
        let asked =
            self.ask(("delete", "delete container"), Method::DELETE, container, None, Vec::new(), None);
        missing(asked.await).map(|_| ())
    }

    async fn ask(
        &self,
        (operation, shown): (&'static str, &'static str),
        method: Method,
        container: &str,
        blob: Option<&str>,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Option<(HeaderValue, Bytes)>,
    ) -> Result<HttpResponse, AzureError> {
        let url = self.url(shown, container, blob)?;
        self.send((operation, shown), method, url, headers, body).await
    }

    /// The account's blob endpoint.
    pub const fn endpoint(&self) -> &Url {
        &self.account
    }

    pub(crate) async fn send(
        &self,
        (operation, shown): (&'static str, &'static str),
        method: Method,
        url: Url,
        mut headers: Vec<(HeaderName, HeaderValue)>,
        body: Option<(HeaderValue, Bytes)>,
    ) -> Result<HttpResponse, AzureError> {
        headers.push((VERSION_NAME, VERSION));
        let scope = matches!(self.access, BlobAccess::Token).then(|| self.client.scope(Audience::Storage));
        let name = CallName { client: "blobs", operation, shown };
        let http_request = HttpRequest { name, scope, method, url, headers, body };
        let arm = &self.client.arm;
        arm.retrier().repeat(self.client.repeat, shown, || arm.exchange(&http_request)).await
    }

    fn url(&self, shown: &'static str, container: &str, blob: Option<&str>) -> Result<Url, AzureError> {
        let not = |why| AzureError::new(shown, ErrorKind::Request, why);
        let mut url = self.account.clone();
        let parts: Vec<&str> =
            std::iter::once(container).chain(blob.into_iter().flat_map(|name| name.split('/'))).collect();
        if parts.iter().any(|part| part.is_empty() || *part == "." || *part == "..") {
            return Err(not("the name of the blob is none"));
        }
        url.path_segments_mut()
            .map_err(|()| not("the account's address is none"))?
            .pop_if_empty()
            .extend(&parts);
        if let BlobAccess::Sas(sas) = &self.access {
            url.set_query(Some(sas.expose().trim_start_matches('?')));
        }
        if blob.is_none() {
            url.query_pairs_mut().append_pair("restype", "container");
        }
        Ok(url)
    }
}

//! Hostile paths, queries and tokens.

use proptest::prelude::*;
use proptest::sample::select;

use crate::world::{NEWEST, SUB, World, block_on, path, wanted};

const SEGMENTS: [&str; 30] = [
    "subscriptions",
    SUB,
    "resourceGroups",
    "Group",
    "providers",
    "Microsoft.RedHatOpenShift",
    "openShiftClusters",
    "c",
    "locations",
    "eastus",
    "operationsstatus",
    "openshiftversions",
    "admin",
    "versions",
    "clusters",
    "kubernetesobjects",
    "kubeconfig",
    "new",
    "detectors",
    "listcredentials",
    "..",
    ".",
    "",
    "%2f",
    "%2e%2e",
    "%00",
    "%ff",
    "%C3%89",
    "a;b",
    "billingdocuments",
];

proptest! {
    /// A path of any segments is one of ours or leads nowhere.
    #[test]
    fn any_path_is_answered(
        method in select(vec!["GET", "POST", "DELETE", "PATCH", "PUT", "HEAD", "OPTIONS"]),
        segments in proptest::collection::vec(select(&SEGMENTS[..]), 0..12),
        version in select(vec![NEWEST, "admin", "", "2019-01-01", "%00"]),
    ) {
        // A cluster of another name: nothing here can be its body.
        let path = format!("/{}?api-version={version}", segments.join("/"));
        block_on(async {
            let world = World::with_cluster().await;
            let (before, delete) = (world.written().await, method == "DELETE");
            let told = world.call(method, &path).await;
            let mut known = told.is_documented();
            // An answer to HEAD has no body that could name a code (RFC 9110 §9.3.2).
            known |= method == "HEAD" && told.status == 400 && told.text.is_empty();
            // There is no Hive, cluster connector, grant issuer or detector.
            known |= told.status == 503 || told.text.contains("hive is not enabled");
            known |= told.text.contains("clusters cannot be reached from here");
            prop_assert!(known, "{method} {path}: {told:?}");
            if !(delete && told.status == 202) {
                prop_assert_eq!(world.written().await, before, "{} {}", method, path);
            }
            Ok(())
        })?;
    }

    /// Text of any kind as a segment.
    #[test]
    fn any_name_is_answered(name in any::<String>(), query in any::<String>()) {
        let escape = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let (name, query) = (escape(&name).replace('+', "%20"), escape(&query));
        block_on(async {
            let world = World::with_cluster().await;
            let paths = [
                path(&name, NEWEST),
                path("c", &query),
                format!("/subscriptions/{name}?api-version={query}"),
                format!("/subscriptions/{SUB}/providers/Microsoft.RedHatOpenShift/locations/eastus/openshiftversions/{name}?api-version={NEWEST}"),
                format!("/subscriptions/{SUB}/providers/Microsoft.RedHatOpenShift/locations/eastus/operationsstatus/{name}?api-version={NEWEST}"),
                format!("/admin/billingdocuments/{name}"),
                format!("/admin/clusters?name={query}&state={name}"),
                format!("/admin/supportedvmsizes?vmRole={query}"),
                format!("{}&%24skipToken={query}", path("", NEWEST).replace("/?", "?")),
            ];
            for path in paths {
                let told = world.call("GET", &path).await;
                prop_assert!(told.is_documented(), "{path}: {told:?}");
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn pages_show_every_cluster_once_and_tokens_cannot_be_made() {
    let world = World::new().await;
    for n in 0..23 {
        assert_eq!(world.put(&format!("c{n:02}"), NEWEST, &wanted(n)).await.status, 201);
    }
    let first = path("", NEWEST).replace("/?", "?");
    let (mut names, mut next, mut pages, mut tokens) = (Vec::new(), Some(first.clone()), 0, Vec::new());
    while let Some(path) = next.take() {
        let told = world.call("GET", &path).await;
        assert_eq!(told.status, 200, "{}", told.text);
        let page = told.json();
        names.extend(
            page["value"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        if let Some(link) = page["nextLink"].as_str() {
            let link = url::Url::parse(link).unwrap();
            tokens.extend(
                link.query_pairs()
                    .find(|(name, _)| name == "$skipToken")
                    .map(|(_, token)| token.into_owned()),
            );
            next = Some(format!("{}?{}", link.path(), link.query().unwrap()));
        }
    }
    let all: Vec<String> = (0..23).map(|n| format!("c{n:02}")).collect();
    assert_eq!((names, pages, tokens.len()), (all, 3, 2));
    let token = tokens[0].as_bytes();
    for at in 0..token.len() {
        let mut bent = token.to_vec();
        bent[at] = if bent[at] == b'A' { b'B' } else { b'A' };
        let bent = String::from_utf8(bent).unwrap();
        let escaped: String = url::form_urlencoded::byte_serialize(bent.as_bytes()).collect();
        let told = world.call("GET", &format!("{first}&$skipToken={escaped}")).await;
        // The last digit of base 64 may carry bits that mean nothing.
        let same = told.status == 200 && at + 3 >= token.len();
        assert!(same || told.status == 400 && told.code() == "InvalidParameter", "{at}: {told:?}");
    }
}

//! Resource ids: one form as a key, whatever the case; parts that stand where they are said to; nothing else is one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::api::fuzzing::split;
use rp_api::text::{is_domain, is_group, range, resource_group, split_resource_id, subnet};
use rp_documents::ResourceId;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ =
        (is_domain(text, true), is_domain(text, false), is_group(text), range(text), resource_group(text));
    let _ = (split_resource_id(text).is_some(), subnet(text).is_some());
    if let Some((id, tail)) = split(text) {
        assert!(tail.is_empty() || tail.starts_with('/'));
        assert_eq!(format!("{id}").len() + "/kubeconfig/proxy".len() + tail.len(), text.len());
    }
    let Ok((id, rest)) = ResourceId::parse_prefix(text) else { return };
    assert!(rest.is_empty() || rest.starts_with('/'));
    assert_eq!(format!("{}{rest}", id.original()), text);
    assert_eq!(ResourceId::parse(id.key()).as_ref(), Ok(&id));
    assert_eq!(id.key(), id.original().to_ascii_lowercase());
    let again = ResourceId::from_parts(id.subscription(), id.resource_group(), id.name());
    assert_eq!(again.as_ref(), Ok(&id));
    // They stand in paths, in addresses and in lines of logs.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_().".contains(&byte);
    for part in [id.subscription(), id.resource_group(), id.name()] {
        assert!(!part.is_empty() && part.bytes().all(plain), "{part:?}");
        assert!(!matches!(part, "." | ".."), "{part:?} is a step of a path");
    }
});

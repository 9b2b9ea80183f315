//! Paths of the resource manager, in lower case: it does not tell cases apart.

/// The id of a resource of a group: provider, and pairs of type and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourcePath {
    pub subscription: String,
    pub group: String,
    /// `microsoft.network`.
    pub provider: String,
    /// `[("virtualnetworks", "v"), ("subnets", "s")]`.
    pub parts: Vec<(String, String)>,
}

impl ResourcePath {
    /// Parses a full id in lower case; `None`: it is not a resource of a group.
    pub(super) fn parse(key: &str) -> Option<Self> {
        let words: Vec<&str> = key.strip_prefix('/')?.split('/').collect();
        let ["subscriptions", subscription, "resourcegroups", group, "providers", provider, rest @ ..] =
            words.as_slice()
        else {
            return None;
        };
        if rest.is_empty() || rest.contains(&"providers") || rest.len() % 2 != 0 {
            return None;
        }
        let pairs = rest.chunks_exact(2).filter_map(|pair| match pair {
            [kind, name] => Some(((*kind).to_owned(), (*name).to_owned())),
            _ => None,
        });
        Some(Self {
            subscription: (*subscription).to_owned(),
            group: (*group).to_owned(),
            provider: (*provider).to_owned(),
            parts: pairs.collect(),
        })
    }

    /// `microsoft.network/virtualnetworks/subnets`.
    pub fn kind(&self) -> String {
        let types = self.parts.iter().map(|(kind, _)| kind.as_str());
        std::iter::once(self.provider.as_str()).chain(types).collect::<Vec<_>>().join("/")
    }

    /// The last name.
    pub fn name(&self) -> &str {
        self.parts.last().map_or("", |(_, name)| name)
    }
}

/// The type of resource groups, as they are kept.
pub(super) const GROUP: &str = "microsoft.resources/resourcegroups";

/// The id of something that may be put and deleted: a group or a resource at any scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Id {
    /// In lower case.
    pub(super) key: String,
    /// As written in the request.
    pub(super) asked: String,
    /// `microsoft.network/virtualnetworks/subnets`.
    pub(super) kind: String,
}

impl Id {
    pub(super) fn parse(path: &str) -> Option<Self> {
        match ArmPath::parse(path)? {
            ArmPath::Resource(id) => Some(id),
            _ => None,
        }
    }

    /// The last name, as written in the request.
    pub(super) fn name(&self) -> &str {
        self.asked.rsplit('/').next().unwrap_or_default()
    }

    /// The type with the letters of the path.
    pub(super) fn shown_kind(&self) -> String {
        if self.kind == GROUP {
            return "Microsoft.Resources/resourceGroups".to_owned();
        }
        let words: Vec<&str> = self.asked.split('/').collect();
        let from = words.iter().rposition(|word| word.eq_ignore_ascii_case("providers")).unwrap_or_default();
        let mut rest = words.iter().skip(from + 1);
        let provider = rest.next().copied().unwrap_or_default();
        std::iter::once(provider).chain(rest.step_by(2).copied()).collect::<Vec<_>>().join("/")
    }

    /// The group it is in, as a key.
    pub(super) fn group(&self) -> Option<&str> {
        group_of(&self.key)
    }

    /// The parent resource: `…/virtualnetworks/v` of a subnet; `None`: a top-level resource.
    pub(super) fn parent(&self) -> Option<&str> {
        (self.kind.matches('/').count() > 1).then(|| {
            let (rest, _) = self.key.rsplit_once('/')?;
            Some(rest.rsplit_once('/')?.0)
        })?
    }
}

/// The group of a key.
pub(super) fn group_of(key: &str) -> Option<&str> {
    let (at, _) = key.match_indices('/').nth(4).unwrap_or((key.len(), ""));
    key.get(..at).filter(|head| head.contains("/resourcegroups/"))
}

/// The subscription of a key; empty for tenant-level keys.
pub(super) fn subscription_of(key: &str) -> &str {
    key.strip_prefix("/subscriptions/").map_or("", |rest| rest.split('/').next().unwrap_or_default())
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArmPath {
    Subscriptions,
    Subscription(String),
    /// The groups of a subscription.
    Groups(String),
    /// The providers of a subscription.
    Providers(String),
    /// One of them, perhaps with `register` behind it.
    Provider {
        subscription: String,
        provider: String,
        action: Option<String>,
    },
    /// All resources of a subscription or a group, given by its key.
    Everything(String),
    Resource(Id),
    /// A list of what is below a scope or a resource, or an action on it.
    Below {
        /// Key of the scope (subscription, group, resource).
        parent: String,
        /// `microsoft.compute/virtualmachines`.
        kind: String,
        /// The last word: a type, or an action.
        word: String,
    },
}

impl ArmPath {
    pub(super) fn parse(path: &str) -> Option<Self> {
        let key = path.to_ascii_lowercase();
        let words: Vec<&str> = key.strip_prefix('/')?.split('/').collect();
        if words.iter().any(|word| word.is_empty()) {
            return None;
        }
        let own = |word: &str| word.to_owned();
        let (scope, rest) = match words.as_slice() {
            ["subscriptions"] => return Some(Self::Subscriptions),
            ["subscriptions", one] => return Some(Self::Subscription(own(one))),
            ["subscriptions", one, "resourcegroups"] => return Some(Self::Groups(own(one))),
            ["subscriptions", one, "resources"] => {
                return Some(Self::Everything(format!("/subscriptions/{one}")));
            }
            ["subscriptions", one, "providers"] => return Some(Self::Providers(own(one))),
            ["subscriptions", one, "providers", provider, action @ ..] if action.len() < 2 => {
                let action = action.first().copied();
                if action.is_none_or(|word| word == "register" || word == "unregister") {
                    let (subscription, provider) = (own(one), own(provider));
                    return Some(Self::Provider { subscription, provider, action: action.map(own) });
                }
                (format!("/subscriptions/{one}"), words.get(2..)?)
            }
            ["subscriptions", one, "resourcegroups", group] => {
                let key = format!("/subscriptions/{one}/resourcegroups/{group}");
                return Some(Self::Resource(Id { key, asked: path.to_owned(), kind: own(GROUP) }));
            }
            ["subscriptions", one, "resourcegroups", group, "resources"] => {
                return Some(Self::Everything(format!("/subscriptions/{one}/resourcegroups/{group}")));
            }
            ["subscriptions", one, "resourcegroups", group, ..] => {
                (format!("/subscriptions/{one}/resourcegroups/{group}"), words.get(4..)?)
            }
            ["subscriptions", one, ..] => (format!("/subscriptions/{one}"), words.get(2..)?),
            ["providers", ..] => (String::new(), words.as_slice()),
            _ => return None,
        };
        Self::below(path, scope, rest)
    }

    /// Parses what follows a scope: `providers/NS(/type/name)*`, repeated, optionally with a word at the end.
    fn below(path: &str, mut scope: String, mut rest: &[&str]) -> Option<Self> {
        let mut kind = String::new();
        loop {
            match rest {
                [] => {
                    let (key, asked) = (scope, path.to_owned());
                    return kind.contains('/').then_some(Self::Resource(Id { key, asked, kind }));
                }
                ["providers", provider, more @ ..] => {
                    if let [word] = more {
                        let kind = format!("{provider}/{word}");
                        return Some(Self::Below { parent: scope, kind, word: (*word).to_owned() });
                    }
                    scope = format!("{scope}/providers/{provider}");
                    kind = (*provider).to_owned();
                    rest = more;
                    if rest.is_empty() {
                        return None;
                    }
                }
                // Segments after a group that are not a provider.
                _ if kind.is_empty() => return None,
                [word] => {
                    let kind = format!("{kind}/{word}");
                    return Some(Self::Below { parent: scope, kind, word: (*word).to_owned() });
                }
                [of, name, more @ ..] => {
                    scope = format!("{scope}/{of}/{name}");
                    kind = format!("{kind}/{of}");
                    rest = more;
                }
            }
        }
    }

    /// Its subscription; empty for tenant-level paths.
    pub(super) fn subscription(&self) -> &str {
        match self {
            Self::Subscriptions => "",
            Self::Subscription(one) | Self::Groups(one) | Self::Providers(one) => one,
            Self::Provider { subscription, .. } => subscription,
            Self::Everything(key) => subscription_of(key),
            Self::Resource(id) => subscription_of(&id.key),
            Self::Below { parent, .. } => subscription_of(parent),
        }
    }
}

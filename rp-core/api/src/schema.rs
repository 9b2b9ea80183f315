//! What a version of the API shows of a cluster: a tree of members, each with its place in the stored document, its
//! form and who may change it (`contract/api.md` §8.2, §9, §11.4). Decoding, conversion, the rules of change,
//! answers and the published description all walk this one tree.

/// Who may change a member after create (`contract/api.md` §11.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nobody.
    Never,
    /// The caller.
    Free,
    /// Nobody, but its case may differ.
    AnyCase,
    /// It must be absent from the merged request of an update.
    ReadOnly,
}

/// How a response shows a zero value, and what `null` means in a request
/// (`contract/api.md` §8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Left out when zero. `null` has no effect on a scalar and clears a list or a map.
    Plain,
    /// An object that is always there, if empty. `null` has no effect.
    Fixed,
    /// An object that may be absent. `null` clears it.
    Nullable,
}

/// The form of a value.
#[derive(Debug, Clone)]
pub enum Shape {
    Text,
    Int,
    Bool,
    Object(Members),
    List(Box<Self>),
    Map(Box<Self>),
}

/// One member of an object.
#[derive(Debug, Clone)]
pub struct Member {
    /// On the wire.
    pub name: &'static str,
    /// In the stored document.
    pub stored: &'static str,
    pub shape: Shape,
    pub change: Change,
    pub presence: Presence,
    /// A map that a request replaces as a whole (`contract/api.md` §10.1: `tags`).
    pub replaced: bool,
    /// It is blanked in every answer (`contract/api.md` §9.1).
    pub secret: bool,
    /// The values that there are, under the name that descriptions give them.
    pub choice: Option<Choice>,
    /// What it is, for the published description.
    pub says: &'static str,
}

/// An enumeration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub name: &'static str,
    /// Sorted.
    pub values: &'static [&'static str],
}

/// The members of an object in the order of answers.
#[derive(Debug, Clone, Default)]
pub struct Members(pub Vec<Member>);

/// A member with that form; immutable and left out when zero.
pub(crate) fn member(name: &'static str, shape: Shape, says: &'static str) -> Member {
    Member {
        name,
        stored: name,
        shape,
        change: Change::Never,
        presence: Presence::Plain,
        replaced: false,
        secret: false,
        choice: None,
        says,
    }
}

pub(crate) fn text(name: &'static str, says: &'static str) -> Member {
    member(name, Shape::Text, says)
}

pub(crate) fn int(name: &'static str, says: &'static str) -> Member {
    member(name, Shape::Int, says)
}

pub(crate) fn object(name: &'static str, says: &'static str, members: Vec<Member>) -> Member {
    Member { presence: Presence::Fixed, ..member(name, Shape::Object(Members(members)), says) }
}

pub(crate) fn objects(name: &'static str, says: &'static str, members: Vec<Member>) -> Member {
    member(name, Shape::List(Box::new(Shape::Object(Members(members)))), says)
}

pub(crate) fn map(name: &'static str, says: &'static str, of: Shape) -> Member {
    member(name, Shape::Map(Box::new(of)), says)
}

impl Member {
    pub(crate) fn change(self, change: Change) -> Self {
        Self { change, ..self }
    }

    pub(crate) fn free(self) -> Self {
        self.change(Change::Free)
    }

    pub(crate) fn read_only(self) -> Self {
        self.change(Change::ReadOnly)
    }

    pub(crate) fn nullable(self) -> Self {
        Self { presence: Presence::Nullable, ..self }
    }

    pub(crate) fn replaced(self) -> Self {
        Self { replaced: true, ..self }
    }

    pub(crate) fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    pub(crate) fn stored(self, stored: &'static str) -> Self {
        Self { stored, ..self }
    }

    pub(crate) fn choice(self, name: &'static str, values: &'static [&'static str]) -> Self {
        Self { choice: Some(Choice { name, values }), ..self }
    }
}

impl Shape {
    /// The members below, through lists and maps; none for a scalar.
    fn members_mut(&mut self) -> Option<&mut Members> {
        match self {
            Self::Object(members) => Some(members),
            Self::List(of) | Self::Map(of) => of.members_mut(),
            Self::Text | Self::Int | Self::Bool => None,
        }
    }

    /// The members below, through lists and maps; none for a scalar.
    pub fn members(&self) -> Option<&Members> {
        match self {
            Self::Object(members) => Some(members),
            Self::List(of) | Self::Map(of) => of.members(),
            Self::Text | Self::Int | Self::Bool => None,
        }
    }
}

impl Members {
    /// The member of exactly that name.
    pub fn get(&self, name: &str) -> Option<&Member> {
        self.0.iter().find(|member| member.name == name)
    }

    /// The member at a path of names joined by dots; lists and maps are passed through.
    pub fn at(&self, path: &str) -> Option<&Member> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let member = self.get(first)?;
        match rest {
            None => Some(member),
            Some(rest) => member.shape.members()?.at(rest),
        }
    }

    fn at_mut(&mut self, path: &str) -> Option<&mut Member> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let member = self.0.iter_mut().find(|member| member.name == first)?;
        match rest {
            None => Some(member),
            Some(rest) => member.shape.members_mut()?.at_mut(rest),
        }
    }

    /// Adds a member at the end of the object at `path` (empty: the top).
    pub(crate) fn add(&mut self, path: &str, member: Member) {
        let place =
            if path.is_empty() { Some(self) } else { self.at_mut(path).and_then(|m| m.shape.members_mut()) };
        debug_assert!(place.is_some(), "{path} is no object of this version");
        if let Some(place) = place {
            place.0.push(member);
        }
    }

    /// Adds a member behind the one called `after` in the object at `path` (empty: the top).
    pub(crate) fn add_after(&mut self, path: &str, after: &str, member: Member) {
        let place =
            if path.is_empty() { Some(self) } else { self.at_mut(path).and_then(|m| m.shape.members_mut()) };
        let at = place.as_ref().and_then(|place| place.0.iter().position(|other| other.name == after));
        debug_assert!(at.is_some(), "{path} has no {after} in this version");
        if let (Some(place), Some(at)) = (place, at) {
            place.0.insert(at + 1, member);
        }
    }

    /// Removes the member at the path.
    pub(crate) fn remove(&mut self, path: &str) {
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let place = if parent.is_empty() {
            Some(self)
        } else {
            self.at_mut(parent).and_then(|m| m.shape.members_mut())
        };
        debug_assert!(place.as_ref().is_some_and(|place| place.get(name).is_some()), "{path} is not there");
        if let Some(place) = place {
            place.0.retain(|member| member.name != name);
        }
    }

    /// Makes the members at the paths read-only; a request must no longer contain them.
    pub(crate) fn make_read_only(&mut self, paths: &[&str]) {
        for path in paths {
            let found = self.at_mut(path);
            debug_assert!(found.is_some(), "{path} is not there");
            if let Some(member) = found {
                member.change = Change::ReadOnly;
            }
        }
    }

    /// Calls `see` for every leaf and object with its path, lists marked `[]`, maps `{}`.
    pub fn walk<'a>(&'a self, see: &mut impl FnMut(&str, &'a Member)) {
        self.walk_from("", see);
    }

    fn walk_from<'a>(&'a self, before: &str, see: &mut impl FnMut(&str, &'a Member)) {
        for member in &self.0 {
            let path =
                if before.is_empty() { member.name.to_owned() } else { format!("{before}.{}", member.name) };
            see(&path, member);
            let mark = match member.shape {
                Shape::List(_) => "[]",
                Shape::Map(_) => "{}",
                _ => "",
            };
            if let Some(below) = member.shape.members() {
                below.walk_from(&format!("{path}{mark}"), see);
            }
        }
    }
}

//! A row of the route table: all that is declared of a route. The rows are in `routes.rs` and `routes/`.

use axum::routing::{MethodFilter, MethodRouter};
use portal_model::state::PortalState;
use rp_documents::Role;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedCaller {
    /// Anybody.
    Public,
    /// Any signed-in caller, whatever their role.
    SignedIn,
    /// Callers with the role.
    Role(Role),
}

impl AllowedCaller {
    /// The name in the references.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "anybody",
            Self::SignedIn => "signed in",
            Self::Role(role) => role.name(),
        }
    }
}

/// What a call leaves in the audit trail, with the verb of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditClass {
    /// Nothing from the gate: the call needs no entry, or the handler writes its own.
    None,
    /// One entry at its end, queued.
    Read(&'static str),
    /// A durable entry before the effect, by the handler; refusals are queued by the gate.
    Change(&'static str),
}

impl AuditClass {
    /// The name in the reference.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Read(_) => "Read",
            Self::Change(_) => "Change",
        }
    }
}

/// The methods that the table uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }

    /// What the router matches; GET takes HEAD along.
    pub(crate) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// Describes a type in JSON Schema: gives its schema, and defines in the generator what that refers to.
pub type Shape = fn(&mut SchemaGenerator) -> Schema;

/// What a call sends, for the OpenAPI document.
#[derive(Debug, Clone, Copy)]
pub enum RouteBody {
    /// The row does not say. A test refuses that of a `POST` in the document.
    Undeclared,
    /// Nothing is read.
    Empty,
    /// JSON.
    Json {
        shape: Shape,
        /// Reads a body as the handler does; the error says what is wrong with it.
        read: fn(&str) -> Result<(), String>,
    },
    /// Fields of a form, or of a query that is too long for a URL.
    Form { shape: Shape, example: &'static [(&'static str, &'static str)] },
}

fn read_json<T: DeserializeOwned>(text: &str) -> Result<(), String> {
    serde_json::from_str::<T>(text).map(drop).map_err(|error| error.to_string())
}

/// Routes a method to the function that answers; `handler!` makes it of the function.
pub(crate) type Handler = fn(MethodFilter) -> MethodRouter<PortalState>;

/// Longest request body where the row does not say another, in bytes.
const BODY: usize = 256 * 1024;

/// One row. `get`, `post` and `delete` make it; what is not usual is added by its methods.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub method: Method,
    /// Pattern; `{x}` is one segment, `{*x}` the rest.
    pub path: &'static str,
    pub who: AllowedCaller,
    /// An unsafe call with a cookie needs a CSRF token and the right origin; with a bearer token, none.
    pub csrf: bool,
    pub audit: AuditClass,
    pub(crate) handler: Handler,
    /// Longest request body, in bytes.
    pub(crate) body: usize,
    /// What the OpenAPI document says of it; only routes of the JSON API are in there.
    pub(crate) doc: Option<RouteDoc>,
    /// The types that the handler reads the query into, for the OpenAPI document.
    pub(crate) query: [Option<Shape>; 2],
    /// What the call sends, for the OpenAPI document.
    pub takes: RouteBody,
    /// The answer when it succeeds, for the OpenAPI document.
    pub(crate) answer: RouteAnswer,
    /// What the handler refuses beside the gate, for the OpenAPI document.
    pub(crate) refusals: [Refusals; 2],
    /// The handler may ask for a sign-in of the last minutes, for the OpenAPI document.
    pub(crate) fresh: bool,
    /// A parameter of the path with all its values, for the OpenAPI document.
    pub(crate) values: Option<PathValues>,
}

/// Statuses of errors, each with the stable codes that an answer of the status may carry.
pub(crate) type Refusals = &'static [(u16, &'static [&'static str])];

/// The name of a parameter of the path, and all the values that it may have.
pub(crate) type PathValues = (&'static str, fn() -> Vec<&'static str>);

/// What the OpenAPI document says of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteDoc {
    /// The id of the operation; generated clients call their method so.
    pub(crate) operation: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteAnswer {
    pub(crate) status: u16,
    /// Content type.
    pub(crate) kind: &'static str,
    /// The type that is answered, where it is JSON.
    pub(crate) schema: Option<Shape>,
    /// Other content types that a caller may get, by a parameter or by what is there. They are no JSON.
    pub(crate) other_kinds: [Option<&'static str>; 2],
}

/// A page, or a read of the JSON API. It takes no body.
pub(crate) const fn get(
    path: &'static str,
    who: AllowedCaller,
    audit: AuditClass,
    handler: Handler,
) -> Route {
    let (method, answer) = (Method::Get, ANYTHING);
    let (query, takes) = ([None, None], RouteBody::Undeclared);
    let (csrf, fresh, body, doc, refusals, values) = (false, false, 0, None, [NO_REFUSALS; 2], None);
    Route {
        method,
        path,
        who,
        csrf,
        audit,
        handler,
        body,
        doc,
        query,
        takes,
        answer,
        refusals,
        fresh,
        values,
    }
}

/// A form, or a call of the JSON API that has a body.
pub(crate) const fn post(
    path: &'static str,
    who: AllowedCaller,
    audit: AuditClass,
    handler: Handler,
) -> Route {
    Route { method: Method::Post, csrf: true, body: BODY, ..get(path, who, audit, handler) }
}

/// A removal by the JSON API.
pub(crate) const fn delete(
    path: &'static str,
    who: AllowedCaller,
    audit: AuditClass,
    handler: Handler,
) -> Route {
    Route { method: Method::Delete, ..post(path, who, audit, handler) }
}

impl Route {
    /// For callers without a cookie: the body authenticates them.
    pub(crate) const fn without_csrf(self) -> Self {
        Self { csrf: false, ..self }
    }

    /// Sets the longest request body, in bytes.
    pub(crate) const fn body(self, body: usize) -> Self {
        Self { body, ..self }
    }

    /// Describes a route of the JSON API: the name of the operation, its tag, and what it does.
    pub(crate) const fn doc(self, operation: &'static str, tag: &'static str, summary: &'static str) -> Self {
        Self { doc: Some(RouteDoc { operation, tag, summary }), ..self }
    }

    /// Describes the parameters of the query: the type that the handler reads them into. A second call adds the second
    /// type of a handler that reads two.
    pub(crate) const fn query<T: JsonSchema>(self) -> Self {
        let query = match self.query {
            [None, _] => [Some(T::json_schema as Shape), None],
            [first, _] => [first, Some(T::json_schema as Shape)],
        };
        Self { query, ..self }
    }

    /// Describes the body: the type that the handler reads it into.
    pub(crate) const fn takes<T: JsonSchema + DeserializeOwned>(self) -> Self {
        let takes = RouteBody::Json { shape: SchemaGenerator::subschema_for::<T>, read: read_json::<T> };
        Self { takes, ..self }
    }

    /// Describes a body that is a form.
    pub(crate) const fn takes_form<T: JsonSchema>(
        self,
        example: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { takes: RouteBody::Form { shape: SchemaGenerator::subschema_for::<T>, example }, ..self }
    }

    /// Says that no body is read.
    pub(crate) const fn takes_nothing(self) -> Self {
        Self { takes: RouteBody::Empty, ..self }
    }

    /// Describes the answer; any JSON without.
    pub(crate) const fn answers(self, answer: RouteAnswer) -> Self {
        Self { answer, ..self }
    }

    /// Names what the handler refuses for reasons of its own. A second call adds a second table.
    pub(crate) const fn refuses(self, more: Refusals) -> Self {
        let refusals = match self.refusals {
            [[], _] => [more, NO_REFUSALS],
            [first, _] => [first, more],
        };
        Self { refusals, ..self }
    }

    /// Says that the handler may ask for a sign-in of the last minutes (`[access] fresh_sign_in`).
    pub(crate) const fn fresh(self) -> Self {
        Self { fresh: true, ..self }
    }

    /// Names all the values of a parameter of the path.
    pub(crate) const fn one_of(self, parameter: &'static str, values: fn() -> Vec<&'static str>) -> Self {
        Self { values: Some((parameter, values)), ..self }
    }
}

const NO_REFUSALS: Refusals = &[];

impl RouteAnswer {
    /// Adds another content type that a caller may get; at most two.
    pub(crate) const fn or(self, kind: &'static str) -> Self {
        let other_kinds = match self.other_kinds {
            [None, _] => [Some(kind), None],
            [first, _] => [first, Some(kind)],
        };
        Self { other_kinds, ..self }
    }
}

/// JSON that is not described.
const ANYTHING: RouteAnswer =
    RouteAnswer { status: 200, kind: "application/json", schema: None, other_kinds: [None, None] };

/// JSON of a type.
pub(crate) const fn json<T: JsonSchema>() -> RouteAnswer {
    RouteAnswer { schema: Some(SchemaGenerator::subschema_for::<T>), ..ANYTHING }
}

/// JSON of what was made, with the status 201.
pub(crate) const fn created<T: JsonSchema>() -> RouteAnswer {
    RouteAnswer { status: 201, ..json::<T>() }
}

/// Bytes of another content type.
pub(crate) const fn content(kind: &'static str) -> RouteAnswer {
    RouteAnswer { kind, ..ANYTHING }
}

/// Nothing, with the status 204.
pub(crate) const NO_CONTENT: RouteAnswer = RouteAnswer { status: 204, ..ANYTHING };

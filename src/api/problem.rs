//! Errors as problem details (RFC 9457): the one form in which a request fails.

use crate::store::StoreError;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

/// Kinds of problems: the status, the end of the type's name, and the title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Malformed,
    Unauthenticated,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    Conflict,
    Stale,
    TooSlow,
    TooLarge,
    MediaType,
    Misdirected,
    Unprocessable,
    PreconditionRequired,
    TooManyRequests,
    Internal,
    Unavailable,
}

/// Every kind, for the description of the API.
pub(super) const KINDS: [Kind; 16] = [
    Kind::Malformed,
    Kind::Unauthenticated,
    Kind::Forbidden,
    Kind::NotFound,
    Kind::MethodNotAllowed,
    Kind::Conflict,
    Kind::Stale,
    Kind::TooSlow,
    Kind::TooLarge,
    Kind::MediaType,
    Kind::Misdirected,
    Kind::Unprocessable,
    Kind::PreconditionRequired,
    Kind::TooManyRequests,
    Kind::Internal,
    Kind::Unavailable,
];

impl Kind {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::Stale => StatusCode::PRECONDITION_FAILED,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
            Self::PreconditionRequired => StatusCode::PRECONDITION_REQUIRED,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-request",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::Conflict => "conflict",
            Self::Stale => "stale-revision",
            Self::TooSlow => "too-slow",
            Self::TooLarge => "too-large",
            Self::MediaType => "unsupported-media-type",
            Self::Misdirected => "misdirected",
            Self::Unprocessable => "unprocessable-content",
            Self::PreconditionRequired => "if-match-required",
            Self::TooManyRequests => "too-many-requests",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Malformed => "The request is malformed",
            Self::Unauthenticated => "A token is required",
            Self::Forbidden => "The request is not allowed",
            Self::NotFound => "There is no such thing",
            Self::MethodNotAllowed => "The method is not allowed here",
            Self::Conflict => "The request does not fit the present state",
            Self::Stale => "Somebody else changed it meanwhile",
            Self::TooSlow => "The request took too long to arrive",
            Self::TooLarge => "The request is too large",
            Self::MediaType => "The form of the content is not supported",
            Self::Misdirected => "The request is for another host",
            Self::Unprocessable => "The content cannot be used",
            Self::PreconditionRequired => "If-Match is required",
            Self::TooManyRequests => "Too many requests",
            Self::Internal => "The service failed",
            Self::Unavailable => "The service cannot answer now",
        }
    }

    /// A problem of this kind; `detail` says what to do about it.
    pub(super) fn problem(self, detail: impl Into<String>) -> Problem {
        Problem {
            kind: Cow::Owned(format!("urn:caqtus:problem:{}", self.name())),
            title: Cow::Borrowed(self.title()),
            status: self.status().as_u16(),
            detail: detail.into(),
            retry_after_s: None,
        }
    }
}

/// Why a request failed (RFC 9457).
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct Problem {
    /// What kind of problem, as in `urn:caqtus:problem:not-found`.
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    /// The kind in words.
    pub(super) title: Cow<'static, str>,
    /// The status of the answer.
    pub(super) status: u16,
    /// What went wrong, and what to do.
    pub(super) detail: String,
    /// Seconds after which to try again.
    #[serde(skip)]
    retry_after_s: Option<u64>,
}

impl Problem {
    /// The same with a time after which to try again.
    pub(super) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"caqtus\""));
        }
        // Pages show it as a page.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        // What the store says is for who runs the service; it may hold parts of statements.
        let error = anyhow::Error::from(error);
        tracing::error!(error = format!("{error:#}"), "the store failed");
        let away = error.downcast_ref::<StoreError>().is_some_and(StoreError::is_away);
        if away {
            return Kind::Unavailable.problem("the store cannot be reached; try again later").retry_after(5);
        }
        Kind::Internal.problem("the store refused a statement; the log of the service has it under this request's id")
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        tracing::error!(error = format!("{error:#}"), "a request failed");
        Kind::Internal.problem("the log of the service says why, under this request's id")
    }
}

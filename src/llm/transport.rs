//! One attempt over HTTP: bounded in time and in bytes.
//!
//! The client library calls this service in place of its own, which would repeat attempts and read bodies of any size.
//! Statuses other than success end here as errors, together with the header that the library does not show.

use crate::clock;
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Bytes read of the body of an error response.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Sends requests, each once.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    pub http: reqwest::Client,
    /// Bound on a whole attempt.
    pub attempt: Duration,
    /// Bound on the body of a successful response.
    pub bytes_max: usize,
    /// Whether there is no key; then no header for it is sent either.
    pub anonymous: bool,
}

/// Why an attempt brought no successful response.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransportError {
    #[error("status {status}")]
    Status { status: u16, retry_after: Option<Duration>, body: String },
    #[error("out of time")]
    TimedOut,
    #[error("no connection: {0}")]
    Unreachable(String),
    #[error("connection lost: {0}")]
    CutOff(String),
    #[error("too many bytes")]
    TooLong { bytes_max: usize },
}

impl tower::Service<HttpRequestFactory> for Transport {
    type Response = reqwest::Response;
    type Error = tower::BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<reqwest::Response, tower::BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let transport = self.clone();
        Box::pin(async move {
            let mut request = factory.build().await?;
            if transport.anonymous {
                request.headers_mut().remove(AUTHORIZATION);
            }
            let sent = tokio::time::timeout(transport.attempt, transport.send(request)).await;
            Ok(sent.unwrap_or(Err(TransportError::TimedOut))?)
        })
    }
}

impl Transport {
    async fn send(&self, request: reqwest::Request) -> Result<reqwest::Response, TransportError> {
        let mut response = self.http.execute(request).await.map_err(lost)?;
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(response.headers(), clock::unix_nanos() / 1_000_000_000);
            // An error page that breaks off still has its status.
            let (body, _) = read(&mut response, ERROR_BYTES_MAX).await;
            let body = String::from_utf8_lossy(&body).into_owned();
            return Err(TransportError::Status { status: status.as_u16(), retry_after, body });
        }
        // A length that is announced need not be read to be refused.
        if response.content_length().is_some_and(|length| length > self.bytes_max as u64) {
            return Err(TransportError::TooLong { bytes_max: self.bytes_max });
        }
        let (body, end) = read(&mut response, self.bytes_max).await;
        match end {
            End::Complete => {}
            End::TooLong => return Err(TransportError::TooLong { bytes_max: self.bytes_max }),
            End::Broken(error) => return Err(lost(error)),
        }
        let mut whole = http::Response::new(body);
        *whole.status_mut() = status;
        Ok(whole.into())
    }
}

/// How reading a body ended.
enum End {
    Complete,
    TooLong,
    Broken(reqwest::Error),
}

/// At most `bytes_max` bytes of a body.
async fn read(response: &mut reqwest::Response, bytes_max: usize) -> (Vec<u8>, End) {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return (body, End::Complete),
            Ok(Some(chunk)) if chunk.len() > bytes_max - body.len() => {
                body.extend_from_slice(&chunk[..bytes_max - body.len()]);
                return (body, End::TooLong);
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Err(error) => return (body, End::Broken(error)),
        }
    }
}

/// A failure of the network. Its URL is left out, because the user knows it; the innermost cause says most.
fn lost(error: reqwest::Error) -> TransportError {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let message = cause.to_string();
    match () {
        () if error.is_timeout() => TransportError::TimedOut,
        () if error.is_connect() => TransportError::Unreachable(message),
        () => TransportError::CutOff(message),
    }
}

/// The time that `Retry-After` asks for: a number of seconds or a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, unix_now: u64) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = text.parse().ok().or_else(|| Some(unix_seconds(text)?.saturating_sub(unix_now)))?;
    Some(Duration::from_secs(seconds))
}

/// Reads a date in the one form that is still to be sent (IMF-fixdate, RFC 9110, section 5.6.7), such as
/// `Sun, 06 Nov 1994 08:49:37 GMT`.
fn unix_seconds(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|m| *m == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut time = words.next()?.split(':').map(str::parse::<u64>);
    let mut part = || time.next()?.ok();
    let (hour, minute, second) = (part()?, part()?, part()?);
    let in_range = (1970..10_000).contains(&year) && day <= 31 && hour < 24 && minute < 60 && second <= 60;
    if words.next() != Some("GMT") || !in_range {
        return None;
    }
    // Days since the first of March of year 0, because then the leap day is the year's last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    Some(days.checked_sub(719_469)? * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        for (text, expected) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 1994 18446744073709551615:49:37 GMT", None),
            ("", None),
        ] {
            assert_eq!(unix_seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn waiting_times_are_read() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().expect("a header's value"));
            retry_after(&headers, 784_111_770)
        };
        assert_eq!(read("3"), Some(Duration::from_secs(3)));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:27 GMT"), Some(Duration::ZERO), "in the past");
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
    }
}

//! HTTP requests and responses, their bytes, and the service that answers.

use std::sync::Arc;

/// Longest head of a request, in bytes and in fields.
const HEAD_MAX: usize = 8192;
const FIELDS_MAX: usize = 64;

/// An HTTP response.
pub struct HttpResponse {
    /// An HTTP status with its name.
    pub status: &'static str,
    /// Media type of the body.
    pub content_type: &'static str,
    /// The allowed methods of a path, if the request has another one.
    pub allow: &'static str,
    /// The text.
    pub body: String,
    /// Set if events follow the response for as long as the connection lasts.
    pub(super) has_events: bool,
}

/// An HTTP request.
#[derive(Debug, Clone, Copy)]
pub struct HttpRequest<'r> {
    /// `GET` and the like.
    pub method: &'r str,
    /// Path without the query.
    pub path: &'r str,
    fields: &'r [httparse::Header<'r>],
}

/// A service that answers requests.
pub trait Service: Send + Sync + 'static {
    /// The answer to a request.
    fn answer(&self, asked: &HttpRequest<'_>) -> HttpResponse;

    /// The latest event and its number, if that is above `seen`: for clients that asked for
    /// [events](HttpResponse::events). It is called a few times a second.
    fn event(&self, _seen: u64) -> Option<(u64, Arc<str>)> {
        None
    }
}

impl<'r> HttpRequest<'r> {
    /// A request without fields.
    pub fn new(method: &'r str, path: &'r str) -> Self {
        Self { method, path, fields: &[] }
    }

    /// Returns whether the request reads (GET or HEAD).
    pub fn reads(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }

    /// Returns the value of a field of the head; names are case-insensitive.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok()
    }
}

impl HttpResponse {
    /// A page.
    pub fn page(content_type: &'static str, body: String) -> Self {
        Self { status: "200 OK", content_type, allow: "", body, has_events: false }
    }

    /// Events of the service, from the next on, in the format of browsers (`text/event-stream`).
    pub fn events() -> Self {
        Self { has_events: true, ..Self::page("text/event-stream", String::new()) }
    }

    /// A line of text.
    pub fn plain(status: &'static str, line: &str) -> Self {
        let content_type = "text/plain; charset=utf-8";
        Self { status, content_type, allow: "", body: format!("{line}\n"), has_events: false }
    }

    /// The answer for a path with only these methods.
    pub fn not_allowed(methods: &'static str) -> Self {
        let line = if methods == "GET, HEAD" { "read only" } else { methods };
        Self { allow: methods, ..Self::plain("405 Method Not Allowed", line) }
    }
}

/// Bytes of the answer to a request, once its head is complete, and whether events follow.
pub(super) fn answered(
    head: &[u8],
    answer: &dyn Fn(&HttpRequest<'_>) -> HttpResponse,
) -> Option<(Vec<u8>, bool)> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let too_long = "431 Request Header Fields Too Large";
    let mut with_body = true;
    let answer = match request.parse(head) {
        Ok(httparse::Status::Partial) if head.len() < HEAD_MAX => return None,
        Ok(httparse::Status::Partial) => HttpResponse::plain(too_long, "the request is too long"),
        Err(httparse::Error::TooManyHeaders) => {
            HttpResponse::plain(too_long, "too many header fields")
        }
        Err(_) => HttpResponse::plain("400 Bad Request", "this is not an HTTP request"),
        Ok(httparse::Status::Complete(_)) => {
            let method = request.method.unwrap_or_default();
            with_body = method != "HEAD";
            let path = path(request.path.unwrap_or_default());
            answer(&HttpRequest { method, path, fields: request.headers })
        }
    };
    let HttpResponse { status, content_type, allow, body, has_events } = answer;
    let has_events = has_events && with_body;
    let allow = if allow.is_empty() { String::new() } else { format!("Allow: {allow}\r\n") };
    // What is served changes while it is looked at.
    let length =
        if has_events { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{length}{allow}\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    if with_body {
        bytes += &body;
    }
    Some((bytes.into_bytes(), has_events))
}

/// Returns the path of a target, without any host before it.
fn path(target: &str) -> &str {
    let target = target
        .strip_prefix("http://")
        .map_or(target, |rest| rest.find('/').map_or("/", |slash| &rest[slash..]));
    target.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> Option<String> {
        let answer = |asked: &HttpRequest<'_>| {
            if asked.reads() {
                HttpResponse::plain("200 OK", asked.path)
            } else {
                HttpResponse::not_allowed("GET, HEAD")
            }
        };
        answered(head.as_bytes(), &answer).map(|(bytes, _)| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_request_is_answered_when_its_head_is_whole_whatever_body_it_announces() {
        for announced in ["99999999999", "18446744073709551615", "nonsense"] {
            let head = format!("GET /metrics?x=1 HTTP/1.1\r\nContent-Length: {announced}\r\n\r\n");
            for cut in 0..head.len() {
                assert_eq!(asked(&head[..cut]), None);
            }
            let answer = asked(&head).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with("Connection: close\r\n\r\n/metrics\n"));
        }
    }

    #[test]
    fn what_is_no_request_to_read_is_reported() {
        let status = |head: &str| asked(head).map(|answer| answer[9..12].to_owned());
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n").as_deref(), Some("405"));
        assert_eq!(status("PING\r\n\r\n").as_deref(), Some("400"));
        assert_eq!(status("\u{1}\u{2}\u{3}").as_deref(), Some("400"));
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD_MAX));
        assert_eq!(status(&long).as_deref(), Some("431"));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS_MAX + 1));
        assert_eq!(status(&many).as_deref(), Some("431"));
        let head = asked("HEAD http://here:1/metrics HTTP/1.0\r\n\r\n").unwrap();
        assert!(head.contains("Content-Length: 9\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }
}

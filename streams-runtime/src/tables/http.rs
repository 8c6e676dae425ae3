//! Tables that an HTTP server has: all rows in one answer, or one row an answer.

use std::time::Duration;

use streams_core::lookup::{Fetch, NotFetched, Row};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer with all rows, and with one.
const MOST_ALL: u64 = 1 << 30;
const MOST_ONE: u64 = 1 << 20;

/// A server, and an address of it.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    agent: ureq::Agent,
    url: String,
}

impl Http {
    pub(crate) fn new(url: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            // What a status means differs for one row and for all.
            .http_status_as_error(false)
            .build();
        Self { agent: config.into(), url: url.to_owned() }
    }

    /// The answer with all rows.
    pub(crate) fn all(&self) -> Result<Vec<u8>, String> {
        let found = self.get(&self.url, MOST_ALL)?;
        found.ok_or_else(|| "the server says that there is no such page (404)".to_owned())
    }

    /// What lies there, unless nothing does.
    fn get(&self, url: &str, most: u64) -> Result<Option<Vec<u8>>, String> {
        let mut answer = self.agent.get(url).call().map_err(|error| error.to_string())?;
        match answer.status().as_u16() {
            200 => {
                let body = answer.body_mut().with_config().limit(most).read_to_vec();
                body.map(Some).map_err(|error| format!("the answer cannot be read: {error}"))
            }
            404 => Ok(None),
            status => Err(format!("the server answers with status {status}")),
        }
    }
}

impl Fetch for Http {
    fn fetch(&self, key: &serde_json::Value) -> Result<Option<Row>, NotFetched> {
        let text = match key {
            serde_json::Value::String(text) => encoded(text),
            serde_json::Value::Number(number) => number.to_string(),
            other => {
                return Err(NotFetched::Bad(format!(
                    "the key {other} cannot stand in an address; use a text or a number"
                )));
            }
        };
        let url = self.url.replace("{key}", &text);
        super::patient(|| self.get(&url, MOST_ONE)).map(|body| body.map(Row::Json)).map_err(NotFetched::Away)
    }
}

/// As a part of a path or of a query.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn keys_are_parts_of_addresses() {
        assert_eq!(super::encoded("a/b ü?"), "a%2Fb%20%C3%BC%3F");
    }
}

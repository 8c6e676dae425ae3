//! Where the brokers are and who asks: checked once, before the first connection.

use std::fmt;

use super::error::Error;

/// Bytes of a batch that a broker takes with its default `maxMessageSize`.
const DEFAULT_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The longest name of a group, as the broker limits it.
const GROUP_CHARS: usize = 255;

/// A key that never shows: its `Debug` prints nothing of it, and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Whether connections are encrypted. Certificates are always checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tls {
    /// They are not.
    Off,
    /// They are; those vouch for the servers that the system trusts.
    System,
    /// They are; the authorities in this file of certificates, in PEM, vouch for the servers.
    Authority(String),
}

/// How to reach the brokers.
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses of name servers, each `host:port`; any one of them is enough.
    pub namesrv: Vec<String>,
    /// The access key, where the brokers ask for one; only together with the secret key.
    pub access_key: Option<Secret>,
    /// The secret key that requests are signed with.
    pub secret_key: Option<Secret>,
    /// Whether connections are encrypted, and who vouches for the servers.
    pub tls: Tls,
    /// The group in whose name is pulled and sent.
    pub group: String,
    /// This process's name among the members of its group; no other process may have the same.
    pub client_id: String,
    /// Bytes that one send may have; the brokers' `maxMessageSize`, 4 MiB unless they were set up otherwise.
    pub batch_bytes: usize,
}

impl Config {
    /// Without keys, not encrypted, with the brokers' default limit.
    pub fn new(
        namesrv: impl IntoIterator<Item = impl Into<String>>,
        group: impl Into<String>,
        client_id: impl Into<String>,
    ) -> Self {
        Self {
            namesrv: namesrv.into_iter().map(Into::into).collect(),
            access_key: None,
            secret_key: None,
            tls: Tls::Off,
            group: group.into(),
            client_id: client_id.into(),
            batch_bytes: DEFAULT_BATCH_BYTES,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if self.namesrv.is_empty() {
            return wrong("no address of a name server; give at least one, as `host:9876`".to_owned());
        }
        for address in &self.namesrv {
            let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
                return wrong(format!("`{address}` is no address of a name server; write it as `host:9876`"));
            }
        }
        group_name(&self.group)?;
        if self.client_id.is_empty() || self.client_id.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return wrong(format!(
                "`{}` does not name a client; give it a name without white space",
                self.client_id
            ));
        }
        let keys = [&self.access_key, &self.secret_key];
        if keys.iter().any(|key| key.as_ref().is_some_and(|key| key.text().is_empty())) {
            return wrong("an access key or a secret key is empty; leave out both, or give both".to_owned());
        }
        if self.access_key.is_some() != self.secret_key.is_some() {
            return wrong("one of access key and secret key is missing; give both, or none".to_owned());
        }
        if let Tls::Authority(file) = &self.tls
            && let Err(error) = std::fs::File::open(file)
        {
            return wrong(format!("`{file}`, which should have the certificates to trust: {error}"));
        }
        Ok(())
    }
}

/// Whether `group` can be the name of a group of consumers.
pub(super) fn group_name(group: &str) -> Result<(), Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '%' | '|' | '_' | '-');
    if group.is_empty() || group.len() > GROUP_CHARS || !group.chars().all(fits) {
        return wrong(format!(
            "`{group}` cannot be the name of a group; use up to {GROUP_CHARS} letters, digits and `%|_-`"
        ));
    }
    Ok(())
}

fn wrong(what: String) -> Result<(), Error> {
    Err(Error::Config { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&mut Config), expected: &str) {
        let mut config = Config::new(["localhost:9876"], "group", "client-1");
        config.check().unwrap();
        change(&mut config);
        let text = config.check().unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn mistakes_are_named() {
        check(|c| c.namesrv.clear(), "no address of a name server");
        check(|c| c.namesrv.push("localhost".to_owned()), "`localhost` is no address");
        check(|c| c.namesrv.push(":9876".to_owned()), "`:9876` is no address");
        check(|c| c.namesrv.push("localhost:x".to_owned()), "write it as `host:9876`");
        check(|c| c.group = "a b".to_owned(), "`a b` cannot be the name of a group");
        check(|c| c.client_id = String::new(), "does not name a client");
        check(|c| c.access_key = Some(Secret::new("a")), "give both");
        check(|c| c.secret_key = Some(Secret::new("")), "is empty");
    }

    #[test]
    fn keys_do_not_show() {
        let mut config = Config::new(["localhost:9876"], "group", "client-1");
        config.access_key = Some(Secret::new("open-sesame"));
        config.secret_key = Some(Secret::new("open-sesame"));
        assert!(!format!("{config:?}").contains("sesame"));
        config.group = "a b".to_owned();
        assert!(!format!("{:?}", config.check()).contains("sesame"));
    }
}

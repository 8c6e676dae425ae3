//! `mysql://user@host:port/database?option=value`: where the server is and how to reach it.
//!
//! The password stands in no address: it would show in lists of processes, in shells' histories and in logs. It
//! comes from the environment or from a file that the environment names.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The variable that has the password.
pub const PASSWORD: &str = "STREAMS_MYSQL_PASSWORD";
/// The variable that names a file with the password.
pub const PASSWORD_FILE: &str = "STREAMS_MYSQL_PASSWORD_FILE";

const DEFAULT_PORT: u16 = 3306;
const DEFAULT_TIMEOUT_S: u64 = 10;
const FORM: &str = "write `mysql://user@host:3306/database`";

/// How connections are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    Off,
    /// The server's certificate is signed by one of the public authorities.
    Public,
    /// The server's certificate is signed by one of those in this PEM file.
    Authority(PathBuf),
}

/// A server, a database in it, and how to reach them.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The user.
    pub user: String,
    /// The server's name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The server's Unix socket, used in place of host and port.
    pub socket: Option<PathBuf>,
    /// The database.
    pub database: String,
    /// Whether connections are encrypted.
    pub tls: Tls,
    /// How long the server may take for a statement before the connection counts as lost.
    pub timeout: Duration,
    password: Option<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Without what is secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}@", self.user)?;
        match &self.socket {
            Some(path) => write!(f, "{}", path.display())?,
            None if self.host.contains(':') => write!(f, "[{}]:{}", self.host, self.port)?,
            None => write!(f, "{}:{}", self.host, self.port)?,
        }
        write!(f, "/{}", self.database)
    }
}

/// An option of an address: `name=value`.
pub(super) type Parameter = (String, String);

impl Address {
    /// Reads an address; the password is looked up by `env`.
    ///
    /// # Errors
    /// A text that says what to write instead.
    pub fn parse(text: &str, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let (address, rest) = Self::parse_with(text, env)?;
        match rest.first() {
            None => Ok(address),
            Some((name, _)) => Err(format!(
                "unknown option `{name}` of a MySQL address; there are `socket`, `tls`, `ca` and `timeout`"
            )),
        }
    }

    /// As [`parse`](Self::parse), and the options that are not about the connection.
    pub(super) fn parse_with(
        text: &str,
        env: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<(Self, Vec<Parameter>), String> {
        // Order: no text below may show an address before it is known to have no password in it.
        let rest =
            text.strip_prefix("mysql://").ok_or_else(|| format!("this is no MySQL address; {FORM}"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, rest) =
            rest.rsplit_once('@').ok_or_else(|| format!("a MySQL address has no user; {FORM}"))?;
        if user.contains(':') {
            return Err(format!(
                "a password in an address shows in lists of processes and in logs; leave it out, and set {PASSWORD}, \
                 or {PASSWORD_FILE} to the name of a file that has it"
            ));
        }
        let (place, database) =
            rest.split_once('/').ok_or_else(|| format!("`{text}` names no database; {FORM}"))?;
        let (host, port) = host_and_port(place).ok_or_else(|| {
            format!("`{place}` is no address of a server; write it as `host:{DEFAULT_PORT}`")
        })?;
        let (user, database) = (decoded(user)?, decoded(database)?);
        if user.is_empty() || database.is_empty() {
            let what = if user.is_empty() { "user" } else { "database" };
            return Err(format!("`{text}` names no {what}; {FORM}"));
        }
        let mut address = Self {
            user,
            host: host.to_owned(),
            port,
            socket: None,
            database,
            tls: Tls::Off,
            timeout: Duration::from_secs(DEFAULT_TIMEOUT_S),
            password: None,
        };
        let mut others = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| format!("`{option}` is no option; write `{option}=VALUE`"))?;
            let value = decoded(value)?;
            match name {
                "socket" => address.socket = Some(PathBuf::from(value)),
                "tls" => {
                    address.tls = match value.as_str() {
                        "on" => Tls::Public,
                        "off" => Tls::Off,
                        _ => return Err(format!("`tls={value}` is unknown; write `tls=on` or `tls=off`")),
                    }
                }
                "ca" => {
                    std::fs::File::open(&value)
                        .map_err(|error| format!("`ca={value}` names a file that cannot be read: {error}"))?;
                    address.tls = Tls::Authority(PathBuf::from(value));
                }
                "timeout" => address.timeout = seconds(&value)?,
                _ => others.push((name.to_owned(), value)),
            }
        }
        if address.socket.is_some() && address.tls != Tls::Off {
            return Err("a Unix socket is not encrypted; leave out `socket`, or `tls` and `ca`".to_owned());
        }
        address.password = password(env)?;
        Ok((address, others))
    }

    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Whether both reach the same server as the same user, so that one transaction can write for both.
    #[must_use]
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.user == other.user
            && self.host == other.host
            && self.port == other.port
            && self.socket == other.socket
    }
}

fn host_and_port(place: &str) -> Option<(&str, u16)> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(DEFAULT_PORT), |port| port.parse().ok())?;
    (!host.is_empty()).then_some((host, port))
}

fn seconds(value: &str) -> Result<Duration, String> {
    match value.parse::<u64>() {
        Ok(seconds @ 1..=3600) => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("`timeout={value}` is no number of seconds from 1 to 3600")),
    }
}

/// Without `%` escapes.
fn decoded(text: &str) -> Result<String, String> {
    let wrong = || format!("`{text}` has a `%` that is no escape; write `%25` for it");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit().ok_or_else(wrong)?, digit().ok_or_else(wrong)?);
                u8::try_from(high << 4 | low).map_err(|_| wrong())?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).map_err(|_| format!("`{text}` is not UTF-8 behind its escapes"))
}

fn password(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<String>, String> {
    let text = |name: &str, value: OsString| {
        value.into_string().map_err(|_| format!("{name} is not UTF-8; set it to text"))
    };
    match (env(PASSWORD), env(PASSWORD_FILE)) {
        (Some(_), Some(_)) => Err(format!("{PASSWORD} and {PASSWORD_FILE} are both set; unset one of them")),
        (Some(value), None) => Ok(Some(text(PASSWORD, value)?)),
        (None, Some(file)) => {
            let file = PathBuf::from(file);
            let read = std::fs::read_to_string(&file).map_err(|error| {
                format!("{PASSWORD_FILE} names `{}`, which cannot be read: {error}", file.display())
            })?;
            // The line's end is the editor's.
            let line = read.strip_suffix('\n').unwrap_or(&read);
            Ok(Some(line.strip_suffix('\r').unwrap_or(line).to_owned()))
        }
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "open-sesame";

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let shown = match Address::parse(text, &nothing) {
            Ok(address) => format!("{address} {:?} {:?}", address.tls, address.timeout),
            Err(error) => error,
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn addresses() {
        check("mysql://u@h/db", "mysql://u@h:3306/db Off 10s");
        check("mysql://u@[::1]:5/d%62?timeout=3", "mysql://u@[::1]:5/db Off 3s");
        check("mysql://u@h/db?socket=/run/my%20sql", "mysql://u@/run/my sql/db Off 10s");
        check("mysql://u@h:1/db?tls=on", "mysql://u@h:1/db Public 10s");
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display();
        let expect = format!("mysql://u@h:1/db Authority(\"{path}\") 10s");
        check(&format!("mysql://u@h:1/db?ca={path}"), &expect);
    }

    #[test]
    fn mistakes() {
        check("mysql:u@h/db", "this is no MySQL address; write `mysql://user@host:3306/database`");
        check("mysql://h/db", "a MySQL address has no user; write `mysql://user@host:3306/database`");
        check("mysql://u@h", "`mysql://u@h` names no database; write `mysql://user@host:3306/database`");
        check("mysql://u@h/", "`mysql://u@h/` names no database; write `mysql://user@host:3306/database`");
        check("mysql://u@h:x/db", "`h:x` is no address of a server; write it as `host:3306`");
        check("mysql://u@h/db?timeout=0", "`timeout=0` is no number of seconds from 1 to 3600");
        check(
            "mysql://u@h/db?ca=/nowhere.pem",
            "`ca=/nowhere.pem` names a file that cannot be read: No such file or directory (os error 2)",
        );
        check("mysql://u@h/%zz", "`%zz` has a `%` that is no escape; write `%25` for it");
        check(
            "mysql://u@h/db?table=t",
            "unknown option `table` of a MySQL address; there are `socket`, `tls`, `ca` and `timeout`",
        );
        check(
            "mysql://u@h/db?socket=/s&tls=on",
            "a Unix socket is not encrypted; leave out `socket`, or `tls` and `ca`",
        );
    }

    #[test]
    fn passwords_come_from_the_environment_and_never_show() {
        for text in ["mysql://u:open-sesame@h/db", "mysql://u:open-sesame@h", "mysql://u:open-sesame@/"] {
            let error = Address::parse(text, &nothing).unwrap_err();
            assert!(error.contains(PASSWORD) && !error.contains(SECRET), "{error}");
        }
        let set = |name: &str| (name == PASSWORD).then(|| SECRET.into());
        let address = Address::parse("mysql://u@h/db", &set).unwrap();
        assert_eq!(address.password(), Some(SECRET));
        assert!(!format!("{address:?} {address}").contains(SECRET));

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "open-sesame\n").unwrap();
        let named = |name: &str| (name == PASSWORD_FILE).then(|| file.path().into());
        assert_eq!(Address::parse("mysql://u@h/db", &named).unwrap().password(), Some(SECRET));
        let both = |_: &str| Some(OsString::from("/nowhere"));
        assert!(Address::parse("mysql://u@h/db", &both).unwrap_err().contains("unset one"));
        let missing = |name: &str| (name == PASSWORD_FILE).then(|| "/nowhere".into());
        assert!(Address::parse("mysql://u@h/db", &missing).unwrap_err().contains("/nowhere"));
    }
}

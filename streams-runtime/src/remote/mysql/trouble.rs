//! What a server's or a connection's error means: try at once, try later, or somebody has to do something.
//!
//! Servers tell causes apart by numbers, which MySQL and MariaDB share but for a few; they are looked at here and
//! nowhere else.

use mysql_async::{DriverError, Error, IoError};

use super::address::{Address, Tls};
use crate::remote::Failure;

/// Why a statement did nothing, or nobody knows what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Another transaction was in the way; the same may go through at once.
    Conflict(String),
    /// The connection is gone or not made; what was under way may have happened.
    Lost(String),
    /// The server cannot do it now.
    Later(String),
    /// Asking again does not help.
    Fatal(String),
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Conflict(text) | Trouble::Lost(text) | Trouble::Later(text) => Self::Away(text),
            Trouble::Fatal(text) => Self::Fatal(text),
        }
    }
}

/// `what` was done at `address`.
pub(super) fn of(error: &Error, address: &Address, what: &str) -> Trouble {
    let told = |text: &str| format!("{what} at {address}: {text}");
    match error {
        Error::Server(error) => {
            let text = format!("error {}, {}", error.code, error.message);
            of_server(error.code, &text, &told)
        }
        Error::Io(IoError::Tls(error)) => Trouble::Fatal(told(&format!(
            "the connection cannot be encrypted: {error}; give the certificate of the server's signer by `?ca=FILE`, \
             or leave out `tls` and `ca`"
        ))),
        // rustls puts its own errors into those of I/O.
        Error::Io(IoError::Io(error))
            if address.tls != Tls::Off && error.kind() == std::io::ErrorKind::InvalidData =>
        {
            Trouble::Fatal(told(&format!(
                "the connection cannot be encrypted: {error}; give the certificate of the server's signer by \
                 `?ca=FILE`"
            )))
        }
        Error::Io(error) => Trouble::Lost(told(&format!("{error}; is the server running and reachable?"))),
        Error::Driver(
            DriverError::ConnectionClosed
            | DriverError::PacketOutOfOrder
            | DriverError::UnexpectedPacket { .. }
            | DriverError::CantParseServerVersion { .. },
        ) => Trouble::Lost(told("the connection was closed")),
        Error::Driver(DriverError::NoClientSslFlagFromServer) => Trouble::Fatal(told(
            "the server does not encrypt connections; set it up to, or leave out `tls` and `ca`",
        )),
        Error::Driver(DriverError::PacketTooLarge) => Trouble::Fatal(told(TOO_LARGE)),
        other => Trouble::Fatal(told(&other.to_string())),
    }
}

const TOO_LARGE: &str = "a row is larger than the server takes; raise its `max_allowed_packet`";

fn of_server(code: u16, text: &str, told: &dyn Fn(&str) -> String) -> Trouble {
    let full = || {
        Trouble::Later(told(&format!("{text}; make space on the server's disk, then it goes on by itself")))
    };
    let fatal = |remedy: &str| Trouble::Fatal(told(&format!("{text}; {remedy}")));
    match code {
        // Said by several numbers, depending on which file could not grow.
        1021 | 1114 => full(),
        _ if text.contains("No space left on device") => full(),
        // Changed since it was read; a lock that did not come in time; a deadlock; a table that somebody altered.
        1020 | 1205 | 1213 | 1412 | 1615 => Trouble::Conflict(told(text)),
        // Being shut down; killed; the network; interrupted.
        1053 | 1158..=1161 | 1152 | 1184 | 1317 | 1927 | 4031 => Trouble::Lost(told(text)),
        // Too many connections, of all or of this user, or statements; out of memory or of locks; a node that is not
        // in its cluster; a statement that ran too long.
        1040 | 1203 | 1226 | 1461 | 1037 | 1041 | 1206 | 1047 | 1969 | 3024 => Trouble::Later(told(text)),
        // A former primary, or a replica that is about to become one.
        1290 | 1836 => Trouble::Later(told(&format!(
            "{text}; it takes no writes now: if it is not about to become the primary, give the primary's address"
        ))),
        1045 | 1698 => fatal(
            "check the user in the address, and the password in STREAMS_MYSQL_PASSWORD or STREAMS_MYSQL_PASSWORD_FILE",
        ),
        1130 => fatal("allow the user to connect from this host"),
        1129 => Trouble::Later(told(&format!(
            "{text}; unblock this host on the server, then it goes on by itself"
        ))),
        1049 => fatal("create the database, or give another one in the address"),
        1044 | 1142 | 1143 | 1227 => {
            fatal("grant the user SELECT, INSERT, UPDATE and DELETE on the database")
        }
        1146 | 1054 => fatal("the tables are not those that this program makes; give it another database"),
        1153 => fatal(TOO_LARGE),
        1665 => fatal("set the server's `binlog_format` to ROW or MIXED"),
        _ => Trouble::Fatal(told(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address::parse("mysql://u@h:1/db", &|_| None).unwrap()
    }

    #[track_caller]
    fn check(code: u16, expect: fn(String) -> Trouble, text: &str) {
        let message = "as the server says it".to_owned();
        let error = Error::Server(mysql_async::ServerError { code, message, state: String::new() });
        let trouble = of(&error, &address(), "raising");
        let (Trouble::Conflict(shown) | Trouble::Lost(shown) | Trouble::Later(shown) | Trouble::Fatal(shown)) =
            trouble.clone();
        assert_eq!(trouble, expect(shown.clone()));
        assert!(shown.starts_with("raising at mysql://u@h:1/db: ") && shown.contains(text), "{shown}");
    }

    #[test]
    fn numbers_have_meanings() {
        check(1020, Trouble::Conflict, "error 1020");
        check(1213, Trouble::Conflict, "as the server says it");
        check(1205, Trouble::Conflict, "");
        check(1053, Trouble::Lost, "");
        check(1040, Trouble::Later, "");
        check(1114, Trouble::Later, "make space");
        let full = Error::Server(mysql_async::ServerError {
            code: 1030,
            message: "Got error 28 \"No space left on device\" from storage engine InnoDB".to_owned(),
            state: String::new(),
        });
        let trouble = of(&full, &address(), "committing");
        assert!(matches!(&trouble, Trouble::Later(text) if text.contains("make space")), "{trouble:?}");
        check(1290, Trouble::Later, "primary");
        check(1045, Trouble::Fatal, "STREAMS_MYSQL_PASSWORD");
        check(1142, Trouble::Fatal, "grant the user");
        check(1153, Trouble::Fatal, "max_allowed_packet");
        check(9999, Trouble::Fatal, "error 9999");
    }
}

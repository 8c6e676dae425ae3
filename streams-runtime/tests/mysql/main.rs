//! The shared store in a real MariaDB, whose address is in `STREAMS_MYSQL` and whose password is in
//! `STREAMS_MYSQL_PASSWORD`; `scripts/test-mysql` sets both. Every test has a database of its own.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed; numbers are shown"
)]

mod connecting;
mod faults;
mod lookup;
mod opening;
mod outage;
mod proxy;
mod rows;
mod sink;
mod splits;
mod worker;

use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts, OptsBuilder};
use streams_core::protocol::ids::{Split, Stage, Token};
use streams_core::protocol::snapshot::Snapshot;
use streams_core::protocol::worker::rows_of;
use streams_runtime::remote::mysql::{Address, Mysql, PASSWORD};

/// The split that most tests are about.
const SPLIT: Split = Split { stage: Stage(1), queue: 2 };

/// The address that tests have, without options.
fn base() -> String {
    std::env::var("STREAMS_MYSQL").expect(
        "STREAMS_MYSQL is not set: run scripts/test-mysql, or set it to the address of a server whose user may do \
         everything, and STREAMS_MYSQL_PASSWORD to its password",
    )
}

fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Of `user@host:port` and the like.
fn address(text: &str) -> Address {
    Address::parse(text, &env).unwrap()
}

/// A name that no other test and no earlier run has used.
fn unique(what: &str) -> String {
    format!("{what}_{:016x}", RandomState::new().hash_one(what))
}

/// A database of one test's own.
struct Database {
    name: String,
}

impl Database {
    async fn new(what: &str) -> Self {
        let name = unique(what);
        let mut root = connect("").await;
        root.query_drop(format!("CREATE DATABASE {name}")).await.unwrap();
        root.disconnect().await.unwrap();
        Self { name }
    }

    /// Its address, with `options` behind it.
    fn address(&self, options: &str) -> Address {
        let server = base();
        let (server, _) = server.rsplit_once('/').unwrap();
        address(&format!("{server}/{}{options}", self.name))
    }

    /// A job in it.
    async fn open(&self) -> Mysql {
        Mysql::open(&self.address(""), "job", "me").await.unwrap()
    }

    /// A plain connection, for what only a test does.
    async fn conn(&self) -> Conn {
        connect(&self.name).await
    }
}

async fn connect(database: &str) -> Conn {
    let address = address(&base());
    let options = OptsBuilder::default()
        .ip_or_hostname(address.host)
        .tcp_port(address.port)
        .user(Some(address.user))
        .pass(std::env::var(PASSWORD).ok())
        .prefer_socket(false)
        .db_name((!database.is_empty()).then_some(database));
    Conn::new(Opts::from(options)).await.unwrap()
}

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    /// Below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A snapshot that can be told from others.
fn snapshot(offset: u64) -> Snapshot {
    Snapshot { offset, ..Snapshot::default() }
}

/// A whole key of the split.
fn key(rest: &[u8]) -> Vec<u8> {
    [&rows_of(SPLIT), rest].concat()
}

/// Takes the split.
async fn take(mysql: &Mysql, nonce: u64) -> Token {
    mysql.raise(SPLIT, 7, nonce).await.unwrap().unwrap()
}

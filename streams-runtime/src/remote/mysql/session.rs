//! Connections: made, set up, used by one call at a time, kept for the next one, and thrown away at the first
//! doubt.
//!
//! Every wait has an end: for a connection, for a statement, for the server to notice that this process has gone.
//! A connection on which anything went wrong is never used again: the server rolls back what was open on it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts, OptsBuilder, Params, Row, SslOpts, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::address::{Address, Tls};
use super::trouble::{self, Trouble};

/// How many connections one process has at most.
const MOST_CONNECTIONS: usize = 8;
/// The longest that a connection is waited for.
const CONNECT: Duration = Duration::from_secs(3);
/// The longest that the server keeps the transaction of a process that says nothing (rule 14).
const MOST_SILENT: Duration = Duration::from_secs(10);
/// A connection that was idle for longer is asked for a sign of life first.
const FRESH: Duration = Duration::from_millis(500);
/// The longest that this sign is waited for.
const PING: Duration = Duration::from_secs(2);
/// How long a statement waits for the lock of another transaction, in seconds.
const LOCK_WAIT_S: u32 = 2;

/// The server, and the connections to it that nobody uses just now.
pub(super) struct Server {
    options: Opts,
    address: Address,
    place: String,
    timeout: Duration,
    idle: Mutex<Vec<Idle>>,
    permits: Arc<Semaphore>,
}

struct Idle {
    conn: Conn,
    since: Instant,
    max_packet: usize,
}

/// A connection in use. Dropped, it is closed; [`done`](Self::done) keeps it.
pub(super) struct Session {
    conn: Option<Conn>,
    server: Arc<Server>,
    max_packet: usize,
    _permit: OwnedSemaphorePermit,
}

/// What a statement that gives no rows did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    /// Rows that it found to change.
    pub(super) matched: u64,
    /// The number given to `LAST_INSERT_ID`.
    pub(super) last_id: u64,
}

impl Server {
    pub(super) fn new(address: &Address) -> Arc<Self> {
        let options = OptsBuilder::default()
            .user(Some(&address.user))
            .pass(address.password())
            .db_name(Some(&address.database))
            .prefer_socket(false)
            .client_found_rows(true)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(MOST_SILENT));
        let options = match &address.socket {
            Some(path) => options.socket(Some(path.display().to_string())),
            None => options.ip_or_hostname(&address.host).tcp_port(address.port),
        };
        let options = match &address.tls {
            Tls::Off => options,
            Tls::Public => options.ssl_opts(SslOpts::default()),
            Tls::Authority(path) => {
                let authority = vec![path.clone().into()];
                let trusted = SslOpts::default().with_disable_built_in_roots(true).with_root_certs(authority);
                options.ssl_opts(trusted)
            }
        };
        Arc::new(Self {
            options: options.into(),
            address: address.clone(),
            place: address.to_string(),
            timeout: address.timeout,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
        })
    }

    /// The server and the database, for texts.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// A connection for one call.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Session, Trouble> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.expect("nobody closes the semaphore");
        let mut session = Session { conn: None, server: Arc::clone(self), max_packet: 0, _permit: permit };
        let kept = self.idle().pop();
        if let Some(Idle { conn, since, max_packet }) = kept {
            session.conn = Some(conn);
            session.max_packet = max_packet;
            if since.elapsed() < FRESH || session.is_alive().await {
                return Ok(session);
            }
        }
        session.connect().await?;
        Ok(session)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where one connection is lost the others lead to the same server, or to one that is the primary no more.
    fn forget(&self) {
        let forgotten = std::mem::take(&mut *self.idle());
        forgotten.into_iter().for_each(|idle| close(idle.conn));
    }

    async fn within<T>(
        &self,
        limit: Duration,
        what: &str,
        asked: impl Future<Output = mysql_async::Result<T>>,
    ) -> Result<T, Trouble> {
        let trouble = match timeout(limit, asked).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => trouble::of(&error, &self.address, what),
            Err(_) => Trouble::Lost(format!(
                "{what} at {}: no answer in {} s; is the server running and reachable?",
                self.place,
                limit.as_secs()
            )),
        };
        if matches!(trouble, Trouble::Lost(_)) {
            self.forget();
        }
        Err(trouble)
    }
}

impl Session {
    async fn connect(&mut self) -> Result<(), Trouble> {
        let server = &self.server;
        let limit = server.timeout.min(CONNECT);
        let conn = server.within(limit, "connecting", Conn::new(server.options.clone())).await?;
        self.conn = Some(conn);
        let silent_s = server.timeout.min(MOST_SILENT).as_secs();
        // Overlong values are errors, not cut. With READ COMMITTED no gap between rows is locked, so that splits do
        // not wait for each other; what needs one view of two tables is one statement.
        let set = format!(
            "SET SESSION autocommit = 1, wait_timeout = {silent_s}, net_read_timeout = {silent_s}, \
             net_write_timeout = {silent_s}, innodb_lock_wait_timeout = {LOCK_WAIT_S}, \
             sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
        );
        self.text("setting up a connection", &set).await?;
        self.text("setting up a connection", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            .await?;
        let rows = self.rows("setting up a connection", "SELECT @@max_allowed_packet", Vec::new()).await?;
        let max_packet = match rows.into_iter().next() {
            Some(row) => Cells::of(row).number()?,
            None => 0,
        };
        self.max_packet = usize::try_from(max_packet).unwrap_or(usize::MAX);
        Ok(())
    }

    async fn is_alive(&mut self) -> bool {
        let Some(conn) = &mut self.conn else { return false };
        let limit = self.server.timeout.min(PING);
        let alive = self.server.within(limit, "looking for a sign of life", conn.ping()).await.is_ok();
        if !alive {
            self.close();
        }
        alive
    }

    /// The longest message that the server takes.
    pub(super) fn max_packet(&self) -> usize {
        self.max_packet
    }

    /// Runs a statement that gives no rows.
    pub(super) async fn exec(&mut self, what: &str, sql: &str, values: Vec<Value>) -> Result<Done, Trouble> {
        let conn = self.conn.as_mut().ok_or_else(|| closed(&self.server, what))?;
        let asked = conn.exec_drop(sql, positional(values));
        let answer = self.server.within(self.server.timeout, what, asked).await;
        self.checked(answer)?;
        let conn = self.conn.as_ref().ok_or_else(|| closed(&self.server, what))?;
        Ok(Done { matched: conn.affected_rows(), last_id: conn.last_insert_id().unwrap_or(0) })
    }

    /// Runs statements without parameters that give no rows.
    pub(super) async fn text(&mut self, what: &str, sql: &str) -> Result<(), Trouble> {
        let conn = self.conn.as_mut().ok_or_else(|| closed(&self.server, what))?;
        let asked = conn.query_drop(sql);
        let answer = self.server.within(self.server.timeout, what, asked).await;
        self.checked(answer)
    }

    /// All rows of a query.
    pub(super) async fn rows(
        &mut self,
        what: &str,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Trouble> {
        let mut rows = Vec::new();
        self.rows_while(what, sql, values, |row| {
            rows.push(row);
            Ok(true)
        })
        .await?;
        Ok(rows)
    }

    /// The rows of a query, until `take` wants no more: the connection is closed then, which costs less than to
    /// receive the rest.
    pub(super) async fn rows_while(
        &mut self,
        what: &str,
        sql: &str,
        values: Vec<Value>,
        mut take: impl FnMut(Row) -> Result<bool, Trouble> + Send,
    ) -> Result<(), Trouble> {
        let conn = self.conn.as_mut().ok_or_else(|| closed(&self.server, what))?;
        let asked = async move {
            let mut result = conn.exec_iter(sql, positional(values)).await?;
            while let Some(row) = result.next().await? {
                match take(row) {
                    Ok(true) => (),
                    Ok(false) => return Ok(Ok(false)),
                    Err(trouble) => return Ok(Err(trouble)),
                }
            }
            result.drop_result().await?;
            Ok(Ok(true))
        };
        let answer = self.server.within(self.server.timeout, what, asked).await;
        match self.checked(answer)? {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.close();
                Ok(())
            }
            Err(trouble) => {
                self.close();
                Err(trouble)
            }
        }
    }

    /// Any error is the connection's end, and with it that of its transaction (B7 d).
    fn checked<T>(&mut self, answer: Result<T, Trouble>) -> Result<T, Trouble> {
        if answer.is_err() {
            self.close();
        }
        answer
    }

    fn close(&mut self) {
        if let Some(conn) = self.conn.take() {
            close(conn);
        }
    }

    /// Keeps the connection for the next call. Only behind an answer, and outside of a transaction.
    pub(super) fn done(mut self) {
        let max_packet = self.max_packet;
        if let Some(conn) = self.conn.take() {
            self.server.idle().push(Idle { conn, since: Instant::now(), max_packet });
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

/// Says goodbye where that is possible at once. Dropping alone would first receive all that is still under way,
/// for as long as the other side likes.
fn close(conn: Conn) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(timeout(Duration::from_secs(1), conn.disconnect()));
    }
}

fn closed(server: &Server, what: &str) -> Trouble {
    Trouble::Lost(format!("{what} at {}: the connection was closed", server.place))
}

fn positional(values: Vec<Value>) -> Params {
    if values.is_empty() { Params::Empty } else { Params::Positional(values) }
}

/// The cells of a row, from left to right.
pub(super) struct Cells(std::vec::IntoIter<Value>);

impl Cells {
    pub(super) fn of(row: Row) -> Self {
        Self(row.unwrap().into_iter())
    }

    pub(super) fn number(&mut self) -> Result<u64, Trouble> {
        match self.0.next() {
            Some(Value::UInt(number)) => Ok(number),
            Some(Value::Int(number)) => u64::try_from(number).map_err(|_| unexpected("a negative number")),
            _ => Err(unexpected("no number")),
        }
    }

    /// `None` for NULL.
    pub(super) fn bytes(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        match self.0.next() {
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Value::NULL) => Ok(None),
            _ => Err(unexpected("no bytes")),
        }
    }
}

fn unexpected(what: &str) -> Trouble {
    Trouble::Fatal(format!(
        "the server's answer has {what} where they belong; the tables are not those that this program makes, give it \
         another database"
    ))
}

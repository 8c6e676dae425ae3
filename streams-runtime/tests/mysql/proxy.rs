//! A network that fails when a test says so: between a client and the server, knowing what a COMMIT looks like.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use std::sync::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{address, base};

/// What happens to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It ends when the client asks to commit; the server never hears of it.
    CutBeforeCommit,
    /// It ends when the server has committed; the client never hears of it.
    CutBehindCommit,
    /// It ends for the client as soon as the server has been asked to commit.
    CutAtCommit,
    /// From the COMMIT on nothing gets through any more, and nothing ends.
    SwallowCommit,
    /// Nothing gets through any more, and nothing ends.
    Swallow,
    /// It ends instead of the n-th thing that the client says from here on; counts over all connections.
    CutAt(u64),
}

struct Shared {
    fault: Mutex<Fault>,
    said: AtomicU64,
    struck: AtomicU64,
}

/// Listens until it is dropped.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    port: u16,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            fault: Mutex::new(Fault::None),
            said: AtomicU64::new(0),
            struck: AtomicU64::new(0),
        });
        let server = address(&base());
        let known = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect((server.host.as_str(), server.port)).await {
                    tokio::spawn(carry(client, server, Arc::clone(&known)));
                }
            }
        });
        Self { shared, port, task }
    }

    /// `address` by way of this.
    pub(crate) fn text(&self, database: &str, options: &str) -> String {
        let server = address(&base());
        format!("mysql://{}@127.0.0.1:{}/{database}{options}", server.user, self.port)
    }

    /// What is to happen from now on. Connections that were swallowed stay so.
    pub(crate) fn set(&self, fault: Fault) {
        self.shared.said.store(0, Ordering::SeqCst);
        *self.shared.fault.lock().unwrap() = fault;
    }

    /// How many faults have struck.
    pub(crate) fn struck(&self) -> u64 {
        self.shared.struck.load(Ordering::SeqCst)
    }
}

async fn carry(mut client: TcpStream, mut server: TcpStream, shared: Arc<Shared>) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut cut_at_answer = false;
    let strike = || shared.struck.fetch_add(1, Ordering::SeqCst);
    loop {
        let fault = || *shared.fault.lock().unwrap();
        let from_client = tokio::select! {
            n = client.read(&mut up) => match n {
                Ok(n) if n > 0 => Ok(n),
                _ => return,
            },
            n = server.read(&mut down) => match n {
                Ok(n) if n > 0 => Err(n),
                _ => return,
            },
        };
        if fault() == Fault::Swallow {
            strike();
            return std::future::pending().await;
        }
        let n = match from_client {
            Err(_) if cut_at_answer => {
                strike();
                return;
            }
            Err(n) => {
                if client.write_all(&down[..n]).await.is_err() {
                    return;
                }
                continue;
            }
            Ok(n) => n,
        };
        let said = shared.said.fetch_add(1, Ordering::SeqCst) + 1;
        let commits = up[..n].ends_with(b"\x03COMMIT");
        match fault() {
            Fault::CutAt(at) if said == at => {
                strike();
                return;
            }
            Fault::CutBeforeCommit if commits => {
                strike();
                return;
            }
            Fault::SwallowCommit if commits => {
                strike();
                return std::future::pending().await;
            }
            Fault::CutBehindCommit if commits => cut_at_answer = true,
            Fault::CutAtCommit if commits => {
                strike();
                let _ = server.write_all(&up[..n]).await;
                return;
            }
            _ => (),
        }
        if server.write_all(&up[..n]).await.is_err() {
            return;
        }
    }
}

//! Requests and answers: connections of the client, kept apart by use.
//!
//! The client serializes the calls of one handle, so each call takes a handle of its own from a pool; the
//! handles of a lane share one connection per broker. Lanes are apart since the client closes a connection
//! when one answer on it is late: a late pull must neither make sends uncertain nor take a member out of its
//! group.

use std::collections::HashSet;
use std::error::Error as _;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocketmq_client_rust::{
    AclClientRPCHook, ClientConfig, ClientError, ClientInstanceHandle, ClientRpcHook, ClientRuntime,
    ClientRuntimeConfig, SessionCredentials,
};
use rocketmq_error::{ViewValueRef, fields};
use rocketmq_observability::TelemetryRuntimeGuard;
use rocketmq_protocol::RemotingCommand;
use rocketmq_runtime::{RuntimeConfig, RuntimeOwner};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::config::Config;
use super::error::Error;

/// How long an answer may take that does not have to wait for anything.
pub(super) const ANSWER_MS: u64 = 5_000;

const CONNECT: Duration = Duration::from_secs(2);
/// How long a call waits before it looks whether the other side still lives.
const LOOK: Duration = Duration::from_secs(3);
const SHUTDOWN: Duration = Duration::from_secs(5);
const THREADS: usize = 2;

/// What a connection is used for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    /// Name servers, topics, offsets.
    Control,
    /// A broker counts a member until its connection closes.
    Members,
    Pull,
    Send,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Lost {
    /// The request did not leave this process.
    Unsent(String),
    /// It may have arrived, and may have been done.
    Unknown(String),
}

impl Lost {
    pub(super) fn reason(self) -> String {
        match self {
            Self::Unsent(reason) | Self::Unknown(reason) => reason,
        }
    }
}

/// Order of the fields: handles go before the runtime that serves them.
pub(super) struct Wire {
    control: Handles,
    members: Handles,
    pull: Handles,
    send: Handles,
    /// Addresses whose last call had an answer.
    reached: Mutex<HashSet<String>>,
    client: Arc<ClientRuntime>,
    _telemetry: TelemetryRuntimeGuard,
    owner: Mutex<Option<RuntimeOwner>>,
}

impl Wire {
    pub(super) fn new(config: &Config) -> Result<Self, Error> {
        let starting =
            |reason: String| Error::Away { place: "starting the RocketMQ client".to_owned(), reason };
        let threads = RuntimeConfig::for_parallelism("rocketmq", THREADS);
        let plan = RuntimeOwner::plan(threads).map_err(|error| starting(error.to_string()))?;
        let owner = plan.build().map_err(|error| starting(error.to_string()))?;
        let telemetry = TelemetryRuntimeGuard::noop();
        let limits = ClientRuntimeConfig { shutdown_timeout: SHUTDOWN, ..ClientRuntimeConfig::default() };
        let client =
            ClientRuntime::try_new(owner.root_context().component("streams"), limits, telemetry.handle())
                .map_err(|error| starting(text(&error)))?;
        let mut settings = ClientConfig::new();
        settings.set_namesrv_addr(config.namesrv.join(";").into());
        settings.set_instance_name(config.client_id.as_str().into());
        settings.set_use_tls(config.tls);
        let hook = match (&config.access_key, &config.secret_key) {
            (Some(access), Some(secret)) => {
                let keys = SessionCredentials::with_keys(access.text(), secret.text());
                Some(Arc::new(AclClientRPCHook::new(keys)) as Arc<ClientRpcHook>)
            }
            _ => None,
        };
        let lane = |domain| Handles {
            domain,
            settings: settings.clone(),
            hook: hook.clone(),
            idle: Mutex::default(),
        };
        Ok(Self {
            control: lane(0),
            members: lane(1),
            pull: lane(2),
            send: lane(3),
            reached: Mutex::default(),
            client,
            _telemetry: telemetry,
            owner: Mutex::new(Some(owner)),
        })
    }

    /// The answer of `address` to `request`, whatever it says.
    pub(super) async fn call(
        &self,
        lane: Lane,
        address: &str,
        request: RemotingCommand,
        wait_ms: u64,
    ) -> Result<RemotingCommand, Lost> {
        // The client stops trying an address for half a minute after five failures in a row. It must not be
        // the one that finds out whether a broker is back.
        if !locked(&self.reached).contains(address) {
            knock(address).await.map_err(Lost::Unsent)?;
        }
        let handles = match lane {
            Lane::Control => &self.control,
            Lane::Members => &self.members,
            Lane::Pull => &self.pull,
            Lane::Send => &self.send,
        };
        let handle = handles.take(&self.client).await.map_err(|error| Lost::Unsent(text(&error)))?;
        let to = address.into();
        let answer = watched(address, handle.get().invoke_remoting(&to, request, wait_ms)).await;
        let answer = answer.and_then(|answer| answer.map_err(|error| lost(&error)));
        let mut reached = locked(&self.reached);
        if answer.is_ok() {
            if !reached.contains(address) {
                reached.insert(address.to_owned());
            }
        } else {
            reached.remove(address);
        }
        answer
    }

    /// Closes all connections; calls after it fail.
    pub(super) async fn shutdown(&self) {
        let owner = locked(&self.owner).take();
        let Some(owner) = owner else { return };
        for handles in [&self.control, &self.members, &self.pull, &self.send] {
            let idle = std::mem::take(&mut *locked(&handles.idle));
            for handle in idle {
                handle.shutdown_owned().await;
            }
        }
        self.client.shutdown().await;
        owner.shutdown_tasks().await;
        owner.shutdown_background();
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("reached", &self.reached).finish_non_exhaustive()
    }
}

/// The handles of a lane that no call uses.
struct Handles {
    domain: u64,
    settings: ClientConfig,
    hook: Option<Arc<ClientRpcHook>>,
    idle: Mutex<Vec<ClientInstanceHandle>>,
}

impl Handles {
    async fn take(&self, client: &ClientRuntime) -> Result<Taken<'_>, ClientError> {
        let idle = locked(&self.idle).pop();
        let handle = match idle {
            Some(handle) => Taken { home: self, handle: Some(handle) },
            None => {
                let (settings, hook) = (self.settings.clone(), self.hook.clone());
                let handle = ClientInstanceHandle::get_or_create(client, self.domain, settings, hook)?;
                let handle = Taken { home: self, handle: Some(handle) };
                handle.get().start().await?;
                handle
            }
        };
        Ok(handle)
    }
}

/// Goes back to its pool also when the call is dropped half way.
struct Taken<'a> {
    home: &'a Handles,
    handle: Option<ClientInstanceHandle>,
}

impl Taken<'_> {
    fn get(&self) -> &ClientInstanceHandle {
        self.handle.as_ref().expect("is there until it is dropped")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        locked(&self.home.idle).extend(self.handle.take());
    }
}

/// Whether anybody listens at `address`.
async fn knock(address: &str) -> Result<(), String> {
    match timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection within {} ms", CONNECT.as_millis())),
    }
}

/// The client does not tell a call that waits that its connection has ended; only the next request on it
/// finds out. So whoever waits for long looks from time to time whether anybody is still there.
async fn watched<T>(address: &str, call: impl Future<Output = T>) -> Result<T, Lost> {
    let mut call = pin!(call);
    loop {
        if let Ok(answer) = timeout(LOOK, &mut call).await {
            return Ok(answer);
        }
        if let Err(reason) = knock(address).await {
            // It may have answered before it went away.
            return timeout(Duration::ZERO, &mut call).await.map_err(|_| Lost::Unknown(reason));
        }
    }
}

fn lost(error: &ClientError) -> Lost {
    let phase = field(error, fields::PHASE.schema().name());
    let unsent = matches!(phase, Some("endpoint_validation" | "connect" | "before_write"))
        || error.is(&rocketmq_error::TRANSPORT_ADMISSION_QUEUE_SATURATED)
        || error.is(&rocketmq_error::CLIENT_LIFECYCLE_NOT_STARTED);
    if unsent { Lost::Unsent(text(error)) } else { Lost::Unknown(text(error)) }
}

/// The client hides reasons from its `Display`; the deepest source has the operating system's.
fn text(error: &ClientError) -> String {
    let late = [
        &rocketmq_error::CORE_OPERATION_TIMED_OUT,
        &rocketmq_error::TRANSPORT_RESPONSE_TIMEOUT,
        &rocketmq_error::TRANSPORT_WRITE_TIMEOUT,
    ];
    if late.iter().any(|descriptor| error.is(descriptor)) {
        return "no answer in time".to_owned();
    }
    let mut deepest: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(source) = deepest.and_then(|source| source.source()) {
        deepest = Some(source);
    }
    let code = error.descriptor().code();
    let phase =
        field(error, fields::PHASE.schema().name()).map_or_else(String::new, |phase| format!(", {phase}"));
    match deepest {
        Some(source) => format!("{source} ({code}{phase})"),
        None => format!("connection lost ({code}{phase})"),
    }
}

fn field<'a>(error: &'a ClientError, name: &str) -> Option<&'a str> {
    let view = error.shared_error().diagnostic_view().ok()?;
    view.fields().find_map(|field| match field.value() {
        ViewValueRef::Text(value) if field.name() == name => Some(value),
        _ => None,
    })
}

/// Nothing panics while one of these locks is held, and their content is whole in any case.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

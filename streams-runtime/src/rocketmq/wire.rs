//! Requests and answers: connections of the client, kept apart by use.
//!
//! Of the client, its transport is used and nothing above it: what consumers and producers are there, this
//! program does itself (`members`, `pull`, `send`). Calls of a lane share one connection per broker. Lanes are
//! apart since the client closes a connection when one answer on it is late: a late pull must neither make
//! sends uncertain nor take a member out of its group.

use std::collections::HashSet;
use std::error::Error as _;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocketmq_error::ErrorCode;
use rocketmq_protocol::RemotingCommand;
use rocketmq_runtime::shutdown_deadline::ShutdownDeadline;
use rocketmq_runtime::{RuntimeConfig, RuntimeOwner};
use rocketmq_transport::api::{
    DefaultRequestProcessor, OutboundRequestOutcome, OutboundRequestRejectionReason, OutboundRequestStage,
    TransportClient, TransportClientConfig, TransportError,
};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::config::{Config, Tls};
use super::error::Error;
use super::signature::Signature;

/// How long an answer may take that does not have to wait for anything.
pub(super) const ANSWER_MS: u64 = 5_000;

const CONNECT: Duration = Duration::from_secs(2);
/// How long a call waits before it looks whether the other side still lives.
const LOOK: Duration = Duration::from_secs(3);
const SHUTDOWN: Duration = Duration::from_secs(5);
/// It waits for sockets most of the time.
const THREADS: usize = 1;

const NO_ANSWER: &str = "no answer in time";
/// The client's errors that say so.
const LATE: [ErrorCode; 3] = [
    rocketmq_error::CORE_OPERATION_TIMED_OUT.code(),
    rocketmq_error::TRANSPORT_RESPONSE_TIMEOUT.code(),
    rocketmq_error::TRANSPORT_WRITE_TIMEOUT.code(),
];

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

    fn at(stage: OutboundRequestStage, reason: String) -> Self {
        match stage {
            OutboundRequestStage::BeforeWrite => Self::Unsent(reason),
            _ => Self::Unknown(reason),
        }
    }
}

type Client = TransportClient<DefaultRequestProcessor>;

/// Order of the fields: connections go before the runtime that serves them.
pub(super) struct Wire {
    control: Client,
    members: Client,
    pull: Client,
    send: Client,
    /// Addresses whose last call had an answer.
    reached: Mutex<HashSet<String>>,
    owner: Mutex<Option<RuntimeOwner>>,
}

impl Wire {
    pub(super) fn new(config: &Config) -> Result<Self, Error> {
        let starting =
            |reason: String| Error::Away { place: "starting the RocketMQ client".to_owned(), reason };
        let threads = RuntimeConfig::for_parallelism("rocketmq", THREADS);
        let plan = RuntimeOwner::plan(threads).map_err(|error| starting(error.to_string()))?;
        let owner = plan.build().map_err(|error| starting(error.to_string()))?;
        let context = owner.root_context().component("streams");
        let mut settings = TransportClientConfig::default();
        settings.tls.enable = config.tls != Tls::Off;
        if let Tls::Authority(file) = &config.tls {
            settings.tls.client.trust_cert_path = Some(file.clone());
        }
        let settings = Arc::new(settings);
        let keys = config.access_key.as_ref().zip(config.secret_key.as_ref());
        let signature = keys.map(|(access, secret)| Arc::new(Signature::new(access, secret)));
        let lane = |name: &'static str| {
            let client = Client::builder(settings.clone(), DefaultRequestProcessor, context.component(name));
            let client = client.build().map_err(|error| starting(deepest(error.source(), &error)))?;
            if let Some(signature) = &signature {
                client.register_rpc_hook(signature.clone());
            }
            Ok(client)
        };
        Ok(Self {
            control: lane("control")?,
            members: lane("members")?,
            pull: lane("pull")?,
            send: lane("send")?,
            reached: Mutex::default(),
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
        let client = match lane {
            Lane::Control => &self.control,
            Lane::Members => &self.members,
            Lane::Pull => &self.pull,
            Lane::Send => &self.send,
        };
        let to = address.into();
        let answer = watched(address, client.invoke_request(Some(&to), request, wait_ms)).await;
        let answer = answer.and_then(answered);
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
        let deadline = ShutdownDeadline::after(SHUTDOWN);
        for client in [&self.control, &self.members, &self.pull, &self.send] {
            client.shutdown_graceful(deadline).await;
        }
        owner.shutdown_tasks().await;
        owner.shutdown_background();
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("reached", &self.reached).finish_non_exhaustive()
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

fn answered(outcome: Result<OutboundRequestOutcome, TransportError>) -> Result<RemotingCommand, Lost> {
    let rejection = match outcome {
        Ok(OutboundRequestOutcome::Response(answer)) => return Ok(answer),
        Ok(OutboundRequestOutcome::Rejected(rejection)) => rejection,
        Ok(OutboundRequestOutcome::Contract(contract)) => {
            return Err(Lost::at(contract.stage(), format!("not a request: {:?}", contract.reason())));
        }
        Err(error) => {
            // What is not known to be unsent may have been sent.
            let stage = error.request_stage().unwrap_or(OutboundRequestStage::Writing);
            let code = error.descriptor().code();
            let reason = match LATE.contains(&code) {
                true => NO_ANSWER.to_owned(),
                false => format!("{} ({code})", deepest(error.source(), &error)),
            };
            return Err(Lost::at(stage, reason));
        }
    };
    let reason = match rejection.reason() {
        OutboundRequestRejectionReason::DeadlineExpired => NO_ANSWER,
        OutboundRequestRejectionReason::Cancelled => "the call was given up",
        OutboundRequestRejectionReason::ClientStopping => "the client has been shut down",
        OutboundRequestRejectionReason::SessionClosed => "connection lost",
        OutboundRequestRejectionReason::QueueSaturated => "too many requests wait for this connection",
        OutboundRequestRejectionReason::EndpointUnavailable => "no connection",
    };
    Err(Lost::at(rejection.stage(), reason.to_owned()))
}

/// The client hides reasons from its `Display`; the deepest source has the operating system's.
fn deepest(source: Option<&(dyn std::error::Error + 'static)>, error: &dyn fmt::Display) -> String {
    let Some(mut deepest) = source else { return error.to_string() };
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

/// Nothing panics while one of these locks is held, and their content is whole in any case.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

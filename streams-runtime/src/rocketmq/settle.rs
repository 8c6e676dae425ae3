//! Waiting until consumers can see what was stored.
//!
//! A broker first appends messages to one log, which is when it says that they are stored, and then enters them
//! into the index of their queue, which is all that pulls and bounds know. The second is behind the first by
//! some milliseconds, longer when the broker is busy.

use std::time::Duration;

use rocketmq_protocol::protocol::RemotingDeserializable as _;
use rocketmq_protocol::protocol::body::kv_table::KVTable;
use rocketmq_protocol::protocol::header::empty_header::EmptyHeader;
use rocketmq_protocol::{RemotingCommand, RequestCode};
use tokio::time::sleep;

use super::broker::Broker;
use super::error::Error;
use super::route::QueueId;

const LOOK_AGAIN: Duration = Duration::from_millis(5);
const LOOKS: u32 = 1_000;

/// A broker's log, as it was at one moment or shortly before.
struct Log {
    /// Bytes that were ever written to it.
    end: i64,
    /// Bytes of them that are not in an index yet.
    behind: i64,
}

impl Broker {
    /// Waits until all messages that were stored before the call, in any queue of the broker that has `queue`,
    /// can be pulled and are below the bounds.
    ///
    /// # Errors
    /// [`Error::Away`] when the master is not there, or does not get so far within some seconds;
    /// [`Error::Refused`] when this client may not ask for its state.
    pub async fn settle(&self, topic: &str, queue: &QueueId) -> Result<(), Error> {
        let goal = self.log(topic, queue).await?.end;
        let mut end = goal;
        for _ in 0..LOOKS {
            // The end from the answer before: nobody knows which number of one answer is the older one.
            let now = self.log(topic, queue).await?;
            if end.saturating_sub(now.behind) >= goal {
                return Ok(());
            }
            end = now.end;
            sleep(LOOK_AGAIN).await;
        }
        Err(Error::Away {
            place: place(topic, queue),
            reason: "the broker is far behind with its indexes".to_owned(),
        })
    }

    async fn log(&self, topic: &str, queue: &QueueId) -> Result<Log, Error> {
        let place = || place(topic, queue);
        let request =
            RemotingCommand::create_request_command(RequestCode::GetBrokerRuntimeInfo, EmptyHeader {});
        let answer = self.of_master(place, topic, queue, request).await?;
        let garbled = |what: &str| Error::Garbled { place: place(), what: what.to_owned() };
        let body = answer.body().ok_or_else(|| garbled("the answer is empty"))?;
        let table = KVTable::decode(body).map_err(|_| garbled("the answer cannot be read"))?.table;
        let number = |name: &str| {
            let value = table.get(name).and_then(|value| value.parse::<i64>().ok());
            value.ok_or_else(|| garbled(&format!("the answer has no number `{name}`")))
        };
        Ok(Log { end: number("commitLogMaxOffset")?, behind: number("dispatchBehindBytes")? })
    }
}

fn place(topic: &str, queue: &QueueId) -> String {
    format!("waiting for what is stored in queue {queue} of topic `{topic}`")
}

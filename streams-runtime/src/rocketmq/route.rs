//! Which broker has which queues of a topic, as the name servers say.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rocketmq_protocol::code::response_code::ResponseCode;
use rocketmq_protocol::protocol::body::broker_body::cluster_info::ClusterInfo;
use rocketmq_protocol::protocol::header::client_request_header::GetRouteInfoRequestHeader;
use rocketmq_protocol::protocol::header::empty_header::EmptyHeader;
use rocketmq_protocol::protocol::route::topic_route_data::TopicRouteData;
use rocketmq_protocol::{RemotingCommand, RequestCode};

use super::codes::{accepted, is};
use super::error::Error;
use super::wire::{ANSWER_MS, Lane, Wire, locked};

const MASTER: u64 = 0;
const READABLE: u32 = 1 << 2;
const WRITABLE: u32 = 1 << 1;

/// A queue of a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId {
    /// Name of the broker that has it.
    pub broker: String,
    /// Its number on that broker.
    pub id: u16,
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.broker, self.id)
    }
}

/// The queues of a topic, each list by broker and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Those that can be read.
    pub read: Vec<QueueId>,
    /// Those that can be written to.
    pub write: Vec<QueueId>,
}

/// A broker's part of a topic.
#[derive(Debug)]
struct Part {
    /// By number; the master has 0.
    addresses: BTreeMap<u64, String>,
    n_read: u16,
    n_write: u16,
    /// A replica may stand in under the master's number; it cannot write.
    stands_in: bool,
}

/// Where to send a request about a queue.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) address: String,
    pub(super) is_master: bool,
}

/// A topic's brokers by name.
#[derive(Debug)]
pub(super) struct Route(BTreeMap<String, Part>);

impl Route {
    pub(super) fn queues(&self) -> Queues {
        let list = |number: fn(&Part) -> u16| {
            let ids = self.0.iter().flat_map(|(broker, part)| {
                (0..number(part)).map(|id| QueueId { broker: broker.clone(), id })
            });
            ids.collect()
        };
        Queues { read: list(|part| part.n_read), write: list(|part| part.n_write) }
    }

    /// The addresses of all masters.
    pub(super) fn masters(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|part| part.addresses.get(&MASTER)).map(String::as_str)
    }

    fn target(&self, topic: &str, queue: &QueueId) -> Result<Target, Error> {
        let no_queue = || Error::NoQueue { topic: topic.to_owned(), queue: queue.clone() };
        let part = self.0.get(&queue.broker).ok_or_else(no_queue)?;
        if queue.id >= part.n_read.max(part.n_write) {
            return Err(no_queue());
        }
        let away = || Error::Away {
            place: format!("looking for broker `{}`", queue.broker),
            reason: "the name server knows no address of it".to_owned(),
        };
        let (number, address) = part.addresses.first_key_value().ok_or_else(away)?;
        Ok(Target { address: address.clone(), is_master: *number == MASTER && !part.stands_in })
    }
}

/// The name servers, and what they said last.
#[derive(Debug)]
pub(super) struct Names {
    addresses: Vec<String>,
    /// The one that answered last.
    answered: AtomicUsize,
    routes: Mutex<HashMap<String, Arc<Route>>>,
    /// Names of all brokers that ever had a part of a topic.
    parts: Mutex<HashMap<String, BTreeSet<String>>>,
}

impl Names {
    pub(super) fn new(addresses: &[String]) -> Self {
        Self {
            addresses: addresses.to_vec(),
            answered: AtomicUsize::new(0),
            routes: Mutex::default(),
            parts: Mutex::default(),
        }
    }

    /// The answer of the first name server that has one.
    async fn ask(
        &self,
        wire: &Wire,
        request: impl Fn() -> RemotingCommand,
    ) -> Result<RemotingCommand, Error> {
        let first = self.answered.load(Ordering::Relaxed);
        let mut tried = Vec::new();
        let turned = self.addresses.iter().enumerate().cycle().skip(first).take(self.addresses.len());
        for (i, address) in turned {
            match wire.call(Lane::Control, address, request(), ANSWER_MS).await {
                Ok(answer) => {
                    self.answered.store(i, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(lost) => tried.push(format!("`{address}` ({})", lost.reason())),
            }
        }
        Err(Error::NameServer { tried: tried.join(", ") })
    }

    /// The masters of all brokers by name.
    pub(super) async fn cluster(&self, wire: &Wire) -> Result<BTreeMap<String, Option<String>>, Error> {
        let request =
            || RemotingCommand::create_request_command(RequestCode::GetBrokerClusterInfo, EmptyHeader {});
        let place = || "asking the name server for its brokers".to_owned();
        let answer = self.ask(wire, request).await?;
        accepted(place, &answer)?;
        let body = answer.body().ok_or_else(|| garbled(place(), "the answer is empty"))?;
        let cluster = ClusterInfo::decode(body).map_err(|_| garbled(place(), "the answer cannot be read"))?;
        let brokers = cluster.broker_addr_table.into_iter().flatten();
        Ok(brokers
            .map(|(name, broker)| {
                (name.to_string(), broker.broker_addrs().get(&MASTER).map(ToString::to_string))
            })
            .collect())
    }

    /// The route of `topic` as it is now.
    pub(super) async fn fresh(&self, wire: &Wire, topic: &str) -> Result<Arc<Route>, Error> {
        let request = || {
            let header = GetRouteInfoRequestHeader {
                topic: topic.into(),
                accept_standard_json_only: Some(true),
                topic_request_header: None,
            };
            RemotingCommand::create_request_command(RequestCode::GetRouteinfoByTopic, header)
        };
        let place = || format!("asking the name server for topic `{topic}`");
        let answer = self.ask(wire, request).await?;
        if is(&answer, ResponseCode::TopicNotExist) {
            self.forget(topic);
            return Err(self.missing(wire, topic).await?);
        }
        accepted(place, &answer)?;
        let body = answer.body().ok_or_else(|| garbled(place(), "the answer is empty"))?;
        let data = TopicRouteData::decode(body).map_err(|_| garbled(place(), "the answer cannot be read"))?;
        let route = Arc::new(read(topic, &data)?);
        let mut parts = locked(&self.parts);
        let known = parts.entry(topic.to_owned()).or_default();
        known.extend(route.0.keys().cloned());
        drop(parts);
        locked(&self.routes).insert(topic.to_owned(), Arc::clone(&route));
        Ok(route)
    }

    /// A topic all of whose brokers are down is, to a name server, no topic. Only who has seen it before can
    /// tell.
    async fn missing(&self, wire: &Wire, topic: &str) -> Result<Error, Error> {
        let cluster = self.cluster(wire).await?;
        let down = match locked(&self.parts).get(topic) {
            _ if cluster.is_empty() => Some("any broker".to_owned()),
            Some(known) => {
                known.iter().find(|name| !cluster.contains_key(*name)).map(|name| format!("broker `{name}`"))
            }
            None => None,
        };
        Ok(match down {
            Some(broker) => Error::Away {
                place: format!("looking for the queues of topic `{topic}`"),
                reason: format!("the name server does not see {broker}"),
            },
            None => Error::NoTopic { topic: topic.to_owned() },
        })
    }

    /// Where `queue` is, from memory if it is known.
    pub(super) async fn target(&self, wire: &Wire, topic: &str, queue: &QueueId) -> Result<Target, Error> {
        match self.known(topic).map(|route| route.target(topic, queue)) {
            Some(Ok(target)) => Ok(target),
            // The topic may have grown.
            _ => self.fresh(wire, topic).await?.target(topic, queue),
        }
    }

    /// The route of `topic`: from memory unless `asked_again`, and from there also if no name server answers.
    pub(super) async fn route(
        &self,
        wire: &Wire,
        topic: &str,
        asked_again: bool,
    ) -> Result<Arc<Route>, Error> {
        let known = self.known(topic);
        match known {
            Some(known) if !asked_again => Ok(known),
            Some(known) => match self.fresh(wire, topic).await {
                Err(Error::NameServer { .. }) => Ok(known),
                other => other,
            },
            None => self.fresh(wire, topic).await,
        }
    }

    fn known(&self, topic: &str) -> Option<Arc<Route>> {
        locked(&self.routes).get(topic).cloned()
    }

    /// Has the next call about `topic` ask again.
    pub(super) fn forget(&self, topic: &str) {
        locked(&self.routes).remove(topic);
    }
}

fn garbled(place: String, what: &str) -> Error {
    Error::Garbled { place, what: what.to_owned() }
}

fn read(topic: &str, data: &TopicRouteData) -> Result<Route, Error> {
    if data.topic_queue_mapping_by_broker.as_ref().is_some_and(|mapping| !mapping.is_empty()) {
        return Err(Error::Refused {
            place: format!("reading the queues of topic `{topic}`"),
            reason: "it is a static topic, whose queues move between brokers".to_owned(),
            remedy: "use a topic of the ordinary kind",
        });
    }
    let number = |n: u32| {
        let wrong = |_| {
            garbled(format!("reading the queues of topic `{topic}`"), "more than 65535 queues on a broker")
        };
        u16::try_from(n).map_err(wrong)
    };
    let mut parts = BTreeMap::new();
    for queues in &data.queue_datas {
        let (readable, writable) = (queues.perm() & READABLE != 0, queues.perm() & WRITABLE != 0);
        let broker = data.broker_datas.iter().find(|broker| broker.broker_name() == queues.broker_name());
        let addresses =
            broker.map(|broker| broker.broker_addrs().iter().map(|(id, a)| (*id, a.to_string())).collect());
        let part = Part {
            addresses: addresses.unwrap_or_default(),
            n_read: number(if readable { queues.read_queue_nums() } else { 0 })?,
            n_write: number(if writable { queues.write_queue_nums() } else { 0 })?,
            stands_in: broker.is_some_and(|broker| broker.enable_acting_master()) && !writable,
        };
        parts.insert(queues.broker_name().to_string(), part);
    }
    Ok(Route(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(text: &str) -> Result<Route, Error> {
        read("topic", &TopicRouteData::decode(text.as_bytes()).unwrap())
    }

    /// As name servers write it; keys without quotes are theirs.
    const TWO: &str = r#"{"brokerDatas":[
        {"brokerAddrs":{1:"h:3",0:"h:1"},"brokerName":"b","cluster":"c","enableActingMaster":false},
        {"brokerAddrs":{2:"h:2"},"brokerName":"a","cluster":"c","enableActingMaster":false},
        {"brokerAddrs":{0:"h:4"},"brokerName":"d","cluster":"c","enableActingMaster":true}],
        "filterServerTable":{},"queueDatas":[
        {"brokerName":"b","perm":6,"readQueueNums":2,"writeQueueNums":1,"topicSysFlag":0},
        {"brokerName":"a","perm":4,"readQueueNums":1,"writeQueueNums":1,"topicSysFlag":0},
        {"brokerName":"d","perm":4,"readQueueNums":1,"writeQueueNums":1,"topicSysFlag":0}]}"#;

    fn id(broker: &str, id: u16) -> QueueId {
        QueueId { broker: broker.to_owned(), id }
    }

    #[test]
    fn queues_are_ordered_and_permissions_count() {
        let queues = route(TWO).unwrap().queues();
        assert_eq!(queues.read, [id("a", 0), id("b", 0), id("b", 1), id("d", 0)]);
        assert_eq!(queues.write, [id("b", 0)]);
    }

    #[test]
    fn masters_are_known_from_replicas() {
        let route = route(TWO).unwrap();
        let target = |broker: &str| {
            let target = route.target("topic", &id(broker, 0)).unwrap();
            (target.address, target.is_master)
        };
        assert_eq!(target("b"), ("h:1".to_owned(), true));
        assert_eq!(target("a"), ("h:2".to_owned(), false));
        // A replica under the master's number.
        assert_eq!(target("d"), ("h:4".to_owned(), false));
        assert!(matches!(route.target("topic", &id("b", 2)), Err(Error::NoQueue { .. })));
        assert!(matches!(route.target("topic", &id("x", 0)), Err(Error::NoQueue { .. })));
    }
}

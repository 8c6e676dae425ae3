//! Who is in a group: the brokers' own list, kept up by heartbeats.
//!
//! A broker counts a member until it leaves, its connection closes or no heartbeat came for two minutes. The
//! list fences nobody: who is not in it may still be at work.

use std::collections::{BTreeSet, HashSet};

use rocketmq_model::common::consumer::consume_from_where::ConsumeFromWhere;
use rocketmq_protocol::code::response_code::ResponseCode;
use rocketmq_protocol::protocol::body::get_consumer_list_by_group_response_body::GetConsumerListByGroupResponseBody;
use rocketmq_protocol::protocol::filter::filter_api::FilterAPI;
use rocketmq_protocol::protocol::header::get_consumer_listby_group_request_header::GetConsumerListByGroupRequestHeader;
use rocketmq_protocol::protocol::header::heartbeat_request_header::HeartbeatRequestHeader;
use rocketmq_protocol::protocol::header::unregister_client_request_header::UnregisterClientRequestHeader;
use rocketmq_protocol::protocol::heartbeat::consume_type::ConsumeType;
use rocketmq_protocol::protocol::heartbeat::consumer_data::ConsumerData;
use rocketmq_protocol::protocol::heartbeat::heartbeat_data::HeartbeatData;
use rocketmq_protocol::protocol::heartbeat::message_model::MessageModel;
use rocketmq_protocol::protocol::{RemotingDeserializable as _, RemotingSerializable as _};
use rocketmq_protocol::{RemotingCommand, RequestCode};

use super::broker::Broker;
use super::codes::{accepted, is, remark};
use super::config::group_name;
use super::error::Error;
use super::wire::{ANSWER_MS, Lane};

/// This process's place in a group. Dropping it changes nothing: a member leaves by [`Membership::leave`], or
/// when the last clone of its [`Broker`] is gone.
#[derive(Debug)]
pub struct Membership {
    broker: Broker,
    group: String,
    topics: Vec<String>,
}

impl Broker {
    /// Joins `group` under this client's name, at all brokers that have one of `topics`. From then on the
    /// caller calls [`Membership::heartbeat`] every few seconds.
    ///
    /// # Errors
    /// When one of the brokers cannot be told, or a topic is not there.
    pub async fn join(&self, group: &str, topics: &[&str]) -> Result<Membership, Error> {
        group_name(group)?;
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        let membership = Membership { broker: self.clone(), group: group.to_owned(), topics };
        membership.heartbeat().await?;
        Ok(membership)
    }
}

impl Membership {
    /// Tells all brokers of the topics that this member is alive. A broker that forgot it, or was restarted,
    /// knows it again afterwards.
    ///
    /// # Errors
    /// When one of the brokers cannot be told; all others have been.
    pub async fn heartbeat(&self) -> Result<(), Error> {
        let beat = self.beat()?;
        let request = || {
            let header = HeartbeatRequestHeader::default();
            RemotingCommand::create_request_command(RequestCode::HeartBeat, header).set_body(beat.clone())
        };
        self.tell("sending a heartbeat", request).await
    }

    /// The names of all members that one of the brokers knows, in order. If this one is not among them it
    /// sends a heartbeat and asks once more: so a member comes back at its first question after a broker's
    /// restart.
    ///
    /// # Errors
    /// When no broker answers.
    pub async fn members(&self) -> Result<Vec<String>, Error> {
        let members = self.ask().await?;
        if members.contains(&self.broker.config.client_id) {
            return Ok(members.into_iter().collect());
        }
        let beaten = self.heartbeat().await;
        let members = self.ask().await?;
        if !members.contains(&self.broker.config.client_id) {
            beaten?;
        }
        Ok(members.into_iter().collect())
    }

    /// Leaves the group, which the other members can see at once.
    ///
    /// # Errors
    /// When a broker cannot be told; it will notice when the connection closes.
    pub async fn leave(&self) -> Result<(), Error> {
        let request = || {
            let header = UnregisterClientRequestHeader {
                client_id: self.broker.config.client_id.as_str().into(),
                producer_group: None,
                consumer_group: Some(self.group.as_str().into()),
                rpc_request_header: None,
            };
            RemotingCommand::create_request_command(RequestCode::UnregisterClient, header)
        };
        self.tell("leaving", request).await
    }

    /// The brokers to talk to: as the name servers say now or, if they do not answer, as they said before.
    async fn masters(&self, asked_again: bool) -> Result<BTreeSet<String>, Error> {
        let mut masters = BTreeSet::new();
        for topic in &self.topics {
            let route = self.broker.names.route(&self.broker.wire, topic, asked_again).await?;
            masters.extend(route.masters().map(str::to_owned));
        }
        Ok(masters)
    }

    async fn call(
        &self,
        what: &str,
        address: &str,
        request: RemotingCommand,
    ) -> Result<RemotingCommand, Error> {
        self.broker.wire.call(Lane::Members, address, request, ANSWER_MS).await.map_err(|lost| {
            self.topics.iter().for_each(|topic| self.broker.names.forget(topic));
            Error::Away { place: self.place(what, address), reason: lost.reason() }
        })
    }

    /// Sends a request to all brokers, and fails if one failed.
    async fn tell(&self, what: &str, request: impl Fn() -> RemotingCommand) -> Result<(), Error> {
        let mut outcome = Ok(());
        for address in self.masters(true).await? {
            let answer = self.call(what, &address, request()).await;
            let answer = answer.and_then(|answer| accepted(|| self.place(what, &address), &answer));
            outcome = outcome.and(answer);
        }
        outcome
    }

    async fn ask(&self) -> Result<BTreeSet<String>, Error> {
        const WHAT: &str = "asking for the members";
        let mut members = None;
        let mut failed = None;
        for address in self.masters(false).await? {
            let header =
                GetConsumerListByGroupRequestHeader { consumer_group: self.group.as_str().into(), rpc: None };
            let request =
                RemotingCommand::create_request_command(RequestCode::GetConsumerListByGroup, header);
            match self
                .call(WHAT, &address, request)
                .await
                .and_then(|answer| self.listed(WHAT, &address, &answer))
            {
                Ok(names) => members.get_or_insert_with(BTreeSet::new).extend(names),
                Err(error) => failed = Some(error),
            }
        }
        let away = || Error::Away { place: WHAT.to_owned(), reason: "no broker has its topics".to_owned() };
        members.ok_or_else(|| failed.unwrap_or_else(away))
    }

    fn listed(&self, what: &str, address: &str, answer: &RemotingCommand) -> Result<Vec<String>, Error> {
        // A group without members is an error to the broker.
        if is(answer, ResponseCode::SystemError) && remark(answer).starts_with("no consumer for this group") {
            return Ok(Vec::new());
        }
        accepted(|| self.place(what, address), answer)?;
        let Some(body) = answer.body() else { return Ok(Vec::new()) };
        let list = GetConsumerListByGroupResponseBody::decode(body).map_err(|_| Error::Garbled {
            place: self.place(what, address),
            what: "the answer cannot be read".to_owned(),
        })?;
        Ok(list.consumer_id_list.into_iter().map(|name| name.to_string()).collect())
    }

    fn place(&self, what: &str, address: &str) -> String {
        format!("{what} in group `{}` at `{address}`", self.group)
    }

    fn beat(&self) -> Result<Vec<u8>, Error> {
        let mut topics = HashSet::new();
        for topic in &self.topics {
            let subscription = FilterAPI::build_subscription_data(&topic.as_str().into(), &"*".into());
            topics.insert(subscription.map_err(|what| Error::Config { what })?);
        }
        let group = ConsumerData {
            group_name: self.group.as_str().into(),
            consume_type: ConsumeType::ConsumeActively,
            message_model: MessageModel::Clustering,
            consume_from_where: ConsumeFromWhere::ConsumeFromFirstOffset,
            subscription_data_set: topics,
            unit_mode: false,
        };
        let data = HeartbeatData {
            client_id: self.broker.config.client_id.as_str().into(),
            producer_data_set: HashSet::new(),
            consumer_data_set: HashSet::from([group]),
            heartbeat_fingerprint: 0,
            is_without_sub: false,
        };
        data.encode()
            .map_err(|error| Error::Config { what: format!("a heartbeat cannot be written: {error}") })
    }
}

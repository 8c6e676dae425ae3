//! Writing to one queue.

use rocketmq_protocol::code::response_code::ResponseCode;
use rocketmq_protocol::protocol::header::message_operation_header::send_message_request_header_v2::SendMessageRequestHeaderV2;
use rocketmq_protocol::{RemotingCommand, RequestCode};

use super::broker::{Broker, number, offset};
use super::codes::{is_too_large, reason, refusal};
use super::error::Error;
use super::message::{Outgoing, batch};
use super::route::QueueId;
use super::wire::{ANSWER_MS, Lane, Lost};

/// What became of a send.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// All messages are in the queue, one behind the other, and as safe as the broker is set up to make them.
    Stored {
        /// The offset of the first.
        offset: u64,
    },
    /// They may be in the queue or may get there yet, all of them or none; why that is not known.
    Unknown(String),
    /// None is in the queue, and none will be if the same is sent again; why, and what to do.
    Refused(String),
}

impl Broker {
    /// Writes `messages` to the end of a queue, all or none. Sends them once, to that queue only.
    ///
    /// # Errors
    /// None of them is in the queue then. [`Error::Away`] when the broker cannot be reached or takes nothing
    /// now.
    pub async fn send(&self, topic: &str, queue: &QueueId, messages: &[Outgoing]) -> Result<Sent, Error> {
        let place = || format!("writing to queue {queue} of topic `{topic}`");
        let body = match batch(messages, self.config.batch_bytes) {
            Ok(body) => body,
            Err(what) => return Ok(Sent::Refused(format!("{}: {what}", place()))),
        };
        let target = self.master(place, topic, queue).await?;
        let header = SendMessageRequestHeaderV2 {
            a: self.config.group.as_str().into(),
            b: topic.into(),
            c: "TBW102".into(),
            d: 4,
            e: queue.id.into(),
            f: 0,
            g: crate::clock::now_ms(),
            h: 0,
            i: Some("".into()),
            j: Some(0),
            k: Some(false),
            l: None,
            m: Some(true),
            n: Some(queue.broker.as_str().into()),
            topic_request_header: None,
        };
        // One message is a batch too: a broker takes an empty body in a batch only.
        let request =
            RemotingCommand::create_request_command(RequestCode::SendBatchMessage, header).set_body(body);
        match self.wire.call(Lane::Send, &target.address, request, ANSWER_MS).await {
            Ok(answer) => judged(place, queue, &answer).inspect(|sent| {
                if !matches!(sent, Sent::Stored { .. }) {
                    self.names.forget(topic);
                }
            }),
            Err(lost) => {
                self.names.forget(topic);
                match lost {
                    Lost::Unsent(reason) => Err(Error::Away { place: place(), reason }),
                    Lost::Unknown(reason) => Ok(Sent::Unknown(format!("{}: {reason}", place()))),
                }
            }
        }
    }
}

fn judged(place: impl Fn() -> String, queue: &QueueId, answer: &RemotingCommand) -> Result<Sent, Error> {
    match ResponseCode::from(answer.code()) {
        ResponseCode::Success => {
            let stored = offset(&place, "queueOffset", answer);
            let landed = number::<i32>(&place, "queueId", answer);
            Ok(match stored.and_then(|offset| Ok((offset, landed?))) {
                Ok((offset, landed)) if landed == i32::from(queue.id) => Sent::Stored { offset },
                Ok((_, landed)) => Sent::Unknown(format!("{}: the broker wrote to queue {landed}", place())),
                Err(error) => Sent::Unknown(error.to_string()),
            })
        }
        ResponseCode::SystemBusy
        | ResponseCode::ServiceNotAvailable
        | ResponseCode::FlowControl
        | ResponseCode::NotLeaderForQueue
        | ResponseCode::GoAway => Err(refusal(place(), answer)),
        ResponseCode::MessageIllegal
        | ResponseCode::NoPermission
        | ResponseCode::TopicNotExist
        | ResponseCode::InvalidParameter
        | ResponseCode::RequestCodeNotSupported
        | ResponseCode::VersionNotSupported => Ok(Sent::Refused(refusal(place(), answer).to_string())),
        _ if is_too_large(answer) => Ok(Sent::Refused(refusal(place(), answer).to_string())),
        // The master may have it: it did not get as far as it promises with `Stored`, or failed half way.
        _ => Ok(Sent::Unknown(format!("{}: {}", place(), reason(answer)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(answer: &RemotingCommand) -> Result<Sent, Error> {
        judged(|| "here".to_owned(), &QueueId { broker: "b".to_owned(), id: 3 }, answer)
    }

    #[track_caller]
    fn check(code: ResponseCode, remark: &str, expected: &str) {
        let answer = RemotingCommand::create_response_command_with_code_remark(code, remark.to_owned());
        let text = match outcome(&answer) {
            Ok(Sent::Stored { .. }) => "stored".to_owned(),
            Ok(Sent::Unknown(reason)) => format!("unknown: {reason}"),
            Ok(Sent::Refused(reason)) => format!("refused: {reason}"),
            Err(error) => format!("{}away: {error}", if error.is_retryable() { "" } else { "not " }),
        };
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn only_what_surely_failed_is_said_to_have_failed() {
        check(ResponseCode::FlushDiskTimeout, "", "unknown: here: stored, but not flushed");
        check(ResponseCode::FlushSlaveTimeout, "", "unknown: here: stored, but not copied");
        check(ResponseCode::SlaveNotAvailable, "", "unknown: here: stored, but no replica");
        check(ResponseCode::SystemError, "what?", "unknown: here: the broker failed");
        check(ResponseCode::TransactionFailed, "", "unknown: ");
        check(ResponseCode::Success, "", "unknown: here: the answer has no `queueOffset`");
        check(ResponseCode::SystemBusy, "", "away: here: the broker is too busy");
        check(ResponseCode::ServiceNotAvailable, "", "away: here: the broker cannot write");
        check(ResponseCode::GoAway, "", "away: ");
        check(ResponseCode::NoPermission, "", "refused: here: refused, not permitted");
        check(ResponseCode::MessageIllegal, "", "refused: ");
        check(ResponseCode::SystemError, "message body size exceeded", "refused: here: refused, ");
    }

    #[test]
    fn stored_is_what_is_in_the_right_queue() {
        for (id, expected) in [("3", true), ("4", false), ("x", false)] {
            let mut answer = RemotingCommand::create_response_command_with_code(ResponseCode::Success);
            answer.add_ext_field("queueOffset", "17").add_ext_field("queueId", id);
            let sent = outcome(&answer).unwrap();
            assert_eq!(sent == Sent::Stored { offset: 17 }, expected, "{sent:?}");
            assert_eq!(matches!(sent, Sent::Unknown(_)), !expected, "{sent:?}");
        }
    }
}

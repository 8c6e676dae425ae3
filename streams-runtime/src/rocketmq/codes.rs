//! A broker's answers in words: which codes mean later, and which mean never.

use rocketmq_protocol::RemotingCommand;
use rocketmq_protocol::code::response_code::ResponseCode;

use super::error::Error;

/// The longest part of a broker's own words that is passed on.
const REMARK_CHARS: usize = 200;

const TOO_LARGE: &str = "send less at a time, or raise the brokers' `maxMessageSize`, which is 4194304 unless they \
                         were set up otherwise";

/// Whether `answer` says that a batch is above the broker's limit, which it says as if it had failed.
pub(super) fn is_too_large(answer: &RemotingCommand) -> bool {
    is(answer, ResponseCode::SystemError) && remark(answer).contains("size exceeded")
}

/// Whether `answer` has the code `code`.
pub(super) fn is(answer: &RemotingCommand, code: ResponseCode) -> bool {
    answer.code() == code.to_i32()
}

/// Its error, if the answer does not say that all went well.
pub(super) fn accepted(place: impl FnOnce() -> String, answer: &RemotingCommand) -> Result<(), Error> {
    if is(answer, ResponseCode::Success) { Ok(()) } else { Err(refusal(place(), answer)) }
}

/// The error of an answer that says no.
pub(super) fn refusal(place: String, answer: &RemotingCommand) -> Error {
    let reason = reason(answer);
    match remedy(answer) {
        Some(remedy) => Error::Refused { place, reason, remedy },
        None => Error::Away { place, reason },
    }
}

/// What has to be done before the same request can succeed; nothing where waiting may help.
fn remedy(answer: &RemotingCommand) -> Option<&'static str> {
    // Brokers before 5 answer to a wrong key as to a failure of their own.
    let keys = ["Acl", "Authenti", "Authoriz"].iter().any(|word| remark(answer).contains(word));
    match ResponseCode::from(answer.code()) {
        ResponseCode::SystemError if keys => {
            Some("check the access key, the secret key and what they permit")
        }
        ResponseCode::SystemError if is_too_large(answer) => Some(TOO_LARGE),
        ResponseCode::SystemError
        | ResponseCode::SystemBusy
        | ResponseCode::ServiceNotAvailable
        | ResponseCode::FlowControl
        | ResponseCode::NotLeaderForQueue
        | ResponseCode::PollingFull
        | ResponseCode::GoAway => None,
        ResponseCode::NoPermission => {
            Some("check the access key, the secret key, and the permissions of topic and group")
        }
        ResponseCode::TopicNotExist => Some("create the topic, or correct its name"),
        ResponseCode::SubscriptionGroupNotExist => Some("create the group, or let the broker create groups"),
        ResponseCode::MessageIllegal => Some(TOO_LARGE),
        ResponseCode::RequestCodeNotSupported | ResponseCode::VersionNotSupported => {
            Some("use brokers of Apache RocketMQ 5")
        }
        _ => Some("look into the broker's log"),
    }
}

/// An answer's code by name, with the broker's own words.
pub(super) fn reason(answer: &RemotingCommand) -> String {
    let code = answer.code();
    let name = match ResponseCode::from(code) {
        ResponseCode::SystemError => "the broker failed",
        ResponseCode::SystemBusy | ResponseCode::FlowControl => "the broker is too busy",
        ResponseCode::FlushDiskTimeout => "stored, but not flushed to disk in time",
        ResponseCode::FlushSlaveTimeout => "stored, but not copied to a replica in time",
        ResponseCode::SlaveNotAvailable => "stored, but no replica was there to copy it to",
        ResponseCode::MessageIllegal => "the broker does not take this message",
        ResponseCode::ServiceNotAvailable => "the broker cannot write now, or its disk is full",
        ResponseCode::NoPermission => "not permitted",
        ResponseCode::TopicNotExist => "no such topic",
        ResponseCode::SubscriptionGroupNotExist => "no such group",
        ResponseCode::InvalidParameter => "a parameter is not valid",
        ResponseCode::NotLeaderForQueue => "the broker is not the queue's master",
        ResponseCode::PollingFull => "too many pulls wait at the broker",
        ResponseCode::GoAway => "the broker is going down",
        ResponseCode::RequestCodeNotSupported => "the broker does not know such a request",
        _ => "the broker said no",
    };
    match remark(answer) {
        "" => format!("{name} (code {code})"),
        remark => format!("{name} (code {code}: {})", words(remark)),
    }
}

/// The broker's own words.
pub(super) fn remark(answer: &RemotingCommand) -> &str {
    answer.remark().map_or("", |remark| remark.as_str())
}

/// The first line of a remark, without the reference to a page of questions and answers.
fn words(remark: &str) -> String {
    let line = remark.lines().next().unwrap_or_default();
    let line = line.split("See http").next().unwrap_or_default();
    let line = line.trim_end_matches([' ', '.', ',', ';']);
    line.chars().take(REMARK_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: ResponseCode, remark: &str, retryable: bool, expected: &str) {
        let answer =
            RemotingCommand::create_response_command_with_code_remark(code.to_i32(), remark.to_owned());
        let error = accepted(|| "here".to_owned(), &answer).unwrap_err();
        assert_eq!(error.is_retryable(), retryable, "{error}");
        assert!(error.to_string().starts_with("here: "), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn codes_have_words_and_remedies() {
        check(
            ResponseCode::SystemBusy,
            "[REJECTREQUEST]",
            true,
            "too busy (code 2: [REJECTREQUEST]); try again",
        );
        check(ResponseCode::ServiceNotAvailable, "", true, "its disk is full (code 14)");
        check(
            ResponseCode::NoPermission,
            "no",
            false,
            "refused, not permitted (code 16: no); check the access",
        );
        check(ResponseCode::SystemError, "AclException: no accessKey", false, "check the access key");
        check(
            ResponseCode::SystemError,
            "late. See http://x.y for it\nmore",
            true,
            "failed (code 1: late); try",
        );
        check(ResponseCode::SubscriptionGroupNotExist, "", false, "create the group");
    }

    #[test]
    fn success_is_no_error() {
        let answer = RemotingCommand::create_response_command_with_code(ResponseCode::Success.to_i32());
        assert!(accepted(|| unreachable!("no place is named"), &answer).is_ok());
    }
}

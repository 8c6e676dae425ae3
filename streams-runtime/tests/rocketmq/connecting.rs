//! The first connection: mistakes, dead ends, keys.

use std::net::TcpListener;

use streams_runtime::rocketmq::{Broker, Config, Error, Secret, Tls};

use super::{config, in_time, plain, store, topic};

#[tokio::test]
async fn a_dead_end_is_named_within_bounds() {
    // One port that nobody listens at, one where nobody answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap().to_string();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let config = Config::new([&closed, &silent], "group", "client");
    let error = in_time(Broker::connect(&config)).await.unwrap_err();
    assert!(matches!(error, Error::NameServer { .. }), "{error}");
    assert!(error.is_retryable());
    for part in [format!("`{closed}` (Connection refused"), format!("`{silent}` (no answer in time)")] {
        assert!(error.to_string().contains(&part), "{error}");
    }
    assert!(error.to_string().contains("check the address"), "{error}");
}

#[tokio::test]
async fn one_name_server_that_answers_is_enough() {
    let mut config = config();
    config.namesrv.insert(0, "127.0.0.1:1".to_owned());
    let broker = in_time(Broker::connect(&config)).await.unwrap();
    topic(&broker, "second", 1).await;
    broker.shutdown().await;
}

#[tokio::test]
async fn signed_requests_are_understood_and_keys_do_not_show() {
    let mut config = config();
    config.access_key = Some(Secret::new("open-sesame"));
    config.secret_key = Some(Secret::new("open-sesame"));
    let broker = Broker::connect(&config).await.unwrap();
    let (topic, queue) = topic(&broker, "signed", 1).await;
    assert_eq!(store(&broker, &topic, &queue, &[plain("x")]).await, 0);
    assert!(!format!("{broker:?}").contains("sesame"));
    broker.shutdown().await;
}

#[tokio::test]
async fn a_configuration_is_checked_first() {
    let error = Broker::connect(&Config::new(["localhost"], "group", "client")).await.unwrap_err();
    assert!(matches!(error, Error::Config { .. }), "{error}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn calls_after_the_end_fail() {
    let broker = Broker::connect(&config()).await.unwrap();
    broker.shutdown().await;
    broker.shutdown().await;
    assert!(in_time(broker.queues("any")).await.is_err());
}

/// Without being asked for more, a broker encrypts with a certificate that it made up itself.
#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let mut config = config();
    config.tls = Tls::System;
    let error = in_time(Broker::connect(&config)).await.unwrap_err();
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
}

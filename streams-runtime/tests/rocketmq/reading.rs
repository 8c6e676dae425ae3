//! Pulls at the ends of a queue, and pulls that wait.

use std::time::Duration;

use streams_runtime::rocketmq::{Error, QueueId};

use super::{connect, eventually, in_time, plain, store, topic};

#[tokio::test]
async fn outside_of_a_queue_is_an_error_with_its_bounds() {
    let broker = connect().await;
    let (topic, queue) = topic(&broker, "range", 2).await;
    store(&broker, &topic, &queue, &vec![plain("x"); 10]).await;
    let visible = async || broker.pull(&topic, &queue, 0, 10, 0).await.unwrap().messages.len();
    eventually("messages", visible, |n| *n == 10).await;

    let at_end = broker.pull(&topic, &queue, 10, 10, 0).await.unwrap();
    assert!(at_end.messages.is_empty());
    assert_eq!((at_end.next, at_end.min, at_end.max), (10, 0, 10));
    for offset in [11, 1_000] {
        let error = broker.pull(&topic, &queue, offset, 10, 0).await.unwrap_err();
        assert_eq!(
            error,
            Error::OutOfRange { topic: topic.clone(), queue: queue.clone(), offset, min: 0, max: 10 }
        );
        assert!(!error.is_retryable());
        assert!(error.to_string().contains(&format!("no offset {offset}, it holds 0 to 10")), "{error}");
    }
    // A queue that nothing was ever written to.
    let untouched = QueueId { id: 1, ..queue };
    let nothing = broker.pull(&topic, &untouched, 0, 10, 0).await.unwrap();
    assert!(nothing.messages.is_empty());
    assert_eq!((nothing.next, nothing.min, nothing.max), (0, 0, 0));
    assert!(matches!(broker.pull(&topic, &untouched, 5, 10, 0).await, Err(Error::OutOfRange { .. })));
    broker.shutdown().await;
}

#[tokio::test]
async fn a_pull_waits_for_a_message_and_holds_nobody_up() {
    let broker = connect().await;
    let (topic, queue) = topic(&broker, "waits", 1).await;
    let waiting = {
        let (broker, topic, queue) = (broker.clone(), topic.clone(), queue.clone());
        tokio::spawn(async move { broker.pull(&topic, &queue, 0, 10, 50_000).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    // Another one that waits, and others that do not.
    let other = broker.pull(&topic, &queue, 0, 10, 50_000);
    assert!(tokio::time::timeout(Duration::from_millis(100), other).await.is_err());
    assert!(broker.pull(&topic, &queue, 0, 10, 0).await.unwrap().messages.is_empty());
    assert_eq!(broker.bounds(&topic, &queue).await.unwrap(), (0, 0));
    assert!(!waiting.is_finished());
    store(&broker, &topic, &queue, &[plain("x")]).await;
    assert_eq!(in_time(waiting).await.unwrap().unwrap().messages.len(), 1);

    // The end of the wait.
    let nothing = in_time(broker.pull(&topic, &queue, 1, 10, 200)).await.unwrap();
    assert!(nothing.messages.is_empty());
    assert_eq!(nothing.next, 1);
    broker.shutdown().await;
}

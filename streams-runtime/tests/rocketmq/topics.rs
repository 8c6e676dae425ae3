//! Topics, their queues, and what the broker keeps beside them.

use streams_runtime::rocketmq::{Error, QueueId};

use super::{connect, no_topic, plain, store, topic, unique};

#[tokio::test]
async fn a_topic_has_the_queues_it_was_created_with() {
    let broker = connect().await;
    let topic = unique("topic");
    broker.create_topic(&topic, 12, 3).await.unwrap();
    let queues = broker.queues(&topic).await.unwrap();
    let ids = |queues: &[QueueId]| queues.iter().map(|queue| queue.id).collect::<Vec<_>>();
    assert_eq!(ids(&queues.read), (0..12).collect::<Vec<_>>());
    assert_eq!(ids(&queues.write), (0..3).collect::<Vec<_>>());
    assert!(queues.read.is_sorted());

    broker.create_topic(&topic, 12, 3).await.unwrap();
    let error = broker.create_topic(&topic, 4, 4).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert!(error.to_string().contains("12 queues to read and 3 to write to"), "{error}");
    assert_eq!(broker.queues(&topic).await.unwrap(), queues);
    broker.shutdown().await;
}

#[tokio::test]
async fn an_unknown_topic_is_named() {
    let broker = connect().await;
    let (known, queue) = topic(&broker, "known", 1).await;
    let unknown = unique("unknown");
    no_topic(broker.queues(&unknown).await, &unknown);
    no_topic(broker.send(&unknown, &queue, &[plain("x")]).await, &unknown);
    no_topic(broker.pull(&unknown, &queue, 0, 1, 0).await, &unknown);
    no_topic(broker.bounds(&unknown, &queue).await, &unknown);
    no_topic(broker.join(&unique("group"), &[&unknown]).await, &unknown);
    // It must not have come to be by being asked for.
    no_topic(broker.queues(&unknown).await, &unknown);

    for queue in [QueueId { id: 1, ..queue.clone() }, QueueId { broker: "elsewhere".to_owned(), id: 0 }] {
        let error = broker.pull(&known, &queue, 0, 1, 0).await.unwrap_err();
        assert_eq!(error, Error::NoQueue { topic: known.clone(), queue: queue.clone() });
        assert!(broker.send(&known, &queue, &[plain("x")]).await.is_err());
    }
    broker.shutdown().await;
}

#[tokio::test]
async fn bounds_are_exact_and_times_lead_to_offsets() {
    let broker = connect().await;
    let (topic, queue) = topic(&broker, "bounds", 2).await;
    assert_eq!(broker.bounds(&topic, &queue).await.unwrap(), (0, 0));
    assert_eq!(broker.offset_at(&topic, &queue, 0).await.unwrap(), 0);
    for n in 1..=20 {
        store(&broker, &topic, &queue, &[plain("a"), plain("b")]).await;
        broker.settle(&topic, &queue).await.unwrap();
        assert_eq!(broker.bounds(&topic, &queue).await.unwrap(), (0, 2 * n));
    }
    let other = QueueId { id: 1, ..queue.clone() };
    assert_eq!(broker.bounds(&topic, &other).await.unwrap(), (0, 0));

    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    store(&broker, &topic, &queue, &[plain("c")]).await;
    let pulled = broker.pull(&topic, &queue, 39, 2, 10_000).await.unwrap();
    let before = pulled.messages[0].stored_ms;
    let last = super::eventually(
        "the last message",
        async || broker.pull(&topic, &queue, 40, 1, 0).await,
        |pulled| pulled.as_ref().is_ok_and(|pulled| !pulled.messages.is_empty()),
    );
    let last = last.await.unwrap().messages[0].stored_ms;
    assert!(last > before);
    let at = async |time| broker.offset_at(&topic, &queue, time).await.unwrap();
    assert_eq!(at(0).await, 0);
    assert_eq!(at(before + 1).await, 40);
    assert_eq!(at(last).await, 40);
    assert_eq!(at(last + 1).await, 41);
    broker.shutdown().await;
}

#[tokio::test]
async fn a_reported_offset_reads_back() {
    let broker = connect().await;
    let (topic, queue) = topic(&broker, "reported", 2).await;
    let group = unique("tools");
    store(&broker, &topic, &queue, &vec![plain("x"); 10]).await;
    let error = broker.report(&group, &topic, &queue, 7).await.unwrap_err();
    assert!(error.to_string().contains("no such group"), "{error}");
    let membership = broker.join(&group, &[&topic]).await.unwrap();
    assert_eq!(broker.reported(&group, &topic, &queue).await.unwrap(), None);
    for offset in [7, 0, 10] {
        broker.report(&group, &topic, &queue, offset).await.unwrap();
        assert_eq!(broker.reported(&group, &topic, &queue).await.unwrap(), Some(offset));
    }
    let other = QueueId { id: 1, ..queue };
    assert_eq!(broker.reported(&group, &topic, &other).await.unwrap(), None);
    membership.leave().await.unwrap();
    broker.shutdown().await;
}

//! What becomes of messages on their way in.

use std::collections::BTreeSet;

use streams_runtime::rocketmq::{Broker, Outgoing, QueueId, Sent};

use super::{config, connect, in_time, plain, store, topic};

#[tokio::test]
async fn batches_come_out_as_they_went_in() {
    const N: usize = 1_000;
    let broker = connect().await;
    let (topic, queue) = topic(&broker, "batches", 3).await;
    let queue = QueueId { id: 2, ..queue };
    let message = |i: usize| Outgoing {
        body: format!("body {i} \0\u{1}\u{2} ä").into(),
        keys: Some(format!("k{i} all")),
        tags: (i >= N / 2).then(|| format!("t{}", i % 3)),
        properties: vec![("number".to_owned(), i.to_string()), ("größe".to_owned(), "a=b ä".to_owned())],
    };
    for begin in (0..N).step_by(100) {
        let batch: Vec<Outgoing> = (begin..begin + 100).map(message).collect();
        assert_eq!(store(&broker, &topic, &queue, &batch).await, begin as u64);
    }
    let read = read_all(&broker, &topic, &queue, N).await;
    assert_eq!(read.len(), N);
    for (i, pulled) in read.iter().enumerate() {
        let sent = message(i);
        assert_eq!(pulled.offset, i as u64);
        assert_eq!((&pulled.body, &pulled.keys, &pulled.tags), (&sent.body, &sent.keys, &sent.tags));
        for (name, value) in &sent.properties {
            assert_eq!(pulled.properties.get(name), Some(value), "{pulled:?}");
        }
        assert!(!pulled.properties.contains_key("KEYS") && !pulled.properties.contains_key("TAGS"));
    }
    assert!(read.is_sorted_by_key(|pulled| pulled.stored_ms));
    assert!(read[0].stored_ms > 1_600_000_000_000);
    let ids: BTreeSet<u64> = read.iter().map(|pulled| pulled.id).collect();
    assert_eq!(ids.len(), N);
    assert_eq!(read_all(&broker, &topic, &queue, N).await, read);
    for id in 0..2 {
        assert_eq!(broker.bounds(&topic, &QueueId { id, ..queue.clone() }).await.unwrap(), (0, 0));
    }
    broker.shutdown().await;
}

async fn read_all(
    broker: &Broker,
    topic: &str,
    queue: &QueueId,
    n: usize,
) -> Vec<streams_runtime::rocketmq::PulledMessage> {
    let mut read = Vec::new();
    let mut next = 0;
    while read.len() < n {
        let pulled = in_time(broker.pull(topic, queue, next, 333, 5_000)).await.unwrap();
        assert!(pulled.from_master && pulled.messages.len() <= 333);
        next = pulled.next;
        read.extend(pulled.messages);
    }
    assert_eq!(next, n as u64);
    read
}

#[tokio::test]
async fn a_body_may_be_empty() {
    let broker = connect().await;
    let (topic, queue) = topic(&broker, "empty", 1).await;
    assert_eq!(store(&broker, &topic, &queue, &[plain("")]).await, 0);
    assert_eq!(store(&broker, &topic, &queue, &[plain(""), plain("x"), plain("")]).await, 1);
    let read = read_all(&broker, &topic, &queue, 4).await;
    let bodies: Vec<&[u8]> = read.iter().map(|pulled| &pulled.body[..]).collect();
    assert_eq!(bodies, [b"", b"", b"x".as_slice(), b""]);
    broker.shutdown().await;
}

#[tokio::test]
async fn what_is_too_large_is_refused_with_the_limit() {
    let mut larger = config();
    larger.batch_bytes = 8 * 1024 * 1024;
    // With the usual setting before anything is sent, with a larger one by the broker.
    for config in [config(), larger] {
        let broker = Broker::connect(&config).await.unwrap();
        let (topic, queue) = topic(&broker, "large", 1).await;
        let large = plain("x".repeat(5 * 1024 * 1024));
        let sent = in_time(broker.send(&topic, &queue, std::slice::from_ref(&large))).await.unwrap();
        let Sent::Refused(reason) = sent else { panic!("{sent:?}") };
        assert!(reason.contains("4194304"), "{reason}");
        assert!(reason.contains(&topic), "{reason}");
        let halves = vec![plain("x".repeat(3 * 1024 * 1024)); 2];
        assert!(matches!(broker.send(&topic, &queue, &halves).await, Ok(Sent::Refused(_))));
        assert_eq!(broker.bounds(&topic, &queue).await.unwrap(), (0, 0));
        // The connection is still good.
        assert_eq!(store(&broker, &topic, &queue, &[plain("x".repeat(3 * 1024 * 1024))]).await, 0);
        assert_eq!(read_all(&broker, &topic, &queue, 1).await[0].body.len(), 3 * 1024 * 1024);
        broker.shutdown().await;
    }
}

#[tokio::test]
async fn sends_from_many_tasks_do_not_mix() {
    const TASKS: u64 = 8;
    const BATCHES: u64 = 20;
    let broker = connect().await;
    let (topic, queue) = topic(&broker, "tasks", 1).await;
    let tasks = (0..TASKS).map(|task| {
        let (broker, topic, queue) = (broker.clone(), topic.clone(), queue.clone());
        tokio::spawn(async move {
            let mut first = Vec::new();
            for i in 0..BATCHES {
                let batch = vec![plain(format!("{task}/{i}")); 5];
                let offset = store(&broker, &topic, &queue, &batch).await;
                // The broker may be behind with its index, but not behind this.
                broker.settle(&topic, &queue).await.unwrap();
                let (_, max) = broker.bounds(&topic, &queue).await.unwrap();
                assert!(max >= offset + 5, "{max} is below {offset} + 5");
                first.push((offset, format!("{task}/{i}")));
            }
            first
        })
    });
    let mut expected = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        expected.extend(task.await.unwrap());
    }
    let read = read_all(&broker, &topic, &queue, (TASKS * BATCHES * 5) as usize).await;
    for (offset, body) in expected {
        for pulled in &read[offset as usize..][..5] {
            assert_eq!(pulled.body, body.as_bytes());
        }
    }
    broker.shutdown().await;
}

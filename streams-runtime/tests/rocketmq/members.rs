//! Groups: who is in them, and who is not any more.

use std::time::Instant;

use streams_runtime::rocketmq::{Broker, Config};

use super::{eventually, namesrv, topic, unique};

async fn named(name: &str) -> Broker {
    Broker::connect(&Config::new([namesrv()], "group", name)).await.unwrap()
}

#[tokio::test]
async fn members_see_each_other_come_and_go() {
    let (a, b, c) = (named("member-a").await, named("member-b").await, named("member-c").await);
    let (first, _) = topic(&a, "members", 2).await;
    let (second, _) = topic(&a, "members", 2).await;
    let group = unique("members");
    let topics = [first.as_str(), second.as_str()];

    let at_a = a.join(&group, &topics).await.unwrap();
    assert_eq!(at_a.members().await.unwrap(), ["member-a"]);
    let at_b = b.join(&group, &topics).await.unwrap();
    let at_c = c.join(&group, &topics).await.unwrap();
    for member in [&at_a, &at_b, &at_c] {
        assert_eq!(member.members().await.unwrap(), ["member-a", "member-b", "member-c"]);
    }
    let see = async |expected: &[&str]| {
        let begin = Instant::now();
        let ask = async || at_a.members().await.unwrap();
        eventually("members", ask, |members| members == expected).await;
        println!("{} members are seen after {:?}", expected.len(), begin.elapsed());
    };
    at_b.leave().await.unwrap();
    see(&["member-a", "member-c"]).await;

    // Without a word, as if its process had ended.
    drop((at_c, c));
    see(&["member-a"]).await;

    let at_b = b.join(&group, &topics).await.unwrap();
    see(&["member-a", "member-b"]).await;
    b.shutdown().await;
    see(&["member-a"]).await;
    assert!(at_b.heartbeat().await.is_err());
    at_a.heartbeat().await.unwrap();
    at_a.leave().await.unwrap();
    a.shutdown().await;
}

//! Much state, and an owner that dies.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable as _;

use super::super::PATIENCE;
use super::super::jobs::end;
use super::{Shared, connect};

/// `STREAMS_KEYS` keys in one open window, half of them with an instance that is killed: whoever takes its queues over
/// works on them before their rows have been loaded, and the window fires in the middle of that.
#[tokio::test(flavor = "multi_thread")]
async fn queues_are_worked_on_while_their_state_is_loaded() {
    let keys: usize = std::env::var("STREAMS_KEYS").map_or(20_000, |text| text.parse().unwrap());
    let shared = Shared::new(8).await;
    let fleet = &shared.fleet;
    let record = |key: usize, at: usize| format!("{{\"host\":\"key-{key}\",\"out_flow\":1,\"at\":{at}}}");
    let mut lines: Vec<String> = (0..keys).map(|key| record(key, key * 4_000 / keys)).collect();
    let begun = Instant::now();
    let mut instances = [shared.join(0), shared.join(1)];
    instances[0].hears(begun, "has 2 instances", 1).await;
    for part in lines.chunks(20_000) {
        fleet.put(&part.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    let mut conn = connect(&shared.server, Some(&shared.database)).await;
    let stage_1 = "split >> 16 & 65535 = 1";
    loop {
        let there: Option<u64> =
            conn.query_first(format!("SELECT COUNT(*) FROM streams_row WHERE {stage_1}")).await.unwrap();
        if there.unwrap_or(0) >= keys as u64 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // One of them dies.
    let owners = format!("SELECT split, member, version FROM streams_split WHERE {stage_1}");
    let before: Vec<(u64, String, u64)> = conn.query(&owners).await.unwrap();
    let victim = before[0].1.clone();
    let killed = Instant::now();
    for instance in instances.iter_mut().filter(|instance| instance.is_called(&victim)) {
        instance.job.kill();
    }
    let mut taken: BTreeMap<u64, (u64, Option<Duration>)> = BTreeMap::new();
    taken.extend(
        before.iter().filter(|(_, member, _)| *member == victim).map(|(split, _, v)| (*split, (*v, None))),
    );
    let mut n = 0;
    while taken.values().any(|(_, first)| first.is_none()) {
        assert!(killed.elapsed() < PATIENCE, "not taken over: {taken:?}");
        let more: Vec<String> = (0..400).map(|i| record((n + i) * 7_919 % keys, 4_100)).collect();
        n += more.len();
        fleet.put(&more.iter().map(String::as_str).collect::<Vec<_>>()).await;
        lines.extend(more);
        for (split, member, version) in conn.query::<(u64, String, u64), _>(&owners).await.unwrap() {
            if let Some((old, first)) = taken.get_mut(&split)
                && member != victim
                && version > *old
            {
                first.get_or_insert(killed.elapsed());
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let firsts: Vec<u128> = taken.values().map(|(_, first)| first.unwrap().as_millis()).collect();
    fleet.close().await;
    let text: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (results, dropped) = shared.check(&text).await;
    let loaded = instances.iter().filter_map(|one| one.when(killed, "has been loaded", 1)).min();
    println!(
        "{{\"keys\":{keys},\"results\":{results},\"equal\":true,\"raw_duplicates\":{dropped},\"queues_taken_over\":{},\"first_record_ms_worst\":{},\"first_load_done_ms\":{}}}",
        firsts.len(),
        firsts.iter().max().unwrap(),
        loaded.map_or("null".to_owned(), |loaded| loaded.as_millis().to_string()),
    );
    for instance in instances.into_iter().filter(|instance| !instance.is_called(&victim)) {
        assert_eq!(end(instance.job, "-TERM"), Some(0));
    }
}

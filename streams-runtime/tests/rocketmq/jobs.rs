//! Jobs on a real broker, as programs: started, killed, started again, ended by a signal; what they leave in their
//! topics is compared with a run on a file.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use streams_core::protocol::frame::Frame;
use streams_runtime::rocketmq::{Broker, Config, QueueId};

use super::outage::Ours;
use super::{eventually, namesrv, plain, store, unique};
use crate::program::{Place, flows, sorted};

/// A job with a topic for its input and one for its output.
pub(crate) struct Fleet {
    pub(crate) place: Place,
    pub(crate) namesrv: String,
    pub(crate) broker: Broker,
    pub(crate) input: String,
    pub(crate) output: String,
    pub(crate) group: String,
    /// `PORT=` where the job has several outputs.
    pub(crate) port: &'static str,
    /// Between two checkpoints.
    pub(crate) interval: &'static str,
}

impl Fleet {
    pub(crate) async fn new(job: &'static str, n_queues: u16) -> Self {
        Self::at(&namesrv(), job, n_queues).await
    }

    pub(crate) async fn at(namesrv: &str, job: &'static str, n_queues: u16) -> Self {
        Self::with(&Config::new([namesrv], unique("group"), unique("client")), job, n_queues).await
    }

    pub(crate) async fn with(config: &Config, job: &'static str, n_queues: u16) -> Self {
        let broker = Broker::connect(config).await.unwrap();
        let (input, output) = (unique("flows"), unique("totals"));
        broker.create_topic(&input, n_queues, n_queues).await.unwrap();
        broker.create_topic(&output, 3, 3).await.unwrap();
        let (place, group, namesrv) = (Place::new(job), unique("traffic"), config.namesrv[0].clone());
        Self { place, namesrv, broker, input, output, group, port: "", interval: "200ms" }
    }

    pub(crate) fn command(&self, more: &str) -> Command {
        let Self { input, output, group, namesrv, interval, .. } = self;
        self.place.command(&format!(
            "run --namesrv {namesrv} --group {group} --from topic:{input} --to topic:{output} --local-only --state state --shuffle-queues 4 --checkpoint-interval {interval} {more}"
        ))
    }

    pub(crate) fn start(&self) -> Job {
        self.start_with("--report report.json")
    }

    pub(crate) fn start_with(&self, more: &str) -> Job {
        Job(self.command(more).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Spreads lines over the queues of the input, in their order.
    pub(crate) async fn put(&self, lines: &[&str]) {
        let queues = self.broker.queues(&self.input).await.unwrap().write;
        for (queue, id) in queues.iter().enumerate() {
            let own: Vec<_> =
                lines.iter().skip(queue).step_by(queues.len()).map(|line| plain(*line)).collect();
            for batch in own.chunks(500) {
                store(&self.broker, &self.input, id, batch).await;
            }
        }
    }

    /// Moves event time of every queue behind all windows.
    pub(crate) async fn close(&self) {
        let last = r#"{"host":"last","out_flow":1,"at":9000000000000}"#;
        for id in self.broker.queues(&self.input).await.unwrap().write {
            store(&self.broker, &self.input, &id, &[plain(last)]).await;
        }
    }

    /// What a reader finds that keeps the highest number of each sender: lines, and how many it dropped.
    pub(crate) async fn results(&self) -> (Vec<String>, u64) {
        let mut lines = Vec::new();
        let mut dropped = 0;
        for id in self.broker.queues(&self.output).await.unwrap().read {
            let mut highest: BTreeMap<(String, String), u64> = BTreeMap::new();
            for message in all(&self.broker, &self.output, &id).await {
                let property = |name: &str| message.properties[name].clone();
                let sender = (property("streams-job"), property("streams-split"));
                let number: u64 = property("streams-number").parse().unwrap();
                let seen = highest.entry(sender).or_default();
                if number <= *seen {
                    dropped += 1;
                    continue;
                }
                assert_eq!(number, *seen + 1, "a number is missing in {id}");
                *seen = number;
                lines.push(String::from_utf8(message.body.to_vec()).unwrap());
            }
        }
        (lines, dropped)
    }

    /// How many messages the output has.
    pub(crate) async fn stored(&self) -> u64 {
        let mut n = 0;
        for id in self.broker.queues(&self.output).await.unwrap().read {
            n += self.broker.bounds(&self.output, &id).await.unwrap().1;
        }
        n
    }

    /// Waits until the output has more messages than these.
    pub(crate) async fn grown_from(&self, before: u64) {
        eventually("more results", async || self.stored().await, |n| *n > before).await;
    }

    /// The results of a run on a file with these lines, without those of the closing record.
    pub(crate) fn expected(&self, text: &str) -> Vec<String> {
        self.place.write("in.jsonl", text);
        self.place.ok("run --from file:in.jsonl --to file:out.jsonl");
        sorted(&self.place.read("out.jsonl")).into_iter().map(str::to_owned).collect()
    }

    pub(crate) async fn wait_for(&self, n: usize) -> (Vec<String>, u64) {
        super::grown_to("results", n as u64, async || self.stored().await).await;
        let ask = async || self.results().await;
        let (mut lines, dropped) = eventually("results", ask, |(lines, _)| lines.len() >= n).await;
        lines.sort_unstable();
        (lines, dropped)
    }
}

pub(crate) async fn all(
    broker: &Broker,
    topic: &str,
    queue: &QueueId,
) -> Vec<streams_runtime::rocketmq::PulledMessage> {
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let pulled = broker.pull(topic, queue, at, 1_000, 0).await.unwrap();
        if pulled.messages.is_empty() {
            return found;
        }
        at = pulled.next;
        found.extend(pulled.messages);
    }
}

/// A job that runs; a test that fails leaves none behind.
pub(crate) struct Job(pub(crate) Child);

impl Job {
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal and waits for the end.
pub(crate) fn end(mut job: Job, signal: &str) -> Option<i32> {
    let sent = Command::new("kill").args([signal, &job.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    job.0.wait().unwrap().code()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_a_shuffle_gives_what_it_gives_on_a_file() {
    let fleet = Fleet::new("traffic", 4).await;
    let text = flows(20_000, 40);
    let lines: Vec<&str> = text.lines().collect();
    let expected = fleet.expected(&text);
    let job = fleet.start();
    fleet.put(&lines).await;
    fleet.close().await;
    let (found, dropped) = fleet.wait_for(expected.len()).await;
    assert_eq!(found.len(), expected.len());
    assert!(found == expected, "other results than on a file");
    assert_eq!(dropped, 0, "without a crash nothing stands there twice");
    assert_eq!(end(job, "-TERM"), Some(0));
    let report = fleet.place.report("report.json");
    assert_eq!((&report["records_in"], &report["late"]), (&20_004.into(), &0.into()), "{report}");
}

/// What a job says that does not start.
pub(crate) fn refused(mut command: Command) -> String {
    let output = command.stdout(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(0), "{text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_instance_is_refused_with_the_reason() {
    let fleet = Fleet::new("traffic", 2).await;
    let job = fleet.start();
    fleet.put(&flows(400, 5).lines().collect::<Vec<_>>()).await;
    fleet.wait_for(1).await;
    let other = Fleet {
        place: Place::new("traffic"),
        namesrv: fleet.namesrv.clone(),
        broker: fleet.broker.clone(),
        input: fleet.input.clone(),
        output: fleet.output.clone(),
        group: fleet.group.clone(),
        port: "",
        interval: "200ms",
    };
    let text = refused(other.command(""));
    assert!(text.contains("has 1 other members") && text.contains("--group"), "{text}");
    // The group's offsets are there for the tools of the broker.
    let queue = fleet.broker.queues(&fleet.input).await.unwrap().read[0].clone();
    let offset = async || fleet.broker.reported(&fleet.group, &fleet.input, &queue).await.unwrap();
    eventually("the offset for tools", offset, |offset| *offset == Some(200)).await;
    assert_eq!(end(job, "-TERM"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_before_anything_runs() {
    let fleet = Fleet::new("traffic", 1).await;
    let missing = Fleet { input: unique("nothing"), ..fleet };
    let text = refused(missing.command(""));
    assert!(text.contains("port `flows`) does not exist; create it"), "{text}");
    let fleet = Fleet::new("traffic", 1).await;
    let shuffle = format!("{}-shuffle-0", fleet.group);
    fleet.broker.create_topic(&shuffle, 3, 3).await.unwrap();
    let text = refused(fleet.command(""));
    assert!(text.contains("mqadmin updateTopic") && text.contains(&shuffle), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_records_are_dead_letters_and_cost_nothing_else() {
    let fleet = Fleet::new("traffic", 1).await;
    let text = flows(1_000, 5);
    let expected = fleet.expected(&text);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(500, "garbage");
    lines.insert(300, "");
    let job = fleet.start_with("--dead-letter file:letters --report report.json");
    fleet.put(&lines).await;
    fleet.close().await;
    let (found, _) = fleet.wait_for(expected.len()).await;
    assert!(found == expected);
    assert_eq!(end(job, "-TERM"), Some(0));
    let letters = fleet.place.read("letters");
    let letters: Vec<serde_json::Value> =
        letters.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(letters.len(), 2, "{letters:?}");
    assert_eq!((&letters[1]["offset"], &letters[1]["raw"]), (&501.into(), &"garbage".into()), "{letters:?}");
    assert_eq!(fleet.place.report("report.json")["dead_letter"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_grows_makes_nobody_late() {
    let fleet = Fleet::new("traffic", 8).await;
    let text = flows(6_000, 20);
    let expected = fleet.expected(&text);
    let lines: Vec<&str> = text.lines().collect();
    let (first, second) = lines.split_at(2_000);
    let (second, third) = second.split_at(1_000);
    let job = fleet.start();
    fleet.put(first).await;
    fleet.wait_for(1).await;
    // Read queues first: nothing comes into them before their readers have announced them.
    let admin = |read: &str, write: &str| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/rocketmq");
        let words = [
            "admin",
            "updateTopic",
            "-n",
            &namesrv(),
            "-c",
            "DefaultCluster",
            "-t",
            &fleet.input,
            "-r",
            read,
            "-w",
            write,
        ];
        assert!(Command::new(script).args(words).stdout(Stdio::null()).status().unwrap().success());
    };
    admin("10", "8");
    let shuffle = format!("{}-shuffle-0", fleet.group);
    let announced = async || {
        let mut heard = std::collections::BTreeSet::new();
        for id in fleet.broker.queues(&shuffle).await.unwrap().read {
            for message in all(&fleet.broker, &shuffle, &id).await {
                // Large ones are packed.
                heard.extend(Frame::decode(&message.body).map(|frame| frame.siblings).unwrap_or_default());
            }
        }
        heard.len()
    };
    // The job looks for new queues every ten seconds, and tells of them with the next records.
    for part in second.chunks(50) {
        fleet.put(part).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    eventually("that ten queues are announced", announced, |n| *n == 10).await;
    admin("10", "10");
    let writable = async || fleet.broker.queues(&fleet.input).await.unwrap().write.len();
    eventually("ten queues to write to", writable, |n| *n == 10).await;
    fleet.put(third).await;
    fleet.close().await;
    let (found, _) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(end(job, "-TERM"), Some(0));
    assert_eq!(fleet.place.report("report.json")["late"], 0);
}

/// `STREAMS_KILLS` kills, one every three to six seconds, while 5,000 records a second come in; `STREAMS_STORE` names
/// the store.
#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_nothing_is_lost_or_doubled() {
    const A_SECOND: usize = 5_000;
    let kills: usize = std::env::var("STREAMS_KILLS").map_or(3, |text| text.parse().unwrap());
    let store = std::env::var("STREAMS_STORE").map_or(String::new(), |name| format!("--store {name}"));
    let fleet = Fleet::new("traffic", 4).await;
    let pauses: Vec<u64> = (0..kills as u64).map(|kill| 3_000 + kill * 7_919 % 3_000).collect();
    // More than will be needed: records come in as long as the killing lasts.
    let text = flows(A_SECOND * (pauses.len() + 1) * 20, 40);
    let lines: Vec<&str> = text.lines().collect();
    let over = AtomicBool::new(false);
    let produce = async {
        let mut clock = tokio::time::interval(Duration::from_millis(100));
        let mut n = 0;
        for part in lines.chunks(A_SECOND / 10) {
            clock.tick().await;
            fleet.put(part).await;
            n += part.len();
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
        fleet.close().await;
        n
    };
    let kill = async {
        let mut waits = Vec::new();
        let start = || fleet.start_with(&format!("{store} --report report.json"));
        let mut job = start();
        fleet.grown_from(0).await;
        for pause in &pauses {
            tokio::time::sleep(Duration::from_millis(*pause)).await;
            job.kill();
            let killed = Instant::now();
            let there = fleet.stored().await;
            job = start();
            fleet.grown_from(there).await;
            waits.push(killed.elapsed());
        }
        over.store(true, Ordering::Relaxed);
        (job, waits)
    };
    let (n, (job, mut waits)) = tokio::join!(produce, kill);
    let expected = fleet.expected(&lines[..n].join("\n"));
    fleet.grown_from(expected.len() as u64 - 1).await;
    let (found, dropped) = fleet.wait_for(expected.len()).await;
    let lost = expected.iter().filter(|line| found.binary_search(line).is_err()).count();
    let doubled = found.len() - found.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(end(job, "-TERM"), Some(0));
    waits.sort_unstable();
    let ms = |at: usize| waits.get(at).map_or(0, Duration::as_millis);
    println!(
        "{kills} kills, {n} records, {} results, {lost} lost, {doubled} doubled, {dropped} raw duplicates, first result {} ms median {} ms worst",
        found.len(),
        ms(waits.len() / 2),
        ms(waits.len().saturating_sub(1)),
    );
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_article_runs_without_a_state() {
    let fleet = Fleet::new("traffic", 2).await;
    let (input, group, namesrv) = (&fleet.input, &fleet.group, namesrv());
    let words =
        format!("run --namesrv {namesrv} --group {group} --from topic:{input} --local-only --to print:");
    let job = fleet.place.command(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut job = Job(job.unwrap());
    let text = flows(1_000, 5);
    let expected = fleet.expected(&text);
    fleet.put(&text.lines().collect::<Vec<_>>()).await;
    fleet.close().await;
    let mut printed = std::io::BufRead::lines(std::io::BufReader::new(job.0.stdout.take().unwrap()));
    let mut found: Vec<String> = printed.by_ref().take(expected.len()).map(|line| line.unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(end(job, "-TERM"), Some(0));
    assert_eq!(printed.count(), 0, "the window of the closing record is not over");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_may_stop_in_the_middle() {
    let ours = Ours::new(1);
    let namesrv = ours.run("start");
    let fleet = Fleet::at(namesrv.trim(), "traffic", 3).await;
    let text = flows(6_000, 20);
    let expected = fleet.expected(&text);
    let lines: Vec<&str> = text.lines().collect();
    let (first, second) = lines.split_at(3_000);
    let job = fleet.start();
    fleet.put(first).await;
    fleet.wait_for(1).await;
    ours.run("kill-broker");
    tokio::time::sleep(Duration::from_secs(4)).await;
    ours.run("start-broker");
    let there = async || fleet.broker.queues(&fleet.input).await.map(|queues| queues.write.len());
    eventually("the topic", there, |n| *n == Ok(3)).await.unwrap();
    fleet.put(second).await;
    fleet.close().await;
    let (found, _) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(end(job, "-TERM"), Some(0));
}

/// A backlog of `STREAMS_RECORDS` records in eight queues: what it takes of the processor and of memory.
async fn backlog(job: &'static str) {
    let n: usize = std::env::var("STREAMS_RECORDS").map_or(20_000, |text| text.parse().unwrap());
    let fleet = Fleet::new(job, 8).await;
    let text = flows(n, 1_000);
    let lines: Vec<&str> = text.lines().collect();
    let expected = fleet.expected(&text);
    fleet.put(&lines).await;
    if job == "traffic" {
        fleet.close().await;
    }
    let begun = Instant::now();
    let child = fleet.start();
    fleet.grown_from(expected.len() as u64 - 1).await;
    let elapsed = begun.elapsed();
    let (cpu_ms, peak_kb) = usage(child.0.id());
    let (found, dropped) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "{} results of {}", found.len(), expected.len());
    assert_eq!(dropped, 0);
    assert_eq!(end(child, "-TERM"), Some(0));
    println!(
        "{{\"job\":\"{job}\",\"records\":{n},\"results\":{},\"equal\":true,\"cpu_us_per_record\":{:.2},\"peak_mb\":{:.1},\"seconds\":{:.1}}}",
        found.len(),
        cpu_ms as f64 * 1_000.0 / n as f64,
        peak_kb as f64 / 1_024.0,
        elapsed.as_secs_f64()
    );
}

/// Processor time in ms and the most memory in kB that a process has used.
pub(crate) fn usage(pid: u32) -> (u64, u64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // Behind the name, which may hold anything.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    (ticks * 10, peak.trim().trim_end_matches(" kB").parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_through_a_shuffle() {
    backlog("traffic").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_without_state() {
    backlog("halves").await;
}

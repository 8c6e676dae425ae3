//! Servers that speak TLS only and take signed requests only.

use std::process::{Command, Stdio};

use streams_runtime::rocketmq::{Broker, Config, Error, Secret, Tls};

use super::jobs::{Fleet, Job, end, refused};
use super::outage::Ours;
use super::{in_time, unique};
use crate::program::flows;

/// Servers of our own, and how to be let in.
struct Secured {
    _ours: Ours,
    config: Config,
    authority: String,
}

impl Secured {
    fn new() -> Self {
        let ours = Ours::new(3);
        let said = ours.run_secured("start");
        let (namesrv, authority) = said.trim().split_once('\n').unwrap();
        let mut config = Config::new([namesrv], unique("group"), unique("client"));
        config.access_key = Some(Secret::new("streams"));
        config.secret_key = Some(Secret::new("streams-secret"));
        config.tls = Tls::Authority(authority.to_owned());
        Self { _ours: ours, config, authority: authority.to_owned() }
    }

    async fn refuses(&self, change: impl FnOnce(&mut Config)) -> Error {
        let mut config = self.config.clone();
        change(&mut config);
        match in_time(Broker::connect(&config)).await {
            Ok(broker) => in_time(broker.create_topic(&unique("topic"), 1, 1)).await.unwrap_err(),
            Err(error) => error,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_on_servers_that_encrypt_and_ask_for_keys() {
    let secured = Secured::new();
    let fleet = Fleet::with(&secured.config, "traffic", 2).await;
    let with_keys = |mut command: Command| {
        command.env("ROCKETMQ_ACCESS_KEY", "streams").env("ROCKETMQ_SECRET_KEY", "streams-secret");
        command.env("ROCKETMQ_TLS_CA", &secured.authority);
        command
    };
    let text = flows(2_000, 20);
    let expected = fleet.expected(&text);
    let job = Job(with_keys(fleet.command("")).stdout(Stdio::null()).spawn().unwrap());
    fleet.put(&text.lines().collect::<Vec<_>>()).await;
    fleet.close().await;
    let (found, _) = fleet.wait_for(expected.len()).await;
    assert!(found == expected, "other results than on a file");
    assert_eq!(end(job, "-TERM"), Some(0));

    let mut wrong = with_keys(fleet.command(""));
    wrong.env("ROCKETMQ_SECRET_KEY", "sesame");
    let text = refused(wrong);
    assert!(text.contains("check the access key, the secret key"), "{text}");
    assert!(!text.contains("sesame"), "{text}");

    let unsigned = secured.refuses(|config| (config.access_key, config.secret_key) = (None, None)).await;
    assert!(matches!(unsigned, Error::Refused { .. }), "{unsigned}");
    let wrong = secured.refuses(|config| config.secret_key = Some(Secret::new("sesame"))).await;
    assert!(matches!(wrong, Error::Refused { .. }), "{wrong}");
    let stranger = secured.refuses(|config| config.tls = Tls::System).await;
    assert!(stranger.to_string().contains("invalid peer certificate"), "{stranger}");
    let plain = secured.refuses(|config| config.tls = Tls::Off).await;
    assert!(plain.to_string().contains("whether it asks for TLS"), "{plain}");
    let nowhere = secured.refuses(|config| config.tls = Tls::Authority("nowhere.pem".to_owned())).await;
    assert!(nowhere.to_string().contains("`nowhere.pem`, which should have the certificates"), "{nowhere}");
}

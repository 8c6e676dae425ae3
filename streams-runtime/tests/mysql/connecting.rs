//! Ways to the server: encrypted, by a Unix socket, and over connections that the server has closed meanwhile.

use std::path::Path;
use std::time::Duration;

use mysql_async::prelude::Queryable as _;
use streams_runtime::remote::Failure;
use streams_runtime::remote::mysql::Mysql;

use super::outage::Ours;
use super::{Database, SPLIT, address, take};

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_when_they_are_to_be() {
    let ours = Ours::new(3);
    let url = ours.run("start");
    let url = url.trim();
    let tls = ours.folder().join("tls");
    ours.sql("CREATE USER private IDENTIFIED BY 'streams' REQUIRE SSL; GRANT ALL ON streams.* TO private");
    let private = url.replace("//streams@", "//private@");

    let open =
        async |options: String| Mysql::open(&address(&format!("{private}{options}")), "job", "me").await;
    let encrypted = open(format!("?ca={}", tls.join("ca.pem").display())).await.unwrap();
    take(&encrypted, 1).await;
    // The name in the certificate counts as well as the address.
    let by_name = private.replace("127.0.0.1", "localhost");
    let by_name = format!("{by_name}?ca={}", tls.join("ca.pem").display());
    Mysql::open(&address(&by_name), "job", "me").await.unwrap();

    let refused = [
        (String::new(), "1045"),
        // Nobody of those who sign for the public has signed this one; nor has the server itself.
        ("?tls=on".to_owned(), "cannot be encrypted"),
        (format!("?ca={}", another_authority(&ours).display()), "cannot be encrypted"),
    ];
    for (options, expect) in refused {
        match open(options.clone()).await {
            Err(Failure::Fatal(text)) => assert!(text.contains(expect), "{options}: {text}"),
            other => panic!("{options}: {other:?}"),
        }
    }
}

/// The certificate of somebody who has signed nothing.
fn another_authority(ours: &Ours) -> std::path::PathBuf {
    let file = ours.folder().join("other.pem");
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=somebody else",
            "-keyout",
            "/dev/null",
        ])
        .args(["-addext", "basicConstraints=critical,CA:TRUE"])
        .args([Path::new("-out"), &file])
        .output()
        .unwrap();
    assert!(made.status.success());
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_will_do() {
    let ours = Ours::new(4);
    ours.run("start");
    let socket = ours.folder().join("socket");
    let url = format!("mysql://streams@localhost:1/streams?socket={}", socket.display());
    let mysql = Mysql::open(&address(&url), "job", "me").await.unwrap();
    take(&mysql, 1).await;
    assert!(mysql.place().contains(socket.to_str().unwrap()), "{}", mysql.place());
    ours.run("kill");
    match mysql.read(SPLIT).await {
        Err(Failure::Away(text)) => assert!(text.contains(mysql.place()), "{text}"),
        other => panic!("{other:?}"),
    }
    ours.run("restart");
    assert_eq!(mysql.read(SPLIT).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_the_server_has_closed_are_replaced() {
    let database = Database::new("closed").await;
    let mysql = database.open().await;
    let token = take(&mysql, 1).await;
    let mut conn = database.conn().await;
    let others = format!(
        "SELECT id FROM information_schema.processlist WHERE db = '{}' AND id <> CONNECTION_ID()",
        database.name
    );
    for round in 0..3 {
        let kept: Vec<u64> = conn.query(&others).await.unwrap();
        assert!(!kept.is_empty(), "connections are kept for the next call");
        for id in kept {
            conn.query_drop(format!("KILL {id}")).await.unwrap();
        }
        if round > 0 {
            // Long enough to be asked for a sign of life first.
            tokio::time::sleep(Duration::from_millis(600)).await;
            assert_eq!(mysql.heartbeat(&[(SPLIT, token)]).await, Ok(1), "round {round}");
        } else {
            let first = mysql.heartbeat(&[(SPLIT, token)]).await;
            assert!(matches!(first, Err(Failure::Away(_)) | Ok(1)), "{first:?}");
            assert_eq!(mysql.heartbeat(&[(SPLIT, token)]).await, Ok(1));
        }
    }
    // Many at once share few connections.
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let mysql = mysql.clone();
            tokio::spawn(async move { mysql.observe(SPLIT).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok((token, 0)));
    }
    let kept: Vec<u64> = conn.query(&others).await.unwrap();
    assert!(kept.len() <= 8, "{} connections", kept.len());
}

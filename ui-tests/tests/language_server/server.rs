//! A language server as a child process: messages of JSON-RPC over its standard input and output.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long one answer may take: on a machine that does much else, building the macros takes minutes.
const PATIENCE: Duration = Duration::from_secs(1_200);
/// How often a question is repeated that the server gave up on because something had changed meanwhile.
const MOST_TRIES: usize = 20;
/// "Content modified" and "server cancelled": ask again.
const ASK_AGAIN: [i64; 2] = [-32801, -32802];

/// A running server, which ends with this value.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    /// Its messages; at its end a sentence about what happened to it.
    messages: Receiver<Result<Value, String>>,
    last_id: u64,
    version: u64,
    is_ready: bool,
}

impl Server {
    /// Starts the program on a crate and waits until it has read it.
    pub(crate) fn start(program: &str, root: &Path, options: &Value) -> Self {
        let mut child = Command::new(program)
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("`{program}` does not start: {error}"));
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let message = read(&mut output);
                let is_end = message.is_err();
                if sender.send(message).is_err() || is_end {
                    return;
                }
            }
        });
        let mut server = Self { child, input, messages, last_id: 0, version: 0, is_ready: false };
        let capabilities = json!({
            "experimental": { "serverStatusNotification": true },
            "textDocument": {
                "completion": { "completionItem": { "snippetSupport": false } },
                "hover": { "contentFormat": ["plaintext"] },
                "definition": { "linkSupport": false },
            },
        });
        server.ask(
            "initialize",
            &json!({
                "processId": null,
                "rootUri": uri(root),
                "capabilities": capabilities,
                "initializationOptions": options,
            }),
        );
        server.tell("initialized", &json!({}));
        while !server.is_ready {
            let message = server.next();
            server.hear(&message);
        }
        server
    }

    /// Opens a file with this text, or replaces the text of the open file.
    pub(crate) fn write(&mut self, file: &Path, text: &str) {
        self.version += 1;
        let document =
            json!({ "uri": uri(file), "version": self.version, "languageId": "rust", "text": text });
        match self.version {
            1 => self.tell("textDocument/didOpen", &json!({ "textDocument": document })),
            _ => {
                let changes = json!([{ "text": text }]);
                self.tell(
                    "textDocument/didChange",
                    &json!({ "textDocument": document, "contentChanges": changes }),
                );
            }
        }
    }

    /// Asks about a place in a file.
    pub(crate) fn at(&mut self, question: &str, file: &Path, (line, column): (usize, usize)) -> Value {
        self.ask(
            question,
            &json!({ "textDocument": { "uri": uri(file) }, "position": { "line": line, "character": column } }),
        )
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        for _ in 0..MOST_TRIES {
            self.last_id += 1;
            let id = self.last_id;
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
            let answer = loop {
                let message = self.next();
                if message["id"] == id && message.get("method").is_none() {
                    break message;
                }
                self.hear(&message);
            };
            match answer.get("error") {
                None => return answer["result"].clone(),
                Some(error) if error["code"].as_i64().is_some_and(|code| ASK_AGAIN.contains(&code)) => {}
                Some(error) => panic!("`{method}` failed: {error}"),
            }
        }
        panic!("`{method}` has no answer after {MOST_TRIES} tries");
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let mut framed = String::new();
        write!(framed, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.input.write_all(framed.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    fn next(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE);
        message.unwrap_or_else(|_| panic!("the language server says nothing for {PATIENCE:?}")).unwrap()
    }

    /// What is no answer: questions of the server's own get empty ones, and its status is noted.
    fn hear(&mut self, message: &Value) {
        if message["method"] == "experimental/serverStatus" {
            let status = &message["params"];
            assert_ne!(status["health"], "error", "the language server cannot read the crate: {status}");
            self.is_ready = status["quiescent"] == true;
        }
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            let asked = message["params"]["items"].as_array().map(Vec::len);
            let result = asked.map_or(Value::Null, |n| json!(vec![Value::Null; n]));
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Politely first: what it has started ends with it.
        let body = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let said = write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())
            .and_then(|()| self.input.flush());
        let until = Instant::now() + Duration::from_secs(10);
        while said.is_ok() && Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::park_timeout(Duration::from_millis(20));
        }
        // It has ended by itself where this fails.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

fn read(output: &mut BufReader<ChildStdout>) -> Result<Value, String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        let n = output
            .read_line(&mut line)
            .map_err(|error| format!("the language server cannot be read: {error}"))?;
        if n == 0 {
            return Err("the language server has ended".to_owned());
        }
        match line.trim().split_once(": ") {
            Some(("Content-Length", n)) => length = n.parse().map_err(|_| format!("no length: {line}"))?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output
        .read_exact(&mut body)
        .map_err(|error| format!("the language server ended in a message: {error}"))?;
    serde_json::from_slice(&body)
        .map_err(|error| format!("the language server's message is no JSON: {error}"))
}

/// A path as an address.
pub(crate) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

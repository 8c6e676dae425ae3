//! Tables of MySQL, for threads that cannot wait for a future: a thread of its own talks to the server.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use streams_core::lookup::{Fetch, NotFetched, Row};

use crate::remote::Failure;
use crate::remote::mysql::LookupTable;

type Rows = Result<Vec<Result<Row, String>>, Failure>;

/// A question, and where its answer goes: the row of a key, or all rows.
type Question = (Option<Value>, Sender<Rows>);

/// A table, behind its thread.
#[derive(Debug)]
pub(crate) struct Mysql {
    questions: Mutex<Sender<Question>>,
}

impl Mysql {
    /// Reads the address, and starts the thread, which ends with this.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let table = LookupTable::parse(text, &|name| std::env::var_os(name))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no thread for the server: {error}"))?;
        let (questions, asked) = channel::<Question>();
        std::thread::spawn(move || {
            for (key, answer) in asked {
                let rows = runtime.block_on(async {
                    match &key {
                        Some(key) => table.with_key(key).await,
                        None => table.all().await,
                    }
                });
                // Who asked may have gone.
                let _ = answer.send(rows);
            }
        });
        Ok(Self { questions: Mutex::new(questions) })
    }

    fn ask(&self, key: Option<Value>) -> Rows {
        let gone = || Failure::Fatal("the thread that reads the table has ended".to_owned());
        let (answer, answered) = channel();
        let asked = self.questions.lock().unwrap_or_else(PoisonError::into_inner).send((key, answer));
        asked.map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }

    /// All rows.
    pub(crate) fn all(&self) -> Result<Vec<Result<Row, String>>, String> {
        self.ask(None).map_err(|failure| failure.to_string())
    }
}

impl Fetch for Mysql {
    fn fetch(&self, key: &Value) -> Result<Option<Row>, NotFetched> {
        let rows = super::patient(|| match self.ask(Some(key.clone())) {
            Err(Failure::Away(why)) => Err(why),
            other => Ok(other),
        });
        let rows = match rows.map_err(NotFetched::Away)? {
            Ok(rows) => rows,
            Err(failure) => return Err(NotFetched::Away(failure.to_string())),
        };
        match rows.len() {
            0 => Ok(None),
            1 => rows.into_iter().next().transpose().map_err(NotFetched::Bad),
            _ => Err(NotFetched::Bad(format!("the key {key} has several rows; give each key one row"))),
        }
    }
}

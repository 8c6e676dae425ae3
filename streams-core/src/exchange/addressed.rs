//! The end of an output port whose results go to the queues of a topic: each with its own bytes, and the hash and
//! the text of its key. A result that cannot be encoded fails alone.

use crate::context::Cx;
use crate::effects::{Address, OutputBatch};
use crate::key::PortKey;
use crate::ports::{End, Sink};
use crate::record::Rec;

/// The end of an output port in the sharded layout.
#[derive(Debug)]
pub struct Addressed<S> {
    port: &'static str,
    sink: S,
    batch: OutputBatch,
    scratch: Vec<u8>,
}

impl<S> Addressed<S> {
    pub(crate) fn new(port: &'static str, sink: S) -> Self {
        Self { port, sink, batch: OutputBatch::default(), scratch: Vec::new() }
    }

    /// Encodes a result behind the others; puts nothing there when that fails.
    fn put<K: PortKey, T>(&mut self, key: &K, ts: i64, value: T) -> Result<(), String>
    where
        S: Sink<T>,
    {
        let hash = key.hash(&mut self.scratch).map_err(|error| format!("its key: {error}"))?;
        let batch = &mut self.batch;
        let start = batch.bytes.len();
        key.text(&mut batch.bytes);
        let key_len = batch.bytes.len() - start;
        self.sink.accept(ts, value);
        self.sink.drain(batch);
        if let Some(error) = batch.error.take() {
            batch.bytes.truncate(start);
            return Err(error);
        }
        // What a sink writes ends with a line break; one that delivers elsewhere has written nothing.
        if batch.bytes.len() > start + key_len && batch.bytes.pop().is_some() {
            batch.addresses.push(Address { hash, key_len, end: batch.bytes.len() });
        } else {
            batch.bytes.truncate(start);
        }
        Ok(())
    }
}

impl<K: PortKey, T, S: Sink<T>> End<K, T> for Addressed<S> {
    fn accept(&mut self, result: Rec<K, T>, cx: &mut Cx) {
        let Rec { ts, key, val } = result;
        if let Err(error) = self.put(&key, ts, val) {
            cx.reject_result(self.port, format!("the result cannot be encoded: {error}"), key.json());
        }
    }

    fn drain(&mut self, out: &mut OutputBatch) {
        let Self { batch, .. } = self;
        let shift = out.bytes.len();
        out.addresses.extend(batch.addresses.iter().map(|it| Address { end: it.end + shift, ..*it }));
        out.records += batch.addresses.len() as u64;
        out.bytes.extend_from_slice(&batch.bytes);
        batch.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::NoKey;

    /// Texts as they are; `no` cannot be encoded.
    struct Texts(OutputBatch);

    impl Sink<&'static str> for Texts {
        fn accept(&mut self, _ts: i64, value: &'static str) {
            if value == "no" {
                self.0.error = Some("it is no".to_owned());
            } else {
                self.0.bytes.extend_from_slice(format!("{value}\n").as_bytes());
            }
        }

        fn drain(&mut self, out: &mut OutputBatch) {
            out.bytes.append(&mut self.0.bytes);
            out.error = self.0.error.take();
        }
    }

    #[test]
    fn results_keep_their_line_breaks_and_fail_alone() {
        let mut end = Addressed::new("texts", Texts(OutputBatch::default()));
        let mut cx = Cx::new();
        for (key, val) in [("k", "a\nb"), ("", "no"), ("key", ""), ("k", "\n")] {
            end.accept(Rec { ts: 0, key: key.to_owned(), val }, &mut cx);
        }
        end.accept(Rec { ts: 0, key: NoKey, val: "c" }, &mut cx);
        let mut out = OutputBatch::default();
        End::<NoKey, &str>::drain(&mut end, &mut out);
        let found: Vec<_> = out.addressed().map(|(it, bytes)| (it.key_len, bytes, it.hash)).collect();
        let bytes: Vec<_> = found.iter().map(|(key_len, bytes, _)| bytes.split_at(*key_len)).collect();
        let expect: [(&[u8], &[u8]); 4] = [(b"k", b"a\nb"), (b"key", b""), (b"k", b"\n"), (b"", b"c")];
        assert_eq!(bytes, expect);
        assert_eq!(found[0].2, found[2].2);
        assert_ne!(found[0].2, found[1].2);
        assert_eq!(found[3].2, None);
        assert_eq!(out.records, 4);
        assert_eq!(cx.rejects.len(), 1);
        assert_eq!(cx.rejects[0].error, "the result cannot be encoded: it is no");
        assert_eq!((cx.rejects[0].operator, cx.rejects[0].key.as_deref()), ("texts", Some("\"\"")));
    }
}

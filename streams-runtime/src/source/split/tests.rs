//! Records, batches and ends, cut out of bytes.

use super::*;

fn splitter(bytes: &[u8], format: Format) -> Splitter {
    Splitter::new(Box::new(io::Cursor::new(bytes.to_vec())), format, false, Position::START)
}

#[track_caller]
fn check(format: Format, bytes: &[u8], expect: &[(u64, u64, &str)]) {
    let mut splitter = splitter(bytes, format);
    splitter.max_record = 40;
    let mut batch = RawBatch::default();
    let mut found = Vec::new();
    loop {
        if splitter.next(&mut batch).unwrap() == Found::End {
            break;
        }
        for record in &batch.records {
            let text = String::from_utf8_lossy(batch.slice(record)).into_owned();
            found.push((record.line, record.offset, text));
        }
    }
    let found: Vec<_> = found.iter().map(|(line, offset, text)| (*line, *offset, text.as_str())).collect();
    assert_eq!(found, expect);
    assert_eq!(splitter.position().offset, bytes.len() as u64);
}

#[test]
fn lines() {
    check(Format::Lines, b"a\n\r\nb\r\nc", &[(1, 0, "a"), (2, 2, ""), (3, 4, "b"), (4, 7, "c")]);
    check(Format::Json, b"a\n\n\r\nb\n", &[(1, 0, "a"), (4, 5, "b")]);
    check(Format::Json, b"", &[]);
    check(Format::Json, b"\xef\xbb\xbfa\nb", &[(1, 0, "a"), (2, 5, "b")]);
}

#[test]
fn quotes() {
    check(Format::Csv, b"a,\"b\nc\",d\ne\n", &[(1, 0, "a,\"b\nc\",d"), (3, 10, "e")]);
    check(Format::Csv, b"a\"b\nc\n", &[(1, 0, "a\"b"), (2, 4, "c")]);
    check(Format::Csv, b"\"a\"\"\nb\",1\nc\n", &[(1, 0, "\"a\"\"\nb\",1"), (3, 10, "c")]);
    // A quote that is never closed costs its own line only.
    check(Format::Csv, b"a,\"b\nc,d\ne\n", &[(1, 0, "a,\"b"), (2, 5, "c,d"), (3, 9, "e")]);
    // Nor does one that is closed further away than a record is long.
    let far = format!("a,\"b\n{}\n\"\n", "c".repeat(40));
    check(Format::Csv, far.as_bytes(), &[(1, 0, "a,\"b"), (2, 5, &"c".repeat(40)), (3, 46, "\"")]);
    // Behind a byte order mark a quote is the first byte.
    check(Format::Csv, b"\xef\xbb\xbf\"a\nb\"\nc", &[(1, 0, "\"a\nb\""), (3, 9, "c")]);
    check(Format::Csv, b"\"a\nb\"", &[(1, 0, "\"a\nb\"")]);
}

#[test]
fn lines_that_end_between_quotes_take_linear_time() {
    // Each of them opens a quote and leaves the one in front of it open.
    let mut csv = splitter(&b"x\"y,\"z\n".repeat(300_000), Format::Csv);
    let (mut batch, mut records) = (RawBatch::default(), 0);
    let begun = std::time::Instant::now();
    while csv.next(&mut batch).unwrap() == Found::Records {
        records += batch.records.len();
    }
    assert_eq!(records, 300_000);
    // Looking at the rest for each line takes minutes, looking once milliseconds.
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn blank_lines_are_no_end() {
    for (format, blank) in [(Format::Json, "\n"), (Format::Csv, "\r\n")] {
        let text = format!("a\n{}b\n", blank.repeat(BATCH_BYTES + 10));
        let mut splitter = splitter(text.as_bytes(), format);
        let mut batch = RawBatch::default();
        assert_eq!(splitter.next(&mut batch).unwrap(), Found::Records);
        assert_eq!(batch.records.len(), 2);
        assert!(batch.bytes.len() < 10, "bytes of blank lines are not kept");
        assert_eq!(splitter.next(&mut batch).unwrap(), Found::End);
        assert_eq!(splitter.position().offset, text.len() as u64);
    }
}

/// Grows each time its end is read.
struct Growing(Vec<&'static [u8]>);

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Ok(0);
        }
        self.0.remove(0).read(buffer)
    }
}

#[test]
fn the_first_end_is_final() {
    let pieces: Vec<&'static [u8]> = vec![b"a\nb", b"", b"c\nd\n"];
    let mut growing = Splitter::new(Box::new(Growing(pieces)), Format::Lines, false, Position::START);
    let mut batch = RawBatch::default();
    assert_eq!(growing.next(&mut batch).unwrap(), Found::Records);
    assert_eq!((batch.records.len(), growing.position().offset), (2, 3));
    assert_eq!(growing.next(&mut batch).unwrap(), Found::End);
    assert_eq!(growing.position(), Position { offset: 3, line: 3 });
}

#[track_caller]
fn check_last(format: Format, bytes: &[u8], position: (u64, u64), unread: u64) {
    let mut splitter = splitter(bytes, format).with_last_line(LastLine::LeftUnlessWhole);
    splitter.max_record = 40;
    let mut batch = RawBatch::default();
    while splitter.next(&mut batch).unwrap() == Found::Records {}
    assert_eq!((splitter.position().offset, splitter.position().line), position);
    assert_eq!(splitter.unread(), unread);
}

#[test]
fn last_lines_without_an_end() {
    check_last(Format::Lines, b"a\nb\n", (4, 3), 0);
    check_last(Format::Lines, b"a\nb", (2, 2), 1);
    check_last(Format::Csv, b"a,1\nb,2", (4, 2), 3);
    check_last(Format::Csv, b"a,1\nb,\"x\ny\"", (4, 2), 7);
    // Where JSON itself says that the value is over, nothing is left.
    check_last(Format::Json, b"{}\n{\"a\":1}", (10, 3), 0);
    check_last(Format::Json, b"{}\n{\"a\":1", (3, 2), 6);
    check_last(Format::Json, b"{}\n12", (3, 2), 2);
    check_last(Format::Json, b"{}\n ", (3, 2), 1);
    let long = format!("a\n{}", "b".repeat(3_000));
    check_last(Format::Lines, long.as_bytes(), (2, 2), 3_000);
}

#[test]
fn too_long() {
    let mut long = vec![b'x'; 3_000_000];
    long.push(b'\n');
    let mut bytes = b"a\n".to_vec();
    bytes.extend_from_slice(&long);
    bytes.extend_from_slice(b"b\n");
    let mut splitter = splitter(&bytes, Format::Lines);
    splitter.max_record = 2_000;
    let mut batch = RawBatch::default();
    splitter.next(&mut batch).unwrap();
    let [a, long, b] = batch.records.as_slice() else { panic!("three records") };
    assert_eq!(batch.slice(a), b"a");
    assert!(batch.slice(long).starts_with(TOO_LONG) && batch.slice(long).len() < 2_000);
    assert_eq!(batch.slice(b), b"b");
    assert_eq!((b.line, b.offset), (3, 3_000_003));
}

#[test]
fn batches_are_cut_by_count_and_size() {
    let mut batch = RawBatch::default();
    let mut by_count = splitter(&b"x\n".repeat(1500), Format::Lines);
    by_count.next(&mut batch).unwrap();
    assert_eq!(batch.records.len(), BATCH_RECORDS);
    by_count.next(&mut batch).unwrap();
    assert_eq!(batch.records.len(), 1500 - BATCH_RECORDS);
    let mut line = vec![b'y'; 400_000];
    line.push(b'\n');
    let mut by_size = splitter(&line.repeat(5), Format::Lines);
    by_size.next(&mut batch).unwrap();
    assert_eq!(batch.records.len(), 3);
}

#[test]
fn headers() {
    let mut csv = splitter(b"\xef\xbb\xbfhost, bytes\n1,2\n", Format::Csv);
    // As it stands, like the fields below it.
    assert_eq!(csv.header().unwrap().unwrap(), vec!["host", " bytes"]);
    assert_eq!(csv.position(), Position { offset: 15, line: 2 });
}

//! Reads an answer as it passes: counts its series, cuts it where a limit is reached so that it stays JSON,
//! and reduces samples. Keeps a few bytes, whatever the size of the answer.

use bytes::Bytes;
use memchr::memchr2;

use crate::reduce::{Buckets, Reducer};

/// Prometheus' responses are not nested deeper.
const MOST_DEPTH: usize = 64;
/// Longest sample, bytes.
const MOST_SAMPLE: usize = 256;
/// Longest key that is distinguished.
const MOST_KEY: usize = 8;

/// The part of a piece to pass on.
#[derive(Debug)]
pub(crate) enum ScanOutput {
    Pass(Bytes),
    /// A limit was reached: this is the end of the answer.
    Last(Bytes),
}

/// The answer is not one of Prometheus.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScanError {
    #[error("the answer is no JSON object")]
    NotJson,
    #[error("the answer has a sample that cannot be read")]
    Sample,
    #[error("the answer has more than one list of results")]
    Lists,
    #[error("the answer ends in the middle")]
    Incomplete,
    #[error("the answer is larger than the limit")]
    TooLarge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Key {
    #[default]
    Other,
    Data,
    Result,
    Values,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    object: bool,
    /// The last key of an object.
    key: Key,
    /// The next string is a key.
    at_key: bool,
}

/// Where in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    Outside,
    InString,
    /// After a backslash.
    Escaped,
    /// In the list of samples; true inside of one.
    Samples(bool),
}

#[derive(Debug)]
pub(crate) struct Scanner {
    stack: Vec<Frame>,
    place: ScanState,
    /// The bytes of a key, while it is read.
    key: Option<Vec<u8>>,
    /// Depth at which the answer's elements stand.
    list: Option<usize>,
    began: bool,
    /// The list has begun; there is one.
    listed: bool,
    /// The list has something in it.
    filled: bool,
    /// The last byte of the piece before.
    last: u8,
    sample: Vec<u8>,
    reducer: Option<Reducer>,
    seen: u64,
    most_bytes: u64,
    most_elements: usize,
    /// Whole elements that have passed.
    pub(crate) elements: usize,
    pub(crate) cut: bool,
}

impl Scanner {
    pub(crate) fn new(most_elements: usize, most_bytes: u64, buckets: Option<Buckets>) -> Self {
        Self {
            stack: Vec::with_capacity(8),
            place: ScanState::Outside,
            key: None,
            list: None,
            began: false,
            listed: false,
            filled: false,
            last: b' ',
            sample: Vec::new(),
            reducer: buckets.map(Reducer::new),
            seen: 0,
            most_bytes,
            most_elements,
            elements: 0,
            cut: false,
        }
    }

    /// Processes a piece of the response.
    pub(crate) fn feed(&mut self, piece: &Bytes) -> Result<ScanOutput, ScanError> {
        self.seen += piece.len() as u64;
        // An element in which the limit falls may end, but not go on for ever.
        if self.seen > self.most_bytes.saturating_add(self.most_bytes / 4).saturating_add(1 << 20) {
            return Err(ScanError::TooLarge);
        }
        // Output is rewritten only with a reducer; otherwise pieces pass unchanged.
        let mut out = Vec::new();
        let mut from = 0;
        let mut at = 0;
        while at < piece.len() {
            match self.place {
                ScanState::InString => {
                    let Some(found) = memchr2(b'"', b'\\', &piece[at..]) else {
                        self.keep(&piece[at..]);
                        break;
                    };
                    self.keep(&piece[at..at + found]);
                    at += found;
                    self.place = if piece[at] == b'"' { ScanState::Outside } else { ScanState::Escaped };
                    if self.place == ScanState::Outside {
                        self.end_key();
                    }
                }
                ScanState::Escaped => self.place = ScanState::InString,
                ScanState::Samples(inside) => {
                    self.in_samples(inside, piece[at], &mut out)?;
                    from = at + 1;
                    if self.place == ScanState::Outside {
                        from = at;
                        continue;
                    }
                }
                ScanState::Outside => {
                    if piece[at] == b',' && self.ends_element(piece, at) {
                        out.extend_from_slice(&piece[from..at]);
                        out.extend_from_slice(self.closing().as_bytes());
                        self.cut = true;
                        return Ok(ScanOutput::Last(out.into()));
                    }
                    self.outside(piece[at])?;
                    if matches!(self.place, ScanState::Samples(_)) {
                        out.extend_from_slice(&piece[from..=at]);
                        from = at + 1;
                    }
                }
            }
            at += 1;
        }
        self.last = piece.last().copied().unwrap_or(self.last);
        if self.reducer.is_none() {
            return Ok(ScanOutput::Pass(piece.clone()));
        }
        out.extend_from_slice(&piece[from.min(piece.len())..]);
        Ok(ScanOutput::Pass(out.into()))
    }

    /// The answer ended.
    pub(crate) fn end(&self) -> Result<(), ScanError> {
        let whole = self.began && self.stack.is_empty() && self.place == ScanState::Outside;
        if whole { Ok(()) } else { Err(ScanError::Incomplete) }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(key) = &mut self.key {
            let room = MOST_KEY.saturating_sub(key.len());
            key.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_key(&mut self) {
        let Some(key) = self.key.take() else { return };
        if let Some(frame) = self.stack.last_mut() {
            frame.at_key = false;
            frame.key = match key.as_slice() {
                b"data" => Key::Data,
                b"result" => Key::Result,
                b"values" => Key::Values,
                _ => Key::Other,
            };
        }
    }

    fn outside(&mut self, byte: u8) -> Result<(), ScanError> {
        if !self.filled && self.list == Some(self.stack.len()) {
            self.filled = byte != b']' && !byte.is_ascii_whitespace();
        }
        match byte {
            b'"' => {
                self.place = ScanState::InString;
                self.key = self.stack.last().filter(|frame| frame.at_key).map(|_| Vec::new());
            }
            b'{' => self.open(true)?,
            b'[' => self.open(false)?,
            b'}' | b']' => {
                let closed = self.stack.pop().ok_or(ScanError::NotJson)?;
                if closed.object != (byte == b'}') {
                    return Err(ScanError::NotJson);
                }
                if self.list == Some(self.stack.len() + 1) {
                    self.list = None;
                    // The last one has no comma.
                    self.elements += usize::from(self.filled);
                }
            }
            b',' => {
                if let Some(frame) = self.stack.last_mut() {
                    frame.at_key = frame.object;
                }
            }
            _ => {
                if !self.began && !byte.is_ascii_whitespace() {
                    return Err(ScanError::NotJson);
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, object: bool) -> Result<(), ScanError> {
        if !self.began && !object || self.stack.len() >= MOST_DEPTH {
            return Err(ScanError::NotJson);
        }
        self.began = true;
        if !object && self.list.is_none() {
            let keys: Vec<Key> = self.stack.iter().take(3).map(|frame| frame.key).collect();
            if matches!(keys.as_slice(), [Key::Data] | [Key::Data, Key::Result]) {
                // Each list could be as long as the limit allows, and none would be cut.
                if std::mem::replace(&mut self.listed, true) {
                    return Err(ScanError::Lists);
                }
                self.list = Some(self.stack.len() + 1);
                self.filled = false;
            }
        }
        let samples = !object
            && self.reducer.is_some()
            && self.list.is_some_and(|list| self.stack.len() == list + 1)
            && self.stack.last().is_some_and(|frame| frame.object && frame.key == Key::Values);
        if samples {
            self.place = ScanState::Samples(false);
        } else {
            self.stack.push(Frame { object, key: Key::Other, at_key: object });
        }
        Ok(())
    }

    /// A comma between two elements at which the answer is to end.
    fn ends_element(&mut self, piece: &[u8], at: usize) -> bool {
        if self.list != Some(self.stack.len()) {
            return false;
        }
        let before = at.checked_sub(1).map_or(self.last, |at| piece[at]);
        if !matches!(before, b'}' | b']' | b'"') {
            // `[time, "value"]` of a scalar is no list.
            self.list = None;
            return false;
        }
        self.elements += 1;
        self.elements >= self.most_elements || self.seen > self.most_bytes
    }

    /// The text that completes the JSON of a response that is cut after an element.
    fn closing(&self) -> String {
        let mut out = String::new();
        for frame in self.stack.iter().skip(1).rev() {
            out.push(if frame.object { '}' } else { ']' });
        }
        let why = if self.elements >= self.most_elements {
            format!("only the first {} are given", self.elements)
        } else {
            format!("only {} MiB are given", self.most_bytes / 1_048_576)
        };
        let advice = "add label matchers, aggregate, or use topk()";
        out.push_str(&format!(",\"warnings\":[\"results truncated: {why}; {advice}\"]}}"));
        out
    }

    fn in_samples(&mut self, inside: bool, byte: u8, out: &mut Vec<u8>) -> Result<(), ScanError> {
        let Some(reducer) = &mut self.reducer else { return Err(ScanError::Sample) };
        match (inside, byte) {
            (false, b'[') => {
                self.sample.clear();
                self.place = ScanState::Samples(true);
            }
            (false, b']') => {
                reducer.end(out);
                // The bracket itself closes the list as any other.
                self.place = ScanState::Outside;
                self.stack.push(Frame { object: false, key: Key::Other, at_key: false });
            }
            (false, b',' | b' ' | b'\n' | b'\r' | b'\t') => {}
            (true, b']') => {
                reducer.take(&self.sample, out).map_err(|_| ScanError::Sample)?;
                self.place = ScanState::Samples(false);
            }
            (true, byte) if self.sample.len() < MOST_SAMPLE => self.sample.push(byte),
            _ => return Err(ScanError::Sample),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Feeds a text in pieces of `size` bytes.
    fn pass(text: &str, size: usize, mut scanner: Scanner) -> Result<(String, Scanner), ScanError> {
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(size.max(1)) {
            match scanner.feed(&Bytes::copy_from_slice(piece))? {
                ScanOutput::Pass(piece) => out.extend_from_slice(&piece),
                ScanOutput::Last(piece) => {
                    out.extend_from_slice(&piece);
                    return Ok((String::from_utf8(out).unwrap(), scanner));
                }
            }
        }
        scanner.end()?;
        Ok((String::from_utf8(out).unwrap(), scanner))
    }

    #[test]
    fn an_answer_has_one_list() {
        let read = |text: &str| pass(text, 7, Scanner::new(2, 1 << 20, None)).map(|(passed, _)| passed);
        for text in [
            r#"{"data":["a"],"data":["b"],"data":["c"]}"#,
            r#"{"data":{"result":[{}],"result":[{}]}}"#,
            r#"{"data":["a"],"data":{"result":[]}}"#,
        ] {
            assert!(matches!(read(text), Err(ScanError::Lists)), "{text}");
        }
        let one =
            r#"{"data":{"result":[1,"2"],"stats":{"samples":[[1,2],[3,4],[5,6]]}},"warnings":["a","b","c"]}"#;
        assert_eq!(read(one).unwrap(), one);
    }

    fn answer(series: usize, samples: usize) -> String {
        let result: Vec<Value> = (0..series)
            .map(|at| {
                let values: Vec<Value> = (0..samples).map(|s| json!([s, format!("{}", s % 7)])).collect();
                json!({"metric": {"__name__": "a\"]}\\", "n": at.to_string()}, "values": values})
            })
            .collect();
        json!({"status": "success", "data": {"resultType": "matrix", "result": result}}).to_string()
    }

    #[test]
    fn passes_bytes_as_they_are_and_counts() {
        for text in [
            answer(5, 3),
            answer(0, 0),
            json!({"status": "success", "data": ["a", "b,]\"", "c"]}).to_string(),
            json!({"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}).to_string(),
            json!({"status": "success", "data": {"activeTargets": [{}], "droppedTargets": []}}).to_string(),
        ] {
            for size in [1, 2, 7, 1000] {
                let (out, scanner) = pass(&text, size, Scanner::new(1000, 1 << 20, None)).unwrap();
                assert_eq!(out, text);
                let value: Value = serde_json::from_str(&text).unwrap();
                let list = value["data"].as_array().or_else(|| value["data"]["result"].as_array());
                let scalar = value["data"]["resultType"] == "scalar";
                if let Some(list) = list.filter(|_| !scalar) {
                    assert_eq!(scanner.elements, list.len(), "{text} by {size}");
                }
            }
        }
    }

    #[test]
    fn a_cut_answer_is_json_and_says_so() {
        for size in [1, 3, 64, 10_000] {
            let (out, scanner) = pass(&answer(10, 3), size, Scanner::new(4, 1 << 20, None)).unwrap();
            let value: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(value["data"]["result"].as_array().unwrap().len(), 4);
            assert!(
                value["warnings"][0].as_str().unwrap().starts_with("results truncated: only the first 4")
            );
            assert!(scanner.cut);
        }
        let labels = json!({"status": "success", "data": ["a", "b", "c"]}).to_string();
        let (out, _) = pass(&labels, 5, Scanner::new(2, 1 << 20, None)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["data"], json!(["a", "b"]));
        let (out, _) = pass(&answer(100, 3), 50, Scanner::new(1000, 500, None)).unwrap();
        assert!(
            serde_json::from_str::<Value>(&out).unwrap()["warnings"][0].as_str().unwrap().contains("MiB")
        );
        let scalar =
            json!({"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}).to_string();
        assert_eq!(pass(&scalar, 4, Scanner::new(1, 1 << 20, None)).unwrap().0, scalar);
    }

    #[test]
    fn samples_are_reduced_in_the_stream() {
        let buckets = Buckets::new(0.0, 1000.0, 10);
        for size in [1, 5, 100, 100_000] {
            let (out, _) = pass(&answer(3, 1000), size, Scanner::new(100, 1 << 20, Some(buckets))).unwrap();
            let value: Value = serde_json::from_str(&out).unwrap();
            for series in value["data"]["result"].as_array().unwrap() {
                let values = series["values"].as_array().unwrap();
                assert!((20..=23).contains(&values.len()), "{}", values.len());
                assert_eq!(series["metric"]["__name__"], "a\"]}\\");
            }
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let new = || Scanner::new(10, 1000, None);
        for text in ["<html>", "[1]", "{]", "x"] {
            assert!(matches!(pass(text, 3, new()), Err(ScanError::NotJson)), "{text}");
        }
        for text in ["{\"a\":1", "{\"a\":\"", ""] {
            assert!(matches!(pass(text, 3, new()), Err(ScanError::Incomplete)), "{text}");
        }
        let long = format!("{{\"data\":\"{}\"}}", "x".repeat(3 << 20));
        assert!(matches!(pass(&long, 1000, new()), Err(ScanError::TooLarge)));
        let odd = answer(1, 1).replace("\"0\"", "{}");
        let scanner = Scanner::new(10, 1 << 20, Some(Buckets::new(0.0, 1.0, 1)));
        assert!(matches!(pass(&odd, 3, scanner), Err(ScanError::Sample)));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[\\[\\]{}\",:a1\\\\ ]{0,60}", size in 1..20_usize) {
            let _ = pass(&text, size, Scanner::new(2, 100, None));
            let _ = pass(&format!("{{\"data\":{{\"result\":[{{\"values\":{text}"), size, Scanner::new(2, 1000, Some(Buckets::new(0.0, 9.0, 3))));
        }
    }
}

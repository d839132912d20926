//! criterion's runner protocol, from the side of the runner.
//!
//! A criterion bench that finds `CARGO_CRITERION_PORT` in its environment connects to that port of
//! localhost. Both sides send a hello. After that, each message is one frame: a big-endian `u32`
//! length, followed by that much CBOR. The protocol has been at version 1 since criterion 0.3.3;
//! this code follows `connection.rs` of criterion 0.8.2.

use std::fmt;
use std::io::{self, Read, Write};

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;
use topdown_run::run_file::Throughput;
use topdown_run::visible::visible;

use crate::targets::executable::RUNNER_NAME;

/// The version after the name. A bench only logs it.
const RUNNER_VERSION: [u8; 3] = [1, 1, 0];

const BENCH_NAME: &[u8] = b"Criterion";
const PROTOCOL_VERSION: u16 = 1;
const PROTOCOL_FORMAT: u16 = 1;

/// The longest frame that is accepted: enough for a million samples.
const MAX_FRAME_BYTES: u32 = 32 << 20;

/// Messages of a bench to its runner, without unused fields.
#[derive(Debug, PartialEq, Deserialize)]
pub enum Event {
    /// A group begins.
    BeginningBenchmarkGroup {},
    /// A group is over. The bench waits for requests until [`Request::Continue`].
    FinishedBenchmarkGroup {},
    /// A benchmark begins.
    BeginningBenchmark {
        /// The benchmark.
        id: RawId,
    },
    /// A benchmark does not match the filter.
    SkippingBenchmark {
        /// The benchmark.
        id: RawId,
    },
    /// Its warm-up begins. Doubling samples have none.
    Warmup {},
    /// Its measurement begins.
    MeasurementStart(Plan),
    /// Its measurement is over. The bench waits for requests until [`Request::Continue`].
    MeasurementComplete {
        /// The benchmark.
        id: RawId,
        /// Iterations of each sample.
        iters: Vec<f64>,
        /// The result of the measurement's `to_f64` for each sample.
        times: Vec<f64>,
    },
    /// The answer to [`Request::FormatValue`].
    FormattedValue {
        /// The text.
        value: String,
    },
}

/// Criterion's plan for a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Plan {
    /// The number of samples.
    pub sample_count: u64,
    /// Its expected time.
    pub estimate_ns: f64,
    /// Iterations of all samples.
    pub iter_count: u64,
}

/// A request to a waiting bench.
#[derive(Debug, Serialize)]
pub enum Request {
    /// Calls the `ValueFormatter` of the measurement.
    FormatValue {
        /// What to format.
        value: f64,
    },
    /// Lets the bench continue.
    Continue,
}

/// A benchmark as criterion names it.
#[derive(Debug, PartialEq, Deserialize)]
pub struct RawId {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: FirstThroughput,
}

impl RawId {
    /// Returns criterion's full id, safe to print.
    pub fn name(&self) -> String {
        let mut name = self.group_id.clone();
        for part in [&self.function_id, &self.value_str].into_iter().flatten() {
            name.push('/');
            name.push_str(part);
        }
        visible(&name).into_owned()
    }

    /// Returns what one iteration processes, if the benchmark states it in a unit that we know.
    pub fn throughput(&self) -> Option<Throughput> {
        self.throughput.0.clone()
    }
}

/// The first of a benchmark's throughputs, which criterion treats as primary. The others are
/// skipped without memory: one byte of a message can announce one.
#[derive(Debug, Default, PartialEq)]
struct FirstThroughput(Option<Throughput>);

impl<'de> Deserialize<'de> for FirstThroughput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = FirstThroughput;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a list of throughputs")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let first = list.next_element::<RawThroughput>()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstThroughput(
                    first.and_then(RawThroughput::in_known_unit),
                ))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

/// criterion's enum, as a map of one entry. Variants of later releases are skipped.
#[derive(Deserialize)]
struct RawThroughput {
    #[serde(rename = "Bytes", alias = "BytesDecimal")]
    bytes: Option<Amount>,
    #[serde(rename = "Elements")]
    elements: Option<Amount>,
    #[serde(rename = "Bits")]
    bits: Option<Amount>,
    #[serde(rename = "ElementsAndBytes")]
    elements_and_bytes: Option<ElementsAndBytes>,
}

/// Its elements are primary.
#[derive(Deserialize)]
struct ElementsAndBytes {
    elements: Amount,
}

/// An unsigned 64-bit number; `None` for anything else.
struct Amount(Option<u64>);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Amount;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Amount, E> {
                Ok(Amount(Some(number)))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Amount, E> {
                Ok(Amount(u64::try_from(number).ok()))
            }
        }

        deserializer.deserialize_any(Number)
    }
}

impl RawThroughput {
    fn in_known_unit(self) -> Option<Throughput> {
        let both = self.elements_and_bytes.map(|both| both.elements);
        let (unit, amount) = [
            ("bytes", self.bytes),
            ("elements", self.elements.or(both)),
            ("bits", self.bits),
        ]
        .into_iter()
        .find_map(|(unit, amount)| Some((unit, amount?)))?;
        Some(Throughput {
            per_iteration: amount.0?,
            unit: unit.to_owned(),
        })
    }
}

/// A conversation that violates the protocol.
#[derive(Debug, Error)]
pub enum ProtocolError {
    /// The connection broke.
    #[error("the connection to the bench failed: {0}")]
    Io(#[from] io::Error),
    /// The other side's hello is not criterion's.
    #[error("the bench did not answer as criterion does: its hello was {0:?}")]
    Hello(Vec<u8>),
    /// This release of criterion uses another protocol.
    #[error(
        "the bench's criterion {criterion} speaks runner protocol {version} in format {format}; \
         this release knows 1 in format 1"
    )]
    Version {
        /// criterion's version.
        criterion: String,
        /// The protocol's version.
        version: u16,
        /// The format of its messages.
        format: u16,
    },
    /// A frame is impossibly long.
    #[error("the bench announced a message of {0} bytes, more than is allowed")]
    FrameLength(u32),
    /// A frame is not a message.
    #[error("the bench sent an invalid message: {0}")]
    Message(String),
    /// A message is out of order.
    #[error("the bench sent {0} instead of an answer")]
    Unexpected(String),
}

/// A connection to a bench, after the hellos.
pub struct Connection<S> {
    stream: S,
}

impl<S: Read + Write> Connection<S> {
    /// Exchanges hellos with the bench.
    ///
    /// # Errors
    /// Returns an error if the other side is not a criterion bench, or uses another version of the
    /// protocol.
    pub fn open(mut stream: S) -> Result<Connection<S>, ProtocolError> {
        stream.write_all(&[RUNNER_NAME, &RUNNER_VERSION].concat())?;
        let mut hello = [0; BENCH_NAME.len() + 7];
        stream.read_exact(&mut hello)?;
        let Some([major, minor, patch, v0, v1, f0, f1]) = hello.strip_prefix(BENCH_NAME) else {
            return Err(ProtocolError::Hello(hello.to_vec()));
        };
        let version = u16::from_be_bytes([*v0, *v1]);
        let format = u16::from_be_bytes([*f0, *f1]);
        if (version, format) != (PROTOCOL_VERSION, PROTOCOL_FORMAT) {
            return Err(ProtocolError::Version {
                criterion: format!("{major}.{minor}.{patch}"),
                version,
                format,
            });
        }
        Ok(Connection { stream })
    }

    /// Receives the next message; `None` if the bench hung up between two messages.
    ///
    /// # Errors
    /// Returns an error if the connection breaks within a message, or the message cannot be parsed.
    pub fn receive(&mut self) -> Result<Option<Event>, ProtocolError> {
        let mut length = [0; 4];
        match self.stream.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let length = u32::from_be_bytes(length);
        if length > MAX_FRAME_BYTES {
            return Err(ProtocolError::FrameLength(length));
        }
        // Allocate for what arrives, not for what was announced.
        let mut frame = Vec::new();
        let mut announced = Read::by_ref(&mut self.stream).take(length.into());
        if announced.read_to_end(&mut frame)? < length as usize {
            return Err(ProtocolError::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        ciborium::from_reader(frame.as_slice())
            .map(Some)
            .map_err(|error| ProtocolError::Message(error.to_string()))
    }

    /// Lets a waiting bench continue.
    ///
    /// # Errors
    /// Returns an error if the connection breaks.
    pub fn proceed(&mut self) -> Result<(), ProtocolError> {
        self.send(&Request::Continue)
    }

    /// Formats `value` with the measurement's formatter. Only a waiting bench answers; its answer
    /// also proves that it has called `Measurement::formatter`.
    ///
    /// # Errors
    /// Returns an error if the connection breaks, or anything but the answer arrives.
    pub fn format_value(&mut self, value: f64) -> Result<String, ProtocolError> {
        self.send(&Request::FormatValue { value })?;
        match self.receive()? {
            Some(Event::FormattedValue { value }) => Ok(value),
            Some(other) => Err(ProtocolError::Unexpected(format!("{other:?}"))),
            None => Err(ProtocolError::Io(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), ProtocolError> {
        let mut frame = vec![0; 4];
        ciborium::into_writer(request, &mut frame)
            .map_err(|error| ProtocolError::Message(error.to_string()))?;
        let length = u32::try_from(frame.len() - 4).expect("a request is a few bytes");
        frame[..4].copy_from_slice(&length.to_be_bytes());
        self.stream.write_all(&frame)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciborium::Value;

    /// Recorded from a bench of criterion 0.8.2: its hello, then the frames of a group with one
    /// benchmark that the filter skips and one that it runs, and of more such groups. Answers to
    /// `FormatValue` follow `MeasurementComplete` and `FinishedBenchmarkGroup`.
    const RECORDED: &[u8] = include_bytes!("../../tests/data/criterion-0.8.2.frames");

    /// Plays the bench: sends what was recorded and records what it receives.
    struct Played<'a> {
        said: &'a [u8],
        heard: Vec<u8>,
    }

    impl Read for Played<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.said.read(buffer)
        }
    }

    impl Write for Played<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.heard.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn open(said: &[u8]) -> Result<Connection<Played<'_>>, ProtocolError> {
        Connection::open(Played {
            said,
            heard: Vec::new(),
        })
    }

    fn message(said: &[u8]) -> String {
        match open(said) {
            Err(error) => error.to_string(),
            Ok(mut connection) => connection.receive().unwrap_err().to_string(),
        }
    }

    #[test]
    fn recorded_bench_is_understood() {
        let mut connection = open(RECORDED).unwrap();
        let mut names = Vec::new();
        let mut skipped = Vec::new();
        let mut complete = Vec::new();
        let mut answers = 0;
        while let Some(event) = connection.receive().unwrap() {
            match event {
                Event::BeginningBenchmark { id } => names.push(id.name()),
                Event::SkippingBenchmark { id } => skipped.push(id.name()),
                Event::MeasurementComplete { id, iters, times } => {
                    complete.push((id.name(), id.throughput(), iters, times));
                    assert_eq!(connection.format_value(1.0).unwrap(), "1.0000 slots");
                    connection.proceed().unwrap();
                    answers += 1;
                }
                Event::FinishedBenchmarkGroup {} => {
                    connection.format_value(1.0).unwrap();
                    connection.proceed().unwrap();
                    answers += 1;
                }
                _ => {}
            }
        }
        assert_eq!(names, ["sums/forward/20", "batched/per iteration"]);
        let long = "long".repeat(30);
        let others = [
            "sums/forward/10",
            "chase",
            &format!("{long}/one"),
            &format!("{long}/two"),
        ];
        assert_eq!(skipped, others);
        let (name, throughput, iters, times) = &complete[0];
        assert_eq!(name, "sums/forward/20");
        assert_eq!(
            *throughput,
            Some(Throughput {
                per_iteration: 20,
                unit: "elements".to_owned()
            })
        );
        assert_eq!(iters.len(), 10);
        let scalars: Vec<f64> = iters.iter().map(|iterations| iterations * 20.0).collect();
        assert_eq!(*times, scalars, "scripted: 20 slots per iteration");
        assert_eq!(complete[1].1.as_ref().unwrap().unit, "bytes");

        // `FormatValue` with the half-precision 1.0, and `Continue`.
        let mut heard = b"cargo-criterion\x01\x01\x00".to_vec();
        for _ in 0..answers {
            heard.extend(b"\x00\x00\x00\x17\xa1\x6bFormatValue\xa1\x65value\xf9\x3c\x00");
            heard.extend(b"\x00\x00\x00\x09\x68Continue");
        }
        assert_eq!(connection.stream.heard, heard);
    }

    #[test]
    fn other_program_is_not_taken_for_criterion() {
        let message = message(b"HTTP/1.1 200 OK\r\n");
        assert!(message.contains("did not answer as criterion"), "{message}");
    }

    #[test]
    fn other_protocol_version_is_refused_by_number() {
        assert_eq!(
            message(b"Criterion\x01\x02\x03\x00\x02\x00\x01"),
            "the bench's criterion 1.2.3 speaks runner protocol 2 in format 1; this release knows \
             1 in format 1"
        );
    }

    #[test]
    fn broken_connection_is_an_error_hang_up_is_not() {
        let hello = &RECORDED[..16];
        assert_eq!(open(hello).unwrap().receive().unwrap(), None);
        let mut within_a_frame = open(&RECORDED[..30]).unwrap();
        assert!(matches!(
            within_a_frame.receive(),
            Err(ProtocolError::Io(_))
        ));
        assert!(matches!(open(&RECORDED[..10]), Err(ProtocolError::Io(_))));
        assert!(open(hello).unwrap().format_value(1.0).is_err());
    }

    #[test]
    fn invalid_frames_are_refused() {
        let with = |frame: &[u8]| [&RECORDED[..16], frame].concat();
        let too_long = message(&with(&[0xff; 4]));
        assert!(too_long.contains("4294967295 bytes"), "{too_long}");
        let nonsense = message(&with(b"\x00\x00\x00\x02\x61x"));
        assert!(nonsense.contains("an invalid message"), "{nonsense}");
        let event = b"\x00\x00\x00\x0c\xa1\x66Warmup\xa1\x61i\xf6";
        let unexpected = open(&with(event)).unwrap().format_value(1.0).unwrap_err();
        assert!(unexpected.to_string().contains("Warmup"), "{unexpected}");
    }

    #[test]
    fn throughput_without_unit_is_omitted() {
        let throughput = |throughputs: Vec<(&str, Value)>| {
            let list = throughputs.into_iter();
            let list = list.map(|(kind, amount)| Value::Map(vec![(Value::from(kind), amount)]));
            let id = Value::Map(vec![
                (Value::from("group_id"), Value::from("g")),
                (Value::from("function_id"), Value::Null),
                (Value::from("value_str"), Value::from("1")),
                (Value::from("throughput"), Value::Array(list.collect())),
            ]);
            let id: RawId = id.deserialized().unwrap();
            let throughput = id.throughput();
            throughput.map(|throughput| (throughput.per_iteration, throughput.unit))
        };
        let of_one = |kind, amount| throughput(vec![(kind, amount)]);
        let seven = || Value::from(7);
        let both = Value::Map(vec![
            (Value::from("elements"), seven()),
            (Value::from("bytes"), Value::from(9)),
        ]);
        let known = |unit: &str| Some((7, unit.to_owned()));
        assert_eq!(of_one("Bits", seven()), known("bits"));
        assert_eq!(of_one("BytesDecimal", seven()), known("bytes"));
        assert_eq!(of_one("ElementsAndBytes", both), known("elements"));
        assert_eq!(of_one("Furlongs", seven()), None);
        assert_eq!(of_one("Bytes", Value::from(-1)), None);
        assert_eq!(throughput(vec![]), None);
        let several = vec![("Elements", seven()), ("Bytes", Value::from(9))];
        assert_eq!(throughput(several), known("elements"));
    }

    /// A byte of a message can announce a map or a list.
    #[test]
    fn many_throughputs_allocate_no_memory() {
        let mut frame = vec![0; 4];
        let many = vec![Value::Map(Vec::new()); 1000];
        let event = Value::Map(vec![(
            Value::from("SkippingBenchmark"),
            Value::Map(vec![(
                Value::from("id"),
                Value::Map(vec![
                    (Value::from("group_id"), Value::from("g")),
                    (Value::from("function_id"), Value::Null),
                    (Value::from("value_str"), Value::Null),
                    (Value::from("throughput"), Value::Array(many)),
                ]),
            )]),
        )]);
        ciborium::into_writer(&event, &mut frame).unwrap();
        let length = u32::try_from(frame.len() - 4).unwrap();
        frame[..4].copy_from_slice(&length.to_be_bytes());
        let said = [&RECORDED[..16], &frame].concat();
        let Some(Event::SkippingBenchmark { id }) = open(&said).unwrap().receive().unwrap() else {
            panic!("not the message that was sent");
        };
        assert_eq!(id.throughput, FirstThroughput(None));
    }
}

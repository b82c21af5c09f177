//! The body of a request: taken whole, within a size and a pace, and read again without its
//! gzip.
//!
//! Nothing can be answered before all of a request is there, so none holds a thread while it
//! still arrives. What is only passed on is taken piece by piece, within the same limits.

use std::io::{self, Cursor, Read};
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use bytes::Buf;
use http::{HeaderMap, StatusCode, header};
use http_body::Body as HttpBody;

use super::options::HostingOptions;
use super::problem::Problem;
use crate::error::Error;
use crate::limits::{Budget, Reservation};
use crate::transport::gzip;

/// A body as it came.
#[derive(Debug)]
pub(super) struct RequestBody {
    bytes: Vec<u8>,
    paid: Reservation,
    is_gzip: bool,
}

impl RequestBody {
    /// Takes all of `body`, which is paid from `budget`.
    pub(super) async fn take<B>(
        headers: &HeaderMap,
        body: B,
        options: &HostingOptions,
        budget: &Budget,
    ) -> Result<Self, Problem>
    where
        B: HttpBody,
        B::Error: std::fmt::Display,
    {
        let is_gzip = is_gzip(headers)?;
        let mut taken = Self { bytes: Vec::new(), paid: budget.empty(), is_gzip };
        let body = pin!(body);
        let mut arriving = Arriving::new(body, options)?;
        while let Some(data) = arriving.next().await? {
            taken.push(data)?;
        }
        Ok(taken)
    }

    fn push(&mut self, mut data: impl Buf) -> Result<(), Problem> {
        while data.has_remaining() {
            let chunk = data.chunk();
            let more = chunk.len() as u64;
            self.paid.grow(more).map_err(|limit| Problem::internal(&Error::from(limit)))?;
            self.bytes.extend_from_slice(chunk);
            data.advance(more as usize);
        }
        Ok(())
    }

    /// Bytes as they came.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// What was sent, without its gzip, up to `max_inflated_bytes`.
    pub(super) fn reader(self, max_inflated_bytes: u64) -> Reader {
        let Self { bytes, paid, is_gzip } = self;
        let plain = Cursor::new(bytes);
        let from: Box<dyn Read + Send> = match is_gzip {
            true => Box::new(gzip::reader(plain)),
            false => Box::new(plain),
        };
        Reader { from, left: max_inflated_bytes, max_inflated_bytes, problem: None, _paid: paid }
    }
}

/// A body that is still on its way.
pub(super) struct Arriving<'a, B> {
    body: Pin<&'a mut B>,
    options: &'a HostingOptions,
    begun: Instant,
    /// Bytes so far.
    pub(super) taken: u64,
}

impl<'a, B: HttpBody<Error: std::fmt::Display>> Arriving<'a, B> {
    /// What comes of `body`, unless it says itself that it is too large.
    pub(super) fn new(body: Pin<&'a mut B>, options: &'a HostingOptions) -> Result<Self, Problem> {
        match body.size_hint().lower() > options.max_request_bytes {
            true => Err(too_large(options.max_request_bytes)),
            false => Ok(Self { body, options, begun: Instant::now(), taken: 0 }),
        }
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<B::Data>, Problem> {
        let due = self.begun + allowed(self.taken, self.options);
        let frame = tokio::time::timeout_at(due.into(), next_frame(self.body.as_mut()));
        let data = match frame.await {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(data))) => data,
            Ok(Some(Err(error))) => {
                let why = format!("the request's body ends early: {error}");
                return Err(Problem::new(StatusCode::BAD_REQUEST, why));
            }
            Err(_) => {
                let why = "the request's body came too slowly";
                return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, why));
            }
        };
        self.taken += data.remaining() as u64;
        match self.taken > self.options.max_request_bytes {
            true => Err(too_large(self.options.max_request_bytes)),
            false => Ok(Some(data)),
        }
    }
}

/// Reads a body. What is wrong with it is kept beside the error that a reader can give.
pub(super) struct Reader {
    from: Box<dyn Read + Send>,
    left: u64,
    max_inflated_bytes: u64,
    pub(super) problem: Option<Problem>,
    _paid: Reservation,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer).inspect_err(|error| {
            let why = format!("the request's gzip is damaged: {error}");
            self.problem = Some(Problem::new(StatusCode::BAD_REQUEST, why));
        })?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                self.problem = Some(too_large(self.max_inflated_bytes));
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        Ok(read)
    }
}

async fn next_frame<B: HttpBody>(mut body: Pin<&mut B>) -> Option<Result<B::Data, B::Error>> {
    loop {
        match std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await? {
            // Trailers say nothing here.
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}

/// The time in which as many bytes must have come.
fn allowed(bytes: u64, options: &HostingOptions) -> Duration {
    let seconds = bytes / options.min_bytes_per_second.max(1);
    options.max_stall + Duration::from_secs(seconds)
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Problem> {
    match headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"identity") => Ok(false),
        Some(b"gzip" | b"x-gzip") => Ok(true),
        Some(_) => {
            let why = "a body may be plain or gzip, nothing else";
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
        }
    }
}

fn too_large(max: u64) -> Problem {
    let why = format!("the request's body is larger than the {max} bytes that are taken");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, why)
}

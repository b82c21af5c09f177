//! What a server says it can do, as a value.
//!
//! Follows git's `protocol-v2` ("Capability Advertisement"). The bytes that carry it are
//! read in `advertisement.rs`.

use bstr::BString;

use super::{ProtocolError, encode_line, encode_short, quoted};
use crate::oid::ObjectFormat;
use crate::pktline;

/// What precedes the advertisement over HTTP: the service's name and a flush.
pub const SERVICE_HEADER: &[u8] = b"001e# service=git-upload-pack\n0000";

/// What a server says it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The server's program and version.
    pub agent: Option<BString>,
    /// How its `fetch` can be asked, if it has the command.
    pub fetch: Option<FetchCapability>,
    /// How its `ls-refs` can be asked, if it has the command.
    pub ls_refs: Option<LsRefsCapability>,
    /// The hash that names its objects; SHA-1 unless it says otherwise.
    pub object_format: ObjectFormat,
    /// Whether it has the command `object-info`.
    pub object_info: bool,
    /// Whether it takes `server-option` lines.
    pub server_option: bool,
    /// What it calls this session in its logs.
    pub session_id: Option<BString>,
    /// Everything else it said, whole lines, at most 4,096 of them.
    pub unknown: Vec<BString>,
}

/// Features of the command `fetch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchCapability {
    /// `filter`: objects can be left out by kind and size.
    pub filter: bool,
    /// `packfile-uris`: parts of a pack may be named by address.
    pub packfile_uris: bool,
    /// `ref-in-want`: refs can be wanted by name.
    pub ref_in_want: bool,
    /// `shallow`: history can be cut.
    pub shallow: bool,
    /// `sideband-all`: every section can be carried on the sideband.
    pub sideband_all: bool,
    /// `wait-for-done`: the server can be told to only negotiate.
    pub wait_for_done: bool,
}

/// Features of the command `ls-refs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsRefsCapability {
    /// `unborn`: a HEAD without a commit is told too.
    pub unborn: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            agent: None,
            fetch: None,
            ls_refs: None,
            object_format: ObjectFormat::Sha1,
            object_info: false,
            server_option: false,
            session_id: None,
            unknown: Vec::new(),
        }
    }
}

impl Capabilities {
    /// Appends the advertisement without [`SERVICE_HEADER`].
    ///
    /// # Errors
    /// When a value is too long for a packet.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        encode_short(out, "version 2");
        if let Some(agent) = &self.agent {
            encode_line(out, &[b"agent=", agent])?;
        }
        if let Some(ls_refs) = &self.ls_refs {
            let features: &[u8] = if ls_refs.unborn { b"=unborn" } else { b"" };
            encode_line(out, &[b"ls-refs", features])?;
        }
        if let Some(mut fetch) = self.fetch {
            let features: Vec<_> =
                fetch.features().into_iter().filter(|(_, on)| **on).map(|(name, _)| name).collect();
            let equals: &[u8] = if features.is_empty() { b"" } else { b"=" };
            encode_line(out, &[b"fetch", equals, features.join(&b' ').as_slice()])?;
        }
        if self.server_option {
            encode_short(out, "server-option");
        }
        encode_short(out, &format!("object-format={}", self.object_format));
        if let Some(session) = &self.session_id {
            encode_line(out, &[b"session-id=", session])?;
        }
        if self.object_info {
            encode_short(out, "object-info");
        }
        for line in &self.unknown {
            encode_line(out, &[line])?;
        }
        out.extend_from_slice(pktline::FLUSH);
        Ok(())
    }

    /// Takes one line; gives back what is not known.
    pub(super) fn take<'l>(&mut self, line: &'l [u8]) -> Result<Option<&'l [u8]>, ProtocolError> {
        let (name, value) = match memchr::memchr(b'=', line) {
            Some(at) => (&line[..at], line.get(at + 1..)),
            None => (line, None),
        };
        let features = || value.unwrap_or_default().split(|&byte| byte == b' ');
        match name {
            b"agent" => self.agent = value.map(BString::from),
            b"fetch" => {
                let fetch = self.fetch.insert(FetchCapability::default());
                for feature in features() {
                    for (name, on) in fetch.features() {
                        *on |= name == feature;
                    }
                }
            }
            b"ls-refs" => {
                let unborn = features().any(|feature| feature == b"unborn");
                self.ls_refs = Some(LsRefsCapability { unborn });
            }
            b"object-format" => {
                let name = value.unwrap_or_default();
                self.object_format = ObjectFormat::from_name(name)
                    .ok_or_else(|| ProtocolError::UnknownFormat { name: quoted(name) })?;
            }
            b"object-info" => self.object_info = true,
            b"server-option" => self.server_option = true,
            b"session-id" => self.session_id = value.map(BString::from),
            _ => return Ok(Some(line)),
        }
        Ok(None)
    }
}

impl FetchCapability {
    /// The features by name, in git's order.
    fn features(&mut self) -> [(&'static [u8], &mut bool); 6] {
        [
            (b"shallow", &mut self.shallow),
            (b"wait-for-done", &mut self.wait_for_done),
            (b"filter", &mut self.filter),
            (b"ref-in-want", &mut self.ref_in_want),
            (b"sideband-all", &mut self.sideband_all),
            (b"packfile-uris", &mut self.packfile_uris),
        ]
    }
}

//! git's packets taken apart and put together again, for answers that are changed on the
//! way. Of peers that are trusted; see `src/pktline.rs` for how to read others.

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A payload, with its band if there is one.
    Data(Vec<u8>),
    /// `0000`, `0001` or `0002`.
    Special([u8; 4]),
}

/// The end of a message.
pub const FLUSH: Packet = Packet::Special(*b"0000");

impl Packet {
    /// A packet that is a line; the newline is added.
    pub fn line(text: &str) -> Self {
        Self::Data(format!("{text}\n").into_bytes())
    }

    /// Its payload as text without the newline; nothing for what has none.
    pub fn text(&self) -> &str {
        match self {
            Self::Data(data) => std::str::from_utf8(data).unwrap_or_default().trim_end(),
            Self::Special(_) => "",
        }
    }

    /// Data of a pack: what band 1 carries.
    pub fn band_1(&self) -> Option<&[u8]> {
        match self {
            Self::Data(data) => data.strip_prefix(b"\x01"),
            Self::Special(_) => None,
        }
    }
}

/// The packets of `bytes`, and what behind them is no packet: a pack without a sideband.
pub fn split(bytes: &[u8]) -> (Vec<Packet>, &[u8]) {
    let mut packets = Vec::new();
    let mut rest = bytes;
    while let Some(digits) = rest.first_chunk::<4>() {
        let length = std::str::from_utf8(digits).ok();
        let Some(length) = length.and_then(|text| usize::from_str_radix(text, 16).ok()) else {
            break;
        };
        if length < 4 {
            packets.push(Packet::Special(*digits));
            rest = &rest[4..];
        } else if let Some(data) = rest.get(4..length) {
            packets.push(Packet::Data(data.to_vec()));
            rest = &rest[length..];
        } else {
            break;
        }
    }
    (packets, rest)
}

/// Puts packets together.
pub fn join(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in packets {
        match packet {
            Packet::Data(data) => {
                bytes.extend_from_slice(format!("{:04x}", data.len() + 4).as_bytes());
                bytes.extend_from_slice(data);
            }
            Packet::Special(digits) => bytes.extend_from_slice(digits),
        }
    }
    bytes
}

//! How bytes, ids and modes are written in JSON, and how they are read back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bstr::BString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::oid::ObjectId;
use crate::view::lines::LineRange;

/// Bytes as they are in JSON: `{"text": ..}` where they are UTF-8, else `{"bytes": ..}`
/// in base64.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum TextRef<'a> {
    Text(&'a str),
    Bytes(String),
}

/// Bytes: text where they are UTF-8, else base64.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(in crate::agent) enum Text {
    /// The bytes, which are UTF-8.
    Text(String),
    /// The bytes in base64.
    Bytes(String),
}

/// Bytes in a question: plain text, or as answers write them.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(in crate::agent) enum TextOrString {
    /// The bytes, which are UTF-8.
    Plain(String),
    /// As in an answer.
    Text(Text),
}

pub(in crate::agent) fn as_text<S: Serializer>(
    bytes: &[u8],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => TextRef::Text(text),
        Err(_) => TextRef::Bytes(STANDARD.encode(bytes)),
    };
    text.serialize(serializer)
}

pub(in crate::agent) fn as_optional_text<S: Serializer>(
    bytes: &Option<BString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match bytes {
        Some(bytes) => as_text(bytes, serializer),
        None => serializer.serialize_none(),
    }
}

pub(in crate::agent) fn as_hex<S: Serializer>(
    id: &ObjectId,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

pub(in crate::agent) fn as_optional_hex<S: Serializer>(
    id: &Option<ObjectId>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => as_hex(id, serializer),
        None => serializer.serialize_none(),
    }
}

pub(in crate::agent) fn as_octal<S: Serializer>(
    mode: &u32,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{mode:06o}"))
}

pub(in crate::agent) fn from_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BString, D::Error> {
    bytes_of(TextOrString::deserialize(deserializer)?)
}

pub(in crate::agent) fn from_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<BString>, D::Error> {
    let texts = Vec::<TextOrString>::deserialize(deserializer)?;
    texts.into_iter().map(bytes_of).collect()
}

fn bytes_of<E: serde::de::Error>(text: TextOrString) -> Result<BString, E> {
    match text {
        TextOrString::Plain(text) | TextOrString::Text(Text::Text(text)) => Ok(text.into()),
        TextOrString::Text(Text::Bytes(base64)) => STANDARD
            .decode(base64)
            .map(BString::from)
            .map_err(|error| E::custom(format_args!("bytes are no base64: {error}"))),
    }
}

pub(in crate::agent) fn from_lines<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<LineRange>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

//! The JSON Schemas of arguments and answers.
//!
//! They are made from the types of `agent` and shipped as `schema/mcp.json`: what is sent
//! never changes while a program runs, and the code that makes them is ten times as large.

#[cfg(test)]
mod made;

use std::sync::LazyLock;

use rmcp::model::JsonObject;
use serde_json::Value;

use super::tools::Method;

/// The schema of a tool's arguments.
pub(super) fn input(method: Method) -> JsonObject {
    shipped(method, "input")
}

/// The schema of a tool's structured content: an answer, or an error.
pub(super) fn output(method: Method) -> JsonObject {
    shipped(method, "output")
}

fn shipped(method: Method, part: &str) -> JsonObject {
    // A test compares each with what is made.
    ALL.pointer(&format!("/{}/{part}", method.name()))
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

static ALL: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(SHIPPED).unwrap_or_default());

/// An object with a line for each tool.
const SHIPPED: &str = include_str!("../../schema/mcp.json");

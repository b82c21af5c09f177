//! How the schemas are made from the types of `agent`, and that those are shipped.
//!
//! What a model reads of them costs it room, so they say each thing once: bytes that are no
//! text may be given, and are not described.

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::agent::{
    Answer, Entry, Failure, GlobQuery, GrepItem, GrepQuery, LsQuery, ReadItem, ReadQuery, RefItem,
    RefsQuery, TreeNode, TreeQuery,
};
use crate::mcp::tools::{MODES, Method};

/// The schema of a tool's arguments.
fn input(method: Method) -> JsonObject {
    let schema = match method {
        Method::Glob => schemars::schema_for!(GlobQuery),
        Method::Grep => schemars::schema_for!(GrepQuery),
        Method::Ls => schemars::schema_for!(LsQuery),
        Method::Read => schemars::schema_for!(ReadQuery),
        Method::Refs => schemars::schema_for!(RefsQuery),
        Method::Tree => schemars::schema_for!(TreeQuery),
    };
    let mut properties = properties(schema);
    if !matches!(method, Method::Grep | Method::Read) {
        // The others bring folders only: what they cost is hardly worth a question.
        properties.remove("budget");
    }
    properties.values_mut().for_each(simplify);
    properties.insert(
        "repo".into(),
        json!({
            "type": "string",
            "description": "https address of the repository, or owner/repo on github.com",
        }),
    );
    properties.insert(
        "max_bytes".into(),
        json!({"type": "integer", "description": "Most bytes of this reply; 40000 when not said"}),
    );
    let mut required = vec!["repo"];
    match method {
        Method::Grep => {
            required.push("patterns");
            let limit = properties.remove("limit").unwrap_or_default();
            properties.insert("head_limit".into(), limit);
            let modes = MODES.map(|(name, _)| name);
            properties.insert(
                "output_mode".into(),
                json!({"type": "string", "enum": modes, "default": modes[0]}),
            );
        }
        Method::Read => required.push("paths"),
        Method::Glob | Method::Ls | Method::Refs | Method::Tree => {}
    }
    object(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

/// The schema of a tool's structured content: an answer, or an error.
fn output(method: Method) -> JsonObject {
    match method {
        Method::Glob | Method::Ls => answer_of::<Entry>(),
        Method::Grep => answer_of::<GrepItem>(),
        Method::Read => answer_of::<ReadItem>(),
        Method::Refs => answer_of::<RefItem>(),
        Method::Tree => answer_of::<TreeNode>(),
    }
}

fn answer_of<T: JsonSchema>() -> JsonObject {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let error = generator.subschema_for::<Failure>();
    let mut schema = object(generator.into_root_schema_for::<Answer<T>>().to_value());
    // Validators of clients know other drafts, and what is here is the same in all of them.
    for name in ["$schema", "title", "description"] {
        schema.remove(name);
    }
    let required = schema.remove("required").unwrap_or_default();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("error".into(), error.to_value());
    }
    schema.insert("anyOf".into(), json!([{"required": required}, {"required": ["error"]}]));
    let mut schema = Value::Object(schema);
    keep_the_shape(&mut schema);
    object(schema)
}

fn properties(schema: Schema) -> JsonObject {
    object(object(schema.to_value()).remove("properties").unwrap_or_default())
}

/// A property without what a model does not need.
fn simplify(property: &mut Value) {
    let is_text = |value: &Value| {
        let reference = value.get("$ref").and_then(Value::as_str);
        reference.is_some_and(|reference| reference.ends_with("/TextOrString"))
    };
    if is_text(property) {
        property["type"] = "string".into();
    }
    if let Some(items) = property.get_mut("items").filter(|items| is_text(items)) {
        *items = json!({"type": "string"});
    }
    let Value::Object(property) = property else { return };
    property.remove("$ref");
    property.remove("format");
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    // Null and nothing are the same, and nothing is shorter.
    let first = match property.get("type") {
        Some(Value::Array(types)) => types.first().cloned(),
        _ => None,
    };
    if let Some(first) = first {
        property.insert("type".into(), first);
    }
    if let Some(Value::Object(inner)) = property.get_mut("properties") {
        inner.values_mut().for_each(simplify);
    }
}

/// Takes out what each client would be sent with every list of tools and no validator
/// needs: descriptions, and formats of numbers, which are of no standard.
fn keep_the_shape(value: &mut Value) {
    match value {
        Value::Object(map) => {
            // A name of a field is an object, and stays.
            map.retain(|name, value| {
                !(value.is_string() && matches!(name.as_str(), "description" | "format" | "title"))
            });
            map.values_mut().for_each(keep_the_shape);
        }
        Value::Array(values) => values.iter_mut().for_each(keep_the_shape),
        _ => {}
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[test]
#[allow(clippy::unwrap_used)]
fn what_is_shipped_is_what_is_made() {
    let lines: Vec<String> = Method::ALL
        .into_iter()
        .map(|method| {
            let schemas = json!({"input": input(method), "output": output(method)});
            format!("\"{}\": {schemas}", method.name())
        })
        .collect();
    let made = format!("{{\n{}\n}}\n", lines.join(",\n"));
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/mcp.json");
    if std::env::var_os("GITSIP_UPDATE").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let shipped = std::fs::read_to_string(&file).unwrap();
    assert_eq!(made, shipped, "schema/mcp.json is of other types; GITSIP_UPDATE=1 writes it");
    for method in Method::ALL {
        assert_eq!(super::input(method), input(method));
        assert_eq!(super::output(method), output(method));
    }
}

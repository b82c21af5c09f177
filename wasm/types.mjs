// TypeScript of the format that all faces share, out of its JSON Schema:
//
//   node wasm/types.mjs schema/gitsip.json > format.d.ts
//
// The schema is compared with the library by a test of the library. Whatever this does not
// know of a schema it refuses, so that nothing is left out in silence.

import { readFileSync } from "node:fs";

const { $defs } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const KNOWN = new Set(
  "$ref additionalProperties anyOf const default description format items maximum minimum oneOf properties required type".split(
    " ",
  ),
);

console.log("// The format of gitsip: made by wasm/types.mjs of schema/gitsip.json.");
for (const [name, schema] of Object.entries($defs)) {
  const type = typeOf(schema, "");
  const isInterface = schema.properties && !schema.oneOf && !schema.anyOf && !schema.$ref;
  const [head, tail] = isInterface ? [`interface ${name} `, ""] : [`type ${name} = `, ";"];
  console.log(`\n${comment(schema, "")}export ${head}${type}${tail}`);
}

function typeOf(schema, indent) {
  for (const key of Object.keys(schema))
    if (!KNOWN.has(key)) throw new Error(`types.mjs has to learn what '${key}' is`);
  const parts = [];
  if (schema.$ref) parts.push(schema.$ref.replace("#/$defs/", ""));
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) parts.push(union(choices.map((choice) => typeOf(choice, indent))));
  if (schema.properties) parts.push(objectOf(schema, indent));
  if (parts.length) return parts.length === 1 ? parts[0] : `(${parts.join(" & ")})`;
  if ("const" in schema) return JSON.stringify(schema.const);
  return union([schema.type].flat().map((type) => plain(type, schema, indent)));
}

function objectOf({ properties, required = [] }, indent) {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? "" : "?";
    return `${comment(schema, inner)}${inner}${name}${mark}: ${typeOf(schema, inner)};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function plain(type, { items }, indent) {
  switch (type) {
    case "array": {
      const item = typeOf(items, indent);
      return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
    }
    case "boolean":
    case "null":
    case "string":
      return type;
    case "integer":
      return "number";
    default:
      throw new Error(`types.mjs has to learn what type '${type}' is`);
  }
}

function union(types) {
  return [...new Set(types)].join(" | ");
}

function comment({ description }, indent) {
  if (!description) return "";
  const lines = description.replace(/\[`(\w+)`\]/g, "`$1`").replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

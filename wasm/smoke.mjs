// Runs `examples/smoke.rs`, built for wasm32-unknown-unknown: `node smoke.mjs smoke.wasm`.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const module = await WebAssembly.compile(await readFile(process.argv[2]));
assert.deepEqual(WebAssembly.Module.imports(module), [], "the core needs nothing of its host");
const { exports } = await WebAssembly.instantiate(module, {});
assert.equal(exports.main(0, 0), 4, "two objects in each of two formats");
console.log("4 objects fetched into memory");

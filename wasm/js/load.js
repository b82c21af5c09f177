// Brings the WebAssembly in, once, in whichever way the runtime allows.

import initWasm, * as bindings from "./gitsip.js";
import { usage } from "./errors.js";

let loading;
let exports;

/**
 * Loads the WebAssembly from `source`: a `WebAssembly.Module`, an address, a `Response` or
 * bytes. `open` does it by itself where the file lies beside this one; edge workers, which
 * may compile nothing, import the module and hand it over.
 */
export function init(source) {
  loading ??= start(source).catch((error) => {
    loading = undefined;
    throw usage("no_wasm", `the WebAssembly cannot be loaded (${error}): call init() with it first`);
  });
  return loading;
}

async function start(source) {
  const from = source ?? (await beside());
  exports = await initWasm({ module_or_path: from });
}

// Node's fetch reads no files.
async function beside() {
  const url = new URL("./gitsip_bg.wasm", import.meta.url);
  if (url.protocol !== "file:") return url;
  const { readFile } = await import("node:fs/promises");
  return readFile(url);
}

/** Bytes of the WebAssembly's memory. It never shrinks: ending its worker gives it back. */
export function wasmMemoryBytes() {
  return exports?.memory.buffer.byteLength ?? 0;
}

export { bindings };

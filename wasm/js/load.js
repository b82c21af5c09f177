// Brings the WebAssembly in, once, in whichever way the runtime allows.

import initWasm, * as bindings from "./gitsip.js";
import { usage } from "./errors.js";

let loading;
let exports;
let defaultSource = () => new URL("./gitsip_bg.wasm", import.meta.url);

/**
 * Loads the WebAssembly from `source`: a `WebAssembly.Module`, an address, a `Response` or
 * bytes. `open` does it by itself where the file lies beside this one.
 */
export function init(source) {
  loading ??= start(source).catch((error) => {
    loading = undefined;
    throw usage(
      "no_wasm",
      `the WebAssembly cannot be loaded (${error}): call init() with it first`,
    );
  });
  return loading;
}

/** Where the WebAssembly comes from when nobody says it: for the entry of a runtime. */
export function setDefaultSource(source) {
  defaultSource = source;
}

async function start(source) {
  exports = await initWasm({ module_or_path: source ?? (await defaultSource()) });
}

/** Bytes of the WebAssembly's memory. It never shrinks: ending its worker gives it back. */
export function wasmMemoryBytes() {
  return exports?.memory.buffer.byteLength ?? 0;
}

export { bindings };

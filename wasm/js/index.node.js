// The package for Node, whose `fetch` reads no files.

import { readFile } from "node:fs/promises";

import { setDefaultSource } from "./load.js";

setDefaultSource(() => readFile(new URL("./gitsip_bg.wasm", import.meta.url)));

export * from "./index.js";

// The package for edge workers, which compile nothing: there a .wasm is imported as a module.

import wasm from "./gitsip_bg.wasm";

import { setDefaultSource } from "./load.js";

setDefaultSource(() => wasm);

export * from "./index.js";

// Read remote git repositories without cloning them.

export { GitsipError } from "./errors.js";
export { init, wasmMemoryBytes } from "./load.js";
export { Repo, open } from "./repo.js";
export { File, Snapshot } from "./snapshot.js";
export { bytesOf, textOf } from "./text.js";

// A repository: its refs, its snapshots, what it costs, and its end.

import { Calls } from "./calls.js";
import { usage } from "./errors.js";
import { Host } from "./host.js";
import { bindings, init, wasmMemoryBytes } from "./load.js";
import { Questions } from "./questions.js";

/** Opens the repository at `url`. One request; nothing is fetched until it is asked. */
export async function open(url, options = {}) {
  const { auth, signal, maxMemory, onProgress, fetch, corsProxy, headers, ...unknown } = options;
  for (const name of Object.keys(unknown))
    throw usage("bad_params", `open() has no option '${name}'`);
  await init();
  const address = inAscii(String(url));
  const calls = new Calls();
  const host = new Host({ onProgress, fetch, corsProxy, headers });
  const attempt = (credential) =>
    calls.run(signal, (stop) => {
      const text = JSON.stringify({ auth: credential, maxMemory });
      return bindings.open(address, host, text, stop);
    });
  if (typeof auth !== "function") return new Repo(await attempt(formOf(auth)), calls);
  const origin = new URL(url).origin;
  try {
    return new Repo(await attempt(formOf(await auth(origin, "first"))), calls);
  } catch (error) {
    if (error.kind !== "auth") throw error;
    const other = await auth(origin, "refused");
    if (!other) throw error;
    return new Repo(await attempt(formOf(other)), calls);
  }
}

/** An address whose host is in the ASCII form of other letters: JavaScript has their tables. */
function inAscii(url) {
  const isPlain = /^[ -~]*$/.test(url) || /[\0-\x1f\x7f]/.test(url);
  return !isPlain && URL.canParse(url) ? new URL(url).href : url;
}

/** A credential as the WebAssembly wants it: a string is a token. */
function formOf(auth) {
  if (auth === undefined || auth === null) return undefined;
  if (typeof auth === "string") return { token: auth };
  const { token, bearer, username, password } = auth;
  if (token !== undefined) return { token };
  if (bearer !== undefined) return { bearer };
  if (username !== undefined) return { basic: { username, password: password ?? "" } };
  throw usage("bad_params", "auth is a token, or has token, bearer, or username and password");
}

export class Repo extends Questions {
  #inner;
  #calls;

  /** Not for callers: `open` makes it. */
  constructor(inner, calls) {
    super();
    this.#inner = inner;
    this.#calls = calls;
  }

  /** One page of the answer to any question, in the format of every face. */
  async ask(method, params = {}, { signal } = {}) {
    const text = JSON.stringify(params);
    return JSON.parse(await this.#calls.run(signal, (stop) => this.#inner.ask(method, text, stop)));
  }

  /** The commit, ref and warning of what `name` stands for. */
  async pin(name, { signal } = {}) {
    return JSON.parse(await this.#calls.run(signal, (stop) => this.#inner.snapshot(name, stop)));
  }

  /** Reads files whole: for each path `[item, bytes]`. Snapshots call it. */
  async readBytes(commit, paths, { follow = true, signal } = {}) {
    const flat = await this.#calls.run(signal, (stop) =>
      this.#inner.read(commit, JSON.stringify(paths), follow, stop),
    );
    return paths.map((_, i) => [JSON.parse(flat[2 * i]), flat[2 * i + 1]]);
  }

  /** What was spent so far. */
  stats() {
    return JSON.parse(this.#calls.now(() => this.#inner.stats()));
  }

  /** Where the memory is, what had to go for lack of it, and what the instance takes. */
  memoryReport() {
    const { objects, memory } = this.stats();
    return { objects, ...memory, wasm_bytes: wasmMemoryBytes() };
  }

  /** What is held, as bytes for `load` of another time. */
  save() {
    const chunks = [];
    const { bytes } = JSON.parse(
      this.#calls.now(() => this.#inner.save((chunk) => chunks.push(chunk))),
    );
    const all = new Uint8Array(bytes);
    let at = 0;
    for (const chunk of chunks) {
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    return all;
  }

  /** Takes in what `save` gave; it is trusted no more than a host. */
  load(bytes) {
    return JSON.parse(this.#calls.now(() => this.#inner.load(bytes)));
  }

  /** Ends calls under way, and gives what is held back to the instance. */
  free() {
    if (this.#calls.isFreed) return;
    this.#calls.free();
    this.#inner.free();
  }

  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.free();
  }
}

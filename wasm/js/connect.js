// The side of a page: repositories that live in a worker, so that the page never waits for
// a search or a pack, and the end of the worker gives all memory back.

import { GitsipError, cancelled, usage } from "./errors.js";
import { Questions } from "./questions.js";

export { GitsipError } from "./errors.js";
export { bytesOf, textOf } from "./text.js";

/** A worker with gitsip in it; by default a new Web Worker. */
export function connect(worker = startWorker()) {
  const { port1, port2 } = new MessageChannel();
  worker.postMessage({ port: port2 }, [port2]);
  return new Connection(worker, port1);
}

// Bundlers know a worker by this very form.
function startWorker() {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

class Connection {
  #worker;
  #port;
  #waiting = new Map();
  #callbacks = new Map();
  #lastId = 0;
  #isOver = false;

  constructor(worker, port) {
    this.#worker = worker;
    this.#port = port;
    port.onmessage = ({ data }) => this.#take(data);
  }

  /** As `open` of the package, but for `fetch`, which is the worker's own. */
  async open(url, { signal, ...options } = {}) {
    if (options.fetch) throw usage("bad_params", "a worker has a fetch of its own");
    const isAsked = ([, value]) => typeof value === "function";
    const entries = Object.entries(options);
    const callbacks = Object.fromEntries(entries.filter(isAsked));
    const plain = Object.fromEntries(entries.filter((entry) => !isAsked(entry)));
    const args = [String(url), Object.keys(callbacks)];
    const repo = await this.call("open", { args, options: plain, signal, callbacks });
    return new WorkerRepo(this, repo);
  }

  /** Ends the worker, and with it every repository and all their memory. */
  async terminate() {
    this.#isOver = true;
    this.#port.close();
    for (const { reject } of this.#waiting.values()) reject(terminated());
    this.#waiting.clear();
    await this.#worker.terminate();
  }

  /** Not for callers: one message and its answer. */
  call(call, { repo, args = [], options = {}, signal, callbacks }) {
    if (this.#isOver) return Promise.reject(terminated());
    if (signal?.aborted) return Promise.reject(cancelled(signal.reason));
    const id = (this.#lastId += 1);
    if (callbacks) this.#callbacks.set(id, callbacks);
    const cancel = () => this.#port.postMessage({ cancel: id });
    signal?.addEventListener("abort", cancel, { once: true });
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#port.postMessage({ id, call, repo, args, options });
    }).finally(() => signal?.removeEventListener("abort", cancel));
  }

  /** Not for callers: the repository `id` asks nothing any more. */
  forget(id) {
    this.#callbacks.delete(id);
  }

  #take({ id, value, failure, progress, asked, name, args }) {
    if (progress) this.#callbacks.get(id)?.onProgress(progress);
    else if (asked !== undefined) this.#answer(asked, id, name, args);
    else this.#settle(id, value, failure);
  }

  #settle(id, value, failure) {
    const { resolve, reject } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    if (failure) reject?.(new GitsipError(failure));
    else resolve?.(value);
  }

  async #answer(asked, id, name, args) {
    let value;
    try {
      value = { value: await this.#callbacks.get(id)?.[name](...args) };
    } catch (error) {
      value = { error: String(error?.message ?? error) };
    }
    this.#port.postMessage({ answer: asked, value });
  }
}

class WorkerRepo extends Questions {
  #connection;
  #id;

  constructor(connection, id) {
    super();
    this.#connection = connection;
    this.#id = id;
  }

  ask(method, params = {}, options = {}) {
    return this.#call("ask", [method, params], options);
  }

  pin(name, options = {}) {
    return this.#call("pin", [name], options);
  }

  readBytes(commit, paths, options = {}) {
    return this.#call("readBytes", [commit, paths], options);
  }

  stats() {
    return this.#call("stats");
  }

  memoryReport() {
    return this.#call("memoryReport");
  }

  save() {
    return this.#call("save");
  }

  load(bytes) {
    return this.#call("load", [bytes]);
  }

  async free() {
    this.#connection.forget(this.#id);
    await this.#call("free");
  }

  #call(call, args = [], { signal, ...options } = {}) {
    return this.#connection.call(call, { repo: this.#id, args, options, signal });
  }
}

function terminated() {
  return usage("freed", "the worker was ended; connect again");
}

// The side of a worker: repositories that a page asks about through a port.

import { errorOf, usage } from "./errors.js";
import { open } from "./repo.js";

/** What a page may call of a repository, and what of the answer is handed over, not copied. */
const METHODS = {
  ask: () => [],
  load: () => [],
  memoryReport: () => [],
  pin: () => [],
  readBytes: (files) => files.flatMap(([, bytes]) => (bytes ? [bytes.buffer] : [])),
  save: (bytes) => [bytes.buffer],
  stats: () => [],
};

/** Answers what comes through `port` until it is closed. */
export function serve(port) {
  const server = new Server(port);
  port.onmessage = ({ data }) => server.take(data);
}

class Server {
  #port;
  #repos = new Map();
  #running = new Map();
  #asked = new Map();
  #lastAsked = 0;

  constructor(port) {
    this.#port = port;
  }

  take({ id, call, repo, args, options, cancel, answer, value }) {
    if (cancel !== undefined) this.#running.get(cancel)?.abort();
    else if (answer !== undefined) this.#answered(answer, value);
    else this.#run(id, call, repo, args, options);
  }

  async #run(id, call, repo, args, options) {
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const value = await this.#call(id, call, repo, args, {
        ...options,
        signal: controller.signal,
      });
      this.#port.postMessage({ id, value }, METHODS[call]?.(value) ?? []);
    } catch (error) {
      const { code, kind, message, hint, retryable } = errorOf(error);
      this.#port.postMessage({ id, failure: { code, kind, message, hint, retryable } });
    } finally {
      this.#running.delete(id);
    }
  }

  async #call(id, call, repo, args, options) {
    if (call === "open") return this.#open(id, ...args, options);
    if (call === "free") {
      this.#repos.get(repo)?.free();
      this.#repos.delete(repo);
      return undefined;
    }
    if (!Object.hasOwn(METHODS, call)) throw usage("bad_params", `there is no call '${call}'`);
    const held = this.#repos.get(repo);
    if (!held) throw usage("freed", "the repository was freed; open it again");
    return held[call](...args, options);
  }

  // `asks` are the options that are functions of the page.
  async #open(id, url, asks, options) {
    const ask =
      (name) =>
      (...args) =>
        this.#ask(id, name, args);
    const own = Object.fromEntries(asks.map((name) => [name, ask(name)]));
    if (own.onProgress) own.onProgress = (progress) => this.#port.postMessage({ progress, id });
    this.#repos.set(id, await open(url, { ...options, ...own }));
    return id;
  }

  #ask(id, name, args) {
    const asked = (this.#lastAsked += 1);
    return new Promise((resolve, reject) => {
      this.#asked.set(asked, { resolve, reject });
      this.#port.postMessage({ asked, id, name, args });
    });
  }

  #answered(asked, { value, error }) {
    const { resolve, reject } = this.#asked.get(asked);
    this.#asked.delete(asked);
    if (error === undefined) resolve(value);
    else reject(new Error(error));
  }
}

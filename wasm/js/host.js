// What the WebAssembly asks of its host: a network made of `fetch`, a clock, timers, and
// who listens to reports. No method here throws; what can fail rejects its promise with
// `{ code, message }`.

const isBrowser =
  typeof globalThis.location === "object" &&
  (typeof globalThis.document === "object" || typeof globalThis.WorkerGlobalScope === "function");

// No cookies, nothing kept, no word of where the request comes from. Edge workers refuse
// options that they do not know, so only browsers are given these.
const BROWSER_INIT = { cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" };

export class Host {
  #options;
  #gitProtocolRefused = false;

  /** `options` are `fetch`, `corsProxy`, `headers` and `onProgress` of `open`. */
  constructor(options) {
    this.#options = options;
  }

  request(method, url, headers, body) {
    return new Transfer((signal) => this.#fetch(method, url, pairs(headers), body, signal));
  }

  timer(ms) {
    return new Timer(ms);
  }

  now() {
    return performance.now();
  }

  report(json) {
    try {
      this.#options.onProgress?.(JSON.parse(json));
    } catch (error) {
      // A listener's mistake is its own and ends no transfer.
      reportLater(error);
    }
  }

  async #fetch(method, url, headers, body, signal) {
    const { corsProxy, headers: own } = this.#options;
    const given = typeof own === "function" ? await own(url) : own;
    // A preflight asks for each header by name, and hosts answer for those that they know.
    const dropped = (name) =>
      (isBrowser && name === "user-agent") || (this.#gitProtocolRefused && name === "git-protocol");
    const lines = [...headers.filter(([name]) => !dropped(name)), ...Object.entries(given ?? {})];
    const address = corsProxy ? throughProxy(corsProxy, url) : url;
    const ask = (lines, redirect) =>
      this.#call(address, { method, headers: new Headers(lines), body, signal, redirect });
    try {
      return await this.#follow(method, (redirect) => ask(lines, redirect));
    } catch (error) {
      const plain = lines.filter(([name]) => name !== "git-protocol");
      if (!mayBeRefusedPreflight(error) || method !== "GET" || plain.length === lines.length) {
        throw error;
      }
      // Without the header the host speaks version 0, and there may be no preflight.
      const response = await this.#follow(method, (redirect) => ask(plain, redirect));
      this.#gitProtocolRefused = true;
      return response;
    }
  }

  // Browsers do not show where a redirect leads: there it is followed by them.
  async #follow(method, ask) {
    const response = await ask("manual");
    return response.type === "opaqueredirect" && method === "GET" ? ask("follow") : response;
  }

  #call(url, init) {
    const lent = this.#options.fetch;
    if (lent) return lent(url, init);
    return globalThis.fetch(url, isBrowser ? { ...BROWSER_INIT, ...init } : init);
  }
}

// A request from its start to the end of its body.
class Transfer {
  #abort = new AbortController();
  #response;
  #reader;
  #bytes = 0;

  constructor(fetch) {
    // Called in a promise, so that a `fetch` that throws rejects it.
    this.#response = Promise.resolve().then(() => fetch(this.#abort.signal));
    this.#response.catch(() => {});
  }

  async head() {
    let response;
    try {
      response = await this.#response;
    } catch (error) {
      throw whyNotSent(error);
    }
    try {
      const headers = [...response.headers].flat();
      const body = response.body;
      if (body && typeof body.getReader !== "function") {
        throw failure("not_streaming", "the given fetch answers without a ReadableStream");
      }
      this.#reader = body?.getReader();
      return { status: response.status, url: response.url || "", headers };
    } catch (error) {
      throw error.code
        ? error
        : failure("not_streaming", `the given fetch answers with no Response: ${error}`);
    }
  }

  async read() {
    try {
      const { done, value } = (await this.#reader?.read()) ?? { done: true };
      if (done) return undefined;
      const chunk = bytesOf(value);
      this.#bytes += chunk.byteLength;
      return chunk;
    } catch (error) {
      if (error?.code === "not_streaming") throw error;
      const why = `the transfer broke off after ${this.#bytes} bytes (${reason(error)}); try again`;
      throw failure("cut", why);
    }
  }

  abort() {
    this.#abort.abort();
    this.#reader?.cancel().catch(() => {});
  }
}

class Timer {
  #id;
  #done;

  constructor(ms) {
    this.#done = new Promise((resolve) => {
      this.#id = setTimeout(resolve, Math.min(ms, MAX_TIMEOUT_MS));
    });
  }

  done() {
    return this.#done;
  }

  cancel() {
    clearTimeout(this.#id);
  }
}

// Longer ones fire at once.
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

function pairs(flat) {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
}

// As the proxies of isomorphic-git and `gitsip serve --proxy-allow` want it: the address
// without its scheme behind the proxy's. A `?` at the end takes all of it as the query.
function throughProxy(proxy, url) {
  if (proxy.endsWith("?")) return proxy + url;
  return `${proxy.replace(/\/$/, "")}/${url.replace(/^https?:\/\//, "")}`;
}

function bytesOf(value) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  throw failure(
    "not_streaming",
    "the given fetch answers with a stream of something else than bytes",
  );
}

// Browsers say a bare `TypeError` for all that fails before the answer; Node tells a cause.
function mayBeRefusedPreflight(error) {
  return error instanceof TypeError && error.cause === undefined;
}

function whyNotSent(error) {
  if (/header/i.test(error?.message ?? "") && error instanceof TypeError) {
    return failure("header", `the request has a header that HTTP cannot carry: ${reason(error)}`);
  }
  if (mayBeRefusedPreflight(error)) {
    const why = "the host cannot be reached, or does not let pages of other origins read it";
    const advice = "look at the network, or give a corsProxy";
    return failure("unreachable", `${why} (${reason(error)}): ${advice}`);
  }
  const cause = error?.cause ?? error;
  const why = `the host cannot be reached (${reason(cause)}): look at the address and the network`;
  return failure(CAUSES[cause?.code] ?? "connect", why);
}

const CAUSES = {
  CERT_HAS_EXPIRED: "tls_untrusted",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls_untrusted",
  EAI_AGAIN: "dns",
  ECONNREFUSED: "refused",
  ECONNRESET: "cut",
  ENOTFOUND: "dns",
  SELF_SIGNED_CERT_IN_CHAIN: "tls_untrusted",
  UND_ERR_SOCKET: "cut",
};

function reason(error) {
  const text = String(error?.message || error?.code || error);
  return text.split("\n", 1)[0].slice(0, 200);
}

function failure(code, message) {
  return { code, message };
}

function reportLater(error) {
  setTimeout(() => {
    throw error;
  });
}

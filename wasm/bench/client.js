// One clone and some searches in a process of its own: `node client.js PEER URL`. Prints
// figures as JSON, in milliseconds and megabytes.

import { realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";

const WORD = "strbuf";
const TIMES = 15;

const peers = {
  gitsip: async (url) => {
    const target = realpathSync(process.env.CARGO_TARGET_DIR ?? "target");
    const { init, open } = await import(pathToFileURL(`${target}/gitsip-js/index.node.js`));
    const instantiation = await timed(() => init());
    const brought = async (options) => {
      const repo = await open(url, options);
      const snap = await repo.snapshot("HEAD");
      await snap.prefetch({ max_blob_bytes: null });
      return snap;
    };
    const clone = await timed(() => brought({}));
    notePeak();
    const snap = clone.value;
    const count = (pattern) => async () => {
      const pages = snap.grep(pattern, { output_mode: "count" });
      return (await pages.toArray()).reduce((sum, { count }) => sum + count, 0);
    };
    const nowhere = await often(count("no such text anywhere"));
    const literal = await often(count(WORD));
    const anyCase = await often(count(new RegExp(WORD, "i")));
    // The same again without a network, which is little but taking in the pack.
    const network = new Recorded();
    (await brought({ fetch: (...request) => network.record(...request) })).repo.free();
    const ingest = await often(async () => {
      (await brought({ fetch: (...request) => network.replay(...request) })).repo.free();
    });
    return { instantiation, clone, nowhere, literal, anyCase, ingest };
  },
  "isomorphic-git": async (url) => {
    const { default: git } = await import("isomorphic-git");
    const { default: http } = await import("isomorphic-git/http/node");
    const { fs } = (await import("memfs")).memfs();
    const cache = {};
    const clone = await timed(() =>
      git.clone({ fs, http, dir: "/r", url, depth: 1, singleBranch: true, noCheckout: true, cache }),
    );
    notePeak();
    const literal = await timed(async () => {
      const decoder = new TextDecoder();
      return git.walk({
        fs,
        cache,
        dir: "/r",
        trees: [git.TREE({ ref: "HEAD" })],
        map: async (path, [entry]) => {
          if ((await entry.type()) !== "blob") return 0;
          const lines = decoder.decode(await entry.content()).split("\n");
          return lines.filter((line) => line.includes(WORD)).length;
        },
        reduce: async (own, below) => below.reduce((sum, count) => sum + count, own ?? 0),
      });
    });
    return { clone, literal };
  },
};

/** Answers of a host, to be had again. */
class Recorded {
  #answers = new Map();

  async record(url, init) {
    const response = await fetch(url, init);
    const { status, headers } = response;
    const body = await response.arrayBuffer();
    this.#answers.set(keyOf(url, init), { body, status, headers });
    return this.replay(url, init);
  }

  async replay(url, init) {
    const { body, status, headers } = this.#answers.get(keyOf(url, init));
    const response = new Response(body, { status, headers });
    Object.defineProperty(response, "url", { value: url });
    return response;
  }
}

function keyOf(url, { body }) {
  return `${url} ${body ? Buffer.from(body).toString("latin1") : ""}`;
}

async function timed(work) {
  const begun = performance.now();
  const value = await work();
  return { value, ms: performance.now() - begun };
}

/** The median of many times. */
async function often(work) {
  const all = [];
  for (let i = 0; i < TIMES; i++) all.push(await timed(work));
  all.sort((a, b) => a.ms - b.ms);
  return all[TIMES >> 1];
}

/** The peak of the clone; searches come on top. */
function notePeak() {
  figures["peak, MB"] = Math.round(process.resourceUsage().maxRSS / 1024);
}

const [peer, url] = process.argv.slice(2);
const figures = {};
const came = await peers[peer](url);
for (const [name, { ms, value }] of Object.entries(came)) {
  figures[`${name}, ms`] = Math.round(ms * 10) / 10;
  if (typeof value === "number") figures[`${name}, lines`] = value;
}
console.log(JSON.stringify(figures));

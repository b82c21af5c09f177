// Calls that overlap, are aborted, or lose their repository; what a host lends.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { GitsipError, open } from "gitsip";
import { World } from "./server.js";

const FILES = { "a.txt": "hello\n", "b.txt": "hello again\n", "c/d.txt": "no more\n" };

let world;

before(async () => {
  world = await World.with(FILES);
});

beforeEach(() => {
  world.misbehave = () => false;
  world.requests = [];
});

after(() => world?.close());

test("calls may overlap", async () => {
  const repo = await open(world.url);
  const snap = await repo.snapshot();
  const [a, b, listed, hits, refs] = await Promise.all([
    snap.read("a.txt"),
    snap.read("b.txt"),
    snap.ls("c"),
    snap.grep("hello").toArray(),
    repo.refs(),
  ]);
  assert.deepEqual(
    [a.text(), b.text(), listed.length, hits.length],
    ["hello\n", "hello again\n", 1, 2],
  );
  assert.deepEqual(
    refs.map(({ name }) => name.text),
    ["HEAD", "refs/heads/main"],
  );
  repo.free();
});

test("a host has letters of any alphabet", async () => {
  const asked = [];
  const fetch = async (url) => {
    asked.push(new URL(url).host);
    return new Response("", { status: 404 });
  };
  for (const host of ["b\u00fccher.example", "xn--bcher-kva.example"])
    await assert.rejects(open(`https://${host}/r`, { fetch }), { code: "no_repository" });
  assert.deepEqual([...new Set(asked)], ["xn--bcher-kva.example"]);
});

test("free() in the middle of a call ends it with an error, and twice is once", async () => {
  const repo = await open(world.url);
  const snap = await repo.snapshot();
  const reading = snap.read("a.txt");
  const searching = snap.grep("hello").toArray();
  repo.free();
  repo.free();
  for (const ended of [reading, searching, snap.ls(), Promise.resolve().then(() => repo.stats())]) {
    await assert.rejects(ended, (error) => error instanceof GitsipError && error.code === "freed");
  }
});

test("a signal ends what waits for the host, and the request with it", async () => {
  const closed = new Promise((resolve) => {
    world.misbehave = (_, response) => {
      response.on("close", resolve);
      return true;
    };
  });
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  const cancelled = (error) => error instanceof GitsipError && error.code === "cancelled";
  await assert.rejects(open(world.url, { signal: controller.signal }), cancelled);
  await closed;
  await assert.rejects(open(world.url, { signal: controller.signal }), cancelled);
  assert.equal(world.requests.length, 1, "nothing is sent after an abort");
});

test("an aborted call leaves the repository usable", async () => {
  const repo = await open(world.url);
  const snap = await repo.snapshot();
  const hang = Promise.withResolvers?.() ?? {};
  world.misbehave = () => (hang.resolve?.(), true);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  await assert.rejects(snap.read("a.txt", { signal: controller.signal }), { code: "cancelled" });
  world.misbehave = () => false;
  assert.equal((await snap.read("a.txt")).text(), "hello\n");
  repo.free();
});

test("a lent fetch is the only one, and gets the caller's headers", async () => {
  const seen = [];
  const lent = (url, init) => {
    seen.push(init.headers.get("x-mine"));
    return fetch(url, init);
  };
  const repo = await open(world.url, { fetch: lent, headers: () => ({ "x-mine": "yes" }) });
  await (await repo.snapshot()).read("a.txt");
  assert.deepEqual(seen, Array(repo.stats().requests).fill("yes"));
  assert.equal(world.requests.length, seen.length);
  repo.free();
});

test("a body is asked for chunk by chunk, as it is taken in", async () => {
  let given = 0;
  let lead = 0;
  let told = 0;
  // Of each answer a byte at a time, and only when somebody asks for one.
  const lent = async (url, init) => {
    const response = await fetch(url, init);
    const bytes = new Uint8Array(await response.arrayBuffer());
    let at = 0;
    [given, told] = [0, 0];
    const pull = (controller) => {
      lead = Math.max(lead, given - told);
      if (at === bytes.length) return controller.close();
      given += 1;
      return controller.enqueue(bytes.subarray(at, ++at));
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), response);
  };
  const onProgress = ({ bytes }) => (told = bytes);
  const repo = await open(world.url, { fetch: lent, onProgress });
  assert.equal((await (await repo.snapshot()).read("a.txt")).text(), "hello\n");
  assert.equal(lead, 0, "a chunk is asked for when the one before was taken in");
  repo.free();
});

test("a preflight that refuses Git-Protocol leads to version 0", async () => {
  const browserLike = (url, init) => {
    if (init.headers.has("git-protocol")) return Promise.reject(new TypeError("Failed to fetch"));
    return fetch(url, init);
  };
  const repo = await open(world.url, { fetch: browserLike });
  assert.equal((await (await repo.snapshot()).read("a.txt")).text(), "hello\n");
  assert.equal(repo.stats().protocol, 0);
  repo.free();
});

test("what a page cannot reach is told with the way out", async () => {
  const error = await open(world.url, {
    fetch: () => Promise.reject(new TypeError("Failed to fetch")),
  }).catch((error) => error);
  assert.deepEqual([error.kind, error.code], ["transport", "unreachable"]);
  assert.match(error.message, /corsProxy/);
  const bad = await open(world.url, { fetch: () => "no response" }).catch((error) => error);
  assert.equal(bad.code, "not_streaming", String(bad.cause ?? bad));
  const thrown = await open(world.url, {
    fetch: () => {
      throw new Error("mine");
    },
  }).catch((error) => error);
  assert.match(thrown.message, /mine/);
});

test("a proxy gets the address behind its own", async () => {
  const { origin, host } = new URL(world.url);
  const seen = [];
  const lent = (url, init) => {
    seen.push(url);
    return fetch(url.replace(`${origin}/proxy/${host}`, origin), init);
  };
  const repo = await open(world.url, { fetch: lent, corsProxy: `${origin}/proxy` });
  await repo.snapshot();
  assert.ok(
    seen.length > 1 && seen.every((url) => url.startsWith(`${origin}/proxy/${host}/r.git/`)),
    String(seen),
  );
  repo.free();
});

test("progress tells phases and bytes", async () => {
  const phases = new Set();
  let bytes = 0;
  const onProgress = (progress) => {
    phases.add(progress.phase);
    bytes = Math.max(bytes, progress.bytes);
  };
  const repo = await open(world.url, { onProgress });
  await (await repo.snapshot()).grep("hello").toArray();
  for (const phase of ["connecting", "receiving"]) assert.ok(phases.has(phase), [...phases].join());
  assert.ok(bytes > 0);
  repo.free();
});

test("a plan says what a search then costs", async () => {
  const repo = await open(world.url);
  const snap = await repo.snapshot();
  const { requests, blobs_missing } = await snap.plan({ globs: ["*.txt"] });
  assert.ok(blobs_missing > 0);
  const before = repo.stats();
  await snap.grep("hello", { globs: ["*.txt"] }).toArray();
  assert.ok(repo.stats().requests - before.requests <= requests);
  assert.equal(repo.stats().objects - before.objects, blobs_missing);
  const memory = repo.memoryReport();
  const { packed_bytes, text_bytes, copies_bytes, table_bytes, other_bytes } = memory;
  const parts = [packed_bytes, text_bytes, copies_bytes, table_bytes, other_bytes];
  assert.equal(
    parts.reduce((sum, part) => sum + part),
    memory.used_bytes,
  );
  repo.free();
});

test("what is saved is loaded without a request for it", async () => {
  const first = await open(world.url);
  await (await first.snapshot()).prefetch();
  const bytes = first.save();
  first.free();
  const second = await open(world.url);
  assert.equal(second.load(bytes).bytes, bytes.length);
  const snap = await second.snapshot();
  const { requests } = second.stats();
  assert.equal((await snap.read("c/d.txt")).text(), FILES["c/d.txt"]);
  assert.equal(second.stats().requests, requests);
  const cut = await open(world.url);
  assert.throws(
    () => cut.load(bytes.subarray(0, bytes.length - 9)),
    (error) => error instanceof GitsipError && error.kind === "corrupt",
  );
  second.free();
  cut.free();
});

// What goes wrong is a GitsipError with its code, and the instance stays usable.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, test } from "node:test";
import { GitsipError, open } from "gitsip";
import { World } from "./server.js";

const NOISE = randomBytes(300_000);

let world;

before(async () => {
  world = await World.with({ "a.txt": "hello\n", "big.bin": NOISE });
});

after(() => world?.close());

afterEach(async () => {
  world.misbehave = () => false;
  world.cutAfter = Infinity;
  world.distort = (chunk) => chunk;
  const repo = await open(world.url);
  const snap = await repo.snapshot();
  assert.equal((await snap.read("a.txt")).text(), "hello\n", "the instance stays usable");
  repo.free();
});

const answer = (status, type, body) => (_, response) => {
  response.writeHead(status, { "content-type": type }).end(body);
  return true;
};

/** The error of `work`, which has to be a GitsipError of `kind`. */
async function failureOf(work, kind, code) {
  const error = await work.then(
    () => assert.fail("it did not fail"),
    (error) => error,
  );
  assert.ok(error instanceof GitsipError, String(error?.stack));
  assert.deepEqual([error.kind, error.code], [kind, code], error.message);
  assert.equal(typeof error.retryable, "boolean");
  assert.ok(error.hint.length > 0 && !error.message.includes("\n"));
  return error;
}

const readBig = async (options) =>
  (await (await open(world.url, options)).snapshot()).read("big.bin");

test("a 401 asks for credentials, and a refused one for others", async () => {
  world.misbehave = answer(401, "text/plain", "no");
  await failureOf(open(world.url), "auth", "credentials_wanted");
  const error = await failureOf(
    open(world.url, { auth: "s3cr3t-token" }),
    "auth",
    "credentials_refused",
  );
  assert.ok(!error.message.includes("s3cr3t-token"));
});

test("a callback is asked first, and once more when its credential was refused", async () => {
  const right = `Basic ${Buffer.from("me:right").toString("base64")}`;
  world.misbehave = (request, response) =>
    request.headers.authorization !== right && answer(401, "text/plain", "no")(request, response);
  const asked = [];
  const auth = (origin, why) => {
    asked.push([origin, why]);
    return { username: "me", password: why === "first" ? "wrong" : "right" };
  };
  (await open(world.url, { auth })).free();
  const { origin } = new URL(world.url);
  assert.deepEqual(asked, [
    [origin, "first"],
    [origin, "refused"],
  ]);
});

test("a web page is no repository", async () => {
  world.misbehave = answer(200, "text/html", "<!doctype html><title>Hi</title>");
  await failureOf(open(world.url), "not_found", "web_page");
});

test("nobody listens, and no address", async () => {
  await failureOf(open("http://127.0.0.1:9999/r.git"), "transport", "refused");
  await failureOf(open("ftp://127.0.0.1/r.git"), "usage", "usage");
});

test("a transfer that is cut off is said to be", async () => {
  world.cutAfter = 100_000;
  const error = await failureOf(readBig(), "transport", "cut");
  assert.ok(error.retryable);
});

test("more than maxMemory is refused with numbers", async () => {
  const error = await failureOf(readBig({ maxMemory: 150_000 }), "limit", "limit");
  assert.match(error.message, /150000|150,000|max_memory/);
});

test("a damaged pack is refused", async () => {
  let seen = 0;
  world.distort = (chunk) => {
    const copy = Buffer.from(chunk);
    if (seen < 50_000 && seen + copy.length >= 50_000) copy[50_000 - seen] ^= 0x55;
    seen += copy.length;
    return copy;
  };
  const error = await readBig().then(
    () => assert.fail(),
    (error) => error,
  );
  assert.ok(
    error instanceof GitsipError && ["corrupt", "malformed"].includes(error.kind),
    String(error),
  );
});

test("a pack that declares gigabytes allocates nothing for them", async () => {
  const { wasm_bytes } = (await open(world.url)).memoryReport();
  world.misbehave = (request, response) => {
    if (request.method !== "POST" || request.headers["content-length"] < 200) return false;
    // A blob of 4 GiB - 1 bytes, and an object count to match.
    const header = Buffer.from([
      0x50, 0x41, 0x43, 0x4b, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0xbf, 0xff, 0xff, 0xff, 0x7f,
    ]);
    const packet = (bytes) =>
      Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
    const pack = packet(Buffer.concat([Buffer.from([1]), header]));
    response.writeHead(200, { "content-type": "application/x-git-upload-pack-result" });
    response.end(Buffer.concat([packet(Buffer.from("packfile\n")), pack, Buffer.from("0000")]));
    return true;
  };
  const error = await readBig().then(
    () => assert.fail(),
    (error) => error,
  );
  assert.ok(
    error instanceof GitsipError && ["limit", "corrupt", "malformed"].includes(error.kind),
    String(error),
  );
  const repo = await open(world.url);
  assert.ok(repo.memoryReport().wasm_bytes < wasm_bytes + (32 << 20));
});

test("what is freed makes room for the next repository", async () => {
  const visit = async () => {
    const repo = await open(world.url);
    await (await repo.snapshot()).read("big.bin");
    const { wasm_bytes } = repo.memoryReport();
    repo.free();
    return wasm_bytes;
  };
  const first = await visit();
  let last;
  for (let i = 0; i < 8; i += 1) last = await visit();
  assert.ok(last - first < 4 * NOISE.length, `${last - first} bytes more`);
});

test("options, questions and patterns that are wrong are named", async () => {
  assert.match(
    (await failureOf(open(world.url, { timeout: 1 }), "usage", "bad_params")).message,
    /timeout/,
  );
  const snap = await (await open(world.url)).snapshot();
  assert.match(
    (await failureOf(snap.grep("x", { fuzzy: true }).toArray(), "usage", "bad_params")).message,
    /fuzzy/,
  );
  assert.throws(() => snap.grep(["x", 1]), { name: "GitsipError", code: "bad_pattern" });
  assert.throws(() => snap.grep(/(?<=a)b/), { name: "GitsipError", code: "bad_pattern" });
  const wrong = await failureOf(snap.ask("blame"), "usage", "bad_params");
  assert.match(wrong.message, /blame/);
  await failureOf(snap.repo.snapshot("nope"), "not_found", "not_found");
});

// A repository in a worker answers as one in the page does.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Worker } from "node:worker_threads";
import { GitsipError, open } from "gitsip";
import { connect } from "gitsip/connect";
import { World } from "./server.js";

let world;
let connection;

before(async () => {
  world = await World.with({ "a.txt": "hello\n", "b/c.txt": "hello again\n" });
  const url = new URL("./thread.js", import.meta.url);
  connection = connect(new Worker(url));
});

after(async () => {
  await connection?.terminate();
  world?.close();
});

test("its answers are the same", async () => {
  const phases = [];
  const there = await connection.open(world.url, { onProgress: ({ phase }) => phases.push(phase) });
  const here = await open(world.url);
  const answers = async (repo) => {
    const snap = await repo.snapshot();
    const [file, missing] = await snap.readMany(["a.txt", "nope"]);
    const hits = await snap.grep(/hel+o/).toArray();
    const names = await snap.fs.readdir("/b");
    return [snap.commit, file.text(), missing.code, hits, names, await repo.refs()];
  };
  assert.deepEqual(await answers(there), await answers(here));
  assert.ok(phases.includes("receiving"));
  assert.equal((await there.stats()).requests, here.stats().requests);
  const bytes = await there.save();
  assert.deepEqual(await there.load(bytes), here.load(bytes));
  await there.free();
  await assert.rejects(there.stats(), (error) => error.code === "freed");
  here.free();
});

test("callbacks are asked in the page, and errors come back as they are", async () => {
  const asked = [];
  const auth = async (origin, why) => {
    asked.push(why);
    return { token: "t0ken" };
  };
  world.misbehave = (_, response) => {
    response.writeHead(401).end("no");
    return true;
  };
  await assert.rejects(
    connection.open(world.url, { auth }),
    (error) => error instanceof GitsipError && error.code === "credentials_refused",
  );
  world.misbehave = () => false;
  assert.deepEqual(asked, ["first", "refused"]);
});

test("a signal reaches the worker", async () => {
  world.misbehave = () => true;
  const signal = AbortSignal.timeout(50);
  await assert.rejects(connection.open(world.url, { signal }), { code: "cancelled" });
  world.misbehave = () => false;
  await (await connection.open(world.url)).free();
});

test("the end of the worker ends what waits for it", async () => {
  world.misbehave = () => true;
  const ended = assert.rejects(connection.open(world.url), { code: "freed" });
  await connection.terminate();
  await ended;
  await assert.rejects(connection.open(world.url), { code: "freed" });
  world.misbehave = () => false;
});

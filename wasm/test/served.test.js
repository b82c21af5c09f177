// `gitsip serve` as the other git of JavaScript sees it: isomorphic-git clones from it, and
// from another host through it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import git from "isomorphic-git";
import http from "isomorphic-git/http/node";
import { World } from "./server.js";

const text = (n) => Array.from({ length: 200 }, (_, line) => `line ${line * n}\n`).join("");

let world;
let server;
let host;

before(async () => {
  world = await World.with({ "a.txt": text(1), "folder/b.txt": text(2) });
  world.commit({ "a.txt": `${text(1)}more\n`, "folder/c.bin": Buffer.alloc(5000, "\0\x01\xff") });
  world.git("tag", "-a", "-m", "words", "v1");
  world.git("branch", "side", "HEAD~1");
  world.push();
  const args = ["serve", world.folder, "--addr", "127.0.0.1:0"];
  args.push("--proxy-allow", new URL(world.url).origin);
  server = spawn(process.env.GITSIP, args, { stdio: ["ignore", "ignore", "pipe"] });
  const [line] = await once(server.stderr, "data");
  [host] = /http:\/\/[\d.:]+/.exec(String(line));
});

after(() => {
  server?.kill();
  world?.close();
});

/** A clone in a fresh folder, proven by the real git. */
async function cloned(name, options) {
  const dir = join(world.folder, name);
  await git.clone({ fs, http, dir, ...options });
  const run = (...args) => execFileSync("git", ["-C", dir, ...args], { encoding: "utf8" });
  run("fsck", "--strict");
  assert.equal(run("status", "--porcelain"), "");
  return run;
}

const ids = (output) => output.toString().trim().split("\n").sort();

test("a whole repository is cloned with all refs and objects", async () => {
  const run = await cloned("whole", { url: `${host}/r.git` });
  const all = ["rev-list", "--objects", "--no-object-names", "--branches", "--tags"];
  const everything = ["rev-list", "--objects", "--no-object-names", "--all"];
  assert.deepEqual(ids(run(...everything)), ids(world.git(...all)));
  const refs = ["for-each-ref", "--format=%(objectname)", "refs/tags"];
  assert.deepEqual(ids(run(...refs)), ids(world.git(...refs)));
});

test("a clone of one commit has one, and is made whole later", async () => {
  const run = await cloned("shallow", { url: `${host}/r.git`, depth: 1, singleBranch: true });
  assert.equal(run("rev-list", "--count", "HEAD"), "1\n");
  const dir = join(world.folder, "shallow");
  await git.fetch({ fs, http, dir, depth: 10, singleBranch: true, ref: "main" });
  assert.equal(run("rev-list", "--count", "HEAD"), "2\n");
  run("fsck", "--strict");
});

test("a repository of another host is cloned through it", async () => {
  const run = await cloned("passed", { url: world.url, corsProxy: `${host}/proxy` });
  assert.deepEqual(ids(run("rev-parse", "HEAD")), ids(world.git("rev-parse", "main")));
});

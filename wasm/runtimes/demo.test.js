// The demo page, used as a person would: type, click, search, cancel, come back later.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { World } from "../test/server.js";

let world;
let browser;
let server;
let page;
let site;

before(async () => {
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`src/deep/${i}.rs`, `fn number_${i}() {}\n// the end\n`]),
  );
  world = await World.with({ "README.md": "# A title\n<b>hello</b>\n", ...many });
  world.misbehave = allowOrigins;
  server = spawn(process.execPath, ["../demo/serve.js", "node_modules/gitsip"], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  [site] = await once(server.stdout, "data").then(([line]) => String(line).trim().split("\n"));
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  page = await browser.newPage();
  page.setDefaultTimeout(30_000);
});

after(async () => {
  await browser?.close();
  server?.kill();
  world?.close();
});

test("an address is typed, a folder opened, a file read", async () => {
  await page.goto(site);
  await page.fill("#url", world.url);
  await page.press("#url", "Enter");
  await says(/^HEAD is/);
  await page.click("summary:has-text('src')");
  await page.click("summary:has-text('deep')");
  await page.click("button:has-text('7.rs') >> nth=0");
  await page.waitForSelector(".line");
  await page.click("button:has-text('README.md')");
  // What is in a file is text, never markup.
  await page.waitForSelector(".line:has-text('<b>hello</b>')");
});

test("a search marks what matches, and a hit leads to its line", async () => {
  await page.click("nav");
  await page.keyboard.press("/");
  await page.keyboard.type("/number_4\\d/");
  await says(/^10 hits/);
  assert.deepEqual(await page.locator("mark").allTextContents(), numbers(40, 50));
  await page.click(".hit >> nth=3");
  await page.waitForSelector(".line.shown:has-text('number_43')");
});

test("a second visit searches without a request for files", async () => {
  await page.reload();
  await says(/^HEAD is/);
  const before = world.requests.length;
  await page.fill("#pattern", "the end");
  await says(/^50 hits.* 0 requests/);
  assert.equal(world.requests.length, before);
});

test("what was kept and is damaged is forgotten, and fetched again", async () => {
  await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle("gitsip");
    for await (const [, file] of folder) {
      const writable = await file.createWritable();
      await writable.write(new Uint8Array(100));
      await writable.close();
    }
  });
  await page.reload();
  await says(/^HEAD is/);
  await page.fill("#pattern", "the end");
  await says(/^50 hits.* [1-9]\d* requests/);
});

test("a host that does not answer is given up, and another opened", async () => {
  world.misbehave = () => true;
  await page.click("button:has-text('Open')");
  await page.click("#cancel");
  await says(/^Cancelled/);
  world.misbehave = allowOrigins;
  await page.click("button:has-text('Open')");
  await says(/^HEAD is/);
});

test("the page is never held up while files come and are searched", async () => {
  const lines = "the quick brown fox jumps over the lazy dog\n".repeat(500);
  const files = Array.from({ length: 100 }, (_, i) => [`${i}.txt`, `${lines}number ${i}\n`]);
  world.commit(Object.fromEntries(files));
  const origin = new URL(site).origin;
  const args = ["serve", world.folder, "--addr", "127.0.0.1:0", "--cors", origin];
  const git = spawn(process.env.GITSIP, args, { stdio: ["ignore", "ignore", "pipe"] });
  try {
    const [line] = await once(git.stderr, "data");
    const [host] = /http:\/\/[\d.:]+/.exec(String(line));
    // Others use this machine too, and may hold the page up.
    let longest = Infinity;
    for (let attempt = 0; attempt < 3 && longest > 0; attempt++)
      longest = Math.min(longest, await longestTask(`${host}/r.git`, "number 99", /^1 hits/));
    assert.equal(longest, 0, `one task took ${longest} ms`);
  } finally {
    git.kill();
  }
});

/** Milliseconds of the longest task of a first visit's search that took more than 50. */
async function longestTask(repo, pattern, found) {
  const context = await browser.newContext();
  const visit = await context.newPage();
  try {
    await visit.addInitScript(() => {
      globalThis.longTasks = [];
      const note = (list) => longTasks.push(...list.getEntries().map((task) => task.duration));
      new PerformanceObserver(note).observe({ type: "longtask" });
    });
    await visit.goto(site);
    await visit.fill("#url", repo);
    await visit.press("#url", "Enter");
    await says(/^HEAD is/, visit);
    // What loading the page took is nothing of it.
    await visit.evaluate(() => longTasks.splice(0));
    await visit.fill("#pattern", pattern);
    await says(found, visit);
    return Math.max(0, ...(await visit.evaluate(() => longTasks)));
  } finally {
    await context.close();
  }
}

function allowOrigins(request, response) {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-allow-headers", "content-type,git-protocol");
  if (request.method !== "OPTIONS") return false;
  response.writeHead(204).end();
  return true;
}

function numbers(from, to) {
  return Array.from({ length: to - from }, (_, i) => `number_${from + i}`);
}

async function says(pattern, where = page) {
  const is = (source) => new RegExp(source).test(document.querySelector("#status").textContent);
  await where.waitForFunction(is, pattern.source).catch(async () => {
    assert.match(await where.textContent("#status"), pattern);
  });
}

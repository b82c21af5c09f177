// The installed package loads and works in every runtime that people have.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { build as bundle } from "esbuild";
import { Miniflare } from "miniflare";
import { chromium } from "playwright-core";
import { build as buildPage } from "vite";
import { World } from "../test/server.js";

const EXPECTED = { text: "hello\n", hits: ["a.txt:1", "src/b.rs:1"], protocol: 2 };
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

let world;
let browser;
let site;

before(async () => {
  world = await World.with({ "a.txt": "hello\n", "src/b.rs": "// TODO hello\n" });
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  site = createServer(serveFile);
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
});

after(async () => {
  await browser?.close();
  site?.close();
  world?.close();
});

test("Deno", async () => {
  const { stdout } = await promisify(execFile)("node_modules/.bin/deno", [
    "run",
    "--allow-net",
    "--allow-read",
    "deno.js",
    world.url,
  ]);
  assert.deepEqual(JSON.parse(stdout), EXPECTED);
});

test("an edge worker, which imports the .wasm as a module", async () => {
  await bundle({
    entryPoints: ["edge.js"],
    bundle: true,
    format: "esm",
    conditions: ["workerd"],
    loader: { ".wasm": "copy" },
    outdir: "edge",
    logLevel: "error",
  });
  const modules = readdirSync("edge").map((name) => ({
    type: name.endsWith(".wasm") ? "CompiledWasm" : "ESModule",
    path: name,
    contents: readFileSync(join("edge", name), name.endsWith(".wasm") ? undefined : "utf8"),
  }));
  // The first one is the program.
  modules.sort((a, b) => b.type.localeCompare(a.type));
  const edge = new Miniflare({ compatibilityDate: "2025-01-01", modules });
  try {
    const answer = await edge.dispatchFetch(`http://x/?repo=${encodeURIComponent(world.url)}`);
    assert.deepEqual(await answer.json(), EXPECTED);
  } finally {
    await edge.dispose();
  }
});

test("a page that Vite built, here and in its worker", async () => {
  await buildPage({ root: "page", base: "./", logLevel: "error", build: { target: "es2022" } });
  allowOrigins("content-type,git-protocol");
  assert.deepEqual(await shown("page/dist"), { here: EXPECTED, there: EXPECTED });
});

test("a page without a bundler", async () => {
  mkdirSync("plain/page", { recursive: true });
  cpSync("node_modules/gitsip", "plain/gitsip", { recursive: true, dereference: true });
  const importmap = {
    imports: { gitsip: "/plain/gitsip/index.js", "gitsip/connect": "/plain/gitsip/connect.js" },
  };
  const html = readFileSync("page/index.html", "utf8");
  const map = `<script type="importmap">${JSON.stringify(importmap)}</script>`;
  writeFileSync("plain/page/index.html", html.replace("<pre>", `${map}<pre>`));
  cpSync("page/main.js", "plain/page/main.js");
  cpSync("use.js", "plain/use.js");
  allowOrigins("content-type,git-protocol");
  assert.deepEqual(await shown("plain/page"), { here: EXPECTED, there: EXPECTED });
});

test("a host whose preflight refuses Git-Protocol is asked in version 0", async () => {
  allowOrigins("content-type");
  const expected = { ...EXPECTED, protocol: 0 };
  assert.deepEqual(await shown("page/dist"), { here: expected, there: expected });
});

test("a host that lets no page read it is said to, with the way out", async () => {
  world.misbehave = () => false;
  const { here, there } = await shown("page/dist");
  assert.deepEqual([here.code, there.code], ["unreachable", "unreachable"]);
  assert.match(here.message, /corsProxy/);
});

/** Lets pages of any origin read the repository with these headers. */
function allowOrigins(headers) {
  world.misbehave = (request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("access-control-allow-headers", headers);
    if (request.method !== "OPTIONS") return false;
    response.writeHead(204).end();
    return true;
  };
}

/** What the page in `folder` shows in the end. */
async function shown(folder) {
  const page = await browser.newPage();
  try {
    const repo = encodeURIComponent(world.url);
    const { port } = site.address();
    await page.goto(`http://127.0.0.1:${port}/${folder}/index.html?repo=${repo}`);
    await page.waitForSelector("[data-done]", { timeout: 30_000 });
    return JSON.parse(await page.textContent("pre"));
  } finally {
    await page.close();
  }
}

function serveFile(request, response) {
  const path = join(".", new URL(request.url, "http://x").pathname);
  try {
    const bytes = readFileSync(path);
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain" }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}

// A page over gitsip: opens a repository in a worker, shows its tree and files, and searches
// as you type. What came is kept in the browser for the next visit.

import { connect, textOf } from "gitsip/connect";
import { keep, recall } from "gitsip/opfs";
import { treeOf } from "./tree.js";
import { showFile, showHits } from "./view.js";

const element = (id) => document.getElementById(id);
const [form, url, proxy, ref, pattern] = ["open", "url", "proxy", "ref", "pattern"].map(element);
const [tree, view, status, memory, progress, cancel] = [
  "tree",
  "view",
  "status",
  "memory",
  "progress",
  "cancel",
].map(element);

let connection;
let repo;
let snap;
let running = new AbortController();

/** Runs `work` in place of what was running, with a signal that ends it. */
async function run(what, work) {
  running.abort();
  const controller = (running = new AbortController());
  say(`${what} …`);
  cancel.disabled = false;
  try {
    const done = await work(controller.signal);
    if (!controller.signal.aborted) say(done);
  } catch (error) {
    if (controller === running)
      say(error.code === "cancelled" ? "Cancelled." : error.message, true);
  } finally {
    if (controller === running) {
      cancel.disabled = true;
      progress.hidden = true;
    }
    await showMemory();
  }
}

function say(text, failed = false) {
  status.textContent = text;
  status.classList.toggle("failed", failed);
}

function onProgress({ phase, objects, total_objects, bytes }) {
  if (phase === "over") return;
  progress.hidden = false;
  progress.max = total_objects ?? 1;
  if (total_objects) progress.value = objects;
  else progress.removeAttribute("value");
  say(`${phase}: ${objects} objects, ${megabytes(bytes)}`);
}

async function showMemory() {
  if (!repo) return;
  const { used_bytes, wasm_bytes, objects } = await repo.memoryReport();
  memory.textContent = `${objects} objects, ${megabytes(used_bytes)} of ${megabytes(wasm_bytes)}`;
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  run("Opening", async (signal) => {
    // The end of the worker is what gives memory back.
    await connection?.terminate();
    repo = undefined;
    connection = connect();
    const corsProxy = proxy.value || undefined;
    repo = await connection.open(url.value, { signal, corsProxy, onProgress });
    await recall(url.value, repo);
    const refs = await repo.refs({ only_refs: true, signal });
    const names = ["HEAD", ...refs.map(({ name }) => textOf(name))];
    ref.replaceChildren(
      ...names.map((name) => new Option(name.replace(/^refs\/(heads|tags)\//, ""), name)),
    );
    ref.disabled = pattern.disabled = false;
    history.replaceState(null, "", `?repo=${encodeURIComponent(url.value)}`);
    return show("HEAD", signal);
  });
});

ref.addEventListener("change", () => run("Reading", (signal) => show(ref.value, signal)));

async function show(name, signal) {
  snap = await repo.snapshot(name, { signal });
  tree.replaceChildren(await treeOf(snap, "", openFile));
  view.replaceChildren();
  const { requests, bytes_received } = await repo.stats();
  return `${name} is ${snap.commit.slice(0, 10)}: ${requests} requests, ${megabytes(bytes_received)}`;
}

function openFile(path, line) {
  return run(`Reading ${path}`, async (signal) => {
    const file = await snap.read(path, { signal });
    showFile(view, file, line);
    return `${path}: ${file.size} bytes, blob ${file.blob.slice(0, 10)}`;
  });
}

let typing;
pattern.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(search, 150);
});

function search() {
  const text = pattern.value;
  if (!text) return view.replaceChildren();
  return run("Searching", async (signal) => {
    const begun = performance.now();
    const before = (await repo.stats()).requests;
    const pages = snap.grep(patternOf(text), { limit: MAX_HITS, max_columns: 200, signal });
    const hits = await pages.toArray();
    showHits(view, hits, openFile);
    const ms = Math.round(performance.now() - begun);
    const { requests } = await repo.stats();
    if (requests > before) await keep(url.value, repo);
    const more = pages.truncated ? "the first " : "";
    return `${more}${hits.length} hits in ${ms} ms, ${requests - before} requests`;
  });
}

/** `/words/i` is a regular expression, everything else is text. */
function patternOf(text) {
  const [, source, flags] = /^\/(.+)\/([imsu]*)$/.exec(text) ?? [];
  return source === undefined ? text : new RegExp(source, flags);
}

const MAX_HITS = 1000;

cancel.addEventListener("click", () => running.abort());
addEventListener("keydown", (event) => {
  if (event.key === "Escape") running.abort();
  if (event.key !== "/" || event.target.matches("input, select")) return;
  event.preventDefault();
  pattern.focus();
});

const asked = new URLSearchParams(location.search).get("repo");
if (asked) {
  url.value = asked;
  form.requestSubmit();
}

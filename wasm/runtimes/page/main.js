// A page that shows what came from the address in its own: here, and by way of a worker.

import { textOf } from "gitsip";
import { connect } from "gitsip/connect";
import { use } from "../use.js";

async function throughWorker(url) {
  const connection = connect();
  try {
    const repo = await connection.open(url);
    const snap = await repo.snapshot();
    const hits = await snap.grep(/hel+o/).toArray();
    const { protocol } = await repo.stats();
    const text = (await snap.read("a.txt")).text();
    return { text, hits: hits.map(({ path, line }) => `${textOf(path)}:${line}`), protocol };
  } finally {
    await connection.terminate();
  }
}

const url = new URLSearchParams(location.search).get("repo");
const outcome = (work) => work.catch(({ code, message }) => ({ code, message }));
const came = { here: await outcome(use(url)), there: await outcome(throughWorker(url)) };
document.querySelector("pre").textContent = JSON.stringify(came);
document.body.dataset.done = "yes";

// Compares gitsip as WebAssembly with isomorphic-git over memfs, both in Node: the newest
// commit of a repository into memory, ready to search, from `gitsip serve` on loopback.
//
//   cargo build --release && wasm/build && npm install --prefix wasm/bench
//   node wasm/bench/clone.js FOLDER REPO [ROUNDS]
//
// FOLDER is what is served, REPO a bare repository in it. Each clone is a process of its own,
// each round has a server of its own: it answers the first client by making the pack, the
// second from its cache. Prints medians, and the peak of each client's resident memory.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const [folder, repo, rounds = "5"] = process.argv.slice(2);
const target = process.env.CARGO_TARGET_DIR ?? "target";
const client = fileURLToPath(new URL("./client.js", import.meta.url));

const taken = {};
for (let round = 0; round < Number(rounds); round++) {
  for (const peer of ["isomorphic-git", "gitsip"]) {
    const server = spawn(`${target}/release/gitsip`, ["serve", folder, "--addr", "127.0.0.1:0"]);
    try {
      const [line] = await once(server.stderr, "data");
      const [address] = /http:\/\/[\d.:]+/.exec(String(line));
      for (const turn of ["first", "again"]) {
        const run = [client, peer, `${address}/${repo}`];
        const figures = JSON.parse(execFileSync(process.execPath, run, { encoding: "utf8" }));
        for (const [name, value] of Object.entries(figures))
          ((taken[name] ??= {})[`${peer}, ${turn}`] ??= []).push(value);
      }
    } finally {
      server.kill();
    }
  }
}
for (const [name, byPeer] of Object.entries(taken)) {
  for (const [peer, values] of Object.entries(byPeer)) {
    values.sort((a, b) => a - b);
    const range = `${values[0]} to ${values.at(-1)}`;
    console.log(`${name}, ${peer}: ${values[values.length >> 1]} (${range})`);
  }
}

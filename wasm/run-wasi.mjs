// Runs a wasm32-wasip1 test program: `node run-wasi.mjs PROGRAM.wasm ARGS...`, cargo's
// runner for that target.
//
// It lends the program arguments, a clock, random bytes and two streams to write to, and
// no file. That is all a test of the core may need, and it is written out here because
// Node's own `node:wasi` is experimental, and that of version 20 crashes under the tests.

import { randomFillSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { writeSync } from "node:fs";

const BAD_DESCRIPTOR = 8;
const NOT_SUPPORTED = 52;

const [program, ...args] = process.argv.slice(2);
const environment = ["RUST_BACKTRACE", "PROPTEST_CASES"]
  .filter((name) => process.env[name] !== undefined)
  .map((name) => `${name}=${process.env[name]}`);

class Exit {
  constructor(code) {
    this.code = code;
  }
}

let memory;
// Made anew for each use: a memory that grows leaves its old buffer behind.
const view = () => new DataView(memory.buffer);
const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);

function listSizes(list, countAt, sizeAt) {
  view().setUint32(countAt, list.length, true);
  view().setUint32(sizeAt, list.reduce((sum, s) => sum + Buffer.byteLength(s) + 1, 0), true);
  return 0;
}

function listGet(list, pointersAt, at) {
  for (const [index, text] of list.entries()) {
    view().setUint32(pointersAt + 4 * index, at, true);
    const encoded = Buffer.from(`${text}\0`);
    bytes(at, encoded.length).set(encoded);
    at += encoded.length;
  }
  return 0;
}

function write(descriptor, piecesAt, pieces, writtenAt) {
  if (descriptor !== 1 && descriptor !== 2) return BAD_DESCRIPTOR;
  let written = 0;
  for (let index = 0; index < pieces; index++) {
    const at = view().getUint32(piecesAt + 8 * index, true);
    const length = view().getUint32(piecesAt + 8 * index + 4, true);
    for (let done = 0; done < length; ) {
      done += writeSync(descriptor, bytes(at + done, length - done));
    }
    written += length;
  }
  view().setUint32(writtenAt, written, true);
  return 0;
}

const provided = {
  args_get: (pointersAt, at) => listGet([program, ...args], pointersAt, at),
  args_sizes_get: (countAt, sizeAt) => listSizes([program, ...args], countAt, sizeAt),
  environ_get: (pointersAt, at) => listGet(environment, pointersAt, at),
  environ_sizes_get: (countAt, sizeAt) => listSizes(environment, countAt, sizeAt),
  clock_time_get: (clock, _precision, at) => {
    const now = clock === 0 ? BigInt(Date.now()) * 1_000_000n : process.hrtime.bigint();
    view().setBigUint64(at, now, true);
    return 0;
  },
  fd_prestat_get: () => BAD_DESCRIPTOR,
  fd_write: write,
  proc_exit: (code) => {
    throw new Exit(code);
  },
  random_get: (at, length) => {
    randomFillSync(bytes(at, length));
    return 0;
  },
  sched_yield: () => 0,
};

const module = await WebAssembly.compile(await readFile(program));
const imports = {};
for (const { name } of WebAssembly.Module.imports(module)) {
  imports[name] = provided[name] ?? (() => NOT_SUPPORTED);
}
const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports });
memory = instance.exports.memory;
try {
  instance.exports._start();
} catch (end) {
  if (end instanceof Exit) {
    process.exitCode = end.code;
  } else {
    // A panic aborts the program, and what the test harness captured is lost.
    console.error(`${end}; run with \`-- --nocapture\` to see the panic`);
    process.exitCode = 101;
  }
}

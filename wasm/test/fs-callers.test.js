// `snap.fs` in the hands of programs that were written for Node's own: a bundler that reads
// nothing but it, and a git client that takes it for a disk.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { after, before, test } from "node:test";
import * as esbuild from "esbuild-wasm";
import { open } from "gitsip";
import git from "isomorphic-git";
import { World } from "./server.js";

const SOURCES = {
  "src/main.js": 'import { twice } from "./lib/twice.js";\nimport data from "./data.json";\nconsole.log(twice(data.n));\n',
  "src/lib/twice.js": 'export { times2 as twice } from "../linked.js";\n',
  "src/linked.js": { linkTo: "real/times.js" },
  "src/real/times.js": "export const times2 = (n) => 2 * n;\n",
  "src/data.json": '{ "n": 21 }\n',
  "src/unused.js": "throw 1;\n",
};

let world;
let fs;

before(async () => {
  world = await World.with(SOURCES);
  ({ fs } = await (await open(world.url)).snapshot());
});

after(async () => {
  await esbuild.stop();
  world?.close();
});

/** Resolves and loads everything from `fs`. */
const from = (fs) => ({
  name: "snapshot",
  setup(build) {
    build.onResolve({ filter: /.*/ }, async ({ path, importer }) => {
      const at = posix.resolve(importer ? posix.dirname(importer) : "/", path);
      return { path: await fs.realpath(at), namespace: "snapshot" };
    });
    build.onLoad({ filter: /.*/, namespace: "snapshot" }, async ({ path }) => ({
      contents: await fs.readFile(path),
      loader: path.endsWith(".json") ? "json" : "js",
    }));
  },
});

test("a bundler bundles out of a repository", async () => {
  const { outputFiles } = await esbuild.build({
    entryPoints: ["/src/main.js"],
    bundle: true,
    format: "esm",
    write: false,
    plugins: [from(fs)],
  });
  const bundle = outputFiles[0].text;
  const run = execFileSync(process.execPath, ["--input-type=module", "-e", bundle]);
  assert.equal(run.toString(), "42\n");
  assert.doesNotMatch(bundle, /throw 1/);
});

test("a bundler is told what is not there", async () => {
  const build = esbuild.build({
    stdin: { contents: 'import "/src/absent.js"', resolveDir: "/" },
    bundle: true,
    write: false,
    logLevel: "silent",
    plugins: [from(fs)],
  });
  await assert.rejects(build, /ENOENT.*absent\.js/);
});

test("a git client reads a repository that is committed as files", async () => {
  const inner = readdirSync(join(world.checkout, ".git"), { recursive: true, withFileTypes: true });
  const copied = inner.filter((entry) => entry.isFile() && !entry.parentPath.includes("hooks"));
  const files = copied.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return [path.replace(`${world.checkout}/.git`, "inner.git"), readFileSync(path)];
  });
  const head = world.git("rev-parse", "HEAD").toString().trim();
  world.commit(Object.fromEntries(files));
  const { fs } = await (await open(world.url)).snapshot();
  const gitdir = "/inner.git";
  assert.equal(await git.resolveRef({ fs, gitdir, ref: "HEAD" }), head);
  const paths = await git.listFiles({ fs, gitdir, ref: "HEAD" });
  assert.deepEqual(paths.sort(), Object.keys(SOURCES).sort());
  const [{ commit }] = await git.log({ fs, gitdir, depth: 1 });
  assert.equal(commit.message, "a commit\n");
});

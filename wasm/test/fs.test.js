// `snap.fs` does what Node's own `fs.promises` does over a checkout of the same files.

import assert from "node:assert/strict";
import { promises as native } from "node:fs";
import { after, before, test } from "node:test";
import { open } from "gitsip";
import { World } from "./server.js";

const FILES = {
  "README.md": "# Title\n",
  "src/main.js": "export default 1;\n",
  "src/deep/er.txt": "é\n",
  "link.md": { linkTo: "README.md" },
  "src/up": { linkTo: "../src/deep" },
  around: { linkTo: "around" },
  dangling: { linkTo: "nowhere" },
};

let world;
let fs;

before(async () => {
  world = await World.with(FILES);
  ({ fs } = await (await open(world.url)).snapshot());
});

after(() => world?.close());

const PATHS = [
  "/",
  "/README.md",
  "README.md",
  "/src",
  "/src/",
  "/src/deep/er.txt",
  "/link.md",
  "/src/up",
  "/src/up/er.txt",
  "/around",
  "/dangling",
  "/nope",
  "/README.md/x",
  "/src/../README.md",
  "/nope/x",
];

const kinds = (entry) => [entry.isFile(), entry.isDirectory(), entry.isSymbolicLink()];
const CALLS = {
  readFile: async (fs, path) => Buffer.from(await fs.readFile(path)).toString("hex"),
  "readFile as text": (fs, path) => fs.readFile(path, "utf8"),
  readdir: async (fs, path) => (await fs.readdir(path)).filter((name) => name !== ".git").sort(),
  "readdir with types": async (fs, path) =>
    (await fs.readdir(path, { withFileTypes: true }))
      .filter(({ name }) => name !== ".git")
      .map((entry) => [entry.name, ...kinds(entry)].join())
      .sort(),
  stat: async (fs, path) => {
    const stat = await fs.stat(path);
    return [...kinds(stat), stat.isFile() ? stat.size : 0];
  },
  lstat: async (fs, path) => {
    const stat = await fs.lstat(path);
    return [...kinds(stat), stat.isDirectory() ? 0 : stat.size];
  },
  readlink: (fs, path) => fs.readlink(path),
  access: (fs, path) => fs.access(path),
};

const outcome = (work) =>
  work.then(
    (value) => ({ value }),
    ({ code }) => ({ code }),
  );

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} is Node's`, async () => {
    for (const path of PATHS) {
      const expected = await outcome(call(native, `${world.checkout}/${path}`));
      assert.deepEqual(await outcome(call(fs, path)), expected, `${name} ${path}`);
    }
  });
}

test("nothing can be written", async () => {
  await assert.rejects(fs.promises.writeFile("/x", "y"), { code: "EROFS", path: "/x" });
  await assert.rejects(fs.access("/README.md", 2), { code: "EROFS" });
});

// Reads and searches give what git gives.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, textOf } from "gitsip";
import { World } from "./server.js";

const FILES = {
  "README.md": "# A title\nsome words\n",
  "src/main.rs": 'fn main() {\n    println!("hello");\n}\n',
  "src/deep/er/lib.rs": "// Hello\npub fn hello() {}\r\nno end of line",
  "src/link": { linkTo: "main.rs" },
  "folder-link": { linkTo: "src/deep" },
  empty: "",
  "picture.bin": Buffer.from([0, 1, 2, 255, 254, 10, 104, 101, 108, 108, 111]),
  "latin1.txt": Buffer.from("caf\xe9 hello\n", "latin1"),
};

let world;
let snap;

before(async () => {
  world = await World.with(FILES);
  snap = await (await open(world.url)).snapshot("HEAD");
});

after(() => {
  snap?.repo.free();
  world?.close();
});

test("a snapshot is pinned to the commit that git names", () => {
  assert.equal(snap.commit, world.git("rev-parse", "HEAD").toString().trim());
  assert.equal(snap.ref, "HEAD");
});

test("files are what git show gives, byte for byte", async () => {
  const paths = world.git("ls-files", "-z").toString().split("\0").filter(Boolean);
  const files = await snap.readMany(paths, { follow: false });
  for (const [i, path] of paths.entries()) {
    assert.deepEqual(Buffer.from(files[i].bytes), world.git("show", `HEAD:${path}`), path);
    assert.equal(files[i].blob, world.git("rev-parse", `HEAD:${path}`).toString().trim());
    assert.equal(files[i].path, path);
  }
});

test("links are followed unless it is said not to", async () => {
  const file = await snap.read("folder-link/er/lib.rs");
  assert.equal(file.resolved_path, "src/deep/er/lib.rs");
  assert.equal((await snap.read("src/link", { follow: false })).text(), "main.rs");
});

test("one bad path does not keep the others from being read", async () => {
  const [good, bad, folder] = await snap.readMany(["README.md", "nope", "src"]);
  assert.equal(good.text(), FILES["README.md"]);
  assert.deepEqual([bad.code, folder.code], ["not_found", "is_folder"]);
});

test("lines come with their numbers", async () => {
  const lines = await snap.readLines("src/main.rs", [2, 3]);
  assert.equal(textOf(lines.text), '    println!("hello");\n}\n');
  assert.deepEqual([lines.first_line, lines.last_line, lines.total_lines], [2, 3, 3]);
});

for (const [what, pattern, args] of [
  ["plain text", "hello", ["-F", "hello"]],
  ["text with special characters", "main() {", ["-F", "main() {"]],
  ["a RegExp", /h[ea]l+o/, ["-E", "h[ea]l+o"]],
  ["a RegExp that ignores case", /HELLO/i, ["-i", "hello"]],
  ["several", ["words", "println"], ["-F", "-e", "words", "-e", "println"]],
]) {
  test(`a search for ${what} finds what git grep finds`, async () => {
    const expected = world.git("grep", "-nI", ...args, "HEAD").toString("latin1");
    const hits = [];
    for await (const hit of snap.grep(pattern)) hits.push(line(hit));
    assert.deepEqual(hits, expected.replaceAll("HEAD:", "").trim().split("\n"));
  });
}

function line(hit) {
  const text = hit.text.text ?? Buffer.from(hit.text.bytes, "base64").toString("latin1");
  return `${textOf(hit.path)}:${hit.line}:${text.replace(/\n$/, "")}`;
}

test("walk, ls and glob list what git lists", async () => {
  const all = world.git("ls-files").toString().trim().split("\n");
  const walked = [];
  for await (const entry of snap.walk()) walked.push(textOf(entry.path));
  assert.deepEqual(walked, all);
  const globbed = (await snap.glob("**/*.rs").toArray()).map((entry) => textOf(entry.path));
  assert.deepEqual(
    globbed,
    all.filter((path) => path.endsWith(".rs")),
  );
  const names = (await snap.ls()).map((entry) => textOf(entry.path));
  assert.deepEqual(
    names,
    world.git("ls-tree", "--name-only", "HEAD").toString().trim().split("\n"),
  );
});

test("pages join to the same answer, and leaving early is fine", async () => {
  const small = await snap.grep("l", { max_bytes: 1 }).toArray();
  assert.deepEqual(small, await snap.grep("l").toArray());
  assert.equal((await snap.grep("l", { limit: 2 }).toArray()).length, 2);
  for await (const hit of snap.grep("l", { max_bytes: 1 })) {
    assert.ok(hit.line);
    break;
  }
});

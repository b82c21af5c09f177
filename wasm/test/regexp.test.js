// A RegExp finds the lines that JavaScript itself finds with it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { GitsipError, open } from "gitsip";
import { World } from "./server.js";

const LINES = [
  "",
  " ",
  "hello world",
  "Hello World",
  "foo(bar)",
  "a{2}",
  "aa",
  "{x}",
  "[x]",
  "x]",
  "a-b",
  "a&&b",
  "~~",
  "--",
  "a/b\\c",
  "tab\there",
  "form\ffeed",
  "cr\rmiddle",
  "na\u00efve caf\u00e9",
  "\u0660\u0661 digits",
  "\ufeffmark",
  "nbsp\u00a0x",
  "sep\u2028arator",
  "dot.dot",
  "^caret$",
  "word_1",
  "2024-01-02",
  "\u{1f600} smile",
  "key = value",
  "#include <stdio.h>",
  "a|b",
  "x+y*z?",
  "\u0130stanbul",
  "STRASSE",
  "na\u0000ul",
].filter((line) => !line.includes("\0"));

const REGEXPS = [
  /hello/,
  /hello/i,
  /^hello/,
  /world$/,
  /^$/,
  /^\s*$/,
  /foo\(bar\)/,
  /a{2}/,
  /{x}/,
  /a{,2}/,
  /[[]x]/,
  /x]/,
  /[\]x]/,
  /[a&&b]{2}/,
  /[~~]{2}/,
  /[--]/,
  /[+\--]/,
  /a\/b\\c/,
  /a[/]b/,
  /\t/,
  /[\t\f]/,
  /\d/,
  /\D\d/,
  /[\d-]+/,
  /\w+\W\w/,
  /[\w]+=?/,
  /\s/,
  /\S\s\S/,
  /[\s]x/,
  /\bworld\b/,
  /\Bo/,
  /caf\u00e9/,
  /na\xefve/,
  /[\u00e0-\u00ff]/,
  /\u{1f600}/u,
  /\p{L}+\s/u,
  /^\P{L}+$/u,
  /[\p{Nd}x]\p{Script=Arabic}?/u,
  /[^\p{ASCII}\p{L}]/u,
  /\p{Emoji_Presentation}/iu,
  /./,
  /^.$/,
  /p.a/,
  /p.a/s,
  /dot\.dot/,
  /\^caret\$/,
  /(?:a|x)[|+]/,
  /(?<year>\d{4})-\d\d/,
  /[^\x00-\x7f]/,
  /[^a-z ]/i,
  /[]/,
  /[^]/,
  /\cI/,
  /x\+y\*z\?/,
  /(a)(b)?/,
  /h.*?o/,
  /[.]/,
  /a\-b/,
  /[a\-z]-/,
  /\@|#/,
];

let world;
let snap;

before(async () => {
  world = await World.with({ "lines.txt": LINES.join("\n") + "\n" });
  snap = await (await open(world.url)).snapshot();
});

after(() => world?.close());

test("the same lines as RegExp.test", async () => {
  for (const regexp of REGEXPS) {
    const expected = LINES.flatMap((line, i) => (regexp.test(line) ? [i + 1] : []));
    const found = await snap.grep(regexp).toArray();
    assert.deepEqual(
      found.map(({ line }) => line),
      expected,
      String(regexp),
    );
  }
});

test("strings beside a RegExp stay plain text, and each keeps its own case", async () => {
  const found = await snap.grep(["foo(", /STRASSE|hello/i, "x+y"]).toArray();
  assert.deepEqual(
    found.map(({ line }) => LINES[line - 1]),
    LINES.filter((line) => /foo\(|x\+y/.test(line) || /strasse|hello/i.test(line)),
  );
});

test("what searches lack is refused by name", () => {
  for (const [regexp, what] of [
    [/a(?=b)/, "look-around"],
    [/(?<!a)b/, "look-around"],
    [/(a)\1/, "back-reference"],
    [/(?<x>a)\k<x>/, "back-reference"],
    [/a/y, "flag y"],
  ]) {
    assert.throws(
      () => snap.grep(regexp),
      (error) =>
        error instanceof GitsipError &&
        error.code === "bad_pattern" &&
        error.message.includes(what),
    );
  }
});

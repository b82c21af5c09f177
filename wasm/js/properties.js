// Properties of characters (`\p{L}`, `\P{Script=Greek}`) as ranges, out of the tables of the
// JavaScript engine: those that a search would need for them are left out of the WebAssembly.

const known = new Map();

/** `property`, as a RegExp with the flag u has it, as a class that searches understand. */
export function classOf(property) {
  if (!known.has(property)) known.set(property, `[${rangesOf(property).join("")}]`);
  return known.get(property);
}

function rangesOf(property) {
  const runs = new RegExp(`${property}+`, "gu");
  const ranges = [];
  for (let begin = 0; begin <= LAST; begin += BLOCK) {
    for (const { 0: run } of blockAt(begin).matchAll(runs)) {
      const first = run.codePointAt(0);
      ranges.push(`\\x{${hex(first)}}-\\x{${hex(lastOf(run))}}`);
    }
  }
  return ranges;
}

/** All characters of a block in UTF-16; there are none at the places of surrogates. */
function blockAt(begin) {
  const units = new Uint16Array(2 * BLOCK);
  let length = 0;
  for (let code = begin; code < begin + BLOCK; code++) {
    if (code < 0x10000) {
      if (code < 0xd800 || code > 0xdfff) units[length++] = code;
    } else {
      units[length++] = 0xd7c0 + (code >> 10);
      units[length++] = 0xdc00 + (code & 0x3ff);
    }
  }
  return String.fromCharCode(...units.subarray(0, length));
}

function lastOf(run) {
  const unit = run.charCodeAt(run.length - 1);
  const isPair = unit >= 0xdc00 && unit <= 0xdfff;
  return isPair ? run.codePointAt(run.length - 2) : unit;
}

function hex(code) {
  return code.toString(16);
}

const LAST = 0x10ffff;
// Characters made into one string at a time; each is an argument or two of one call.
const BLOCK = 0x1000;

// A JavaScript RegExp in the words of Rust's regex crate, which searches lines in linear
// time and so has neither look-around nor back-references.

import { usage } from "./errors.js";
import { classOf } from "./properties.js";

/** The part of a grep question that `pattern` stands for; strings are plain text. */
export function patternOf(pattern) {
  const all = Array.isArray(pattern) ? pattern : [pattern];
  if (all.every((one) => typeof one === "string")) return { patterns: all, fixed_strings: true };
  const ignoreCase = all.some((one) => one instanceof RegExp && one.ignoreCase);
  const patterns = all.map((one) => {
    if (one instanceof RegExp) return one.ignoreCase ? `(?i:${translate(one)})` : translate(one);
    if (typeof one === "string") return escape(one);
    throw usage("bad_pattern", "a pattern is a string, a RegExp, or an array of those");
  });
  return ignoreCase && all.length === 1
    ? { patterns: [translate(all[0])], ignore_case: true }
    : { patterns };
}

/** `regexp` for one line, without its flags. */
export function translate(regexp) {
  if (regexp.sticky) throw refused(regexp, "the flag y", "leave it out");
  if (regexp.unicodeSets) throw refused(regexp, "the flag v", "use u");
  return new Translator(regexp).all();
}

class Translator {
  #regexp;
  #from;
  #at = 0;

  constructor(regexp) {
    this.#regexp = regexp;
    this.#from = regexp.source;
  }

  all() {
    let out = "";
    while (this.#at < this.#from.length) out += this.#next();
    return out;
  }

  #next() {
    const rest = this.#from.slice(this.#at);
    switch (rest[0]) {
      case "\\":
        return this.#escape(false);
      case "[":
        return this.#class();
      case "(":
        return this.#group(rest);
      case "{": {
        const [quantifier] = /^\{\d+(,\d*)?\}/.exec(rest) ?? [];
        return quantifier ? this.#take(quantifier.length) : (this.#take(1), "\\{");
      }
      case "}":
      case "]":
        return "\\" + this.#take(1);
      case ".":
        this.#at += 1;
        return this.#regexp.dotAll ? "." : "[^\\n\\r\\u2028\\u2029]";
      default:
        return this.#take(1);
    }
  }

  #group(rest) {
    const [opening] = /^\((\?(<?[=!]|:|<[^>]*>|[-a-z]*:))?/.exec(rest);
    if (/[=!]$/.test(opening))
      throw refused(this.#regexp, "look-around", "search for less and look at what is found");
    return this.#take(opening.length);
  }

  // What a backslash begins, outside of brackets or in them.
  #escape(inClass) {
    const rest = this.#from.slice(this.#at);
    const next = rest[1];
    if (/[1-9k]/.test(next) && !inClass)
      throw refused(this.#regexp, "a back-reference", "search for less and look at what is found");
    const [code] = /^\\(u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2})/i.exec(rest) ?? [];
    if (code) return this.#take(code.length);
    const [property] = /^\\p\{[^}]*\}/i.exec(rest) ?? [];
    if (property && this.#regexp.unicode) return classOf(this.#take(property.length));
    if (next === "c") {
      const letter = rest[2];
      this.#at += 3;
      return hex(letter.charCodeAt(0) % 32);
    }
    this.#at += 2;
    if (inClass && next === "b") return "\\x08";
    const short = (inClass ? IN_CLASS : OUTSIDE)[next];
    if (short !== undefined) return short;
    // Any other character stands for itself.
    return /[a-z0-9]/i.test(next) || next > "\x7f" ? next : "\\" + next;
  }

  #class() {
    const isNegated = this.#from[this.#at + 1] === "^";
    this.#at += isNegated ? 2 : 1;
    let items = "";
    while (this.#from[this.#at] !== "]") {
      items += this.#from[this.#at] === "\\" ? this.#escape(true) : inClass(this.#take(1));
    }
    this.#at += 1;
    if (items === "") return isNegated ? "(?s:.)" : "[^\\s\\S]";
    return `[${isNegated ? "^" : ""}${items}]`;
  }

  #take(length) {
    const taken = this.#from.slice(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }
}

// JavaScript's shorthands are ASCII; its white space is Unicode's and the byte order mark.
const IN_CLASS = {
  0: "\\x00",
  D: "[^0-9]",
  S: "[^\\s\\ufeff]",
  W: "[^0-9A-Z_a-z]",
  d: "0-9",
  f: "\\x0c",
  n: "\\n",
  r: "\\r",
  s: "\\s\\ufeff",
  t: "\\t",
  v: "\\x0b",
  w: "0-9A-Z_a-z",
};
const OUTSIDE = {
  ...IN_CLASS,
  B: "(?-u:\\B)",
  b: "(?-u:\\b)",
  d: "[0-9]",
  s: "[\\s\\ufeff]",
  w: "[0-9A-Z_a-z]",
};

// In brackets Rust's regex has operators and brackets of its own; a `-` means the same.
function inClass(character) {
  return /[[&~^]/.test(character) ? "\\" + character : character;
}

function escape(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function hex(code) {
  return `\\x${code.toString(16).padStart(2, "0")}`;
}

function refused(regexp, what, advice) {
  return usage(
    "bad_pattern",
    `${regexp} has ${what}, which searches in linear time lack: ${advice}`,
  );
}

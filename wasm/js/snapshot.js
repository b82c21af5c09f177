// One commit of a repository, to be asked about.

import { GitsipError, usage } from "./errors.js";
import { fsOf } from "./fs.js";
import { pages } from "./pages.js";
import { patternOf } from "./regexp.js";
import { textOf } from "./text.js";

export class Snapshot {
  #repo;
  #fs;

  /** Not for callers: `repo.snapshot` makes it. */
  constructor(repo, { commit, ref, warning }) {
    this.#repo = repo;
    this.commit = commit;
    this.ref = ref;
    this.warning = warning;
  }

  /** The repository it was taken of. */
  get repo() {
    return this.#repo;
  }

  /** A read-only `fs.promises` over it. */
  get fs() {
    return (this.#fs ??= fsOf(this));
  }

  /** One page of the answer to any question about this commit. */
  ask(method, params = {}, options = {}) {
    return this.#repo.ask(method, { ...params, ref: this.commit }, options);
  }

  /** A file, whole. */
  async read(path, options = {}) {
    const [file] = await this.readMany([path], options);
    if (file instanceof GitsipError) throw file;
    return file;
  }

  /** Files, whole, fetched together: of each a `File`, or the error that it came to. */
  async readMany(paths, options = {}) {
    const read = await this.#repo.readBytes(this.commit, [...paths], options);
    return read.map(([item, bytes], i) => {
      if (item.type === "file") return new File(item, bytes);
      if (item.type === "error") return new GitsipError(item.error);
      const address = item.url ? textOf(item.url) : "an address that is not told";
      return usage("is_submodule", `'${paths[i]}' is a submodule: commit ${item.id} of ${address}`);
    });
  }

  /** Lines of a file, counted from 1: `"10:20"`, `"10:"`, `":20"`, `10`, `[10, 20]`. */
  async readLines(path, range, { signal } = {}) {
    const lines = Array.isArray(range)
      ? range.join(":")
      : range === undefined
        ? undefined
        : String(range);
    const found = await pages(this, "read", { paths: [path], lines, signal }).toArray();
    const [first] = found;
    if (first.type === "error") throw new GitsipError(first.error);
    if (first.type !== "file")
      throw usage("is_submodule", `'${path}' is a submodule and has no lines`);
    const text = found.map((part) => textOf(part.text)).join("");
    return { ...first, text: { text }, last_line: found.at(-1).last_line };
  }

  /** The entries of a folder; with `recursive` all files below it. */
  ls(path = "", { recursive = false, ...query } = {}) {
    return pages(this, "ls", { path, recursive, ...query }).toArray();
  }

  /** What is at a path; a link is not followed. */
  async stat(path, options = {}) {
    const { items } = await this.ask("stat", { paths: [path] }, options);
    if (items[0].error) throw new GitsipError(items[0].error);
    return items[0];
  }

  /** All files, links and submodules below a folder, as an async iterator. */
  walk(path = "", query = {}) {
    return pages(this, "ls", { path, recursive: true, ...query });
  }

  /** Paths that match, as an async iterator. */
  glob(patterns, query = {}) {
    return pages(this, "glob", { patterns: [patterns].flat(), ...query });
  }

  /** Lines that match a string, a RegExp, or any of several, as an async iterator. */
  grep(pattern, query = {}) {
    return pages(this, "grep", { ...patternOf(pattern), ...query });
  }

  /** What a search of files would cost, before any of them is fetched. */
  async plan({ signal, ...query } = {}) {
    const { items } = await this.ask("plan", query, { signal });
    return items[0];
  }

  /** Fetches files ahead of being asked about. */
  async prefetch({ signal, ...query } = {}) {
    const { items } = await this.ask("prefetch", query, { signal });
    return items[0];
  }
}

/** A file's bytes and what they are. */
export class File {
  constructor({ type, ...item }, bytes) {
    Object.assign(this, item);
    this.bytes = bytes;
  }

  /** The content as text, with U+FFFD where it is no UTF-8. */
  text() {
    return new TextDecoder().decode(this.bytes);
  }
}

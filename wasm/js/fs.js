// A read-only `fs.promises` over a snapshot, for bundlers, editors and shells: nothing is
// fetched before it is read. Errors carry Node's codes.

import { textOf } from "./text.js";

/** As on Linux. */
const MAX_LINKS = 40;
const TYPES = { file: 0o100000, folder: 0o040000, symlink: 0o120000, submodule: 0o040000 };
const WRITING = [
  "appendFile",
  "chmod",
  "mkdir",
  "rename",
  "rm",
  "rmdir",
  "symlink",
  "truncate",
  "unlink",
  "utimes",
  "writeFile",
];

/** The `fs.promises` of `snapshot`; it is its own `promises`. */
export function fsOf(snapshot) {
  const fs = new SnapshotFs(snapshot);
  const methods = ["access", "lstat", "readFile", "readdir", "readlink", "realpath", "stat"];
  const all = Object.fromEntries(methods.map((name) => [name, fs[name].bind(fs)]));
  for (const name of WRITING) {
    all[name] = async (path) => {
      throw fsError("EROFS", "read-only file system", name, path);
    };
  }
  all.promises = all;
  return all;
}

class SnapshotFs {
  #snapshot;

  constructor(snapshot) {
    this.#snapshot = snapshot;
  }

  async readFile(path, options) {
    const encoding = typeof options === "string" ? options : options?.encoding;
    const file = await this.#try("open", path, async () => {
      const entry = await this.#follow(path);
      if (isFolder(entry))
        throw fsError("EISDIR", "illegal operation on a directory", "read", path);
      return this.#snapshot.read(textOf(entry.path));
    });
    if (!encoding || encoding === "buffer") return file.bytes;
    return new TextDecoder(encoding === "utf8" ? "utf-8" : encoding).decode(file.bytes);
  }

  async readdir(path, options) {
    const folder = await this.#try("scandir", path, () => this.#follow(path));
    if (!isFolder(folder)) throw fsError("ENOTDIR", "not a directory", "scandir", path);
    if (folder.type === "submodule") return [];
    const at = textOf(folder.path);
    const entries = await this.#try("scandir", path, () => this.#snapshot.ls(at));
    const names = entries.map((entry) => textOf(entry.path).slice(at && at.length + 1));
    if (!options?.withFileTypes) return names;
    return entries.map((entry, i) => new Dirent(names[i], normal(path), entry.type));
  }

  async stat(path) {
    return this.#stats("stat", path, await this.#try("stat", path, () => this.#follow(path)));
  }

  async lstat(path) {
    return this.#stats("lstat", path, await this.#try("lstat", path, () => this.#at(path)));
  }

  async readlink(path) {
    const entry = await this.#try("readlink", path, () => this.#at(path));
    if (entry.type !== "symlink") throw fsError("EINVAL", "invalid argument", "readlink", path);
    return this.#try("readlink", path, () => this.#target(entry));
  }

  async realpath(path) {
    const entry = await this.#try("realpath", path, () => this.#follow(path));
    return "/" + textOf(entry.path);
  }

  /** `mode` 2 asks whether it may be written to. */
  async access(path, mode = 0) {
    await this.#try("access", path, () => this.#follow(path));
    if (mode & 2) throw fsError("EROFS", "read-only file system", "access", path);
  }

  // What is at `path`, the last link not followed.
  async #at(path) {
    const inside = normal(path);
    if (inside === "")
      return {
        path: { text: "" },
        type: "folder",
        mode: "040000",
        id: this.#snapshot.commit,
        size: 0,
      };
    return this.#snapshot.stat(inside);
  }

  async #follow(path) {
    let at = path;
    for (let links = 0; links <= MAX_LINKS; links += 1) {
      const entry = await this.#at(at);
      if (entry.type !== "symlink") return entry;
      const target = await this.#target(entry);
      if (target.startsWith("/"))
        throw fsError("ENOENT", "no such file or directory", "stat", path);
      at = joined(textOf(entry.path), target);
    }
    throw fsError("ELOOP", "too many symbolic links encountered", "stat", path);
  }

  async #target(entry) {
    return (await this.#snapshot.read(textOf(entry.path), { follow: false })).text();
  }

  // Trees know no sizes: that of a file is its content's, which is fetched for it.
  async #stats(call, path, entry) {
    const isRead = entry.size === null && !isFolder(entry);
    const read = () => this.#snapshot.read(textOf(entry.path), { follow: false });
    const size = isRead ? (await this.#try(call, path, read)).size : (entry.size ?? 0);
    return new Stats(entry, size);
  }

  async #try(call, path, work) {
    try {
      return await work();
    } catch (error) {
      throw asFsError(error, call, path);
    }
  }
}

class Kinds {
  #type;

  constructor(type) {
    this.#type = type;
  }

  isFile() {
    return this.#type === "file";
  }

  isDirectory() {
    return isFolder({ type: this.#type });
  }

  isSymbolicLink() {
    return this.#type === "symlink";
  }

  isBlockDevice() {
    return false;
  }

  isCharacterDevice() {
    return false;
  }

  isFIFO() {
    return false;
  }

  isSocket() {
    return false;
  }
}

/** An entry of a folder. */
class Dirent extends Kinds {
  constructor(name, parent, type) {
    super(type);
    this.name = name;
    this.parentPath = "/" + parent;
  }
}

/** A commit keeps no times and owners: they are zero. */
class Stats extends Kinds {
  constructor({ type, mode, id }, size) {
    super(type);
    this.size = size;
    this.oid = id;
    this.mode = TYPES[type] | (type === "file" && Number.parseInt(mode, 8) & 0o100 ? 0o755 : 0o644);
    if (type === "folder" || type === "submodule") this.mode |= 0o111;
    this.ino = this.dev = this.uid = this.gid = this.rdev = this.blocks = 0;
    this.nlink = 1;
    this.blksize = 4096;
    this.atimeMs = this.mtimeMs = this.ctimeMs = this.birthtimeMs = 0;
    this.atime = this.mtime = this.ctime = this.birthtime = new Date(0);
  }
}

function isFolder(entry) {
  return entry.type === "folder" || entry.type === "submodule";
}

// A path from the root without `.` and `..`, which do not leave the repository.
function normal(path) {
  const names = [];
  for (const name of String(path).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names.join("/");
}

function joined(link, target) {
  const names = link.split("/").slice(0, -1);
  return [...names, target].join("/");
}

function asFsError(error, call, path) {
  const [code, text] = CODES[error.code] ?? CODES[error.kind] ?? [];
  return code ? fsError(code, text, call, path, error) : error;
}

const CODES = {
  is_folder: ["EISDIR", "illegal operation on a directory"],
  not_a_folder: ["ENOTDIR", "not a directory"],
  not_found: ["ENOENT", "no such file or directory"],
  symlink_loop: ["ELOOP", "too many symbolic links encountered"],
};

function fsError(code, text, syscall, path, cause) {
  const error = new Error(`${code}: ${text}, ${syscall} '${path}'`, { cause });
  return Object.assign(error, { code, syscall, path: String(path) });
}

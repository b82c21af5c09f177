// Repositories made by the real git, and its `http-backend` behind a server of Node on
// loopback that records what it is asked and misbehaves on demand.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const ENV = {
  PATH: process.env.PATH,
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_AUTHOR_DATE: "2024-01-01T00:00:00Z",
  GIT_COMMITTER_NAME: "C",
  GIT_COMMITTER_EMAIL: "c@example.org",
  GIT_COMMITTER_DATE: "2024-01-01T00:00:00Z",
};

/** A folder with one bare repository, `r.git`, and the server of it. */
export class World {
  #folder = mkdtempSync(join(tmpdir(), "gitsip-js-"));
  #server = createServer((request, response) => this.#answer(request, response));
  /** What is done instead of answering, or to the answer: `(request, response) => handled`. */
  misbehave = () => false;
  /** Cuts bodies of answers to commands after so many bytes. */
  cutAfter = Infinity;
  /** Changes bytes of answers to commands. */
  distort = (chunk) => chunk;
  /** Requests that came: `{ method, url, headers }`. */
  requests = [];

  static async with(files) {
    const world = new World();
    world.commit(files);
    await new Promise((resolve) => world.#server.listen(0, "127.0.0.1", resolve));
    return world;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}/r.git`;
  }

  /** Where the repository is, for another server. */
  get folder() {
    return this.#folder;
  }

  /** Where the files are that were committed last. */
  get checkout() {
    return join(this.#folder, "work");
  }

  /** Output of git in the repository. */
  git(...args) {
    return execFileSync("git", args, {
      cwd: this.checkout,
      env: ENV,
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Writes `files` (text, bytes, or `{ linkTo }`) and commits them to `main`. */
  commit(files) {
    const work = this.checkout;
    const isNew = mkdirSync(work, { recursive: true }) !== undefined;
    if (isNew) {
      this.git("init", "-q", "-b", "main");
      const bare = join(this.#folder, "r.git");
      execFileSync("git", ["init", "-q", "--bare", "-b", "main", bare], { env: ENV });
      this.git("remote", "add", "origin", bare);
    }
    for (const [path, content] of Object.entries(files)) {
      const at = join(work, path);
      mkdirSync(dirname(at), { recursive: true });
      rmSync(at, { force: true });
      if (content?.linkTo) symlinkSync(content.linkTo, at);
      else writeFileSync(at, content);
    }
    this.git("add", "-A");
    this.git("commit", "-qm", "a commit");
    this.push();
  }

  push() {
    this.git("push", "-q", "origin", "--all");
    this.git("push", "-q", "origin", "--tags");
    const set = (name) =>
      execFileSync("git", ["config", name, "true"], { cwd: join(this.#folder, "r.git"), env: ENV });
    ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"].forEach(set);
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #answer(request, response) {
    const { method, url, headers } = request;
    this.requests.push({ method, url, headers });
    if (this.misbehave(request, response)) return;
    const [path, query = ""] = url.split("?");
    const env = {
      ...ENV,
      GIT_PROJECT_ROOT: this.#folder,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: headers["git-protocol"] ?? "",
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers["content-type"] ?? "",
      CONTENT_LENGTH: headers["content-length"] ?? "",
    };
    const backend = spawn("git", ["http-backend"], { env, stdio: ["pipe", "pipe", "inherit"] });
    request.pipe(backend.stdin).on("error", () => {});
    response.on("close", () => backend.kill());
    this.#relay(backend.stdout, response, method === "POST");
  }

  // The head that a CGI program writes, and its body.
  #relay(from, response, isCommand) {
    let head = Buffer.alloc(0);
    let sent = 0;
    const body = (chunk) => {
      const honest = isCommand ? this.distort(chunk) : chunk;
      const rest = isCommand ? Math.max(0, this.cutAfter - sent) : Infinity;
      sent += honest.length;
      if (honest.length <= rest) return response.write(honest);
      response.write(honest.subarray(0, rest), () => response.destroy());
      return true;
    };
    from.on("data", (chunk) => {
      if (response.headersSent) return body(chunk);
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return undefined;
      let status = 200;
      for (const line of head.subarray(0, end).toString().split("\r\n")) {
        const [name, value] = line.split(": ");
        if (name === "Status") status = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.writeHead(status);
      response.flushHeaders();
      const first = head.subarray(end + 4);
      return first.length > 0 ? body(first) : true;
    });
    from.on("end", () => response.end());
  }
}

// Serves the page: `node wasm/demo/serve.js`, after `wasm/build`. With an argument the package
// is taken from that folder.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const packaged = process.argv[2] ?? join(here, "../../target/gitsip-js");
const types = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

const server = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html");
  const inPackage = path.startsWith("/gitsip/");
  const file = inPackage ? join(packaged, path.slice("/gitsip".length)) : join(here, path);
  try {
    const bytes = await readFile(file);
    response.writeHead(200, { "content-type": types[extname(file)] ?? "text/plain" }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
});
server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});

// Code as people write it, which `tsc --strict` has to let through, and mistakes which it
// has to find.

import { GitsipError, open, textOf, type Hit } from "gitsip";
import { keep, recall } from "gitsip/opfs";

export async function sample(url: string): Promise<string[]> {
  using repo = await open(url, {
    auth: async (origin, asked) => (asked === "first" ? { token: origin } : null),
    signal: AbortSignal.timeout(1000),
    maxMemory: 64 << 20,
    onProgress: ({ phase, bytes }) => console.log(phase, bytes),
    fetch: (input, init) => fetch(input, init),
  });
  const isKnown: boolean = await recall(url, repo);
  const snap = await repo.snapshot("HEAD");
  if (!isKnown) console.log((await keep(url, repo)).toFixed());
  const { bytes, mode } = await snap.read("README.md");
  const lines: string[] = [mode, String(bytes.byteLength)];
  for await (const hit of snap.grep(/TODO|FIXME/i, { globs: ["*.rs"] })) lines.push(line(hit));
  for await (const file of snap.grep("x", { output_mode: "count" })) lines.push(`${file.count}`);
  const text: string = await snap.fs.readFile("/README.md", "utf8");
  const raw: Uint8Array = await snap.fs.readFile("/README.md");
  for (const entry of await snap.fs.readdir("/", { withFileTypes: true })) {
    if (entry.isDirectory()) lines.push(entry.name);
  }
  for (const file of await snap.readMany(["a", "b"])) {
    if (file instanceof GitsipError) lines.push(file.code, file.hint);
    else lines.push(file.text());
  }
  const { items, truncated } = await snap.ask("tree", { depth: 2 });
  for (const { path, below } of items) lines.push(textOf(path), `${below?.files} ${truncated}`);
  // @ts-expect-error: a question has a name
  await repo.ask("grab");
  // @ts-expect-error: and its own parameters
  await repo.ask("ls", { patterns: ["x"] });
  // @ts-expect-error: there is no such option
  await open(url, { memory: 1 });
  // @ts-expect-error: a hit has no count
  for await (const hit of snap.grep("x")) hit.count;
  return [...lines, text, String(raw.length)];
}

function line(hit: Hit): string {
  return `${textOf(hit.path)}:${hit.line}:${textOf(hit.text)}`;
}

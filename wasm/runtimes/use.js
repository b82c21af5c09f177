// What each runtime does: reads a file, searches, and tells what came.

import { open, textOf } from "gitsip";

export async function use(url) {
  const repo = await open(url);
  const snap = await repo.snapshot();
  const hits = await snap.grep(/hel+o/).toArray();
  const text = (await snap.read("a.txt")).text();
  const { protocol } = repo.stats();
  repo.free();
  return { text, hits: hits.map(({ path, line }) => `${textOf(path)}:${line}`), protocol };
}

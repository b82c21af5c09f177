// What repositories held, kept in the browser's own file system for the next visit.

/** Keeps `bytes` for the repository at `url`. */
export async function keep(url, bytes) {
  const file = await (await folder()).getFileHandle(await nameOf(url), { create: true });
  const writable = await file.createWritable();
  await writable.write(bytes);
  await writable.close();
}

/** What was kept for it; `undefined` when there is nothing. */
export async function recall(url) {
  try {
    const file = await (await folder()).getFileHandle(await nameOf(url));
    return new Uint8Array(await (await file.getFile()).arrayBuffer());
  } catch {
    return undefined;
  }
}

async function folder() {
  return (await navigator.storage.getDirectory()).getDirectoryHandle("gitsip", { create: true });
}

// Addresses have characters that names of files have not.
async function nameOf(url) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(url));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

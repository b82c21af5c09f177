// What repositories held, kept in the browser's own file system for the next visit, by the
// page or by its worker.

/** Keeps what `repo`, opened at `url`, holds now: how many bytes; 0 where nothing can be kept. */
export async function keep(url, repo) {
  if (!canKeep()) return 0;
  const bytes = await repo.save();
  const file = await (await folder()).getFileHandle(await nameOf(url), { create: true });
  // What is written takes the place of the old when it is closed, and not before.
  const writable = await file.createWritable();
  try {
    await writable.write(bytes);
  } catch (error) {
    await writable.abort();
    throw error;
  }
  await writable.close();
  return bytes.byteLength;
}

/**
 * Gives `repo`, just opened at `url`, what was kept of it; whether there was something good. A
 * damaged file, or one of another version, is removed: everything can be fetched again.
 */
export async function recall(url, repo) {
  if (!canKeep()) return false;
  let bytes;
  try {
    const file = await (await folder()).getFileHandle(await nameOf(url));
    bytes = new Uint8Array(await (await file.getFile()).arrayBuffer());
  } catch (error) {
    if (error.name === "NotFoundError") return false;
    throw error;
  }
  try {
    await repo.load(bytes);
    return true;
  } catch (error) {
    // Too little memory is no fault of the file.
    if (error.kind !== "limit") await forget(url);
    return false;
  }
}

/** Removes what was kept of the repository at `url`; of all, without one. */
export async function forget(url) {
  if (!canKeep()) return;
  const root = await navigator.storage.getDirectory();
  try {
    if (url === undefined) await root.removeEntry(FOLDER, { recursive: true });
    else await (await folder()).removeEntry(await nameOf(url));
  } catch (error) {
    if (error.name !== "NotFoundError") throw error;
  }
}

// Pages over plain HTTP and old browsers have no such file system: each visit is a first one.
const canKeep = () => navigator.storage?.getDirectory !== undefined;

const FOLDER = "gitsip";

async function folder() {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(FOLDER, { create: true });
}

// Addresses have characters that names of files have not. A credential in one is no part of
// what the repository is.
async function nameOf(url) {
  const address = new URL(url);
  address.username = "";
  address.password = "";
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(address.href));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

import type { MemoryReport, OpenOptions, Repo, Stats } from "./index.js";

export { GitsipError, bytesOf, textOf } from "./index.js";

/** What `connect` needs of a worker. */
export interface WorkerLike {
  postMessage(message: unknown, transfer: Transferable[]): void;
  terminate(): unknown;
}

/** A repository that lives in a worker: as `Repo`, but that everything is waited for. */
export interface WorkerRepo extends Pick<Repo, "ask" | "refs" | "refresh" | "snapshot"> {
  stats(): Promise<Stats>;
  memoryReport(): Promise<MemoryReport>;
  save(): Promise<Uint8Array>;
  load(bytes: Uint8Array): Promise<{ objects: number; bytes: number }>;
  free(): Promise<void>;
}

export interface Connection {
  /** As `open` of the package, but for `fetch`, which is the worker's own. */
  open(url: string | URL, options?: Omit<OpenOptions, "fetch">): Promise<WorkerRepo>;
  /** Ends the worker, and with it every repository and all their memory. */
  terminate(): Promise<void>;
}

/** A worker with gitsip in it; by default a new Web Worker, which serves the first `port`. */
export function connect(worker?: WorkerLike): Connection;

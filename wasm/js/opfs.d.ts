import type { Repo } from "./index.js";
import type { WorkerRepo } from "./connect.js";

/** Keeps what `repo`, opened at `url`, holds now: how many bytes; 0 where nothing can be kept. */
export function keep(url: string | URL, repo: Repo | WorkerRepo): Promise<number>;

/**
 * Gives `repo`, just opened at `url`, what was kept of it; whether there was something good. A
 * damaged file, or one of another version, is removed: everything can be fetched again.
 */
export function recall(url: string | URL, repo: Repo | WorkerRepo): Promise<boolean>;

/** Removes what was kept of the repository at `url`; of all, without one. */
export function forget(url?: string | URL): Promise<void>;
